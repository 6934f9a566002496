"""Decision trees as plain arrays, from scikit-learn's forests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import _core


@dataclass(frozen=True)
class Trees:
    """The nodes of trees, tree after tree; those of tree t are ``starts[t]`` to ``starts[t + 1]``.

    Nodes count from the start of their tree, a child comes after its parent, and leaves have no
    children: -1. A row goes left where its column, in single precision, is at most the threshold,
    and where it is missing if ``missing_left``.
    """

    starts: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    columns: NDArray[np.int64]
    thresholds: NDArray[np.float32]
    missing_left: NDArray[np.bool_]

    def tables(self, n_features: int) -> Any:
        """The trees in the form of the core, which checks them."""
        return _core.Forest(
            self.starts,
            self.left,
            self.right,
            self.columns,
            self.thresholds,
            self.missing_left,
            n_features,
        )

    def n_leaves(self) -> NDArray[np.int64]:
        """The number of leaves of each tree."""
        leaves = np.concatenate([[0], np.cumsum(self.left < 0)])
        return np.diff(leaves[self.starts]).astype(np.int64)

    def n_splits_of_paths(self) -> float:
        """The mean number of splits above a leaf."""
        return float((self.paths() >= 0).sum(axis=1).mean())

    def paths(self) -> NDArray[np.int64]:
        """The columns of the splits above each leaf, from there to the root, then -1.

        A row for each leaf, in the order of nodes.
        """
        tree = np.repeat(self.starts[:-1], np.diff(self.starts))
        splits = np.flatnonzero(self.left >= 0)
        parent = np.full(len(self.left), -1, dtype=np.int64)
        for side in (self.left, self.right):
            parent[tree[splits] + side[splits]] = splits
        at = parent[self.left < 0]
        steps = [np.zeros((len(at), 0), dtype=np.int64)]
        while (at >= 0).any():
            steps.append(np.where(at >= 0, self.columns[at], -1)[:, None])
            at = np.where(at >= 0, parent[at], -1)
        return np.concatenate(steps, axis=1)

    def path_widths(self) -> NDArray[np.int64]:
        """The splits of the longest path of each tree."""
        first = np.cumsum(self.n_leaves()) - self.n_leaves()
        return _widths(self.paths(), first)

    def columns_above(self, leaves: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Columns of the splits above a leaf of each tree, for each row of ``leaves``.

        Those of tree t are ``features[:, starts[t]:starts[t + 1]]``, -1 where a path is shorter.
        """
        paths, first = self.paths(), np.concatenate([[0], np.cumsum(self.n_leaves())])
        widths = _widths(paths, first[:-1])
        starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        features = np.empty((len(leaves), starts[-1]), dtype=np.int64)
        for tree, width in enumerate(widths):
            of_tree = paths[first[tree] + leaves[:, tree].astype(np.int64), :width]
            features[:, starts[tree] : starts[tree + 1]] = of_tree
        return features, starts

    def column_fractions(self, bits: int, n_features: int) -> sp.csr_matrix:
        """For each leaf the fraction of the splits above it that each column has.

        Row ``tree * 2**bits + number of the leaf``; others are empty.
        """
        n_leaves = self.n_leaves()
        first = np.concatenate([[0], np.cumsum(n_leaves)])
        tree = np.repeat(np.arange(len(n_leaves)), n_leaves)
        position = (tree << bits) + np.arange(first[-1]) - first[tree]
        paths = self.paths()
        leaf, step = np.nonzero(paths >= 0)
        lengths = (paths >= 0).sum(axis=1)
        made = sp.csr_array(
            (1.0 / lengths[leaf], (position[leaf], paths[leaf, step])),
            shape=(len(n_leaves) << bits, n_features),
            dtype=np.float32,
        )
        made.sum_duplicates()
        return sp.csr_matrix(made)


def trees_of(forest: Any) -> Trees:
    """The trees of a fitted forest of scikit-learn.

    It compares numbers in single precision with thresholds in double. For these a threshold is as
    good as the largest single-precision number that is not above it.
    """
    trees = [estimator.tree_ for estimator in forest.estimators_]
    exact = np.concatenate([tree.threshold for tree in trees])
    thresholds = exact.astype(np.float32)
    above = thresholds > exact
    thresholds[above] = np.nextafter(thresholds[above], np.float32(-np.inf))
    left = np.concatenate([tree.children_left for tree in trees]).astype(np.int32)
    leaf = left < 0
    return Trees(
        np.cumsum([0, *(tree.node_count for tree in trees)]).astype(np.int64),
        left,
        np.concatenate([tree.children_right for tree in trees]).astype(np.int32),
        np.where(leaf, 0, np.concatenate([tree.feature for tree in trees])).astype(np.int64),
        np.where(leaf, np.float32(0), thresholds),
        np.concatenate([tree.missing_go_to_left for tree in trees]).astype(np.bool_) & ~leaf,
    )


def _widths(paths: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """The longest path of each tree, whose first leaf is ``first``."""
    lengths = (paths >= 0).sum(axis=1)
    return np.asarray(np.maximum.reduceat(lengths, first), dtype=np.int64)
