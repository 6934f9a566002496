"""Rows whose min-max similarities are computed pair by pair: what every search verifies by."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import (
    Matrix,
    Resources,
    as_matrix,
    check_int,
    check_same_width,
    core_args,
    resources,
)
from kernelight.kernels import GMM
from kernelight.kernels.prepare import is_sparse, row_peaks, with_values
from kernelight.neighbors.limits import row_numbers

# Sums of a row are kept where they have all their digits.
_LEAST_PEAK, _MOST_SUM = 1e-280, 1e300
_SMALL = 1e-290  # below it a quotient has lost digits, or everything
_LEVEL, _LEAST_EXPONENT = 256, -1074  # powers of two between scales; that of the least float
_GROUPED = 4  # columns of a group, at most
_ROWS_AT_ONCE = 512  # whose group sums stay in a cache
_ONE_CALL = 1 << 22  # pairs of one compiled call, so that Ctrl-C is handled


class GroupBounds(NamedTuple):
    """Sums of groups of columns, (rows, groups), in units and rounded up."""

    sums: NDArray[np.uint8]
    unit: float


class ExactRows:
    """Rows prepared for the generalized min-max similarity of single pairs.

    With ``p`` rows are raised to that power, at one scale for all that are compared: `like` gives
    other rows the scale, the storage and the index type of these.

    See Also
    --------
    kernelight.kernels.GMM : The kernel of whole matrices.

    Examples
    --------
    >>> from kernelight.neighbors import ExactRows
    >>> rows = ExactRows.of([[2, -1, 3], [1, -2, 3], [0, 0, 0]])
    >>> rows.similarities([0, 0, 0], rows, [0, 1, 2]).round(6)
    array([1.      , 0.714286, 0.      ])
    """

    def __init__(self, matrix: Matrix, p: float, scale: float) -> None:
        self.matrix, self.p, self.scale = matrix, p, scale
        args = core_args(matrix)
        self.sums = np.empty(matrix.shape[0])
        _core.absolute_sums(*args, self.sums, resources().for_work(args[0].size).threads)
        if self.sums.size and not self.sums.max() < _MOST_SUM:
            row = int(np.argmax(~(self.sums < _MOST_SUM)))
            raise ValueError(
                f"The values of row {row} add up to more than {_MOST_SUM:g}: scale the rows down."
            )
        values = args[0]
        self.nonnegative = bool(values.size == 0 or values.min() >= 0)
        self.view = _core.SummedRows(*args, self.sums, self.nonnegative)

    def __reduce__(self) -> tuple[Any, ...]:
        return ExactRows, (self.matrix, self.p, self.scale)

    @classmethod
    def of(cls, X: Any, p: float = 1.0, *, name: str = "X") -> ExactRows:
        """The rows of a matrix, dense or sparse."""
        p, matrix = GMM(p).p, as_matrix(X, name=name)
        scale = 1.0
        if p != 1.0:
            peaks = row_peaks(matrix)
            scale = float(peaks.max(initial=0)) or 1.0
            matrix = _powered(matrix, p, scale, name)
        return cls(matrix, p, scale)

    def like(self, X: Any, *, name: str = "X") -> ExactRows:
        """Other rows, to be compared with these."""
        matrix = as_matrix(X, name=name)
        check_same_width(self.matrix, matrix, name=name)
        matrix = _in_form_of(self.matrix, matrix)
        if self.p != 1.0:
            matrix = _powered(matrix, self.p, self.scale, name)
        return ExactRows(matrix, self.p, self.scale)

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return int(self.matrix.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether rows are in CSR; if not, they are dense."""
        return is_sparse(self.matrix)

    @property
    def mean_entries(self) -> float:
        """What one comparison reads of a row, on average."""
        entries = self.matrix.indptr[-1] if self.is_sparse else self.matrix.size
        return float(entries) / max(1, self.n_rows)

    @cached_property
    def mean_nonzeros(self) -> float:
        """What encoding reads of a row, on average."""
        values = self.matrix.data if self.is_sparse else self.matrix
        return float(np.count_nonzero(values)) / max(1, self.n_rows)

    @cached_property
    def group_bounds(self) -> GroupBounds | None:
        """Sums of groups of columns, whose similarity bounds that of the rows, as a filter.

        Column c is in the group c modulo their number. None for rows that are sparse, narrow or
        signed, or whose sums are too different for float32.
        """
        n, width = self.matrix.shape
        groups = -(-width // _GROUPED // 64) * 64
        small = self.sums.min(initial=np.inf, where=self.sums > 0)
        large = self.sums.max(initial=0.0)
        if self.is_sparse or not self.nonnegative or width < 256 or small < 1e-20 or large > 1e30:
            return None
        # no group sum is above this
        unit = float(min(large, -(-width // groups) * float(self.matrix.max(initial=0)))) / 255
        out = np.zeros((n, groups), np.uint8)
        for at in range(0, n, _ROWS_AT_ONCE):
            out[at : at + _ROWS_AT_ONCE] = _group_sums(
                self.matrix[at : at + _ROWS_AT_ONCE], groups, unit or 1.0
            )
        return GroupBounds(out, unit or 1.0)

    def take(self, rows: NDArray[np.int64]) -> ExactRows:
        """Some of these rows."""
        return ExactRows(self.matrix[rows], self.p, self.scale)

    def similarities(
        self, i: Any, other: ExactRows, j: Any, *, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """The similarity of row i[n] here and row j[n] of ``other``, for each n."""
        self._refuse_other(other)
        i, j = row_numbers("i", i), row_numbers("j", j)
        if i.shape != j.shape or i.ndim != 1:
            raise ValueError(f"i and j must be two lists of one length, got {i.shape}, {j.shape}.")
        out = np.empty(len(i))
        use = resources(n_jobs)
        for at in range(0, len(i), _ONE_CALL):
            part = slice(at, at + _ONE_CALL)
            _core.minmax_of_pairs(self.view, other.view, i[part], j[part], out[part], *use)
        return out

    def best(
        self, queries: ExactRows, candidates: Any, k: int, *, n_jobs: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """For each query its k most similar rows among ``candidates``, (queries, c) of int64.

        Best first, of equal ones the lower row. A candidate of -1 is none; where there are too few,
        the row is -1 and its similarity -1.
        """
        self._refuse_other(queries)
        candidates = row_numbers("candidates", candidates)
        if candidates.ndim != 2 or len(candidates) != queries.n_rows:
            raise ValueError(
                f"candidates must be a table with a line for each of {queries.n_rows:,} queries, "
                f"got the shape {candidates.shape}."
            )
        k = check_int("k", k, 1)
        rows = np.empty((len(candidates), k), dtype=np.int64)
        similarities = np.empty((len(candidates), k))
        use: Resources = resources(n_jobs)
        _core.best_candidates(self.view, queries.view, candidates, rows, similarities, *use)
        return rows, similarities

    def _refuse_other(self, other: ExactRows) -> None:
        """Refuse rows of another width, power or scale."""
        check_same_width(self.matrix, other.matrix, name="other")
        if (self.p, self.scale) != (other.p, other.scale):
            raise ValueError(
                f"Rows of p={self.p:g} at scale {self.scale:g} cannot be compared with rows of "
                f"p={other.p:g} at scale {other.scale:g}: make the others with `like`."
            )


def similarities_of_any_size(
    A: Matrix, i: Any, B: Matrix, j: Any, *, p: float = 1.0, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """The similarity of row i[n] of A and row j[n] of B, for each n, whatever their sizes.

    No scale serves rows of all sizes: sums would overflow, or powers vanish. So pairs are compared
    at one of a few scales, that of the larger row of the pair. A row that vanishes there has a
    similarity of 0 but for less than 1e-100.

    >>> from kernelight.neighbors.exact_rows import similarities_of_any_size
    >>> A = np.array([[1.0, 2.0], [1e-30, 2e-30], [1e30, 3e30]])
    >>> similarities_of_any_size(A, [0, 1, 2, 0], A, [0, 1, 2, 1], p=20.0)
    array([1., 1., 1., 0.])
    """
    i, j = row_numbers("i", i), row_numbers("j", j)
    if p == 1.0 and max(_largest(A), _largest(B)) < 2.0**_LEVEL:
        rows = ExactRows(A, p, 1.0)
        return rows.similarities(i, rows.like(B), j, n_jobs=n_jobs)
    larger = np.maximum(row_peaks(A)[i], row_peaks(B)[j]).astype(np.float64)
    larger[larger == 0] = 1.0
    step = _LEVEL / max(p, 1.0)  # powers of a level are less than 2^_LEVEL apart
    levels = np.floor(np.log2(larger) / step)
    out = np.empty(len(i))
    for level in np.unique(levels).tolist():
        scale = 2.0 ** max(level * step, _LEAST_EXPONENT)
        mine = np.flatnonzero(levels == level)
        some, at = np.unique(i[mine], return_inverse=True)
        left = _raised(A[some], p, scale)
        others, other = np.unique(j[mine], return_inverse=True)
        right = _raised(_in_form_of(left, B[others]), p, scale)
        out[mine] = ExactRows(left, p, scale).similarities(
            at.astype(np.int64), ExactRows(right, p, scale), other.astype(np.int64), n_jobs=n_jobs
        )
    return out


def _largest(X: Matrix) -> float:
    """The largest absolute value."""
    values = X.data[: X.indptr[-1]] if is_sparse(X) else X
    return float(max(values.max(initial=0), -values.min(initial=0)))


def _in_form_of(X: Matrix, other: Matrix) -> Matrix:
    """Other rows as the first ones are: dense, or sparse with indices of the same type."""
    if not is_sparse(X):
        return other.toarray() if is_sparse(other) else other
    other = other if is_sparse(other) else sp.csr_array(other)
    index = X.indices.dtype
    if other.indices.dtype != index:
        parts = (other.data, other.indices.astype(index), other.indptr.astype(index))
        other = sp.csr_array(parts, shape=other.shape, copy=False)
    return other


def _powered(X: Matrix, p: float, scale: float, name: str) -> Matrix:
    """sign(x) |x / scale|^p in double; rows that would vanish are refused."""
    result = _raised(X, p, scale)
    peaks, filled = row_peaks(result), row_peaks(X) > 0
    wrong = filled & ~((peaks > _LEAST_PEAK) & (peaks < _MOST_SUM))
    if wrong.any():
        raise ValueError(
            f"Row {int(np.argmax(wrong))} of {name} is too far from the others in size for "
            f"p={p:g}: scale its values, or use a smaller p."
        )
    return result


def _raised(X: Matrix, p: float, scale: float) -> Matrix:
    """sign(x) |x / scale|^p in double."""
    values = np.asarray(X.data[: X.indptr[-1]] if is_sparse(X) else X, dtype=np.float64)
    sizes = np.abs(values) / scale
    with np.errstate(over="ignore", under="ignore"):
        powered = np.power(sizes, p)
        if p < 1.0:  # the power of a quotient that is too small need not be
            small = (sizes < _SMALL) & (values != 0)
            powered[small] = np.power(np.abs(values[small]), p) / scale**p
        powered = np.copysign(powered, values)
    return with_values(X, powered) if is_sparse(X) else powered


def _group_sums(rows: NDArray[Any], groups: int, unit: float) -> NDArray[np.float32]:
    """The sums of groups of columns in units, rounded up."""
    sums = np.zeros((len(rows), groups), np.float32)
    for at in range(0, rows.shape[1], groups):
        some = rows[:, at : at + groups]
        sums[:, : some.shape[1]] += some
    sums /= np.float32(unit)
    return np.minimum(np.ceil(sums, out=sums), 255, out=sums)
