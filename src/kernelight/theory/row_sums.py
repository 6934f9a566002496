"""Rows of sparse matrices that may be wider than any array: as CSR, scaled to sum 1, narrowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelight.base import counted
from kernelight.base.sparse import sound_csr
from kernelight.theory.inputs import numbers


def as_rows(X: Any, name: str) -> sp.csr_array:
    """A matrix of finite numbers, dense or sparse, as a new CSR array without stored zeros."""
    if not sp.issparse(X):
        X = numbers(X, name)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} must be a matrix of real numbers, got {counted(X.ndim, 'dimension')} of "
            f"{X.dtype}."
        )
    rows = sp.csr_array(sound_csr(X, name) if sp.issparse(X) else X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    refuse(~np.isfinite(rows.data), rows, f"{name} must hold finite numbers")
    return rows


def refuse(bad: Any, rows: sp.csr_array, sentence: str) -> None:
    """An error with the first entry of ``rows`` that is bad, if there is one."""
    if bad.any():
        at = int(np.argmax(bad))
        row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
        raise ValueError(
            f"{sentence}, got {rows.data[at]} at row {row}, column {rows.indices[at]}."
        )


def of_sum_one(rows: sp.csr_array) -> sp.csr_array:
    """Rows divided by the sum of their absolute values.

    They are divided by their peaks first, so that no sum overflows or vanishes.
    """
    lengths = np.diff(rows.indptr)
    filled = np.flatnonzero(lengths)
    data = rows.data
    if len(filled):
        for reduce in (np.maximum, np.add):
            data = data / np.repeat(
                reduce.reduceat(np.abs(data), rows.indptr[filled]), lengths[filled]
            )
    return sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def to_columns_of(model: sp.csr_array, rows: sp.csr_array) -> sp.csr_array:
    """The columns of ``rows`` that ``model`` uses, renumbered."""
    used = np.unique(model.indices)
    if not len(used):
        return sp.csr_array((rows.shape[0], 0))
    place = np.minimum(np.searchsorted(used, rows.indices), len(used) - 1)
    known = used[place] == rows.indices
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return sp.csr_array(
        (rows.data[known], (row[known], place[known])), shape=(rows.shape[0], len(used))
    )
