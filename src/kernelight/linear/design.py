"""Rows of any kind as the compiled solver takes them: `Codes`, dense arrays and CSR matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix, Resources, core_args
from kernelight.codes import Codes
from kernelight.linear import second_order
from kernelight.linear.code_layout import CodeLayout, code_layout

# numbers of outputs that are learned at once: see core/simd/linear_loops.h
PACKED_WIDTHS = (1, 4, 8, 16)
RANK_BYTES = 48 << 20  # a copy of the codes as ranks is made up to this size
DENSE_BYTES = 8 << 20  # a sparse matrix that is not larger than this as an array becomes one
COUNTED_BITS = 8  # codes of more bits are not counted, only noted
# stored numbers that one compiled call visits for one output: an interrupt waits for one call
CALL_WORK = 1 << 27
COUNT_WORK = 1 << 29  # codes that one call counts
CHUNK_ROWS = (
    # sums over rows begin anew with each chunk, kChunkRows in core/solve_dual.h: calls must not cut
    # one
    1024
)


def packed_width(count: int) -> int:
    """Numbers side by side for ``count`` outputs: the smallest width that holds them, the others
    are padding."""
    return next(width for width in PACKED_WIDTHS if width >= count)


def groups_of(count: int) -> list[range]:
    """Outputs in groups of nearly equal size that fit the widest packing."""
    number = -(-count // PACKED_WIDTHS[-1])
    return [range(count * at // number, count * (at + 1) // number) for at in range(number)]


def call_rows(work: int, width: int) -> int:
    """How many rows of ``work`` stored numbers one compiled call may visit; how work is cut changes
    no result."""
    return max(1, 2 * CALL_WORK // (max(1, work) * (1 + width) * CHUNK_ROWS)) * CHUNK_ROWS


def spans(n_rows: int, work: int, width: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows, one for each compiled call."""
    step = call_rows(work, width)
    return ((begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step))


def code_counts(codes: Codes, use: Resources) -> NDArray[Any]:
    """How often each code occurs in each slot, (slots, 2^bits); of many bits whether it does."""
    n_rows, n_slots = codes.shape
    dtype = np.int32 if codes.bits <= COUNTED_BITS else np.bool_
    counts: NDArray[Any] = np.zeros(n_slots << codes.bits, dtype=dtype)
    threads = use.for_work(codes.array.size).threads
    empty = codes.empty if codes.empty.any() else None
    step = max(1, COUNT_WORK // n_slots)
    for begin in range(0, n_rows, step):
        part = slice(begin, begin + step)
        found = counts if step >= n_rows else np.empty_like(counts)
        _core.code_histogram(
            codes.array[part], None if empty is None else empty[part], codes.bits, found, threads
        )
        if found is not counts:
            np.add(counts, found, out=counts)
    return counts.reshape(n_slots, -1)


def suffix(dtype: Any) -> str:
    """How the compiled functions for a dtype end."""
    return "32" if np.dtype(dtype) == np.float32 else "64"


class MatrixDesign:
    """Dense or CSR rows. Weights have one row a column."""

    def __init__(self, X: Matrix, dtype: Any, use: Resources) -> None:
        if sp.issparse(X) and X.shape[0] * X.shape[1] * np.dtype(dtype).itemsize <= max(
            DENSE_BYTES, 2 * X.data.nbytes
        ):
            # blocks of dense rows converge in fewer epochs than sparse rows one by one
            X = X.toarray()
        self.X = X.astype(dtype, copy=False)
        self.dtype, self.use = np.dtype(dtype), use
        self.n_rows, self.n_features = X.shape
        stored = X.nnz if sp.issparse(X) else X.size
        self.work = stored // max(1, self.n_rows)

    @cached_property
    def norms(self) -> NDArray[Any]:
        with np.errstate(over="ignore"):
            sparse = sp.issparse(self.X)
            squares = (
                self.X.multiply(self.X).sum(axis=1)
                if sparse
                else np.einsum("ij,ij->i", self.X, self.X)
            )
            norms = np.asarray(squares, dtype=self.dtype).reshape(-1)
        if not np.isfinite(norms).all():
            raise ValueError(
                f"Row {int(np.argmin(np.isfinite(norms)))} of X is too long: its squared length is "
                f"beyond {self.dtype}; scale "
                "the data down."
            )
        return norms

    @property
    def is_narrow(self) -> bool:
        """Whether the normal equations of dense rows are worth their cost."""
        return not sp.issparse(self.X) and second_order.fits(self.n_rows, self.n_features)

    def gram(self, which: NDArray[np.intp]) -> NDArray[np.float64]:
        """Inner products of some rows."""
        some = self.X[which].astype(np.float64)
        product = some @ some.T
        return np.asarray(product.todense() if sp.issparse(product) else product)

    def n_entries(self, width: int) -> int:
        return int(self.n_features)

    def view(self, width: int) -> Any:
        make = getattr(_core, f"linear_matrix_{suffix(self.dtype)}")
        return make(*core_args(self.X), self.use.simd)

    def coefficients(self, width: int, weights: NDArray[Any]) -> NDArray[Any]:
        """Weights in the order in which models keep them: as they are."""
        return weights

    def place(
        self, width: int, coefficients: NDArray[Any], seen: Any, weights: NDArray[Any]
    ) -> None:
        """Put the coefficients of a model where they belong in ``weights``."""
        weights[:, : coefficients.shape[1]] = coefficients


class CodeDesign:
    """Codes. Weights have one row for every code that occurs in a slot."""

    def __init__(
        self, codes: Codes, dtype: Any, use: Resources, also: NDArray[np.bool_] | None = None
    ) -> None:
        """``also``: (slots, 2^bits) flags of codes that have weights though they do not occur
        here."""
        self.codes, self.dtype, self.use = codes, np.dtype(dtype), use
        self.n_rows, n_slots = codes.shape
        self.n_features = n_slots << codes.bits
        self.work = n_slots
        self.empty = codes.empty if codes.empty.any() else None
        self.counts = code_counts(codes, use)
        if also is not None:
            self.counts = (self.counts > 0) | also
        self._layouts: dict[int, CodeLayout] = {}
        self._ranks: NDArray[Any] | None = None

    @cached_property
    def norms(self) -> NDArray[Any]:
        return np.where(self.codes.empty, 0, 1).astype(self.dtype)

    def layout(self, width: int) -> CodeLayout:
        if width not in self._layouts:
            self._layouts[width] = code_layout(self.counts, width, self.dtype.itemsize)
        return self._layouts[width]

    def gram(self, which: NDArray[np.intp]) -> NDArray[np.float64]:
        """Inner products of some rows."""
        return np.asarray(self.codes[which].collisions(n_jobs=1) / float(self.codes.n_components))

    def n_entries(self, width: int) -> int:
        return self.layout(width).n_entries

    def view(self, width: int) -> Any:
        layout, codes = self.layout(width), self.codes
        if codes.array.nbytes > RANK_BYTES:
            return code_view(codes, layout, self.dtype, self.use)
        if self._ranks is None:
            self._ranks = np.empty_like(codes.array)
            threads = self.use.for_work(codes.array.size).threads
            _core.code_ranks(
                codes.array,
                self.empty,
                codes.bits,
                layout.local,
                layout.first,
                self._ranks,
                threads,
            )
        return code_view(codes, layout, self.dtype, self.use, ranks=self._ranks)

    @property
    def seen(self) -> NDArray[np.bool_]:
        return np.asarray(self.counts > 0)

    def coefficients(self, width: int, weights: NDArray[Any]) -> NDArray[Any]:
        """Weights in the order in which models keep them: slot after slot, code after code."""
        return weights[self.layout(width).places(self.seen)]

    def place(
        self, width: int, coefficients: NDArray[Any], seen: Any, weights: NDArray[Any]
    ) -> None:
        """Put the coefficients of a model, which has those of ``seen``, where they belong in
        ``weights``."""
        weights[self.layout(width).places(seen), : coefficients.shape[1]] = coefficients


def code_view(
    codes: Codes, layout: CodeLayout, dtype: Any, use: Resources, ranks: NDArray[Any] | None = None
) -> Any:
    """The compiled view of codes under a layout; ``ranks`` stands for the codes where there is such
    a copy."""
    array, entries = (codes.array, layout.local) if ranks is None else (ranks, layout.first)
    make = getattr(_core, f"linear_codes_{suffix(dtype)}")
    return make(
        array,
        codes.empty if codes.empty.any() else None,
        codes.bits,
        entries,
        ranks is not None,
        layout.segment_slot,
        layout.segment_entry,
        layout.part_segment,
        use.simd,
    )


DesignMatrix = MatrixDesign | CodeDesign


@dataclass(frozen=True)
class Targets:
    """What rows should give and what an error costs.

    ``labels``: the number of the output that is +1 in each row, or ``values``: numbers (rows,
    outputs). ``row_cost``: a cost for each row; ``above`` and ``below``: factors of it for each
    output, where the label is that output and where it is not.
    """

    labels: NDArray[np.int32] | None
    values: NDArray[np.float64] | None
    row_cost: NDArray[np.float64]
    above: NDArray[np.float64]
    below: NDArray[np.float64]

    @property
    def n_outputs(self) -> int:
        return len(self.above)

    def scaled(self, factor: float) -> Targets:
        """The same with all costs multiplied."""
        return Targets(self.labels, self.values, self.row_cost * factor, self.above, self.below)
