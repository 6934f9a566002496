"""The look of the gallery: one style for all pictures, each on a light and on a dark page.

Examples know nothing of it, so that they can be copied and downloaded as they are: they draw with
matplotlib's own names of colours, C0 to C5 and "0.5", and `use` says what these are before an
example runs. Without it an example runs in matplotlib's look.

The width of 5.4 inches with letters of 12 points is meant for a telephone: at 390 pixels a letter
is as large as the text around the picture. Colours are those of the report of `compare`
(`study/report/style.css`), which have a light and a dark form each. They differ in hue only, so
pictures name things where they are, or by markers, and do not rely on colours alone.

For Sphinx-Gallery there are `reset` (``reset_modules``), which sets the look, `scraper`
(``image_scrapers``), which saves each figure twice, so that the page shows the one that suits it,
and `Order` (``within_subsection_order``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib import pyplot as plt
from matplotlib.colors import (
    LinearSegmentedColormap,
    ListedColormap,
    to_hex,
    to_rgba,
    to_rgba_array,
)

ORDER = (
    "plot_price.py",
    "plot_which_kernel.py",
    "plot_how_many_components.py",
    "plot_darts.py",
    "plot_explain.py",
    "plot_boosted_trees.py",
    "plot_near_duplicates.py",
    "plot_molecules.py",
    "plot_tsne.py",
    "plot_memory_limit.py",
    "plot_ternary.py",
    "plot_intervals.py",
    "plot_correlation.py",
    "plot_nystroem.py",
)

INK, SOFT, LINE, PAPER = "#1d1b19", "#5f5a55", "#d9d3cc", "#ffffff"
CYCLE = ("#2068b0", "#c2410c", "#14806a", "#8148b8", "#a47208", "#b8356f")
# on a dark page; 0.5 is matplotlib's middle grey, and the last four are of ContributionsDisplay
DARK = {
    INK: "#efebe6",
    SOFT: "#a8a19a",
    LINE: "#38342f",
    PAPER: "#161514",
    **dict(
        zip(CYCLE, ("#6db3f2", "#ff8a50", "#3fc7a7", "#bf93f0", "#e0b040", "#f07fae"), strict=True)
    ),
    to_hex("0.5"): "#8f8983",
    to_hex("0.75"): "#57524d",
    "#2f6db3": "#6db3f2",
    "#c65d3b": "#ff8a50",
    "#9a9a9a": "#6d665f",
    "#444444": "#d6d0c9",
}
# Maps of colours begin at the page itself.
DARK_MAPS = {
    name: LinearSegmentedColormap.from_list(f"{name} on dark", colors)
    for name, colors in {
        "Oranges": ("#1f1d1c", "#7c2d12", "#ea6a1f", "#ffd9b0"),
        "Blues": ("#1f1d1c", "#123a63", "#3f8fd8", "#d4eaff"),
        "Greys": ("#1f1d1c", "#57524d", "#a8a19a", "#efebe6"),
    }.items()
}


def use() -> None:
    """Set matplotlib to the look of the gallery."""
    matplotlib.rcdefaults()
    plt.rcParams.update(
        {
            "figure.figsize": (5.4, 4.2),
            "figure.dpi": 100,
            "figure.facecolor": PAPER,
            "figure.constrained_layout.use": True,
            "savefig.dpi": 200,
            "font.size": 12,
            "axes.titlesize": 12.5,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.titlepad": 9,
            "axes.labelsize": 12,
            "axes.labelcolor": SOFT,
            "axes.edgecolor": SOFT,
            "axes.facecolor": "none",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": cycler(color=CYCLE),
            "axes.axisbelow": True,
            "xtick.labelsize": 11,
            "ytick.labelsize": 11,
            "xtick.color": SOFT,
            "ytick.color": SOFT,
            "text.color": INK,
            "grid.color": LINE,
            "grid.linewidth": 0.8,
            "lines.linewidth": 2.0,
            "lines.markersize": 6,
            "figure.titlesize": 12.5,
            "figure.titleweight": "bold",
            "legend.frameon": False,
            "legend.fontsize": 11,
            "image.cmap": "Oranges",
        }
    )


def reset(gallery_conf: dict[str, Any], name: str) -> None:
    """Set the look before Sphinx-Gallery runs an example."""
    use()


class Order:
    """The order of the examples on the page, for Sphinx-Gallery."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> int:
        """The place of an example; Sphinx stops at one that has none."""
        return ORDER.index(name)

    def __repr__(self) -> str:  # Sphinx compares settings by it: no address in memory
        return "Order()"


def darken(figure: Any) -> None:
    """Give everything that was drawn the colours of a dark page."""
    figure.canvas.draw()  # ticks and mapped colours are there only then
    for artist in figure.findobj():
        for part in (artist, getattr(artist, "arrow_patch", None)):
            _darken_parts(part)
        if hasattr(artist, "get_bbox_patch") and artist.get_bbox_patch() is not None:
            _darken_parts(artist.get_bbox_patch())


def _darken_parts(artist: Any) -> None:
    """One artist: its colours by name, or the map that they come from."""
    if hasattr(artist, "get_cmap") and artist.get_array() is not None:
        colors = artist.get_cmap()
        if colors.name in DARK_MAPS:
            artist.set_cmap(DARK_MAPS[colors.name])
        elif isinstance(colors, ListedColormap) and colors.N <= 12:
            artist.set_cmap(ListedColormap([_dark(each) for each in to_rgba_array(colors.colors)]))
        return
    for name in ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor"):
        getter, setter = (getattr(artist, f"{verb}_{name}", None) for verb in ("get", "set"))
        if getter is None or setter is None or (name == "color" and hasattr(artist, "get_fc")):
            continue  # a patch has no colour of its own, but two
        color = getter()
        if isinstance(color, str) and color in ("none", "auto", "face"):
            continue
        rows = to_rgba_array(color)
        changed = [_dark(row) for row in rows]
        if len(rows):
            setter(changed[0] if np.ndim(color) < 2 else changed)


def _dark(color: Any) -> tuple[float, float, float, float]:
    """The colour of a dark page; one that is not of this style stays."""
    red, green, blue, alpha = to_rgba(color)
    return to_rgba(DARK.get(to_hex((red, green, blue)), to_hex((red, green, blue))), alpha)


def save_both(figure: Any, path: Path, dark_options: dict[str, Any] | None = None) -> Path:
    """Save a figure as it is, and then on dark beside it; returns the path of the dark one.

    The dark one has no background, which is that of the page, unless ``dark_options`` say
    otherwise.
    """
    dark = path.with_name(f"{path.stem}_dark{path.suffix}")
    figure.canvas.draw()  # labels beside a square picture find their place at the second time
    figure.savefig(path)
    darken(figure)
    figure.savefig(dark, **(dark_options or {"transparent": True}))
    return dark


def scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of a block of code for Sphinx-Gallery; returns its reStructuredText."""
    shown = []
    for number in plt.get_fignums():
        light = Path(next(block_vars["image_path_iterator"]))
        figure = plt.figure(number)
        width = round(120 * figure.get_figwidth())  # as large as the text, where there is room
        words = str(figure.get_label() or _title(figure))
        for path, theme in ((light, "light"), (save_both(figure, light), "dark")):
            name = "/" + path.relative_to(gallery_conf["src_dir"]).as_posix()
            shown.append(
                f".. image:: {name}\n"
                f"   :alt: {words}\n"
                f"   :width: {width}px\n"
                f"   :class: sphx-glr-single-img only-{theme}\n"
            )
    plt.close("all")
    return "\n".join(shown)


def _title(figure: Any) -> str:
    """The first title of a figure, as a line of words for those who do not see it."""
    titles = [axes.get_title(loc) for axes in figure.axes for loc in ("left", "center")]
    suptitle = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
    return " ".join(next((each for each in [suptitle, *titles] if each), "").split())
