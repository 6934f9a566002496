"""Rows of sparse matrices that may be wider than any array."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def to_columns_of(model: sp.csr_array, rows: sp.csr_array) -> sp.csr_array:
    """The columns of ``rows`` that ``model`` uses, renumbered."""
    used = np.unique(model.indices)
    if not len(used):
        return sp.csr_array((rows.shape[0], 0))
    place = np.minimum(np.searchsorted(used, rows.indices), len(used) - 1)
    known = used[place] == rows.indices
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return sp.csr_array((rows.data[known], (row[known], place[known])), shape=(rows.shape[0], len(used)))
