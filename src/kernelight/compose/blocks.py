"""Rows in blocks: what is made of a row and thrown away again never exists for all rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight._checks import Matrix
from kernelight.codes import Codes
from kernelight.compose.scale import Scaling
from kernelight.maps.base import FeatureMap

Features = Any  # Codes, a dense float32 array, or a CSR matrix
_BLOCK_VALUES = 1 << 23  # of scaled rows or of features
_FEWEST, _MOST = 256, 16_384  # rows of a block


def blocks(X: Matrix, width: int) -> Iterator[slice]:
    """Ranges of rows such that a block of so many values a row is small."""
    step = min(max(_FEWEST, _BLOCK_VALUES // max(1, width)), _MOST)
    return (slice(start, start + step) for start in range(0, X.shape[0], step))


def block_width(X: Matrix, scaling: Scaling, n_outputs: int) -> int:
    """The values that a row becomes, at most, on the way to ``n_outputs`` features."""
    return max(n_outputs, 0 if sp.issparse(X) else scaling.n_features_out)


def features_of(feature_map: FeatureMap, rows: Matrix) -> Features:
    """What a linear model sees of scaled rows: codes where the map has them."""
    if hasattr(feature_map, "encode"):
        return feature_map.encode(rows)
    found = feature_map.transform(rows)
    return found if sp.issparse(found) else np.asarray(found, dtype=np.float32)


def encoded(feature_map: FeatureMap, scaling: Scaling, X: Matrix, n_outputs: int) -> Features:
    """The features of all rows, made block by block: beside the result there is one block of scaled rows."""
    if scaling.name == "none":
        return features_of(feature_map, X)  # nothing is copied on the way
    parts = [features_of(feature_map, scaling(X[:1]))[:0]] if not X.shape[0] else []
    filled: NDArray[Any] | None = None
    empty = np.zeros(X.shape[0], dtype=np.bool_)
    for rows in blocks(X, block_width(X, scaling, n_outputs)):
        part = features_of(feature_map, scaling(X[rows]))
        if sp.issparse(part):
            parts.append(part)
            continue
        values = part.array if isinstance(part, Codes) else part
        if filled is None:
            filled = np.empty((X.shape[0], values.shape[1]), dtype=values.dtype)
            parts.append(part[:0])
        filled[rows] = values
        if isinstance(part, Codes):
            empty[rows] = part.empty
    if filled is None:
        return parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr")
    return parts[0]._like(filled, empty=empty) if isinstance(parts[0], Codes) else filled
