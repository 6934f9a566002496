"""What becomes of the projections w_j . x of a row: features of cosines, or bits.

A `RowRule` says how a row enters, a readout what is made of its projections. Both are handed to the
core as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix, Resources
from kernelight.kernels.prepare import is_sparse, row_peaks


class RowRule(NamedTuple):
    """What a row is multiplied by before it is projected: see RowRule of core/project.h."""

    kind: int
    factor: float = 1.0

    def empty(self, X: Matrix) -> NDArray[np.bool_]:
        """Rows without features: those of zeros, unless a row of zeros is a point like others."""
        return np.zeros(X.shape[0], bool) if self.kind == FIXED else np.equal(row_peaks(X), 0)


FIXED = 0
UNIT_LENGTH = RowRule(1)
POWER_OF_TWO = RowRule(2)  # nothing but signs is read: only overflow is kept away, exactly


@dataclass(frozen=True)
class FourierReadout:
    """amplitude cos(2 pi (y + shift)) of each projection y.

    With ``pairs``, amplitude cos(2 pi y) and amplitude sin(2 pi y) side by side.

    ``exact`` asks for the same bits whatever the storage of rows and the machine, instead of the
    fastest way.
    """

    pairs: bool
    amplitude: float
    shift: NDArray[np.float32]
    exact: bool = False

    def made(self, n_rows: int, n_outputs: int) -> NDArray[Any]:
        return np.empty((n_rows, n_outputs * (2 if self.pairs else 1)), dtype=np.float32)

    def _view(self, scale: Any) -> _core.FourierReadout:
        """The readout as the compiled functions take it."""
        return _core.FourierReadout(scale, self.shift, self.pairs, self.amplitude)

    def structured(
        self,
        rows: _core.ScaledRows,
        structure: _core.Structure,
        scale: Any,
        out: NDArray[Any],
        empty: Any,
        resources: Resources,
    ) -> None:
        _core.project_features(rows, structure, self._view(scale), out, *resources)

    def projected(
        self,
        y: NDArray[Any],
        first: int,
        count: int,
        empty: Any,
        scale: Any,
        out: NDArray[Any],
        resources: Resources,
    ) -> None:
        _core.read_features(y, first, count, empty, self._view(scale), out, *resources)

    def fuses(self, X: Matrix, tables: list[NDArray[np.float32]]) -> bool:
        return not self.exact and not is_sparse(X) and len(tables) == 1

    def fused(
        self,
        X: NDArray[Any],
        rule: RowRule,
        tables: NDArray[np.float32],
        first: int,
        count: int,
        scale: Any,
        out: NDArray[Any],
        resources: Resources,
    ) -> None:
        """Project dense rows and read at once, some rows at a time, so that Ctrl-C is handled."""
        step = max(240, (1 << 31) // max(1, X.shape[1] * count))
        for begin in range(0, X.shape[0], step):
            part = slice(begin, begin + step)
            rows = _core.ScaledRows(X[part], None, None, X.shape[1], *rule)
            readout = self._view(scale)
            _core.project_and_read(rows, tables, first, count, readout, out[part], *resources)


@dataclass(frozen=True)
class BitReadout:
    """Whether cos(2 pi (y + shift)) + threshold >= 0; without shift and threshold, whether y >= 0.

    A y of 0 up to rounding, likely with "sorf" only, counts as its ``tie``, turned with the sign of
    the row's first element.
    """

    shift: NDArray[np.float32] | None = None
    threshold: NDArray[np.float32] | None = None
    tie: NDArray[np.float32] | None = None

    def only(self, outputs: NDArray[np.int64]) -> BitReadout:
        """The same for some outputs."""
        return BitReadout(
            *(None if of is None else of[outputs] for of in (self.shift, self.threshold, self.tie))
        )

    def made(self, n_rows: int, n_outputs: int) -> NDArray[Any]:
        return np.empty((n_rows, n_outputs), dtype=np.uint8)

    def _view(self, scale: Any) -> _core.BitReadout:
        """The readout as the compiled functions take it; signs need no scale."""
        scale = None if self.shift is None else scale
        return _core.BitReadout(scale, self.shift, self.threshold, self.tie)

    def structured(
        self,
        rows: _core.ScaledRows,
        structure: _core.Structure,
        scale: Any,
        out: NDArray[Any],
        empty: Any,
        resources: Resources,
    ) -> None:
        _core.project_bits(
            rows, structure, self._view(scale), out, empty.view(np.uint8), *resources
        )

    def projected(
        self,
        y: NDArray[Any],
        first: int,
        count: int,
        empty: Any,
        scale: Any,
        out: NDArray[Any],
        resources: Resources,
    ) -> None:
        _core.read_bits(y, first, count, empty, self._view(scale), out, *resources)


Readout = FourierReadout | BitReadout
