"""What an exported model is made of: a scaling, a map and the model of its bits or features.

Everything that cannot be exported is refused here, in a sentence that says what can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kernelight.base import counted
from kernelight.base.registry import kind_of
from kernelight.codes import provenance_of, slots_provenance
from kernelight.estimators.classifier import KernelClassifier
from kernelight.estimators.compact_classifier import CompactClassifier
from kernelight.estimators.kernel_model import KernelModel
from kernelight.export.column_names import column_names_of
from kernelight.linear.classifier import LinearClassifier
from kernelight.linear.ternary import TernaryClassifier
from kernelight.maps.base import CodeMap, FeatureMap
from kernelight.maps.projections.integer_fourier import IntegerFourier
from kernelight.maps.projections.one_bit import OneBitMap
from kernelight.scaling import ColumnScaler, Scaling
from kernelight.tables.model import TableModel

WORKS = (
    "IntegerFourier, or BinaryFourier or SignProjection with projection='sorf', and a "
    "TernaryClassifier or LinearClassifier"
)
FIRST = f"C is for {WORKS}"


@dataclass(frozen=True, eq=False)
class ModelParts:
    """A fitted model taken apart."""

    scaling: Scaling
    feature_map: Any
    model: Any
    #: The labels that the whole model predicts for rows, as an array.
    predict: Callable[[Any], NDArray[Any]]
    #: Names of the columns, where the model knows them.
    columns: tuple[str, ...] | None = None

    @property
    def classes(self) -> NDArray[Any]:
        """The class labels."""
        return np.asarray(self.model.classes_)

    @property
    def provenance(self) -> str:
        """A digest of what defines the bits or features."""
        feature_map = self.feature_map
        if isinstance(feature_map, OneBitMap):
            return str(feature_map.provenance)
        facts = {
            name: getattr(feature_map, name)
            for name in ("n_features_in_", "multiplier", "exponent", "seed_")
        }
        return provenance_of(kind_of(type(feature_map)), facts)


def parts_of(model_or_map: Any, model: Any = None) -> ModelParts:
    """The parts of a fitted model, or of a map and the model of its codes."""
    if isinstance(model_or_map, FeatureMap):
        parts = _of_map(model_or_map, model)
    elif model is not None:
        raise TypeError(
            f"model belongs to a map: a {type(model_or_map).__name__} is exported alone."
        )
    elif isinstance(model_or_map, TableModel):
        parts = _of_table(model_or_map)
    elif isinstance(model_or_map, (KernelModel, CompactClassifier)):
        parts = _of_kernel_model(model_or_map)
    elif isinstance(model_or_map, Pipeline):
        parts = _of_pipeline(model_or_map)
    else:
        raise TypeError(
            f"A {type(model_or_map).__name__} cannot be exported: {FIRST}, as a Pipeline of them, "
            "or a CompactClassifier."
        )
    _refuse_map(parts.feature_map)
    _refuse_scaling(parts.scaling)
    _refuse_model(parts)
    return parts


def _of_map(feature_map: FeatureMap, model: Any) -> ModelParts:
    if model is None:
        raise TypeError(
            f"A {type(feature_map).__name__} alone predicts nothing: give the model of its outputs "
            "too, to_c(map, model, ...)."
        )
    check_is_fitted(feature_map)

    outputs = feature_map.encode if isinstance(feature_map, CodeMap) else feature_map.transform

    def predict(X: Any) -> NDArray[Any]:
        return np.asarray(model.predict(outputs(X)))

    scaling = Scaling("none", feature_map.n_features_in_, {})
    return ModelParts(scaling, feature_map, model, predict, column_names_of(feature_map))


def _of_kernel_model(model: KernelModel | CompactClassifier) -> ModelParts:
    check_is_fitted(model)
    if not isinstance(model, (KernelClassifier, CompactClassifier)):
        raise TypeError(
            f"A {type(model).__name__} cannot be exported: C is for classes; use a "
            "CompactClassifier."
        )
    if model.map_ is None:
        raise ValueError(
            f"A KernelClassifier without a map (kernel={model.kernel!r}, method={model.method!r}) "
            "keeps its training rows, which no microcontroller holds: fit it with "
            "kernel='gaussian', method='integer', scale='minmax'."
        )
    if model.encoding_ is not None:
        raise ValueError(
            "This model encodes columns of words or dates, or missing numbers, which C has not: "
            "fit it to columns of numbers."
        )
    return ModelParts(
        model.scaling_, model.map_, model.model_, model.predict, column_names_of(model)
    )


def _of_table(table: TableModel) -> ModelParts:
    columns = table.encoding_.columns
    if columns is None:
        raise ValueError(
            "This model reads sparse rows, which C does not take: fit it to a table of numbers."
        )
    for column in columns:
        if tuple(column.feature_names) != (column.name,):
            raise ValueError(
                f"The column {column.name!r} is made of words or dates or has a feature for "
                "missing values, which C has not: fit the model to columns of numbers (--ignore "
                "leaves others out)."
            )
    parts = _of_kernel_model(table.model_)
    names = tuple(column.name for column in columns)
    return ModelParts(parts.scaling, parts.feature_map, parts.model, parts.predict, names)


def _of_pipeline(pipeline: Pipeline) -> ModelParts:
    check_is_fitted(pipeline)
    steps = [step for _, step in pipeline.steps if step not in (None, "passthrough")]
    maps = [step for step in steps if isinstance(step, FeatureMap)]
    if len(steps) not in (2, 3) or len(maps) != 1 or maps[0] is not steps[-2]:
        raise ValueError(
            "A Pipeline to export is a map and a model, perhaps after a ColumnScaler, got "
            f"{', '.join(type(step).__name__ for step in steps)}: {FIRST}."
        )
    scaling = Scaling("none", steps[0].n_features_in_, {})
    if len(steps) == 3:
        if not isinstance(steps[0], ColumnScaler):
            raise ValueError(
                f"A {type(steps[0]).__name__} cannot be exported: scale by "
                "kernelight.ColumnScaler('minmax'), 'standard' or 'max' instead."
            )
        scaling = steps[0].scaling_
    return ModelParts(scaling, maps[0], steps[-1], pipeline.predict, column_names_of(steps[0]))


def projection_kind(feature_map: Any) -> str:
    """The projection that a fitted map of one bit uses."""
    return str(getattr(feature_map, "projection_", feature_map.projection))


def _refuse_map(feature_map: Any) -> None:
    kind = type(feature_map).__name__
    if isinstance(feature_map, IntegerFourier):
        return
    if not isinstance(feature_map, OneBitMap) or kind not in ("BinaryFourier", "SignProjection"):
        raise ValueError(
            f"{kind} cannot be exported to C, its tables or its logarithms are too much for a "
            f"microcontroller: use {WORKS}."
        )
    projection = projection_kind(feature_map)
    if projection == "cauchy":
        raise ValueError(
            "Cauchy projections cannot be exported to C, their tables take megabytes: use "
            "SignProjection(projection='sorf')."
        )
    if projection not in ("sorf", "fastfood"):
        raise ValueError(
            f"projection={projection!r} cannot be exported to C, its table takes "
            f"{4 * feature_map.n_features_in_ * int(feature_map.n_components):,} bytes: use "
            f"{kind}(projection='sorf')."
        )


def _refuse_scaling(scaling: Scaling) -> None:
    if scaling.name.startswith("quantile"):
        raise ValueError(
            f"The scaling {scaling.name!r} keeps up to 257 numbers of each column and cannot be "
            "exported to C: scale by 'minmax', 'standard', 'max' or 'none'."
        )


def _refuse_model(parts: ModelParts) -> None:
    model, feature_map = parts.model, parts.feature_map
    if not isinstance(model, (TernaryClassifier, LinearClassifier)):
        raise TypeError(
            f"A {type(model).__name__} of codes cannot be exported to C: use TernaryClassifier, or "
            "LinearClassifier."
        )
    check_is_fitted(model)
    if isinstance(feature_map, IntegerFourier):
        _refuse_other_features(feature_map, model)
    else:
        _refuse_other_codes(feature_map, model)


def _refuse_other_features(feature_map: Any, model: Any) -> None:
    if model.provenance_ or model.n_features_in_ != int(feature_map.n_components):
        raise ValueError(
            f"The model was fitted to {counted(model.n_features_in_, 'feature')} of another map, "
            f"not to the {int(feature_map.n_components)} features of this one: give the map that "
            "made them."
        )


def _refuse_other_codes(feature_map: Any, model: Any) -> None:
    if isinstance(model, TernaryClassifier) and model.provenance_ is None:
        raise ValueError(
            "This TernaryClassifier was fitted to dense features, not to the codes of a map: fit "
            f"it to the codes of {type(feature_map).__name__}."
        )
    slots, own = int(feature_map.n_components), model.provenance_
    if isinstance(model, LinearClassifier):
        known, n_slots = (feature_map.provenance,), model.coef_.shape[1] // 2
        if feature_map.slots_ is not None:
            raise ValueError(
                "A map that keeps some slots cannot be exported with a LinearClassifier: use a "
                "TernaryClassifier, or the map of all slots."
            )
    else:
        known, n_slots = (feature_map.provenance,), model.n_features_in_
        if feature_map.slots_ is not None:
            known = (feature_map.provenance,)
            own = slots_provenance(own, model.slots_) if own else own
            if not np.array_equal(feature_map.slots_, model.slots_):
                raise ValueError(
                    "The map keeps other slots than the model has coefficients of: export "
                    "map.keep(model.slots_), or the map of all slots."
                )
    if (own and own not in known) or n_slots != slots:
        raise ValueError(
            f"The model was fitted to codes of another map ({counted(n_slots, 'slot')}, provenance "
            f"{model.provenance_!r}): give the map that made them."
        )
