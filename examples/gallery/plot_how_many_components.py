"""
How many components do I need?
==============================

A code estimates the kernel of two rows by the fraction of its slots in which they agree.
How far off is that after 100 slots, or 1,000?
Theory says, without looking at your data, and a simulation agrees.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelight import GCWS, RandomFourier, theory
from kernelight.kernels import GMM

rows = np.random.default_rng(1).gamma(0.7, size=(2, 30))
K = GMM()(rows)[0, 1]

# 200 codes of 2,048 slots, each from hashes of its own
n_codes, most = 200, 2048
codes = GCWS(n_codes * most, bits=16).fit(rows).encode(rows)
agree = (codes.array[0] == codes.array[1]).reshape(n_codes, most)
sizes = np.arange(1, most + 1)
estimates = agree.cumsum(axis=1) / sizes
needed = int(theory.components_needed(0.05, kernel=K))
inside = np.abs(estimates[:, needed - 1] - K) <= 0.05
print(f"kernel {K:.3f}: {needed} slots are needed for an error of 0.05 in 95 % of cases")
print(f"of {n_codes} codes of {needed} slots {inside.mean():.1%} are as near as that")

fig, ax = plt.subplots(layout="constrained")
ax.plot(sizes, estimates.T, color="C0", linewidth=0.6, alpha=0.25)
spread = 1.96 * np.sqrt(theory.collision_variance(K) / sizes)
for side in (-1, 1):
    ax.plot(sizes, K + side * spread, color="C1")
ax.axhline(K, color="0.5", linewidth=1)
ax.vlines(needed, K - 0.05, K + 0.05, color=plt.rcParams["text.color"], linewidth=3)
ax.annotate(
    f"± 0.05 at {needed} slots",
    (needed, K + 0.05),
    xytext=(0, 42),
    textcoords="offset points",
    ha="center",
    arrowprops={"arrowstyle": "-", "color": "0.5"},
)
ax.text(40, K + 0.21, "95 % of codes, by theory", color="C1", weight="bold")
ax.set(xscale="log", xlim=(8, most), ylim=(max(K - 0.4, 0), min(K + 0.4, 1)))
ax.set(xlabel="slots (components)", ylabel="estimate of the kernel")
ax.set_xticks([10, 100, 1000], ["10", "100", "1,000"])
ax.set_title(f"{n_codes} codes of two rows close in on {K:.2f}")
plt.show()

# %%
# Each thin line is the estimate of one code as it grows, and the wide lines are
# :math:`K \pm 1.96 \sqrt{K (1 - K) / k}`.
# Half the error takes four times the slots.
#
# Fourier features estimate another kernel, of which the same question can be asked.
# The variance of one component depends on the value of the kernel.
# Lines are formulas of :mod:`kernelight.theory`, and marks are simulations over 600 seeds.

values = np.array([0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95])
n_seeds, k = 600, 64
simulated = {"samples": [], "features": []}
for value in values:
    pair = np.array([[1.0], [value]])  # the min-max kernel of these rows is the value
    slots = GCWS(n_seeds * k, bits=16).fit(pair).encode(pair).array
    simulated["samples"].append(k * (slots[0] == slots[1]).reshape(n_seeds, k).mean(axis=1).var())
    angle = np.arccos(1 + np.log(value) / 4)  # and exp(-4 (1 - cos)) of these
    pair = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    maps = (RandomFourier(k, gamma=4.0, random_state=seed).fit(pair) for seed in range(n_seeds))
    products = [np.prod(each.transform(pair), axis=0).sum() for each in maps]
    simulated["features"].append(k * np.var(products))

grid = np.linspace(0, 1, 200)
formulas = {"samples": theory.collision_variance(grid), "features": theory.paired_variance(grid)}
fig, ax = plt.subplots(figsize=(5.4, 3.8), layout="constrained")
for name, marker in (("samples", "o"), ("features", "s")):
    (line,) = ax.plot(grid, formulas[name])
    ax.plot(values, simulated[name], marker, color=line.get_color())
ax.text(0.2, 0.07, "samples of a min-max kernel", color="C0", weight="bold")
ax.text(0.3, 0.9, "Fourier features of an RBF kernel", color="C1", weight="bold")
crossing = theory.gcws_crossover("paired")
ax.vlines(crossing, 0, 0.62, color="0.5", linewidth=1, linestyle=":")
ax.text(crossing, 0.64, f"{crossing:.3f}", color="0.5", ha="center")
ax.set(xlabel="kernel", ylabel="variance of a component", xlim=(0, 1), ylim=(0, 1.02))
ax.set_title("Samples vary less, unless rows are very alike")
plt.show()

# %%
# Most pairs of rows are unlike each other, which is where samples are far ahead.
# A sample is also smaller: a byte or less, where a feature takes four.
# For rows that are more alike than where the lines cross, features win.

for name in formulas:
    exact = np.interp(values, grid, formulas[name])
    ratio = np.array(simulated[name]) / exact
    print(f"{name:8} simulated variance / theory: {ratio.min():.2f} to {ratio.max():.2f}")
