"""What each test on the way to a leaf adds to the weight of the leaf, as a sum over its path.

A node is worth the mean weight of the leaves below it, all of them alike. On its way from the root
a row goes from worth to worth: the step from a node to its child belongs to the column that the
node tests, and all steps together lead from the worth of the root to the weight of the leaf. Saabas
reads predictions of trees in this way; there a node is worth the mean target of its training rows.
To count leaves instead of rows needs nothing but the trees and the weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.maps.partitions.trees import Trees


class PathSteps(NamedTuple):
    """Steps of paths: the leaf (counted over all trees), the column of the test, the difference.

    ``roots`` are the worths of the roots, which every row has.
    """

    leaves: NDArray[np.int64]
    columns: NDArray[np.int64]
    steps: NDArray[np.float64]  # (steps, m)
    roots: NDArray[np.float64]  # (trees, m)


def path_steps(trees: Trees, weights: NDArray[Any]) -> PathSteps:
    """The steps of all paths, for (leaves, m) weights of the leaves of all trees, tree by tree."""
    tree = np.repeat(trees.starts[:-1], np.diff(trees.starts))
    splits, leaf_nodes = np.flatnonzero(trees.left >= 0), np.flatnonzero(trees.left < 0)
    parent = np.full(len(trees.left), -1, dtype=np.int64)
    for side in (trees.left, trees.right):
        parent[tree[splits] + side[splits]] = splits
    # sums over the leaves below each node: every leaf is added to all nodes above it
    worth, count = np.zeros((len(parent), weights.shape[1])), np.zeros(len(parent))
    at, own = leaf_nodes, np.arange(len(leaf_nodes))
    climbs = []
    while len(at):
        np.add.at(worth, at, weights[own])
        np.add.at(count, at, 1)
        above = parent[at]
        going = above >= 0
        climbs.append((own[going], above[going], at[going]))
        at, own = above[going], own[going]
    worth /= count[:, None]
    leaves, upper, lower = (np.concatenate(part) for part in zip(*climbs, strict=True))
    roots = trees.starts[:-1]
    return PathSteps(leaves, trees.columns[upper], worth[lower] - worth[upper], worth[roots])
