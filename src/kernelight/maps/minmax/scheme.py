"""What both samplers of the min-max kernel share: the scheme, and ranges of rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix, check_choice, check_int, check_positive, core_args
from kernelight.codes.slots import MAX_BITS, slot_dtype
from kernelight.kernels.prepare import as_center, check_center_fits

MAX_COMPONENTS = 1 << 24
MAX_BASE_SLOTS = 1 << 22  # on average: one row's words then take 32 MB
MAX_POWER = 1e3  # p log u is held in single precision: its last bit must stay far below 1

# Sparse rows wider than this are renumbered to the columns that occur, before any array of the
# width is allocated.
WIDE = 1 << 20


@dataclass(frozen=True)
class MinMaxScheme:
    """Everything that defines the codes of a row, apart from the sampler."""

    n_components: int
    bits: int
    t_bits: int | None
    coding: str
    p: float
    l1: bool
    center: tuple[float, ...] | None
    seed: int
    gamma: float | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        return slot_dtype(self.bits)

    def center_array(self) -> NDArray[np.float64] | None:
        return None if self.center is None else np.asarray(self.center, dtype=np.float64)


def minmax_scheme(
    n_components: Any,
    *,
    bits: Any,
    t_bits: Any,
    coding: Any,
    p: Any,
    gamma: Any,
    normalize: Any,
    center: Any,
    sampler: Any,
    seed: int,
) -> MinMaxScheme:
    """The scheme of some parameters, which are checked one by one and together."""
    check_int("n_components", n_components, 1, MAX_COMPONENTS)
    check_int("bits", bits, 1, MAX_BITS)
    if t_bits is not None:
        t_bits = check_int("t_bits", t_bits, 0, 2)
    coding = check_choice("coding", coding, ("mixed", "lowest"))
    check_choice("normalize", normalize, (None, "l1"))
    check_choice("sampler", sampler, ("auto", "cws", "dart"))
    p = check_positive("p", p)
    if p > MAX_POWER:
        raise ValueError(
            f"p must be at most {MAX_POWER:g}, got {p:g}: larger powers see only the largest entry."
        )
    if coding == "lowest" and t_bits != 0:
        raise ValueError(
            f"coding='lowest' keeps bits of i* alone: it needs t_bits=0, got t_bits={t_bits!r}."
        )
    if sampler == "dart" and (t_bits is not None or p != 1.0):
        raise ValueError(
            "The dart sampler samples whole darts with p=1: t_bits, coding='lowest' and p need "
            "sampler='cws' (fit again if they were set after fit chose darts)."
        )
    if normalize is not None and (p != 1.0 or center is not None):
        raise ValueError(
            "normalize='l1' is the NGMM kernel, which has neither p nor center; drop one of them."
        )
    if gamma is not None:
        gamma = check_positive("gamma", gamma)
        if gamma * n_components > MAX_BASE_SLOTS:
            raise ValueError(
                f"gamma * n_components must be at most {MAX_BASE_SLOTS}, because a row takes that "
                f"many base hashes, got {gamma:g} * {n_components}."
            )
        if normalize is not None or center is not None:
            raise ValueError(
                "gamma is the ExpGMM kernel, which has neither normalize nor center; drop one of "
                "them."
            )
        if coding != "mixed":
            raise ValueError("gamma folds whole samples into a code: it needs coding='mixed'.")
    if center is not None:
        center = as_center(center)
    return MinMaxScheme(
        int(n_components), int(bits), t_bits, coding, p, normalize == "l1", center, seed, gamma
    )


def identity(scheme: MinMaxScheme, sampler: str, scale: float) -> dict[str, Any]:
    """Plain data that defines a code.

    Bits are left out, because the low bits of a longer code are the shorter code. So is the number
    of slots for cws, whose slots do not depend on it. A gamma of None is left out, so that codes
    made before there was a gamma keep their provenance.
    """
    facts: dict[str, Any] = {
        "sampler": sampler,
        "t_bits": scheme.t_bits,
        "coding": scheme.coding,
        "p": scheme.p,
        "l1": scheme.l1,
        "center": scheme.center,
        "seed": scheme.seed,
    }
    if scheme.gamma is not None:
        facts["gamma"] = scheme.gamma
    return (
        facts if sampler == "cws" else facts | {"scale": scale, "n_components": scheme.n_components}
    )


def check_center(X: Matrix, scheme: MinMaxScheme) -> None:
    """Refuse rows that do not fit the centre of a scheme."""
    if scheme.center is not None:
        check_center_fits(X, scheme.center)


class Settled(NamedTuple):
    """The parameters a sampler was last found to fit, as objects, and what its codes are called."""

    parameters: tuple[Any, ...]
    provenance: str


class RowRange(NamedTuple):
    """Some rows of a checked matrix as the core takes them, without a copy of their values.

    Coordinate 2c + s is column c with sign s (0 positive, 1 negative). Where columns were
    renumbered, ``ids`` has the coordinate that each one was; None where they were not.
    """

    values: NDArray[Any]
    indices: NDArray[Any] | None
    indptr: NDArray[Any] | None
    n_cols: int
    ids: NDArray[np.uint64] | None = None

    @property
    def n_rows(self) -> int:
        return len(self.values if self.indptr is None else self.indptr) - (self.indptr is not None)

    @property
    def n_coordinates(self) -> int:
        return 2 * self.n_cols

    @property
    def is_wide(self) -> bool:
        """Whether arrays as long as the width are to be avoided."""
        return self.n_cols > WIDE

    def weighted(self, scheme: MinMaxScheme, *, l1: bool | None = None) -> _core.WeightedRows:
        """These rows as the compiled functions take them, with the weights of a scheme."""
        l1 = scheme.l1 if l1 is None else l1
        center = scheme.center_array()
        return _core.WeightedRows(self.values, self.indices, self.indptr, self.n_cols, center, l1)

    def identities(self, coordinates: NDArray[Any]) -> NDArray[np.uint64]:
        """The coordinates on which the hash is defined."""
        return coordinates.astype(np.uint64) if self.ids is None else self.ids[coordinates]

    def between(self, begin: int, end: int) -> RowRange:
        """Some of these rows."""
        if self.indptr is None:
            return self._replace(values=self.values[begin:end])
        stored, starts = slice(self.indptr[begin], self.indptr[end]), self.indptr[begin : end + 1]
        return self._replace(
            values=self.values[stored],
            indices=np.asarray(self.indices)[stored],
            indptr=starts - starts[0],
        )

    def cut(self, most: int) -> Iterator[tuple[slice, RowRange]]:
        """These rows in ranges of at most ``most`` stored entries (or one row)."""
        for begin, end in _batches(self.indptr, self.n_rows, self.n_cols, most, sys.maxsize):
            yield slice(begin, end), self.between(begin, end)

    def renumbered(self) -> RowRange:
        """Sparse rows with only the columns that occur; ``ids`` says which they were."""
        features, places = np.unique(np.asarray(self.indices), return_inverse=True)
        ids = np.repeat(2 * features.astype(np.uint64), 2)
        ids[1::2] += np.uint64(1)
        return self._replace(
            indices=places.astype(np.asarray(self.indptr).dtype), n_cols=len(features), ids=ids
        )


def all_rows(X: Matrix) -> RowRange:
    """A whole matrix as one range."""
    return RowRange(*core_args(X))


def row_ranges(
    X: Matrix, most: int, *, most_rows: int = sys.maxsize
) -> Iterator[tuple[slice, RowRange]]:
    """Ranges of rows with at most ``most`` stored entries and ``most_rows`` rows (or one row)."""
    values, indices, indptr, n_cols = core_args(X)
    rows = RowRange(values, indices, indptr, n_cols)
    for begin, end in batches(X, most, most_rows=most_rows):
        yield slice(begin, end), rows.between(begin, end)


def batches(X: Matrix, most: int, *, most_rows: int = sys.maxsize) -> Iterator[tuple[int, int]]:
    """Begin and end of those ranges."""
    n_rows, n_cols = X.shape
    yield from _batches(getattr(X, "indptr", None), n_rows, n_cols, most, most_rows)


def _batches(
    indptr: Any, n_rows: int, n_cols: int, most: int, most_rows: int
) -> Iterator[tuple[int, int]]:
    if indptr is None:
        step = min(max(1, most // max(1, n_cols)), most_rows)
        yield from ((at, min(at + step, n_rows)) for at in range(0, n_rows, step))
        return
    begin = 0
    while begin < n_rows:
        end = int(np.searchsorted(indptr, int(indptr[begin]) + most, side="right")) - 1
        end = min(max(end, begin + 1), begin + most_rows, n_rows)
        yield begin, end
        begin = end
