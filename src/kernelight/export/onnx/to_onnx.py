"""`to_onnx`: a fitted model or map as an ONNX model."""

from __future__ import annotations

import importlib
import json
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import check_choice, check_int
from kernelight.export.column_names import refuse_other_names
from kernelight.export.onnx.chain import Chain, chain_of
from kernelight.export.onnx.encoded import Dense, as_codes, as_features
from kernelight.export.onnx.graph import OPSET, Graph, Rows, type_number
from kernelight.export.onnx.heads import labels, probabilities

_NEWEST = 25
#: Metadata: the names of the columns as JSON, and whether a frame has them by "name" or in "order".
_NAMES, _FOUND_BY = "kernelight.columns", "kernelight.columns_by"
_MOST_BYTES = 2_000_000_000  # a protobuf message ends at 2^31


def to_onnx(
    model_or_map: Any,
    model: Any = None,
    *,
    name: str = "kernelight",
    rows: str = "float32",
    opset: int = OPSET,
) -> Any:
    """A fitted model or map as an ONNX model, which onnxruntime runs without kernelight.

    Parameters
    ----------
    model_or_map : KernelClassifier, KernelRegressor, TableModel, Pipeline, map or linear model
        A Pipeline is of (`ColumnScaler`,) map and model of kernelight; for other steps see
        `kernelight.export.skl2onnx`.
    model : LinearClassifier, LinearRegressor or TernaryClassifier, optional
        The model of the features or codes, where the first argument is a map.
    name : str, default="kernelight"
        The name of the graph.
    rows : {"float32", "float64"}, default="float32"
        The type of rows. The graph computes what Python computes for an array of that type.
    opset : int, default=18
        The version of the operators, at least 18.

    Returns
    -------
    onnx.ModelProto
        With one input, ``X`` of shape (N, d). Outputs of a classifier: ``label`` (N,), as `predict`
        gives; ``scores``, as `decision_function` gives; and ``probabilities`` (N, classes), where
        the model has `predict_proba`. Of a regression: ``variable`` (N, targets). Of a map alone:
        ``variable``, its dense features, or ``codes`` (N, slots) as int32, -1 in empty rows. Scores
        and features have the type of rows.

    Notes
    -----
    Scores and labels follow Python up to the rounding of sums: codes are equal. docs/onnx.md says
    what is promised, and what is refused.

    See Also
    --------
    run_onnx : Checks a graph.
    kernelight.export.skl2onnx.register : For pipelines of scikit-learn.
    to_c : C for microcontrollers.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import KernelClassifier
    >>> from kernelight.export import to_onnx
    >>> X = np.random.default_rng(0).random((300, 4), dtype=np.float32)
    >>> y = np.where(X[:, 0] > X[:, 1], "first", "second")
    >>> fitted = KernelClassifier("gaussian", method="fourier", n_components=64).fit(X, y)
    >>> exported = to_onnx(fitted)
    >>> [output.name for output in exported.graph.output]
    ['label', 'scores', 'probabilities']
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(exported.SerializeToString())
    >>> bool((session.run(["label"], {"X": X})[0] == fitted.predict(X)).all())
    True
    """
    require("onnx")
    check_choice("rows", rows, ("float32", "float64"))
    check_int("opset", opset, OPSET, _NEWEST)
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be a word, got {name!r}.")
    chain = chain_of(model_or_map, model)
    g = Graph()
    given = Rows("X", chain.n_features, np.dtype(rows))
    outputs = _outputs(g, given, chain)
    size = sum(array.nbytes for array in g.constants.values() if array.dtype != object)
    if size > _MOST_BYTES:
        raise ValueError(
            f"The tables of this model take {size / 1e9:.1f} GB, more than the 2 GB of an ONNX "
            "file: use fewer components, or projection='sorf'."
        )
    made = _model_of(g, given, outputs, name, opset)
    if chain.names is not None:
        from onnx import helper

        found = "name" if chain.by_name else "order"
        helper.set_model_props(made, {_NAMES: json.dumps(chain.names), _FOUND_BY: found})
    return made


Output = tuple[str, Any, tuple[Any, ...]]


def _outputs(g: Graph, given: Rows, chain: Chain) -> list[Output]:
    """The outputs of the graph: name, type and shape, in their order."""
    made: dict[str, Output] = {}
    if chain.model is None:
        encoded = chain.encoded(g, given)
        if isinstance(encoded, Dense):
            features = as_features(g, encoded)
            made["variable"] = (features.name, features.dtype, ("N", features.width))
        else:
            made["codes"] = (as_codes(g, encoded), np.int32, ("N", encoded.n_slots))
    elif chain.classes is None:
        scores = chain.scores(g, given)
        made["variable"] = (scores, np.float64, ("N", chain.n_targets))
    else:
        made = _classified(g, given, chain)
    outputs = []
    for name, (value, dtype, shape) in made.items():
        if np.dtype(dtype) == np.float64 and name != "label" and given.dtype != dtype:
            value, dtype = g.cast(value, given.dtype), given.dtype
        g.rename(value, name)
        outputs.append((name, dtype, shape))
    return outputs


def _classified(g: Graph, given: Rows, chain: Chain) -> dict[str, Output]:
    """Labels, scores and probabilities."""
    assert chain.classes is not None
    count = len(chain.classes)
    scores = chain.scores(g, given)
    label, dtype = labels(g, scores, chain.classes)
    flat = scores if count > 2 else g.add("Squeeze", scores, g.ints(1))
    made = {
        "label": (label, dtype, ("N",)),
        "scores": (flat, np.float64, ("N", count) if count > 2 else ("N",)),
    }
    if chain.calibration is not None:
        of_classes = probabilities(g, scores, count, chain.calibration, given.dtype)
        made["probabilities"] = (of_classes, given.dtype, ("N", count))
    return made


def _model_of(g: Graph, given: Rows, outputs: list[Output], name: str, opset: int) -> Any:
    from onnx import helper

    inputs = [
        helper.make_tensor_value_info(given.name, type_number(given.dtype), ["N", given.width])
    ]
    infos = [
        helper.make_tensor_value_info(own, type_number(dtype), list(shape))
        for own, dtype, shape in outputs
    ]
    graph = helper.make_graph(g.nodes(), name, inputs, infos, g.tensors())
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(
        graph,
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets),
        producer_name="kernelight",
        producer_version=version("kernelight"),
    )


def run_onnx(exported: Any, X: Any) -> dict[str, NDArray[Any]]:
    """The outputs of an ONNX model for rows, by onnxruntime on one thread of this machine.

    It is for checks: programs make one session and keep it. Of a data frame the model takes the
    columns as its `predict` does, with the names that `to_onnx` has put into the metadata: those of
    a TableModel by name, and others only in the order of training.

    Parameters
    ----------
    exported : ModelProto
        What `to_onnx` made.
    X : array_like or data frame
        The rows.

    Returns
    -------
    dict
        The array of each output, by name.

    See Also
    --------
    to_onnx : Makes the graph.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import SignProjection
    >>> from kernelight.export import run_onnx, to_onnx
    >>> X = np.array([[1.0, 2.0], [3.0, -4.0]])
    >>> signs = SignProjection(64).fit(X)
    >>> codes = run_onnx(to_onnx(signs), X)["codes"]
    >>> bool((codes == signs.encode(X).array).all())
    True
    """
    require("onnxruntime")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        exported.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    (given,) = session.get_inputs()
    dtype = {"tensor(float)": np.float32, "tensor(double)": np.float64}[given.type]
    names = [output.name for output in session.get_outputs()]
    rows = np.ascontiguousarray(_columns_of(exported, X), dtype=dtype)
    made = session.run(None, {given.name: rows})
    return dict(zip(names, made, strict=True))


def _columns_of(exported: Any, X: Any) -> Any:
    """The columns of a frame that the model was fitted to; an array as it is."""
    known = {each.key: each.value for each in exported.metadata_props}
    names, own = json.loads(known.get(_NAMES, "null")), getattr(X, "columns", None)
    if names is None or own is None:
        return X
    if known.get(_FOUND_BY) != "name":
        refuse_other_names(X, names, "X")
        return X
    missing = [name for name in names if name not in set(own)]
    if missing:
        few = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise ValueError(f"X lacks columns of the model: {few}.")
    return X[names]


def require(*packages: str) -> None:
    """Import packages of the extra "onnx", or say how to install them."""
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError as error:
            raise ImportError(
                f"The package {package} is needed for ONNX: pip install 'kernelight[onnx]'."
            ) from error
