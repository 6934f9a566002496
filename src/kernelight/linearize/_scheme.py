"""What both samplers of the min-max kernel share: the scheme, and matrices seen as columns with identities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight._checks import (
    Matrix,
    as_center,
    check_center_fits,
    check_choice,
    check_int,
    check_positive,
    core_args,
)

MAX_BITS = 16
MAX_COMPONENTS = 1 << 24
MAX_POWER = 1e6  # t* must fit 64 bits

# A width above this is renumbered to the columns that occur before anything as long as the width is allocated.
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

    @property
    def dtype(self) -> type[np.unsignedinteger[Any]]:
        return np.uint8 if self.bits <= 8 else np.uint16

    def center_array(self) -> NDArray[np.float64] | None:
        return None if self.center is None else np.asarray(self.center, dtype=np.float64)


def minmax_scheme(
    n_components: Any, *, bits: Any, t_bits: Any, coding: Any, p: Any, gamma: Any, normalize: Any, center: Any, sampler: Any,
    seed: int,
) -> MinMaxScheme:  # fmt: skip
    """The scheme of some parameters, each checked, and their combination too."""
    check_int("n_components", n_components, 1, MAX_COMPONENTS)
    check_int("bits", bits, 1, MAX_BITS)
    if t_bits is not None:
        t_bits = check_int("t_bits", t_bits, 0, 2)
    check_choice("coding", coding, ("mixed", "lowest"))
    check_choice("normalize", normalize, (None, "l1"))
    check_choice("sampler", sampler, ("auto", "cws", "dart"))
    p = check_positive("p", p)
    if p > MAX_POWER:
        raise ValueError(
            f"p must be at most {MAX_POWER:g}, got {p:g}: larger powers see only the largest entry."
        )
    if gamma is not None:
        raise ValueError("gamma (the exponentiated kernel) is not available yet; leave gamma=None.")
    if coding == "lowest" and t_bits != 0:
        raise ValueError(f"coding='lowest' keeps bits of i* alone: it needs t_bits=0, got t_bits={t_bits!r}.")
    if sampler == "dart" and (t_bits is not None or p != 1.0):
        raise ValueError(
            "sampler='dart' samples whole darts with p=1: t_bits, coding='lowest' and p need sampler='cws'."
        )
    if normalize is not None and (p != 1.0 or center is not None):
        raise ValueError(
            "normalize='l1' is the NGMM kernel, which has neither p nor center; drop one of them."
        )
    if center is not None:
        center = as_center(center)
    return MinMaxScheme(int(n_components), int(bits), t_bits, coding, p, normalize == "l1", center, seed)


def identity(scheme: MinMaxScheme, sampler: str, scale: float) -> dict[str, Any]:
    """What defines a code. Bits are left out, because low bits of a longer code are the shorter code; so is the number
    of slots for cws, whose slots do not depend on it."""
    facts: dict[str, Any] = {
        "sampler": sampler, "t_bits": scheme.t_bits, "coding": scheme.coding, "p": scheme.p, "l1": scheme.l1,
        "center": scheme.center, "seed": scheme.seed,
    }  # fmt: skip
    return facts if sampler == "cws" else facts | {"scale": scale, "n_components": scheme.n_components}


def check_center(X: Matrix, scheme: MinMaxScheme) -> None:
    """Refuse rows that the centre of a scheme does not fit."""
    if scheme.center is not None:
        check_center_fits(X, scheme.center)


class Columns(NamedTuple):
    """A matrix whose columns carry identities: ``ids[2c + s]`` is the expanded coordinate of column c, sign s."""

    matrix: Matrix
    ids: NDArray[np.uint64]
    renumbered: bool

    @property
    def n_coordinates(self) -> int:
        return int(self.ids.shape[0])


MatrixArgs = tuple[Any, Any, Any, int, NDArray[np.float64] | None, bool]


def matrix_args(X: Matrix, scheme: MinMaxScheme) -> MatrixArgs:
    """The leading arguments of the compiled functions that read a matrix."""
    return (*core_args(X), scheme.center_array(), scheme.l1)


def is_wide(X: Matrix) -> bool:
    """Whether the columns of a matrix are renumbered before hashing."""
    return bool(sp.issparse(X) and X.shape[1] > WIDE)


def as_columns(X: Matrix) -> Columns:
    """``X`` with the identities of its columns; a very wide sparse matrix keeps only the columns that occur."""
    if not is_wide(X):
        return Columns(X, np.arange(2 * X.shape[1], dtype=np.uint64), False)
    features, places = np.unique(X.indices[: X.indptr[-1]], return_inverse=True)
    indices = places.astype(X.indptr.dtype, copy=False)
    narrow = sp.csr_matrix(
        (X.data[: X.indptr[-1]], indices, X.indptr), shape=(X.shape[0], len(features)), copy=False
    )
    ids = np.repeat(2 * features.astype(np.uint64), 2)
    ids[1::2] += np.uint64(1)
    return Columns(narrow, ids, True)


def batches(X: Matrix, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows with at most that many stored entries each (or one row)."""
    n_rows = X.shape[0]
    if not hasattr(X, "indptr"):
        step = max(1, most // max(1, X.shape[1]))
        yield from ((at, min(at + step, n_rows)) for at in range(0, n_rows, step))
        return
    begin = 0
    while begin < n_rows:
        end = int(np.searchsorted(X.indptr, int(X.indptr[begin]) + most, side="right")) - 1
        end = min(max(end, begin + 1), n_rows)
        yield begin, end
        begin = end
