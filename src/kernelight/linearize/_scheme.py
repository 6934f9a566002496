"""What both samplers of the min-max kernel share: the scheme, and matrices seen as columns with identities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight._checks import Matrix, core_args

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


class Columns(NamedTuple):
    """A matrix whose columns carry identities: ``ids[2c + s]`` is the expanded coordinate of column c, sign s."""

    matrix: Matrix
    ids: NDArray[np.uint64]
    renumbered: bool

    @property
    def n_coordinates(self) -> int:
        return int(self.ids.shape[0])

    def args(self, scheme: MinMaxScheme) -> tuple[Any, ...]:
        """The leading arguments of the compiled functions that read the matrix."""
        return (*core_args(self.matrix), scheme.center_array(), scheme.l1)


def as_columns(X: Matrix) -> Columns:
    """``X`` with the identities of its columns; a very wide sparse matrix keeps only the columns that occur."""
    if not (sp.issparse(X) and X.shape[1] > WIDE):
        return Columns(X, np.arange(2 * X.shape[1], dtype=np.uint64), False)
    features, places = np.unique(X.indices[: X.indptr[-1]], return_inverse=True)
    indices = places.astype(X.indptr.dtype, copy=False)
    narrow = sp.csr_matrix((X.data[: X.indptr[-1]], indices, X.indptr), shape=(X.shape[0], len(features)), copy=False)
    ids = np.repeat(2 * features.astype(np.uint64), 2)
    ids[1::2] += np.uint64(1)
    return Columns(narrow, ids, True)
