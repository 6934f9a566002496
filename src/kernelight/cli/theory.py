"""``kernelight theory``: answers of `kernelight.theory`."""

from __future__ import annotations

from typing import Any

from kernelight import theory
from kernelight.base import counted
from kernelight.cli import show


def run(what: str, given: dict[str, Any], as_json: bool) -> None:
    """Print how many components or bytes it takes."""
    if what == "components":
        found = int(
            theory.components_needed(
                given.pop("error"), given.pop("confidence"), given.pop("method"), **given
            )
        )
        _print("components", found, counted(found, "component"), as_json)
        return
    found = int(
        theory.memory_needed(
            given["n_rows"], given["n_components"], given["bits"], packed=given["packed"]
        )
    )
    _print("bytes", found, show.size(found), as_json)


def _print(name: str, found: int, text: str, as_json: bool) -> None:
    if as_json:
        show.as_json({name: found})
    else:
        print(text)
