"""Charts as inline SVG: small, drawn once, coloured by the style sheet (so light, dark and print need nothing more).

A chart is 440 x 300 units wide: on a phone a unit is a little less than a pixel, on a desktop, two in a row, a bit more. Every
mark carries its values in ``data-tip``, which the script of the page shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from kernelight.study.report.axes import Axis

WIDTH, HEIGHT = 440, 300
OTHER = "other"  # the style of everything that has no colour of its own
SHARED = {OTHER: "others", "exact": "Exact SVMs"}  # what several series of one style are called
LEFT, RIGHT, TOP, BOTTOM = 52, 428, 26, 256


@dataclass(frozen=True)
class Point:
    """A mark, and what is said about it."""

    x: float
    y: float
    tip: str
    ring: bool = False  # drawn with a ring: on the front, or the chosen one


@dataclass(frozen=True)
class Series:
    """Points of one colour and shape; a line through them if ``line``."""

    label: str
    style: str  # s0 ... s6, other, linear, boosting, exact
    points: Sequence[Point]
    line: bool = True


@dataclass
class Chart:
    """Axes and what is drawn in them, from back to front."""

    x: Axis
    y: Axis
    name: str
    series: list[Series] = field(default_factory=list)
    band: tuple[float, float, str] | None = None  # a range of y worth marking, and what it is
    levels: list[tuple[float, str, str, str]] = field(default_factory=list)  # y, label, style, tip
    front: list[tuple[float, float]] | None = None
    diagonal: bool = False

    def svg(self) -> str:
        """The drawing."""
        parts = [self._band(), self._grid(), self._diagonal(), self._front(), *map(self._level, self.levels)]
        drawn = [*reversed(self.series)]  # the most important one on top
        parts += [self._line(one) for one in drawn if one.line]
        parts += [self._marks(one) for one in drawn]
        inside = "".join(parts)
        return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.name, quote=True)}">{inside}</svg>'

    def _grid(self) -> str:
        parts = []
        for tick in self.y.ticks:
            at = self.y(tick)
            parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{RIGHT}"/>')
            parts.append(
                f'<text class="tick end" x="{LEFT - 7}" y="{at + 4:.1f}">{escape(self.y.text(tick))}</text>'
            )
        for tick in self.x.ticks:
            at = self.x(tick)
            parts.append(f'<path class="grid faint" d="M{at:.1f} {TOP}V{BOTTOM}"/>')
            parts.append(
                f'<text class="tick mid" x="{at:.1f}" y="{BOTTOM + 17}">{escape(self.x.text(tick))}</text>'
            )
        middle = (LEFT + RIGHT) / 2
        parts.append(f'<path class="axis" d="M{LEFT} {BOTTOM}H{RIGHT}"/>')
        parts.append(f'<text class="title mid" x="{middle}" y="{BOTTOM + 37}">{escape(self.x.title)}</text>')
        parts.append(f'<text class="title" x="4" y="13">{escape(self.y.title)}</text>')
        return "".join(parts)

    def _band(self) -> str:
        if self.band is None:
            return ""
        low, high, label = self.band
        top, bottom = self.y(high), self.y(low)
        tip = escape(label, quote=True)
        return (
            f'<rect class="band" x="{LEFT}" y="{top:.1f}" width="{RIGHT - LEFT}" height="{max(1.0, bottom - top):.1f}" '
            f'data-tip="{tip}"/>'
        )

    def _diagonal(self) -> str:
        if not self.diagonal:
            return ""
        low, high = max(self.x.low, self.y.low), min(self.x.high, self.y.high)
        start, end = (self.x(low), self.y(low)), (self.x(high), self.y(high))
        return f'<path class="diagonal" d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"/>'

    def _front(self) -> str:
        """The Pareto front as stairs: beyond each point, nothing cheaper is better."""
        if not self.front:
            return ""
        places = [(self.x(x), self.y(y)) for x, y in self.front]
        path = f"M{places[0][0]:.1f} {places[0][1]:.1f}"
        path += "".join(f"H{x:.1f}V{y:.1f}" for x, y in places[1:])
        return f'<path class="front" d="{path}H{RIGHT}"/>'

    def _level(self, level: tuple[float, str, str, str]) -> str:
        y, _, style, tip = level
        at = self.y(y)
        return (
            f'<path class="level {style}" d="M{LEFT} {at:.1f}H{RIGHT}" data-tip="{escape(tip, quote=True)}"/>'
        )

    def _line(self, one: Series) -> str:
        if len(one.points) < 2:
            return ""
        path = "L".join(f"{self.x(point.x):.1f} {self.y(point.y):.1f}" for point in one.points)
        return f'<path class="line {one.style}" d="M{path}"/>'

    def _marks(self, one: Series) -> str:
        parts = []
        for point in one.points:
            x, y = self.x(point.x), self.y(point.y)
            tip = escape(point.tip, quote=True)
            below = point.y < self.y.low
            ring = (
                f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="8.5"/>'
                if point.ring and not below
                else ""
            )
            shape = _arrow(x, y) if below else _shape(one.style, x, y, 4.5)
            parts.append(
                f'<g class="mark {one.style}" tabindex="-1" data-tip="{tip}">{ring}'
                f'<circle class="touch" cx="{x:.1f}" cy="{y:.1f}" r="9"/>{shape}</g>'
            )
        return "".join(parts)


_SHAPES = {
    "s0": "circle",
    "s1": "square",
    "s2": "diamond",
    "s3": "up",
    "s4": "down",
    "s5": "square",
    "s6": "circle",
}


def _shape(style: str, x: float, y: float, r: float) -> str:
    """A mark; shapes differ as colours do, for those who see the latter badly and for print."""
    kind = _SHAPES.get(style, "circle")
    if kind == "square":
        return f'<rect x="{x - 0.85 * r:.1f}" y="{y - 0.85 * r:.1f}" width="{1.7 * r:.1f}" height="{1.7 * r:.1f}"/>'
    if kind == "diamond":
        s = 1.2 * r
        return f'<path d="M{x:.1f} {y - s:.1f}l{s:.1f} {s:.1f}l{-s:.1f} {s:.1f}l{-s:.1f} {-s:.1f}z"/>'
    if kind == "up":
        return f'<path d="M{x:.1f} {y - 1.15 * r:.1f}l{1.15 * r:.1f} {2 * r:.1f}h{-2.3 * r:.1f}z"/>'
    if kind == "down":
        return f'<path d="M{x:.1f} {y + 1.15 * r:.1f}l{1.15 * r:.1f} {-2 * r:.1f}h{-2.3 * r:.1f}z"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{0.95 * r:.1f}"/>'


def _arrow(x: float, y: float) -> str:
    """For what lies below the chart."""
    return f'<path d="M{x:.1f} {y:.1f}l4 -7h-8z"/>'


def _names(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The label of each style, or a name for all that share it."""
    found: dict[str, str] = {}
    for style, label in pairs:
        found[style] = SHARED[style] if style in found and style in SHARED else label
    return found


def legend(pairs: Sequence[tuple[str, str]]) -> str:
    """Marks and names of styles, as HTML."""
    chips = [_chip(label, style, _shape(style, 8, 8, 4.5)) for style, label in _names(pairs).items()]
    return f'<div class="legend">{"".join(chips)}</div>'


def symbol(style: str) -> str:
    """The mark of a model beside its name in a table: the same as in the charts."""
    mark = _shape(style, 8, 8, 4.5)
    return f'<svg class="key" viewBox="0 0 16 16" aria-hidden="true"><g class="mark {style}">{mark}</g></svg>'


def _chip(label: str, style: str, mark: str) -> str:
    return (
        f'<span class="chip" data-series="{style}"><svg viewBox="0 0 16 16" aria-hidden="true"><g class="mark {style}">'
        f"{mark}</g></svg>{escape(label)}</span>"
    )
