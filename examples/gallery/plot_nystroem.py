"""
Where should landmarks stand? Nyström features
==============================================

Nyström features know the kernel through some rows, the landmarks.
On the landmarks they are exact, near them nearly, and far from all of them they know nothing.
Rows are often crowded in one place and rare in others.
Where do landmarks come to stand then, and how much of the kernel do they miss?
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelight import KernelNystroem
from kernelight.kernels import Gaussian

rng = np.random.default_rng(0)
crowd = rng.normal((-1.5, -1), 0.45, (1000, 2))
angle = rng.uniform(0, 2 * np.pi, 200)
ring = np.stack([2.4 * np.cos(angle), 2.4 * np.sin(angle)], axis=1) + rng.normal(0, 0.15, (200, 2))
X = rng.permutation(np.concatenate([crowd, ring]))
kernel = Gaussian(sigma=0.8)


def known(nystroem, rows):
    """What the features of a row have of K(x, x), which is 1: between 0 and 1."""
    return np.square(nystroem.transform(rows)).sum(axis=1)


side = np.linspace(-3.4, 3.4, 120)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
fig, axes = plt.subplots(1, 2, figsize=(5.4, 3.7), sharey=True, layout="constrained")
for ax, landmarks in zip(axes, ("random", "kmeans++"), strict=True):
    nystroem = KernelNystroem(kernel, 24, landmarks=landmarks).fit(X)
    image = ax.imshow(
        known(nystroem, plane).reshape(120, 120),
        extent=(-3.4, 3.4, -3.4, 3.4),
        origin="lower",
        aspect="auto",
        cmap="Blues",
        vmin=0,
        vmax=1,
    )
    ax.plot(*X.T, ".", color=plt.rcParams["text.color"], markersize=1, alpha=0.4)
    ax.plot(*nystroem.components_.T, "o", color="C1", markersize=7, markeredgecolor="white")
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"{landmarks}: {known(nystroem, X).mean():.1%}")
fig.colorbar(image, ax=axes, location="bottom", aspect=40, pad=0.03, label="known of the kernel")
plt.show()

# %%
# Dots are 24 landmarks, points are rows, and the title says what is known of a row on average.
# Random landmarks stand where most rows are, in the crowd, where a few would do.
# Those of ``"kmeans++"`` are drawn far from each other in the space of the kernel.
#
# More landmarks miss less.
# No features of that number can miss less than the eigenvectors of the whole kernel matrix do,
# which are too expensive for large tables.

sizes = [2, 4, 8, 16, 32, 64]
eigenvalues = np.linalg.eigvalsh(kernel(X))[::-1]
least = [eigenvalues[k:].sum() / len(X) for k in sizes]
fig, ax = plt.subplots(figsize=(5.4, 3.9), layout="constrained")
for landmarks, marker, color in (("random", "s--", "C1"), ("kmeans++", "o-", "C0")):
    means = []
    for k in sizes:
        maps = [KernelNystroem(kernel, k, landmarks=landmarks, random_state=at) for at in range(5)]
        means.append(np.mean([1 - known(each.fit(X), X) for each in maps]))
    ax.plot(sizes, means, marker, color=color, label=landmarks)
    print(f"{landmarks:9}", *(f"{k}: {mean:.1%} " for k, mean in zip(sizes, means, strict=True)))
ax.plot(sizes, least, ":", color="0.5", label="the least possible")
ax.legend(loc="lower left")
ax.set(xscale="log", yscale="log", xlabel="landmarks", ylabel="missed, on average")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.set_title("How much landmarks miss")
plt.show()
