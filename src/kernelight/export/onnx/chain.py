"""A fitted object taken apart, as it goes into a graph: columns, scalings, a map and a model.

What has no place in a graph is refused, in a sentence that says what works instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kernelight.codes import slots_provenance
from kernelight.estimators.average_model import AverageModel
from kernelight.estimators.calibration import Calibration
from kernelight.estimators.column_weighter import ColumnWeighter
from kernelight.estimators.compact_classifier import CompactClassifier
from kernelight.estimators.kernel_model import KernelModel
from kernelight.estimators.support_model import SupportModel
from kernelight.export.column_names import column_names_of
from kernelight.export.onnx.encoded import Dense, Encoded, whole
from kernelight.export.onnx.graph import Graph, Rows
from kernelight.export.onnx.heads import own_calibration, scores_of
from kernelight.export.onnx.kernels import kernel_with, nystroem_features
from kernelight.export.onnx.minmax import sampled
from kernelight.export.onnx.projections import (
    aligned_features,
    fourier_bits,
    fourier_features,
    sign_bits,
)
from kernelight.export.onnx.rows import filled_in, scaled
from kernelight.export.onnx.whole_numbers import integer_features
from kernelight.linear.base import LinearModel
from kernelight.linear.ternary import TernaryClassifier
from kernelight.maps.base import FeatureMap
from kernelight.maps.scaled_map import ScaledMap
from kernelight.scaling import ColumnScaler, Scaling
from kernelight.tables.model import TableModel

MAPS = (
    "RandomFourier, IntegerFourier, BinaryFourier, SignProjection, KernelNystroem, "
    "AlignedFourier and "
    "GCWS(sampler='cws')"
)
_SCALERS = (ColumnScaler, ColumnWeighter)
_MODELS = (LinearModel, TernaryClassifier)


@dataclass(frozen=True, eq=False)
class Chain:
    """What rows go through, from left to right."""

    n_features: int
    scalings: tuple[Scaling, ...] = ()
    feature_map: Any = None
    model: Any = None  # linear, ternary, a `SupportModel` or an `AverageModel`
    medians: NDArray[np.float64] | None = None  # in place of missing numbers
    classes: NDArray[Any] | None = None
    calibration: Calibration | None = None
    unit: Any = 1.0  # a quantity is score * unit + origin
    origin: Any = 0.0
    names: tuple[str, ...] | None = None  # of the columns, where rows had names
    by_name: bool = False  # whether the columns of a frame are found by their names

    @property
    def n_targets(self) -> int:
        """Quantities that a regression predicts."""
        return int(getattr(self.model, "n_targets_", np.size(self.unit)))

    def encoded(self, g: Graph, rows: Rows) -> Encoded:
        """What scalings and map make of rows."""
        if self.medians is not None:
            rows = filled_in(g, rows, self.medians)
        for scaling in self.scalings:
            rows = scaled(g, rows, scaling)
        if self.feature_map is None:
            return whole(rows.name, rows.width, rows.dtype)
        return encoded_by(g, rows, self.feature_map)

    def scores(self, g: Graph, rows: Rows) -> str:
        """(rows, outputs) scores, or quantities, in double precision."""
        values = self._scores(g, rows)
        if np.any(self.unit != 1.0) or np.any(self.origin):
            unit = g.constant(np.asarray(self.unit, dtype=np.float64))
            values = g.add("Mul", values, unit)
            values = g.add("Add", values, g.constant(np.asarray(self.origin, dtype=np.float64)))
        return values

    def _scores(self, g: Graph, rows: Rows) -> str:
        model = self.model
        if isinstance(model, AverageModel):
            return self._average(g, rows, model)
        if not isinstance(model, SupportModel):
            return scores_of(g, self.encoded(g, rows), model)
        made = self.encoded(g, rows)
        assert isinstance(made, Dense)
        own = Rows(made.parts[0].name, made.width, rows.dtype)
        values = kernel_with(g, own, model.kernel, model.rows, "A model of the exact kernel")
        values = g.add("MatMul", values, g.constant(model.duals.coefficients))
        return g.add("Add", values, g.constant(model.duals.intercept))

    def _average(self, g: Graph, rows: Rows, model: AverageModel) -> str:
        if self.medians is not None:
            rows = filled_in(g, rows, self.medians)
        sums = []
        for member in model.members:
            own = member.scaled_map
            chain = Chain(self.n_features, (own.scaling,), own.feature_map, member.model)
            unit = g.constant(np.float64(member.unit * len(model.members)))
            sums.append(g.add("Div", chain.scores(g, rows), unit))
        return sums[0] if len(sums) == 1 else g.add("Sum", *sums)


def encoded_by(g: Graph, rows: Rows, feature_map: Any) -> Encoded:
    """What a fitted map makes of rows."""
    refuse_map(feature_map)
    return _MAPS[type(feature_map).__name__](g, rows, feature_map)


_MAPS: dict[str, Callable[[Graph, Rows, Any], Encoded]] = {
    "RandomFourier": fourier_features,
    "IntegerFourier": integer_features,
    "AlignedFourier": aligned_features,
    "BinaryFourier": fourier_bits,
    "SignProjection": sign_bits,
    "GCWS": sampled,
    "KernelNystroem": nystroem_features,
}


def refuse_map(feature_map: Any) -> None:
    """Refuse a map that has no graph."""
    name = type(feature_map).__name__
    if name not in _MAPS:
        raise ValueError(f"{name} cannot be exported to ONNX: use one of the maps {MAPS}.")
    if name == "GCWS" and feature_map.sampler_ != "cws":
        raise ValueError(
            "The dart sampler of GCWS searches until it has found, which a graph cannot: use "
            "make_pipeline(ColumnScaler(), GCWS(sampler='cws'), LinearClassifier()), or another "
            "kernel."
        )
    if name == "AlignedFourier" and feature_map.binary:
        raise ValueError(
            "AlignedFourier(binary=True) cannot be exported to ONNX: use binary=False, or "
            "BinaryFourier."
        )


def chain_of(model_or_map: Any, model: Any = None) -> Chain:
    """The parts of a fitted model, of a map, or of a map and the model of its features."""
    fitted = model_or_map
    if model is not None and not isinstance(fitted, FeatureMap):
        raise TypeError(f"model belongs to a map: a {type(fitted).__name__} is exported alone.")
    if isinstance(fitted, TableModel):
        chain = _of_table(fitted)
        names = tuple(column.name for column in fitted.encoding_.columns or ())
        return replace(chain, names=names, by_name=True)
    return replace(_of_estimator(fitted, model), names=column_names_of(fitted))


def _of_estimator(fitted: Any, model: Any) -> Chain:
    if isinstance(fitted, CompactClassifier):
        check_is_fitted(fitted)
        return _of_compact(fitted)
    if isinstance(fitted, KernelModel):
        return _of_kernel_model(fitted)
    if isinstance(fitted, ScaledMap):
        return Chain(fitted.n_features, (fitted.scaling,), fitted.feature_map)
    steps = (
        [step for _, step in fitted.steps if step not in (None, "passthrough")]
        if isinstance(fitted, Pipeline)
        else [fitted] + ([] if model is None else [model])
    )
    return _of_steps(steps)


def _of_compact(model: CompactClassifier, fills: NDArray[np.float64] | None = None) -> Chain:
    return Chain(
        int(model.n_features_in_),
        (model.scaling_,),
        model.map_,
        model.model_,
        fills,
        model.classes_,
    )


def _of_steps(steps: list[Any]) -> Chain:
    """Scalers, perhaps a map, perhaps a model."""
    for step in steps:
        if isinstance(step, (*_SCALERS, FeatureMap, *_MODELS)):
            check_is_fitted(step)
    rest, scalings, feature_map, model = list(steps), [], None, None
    while rest and isinstance(rest[0], _SCALERS):
        scalings.append(rest.pop(0).scaling_)
    if rest and isinstance(rest[0], FeatureMap):
        feature_map = rest.pop(0)
        refuse_map(feature_map)
    if rest and isinstance(rest[0], _MODELS):
        model = rest.pop(0)
        _refuse_other_map(feature_map, model)
    if rest or not steps:
        what = ", ".join(type(step).__name__ for step in steps) or "nothing"
        raise TypeError(
            f"to_onnx takes scalers, a map and a model of kernelight in this order, or a model "
            f"alone, got {what}: for steps of scikit-learn call kernelight.export.skl2onnx."
            "register(), then skl2onnx.to_onnx."
        )
    return Chain(
        int(steps[0].n_features_in_),
        tuple(scalings),
        feature_map,
        model,
        classes=getattr(model, "classes_", None),
        calibration=own_calibration(model) if hasattr(model, "classes_") else None,
    )


def _refuse_other_map(feature_map: Any, model: Any) -> None:
    known = getattr(model, "provenance_", None)
    if not known:
        return
    if feature_map is None:
        raise TypeError(
            f"This {type(model).__name__} is of codes: give the map that made them too, "
            "to_onnx(map, model)."
        )
    pruned = slots_provenance(known, model.slots_) if hasattr(model, "slots_") else known
    if getattr(feature_map, "provenance", None) not in (known, pruned):
        raise ValueError(
            f"The model was fitted to codes of another map (provenance {known!r}): give the map "
            "that made them."
        )


def _of_kernel_model(model: KernelModel) -> Chain:
    check_is_fitted(model)
    if model.encoding_ is not None:
        raise ValueError(
            "This model encodes columns of words, dates or missing numbers, which its graph would "
            "not: fit it to columns of numbers."
        )
    return _chain_with(model, int(model.n_features_in_), model.medians_)


def _chain_with(model: KernelModel, width: int, medians: NDArray[np.float64] | None) -> Chain:
    parts = model.model_
    if isinstance(parts, AverageModel):
        for member in parts.members:
            if member.scaled_map.feature_map is not None:
                _refuse_member(member.scaled_map.feature_map)
    elif model.map_ is not None:
        refuse_map(model.map_)
    unit, origin = getattr(model, "target_scale_", 1.0), getattr(model, "target_mean_", 0.0)
    classes = getattr(model, "classes_", None)
    calibration = getattr(model, "calibration_", None)
    if classes is not None and calibration is None and model.map_ is not None:
        calibration = own_calibration(parts)
    return Chain(
        width,
        (model.scaling_,),
        model.map_,
        parts,
        medians,
        classes,
        calibration,
        np.ravel(unit),
        np.ravel(origin),
    )


def _refuse_member(feature_map: Any) -> None:
    name = type(feature_map).__name__
    if name not in _MAPS:
        raise ValueError(
            f"This average of models (kernel='auto') has a member of {name}, which cannot be "
            "exported to ONNX: fit kernel='gmm' or kernel='gaussian' instead."
        )
    refuse_map(feature_map)


def _of_table(table: TableModel) -> Chain:
    if not hasattr(table, "model_"):
        raise NotFittedError("This TableModel is not fitted yet: call fit with a data set first.")
    encoding = table.encoding_
    if encoding.columns is None:
        raise ValueError(
            "This model reads sparse rows, which its graph would not: fit it to a table of numbers."
        )
    for column in encoding.columns:
        if tuple(column.feature_names) != (column.name,):
            raise ValueError(
                f"The column {column.name!r} is made of words or dates or has a feature for "
                "missing values, which ONNX files do not read: fit the model to columns of numbers "
                "(--ignore leaves others out)."
            )
    fills = np.array([column.fill for column in encoding.columns], dtype=np.float64)
    if isinstance(table.model_, CompactClassifier):
        return _of_compact(table.model_, fills)
    return _chain_with(table.model_, len(fills), fills)
