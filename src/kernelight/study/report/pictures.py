"""The picture of rows in the plane, and the confusion matrix."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from kernelight.study.result import Study

SIDE = 420
HUES = 12  # colours of classes; beyond, they repeat


def cloud(study: Study) -> str:
    """The picture of the codes: a dot for each row, coloured by its class or its target."""
    picture = study.picture
    assert picture is not None
    points = np.asarray(picture["points"])
    if np.ptp(points[:, 1]) > np.ptp(points[:, 0]):
        points = points[:, ::-1]  # directions mean nothing, and wide pictures fit the page
    low, span = points.min(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    places = 14 + (points - low) / span * (SIDE - 28)
    names = study.data["class_names"]
    dots = []
    for (x, y), value, heat in zip(places, picture["y"], _percentages(picture["y"]), strict=True):
        if names is None:
            look, tip = f'class="dot heat" style="--heat:{heat:.0f}%"', f"target {value:.4g}"
        else:
            look, tip = f'class="dot c{int(value) % HUES}"', f"class {names[int(value)]}"
        dots.append(
            f'<circle {look} cx="{x:.1f}" cy="{y:.1f}" r="4" data-tip="{escape(tip, quote=True)}"/>'
        )
    height = 28 + float(np.ptp(places[:, 1]))
    return _drawing(height, "Test rows in the plane", dots)


def cloud_legend(study: Study) -> str:
    """Names of the classes, or the ends of the range."""
    names = study.data["class_names"]
    if names is None:
        values = (study.picture or {})["y"]
        return (
            f'<div class="legend"><span>{min(values):.3g}</span><span class="ramp"></span>'
            f"<span>{max(values):.3g}</span></div>"
        )
    if len(names) > HUES:
        said = "Colours repeat: point at a dot to see its class."
        return f'<div class="legend"><span>{said}</span></div>'
    chips = [
        '<span class="chip"><svg viewBox="0 0 16 16" aria-hidden="true">'
        f'<circle class="dot c{at}" cx="8" cy="8" r="5"/></svg>{escape(shortened(name, 18))}</span>'
        for at, name in enumerate(names)
    ]
    return f'<div class="legend">{"".join(chips)}</div>'


def matrix(confusion: dict[str, Any]) -> str:
    """The confusion matrix, a row for each true class; errors have another colour."""
    counts, names = np.asarray(confusion["matrix"]), confusion["classes"]
    n = len(names)
    margin = min(96, 22 + 6.4 * max(len(shortened(name, 11)) for name in names))
    size = (SIDE - margin - 4) / n
    flat = _is_flat(names, size)
    top = 18.0 if flat else margin
    parts = []
    for row in range(n):
        total = max(1, counts[row].sum())
        parts.append(
            f'<text class="tick end" x="{margin - 7:.0f}" y="{top + (row + 0.5) * size + 4:.1f}">'
            f"{escape(shortened(names[row], 11))}</text>"
        )
        parts.append(
            _column_name(shortened(names[row], 11), margin + (row + 0.5) * size, top, flat)
        )
        for column in range(n):
            count = int(counts[row, column])
            x, y = margin + column * size, top + row * size
            kind = "right" if row == column else "wrong"
            depth = _depth(count / total, row == column)
            tip = (
                f"{names[row]} taken for {names[column]}: {count} of {counts[row].sum()}"
                if row != column
                else f"{names[row]}: {count} of {counts[row].sum()} right"
            )
            fill = "empty" if not count else kind
            parts.append(
                f'<rect class="{fill}" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{size - 2:.1f}" '
                f'height="{size - 2:.1f}" rx="2" fill-opacity="{depth if count else 1:.2f}" '
                f'data-tip="{escape(tip, quote=True)}"/>'
            )
            if count and size >= 18:
                strong = " strong" if depth == 1 else ""
                middle = f'x="{x + size / 2:.1f}" y="{y + size / 2 + 4:.1f}"'
                parts.append(f'<text class="count mid{strong}" {middle}>{count}</text>')
    return _drawing(top + n * size + 4, "Confusion matrix", parts)


def _drawing(height: float, label: str, parts: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {SIDE} {height:.0f}" role="img" aria-label="{label}">'
        f"{''.join(parts)}</svg>"
    )


def _depth(fraction: float, right: bool) -> float:
    """The opacity of a cell with this fraction of a class.

    Pale or full: the numbers are hard to read on what lies between.
    """
    if right:
        return 1.0 if fraction > 0.5 else 0.15 + 0.5 * fraction
    return min(0.5, 0.12 + 1.5 * fraction)


def pairs_table(confusion: dict[str, Any]) -> str:
    """The classes confused most, where there are too many for a matrix."""
    if not confusion["pairs"]:
        return "<p>No test row was taken for another class.</p>"
    rows = "".join(
        f"<tr><td>{escape(true)}</td><td>{escape(taken)}</td>"
        f'<td class="num">{count} of {total}</td></tr>'
        for true, taken, count, total in confusion["pairs"]
    )
    return (
        '<div class="scroll"><table><thead><tr><th>true class</th><th>taken for</th>'
        f'<th class="num">rows</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _column_name(name: str, x: float, top: float, flat: bool) -> str:
    if flat:
        return f'<text class="tick mid" x="{x:.1f}" y="{top - 3:.0f}">{escape(name)}</text>'
    x, y = x + 4, top - 6
    return (
        f'<text class="tick" x="{x:.1f}" y="{y:.0f}" transform="rotate(-60 {x:.1f} {y:.0f})">'
        f"{escape(name)}</text>"
    )


def _is_flat(names: list[str], size: float) -> bool:
    return max(len(shortened(name, 11)) for name in names) * 6.6 < size


def shortened(name: str, most: int) -> str:
    """The name, cut to at most that many letters."""
    return name if len(name) <= most else name[: most - 1] + "…"


def _percentages(values: list[float]) -> list[float]:
    """Where values lie between the smallest (0) and the largest (100)."""
    low, high = min(values), max(values)
    return [100 * (value - low) / ((high - low) or 1.0) for value in values]
