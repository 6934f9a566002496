"""
What is a code? Darts, and the samples they draw
================================================

The slots of a code of :class:`~kernelight.GCWS` are samples.
Two rows agree in a slot with a probability that is their min-max kernel.
Why is that so?
Draw a row as a landscape: a bar for each column, as high as its value.
Throw darts at the plane, the same darts for every row.
The sample of a row is the first dart that hits its landscape.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelight import GCWS
from kernelight.kernels import GMM

u = np.array([3.0, 1.0, 4.0, 2.0, 0.5, 2.5])
v = np.array([2.0, 1.5, 4.5, 0.5, 1.5, 2.0])
kernel = GMM()([u], [v])[0, 0]

rng = np.random.default_rng(143)
fig, axes = plt.subplots(2, 2, figsize=(5.4, 4.9), sharex=True, sharey=True, layout="constrained")
for slot, ax in enumerate(axes.flat, start=1):
    darts = rng.uniform((0, 0), (6, 5), (100, 2))
    column = darts[:, 0].astype(int)
    first_u, first_v = (int(np.argmax(darts[:, 1] < row[column])) for row in (u, v))
    ax.stairs(u, fill=True, color="C0", alpha=0.3)
    ax.stairs(v, fill=True, color="C1", alpha=0.3)
    missed = [at for at in range(max(first_u, first_v)) if at not in (first_u, first_v)]
    ax.plot(*darts[missed].T, "x", color="0.5", markersize=5)
    ax.plot(*darts[first_u], "o", color="C0", markersize=13, fillstyle="none", markeredgewidth=2.5)
    ax.plot(*darts[first_v], "s", color="C1", markersize=8, fillstyle="none", markeredgewidth=2.5)
    agree = "the same dart" if first_u == first_v else "not the same"
    ax.set_title(f"slot {slot}: {agree}", fontsize=12)
    ax.set(xticks=np.arange(6) + 0.5, xticklabels=range(1, 7), ylim=(0, 5), yticks=[0, 2, 4])
axes[1, 0].text(3.05, 2.15, "row u", color="C0", weight="bold")
axes[1, 0].text(3.1, 4.1, "row v", color="C1", weight="bold")
fig.supxlabel("column", color=plt.rcParams["axes.labelcolor"], fontsize=12)
fig.supylabel("value", color=plt.rcParams["axes.labelcolor"], fontsize=12)
plt.show()

# %%
# The circle is the sample of u and the square that of v; crosses are darts that neither keeps.
# A dart that hits neither landscape changes nothing.
# Look at the first one that hits either of them: it falls on both with probability
#
# .. math:: K(u, v) = \frac{\sum_i \min(u_i, v_i)}{\sum_i \max(u_i, v_i)},
#
# the common area over the area of both.
# In that case both rows have the same sample, and otherwise they do not.
#
# GCWS finds the first dart without throwing those before it.
# It needs no bounded plane either, and only a few bits of each sample are kept.
# Here are 20,000 of its samples.
# A column is drawn in proportion to its value, and the line across a bar is that proportion.

gcws = GCWS(n_components=20_000).fit([u, v])
codes, winners = gcws.encode_with_winners([u, v])
places = np.arange(6)
fig, ax = plt.subplots(figsize=(5.4, 3.6), layout="constrained")
for name, row, color, drawn in zip("uv", (u, v), ("C0", "C1"), winners.features, strict=True):
    left = places - 0.4 * (name == "u")
    fractions = np.bincount(drawn, minlength=6) / len(drawn)
    ax.bar(left, fractions, width=0.38, align="edge", color=color, alpha=0.75)
    ax.hlines(row / row.sum(), left, left + 0.38, color=plt.rcParams["text.color"])
    ax.text(left[2] + 0.19, fractions[2] + 0.012, name, color=color, ha="center", weight="bold")
    print(f"{name}: largest deviation {np.abs(fractions - row / row.sum()).max():.4f}")
ax.set(xticks=places, xticklabels=places + 1, xlabel="column", ylabel="fraction of samples")
ax.margins(y=0.12)
agreement = (codes.array[0] == codes.array[1]).mean()
ax.set_title(f"{agreement:.3f} of the slots agree; the kernel is {kernel:.3f}")
plt.show()

# %%
# Codes of 8 bits also agree by chance, once in 256 times that samples differ:
# :func:`~kernelight.theory.bbit_collision` says what to expect, and ``similarity`` corrects it.

print("kernel", kernel.round(4), "  expected agreement", gcws.expected([u], [v])[0, 0].round(4))
print("agreement", agreement.round(4), "  similarity", gcws.similarity(codes)[0, 1].round(4))
