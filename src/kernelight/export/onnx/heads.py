"""Scores of what a map makes of rows, and what follows from them: labels and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.estimators.calibration import Calibration
from kernelight.export.onnx.encoded import Bits, Dense, Encoded, Slots
from kernelight.export.onnx.graph import DOUBLE, FLOAT, Graph, Made
from kernelight.linear.base import LinearModel
from kernelight.linear.ternary import TernaryClassifier

_RARE = 0.5  # of all codes, below which only those that occur are numbered


def scores_of(g: Graph, encoded: Encoded, model: Any) -> str:
    """(rows, outputs) scores in double precision."""
    if isinstance(model, TernaryClassifier):
        return _ternary(g, encoded, model)
    weights, bias = np.atleast_2d(model.coef_).T.astype(np.float64), model.intercept_
    _refuse_other_width(encoded, len(weights), model)
    if isinstance(encoded, Dense):
        return _of_features(g, encoded, weights, bias)
    weights = weights * float(np.float32(1.0 / np.sqrt(encoded.n_slots)))
    if isinstance(encoded, Bits):
        return _of_bits(g, encoded, weights, bias)
    return _of_slots(g, encoded, weights, bias)


def _refuse_other_width(encoded: Encoded, width: int, model: Any) -> None:
    if isinstance(encoded, Dense):
        own = encoded.width
    else:
        own = encoded.n_slots << (1 if isinstance(encoded, Bits) else encoded.bits)
    if own != width:
        raise ValueError(
            f"The {type(model).__name__} was fitted to {width:,} features, but its rows have "
            f"{own:,}: export it with the map that made them."
        )


def _biased(g: Graph, sums: str, filled: str | None, bias: Any, offset: Any = 0.0) -> str:
    """Sums (double) plus offset and bias; the bias alone for empty rows."""
    bias = np.asarray(bias, dtype=np.float64)
    values = g.add("Add", sums, g.constant(bias + offset))
    return values if filled is None else g.add("Where", filled, values, g.constant(bias[None]))


def _of_features(g: Graph, encoded: Dense, weights: NDArray[Any], bias: Any) -> str:
    sums = ""
    for part in encoded.parts:
        own = g.constant(weights[part.columns] * part.factors[:, None])
        values = part.name if encoded.dtype == DOUBLE else g.cast(part.name, DOUBLE)
        # a matrix product that adds what came before
        sums = g.add("Gemm", values, own, *([sums] if sums else []))
    return _biased(g, sums, encoded.filled, bias)


def _of_bits(g: Graph, encoded: Bits, weights: NDArray[Any], bias: Any) -> str:
    difference = (weights[1::2] - weights[::2]).astype(np.float32)
    sums = g.add("MatMul", g.cast(encoded.name, FLOAT), g.constant(difference))
    return _biased(g, g.cast(sums, DOUBLE), encoded.filled, bias, weights[::2].sum(axis=0))


def _of_slots(g: Graph, encoded: Slots, weights: NDArray[Any], bias: Any) -> str:
    """A look-up of weights for each slot, and their sum, row by row.

    The first row of the table is 0, for empty rows and for codes without a weight.
    """
    width = weights.shape[1]
    table = weights.astype(np.float32)
    occur = np.asarray(table.any(axis=1))
    if occur.mean() >= _RARE:
        occur = np.ones_like(occur)
    numbers = np.where(occur, np.cumsum(occur), 0).astype(np.int32)
    table = np.concatenate([np.zeros((1, width), np.float32), table[occur]])

    def of_row(inner: Graph, row: str) -> list[Made]:
        places = encoded.of_row(inner, row, numbers.reshape(encoded.n_slots, -1), 0)
        own = inner.add("Gather", inner.constant(table), places, axis=0)
        sums = inner.add("ReduceSum", own, inner.ints(0), keepdims=0)
        return [(sums, np.float32, (width,))]

    sums = g.cast(g.for_each_row(encoded.rows, of_row)[0], DOUBLE)
    return _biased(g, sums, None, bias)


def _ternary(g: Graph, encoded: Encoded, model: TernaryClassifier) -> str:
    """alpha (w . z) + b with z = 2 bits - 1: whole numbers, which single precision sums exactly.

    Of dense features z they are sums of double precision.
    """
    if isinstance(encoded, Dense) != (model.provenance_ is None) or isinstance(encoded, Slots):
        raise ValueError(
            "This TernaryClassifier was fitted to "
            f"{'dense features' if model.provenance_ is None else 'codes of 1 bit'}: export it "
            "with the map that made them."
        )
    if isinstance(encoded, Dense):
        weights = np.zeros((model.n_features_in_, len(model.scale_)))
        weights[model.slots_] = (model.coef_ * model.scale_.astype(np.float64)[:, None]).T
        _refuse_other_width(encoded, len(weights), model)
        return _of_features(g, encoded, weights, model.intercept_.astype(np.float64))
    assert isinstance(encoded, Bits)
    coefficients = model.coef_
    if encoded.n_slots == model.n_features_in_ != coefficients.shape[1]:  # a pruned model
        whole = np.zeros((len(coefficients), encoded.n_slots), dtype=np.int8)
        whole[:, model.slots_] = coefficients
        coefficients = whole
    _refuse_other_width(encoded, 2 * coefficients.shape[1], model)
    twice = g.cast(g.constant(np.ascontiguousarray(2 * coefficients.T)), FLOAT)
    sums = g.add("MatMul", g.cast(encoded.name, FLOAT), twice)
    sums = g.add("Sub", sums, g.constant(coefficients.sum(axis=1, dtype=np.float32)))
    scaled = g.add("Mul", g.cast(sums, DOUBLE), g.constant(model.scale_.astype(np.float64)))
    return _biased(g, scaled, encoded.filled, model.intercept_.astype(np.float64))


# -- What follows from scores --------------------------------------------------------------------


def labels(g: Graph, scores: str, classes: NDArray[Any]) -> tuple[str, Any]:
    """The label of each row, and the type of labels."""
    table = label_table(classes)
    if len(classes) == 2:
        above = g.add("Greater", scores, g.constant(np.float64(0)))
        best = g.add("Squeeze", g.cast(above, np.int64), g.ints(1))
    else:
        best = g.add("ArgMax", scores, axis=1, keepdims=0)
    return g.add("Gather", g.constant(table), best), table.dtype


def label_table(classes: NDArray[Any]) -> NDArray[Any]:
    """Labels as ONNX has them: strings, int64, double or booleans."""
    kind = classes.dtype.kind
    if kind in "UO":
        if not all(isinstance(each, str) for each in classes.tolist()):
            raise ValueError("Labels must be numbers or strings to be exported to ONNX.")
        return np.array(classes.tolist(), dtype=object)
    wanted = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}
    if kind not in wanted or (kind == "u" and classes.max() > np.iinfo(np.int64).max):
        raise ValueError(f"Labels of type {classes.dtype} cannot be exported to ONNX.")
    return classes.astype(wanted[kind])


def probabilities(
    g: Graph, scores: str, n_classes: int, calibration: Calibration, dtype: Any
) -> str:
    """Probabilities of scores, as `Calibration` makes them, in a type."""
    slopes = calibration.first, calibration.second
    if n_classes > 2 and dtype == FLOAT:
        # -z, of which Softplus makes -log(1 / (1 + exp(-z)))
        first, second = (g.constant(FLOAT.type(-each)) for each in slopes)
        z = g.add("Add", g.add("Mul", g.cast(scores, FLOAT), first), second)
        return g.add("Softmax", g.add("Neg", g.add("Softplus", z)), axis=1)
    first, second = (g.constant(np.float64(each)) for each in slopes)
    if n_classes > 2:
        logs = _log_logistic(g, g.add("Add", g.add("Mul", scores, first), second))
        return g.add("Softmax", logs, axis=1)
    above = g.add("Greater", scores, g.constant(np.float64(0)))
    z = g.add("Mul", scores, g.add("Where", above, second, first))
    logs = g.add("Concat", g.add("Neg", z), z, axis=1)
    made = g.add("Exp", _log_logistic(g, logs))
    return g.cast(made, FLOAT) if dtype == FLOAT else made


def _log_logistic(g: Graph, z: str) -> str:
    """log(1 / (1 + exp(-z))) = min(z, 0) - log(1 + exp(-|z|))."""
    rest = g.add("Exp", g.add("Neg", g.add("Abs", z)))
    rest = g.add("Log", g.add("Add", rest, g.constant(np.float64(1))))
    return g.add("Sub", g.add("Min", z, g.constant(np.float64(0))), rest)


def own_calibration(model: Any) -> Calibration | None:
    """That of a linear model with logistic loss: scores are log odds."""
    if not isinstance(model, LinearModel) or getattr(model, "loss", "") != "logistic":
        return None
    return Calibration(1.0, 1.0 if len(model.classes_) == 2 else 0.0)
