"""
Which kernel for which data?
============================

A kernel is an idea of what makes two rows alike: their direction, their distance, or what they
have in common.
The idea shows in the boundary that a model draws.
Here are eight kernels on four tables of two columns and 300 rows.
:class:`~kernelight.KernelClassifier` tunes each of them, its scaling included, and every model is
scored on 4,000 new rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap, to_rgba

from kernelight import KernelClassifier

RULES = {
    "spiral": lambda x, y: np.sin(2 * np.arctan2(y, x) + 2 * np.hypot(x, y)) > 0,
    "slices": lambda x, y: np.sin(3 * np.arctan2(y, x)) > 0,
    "steps": lambda x, y: (x > 0.5) ^ ((y > -1) & (x < 1.8)),
    "hills": lambda x, y: np.sin(2 * x) + np.sin(2 * y + x) > 0.2,
}
KERNELS = ("linear", "intersection", "ngmm", "gmm", "exp_gmm", "acos", "rbf", "gaussian")
SIDE = np.linspace(-3, 3, 90)
GRID = np.stack(np.meshgrid(SIDE, SIDE), axis=-1).reshape(-1, 2)
TINTS = ListedColormap([to_rgba("C0", 0.55), to_rgba("C1", 0.35)])


def square(rule, n_rows, seed):
    """Rows anywhere in a square, and their classes."""
    X = np.random.default_rng(seed).uniform(-3, 3, (n_rows, 2))
    return X, rule(*X.T)


def draw(ax, region):
    """Colour the two sides of a boundary."""
    ax.pcolormesh(SIDE, SIDE, region.reshape(len(SIDE), -1), cmap=TINTS, vmin=0, vmax=1)
    ax.set(xticks=[], yticks=[])


def compare_kernels(axes, rule):
    """Draw the data, and beside them the boundary of each kernel; returns the accuracies."""
    X, y = square(rule, 300, seed=0)
    draw(axes[0], rule(*GRID.T))
    for wanted, marker in ((False, "o"), (True, "+")):
        axes[0].plot(*X[y == wanted].T, marker, color=f"C{int(wanted)}", markersize=2)
    models = [KernelClassifier(kernel).fit(X, y) for kernel in KERNELS]
    accuracy = [model.score(*square(rule, 4000, seed=1)) for model in models]
    for ax, model, right in zip(axes[1:], models, accuracy, strict=True):
        draw(ax, model.predict(GRID))
        best = right > max(accuracy) - 0.01
        ax.set_xlabel(f"{right:.0%}", labelpad=2, weight="bold" if best else "normal")
        ax.spines[:].set(visible=best, linewidth=2, color=plt.rcParams["text.color"])
    return accuracy


accuracies = {}
fig, axes = plt.subplots(3, 3, figsize=(5.4, 6.4), layout="constrained")
accuracies["spiral"] = compare_kernels(axes.flat, RULES["spiral"])
for ax, name in zip(axes.flat, ("the data", *KERNELS), strict=True):
    ax.set_title(name, loc="center", fontsize=12, pad=4)
plt.show()

# %%
# The first square is the truth, with the rows that were learned from.
# Below the others is the accuracy, and a frame marks the best and all within a point of it.
# Kernels of the distance or the direction of rows draw smooth boundaries, and min-max kernels such
# as gmm ragged ones, along the axes.
# A linear model has next to nothing to draw with, and the intersection kernel only sums of a curve
# for each column; where columns act together, both have to give up.
#
# Other data, other winners:

others = [name for name in RULES if name != "spiral"]
fig, axes = plt.subplots(len(KERNELS) + 1, 3, figsize=(5.4, 13.0), layout="constrained")
for name, column in zip(others, axes.T, strict=True):
    accuracies[name] = compare_kernels(column, RULES[name])
    column[0].set_title(name, loc="center", fontsize=12)
for ax, kernel in zip(axes[:, 0], ("the data", *KERNELS), strict=True):
    ax.set_ylabel(kernel, rotation=0, ha="right", va="center", color=plt.rcParams["text.color"])
plt.show()

# %%
# - **Slices** depend on the direction of a row alone.
#   Kernels that compare directions (acos, rbf) or rows of sum 1 (ngmm) are made for that.
# - **Steps** are thresholds of columns, as in many tables, which suits the min-max kernels.
# - **Hills** are smooth, and so are the boundaries of acos, rbf and gaussian.
#
# The kernel that suits *your* rows is the one with the best score on held-out rows, and
# :func:`~kernelight.study.compare` finds it.

print(f"{'':12}", *(f"{name:>7}" for name in RULES))
for kernel, row in zip(KERNELS, zip(*accuracies.values(), strict=True), strict=True):
    print(f"{kernel:12}", *(f"{right:7.1%}" for right in row))
