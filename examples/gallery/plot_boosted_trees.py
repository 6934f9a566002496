"""
Kernels or boosted trees, for a table?
======================================

Boosted trees are the first thing to try on most tables, and on many they stay the best.
On some a kernel is clearly better.
What decides it?
Here are six tables: a robot's arm, one of Friedman's functions, scikit-learn's diabetes data, one
with columns of heavy tails, one that is made of rules, and one whose columns are numbers of shops
and goods.
All but one are simulated, so that we know what is in them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV

from kernelight import KernelRegressor

rng = np.random.default_rng(0)
N_ROWS = 1500


def robot_arm(angles):
    """How far the hand of an arm of six links is from its shoulder."""
    turned = np.cumsum(angles, axis=1)
    links = np.array([1.0, 0.9, 0.8, 0.7, 0.6, 0.5])
    return np.hypot((links * np.cos(turned)).sum(axis=1), (links * np.sin(turned)).sum(axis=1))


def heavy_tails(X):
    """A sum of logarithms, and a wave where a condition holds."""
    return np.log(X[:, 0] * X[:, 1] + 1) + (X[:, 2] > 1) * np.sin(2 * np.log(X[:, 3]))


def rules(X):
    """Conditions and nothing else."""
    both = (X[:, 0] > 0.5) & (X[:, 1] > 0.3)
    return 2.0 * both + (X[:, 2] > 0.7) - 1.5 * ((X[:, 3] > 0.2) & (X[:, 4] < 0.6))


def shops(X):
    """A level for each shop and for each of its goods: numbers that are names."""
    levels = np.random.default_rng(1).normal(size=(2, 12))
    return levels[0, X[:, 0].astype(int)] + levels[1, X[:, 1].astype(int)] * (X[:, 2] > 5)


def noisy(truth, X, noise):
    return X, truth(X) + noise * rng.normal(size=len(X))


tables = {
    "robot's arm": noisy(robot_arm, rng.uniform(-np.pi / 2, np.pi / 2, (N_ROWS, 6)), 0.05),
    "Friedman 1": make_friedman1(N_ROWS, noise=1.0, random_state=0),
    "diabetes": load_diabetes(return_X_y=True),
    "heavy tails": noisy(heavy_tails, rng.lognormal(size=(N_ROWS, 8)), 0.3),
    "rules": noisy(rules, rng.uniform(size=(N_ROWS, 8)), 0.3),
    "shops": noisy(shops, rng.integers(0, 12, (N_ROWS, 5)).astype(float), 0.3),
}
models = {
    "kernel": lambda: KernelRegressor(weights="learn"),
    "trees": lambda: HistGradientBoostingRegressor(random_state=0),
    "linear": RidgeCV,
}
scores, fitted = {}, {}
for table, (X, y) in tables.items():
    half = 2 * len(y) // 3
    for name, model in models.items():
        fitted[table, name] = model().fit(X[:half], y[:half])
        scores[table, name] = fitted[table, name].score(X[half:], y[half:])

fig, ax = plt.subplots(figsize=(5.4, 4.2), layout="constrained")
order = sorted(tables, key=lambda table: scores[table, "trees"] - scores[table, "kernel"])[::-1]
for place, table in enumerate(order):
    ends = [scores[table, name] for name in ("kernel", "trees")]
    ax.plot(ends, [place, place], color="0.75", linewidth=4, solid_capstyle="butt", zorder=0)
MARKS = {"kernel": ("o", "C0", 13), "trees": ("s", "C1", 6), "linear": ("|", "0.5", 11)}
for name, (marker, color, size) in MARKS.items():
    x = [scores[table, name] for table in order]
    ax.plot(
        x, range(len(order)), marker, color=color, markersize=size, markeredgewidth=2, label=name
    )
ax.set_yticks(range(len(order)), order)
ax.set(xlabel="R² on new rows", xlim=(-0.05, 1.04), ylim=(-0.5, len(order) - 0.3))
ax.grid(axis="x")
ax.tick_params(length=0)
ax.legend(ncols=3, loc="lower left", bbox_to_anchor=(-0.02, 1.0), handletextpad=0.1)
gain = np.array([scores[table, "kernel"] - scores[table, "trees"] for table in tables])
ahead, behind = int((gain > 0.01).sum()), int((gain < -0.01).sum())
fig.suptitle(f"The kernel is ahead on {ahead} tables, trees on {behind}", x=0.02, ha="left")
plt.show()

# %%
# Tables stand in the order of what the kernel gains over the trees; the bar between their marks is
# how much.
# The reason shows when one column moves and the others stay where they are.

fig, axes = plt.subplots(1, 2, figsize=(5.4, 3.2), layout="constrained")
for ax, (table, truth, column) in zip(
    axes, (("robot's arm", robot_arm, 2), ("rules", rules, 0)), strict=True
):
    X, _ = tables[table]
    line = np.repeat(np.quantile(X, 0.5, axis=0, keepdims=True), 300, axis=0)
    line[:, column] = np.linspace(X[:, column].min(), X[:, column].max(), 300)
    ax.plot(line[:, column], truth(line), color="0.5", linewidth=5, alpha=0.45)
    ax.plot(line[:, column], fitted[table, "trees"].predict(line), color="C1", linestyle="--")
    ax.plot(line[:, column], fitted[table, "kernel"].predict(line), color="C0")
    ax.set_title(table, fontsize=12)
    ax.set_xlabel(f"column {column + 1}")
axes[0].set_ylabel("target")
plt.show()

# %%
# The wide grey line is the truth, the solid one the kernel, and the dashed one the trees.
# Trees draw steps, which are right for rules and clumsy for a curve.
# A kernel follows a curve, and is unsure where a rule has its edge.
#
# What counts as ahead is 0.01 of R², and tables could be made for either side.
# So try both on yours; ``kernel="auto"`` averages a kernel with ferns and the leaves of a forest.

for table in order[::-1]:
    print(f"{table:12}", *(f"{name} {scores[table, name]:6.3f}  " for name in models))
