"""Make docs/images/start.png: a linear model on two spirals, alone and on codes of a kernel.

    python tools/start_picture.py

The kernel is exp(-gamma (1 - GMM)), estimated by codes of 8, 64 and 1,024 slots. Colours and the
transparent background suit light and dark pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.svm import LinearSVC

from kernelight import KernelClassifier

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "start.png"
COMPONENTS = (8, 64, 1024)
ORANGE, BLUE, GREY = "#e8833a", "#4a90d9", "#868e96"
SIDE = 240  # points of the grid along each side


def spirals(n_rows: int, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Points on two spirals that wind into each other, and which spiral each is on."""
    rng = np.random.default_rng(seed)
    turn = np.sqrt(rng.uniform(0.02, 1, n_rows)) * 4.4 * np.pi
    y = rng.integers(0, 2, n_rows)
    angle = turn + np.pi * y
    points = np.stack([turn * np.cos(angle), turn * np.sin(angle)], axis=1) / turn.max()
    return points + rng.normal(0, 0.035, points.shape), y


def draw(axes: Any, title: str, model: Any, rows: Any, labels: Any, test: Any) -> None:
    """The score of a model over the plane, its border, and the training rows."""
    line = np.linspace(-1.15, 1.15, SIDE)
    plane = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    score = np.clip(model.decision_function(plane).reshape(SIDE, SIDE), -1.5, 1.5)
    colours = matplotlib.colors.LinearSegmentedColormap.from_list("two", [BLUE, ORANGE])
    corners = (line[0], line[-1], line[0], line[-1])
    axes.imshow(
        score, origin="lower", extent=corners, cmap=colours, alpha=0.45, vmin=-1.5, vmax=1.5
    )
    axes.contour(line, line, score, levels=[0], colors=GREY, linewidths=1.3)
    for label, colour in enumerate((BLUE, ORANGE)):
        axes.scatter(*rows[labels == label].T, s=5, color=colour, linewidths=0)
    axes.set_title(f"{title}\n{model.score(*test):.0%}", color=GREY, fontsize=12)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal")
    for side in axes.spines.values():
        side.set_visible(False)


def main() -> None:
    """Fit the models and draw them side by side."""
    rows, labels = spirals(800, seed=0)
    test = spirals(4000, seed=1)
    models = {"linear model": LinearSVC().fit(rows, labels)}
    for count in COMPONENTS:
        model = KernelClassifier("exp_gmm", n_components=count, method="gcws")
        models[f"codes of {count:,} slots"] = model.fit(rows, labels)
    figure, panels = plt.subplots(1, len(models), figsize=(11, 3.35), layout="constrained")
    for axes, (title, model) in zip(panels, models.items(), strict=True):
        draw(axes, title, model, rows, labels, test)
    figure.savefig(PICTURE, dpi=130, transparent=True, bbox_inches="tight")
    few_colours = Image.open(PICTURE).quantize(200, method=Image.Quantize.FASTOCTREE)
    few_colours.save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
