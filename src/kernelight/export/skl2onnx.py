"""Converters for the package skl2onnx: pipelines of scikit-learn with steps of kernelight.

`register` makes skl2onnx know the maps, models and scalers of kernelight. Each step is converted by
itself, so that codes go from a map to a model as dense one-hot features, of which
`kernelight.export.to_onnx` of a whole model needs none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from kernelight.base import registry
from kernelight.export.onnx.chain import Chain, chain_of
from kernelight.export.onnx.encoded import Bits, as_features, whole
from kernelight.export.onnx.graph import DOUBLE, FLOAT, OPSET, Graph, Rows
from kernelight.export.onnx.heads import labels, probabilities, scores_of
from kernelight.export.onnx.to_onnx import require
from kernelight.linear.ternary import TernaryClassifier

__all__ = ["register"]

_MAPS = (
    *("ColumnScaler", "ColumnWeighter", "RandomFourier", "AlignedFourier", "BinaryFourier"),
    *("IntegerFourier", "SignProjection", "GCWS", "KernelNystroem"),
)
_MODELS = (
    *("LinearClassifier", "LinearRegressor", "TernaryClassifier"),
    *("KernelClassifier", "KernelRegressor"),
)
_OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
    "raw_scores": [True, False],
}


def register() -> None:
    """Make skl2onnx convert the maps, models and scalers of kernelight.

    A classifier has the outputs that skl2onnx gives to all: labels and probabilities; without
    `predict_proba`, or with the option ``raw_scores``, scores. The target opset must be at least
    18.

    Examples
    --------
    >>> import numpy as np, skl2onnx
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import kernelight.export
    >>> kernelight.export.skl2onnx.register()
    >>> X = np.random.default_rng(0).random((300, 4), dtype=np.float32)
    >>> y = X[:, 0] > X[:, 1]
    >>> fourier = kernelight.RandomFourier(64, metric="euclidean")
    >>> pipeline = make_pipeline(StandardScaler(), fourier, LogisticRegression()).fit(X, y)
    >>> exported = skl2onnx.to_onnx(pipeline, X[:1], target_opset=18)
    >>> [output.name for output in exported.graph.output]
    ['output_label', 'output_probability']
    """
    require("skl2onnx", "onnx")
    from skl2onnx import update_registered_converter

    for name in _MAPS:
        update_registered_converter(registry.lookup(name), f"Kernelight{name}", _map_shape, _map)
    for name in _MODELS:
        model = registry.lookup(name)
        shape, convert, options = _model_shape, _model, None
        if name.endswith("Classifier"):
            options = _OPTIONS
        update_registered_converter(model, f"Kernelight{name}", shape, convert, options=options)


# -- Shapes --------------------------------------------------------------------------------------


def _tensor(dtype: Any, shape: list[Any]) -> Any:
    from skl2onnx.common import data_types

    kinds = {
        "float32": data_types.FloatTensorType,
        "float64": data_types.DoubleTensorType,
        "int64": data_types.Int64TensorType,
        "object": data_types.StringTensorType,
    }
    return kinds[np.dtype(dtype).name](shape)


def _dtype_of(operator: Any) -> np.dtype[Any]:
    """The type in which kernelight takes the inputs: whole numbers become float64."""
    from skl2onnx.common.data_types import FloatTensorType

    single = all(isinstance(each.type, FloatTensorType) for each in operator.inputs)
    return FLOAT if single else DOUBLE


def _map_shape(operator: Any) -> None:
    width = len(operator.raw_operator.get_feature_names_out())
    first = operator.inputs[0].get_first_dimension()
    # features of single precision too: steps after them expect the type of the rows
    operator.outputs[0].type = _tensor(_dtype_of(operator), [first, width])


def _model_shape(operator: Any) -> None:
    model, dtype = operator.raw_operator, _dtype_of(operator)
    first = operator.inputs[0].get_first_dimension()
    if not is_classifier(model):
        width = getattr(model, "n_targets_", np.size(getattr(model, "target_mean_", 0.0)))
        operator.outputs[0].type = _tensor(dtype, [first, int(width)])
        return
    strings = model.classes_.dtype.kind in "UO"
    operator.outputs[0].type = _tensor(np.dtype(object) if strings else np.int64, [first])
    operator.outputs[1].type = _tensor(dtype, [first, len(model.classes_)])


# -- Converters ----------------------------------------------------------------------------------


def _map(scope: Any, operator: Any, container: Any) -> None:
    g, rows = _begun(scope, operator, container)
    made = as_features(g, chain_of(operator.raw_operator).encoded(g, rows))
    dtype = _dtype_of(operator)
    _end(g, operator, container, [made.name if made.dtype == dtype else g.cast(made.name, dtype)])


def _model(scope: Any, operator: Any, container: Any) -> None:
    model, dtype = operator.raw_operator, _dtype_of(operator)
    g, rows = _begun(scope, operator, container)
    if isinstance(model, TernaryClassifier):
        dense = model.provenance_ is None
        read = whole(rows.name, rows.width, rows.dtype) if dense else _bits_of_one_hot(g, rows)
        scores = scores_of(g, read, model)
        chain = Chain(rows.width, model=model, classes=model.classes_)
    else:
        if getattr(model, "bits_", None) is not None:
            raise ValueError(
                f"This {type(model).__name__} was fitted to Codes, which skl2onnx has not: fit it "
                "in a Pipeline, or use kernelight.export.to_onnx(map, model)."
            )
        chain = chain_of(model)
        scores = chain.scores(g, rows)
    if chain.classes is None:
        return _end(g, operator, container, [_as(g, scores, dtype)])
    label, kind = labels(g, scores, chain.classes)
    if np.dtype(kind).name not in ("object", "int64"):
        label = g.cast(label, np.int64)
    raw = container.get_options(model, {"raw_scores": False}, fail=False).get("raw_scores")
    if chain.calibration is not None and not raw:
        second = probabilities(g, scores, len(chain.classes), chain.calibration, dtype)
        return _end(g, operator, container, [label, second])
    if len(chain.classes) == 2:
        second = g.add("Concat", g.add("Neg", scores), scores, axis=1)
    else:
        second = scores
    return _end(g, operator, container, [label, _as(g, second, dtype)])


def _as(g: Graph, values: str, dtype: np.dtype[Any]) -> str:
    return values if dtype == DOUBLE else g.cast(values, dtype)


def _bits_of_one_hot(g: Graph, rows: Rows) -> Bits:
    """The bits whose one-hot features rows are."""
    zero = g.constant(np.zeros((), rows.dtype))
    pairs = g.add("Reshape", rows.name, g.ints(0, rows.width // 2, 2))
    ones = g.add("Gather", pairs, g.constant(np.int64(1)), axis=2)
    peak = g.add("ReduceMax", rows.name, g.ints(1), keepdims=1)
    filled = g.add("Greater", peak, zero)
    return Bits(g.add("Greater", ones, zero), rows.width // 2, filled)


def _begun(scope: Any, operator: Any, container: Any) -> tuple[Graph, Rows]:
    """An empty graph with names of this scope, and the rows that go in."""
    if container.target_opset_onnx < OPSET:
        raise ValueError(
            f"kernelight needs the operators of opset {OPSET}, got target_opset="
            f"{container.target_opset_onnx}: pass target_opset={OPSET} or more."
        )
    g, dtype = Graph(scope.get_unique_variable_name), _dtype_of(operator)
    step = operator.raw_operator
    # also where the type is right: skl2onnx renames inputs, but not in the graphs of loops
    names = [g.cast(each.full_name, dtype) for each in operator.inputs]
    name = names[0] if len(names) == 1 else g.add("Concat", *names, axis=1)
    width = int(step.n_features_in_)
    if isinstance(step, TernaryClassifier) and step.provenance_ is not None:
        width *= 2
    return g, Rows(name, width, dtype)


def _end(g: Graph, operator: Any, container: Any, values: list[str]) -> None:
    """Hand the graph over, with the outputs of the operator."""
    for value, output in zip(values, operator.outputs, strict=True):
        g.rename(value, output.full_name)
    container.initializers.extend(g.tensors())
    container.nodes.extend(g.nodes())
    container.node_domain_version_pair_sets.add(("", OPSET))
