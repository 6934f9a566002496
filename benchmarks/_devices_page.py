"""What the benchmark of devices writes: its bars, the table of fronts, and the picture.

    python benchmarks/_devices_page.py

takes the points of `devices`, devices_points.json, and writes the section of docs/benchmarks.md,
the table in docs/devices.md and docs/images/devices-front.png.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import devices
import matplotlib.pyplot as plt
import run as report
from _device_bars import TARGETS, Point, Study, front, rows_of
from _device_code import ARM, QEMU, run
from devices import SPLITS
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURE = DOCS / "devices.md", DOCS / "images" / "devices-front.png"
BEGIN, END = "<!-- written by benchmarks/_devices_page.py -->\n", "<!-- end -->\n"
BELOW = 2.0  # points of accuracy below the target that the table still shows
HEADS = ("model", "size", "accuracy", "flash", "RAM", "M0+", "M3", "M4")
# colour, marker, line: told apart in grey as well
STYLES = {
    "kernelight, CompactClassifier": ("#0b5cad", "o", "-"),
    "kernelight, BinaryFourier": ("#5aa0e0", "D", ":"),
    "integer MLP, 8 bits": ("#d1495b", "s", "-"),
    "integer MLP, 4 bits": ("#e58a2e", "P", "--"),
    "emlearn, MLP": ("#3c8d5a", "^", "-"),
    "emlearn, forest": ("#6b6b6b", "v", "-."),
}


def write(studies: list[Study]) -> None:
    """All three."""
    points = [point for study in studies for point in study.points]
    title = (devices.__doc__ or "").split("\n", 1)[0]
    title += "\nThe points are those of benchmarks/devices_points.json, of several runs."
    report.write(
        report.as_markdown("devices", title, [report.cells(row) for row in rows_of(studies)])
    )
    text = PAGE.read_text()
    if BEGIN not in text or END not in text:
        raise SystemExit(f"{PAGE} has no place for the table: put {BEGIN!r} and {END!r} into it.")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table(points)}{END}{rest.partition(END)[2]}")
    draw(points)


def table(points: list[Point]) -> str:
    """The fronts near the targets, a table for each data set."""
    parts = []
    for name in dict.fromkeys(point.data for point in points):
        some = [
            point
            for point in sorted(points, key=lambda point: point.flash)
            if point.data == name and point.on_front and point.accuracy >= TARGETS[name] - BELOW
        ]
        lines = [f"| {' | '.join(row)} |" for row in (HEADS, ("---",) * 2 + ("---:",) * 6)]
        for method in STYLES:
            lines += [_line(point) for point in some if point.method == method]
        splits = f"{SPLITS[name]} splits"
        parts.append("\n".join([f"### {name}, {splits}", "", *lines, ""]))
    versions = [run([tool, "--version"]).split("\n")[0] for tool in (ARM, QEMU)]
    foot = (
        "Accuracy in percent, mean over the splits; bytes of flash and RAM on a Cortex-M3; "
        f"instructions for a row. Measured with {' and '.join(versions)}."
    )
    parts.append(textwrap.fill(foot, width=100, break_on_hyphens=False) + "\n")
    return "\n" + "\n".join(parts) + "\n"


def _line(point: Point) -> str:
    counted = [f"{point.instructions[device]:,.0f}" for device in HEADS[-3:]]
    numbers = (f"{point.accuracy:.2f}", f"{point.flash:,}", f"{point.ram:,}", *counted)
    return f"| {' | '.join((point.method, point.label, *numbers))} |"


# -- The picture


def draw(points: list[Point]) -> None:
    """Accuracy against bytes of flash, a panel for each data set."""
    names = list(dict.fromkeys(point.data for point in points))
    rows = -(-len(names) // 2)
    figure, panels = plt.subplots(rows, 2, figsize=(9, 3.4 * rows + 0.6), squeeze=False)
    for name, panel in zip(names, panels.flat, strict=False):
        _panel(panel, name, [point for point in points if point.data == name])
    for panel in list(panels.flat)[len(names) :]:
        panel.set_visible(False)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=3, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.62 / figure.get_figheight()))
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=150)
    plt.close(figure)


def _panel(panel: Axes, name: str, points: list[Point]) -> None:
    top = max(point.accuracy for point in points)
    low = TARGETS[name] - 3 * BELOW
    for method, (colour, marker, line) in STYLES.items():
        shown = front(point for point in points if point.method == method)
        panel.plot(
            [point.flash for point in shown],
            [point.accuracy for point in shown],
            color=colour,
            marker=marker,
            linestyle=line,
            label=method,
            markersize=5,
            linewidth=1.6 if marker == "o" else 1.2,
            drawstyle="steps-post",
        )
    panel.axhline(TARGETS[name], color="black", linewidth=0.6, linestyle=(0, (1, 3)))
    panel.set_xscale("log")
    panel.set_ylim(low, top + 0.06 * (top - low))
    panel.set_title(name, fontsize=11, loc="left")
    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g} KB"))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.grid(alpha=0.25, which="both", linewidth=0.5)
    panel.set_xlabel("flash on a Cortex-M3 (further left is better)", fontsize=9)
    panel.set_ylabel("accuracy, %", fontsize=9)
    panel.tick_params(labelsize=8)


if __name__ == "__main__":
    write(devices.read())
