"""The reference has every public name, and what it says of a name is true."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from formulas import FORMULAS
from reference import GROUPS, PUBLIC_PACKAGES, constants, documented_names, public_objects

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTED = set(documented_names()) | set(constants())


@pytest.mark.parametrize("package", PUBLIC_PACKAGES)
def test_every_public_name_has_its_place(package):
    """By its own name, or by another public name of the same object."""
    home = import_module(package)
    known = {id(value) for value in public_objects().values()}
    missing = []
    for name in home.__all__:
        if f"{package}.{name}" in DOCUMENTED:
            continue
        value = getattr(home, name, None)
        if not isinstance(value, ModuleType) and id(value) not in known:
            missing.append(name)
    listed = "tools/docs_site/reference.py lists the names of the reference"
    assert not missing, f"{package}: {missing} have no place there: {listed}"


def test_public_packages_of_the_package_are_looked_at():
    home = import_module("kernelight")
    modules = {name for name in home.__all__ if isinstance(getattr(home, name), ModuleType)}
    assert {f"kernelight.{name}" for name in modules} <= set(PUBLIC_PACKAGES)


def test_nothing_is_listed_twice_or_is_not_there():
    names = documented_names()
    assert len(set(names)) == len(names)
    for full in [*names, *constants()]:
        module, _, name = full.rpartition(".")
        assert name in (vars(import_module(module)).get("__all__") or dir(import_module(module)))
    assert len({group.file for group in GROUPS}) == len(GROUPS)


def test_formulas_belong_to_names(site):
    """And stand on their pages."""
    assert set(FORMULAS) <= set(documented_names())
    for name in FORMULAS:
        page = (site / f"reference/generated/{name}.html").read_text("utf-8")
        assert 'class="math notranslate nohighlight"' in page, name


def test_every_name_has_a_page(site):
    missing = [
        name
        for name in documented_names()
        if f'id="{name}"' not in (site / f"reference/generated/{name}.html").read_text("utf-8")
    ]
    assert not missing


def test_every_public_method_is_on_the_page_of_its_class(site):
    for full, value in public_objects().items():
        if not inspect.isclass(value):
            continue
        page = (site / f"reference/generated/{full}.html").read_text("utf-8")
        for name, member in vars(value).items():
            if inspect.isfunction(member) and not name.startswith("_"):
                assert f'id="{full}.{name}"' in page, f"{full}.{name} has no docstring"


def test_every_verb_and_option_is_in_the_reference_of_the_command(site):
    """The options of the help, of every verb."""
    import typer
    from typer.main import get_command

    from kernelight.cli.app import app

    page = (site / "command-reference.html").read_text("utf-8")
    verbs = [(get_command(app), typer.Context(get_command(app), info_name="kernelight"))]
    seen = 0
    while verbs:
        verb, context = verbs.pop()
        path = context.command_path.replace(" ", "-")
        for parameter in verb.get_params(context):
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                if option.startswith("--") and parameter.get_help_record(context):
                    assert f'id="cmdoption-{path}{option[1:]}"' in page, f"{path} {option}"
                    seen += 1
        verbs += [
            (inner, typer.Context(inner, info_name=name, parent=context))
            for name, inner in getattr(verb, "commands", {}).items()
        ]
    assert seen > 100
