"""Design matrices: `Codes`, dense arrays and CSR matrices as the compiled solver takes them.

An output is one binary problem or one regression. Weights of several outputs lie side by side; an
entry is the row of weights of one column, or of one code of a slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix, Resources, core_args
from kernelight.codes import Codes
from kernelight.linear.code_layout import CodeLayout, code_layout
from kernelight.linear.normal_equations import is_narrow

# Outputs that are learned at once, padding included: see core/simd/linear_loops.h.
PACKED_WIDTHS = (1, 4, 8, 16)
RANK_BYTES = 1 << 28  # up to this size, a copy of the codes as ranks is made: a third of the time
DENSE_BYTES = 8 << 20  # up to this size as an array, a sparse matrix becomes dense
COUNTED_BITS = 8  # codes of more bits are marked as occurring, but not counted
# Stored numbers that one compiled call visits for one output: an interrupt waits for one call.
CALL_WORK = 1 << 27
GRAM_ROWS = 128  # of a Gram matrix of codes, in one compiled call
COUNT_WORK = 1 << 29  # codes that one compiled call counts
# Rows of a chunk, kChunkRows in core/solve_dual.h: sums over rows start anew with each chunk, so
# calls must not cut one.
CHUNK_ROWS = 1024
# Losses whose duals are at most the cost of a row.
BOUNDED_DUALS = ("hinge", "logistic", "epsilon_insensitive")


def packed_width(count: int) -> int:
    """The smallest packed width that holds ``count`` outputs; the rest is padding."""
    return next(width for width in PACKED_WIDTHS if width >= count)


def groups_of(count: int) -> list[range]:
    """The outputs in groups of nearly equal size, each within the largest packed width."""
    n_groups = -(-count // PACKED_WIDTHS[-1])
    return [range(count * at // n_groups, count * (at + 1) // n_groups) for at in range(n_groups)]


def call_rows(work: int, width: int) -> int:
    """How many rows of ``work`` stored numbers one compiled call may visit.

    How the rows are cut into calls changes no result.
    """
    return max(1, 2 * CALL_WORK // (max(1, work) * (1 + width) * CHUNK_ROWS)) * CHUNK_ROWS


def spans(n_rows: int, work: int, width: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows, one for each compiled call."""
    step = call_rows(work, width)
    return ((begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step))


def code_counts(codes: Codes, resources: Resources) -> NDArray[Any]:
    """How often each code occurs in each slot, (slots, 2^bits); for many bits, whether it does."""
    n_rows, n_slots = codes.shape
    dtype = np.int32 if codes.bits <= COUNTED_BITS else np.bool_
    counts: NDArray[Any] = np.zeros(n_slots << codes.bits, dtype=dtype)
    threads = resources.for_work(codes.array.size).threads
    empty = codes.empty if codes.empty.any() else None
    step = max(1, COUNT_WORK // n_slots)
    for begin in range(0, n_rows, step):
        part = slice(begin, begin + step)
        part_counts = counts if step >= n_rows else np.empty_like(counts)
        part_empty = None if empty is None else empty[part]
        _core.code_histogram(codes.array[part], part_empty, codes.bits, part_counts, threads)
        if part_counts is not counts:
            np.add(counts, part_counts, out=counts)
    return counts.reshape(n_slots, -1)


def suffix(dtype: Any) -> str:
    """The end of the names of compiled functions for a dtype."""
    return "32" if np.dtype(dtype) == np.float32 else "64"


class MatrixDesign:
    """Dense or CSR rows, with an entry of weights for each column."""

    def __init__(self, X: Matrix, dtype: Any, resources: Resources) -> None:
        if sp.issparse(X) and X.shape[0] * X.shape[1] * np.dtype(dtype).itemsize <= max(
            DENSE_BYTES, 2 * X.data.nbytes
        ):
            # dense rows are solved in blocks, which takes fewer epochs than sparse rows one by one
            X = X.toarray()
        self.X = X.astype(dtype, copy=False)
        self.dtype, self.resources = np.dtype(dtype), resources
        self.n_rows, self.n_features = X.shape
        stored = X.nnz if sp.issparse(X) else X.size
        self.work = stored // max(1, self.n_rows)

    @cached_property
    def norms(self) -> NDArray[Any]:
        """The squared length of each row."""
        with np.errstate(over="ignore"):
            if sp.issparse(self.X):
                squares = self.X.multiply(self.X).sum(axis=1)
            else:
                squares = np.einsum("ij,ij->i", self.X, self.X)
            norms = np.asarray(squares, dtype=self.dtype).reshape(-1)
        if not np.isfinite(norms).all():
            raise ValueError(
                f"Row {int(np.argmin(np.isfinite(norms)))} of X has too large values: its squared "
                f"length overflows {self.dtype}; scale the data down."
            )
        return norms

    @property
    def is_narrow(self) -> bool:
        """Whether rows are dense and their normal equations cheap."""
        return not sp.issparse(self.X) and is_narrow(self.n_rows, self.n_features)

    def gram(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The inner products of some rows."""
        chosen = self.X[rows].astype(np.float64)
        product = chosen @ chosen.T
        return np.asarray(product.todense() if sp.issparse(product) else product)

    def n_entries(self, width: int) -> int:
        """How many entries the weights have."""
        return int(self.n_features)

    def view(self, width: int) -> Any:
        """The rows as compiled functions take them."""
        make = getattr(_core, f"linear_matrix_{suffix(self.dtype)}")
        return make(*core_args(self.X), self.resources.simd)

    def coefficients(self, width: int, weights: NDArray[Any]) -> NDArray[Any]:
        """Weights in the order of models, which for a matrix is the same."""
        return weights

    def place(
        self, width: int, coefficients: NDArray[Any], seen: Any, weights: NDArray[Any]
    ) -> None:
        """Write the coefficients of a model into ``weights``."""
        weights[:, : coefficients.shape[1]] = coefficients


class CodeDesign:
    """Codes, with an entry of weights for each code that occurs in a slot.

    ``also`` are (slots, 2^bits) flags of codes that have an entry though they do not occur here.
    ``counts`` are those of more rows, of which these are a part, or flags of the codes that occur
    in them. ``ranked`` says whether rows are visited often enough for a copy as ranks.
    """

    def __init__(
        self,
        codes: Codes,
        dtype: Any,
        resources: Resources,
        also: NDArray[np.bool_] | None = None,
        counts: NDArray[Any] | None = None,
        *,
        ranked: bool = True,
    ) -> None:
        self.codes, self.dtype, self.resources = codes, np.dtype(dtype), resources
        self.n_rows, n_slots = codes.shape
        self.n_features = n_slots << codes.bits
        self.work = n_slots
        self.empty = codes.empty if codes.empty.any() else None
        self.counts = code_counts(codes, resources) if counts is None else counts
        self._ranked = ranked and codes.array.nbytes <= RANK_BYTES
        if also is not None:
            self.counts = (self.counts > 0) | also
        self._layouts: dict[int, CodeLayout] = {}
        self._ranks: NDArray[Any] | None = None

    @cached_property
    def norms(self) -> NDArray[Any]:
        """The squared length of each row: 1, or 0 if it is empty."""
        return np.where(self.codes.empty, 0, 1).astype(self.dtype)

    def layout(self, width: int) -> CodeLayout:
        """Where the weights of codes lie, for a packed width."""
        if width not in self._layouts:
            self._layouts[width] = code_layout(self.counts, width, self.dtype.itemsize)
        return self._layouts[width]

    def share_layouts(self, layouts: dict[int, CodeLayout]) -> None:
        """Take layouts from here, and put new ones there, for designs of the same counts."""
        self._layouts = layouts

    def gram(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The inner products of some rows: those at and above the diagonal, and their mirror."""
        codes, n_slots = self.codes[rows], float(self.codes.n_components)
        K = np.empty((len(rows), len(rows)))
        for begin in range(0, len(rows), GRAM_ROWS):
            end = min(begin + GRAM_ROWS, len(rows))
            counts = codes[begin:end].collisions(codes[begin:], n_jobs=1)
            np.divide(counts, n_slots, out=K[begin:end, begin:])
            K[end:, begin:end] = K[begin:end, end:].T
        return K

    def n_entries(self, width: int) -> int:
        """How many entries the weights have, those that stay 0 included."""
        return self.layout(width).n_entries

    def view(self, width: int) -> Any:
        """The rows as compiled functions take them."""
        layout, codes = self.layout(width), self.codes
        if not self._ranked:
            return code_view(codes, layout, self.dtype, self.resources)
        if self._ranks is None:
            self._ranks = np.empty_like(codes.array)
            threads = self.resources.for_work(codes.array.size).threads
            _core.code_ranks(
                codes.array,
                self.empty,
                codes.bits,
                layout.local,
                layout.first,
                self._ranks,
                threads,
            )
        return code_view(codes, layout, self.dtype, self.resources, ranks=self._ranks)

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which codes have weights, (slots, 2^bits)."""
        return np.asarray(self.counts > 0)

    def coefficients(self, width: int, weights: NDArray[Any]) -> NDArray[Any]:
        """Weights in the order of models: slot after slot, code after code."""
        return weights[self.layout(width).places(self.seen)]

    def place(
        self, width: int, coefficients: NDArray[Any], seen: Any, weights: NDArray[Any]
    ) -> None:
        """Write the coefficients of a model, those of the codes ``seen``, into ``weights``."""
        weights[self.layout(width).places(seen), : coefficients.shape[1]] = coefficients


def code_view(
    codes: Codes,
    layout: CodeLayout,
    dtype: Any,
    resources: Resources,
    ranks: NDArray[Any] | None = None,
) -> Any:
    """Codes as compiled functions take them; ``ranks`` in place of the codes if they were made."""
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
        resources.simd,
    )


DesignMatrix = MatrixDesign | CodeDesign


@dataclass(frozen=True)
class Targets:
    """The targets of rows for each output, and what an error costs.

    Either ``labels``, the index of the output that is +1 in each row (the others are -1), or
    ``values``, numbers (rows, outputs). ``row_cost`` is a cost for each row; ``above`` and
    ``below`` are factors of it for each output, where the row is +1 and where it is not.
    """

    labels: NDArray[np.int32] | None
    values: NDArray[np.float64] | None
    row_cost: NDArray[np.float64]
    above: NDArray[np.float64]
    below: NDArray[np.float64]

    @property
    def n_outputs(self) -> int:
        return len(self.above)

    def of_rows(self, rows: NDArray[np.intp] | slice, row_cost: NDArray[np.float64]) -> Targets:
        """The targets of some rows, with other costs."""
        return replace(
            self,
            labels=None if self.labels is None else self.labels[rows],
            values=None if self.values is None else self.values[rows],
            row_cost=row_cost,
        )

    def scaled(self, factor: float) -> Targets:
        """The same targets with all costs multiplied by ``factor``."""
        return replace(self, row_cost=self.row_cost * factor)


def feasible_duals(dual: NDArray[Any], targets: Targets, loss: str) -> NDArray[Any]:
    """Duals (rows, outputs) of another fit, clipped to the bounds that these costs set."""
    if loss not in BOUNDED_DUALS:
        return dual
    cost = targets.row_cost[:, None]
    if targets.labels is None:
        return np.asarray(np.clip(dual, -cost, cost))
    own = targets.labels[:, None] == np.arange(targets.n_outputs)
    bound = cost * np.where(own, targets.above, targets.below)
    return np.asarray(np.clip(dual, np.where(own, 0, -bound), np.where(own, bound, 0)))
