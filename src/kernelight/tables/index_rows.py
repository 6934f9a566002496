"""Rows of an index on disk that rows of a file are compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.base.checks import Matrix
from kernelight.data import DataError
from kernelight.kernels import GMM
from kernelight.neighbors import Index
from kernelight.neighbors.duplicates import Matches, RowIndices
from kernelight.tables.deduplication import DedupRows, DedupSettings

BATCH = 1 << 13  # rows that are looked for at a time


class IndexRows:
    """Those of an `Index` with exact scores, found with the recall that it was made for."""

    def __init__(self, path: str, settings: DedupSettings) -> None:
        self._index = Index.open(path, n_jobs=settings.n_jobs)
        self._threshold = settings.threshold
        about = self._index.info()
        kernel = self._index.map.kernel
        if about["scores"] != "exact" or not isinstance(kernel, GMM):
            raise DataError(
                f"{path} has no exact scores of the min-max kernel: make an index that stores rows."
            )
        if kernel.p != settings.p:
            raise DataError(
                f"{path} is of values to the power {kernel.p:g}: give --p {kernel.p:g}."
            )
        self.n_features: int | None = about["features"]
        self.ids: list[str] = []  # of the rows that were found, in the order of their numbers
        self._numbers: dict[Any, int] = {}

    def fitting(self, rows: DedupRows, path: str) -> DedupRows:
        """The same rows as the index takes them; rows that it cannot take are refused."""
        if not rows.texts and (rows.data.is_table or rows.scaling is not None):
            raise DataError(
                f"{path} is an index of features, and columns of {rows.name} become others: "
                f"compare with a file, or columns of texts by --text."
            )
        width = rows.shingles.n_features if rows.shingles else rows.data.n_features
        if self.n_features is None or width == self.n_features:
            return rows
        if rows.texts or rows.data.columns is not None or width > self.n_features:
            raise DataError(
                f"{rows.name} has {counted(width, 'feature')} where {path} has {self.n_features}."
            )
        return replace(rows, data=rows.data.widened(self.n_features))

    def matches(self, rows: Matrix) -> Matches:
        """The best match of each row, if it is within the threshold."""
        found = Matches(np.full(rows.shape[0], -1), np.zeros(rows.shape[0]))
        for start in range(0, rows.shape[0], BATCH):
            names, scores = self._index.search(
                rows[start : start + BATCH], threshold=self._threshold
            )
            for at, (some, score) in enumerate(zip(names, scores, strict=True)):
                if len(some):
                    found.row[start + at] = self._number(some[0])
                    found.similarity[start + at] = score[0]
        return found

    def _number(self, name: Any) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.ids)
            self.ids.append(str(name))
        return self._numbers[name]

    def similarities(self, rows: Matrix, i: RowIndices, j: RowIndices) -> NDArray[np.float64]:
        """Not known: the rows of an index are not read."""
        return np.full(len(i), np.nan)

    def close(self) -> None:
        """Close the index."""
        self._index.close()
