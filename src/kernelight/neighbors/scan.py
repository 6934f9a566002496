"""A scan of all codes: the rows with the most equal slots."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelight import _core
from kernelight.base.checks import check_int, resources
from kernelight.codes import Codes
from kernelight.codes.provenance import refuse_other_origin
from kernelight.neighbors.limits import check_codes, row_numbers

_CALL_BYTES = 1 << 34  # of codes read by one compiled call, for each thread


def scan_codes(
    codes: Codes, queries: Codes, count: int, *, n_jobs: int | None = None
) -> NDArray[np.int64]:
    """For each query the ``count`` rows of ``codes`` with the most equal slots.

    Most first, of equal ones the lower row; -1 where no more rows have an equal slot.

    Parameters
    ----------
    codes : Codes
        The codes that are searched.
    queries : Codes
        Codes of the same provenance.
    count : int
        How many rows for each query.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Returns
    -------
    array of int64, (queries, count)
        The rows.

    See Also
    --------
    equal_slots : The counts of given pairs.
    MinMaxNeighbors : Ranks such rows again by the exact kernel.

    Examples
    --------
    >>> from kernelight import Codes
    >>> from kernelight.neighbors import scan_codes
    >>> codes = Codes([[1, 2, 3], [1, 2, 0], [0, 0, 0]], bits=2)
    >>> scan_codes(codes, codes[:1], 3)
    array([[ 0,  1, -1]])
    """
    check_codes("codes", codes)
    refuse_other_origin(codes, check_codes("queries", queries), "compared")
    count = check_int("count", count, 1)
    rows = np.empty((len(queries), count), dtype=np.int64)
    use = resources(n_jobs)
    step = max(16, _CALL_BYTES * use.threads // max(1, codes.array.nbytes))
    for at in range(0, len(queries), step):
        part = slice(at, at + step)
        _core.scan_codes(
            codes.array,
            codes.empty if codes.has_empty else None,
            queries.array[part],
            queries.empty[part] if queries.has_empty else None,
            rows[part],
            *use,
        )
    return rows


def equal_slots(
    a: Codes, i: ArrayLike, b: Codes, j: ArrayLike, *, n_jobs: int | None = None
) -> NDArray[np.int32]:
    """How many slots of row i[n] of ``a`` and row j[n] of ``b`` are equal, for each n.

    Parameters
    ----------
    a : Codes
        Codes of some rows.
    i : array_like of int
        Rows of ``a``.
    b : Codes
        Codes of other rows, or the same.
    j : array_like of int
        Rows of ``b``, as many.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Returns
    -------
    array of int32
        The counts.

    See Also
    --------
    scan_codes : The rows with the most.

    Examples
    --------
    >>> from kernelight import Codes
    >>> from kernelight.neighbors import equal_slots
    >>> codes = Codes([[1, 2, 3], [1, 2, 0], [0, 0, 0]], bits=2)
    >>> equal_slots(codes, [0, 1], codes, [1, 2])
    array([2, 1], dtype=int32)
    """
    refuse_other_origin(check_codes("a", a), check_codes("b", b), "compared")
    i, j = row_numbers("i", i), row_numbers("j", j)
    if i.shape != j.shape or i.ndim != 1:
        raise ValueError(f"i and j must be two lists of one length, got {i.shape}, {j.shape}.")
    out = np.empty(len(i), dtype=np.int32)
    _core.equal_slots_of_pairs(
        a.array,
        a.empty if a.has_empty else None,
        b.array,
        b.empty if b.has_empty else None,
        i,
        j,
        out,
        *resources(n_jobs),
    )
    return out
