"""Pipelines of scikit-learn with steps of kernelight, converted by skl2onnx."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from running import CLOSE, checked, run_onnx, skl2onnx, to_onnx
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import kernelight.export
from kernelight import (
    GCWS,
    AlignedFourier,
    BinaryFourier,
    ColumnScaler,
    IntegerFourier,
    KernelClassifier,
    KernelNystroem,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    RandomFourier,
    SignProjection,
    TernaryClassifier,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2000, 6)) * [1, 5, 1, 0.2, 1, 1] + [0, 2, 0, 0, -3, 0]
Y = np.array(["low", "mid", "up"])[np.digitize(X[:, 0] * X[:, 4] + X[:, 1], [-2, 5])]
TRAIN = slice(0, 500)


@pytest.fixture(autouse=True)
def registered():
    kernelight.export.skl2onnx.register()


def converted(pipeline, rows, **options):
    options = {"zipmap": False, **options} if hasattr(pipeline, "classes_") else None
    exported = skl2onnx.to_onnx(pipeline, X[:1].astype(rows), target_opset=18, options=options)
    return run_onnx(checked(exported), X)


def expected_second(pipeline, rows):
    if hasattr(pipeline, "predict_proba"):
        return pipeline.predict_proba(rows)
    scores = pipeline.decision_function(rows)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def pipelines():
    scaler, logistic = StandardScaler(), LogisticRegression(max_iter=300)
    yield "fourier", [scaler, RandomFourier(100, metric="euclidean"), logistic]
    yield "aligned", [scaler, AlignedFourier(60), logistic]
    yield "nystroem", [scaler, KernelNystroem(n_components=30), logistic]
    yield "gcws", [MinMaxScaler(), GCWS(40, bits=4, sampler="cws"), logistic]
    yield "own model", [scaler, ColumnScaler(), GCWS(40, sampler="cws"), LinearClassifier()]
    yield "ternary", [scaler, BinaryFourier(128), TernaryClassifier()]
    fourier = RandomFourier(64, metric="euclidean"), IntegerFourier(64)
    yield "ternary of features", [scaler, fourier[0], TernaryClassifier()]
    yield "ternary of whole numbers", [ColumnScaler("minmax"), fourier[1], TernaryClassifier()]
    yield "signs", [scaler, SignProjection(128), TernaryClassifier()]
    yield "exact", [scaler, KernelClassifier()]
    yield "by a map", [scaler, KernelClassifier("gaussian", n_components=32, loss="logistic")]
    yield "logistic", [scaler, RandomFourier(64), LinearClassifier("logistic")]


@pytest.mark.parametrize("rows", ["float32", "float64"])
@pytest.mark.parametrize("steps", [pytest.param(steps, id=name) for name, steps in pipelines()])
@pytest.mark.parametrize("y", [Y, X[:, 0] > 0, (X[:, 0] > 0) * 4 - 1], ids=["words", "bool", "int"])
def test_classifiers(steps, y, rows):
    pipeline = make_pipeline(*steps).fit(X[TRAIN], y[TRAIN])
    made = converted(pipeline, rows)
    given = X.astype(rows)
    np.testing.assert_array_equal(made["label"], pipeline.predict(given))
    expected = expected_second(pipeline, given)
    close = 2 * CLOSE * max(1, np.abs(expected).max())
    np.testing.assert_allclose(made["probabilities"], expected, atol=close)
    assert made["probabilities"].dtype == rows


def test_raw_scores():
    model = KernelClassifier("gaussian", n_components=32).fit(X[TRAIN], Y[TRAIN])
    made = converted(model, "float64", raw_scores=True)
    np.testing.assert_allclose(made["probabilities"], model.decision_function(X), atol=CLOSE)


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler(), KernelRegressor("gaussian", n_components=32)],
        [RandomFourier(32), LinearRegressor()],
        [KernelNystroem(n_components=16), Ridge()],
    ],
    ids=str,
)
def test_regressions(steps, targets):
    y = np.column_stack([X[:, 0], np.sin(X[:, 1])])[:, :targets]
    pipeline = make_pipeline(*steps).fit(X[TRAIN], y[TRAIN, 0] if targets == 1 else y[TRAIN])
    for rows in ("float32", "float64"):
        expected = pipeline.predict(X.astype(rows)).reshape(len(X), targets)
        made = converted(pipeline, rows)["variable"]
        np.testing.assert_allclose(made, expected, atol=5 * CLOSE)


def test_columns_of_a_column_transformer():
    columns = make_column_transformer(
        (RandomFourier(20, metric="euclidean"), [0, 2]), (StandardScaler(), [1, 3])
    )
    pipeline = make_pipeline(columns, LogisticRegression()).fit(X[TRAIN], Y[TRAIN])
    made = converted(pipeline, "float32")
    np.testing.assert_array_equal(made["label"], pipeline.predict(X.astype(np.float32)))


def test_whole_numbers():
    rows = np.round(5 * X).astype(np.int64)
    pipeline = make_pipeline(BinaryFourier(64), TernaryClassifier()).fit(rows, Y)
    from skl2onnx.common.data_types import Int64TensorType

    exported = skl2onnx.to_onnx(
        pipeline,
        initial_types=[("X", Int64TensorType([None, 6]))],
        target_opset=18,
        options={"zipmap": False},
    )
    import onnxruntime

    session = onnxruntime.InferenceSession(checked(exported).SerializeToString())
    np.testing.assert_array_equal(session.run(None, {"X": rows})[0], pipeline.predict(rows))


def test_one_hot_features_are_those_of_transform():
    gcws = GCWS(12, bits=3, sampler="cws").fit(X)
    rows = X.astype(np.float32)
    rows[7] = 0
    exported = skl2onnx.to_onnx(gcws, rows[:1], target_opset=18)
    made = run_onnx(checked(exported), rows)["variable"]
    np.testing.assert_array_equal(made, gcws.transform(rows).toarray())


def test_refusals():
    fourier = RandomFourier(16).fit(X)
    with pytest.raises(ValueError, match="target_opset=18 or more"):
        skl2onnx.to_onnx(fourier, X[:1], target_opset=17)
    gcws = GCWS(16, sampler="cws").fit(X)
    model = LinearClassifier().fit(gcws.encode(X), Y)
    with pytest.raises(ValueError, match=r"to_onnx\(map, model\)"):
        skl2onnx.to_onnx(model, np.zeros((1, 4096), np.float32), target_opset=18)
    assert to_onnx(gcws, model).graph.output[0].name == "label"
    with pytest.raises(ValueError, match="sampler='cws'"):
        skl2onnx.to_onnx(GCWS(16, sampler="dart").fit(X), X[:1], target_opset=18)
    wide = GCWS(1024, bits=12, sampler="cws").fit(X)
    with pytest.raises(ValueError, match="fewer components"):
        skl2onnx.to_onnx(wide, X[:1], target_opset=18)


def test_sentence_where_skl2onnx_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"skl2onnx .* pip install 'kernelight\[onnx\]'"):
        kernelight.export.skl2onnx.register()
