"""What an export predicts by: a map and a head that belong together, in C and in NumPy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.estimators.device_size import CODE
from kernelight.export.feature_heads import FeatureHead, LinearFeatureHead, TernaryFeatureHead
from kernelight.export.float_map import FloatMap
from kernelight.export.fourier_map import FourierMap
from kernelight.export.heads import Head, LinearHead, TernaryHead, best
from kernelight.export.integer_map import IntegerMap
from kernelight.export.model_parts import ModelParts, projection_kind
from kernelight.export.phase_rows import phase_rows
from kernelight.linear.ternary import TernaryClassifier
from kernelight.maps.projections.integer_fourier import IntegerFourier

_BATCH = 2048  # rows at a time
# Cortex-M3, gcc -Os, with what it takes of libgcc: the functions, and what a scaling adds, about
_BIT_CODE = {"int16": (1050, 350), "float32": (4650, 650)}
_CALLS = 120  # bytes of the stack for registers and calls, about


class Predictor(ABC):
    """The index of the class of a row."""

    @abstractmethod
    def _classes(self, rows: NDArray[Any]) -> NDArray[np.intp]:
        """Of a batch of rows."""

    def classes(self, rows: NDArray[Any]) -> NDArray[np.intp]:
        """The indices of the classes of rows, as C gives them."""
        batches = [self._classes(rows[at : at + _BATCH]) for at in range(0, len(rows), _BATCH)]
        return np.concatenate(batches) if batches else np.zeros(0, dtype=np.intp)

    @abstractmethod
    def source(self, n: str) -> str:
        """All tables and functions up to ``n_predict``."""

    @property
    @abstractmethod
    def flash(self) -> dict[str, int]:
        """Bytes of flash, part by part."""

    @property
    @abstractmethod
    def ram(self) -> int:
        """Bytes of the stack, about."""


@dataclass(frozen=True, eq=False)
class BitPredictor(Predictor):
    """By bits of a row."""

    bits: IntegerMap | FloatMap
    head: Head
    row_kind: str

    def _classes(self, rows: NDArray[Any]) -> NDArray[np.intp]:
        return self.head.classes(*self.bits.bits(rows))

    def source(self, n: str) -> str:
        empty = int(best(np.asarray(self.head.empty_scores)[None])[0])
        return self.head.source(n) + self.bits.source(n, empty)

    @property
    def flash(self) -> dict[str, int]:
        return _with_code({**self.head.flash, **self.bits.flash}, _BIT_CODE[self.row_kind])

    @property
    def ram(self) -> int:
        return self.bits.ram + _CALLS


@dataclass(frozen=True, eq=False)
class FeaturePredictor(Predictor):
    """By features of a row, which are whole numbers."""

    features: FourierMap
    head: FeatureHead
    row_kind: str
    n_columns: int

    def _classes(self, rows: NDArray[Any]) -> NDArray[np.intp]:
        return self.head.classes(*self.features.outputs(rows))

    def source(self, n: str) -> str:
        width = self.features.width
        lines = self.head.lines(n, width)
        return self.head.tables(n, width) + self.features.source(n, self.n_columns, *lines)

    @property
    def flash(self) -> dict[str, int]:
        parts = {**self.head.flash(self.features.width), **self.features.flash}
        return _with_code(parts, CODE[self.row_kind])

    @property
    def ram(self) -> int:
        return self.features.ram + self.head.ram + _CALLS


def _with_code(parts: dict[str, int], code: tuple[int, int]) -> dict[str, int]:
    return {**parts, "code": code[0] + (code[1] if "scaling" in parts else 0)}


def predictor_of(parts: ModelParts, seen: NDArray[Any], rows: str, phases: str) -> Predictor:
    """The predictor of a model for rows of a type; rows ``seen`` choose ranges of numbers."""
    if isinstance(parts.feature_map, IntegerFourier):
        return _feature_predictor(parts, rows)
    slots = int(parts.feature_map.n_components)
    head: Head
    if isinstance(parts.model, TernaryClassifier):
        head = TernaryHead.of(parts.model, slots, rows == "int16")
    else:
        head = LinearHead.of(parts.model, slots, 16 if rows == "int16" else 32)
    return BitPredictor(_bit_map(parts, seen, rows, phases), head, rows)


def _feature_predictor(parts: ModelParts, rows: str) -> FeaturePredictor:
    feature_map = parts.feature_map
    slots, unit = int(feature_map.n_components), feature_map.unit
    features = FourierMap(
        phase_rows(parts.scaling, rows, feature_map.multiplier, feature_map.exponent),
        "float" if rows == "float32" else "int16_t",
        feature_map.width,
        slots,
        int(feature_map.seed_),
    )
    head: FeatureHead
    if isinstance(parts.model, TernaryClassifier):
        head = TernaryFeatureHead.of(parts.model, slots, unit, whole=rows == "int16")
    else:
        head = LinearFeatureHead.of(parts.model, unit, 16 if rows == "int16" else 32)
    return FeaturePredictor(features, head, rows, parts.scaling.n_features)


def _bit_map(parts: ModelParts, seen: Any, rows: str, phases: str) -> IntegerMap | FloatMap:
    feature_map = parts.feature_map
    if feature_map.slots_ is not None:  # the head has coefficients 0 for the others
        feature_map = type(feature_map).from_state(_whole_state(feature_map))
    if rows == "float32":
        return FloatMap(parts.scaling, feature_map, phases)
    if projection_kind(feature_map) != "sorf":
        raise ValueError(
            f"projection={projection_kind(feature_map)!r} has Gaussian factors, which rows='int16' "
            f"does not compute with: use {type(feature_map).__name__}(projection='sorf'), or "
            "rows='float32'."
        )
    return IntegerMap.of(feature_map, parts.scaling, seen.astype(np.float64), phases)


def _whole_state(feature_map: Any) -> Any:
    state = feature_map.to_state()
    arrays = {name: array for name, array in state.arrays.items() if name != "slots_"}
    return type(state)(state.meta, arrays)
