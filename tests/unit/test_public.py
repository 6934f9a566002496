"""Every public name is there, says what it is, and shows how it is used."""

from __future__ import annotations

import inspect
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

import kernelight


def public() -> list[tuple[str, ModuleType, str]]:
    """Dotted name, home and name of all in `__all__` of the package and its public modules."""
    names = []
    for name in kernelight.__all__:
        names.append((f"kernelight.{name}", kernelight, name))
        value = getattr(kernelight, name)
        if isinstance(value, ModuleType):
            names += [(f"kernelight.{name}.{inner}", value, inner) for inner in value.__all__]
    return names


NAMES = public()


@pytest.mark.parametrize(
    ("home", "name"), [pair[1:] for pair in NAMES], ids=[pair[0] for pair in NAMES]
)
def test_name_is_documented(home: ModuleType, name: str) -> None:
    value: Any = getattr(home, name)
    if isinstance(value, str):
        return
    text = inspect.getdoc(value)
    assert text, f"{name} has no docstring"
    if isinstance(value, ModuleType) or inspect.isabstract(value):
        return
    in_module = f"{name}(" in (home.__doc__ or "") and ">>>" in (home.__doc__ or "")
    assert ">>>" in text or in_module, f"{name} shows no example"


IMPORTS_OF_EACH_NAME = """
import sys

for name in sys.argv[1:]:
    # The compiled module is loaded once in a process, and imports nothing of the package.
    for module in [module for module in sys.modules if module.partition(".")[0] == "kernelight"]:
        if module != "kernelight._core":
            del sys.modules[module]
    try:
        exec(f"from kernelight import {name}")
    except Exception as error:
        sys.exit(f"from kernelight import {name}: {error!r}")
"""


def test_every_name_imports_on_its_own() -> None:
    """As the first thing that is imported of the package: no order of imports is needed."""
    names = [name for _, home, name in NAMES if home is kernelight]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS_OF_EACH_NAME, *names], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_all_is_sorted_out() -> None:
    assert dir(kernelight) == sorted(kernelight.__all__)
    assert len(set(kernelight.__all__)) == len(kernelight.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = kernelight.nonsense


def test_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    try:
        installed = version("kernelight")
    except Exception:
        pytest.skip("the package is not installed, only on the path")
    assert installed == kernelight.__version__


def test_package_is_typed() -> None:
    from pathlib import Path

    home = Path(kernelight.__file__).parent
    assert (home / "py.typed").is_file()
    assert (home / "_core.pyi").is_file()
