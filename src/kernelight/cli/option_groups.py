"""Options that several verbs share are said once, as the fields of a dataclass.

A verb has one parameter for such a group. `with_groups` shows typer one option for each field,
and calls the verb with the group. `GroupedHelp` prints the help of a verb in sections, one for each
``rich_help_panel``: typer does that with rich only, whose import would take longer than the rest
of the help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from typer.core import TyperCommand


def with_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """A function that takes the fields of groups as parameters, in place of the groups.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size:
    ...     width: int = 1
    ...     height: int = 2
    >>> @with_groups
    ... def draw(name: str, size: Size, colour: str = "red") -> None:
    ...     print(name, size, colour)
    >>> list(signature(draw).parameters)
    ['name', 'width', 'height', 'colour']
    >>> draw(name="box", height=5)
    box Size(width=1, height=5) red
    """
    groups: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    parameters: list[Parameter] = []
    for name, parameter in signature(verb, eval_str=True).parameters.items():
        group = parameter.annotation
        if not (isinstance(group, type) and is_dataclass(group)):
            parameters.append(parameter)
            continue
        fields = signature(group, eval_str=True).parameters
        groups[name] = group, list(fields)
        parameters += fields.values()

    @wraps(verb)
    def call(**given: Any) -> None:
        for name, (group, fields) in groups.items():
            given[name] = group(**{field: given.pop(field) for field in fields if field in given})
        verb(**given)

    shown = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]
    call.__signature__ = signature(verb).replace(parameters=shown)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return call


class GroupedHelp(TyperCommand):
    """A command whose help lists its options in sections."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Arguments by their bare names: some versions of typer write ``{DATA}``."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, options without a section, and then the sections in the order of options."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                sections["Arguments"].append((record[0].partition(" <")[0], record[1]))
            else:
                panel = getattr(parameter, "rich_help_panel", None) or "Options"
                sections.setdefault(panel, []).append(record)
        for name, records in sections.items():
            _write(formatter, name, records)


def _write(formatter: Any, name: str, records: Iterable[tuple[str, str]]) -> None:
    if records:
        with formatter.section(name):
            formatter.write_dl(records)
