"""Exported graphs, checked and run in onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

WHY = "onnx, onnxruntime and skl2onnx are not installed: pip install 'kernelight[onnx]'"
onnx = pytest.importorskip("onnx", reason=WHY)
pytest.importorskip("onnxruntime", reason=WHY)
skl2onnx = pytest.importorskip("skl2onnx", reason=WHY)

from kernelight.export import run_onnx, to_onnx  # noqa: E402

N_ROWS = 2000
#: Of the largest score: sums of single precision in another order.
CLOSE = 1e-5


def checked(exported):
    """The model, after the checks of onnx itself; all that it holds is used."""
    onnx.checker.check_model(exported, full_check=True)
    used = _used(exported.graph)
    assert [each.name for each in exported.graph.initializer if each.name not in used] == []
    return exported


def _used(graph):
    """The names of all tensors that are read."""
    names = {each.name for each in graph.output}
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= _used(attribute.g)
    return names


def outputs(exported, X):
    """What onnxruntime makes of rows; of none and of one it makes the same, cut."""
    made = run_onnx(checked(exported), X)
    for count in (0, 1):
        some = run_onnx(exported, X[:count])
        for name, values in some.items():
            assert values.shape == made[name][:count].shape
            if values.dtype.kind == "f":
                np.testing.assert_allclose(values, made[name][:count], rtol=1e-5, atol=1e-5)
            else:
                np.testing.assert_array_equal(values, made[name][:count])
    return made


def codes_of(feature_map, X):
    """The codes of Python as a graph gives them: -1 in empty rows."""
    codes = feature_map.encode(X)
    return np.where(codes.empty[:, None], -1, codes.array.astype(np.int32))


def assert_predicts(fitted, X, *, rows="float32", close=CLOSE):
    """A classifier predicts the same labels in onnxruntime, by nearly the same scores."""
    X = X.astype(rows)
    made = outputs(to_onnx(fitted, rows=rows), X)
    np.testing.assert_array_equal(made["label"], fitted.predict(X))
    scores = fitted.decision_function(X)
    assert made["scores"].shape == scores.shape
    assert made["scores"].dtype == rows
    np.testing.assert_allclose(made["scores"], scores, atol=close * max(1, np.abs(scores).max()))
    assert ("probabilities" in made) == hasattr(fitted, "predict_proba")
    if "probabilities" in made:
        expected = fitted.predict_proba(X)
        np.testing.assert_allclose(made["probabilities"], expected, atol=3 * close)
    return made
