"""How answers are shown: tables for people, JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def as_json(answer: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(answer, indent=2, sort_keys=False, default=_plain))


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = ()) -> None:
    """Aligned columns, those of numbers to the right; colours only where the terminal has them (rich knows NO_COLOR)."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    shown = Table(box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False, show_edge=False)
    for at, head in enumerate(heads):
        shown.add_column(head, justify="right" if at in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*map(str, row))
    console.print(shown, soft_wrap=not console.is_terminal)


def pairs(values: dict[str, Any]) -> None:
    """Names and values, one to a line."""
    width = max(map(len, values), default=0)
    for name, value in values.items():
        lines = str(value).splitlines() or [""]
        print(f"{name:<{width}}  {lines[0]}")
        for line in lines[1:]:
            print(" " * (width + 2) + line)


def size(count: float) -> str:
    """Bytes as people say them."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if abs(count) < 1000 or unit == "GB":
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    raise AssertionError
