"""Rows in the plane, and the confusion matrix."""

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
    for (x, y), value, share in zip(places, picture["y"], _shares(picture["y"]), strict=True):
        if names is None:
            look, tip = f'class="dot heat" style="--share:{share:.0f}%"', f"target {value:.4g}"
        else:
            look, tip = f'class="dot c{int(value) % HUES}"', f"class {names[int(value)]}"
        dots.append(
            f'<circle {look} cx="{x:.1f}" cy="{y:.1f}" r="4" data-tip="{escape(tip, quote=True)}"/>'
        )
    height = 28 + float(np.ptp(places[:, 1]))
    return f'<svg viewBox="0 0 {SIDE} {height:.0f}" role="img" aria-label="Test rows in the plane">{"".join(dots)}</svg>'


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
        return '<div class="legend"><span>Colours repeat: point at a dot to see its class.</span></div>'
    chips = [
        f'<span class="chip"><svg viewBox="0 0 16 16" aria-hidden="true"><circle class="dot c{at}" cx="8" cy="8" r="5"/></svg>'
        f"{escape(shortened(name, 18))}</span>"
        for at, name in enumerate(names)
    ]
    return f'<div class="legend">{"".join(chips)}</div>'


def matrix(confusion: dict[str, Any]) -> str:
    """The confusion matrix: a row for each true class; right ones in one colour, wrong ones in
    another."""
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
                f'<rect class="{fill}" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{size - 2:.1f}" height="{size - 2:.1f}" rx="2" '
                f'fill-opacity="{depth if count else 1:.2f}" data-tip="{escape(tip, quote=True)}"/>'
            )
            if count and size >= 18:
                strong = " strong" if depth == 1 else ""
                parts.append(
                    f'<text class="count mid{strong}" x="{x + size / 2:.1f}" y="{y + size / 2 + 4:.1f}">{count}</text>'
                )
    height = top + n * size + 4
    return f'<svg viewBox="0 0 {SIDE} {height:.0f}" role="img" aria-label="Confusion matrix">{"".join(parts)}</svg>'


def _depth(share: float, right: bool) -> float:
    """How deep the colour of a share of a class is: pale or full, as numbers on what lies between
    are hard to read."""
    if right:
        return 1.0 if share > 0.5 else 0.15 + 0.5 * share
    return min(0.5, 0.12 + 1.5 * share)


def pairs_table(confusion: dict[str, Any]) -> str:
    """The classes confused most, where there are too many for a matrix."""
    if not confusion["pairs"]:
        return "<p>No test row was taken for another class.</p>"
    rows = "".join(
        f'<tr><td>{escape(true)}</td><td>{escape(taken)}</td><td class="num">{count} of {total}</td></tr>'
        for true, taken, count, total in confusion["pairs"]
    )
    return (
        '<div class="scroll"><table><thead><tr><th>true class</th><th>taken for</th><th class="num">rows</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _column_name(name: str, x: float, top: float, flat: bool) -> str:
    if flat:
        return f'<text class="tick mid" x="{x:.1f}" y="{top - 3:.0f}">{escape(name)}</text>'
    place = f"{x + 4:.1f} {top - 6:.0f}"
    return f'<text class="tick" x="{x + 4:.1f}" y="{top - 6:.0f}" transform="rotate(-60 {place})">{escape(name)}</text>'


def _is_flat(names: list[str], size: float) -> bool:
    return max(len(shortened(name, 11)) for name in names) * 6.6 < size


def shortened(name: str, most: int) -> str:
    """The name, cut to so many letters."""
    return name if len(name) <= most else name[: most - 1] + "…"


def _shares(values: list[float]) -> list[float]:
    low, high = min(values), max(values)
    return [100 * (value - low) / ((high - low) or 1.0) for value in values]
