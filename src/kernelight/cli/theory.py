"""``kernelight theory``: numbers of components and bytes, by `kernelight.theory`."""

from __future__ import annotations

from typing import Any

from kernelight import theory
from kernelight.base import bytes_text, counted
from kernelight.cli import show


def run(what: str, arguments: dict[str, Any], *, as_json: bool) -> None:
    """Print how many components or bytes it takes."""
    if what == "components":
        count = int(theory.components_needed(**arguments))
        text = counted(count, "component")
    else:
        count = int(theory.memory_needed(**arguments))
        text = bytes_text(count)
    if as_json:
        show.as_json({"components" if what == "components" else "bytes": count})
    else:
        show.say(text)
