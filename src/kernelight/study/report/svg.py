"""Charts as inline SVG, coloured by the style sheet: one drawing for light, dark and print.

A chart has 440 x 300 units: on a phone a unit is a little less than a pixel, on a desktop, where
two charts stand side by side, a little more. Every mark has its values in ``data-tip``, which the
script of the page shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from kernelight.study.report.axes import Axis
from kernelight.study.report.overlaps import (
    Place,
    coinciding,
    dashed_in_turn,
    one_above_the_other,
    side_by_side,
)
from kernelight.study.report.terms import said_of, tip

WIDTH, HEIGHT = 440, 300
OTHER = "other"  # the style of everything that has no colour of its own
SHARED = {OTHER: "others", "exact": "Exact SVMs"}  # what several series of one style are called
LEFT, RIGHT, TOP, BOTTOM = 52, 428, 26, 256
Model = tuple[str, str, str]  # style, label, and what it is


@dataclass(frozen=True)
class Point:
    """A mark, and what is said about it."""

    x: float
    y: float
    tip: str
    ring: bool = False  # drawn with a ring: on the Pareto front, or chosen


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
        parts = [self._band(), self._grid(), self._diagonal(), self._front(), *self._across()]
        parts += reversed(self._lines())  # the most important one on top
        parts += reversed(self._all_marks())
        inside = "".join(parts)
        label = escape(self.name, quote=True)
        return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{inside}</svg>'

    def coinciding(self) -> str:
        """A sentence about the curves that coincide, "" if none do."""
        curves = [one for one in self.series if one.line]
        groups = coinciding([self._places(one) for one in curves])
        names = [_and(list(dict.fromkeys(curves[at].label for at in group))) for group in groups]
        return f"Curves that coincide have alternating dashes: {'; '.join(names)}." if names else ""

    def _places(self, one: Series) -> list[Place]:
        return [(self.x(point.x), self.y(point.y)) for point in one.points]

    def _grid(self) -> str:
        parts = []
        for tick in self.y.ticks:
            at, text = self.y(tick), escape(self.y.text(tick))
            parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{RIGHT}"/>')
            parts.append(f'<text class="tick end" x="{LEFT - 7}" y="{at + 4:.1f}">{text}</text>')
        for tick in self.x.ticks:
            at, text = self.x(tick), escape(self.x.text(tick))
            parts.append(f'<path class="grid faint" d="M{at:.1f} {TOP}V{BOTTOM}"/>')
            parts.append(f'<text class="tick mid" x="{at:.1f}" y="{BOTTOM + 17}">{text}</text>')
        middle = (LEFT + RIGHT) / 2
        parts.append(f'<path class="axis" d="M{LEFT} {BOTTOM}H{RIGHT}"/>')
        parts.append(_title(self.x.title, f'class="title mid" x="{middle}" y="{BOTTOM + 37}"'))
        parts.append(_title(self.y.title, 'class="title" x="4" y="13"'))
        return "".join(parts)

    def _band(self) -> str:
        if self.band is None:
            return ""
        low, high, label = self.band
        top, bottom = self.y(high), self.y(low)
        tip = escape(label, quote=True)
        return (
            f'<rect class="band" x="{LEFT}" y="{top:.1f}" width="{RIGHT - LEFT}" '
            f'height="{max(1.0, bottom - top):.1f}" data-tip="{tip}"/>'
        )

    def _diagonal(self) -> str:
        if not self.diagonal:
            return ""
        low, high = max(self.x.low, self.y.low), min(self.x.high, self.y.high)
        start, end = (self.x(low), self.y(low)), (self.x(high), self.y(high))
        return (
            f'<path class="diagonal" d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"/>'
        )

    def _front(self) -> str:
        """The Pareto front as stairs: beyond each point, nothing cheaper is better."""
        if not self.front:
            return ""
        places = [(self.x(x), self.y(y)) for x, y in self.front]
        path = f"M{places[0][0]:.1f} {places[0][1]:.1f}"
        path += "".join(f"H{x:.1f}V{y:.1f}" for x, y in places[1:])
        return f'<path class="front" d="{path}H{RIGHT}"/>'

    def _across(self) -> list[str]:
        heights = one_above_the_other([self.y(y) for y, _, _, _ in self.levels])
        return [
            f'<path class="level {style}" d="M{LEFT} {at:.1f}H{RIGHT}"{tip(said)}/>'
            for at, (_, _, style, said) in zip(heights, self.levels, strict=True)
        ]

    def _lines(self) -> list[str]:
        """Each curve as one path, or as several where parts of it are dashed."""
        curves = [one for one in self.series if one.line]
        drawn = []
        for one, pieces in zip(
            curves, dashed_in_turn([self._places(one) for one in curves]), strict=True
        ):
            parts, before = [], None
            for (start, end), style in pieces:
                if style != before:
                    look = f' style="{style}"' if style else ""
                    parts.append(
                        f'<path class="line {one.style}"{look} d="M{start[0]:.1f} {start[1]:.1f}'
                    )
                    before = style
                parts[-1] += f"L{end[0]:.1f} {end[1]:.1f}"
            drawn.append("".join(f'{part}"/>' for part in parts))
        return drawn

    def _all_marks(self) -> list[str]:
        places = side_by_side([self._places(one) for one in self.series])
        return [self._marks(one, where) for one, where in zip(self.series, places, strict=True)]

    def _marks(self, one: Series, places: Sequence[Place]) -> str:
        parts = []
        for point, (x, y) in zip(one.points, places, strict=True):
            below = point.y < self.y.low
            ring = (
                f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="8.5"/>'
                if point.ring and not below
                else ""
            )
            shape = _arrow(x, y) if below else _shape(one.style, x, y, 4.5)
            parts.append(
                f'<g class="mark {one.style}" tabindex="-1"{tip(point.tip)}>{ring}'
                f'<circle class="touch" cx="{x:.1f}" cy="{y:.1f}" r="9"/>{shape}</g>'
            )
        return "".join(parts)


def _title(text: str, look: str) -> str:
    return f"<text {look}{tip(said_of(text))}>{escape(text)}</text>"


def _and(names: list[str]) -> str:
    """Names as an enumeration.

    >>> _and(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


_SHAPES = {
    "s0": "circle",
    "s1": "square",
    "s2": "diamond",
    "s3": "up",
    "s4": "down",
    "s5": "square",
    "s6": "circle",
    "exact": "diamond",
}


def _shape(style: str, x: float, y: float, r: float) -> str:
    """A mark; shapes differ as colours do, for print and for people who are colour-blind."""
    kind = _SHAPES.get(style, "circle")
    if kind == "square":
        corner, side = f'x="{x - 0.85 * r:.1f}" y="{y - 0.85 * r:.1f}"', f"{1.7 * r:.1f}"
        return f'<rect {corner} width="{side}" height="{side}"/>'
    if kind == "diamond":
        s = 1.2 * r
        return (
            f'<path d="M{x:.1f} {y - s:.1f}l{s:.1f} {s:.1f}l{-s:.1f} {s:.1f}l{-s:.1f} {-s:.1f}z"/>'
        )
    if kind == "up":
        return f'<path d="M{x:.1f} {y - 1.15 * r:.1f}l{1.15 * r:.1f} {2 * r:.1f}h{-2.3 * r:.1f}z"/>'
    if kind == "down":
        return (
            f'<path d="M{x:.1f} {y + 1.15 * r:.1f}l{1.15 * r:.1f} {-2 * r:.1f}h{-2.3 * r:.1f}z"/>'
        )
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{0.95 * r:.1f}"/>'


def _arrow(x: float, y: float) -> str:
    """The mark of a point below the chart."""
    return f'<path d="M{x:.1f} {y:.1f}l4 -7h-8z"/>'


def _names(models: Sequence[Model]) -> dict[str, tuple[str, str]]:
    """The label of each style and what it is; one for all models that share the style."""
    names: dict[str, tuple[str, str]] = {}
    for style, label, said in models:
        if style in names and style in SHARED:
            names[style] = SHARED[style], said if style == "exact" else ""
        else:
            names[style] = label, said
    return names


def legend(models: Sequence[Model]) -> str:
    """Marks and names of styles, as HTML; tips say what they are."""
    chips = [
        f'<span class="chip" data-series="{style}"{tip(said)}>'
        f"{symbol(style, '')}{escape(label)}</span>"
        for style, (label, said) in _names(models).items()
    ]
    return f'<div class="legend">{"".join(chips)}</div>'


def symbol(style: str, kind: str = "key") -> str:
    """The mark of a model beside its name, the same as in the charts."""
    mark = f'<g class="mark {style}">{_shape(style, 8, 8, 4.5)}</g>'
    look = f' class="{kind}"' if kind else ""
    return f'<svg{look} viewBox="0 0 16 16" aria-hidden="true">{mark}</svg>'
