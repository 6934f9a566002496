"""Charts in one style: panels of lines with one legend, as SVG files that are the same bytes every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

STYLE = {
    "svg.hashsalt": "kernelight", "svg.fonttype": "none", "font.size": 8.0, "axes.titlesize": 9.0, "lines.linewidth": 1.3,
    "axes.grid": True, "grid.color": "#e4e4e4", "axes.edgecolor": "#888888", "axes.axisbelow": True, "legend.frameon": False,
    "font.family": "sans-serif", "axes.spines.top": False, "axes.spines.right": False, "path.simplify_threshold": 0.5,
}  # fmt: skip
# The colours of Okabe and Ito, which all can tell apart; the yellow is left out, it is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7f7f7f")
PANEL = (2.5, 2.0)  # inches


@dataclass(frozen=True)
class Line:
    """One curve."""

    x: Any
    y: Any
    label: str
    colour: int = 0
    dash: Any = "-"
    marker: str = ""


@dataclass
class Panel:
    """One small chart."""

    title: str
    lines: list[Line] = field(default_factory=list)
    x_label: str | None = None


def draw(
    path: Path, panels: Sequence[Panel], *, x_label: str, y_label: str, log_x: bool = True, log_y: bool = False,
    columns: int = 4, legend_columns: int = 4,
) -> None:  # fmt: skip
    """Panels in a grid, ``columns`` of them in a row, the legend below."""
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    with mpl.rc_context(STYLE):
        labels = list(dict.fromkeys(line.label for panel in panels for line in panel.lines))
        width = max(PANEL[0] * columns, 5.0)
        legend_rows = -(-len(labels) // legend_columns)
        height = PANEL[1] * rows + 0.35 + 0.17 * legend_rows
        figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False)
        handles: dict[str, Any] = {}
        for at, axis in enumerate(axes.flat):
            if at >= len(panels):
                axis.axis("off")
                continue
            panel = panels[at]
            for line in panel.lines:
                (handle,) = axis.plot(
                    line.x,
                    line.y,
                    linestyle=line.dash,
                    color=COLOURS[line.colour % len(COLOURS)],
                    marker=line.marker,
                    markersize=3,
                )
                handles.setdefault(line.label, handle)
            axis.set_title(panel.title)
            if log_x:
                axis.set_xscale("log")
            if log_y:
                axis.set_yscale("log")
            if at + columns >= len(panels):
                axis.set_xlabel(panel.x_label or x_label)
            if at % columns == 0:
                axis.set_ylabel(y_label)
        figure.tight_layout(rect=(0, (0.1 + 0.17 * legend_rows) / height, 1, 1))
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="lower center",
            ncol=min(legend_columns, len(labels)),
            handlelength=2.6,
        )
        save(figure, path)


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


def save(figure: Any, path: Path) -> None:
    """Write it without a date, so that equal figures are equal files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
