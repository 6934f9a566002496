"""
A map of digits, from their codes
=================================

t-SNE draws rows in the plane so that neighbours stay neighbours.
Which neighbours?
Here they are those of the min-max kernel, as the codes of 1,797 handwritten digits see them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE

from kernelight import GCWS

X, y = load_digits(return_X_y=True)
gcws = GCWS(n_components=512, bits=4).fit(X)
codes = gcws.encode(X)
distance = np.clip(1 - gcws.similarity(codes), 0, None)  # an estimate may be a bit above 1
np.fill_diagonal(distance, 0)

tsne = TSNE(metric="precomputed", init="random", perplexity=30, max_iter=500, random_state=0)
place = tsne.fit_transform(distance)

fig, ax = plt.subplots(figsize=(5.4, 5.2), layout="constrained")
for digit, color in enumerate("0123451204"):
    ax.scatter(*place[y == digit].T, marker=f"${digit}$", s=26, color=f"C{color}", linewidths=0.2)
ax.set_axis_off()
ax.set_title("Each numeral is an image of that digit")
plt.show()

# %%
# Most digits stand together with their like.
# An island of its own is a way of writing a digit, such as a one with a foot.
# A numeral among others is an image that looks like them, or one that the map had no better place
# for: a plane is too small for 64 columns.
# Distances between islands mean little.

np.fill_diagonal(distance, np.inf)
same = y[distance.argmin(axis=1)] == y
print(f"{same.mean():.1%} of the images are of the same digit as their nearest by codes")
gaps = np.hypot(*(place[:, None] - place).T)
np.fill_diagonal(gaps, np.inf)
print(f"{(y[gaps.argmin(axis=1)] == y).mean():.1%} as their nearest on the map")
print(f"{codes.packed.nbytes / len(X):.0f} bytes for a code, {X.shape[1]} columns for an image")

# %%
# A matrix of all distances is for some thousand rows.
# For more, give t-SNE a graph of neighbours:
# ``MinMaxNeighbors(n_neighbors=90).fit(X).kneighbors_graph(mode="distance")``.
