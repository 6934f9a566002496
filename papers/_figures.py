"""Charts in one style: panels of lines with one legend, as SVG files whose bytes do not vary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator

STYLE: Any = {
    "svg.hashsalt": "kernelight",
    "svg.fonttype": "none",
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "lines.linewidth": 1.3,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "axes.edgecolor": "#888888",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "path.simplify_threshold": 0.5,
}
# The colours of Okabe and Ito, which are also told apart by the colour-blind. Their yellow is too
# pale for lines and is left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7f7f7f")
PANEL = (2.5, 2.0)  # inches
FEW_DECADES = 50


@dataclass(frozen=True)
class Line:
    """One curve.

    With a ``style``, colours mean the label and dashes the style, and the legend names each once.
    """

    x: Any
    y: Any
    label: str
    colour: int = 0
    dash: Any = "-"
    marker: str = ""
    style: str = ""


@dataclass
class Panel:
    """One small chart."""

    title: str
    lines: list[Line] = field(default_factory=list)


def draw(
    path: Path,
    panels: Sequence[Panel],
    *,
    x_label: str,
    y_label: str,
    log_x: bool = True,
    log_y: bool = False,
    columns: int = 4,
    x_ticks: Sequence[float] | None = None,
) -> None:
    """Panels in a grid, ``columns`` of them in a row, the legend below."""
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    with mpl.rc_context(STYLE):
        handles = _handles([line for panel in panels for line in panel.lines])
        width = max(PANEL[0] * columns, 5.0)
        legend_columns = max(1, int(width / (0.55 + 0.065 * max(map(len, handles)))))
        below = 0.1 + 0.17 * -(-len(handles) // legend_columns)
        height = PANEL[1] * rows + 0.25 + below
        figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False)
        for axis in axes.flat[len(panels) :]:
            axis.axis("off")
        for at, (axis, panel) in enumerate(zip(axes.flat, panels, strict=False)):
            for line in panel.lines:
                axis.plot(line.x, line.y, **_look(line))
            axis.set_title(panel.title)
            axis.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
            for one, logarithmic in ((axis.xaxis, log_x), (axis.yaxis, log_y)):
                if not logarithmic:
                    one.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
                    continue
                low, high = one.get_view_interval()
                within = high / low < FEW_DECADES  # powers of ten alone would be one tick, or none
                one.set_major_locator(LogLocator(subs=(1, 2, 5) if within else (1,), numticks=5))
                if within:
                    one.set_major_formatter("{x:g}")
            if x_ticks is not None:
                axis.set_xticks(x_ticks, [f"{tick:g}" for tick in x_ticks])
            axis.minorticks_off()
            if at + columns >= len(panels):
                axis.set_xlabel(x_label)
            if at % columns == 0:
                axis.set_ylabel(y_label)
        figure.tight_layout(rect=(0, below / height, 1, 1))
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="lower center",
            ncol=legend_columns,
            handlelength=2.6,
        )
        save(figure, path)


def _look(line: Line) -> dict[str, Any]:
    colour = COLOURS[line.colour % len(COLOURS)]
    return {"color": colour, "linestyle": line.dash, "marker": line.marker, "markersize": 3}


def _handles(lines: list[Line]) -> dict[str, Line2D]:
    """What the legend shows: every label, and every style in black."""
    handles: dict[str, Line2D] = {}
    for line in lines:
        look = _look(line) | ({"linestyle": "-", "marker": ""} if line.style else {})
        handles.setdefault(line.label, Line2D([], [], **look))
    for line in lines:
        if line.style:
            handles.setdefault(line.style, Line2D([], [], color="black", linestyle=line.dash))
    return handles


def scatter(path: Path, panels: Sequence[tuple[str, np.ndarray, np.ndarray]]) -> None:
    """Points in the colours of their classes, one panel for each (title, points, labels)."""
    with mpl.rc_context(STYLE | {"axes.grid": False}):
        figure, axes = plt.subplots(1, len(panels), figsize=(3.4 * len(panels), 3.4), squeeze=False)
        for axis, (title, points, labels) in zip(axes.flat, panels, strict=True):
            axis.scatter(*points.T, c=labels, cmap="tab10", s=5, linewidths=0, rasterized=True)
            axis.set_title(title)
            axis.set_xticks([])
            axis.set_yticks([])
        figure.tight_layout()
        save(figure, path)


@dataclass(frozen=True)
class Strip:
    """A row of points: its label, the group it belongs to, and (value, colour) of each point."""

    label: str
    group: str
    points: Sequence[tuple[float, int]]


def strips(
    path: Path, rows: Sequence[Strip], colours: Sequence[str], *, x_label: str, band: float
) -> None:
    """Rows of points under the names of their groups, around a band at 0; one legend."""
    heights, titles = _levels(rows)
    lowest = min(heights)
    with mpl.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(7.0, 0.17 * -lowest + 0.9))
        axis.axvspan(-band, band, color="#dfe9f0", zorder=0)
        for row, y in zip(rows, heights, strict=True):
            for value, colour in row.points:
                axis.plot(value, y, "o", color=COLOURS[colour], markersize=3.2, alpha=0.85)
        axis.set_yticks(heights, [row.label for row in rows])
        axis.set(xlabel=x_label, ylim=(lowest - 0.8, 0.8))
        for title, y in titles.items():
            axis.annotate(
                title,
                (0, y),
                (4, 0),
                ("axes fraction", "data"),
                "offset points",
                va="center",
                weight="bold",
            )
        handles = [
            Line2D([], [], color=COLOURS[at], marker="o", markersize=4, linestyle="")
            for at in range(len(colours))
        ]
        axis.legend(handles, colours, loc="lower center", bbox_to_anchor=(0.5, 1), ncol=4)
        figure.tight_layout()
        save(figure, path)


def _levels(rows: Sequence[Strip]) -> tuple[list[float], dict[str, float]]:
    """The heights of rows and of the titles of their groups, from 0 down."""
    heights: list[float] = []
    titles: dict[str, float] = {}
    y = 0.0
    for row in rows:
        if row.group not in titles:
            titles[row.group] = y
            y -= 1
        heights.append(y)
        y -= 1
    return heights, titles


def save(figure: Any, path: Path) -> None:
    """Write a figure without a date and with two decimals.

    Equal figures are then equal files, and small ones.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100, metadata={"Date": None} if path.suffix == ".svg" else None)
    if path.suffix == ".svg":
        text = re.sub(r"(\d\.\d\d)\d+", r"\1", path.read_text())
        path.write_text(re.sub(r"\n\s+", "\n", re.sub(r"<!--.*?-->", "", text)))
    plt.close(figure)
