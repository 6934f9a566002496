"""A column scaling and a feature map together.

This is what a model, a table map or an index applies to rows before anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, check_int
from kernelight.base.estimator import arrays_under, fitted_part, with_parts
from kernelight.codes import Codes
from kernelight.maps.base import FeatureMap
from kernelight.scaling import Scaling
from kernelight.state import State

Features = Any  # Codes, a dense float32 array, or a CSR matrix
_BLOCK_VALUES = 1 << 23  # of scaled rows or of features
_FEWEST, _MOST = 256, 16_384  # rows of a block


@dataclass(frozen=True)
class ScaledMap:
    """A fitted scaling and a fitted map of the scaled rows.

    Without a map, as for an exact kernel, rows are only scaled.

    Rows are taken block by block, so that intermediate results never exist for all rows at once.
    """

    scaling: Scaling
    feature_map: FeatureMap | None

    def __post_init__(self) -> None:
        if (
            self.feature_map is not None
            and self.feature_map.n_features_in_ != self.scaling.n_features_out
        ):
            raise ValueError("its map takes rows of another width than its scaling gives.")

    @property
    def n_features(self) -> int:
        """Columns of the rows that it takes."""
        return self.scaling.n_features

    @property
    def n_outputs(self) -> int:
        """Numbers that a row becomes: see `FeatureMap.n_outputs`."""
        return (
            self.scaling.n_features_out if self.feature_map is None else self.feature_map.n_outputs
        )

    @property
    def has_codes(self) -> bool:
        """Whether rows become codes."""
        return hasattr(self.feature_map, "encode")

    def encode(self, X: Matrix) -> Features:
        """What a model is given for all checked rows.

        Codes where the map has them, else features, and scaled rows where there is no map.
        """
        if self.feature_map is None or self.scaling.name == "none":
            return self._block(X)  # nothing is copied on the way
        parts: list[Any] = []
        filled: NDArray[Any] | None = None
        empty = np.zeros(X.shape[0], dtype=np.bool_)
        for rows in _ranges(X.shape[0], self._step(X)):
            part = self._block(X[rows])
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

    def stream(
        self,
        X: Matrix,
        of_features: Callable[[Features], NDArray[Any]],
        *,
        width: int | None = None,
    ) -> NDArray[Any]:
        """What a function makes of the features of checked rows, block by block.

        ``width`` is how many numbers the function makes of a row meanwhile, where that is more than
        the features.
        """
        step = self._step(X, width)
        if X.shape[0] <= step:
            return of_features(self._block(X))
        return np.concatenate(
            [of_features(self._block(X[rows])) for rows in _ranges(X.shape[0], step)]
        )

    def _block(self, X: Matrix) -> Features:
        rows = self.scaling(X)
        if self.feature_map is None:
            return rows
        if hasattr(self.feature_map, "encode"):
            return self.feature_map.encode(rows)
        features = self.feature_map.transform(rows)
        return features if sp.issparse(features) else np.asarray(features, dtype=np.float32)

    def _step(self, X: Matrix, width: int | None = None) -> int:
        """How many rows to take at a time, so few that only some values exist."""
        if X.shape[0] <= _FEWEST:
            return _FEWEST
        most = max(
            self.n_outputs if width is None else width,
            0 if sp.issparse(X) else self.scaling.n_features_out,
        )
        return min(max(_FEWEST, _BLOCK_VALUES // max(1, most)), _MOST)

    # -- States: alone, or as parts of a larger state

    def to_state(self) -> State:
        """The state of the scaling, with the state of the map in it."""
        scaling = {"name": self.scaling.name, "n_features": self.scaling.n_features}
        return with_parts(
            State({"kind": "ScaledMap", "scaling": scaling}, self.scaling_arrays()), self.parts()
        )

    @classmethod
    def from_state(cls, state: State) -> ScaledMap:
        """The scaled map of a state."""
        meta = state.require("ScaledMap").meta
        try:
            scaling = meta["scaling"]
            return cls.from_parts(
                state, scaling["name"], check_int("n_features", scaling["n_features"], 1, 1 << 62)
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"This state does not describe a ScaledMap: {str(error).rstrip('.')}."
            ) from error

    def scaling_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the scaling, by their names in a state."""
        return {f"scaling.{name}": array for name, array in self.scaling.arrays.items()}

    def parts(self) -> dict[str, Any]:
        """The map by its name among the parts of a state; an empty dict without a map."""
        return {} if self.feature_map is None else {"map": self.feature_map}

    @classmethod
    def from_parts(cls, state: State, scale: str, n_features: int) -> ScaledMap:
        """The scaled map from what `scaling_arrays` and `parts` put into a state.

        Everything is checked, as a state may hold anything.
        """
        scaling = Scaling(scale, n_features, arrays_under(state, "scaling"))
        return cls(scaling, fitted_part(state, "map", "map") if state.meta.get("parts") else None)


def _ranges(n_rows: int, step: int) -> Iterator[slice]:
    return (slice(start, start + step) for start in range(0, n_rows, step))
