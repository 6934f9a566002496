"""Charts of what scores rest on: importances of columns, and effects of the strongest."""

from __future__ import annotations

from html import escape
from typing import Any

from kernelight.study.report.axes import Axis, linear_axis
from kernelight.study.report.pictures import shortened
from kernelight.study.report.svg import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Chart, Point, Series

_BAR, _MARGIN = 24, 150
_LEAST_HEIGHT, _THICKEST = 190, 36  # of all bars of a table of few columns, and of one


def bars(effects: dict[str, Any]) -> str:
    """Bars of importance, the largest on top."""
    largest = max((part for _, part in effects["columns"]), default=0.0) or 1.0
    parts = []
    step = max(_BAR, _LEAST_HEIGHT / max(1, len(effects["columns"])))
    thick = min(step - 6, _THICKEST)
    for at, (name, part) in enumerate(effects["columns"]):
        y, width = 6 + at * step, (WIDTH - _MARGIN - 62) * part / largest
        tip = escape(f"{name}: {100 * part:.1f} % of the spread of all columns", quote=True)
        parts.append(
            f'<text class="tick end" x="{_MARGIN - 8}" y="{y + thick / 2 + 5:.1f}">'
            f"{escape(shortened(name, 20))}</text>"
            f'<rect class="mark s1" x="{_MARGIN}" y="{y:.1f}" width="{max(width, 1):.1f}" '
            f'height="{thick:.1f}" rx="2" data-tip="{tip}"/>'
            f'<text class="tick" x="{_MARGIN + width + 6:.1f}" y="{y + thick / 2 + 5:.1f}">'
            f"{100 * part:.0f} %</text>"
        )
    height = 12 + step * len(effects["columns"])
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="Importance of columns">{"".join(parts)}</svg>'
    )


def _text(value: float) -> str:
    return f"{value:.3g}"


def shape(effect: dict[str, Any], spread: list[float]) -> Chart:
    """Values of a column against its contributions; ``spread`` are those of all that are shown."""
    words = effect["words"]
    title = shortened(effect["name"], 30)
    if words is None:
        x = linear_axis(effect["x"], LEFT, RIGHT, lambda value: f"{value:,.6g}", title)
        places = effect["x"]
    else:
        ticks = tuple(float(at) for at in range(len(words)))
        short = [shortened(word, 8) for word in words]
        x = Axis(-0.5, len(words) - 0.5, LEFT, RIGHT, ticks, lambda at: short[round(at)], title)
        places = [at + (row * 0.618 % 1 - 0.5) * 0.5 for row, at in enumerate(effect["x"])]
    y = linear_axis(spread, BOTTOM, TOP, _text, "contribution to the score")
    points = [
        Point(
            place,
            value,
            f"{effect['name']} {_text(at) if words is None else words[at]}: {value:+.3g}",
        )
        for place, at, value in zip(places, effect["x"], effect["y"], strict=True)
    ]
    name = f"The effect of {effect['name']}"
    return Chart(x, y, name, [Series("rows", "dot", points, line=False)])
