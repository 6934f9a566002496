"""The reference of the command, from the commands and options that `--help` shows.

Each option has an anchor, and its text breaks on a narrow screen, as a printed help cannot.
Arguments and options come from the same records as the help (`kernelight.cli.option_groups`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.main import get_command

from kernelight.cli.app import app

HEAD = """\
Command reference
=================

Every verb of ``kernelight`` with every option, as ``kernelight VERB --help`` has them.
:doc:`command` is the guide, with examples.
"""
UNDERLINES = "-^~"


def command_page() -> str:
    """The source of the page."""
    root = get_command(app)
    context = typer.Context(root, info_name="kernelight")
    return "\n".join([HEAD, *_verb(root, context, 0)])


def _verb(command: Any, context: Any, depth: int) -> Iterator[str]:
    """A verb with its options, and below it the verbs of a group."""
    path = context.command_path
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    if depth:
        yield from (f".. _{_anchor(path)}:", "", path, UNDERLINES[depth - 1] * len(path), "")
        yield from (_escaped(command.help or ""), "")
    yield from (".. code-block:: text", "", f"   {usage}", "")
    if command.epilog:
        first, _, examples = command.epilog.partition(": ")
        yield from (f"{first}:", "", ".. code-block:: sh", "")
        yield from (f"   {line}" for line in re.split(r"; (?:then )?(?=kernelight )", examples))
        yield ""
    yield from (f".. program:: {path}", "")
    for title, records in _sections(command, context).items():
        yield from (f".. rubric:: {title}", "")
        for names, text in records:
            directive = "describe" if title == "Arguments" else "option"
            yield from (f".. {directive}:: {names}", "", f"   {_escaped(text)}", "")
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from _verb(inner, typer.Context(inner, info_name=name, parent=context), depth + 1)


def _sections(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Names and texts of arguments and options, in the sections of the help."""
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        names, text = record
        if parameter.param_type_name == "argument":
            sections["Arguments"].append((names.partition(" <")[0], text))
        else:
            panel = getattr(parameter, "rich_help_panel", None) or "Options"
            sections.setdefault(panel, []).append((names.replace(" / ", ", "), text))
    return {title: records for title, records in sections.items() if records}


def _anchor(path: str) -> str:
    return path.replace(" ", "-")


def _escaped(text: str) -> str:
    """Text that holds no markup; the names of other options are code."""
    text = re.sub(r"([*`|_\\])", r"\\\1", " ".join(text.split()))
    return re.sub(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", r"``\1``", text)
