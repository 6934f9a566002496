"""Models in onnxruntime predict the same labels as in Python, by nearly the same scores."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from running import CLOSE, N_ROWS, assert_predicts, checked, onnx, outputs, run_onnx, to_onnx
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelight
from kernelight import (
    GCWS,
    BinaryFourier,
    ColumnScaler,
    ColumnWeighter,
    CompactClassifier,
    Ferns,
    IntegerFourier,
    KernelClassifier,
    KernelNystroem,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    RandomFourier,
    SignProjection,
    TableModel,
    TernaryClassifier,
)

TYPES = ("float32", "float64")


def table(classes=4, seed=0):
    """2,000 rows of columns of several sizes, classes by a rule that no linear model finds."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_ROWS, 8)) * [1, 10, 0.1, 1, 1, 5, 1, 1] + [0, 50, 0, 0, 3, 0, 0, 0]
    angle = np.arctan2(X[:, 0], X[:, 1] / 10 - 5) + 0.3 * X[:, 3]
    return X, (np.floor((angle + 10) * classes / np.pi).astype(int)) % classes


X, Y = table()
TRAIN = slice(0, 500)
KINDS = {
    "strings": np.array(["ah", "bé", "c d", "δ"])[Y],
    "objects": np.array(["ah", "bé", "c d", "δ"], dtype=object)[Y],
    "integers": Y * 7 - 3,
    "booleans": Y > 1,
    "two strings": np.where(Y > 1, "yes", "no"),
}


@pytest.mark.parametrize("rows", TYPES)
@pytest.mark.parametrize("kind", ["strings", "booleans"])
def test_models_for_a_budget_of_bytes(kind, rows):
    y = KINDS[kind]
    assert_predicts(CompactClassifier(1600).fit(X[TRAIN], y[TRAIN]), X, rows=rows)


def test_ternary_models_of_features():
    steps = ColumnScaler("standard"), IntegerFourier(100, sigma=2.0), TernaryClassifier()
    assert_predicts(make_pipeline(*steps).fit(X[TRAIN], Y[TRAIN]), X)
    fourier = RandomFourier(101, metric="euclidean", sigma=20.0).fit(X)
    model = TernaryClassifier(sparsity=0.9).fit(fourier.transform(X[TRAIN]), Y[TRAIN])
    made = outputs(to_onnx(fourier, model), X.astype(np.float32))
    assert (made["label"] == model.predict(fourier.transform(X.astype(np.float32)))).all()
    with pytest.raises(ValueError, match="fitted to dense features"):
        to_onnx(BinaryFourier(101).fit(X), model)


@pytest.mark.parametrize("rows", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_labels(kind, rows):
    y = KINDS[kind]
    model = KernelClassifier("gaussian", method="fourier", n_components=64, C=1.0, scale="standard")
    made = assert_predicts(model.fit(X[TRAIN], y[TRAIN]), X, rows=rows)
    assert made["label"].dtype.kind == {"i": "i", "b": "b"}.get(y.dtype.kind, "O")


def pipelines():
    scaler = ColumnScaler("quantile+complement")
    yield "fourier", [RandomFourier(200), LinearClassifier(C=10)]
    yield "logistic", [ColumnScaler("minmax"), RandomFourier(200), LinearClassifier("logistic")]
    yield "ternary", [ColumnScaler("standard"), BinaryFourier(300), TernaryClassifier()]
    yield "sparse", [scaler, BinaryFourier(300), TernaryClassifier(sparsity=0.6)]
    yield "signs", [ColumnScaler("standard"), SignProjection(300), TernaryClassifier()]
    yield "linear bits", [ColumnScaler("standard"), SignProjection(300), LinearClassifier()]
    yield "gcws", [scaler, GCWS(100, sampler="cws"), LinearClassifier()]
    yield "few codes", [ColumnScaler("max"), GCWS(60, sampler="cws", bits=12), LinearClassifier()]
    yield "nystroem", [ColumnWeighter(), KernelNystroem(n_components=50), LinearClassifier()]
    yield "no map", [scaler, LinearClassifier()]
    yield "passthrough", [scaler, "passthrough", LinearClassifier()]


@pytest.mark.parametrize("steps", [pytest.param(steps, id=name) for name, steps in pipelines()])
@pytest.mark.parametrize("kind", ["strings", "booleans"])
def test_pipelines(steps, kind):
    y = KINDS[kind]
    pipeline = make_pipeline(*steps).fit(X[TRAIN], y[TRAIN])
    rows = X.copy()
    rows[3] = 0  # an empty row, where nothing is scaled
    assert_predicts(pipeline, rows)


class OfCodes:
    """A map and the model of its codes, with the methods of a classifier."""

    def __init__(self, feature_map, model):
        self.feature_map, self.model = feature_map, model

    def predict(self, rows):
        return self.model.predict(self.encoded(rows))

    def encoded(self, rows):
        has_codes = hasattr(self.feature_map, "encode")
        return self.feature_map.encode(rows) if has_codes else self.feature_map.transform(rows)


@pytest.mark.parametrize("kind", ["strings", "booleans"])
@pytest.mark.parametrize(
    ("feature_map", "model"),
    [
        (GCWS(80, sampler="cws"), LinearClassifier()),
        (GCWS(80, sampler="cws", gamma=1.0), LinearClassifier("logistic")),
        (SignProjection(200), LinearClassifier()),
        (SignProjection(200), TernaryClassifier()),
        (BinaryFourier(200, projection="gaussian"), TernaryClassifier()),
        (RandomFourier(200, features="phase"), LinearClassifier()),
        (KernelNystroem(n_components=40), LinearClassifier()),
    ],
    ids=str,
)
def test_map_and_model(feature_map, model, kind):
    """Rows of zeros are empty: their scores are the intercepts."""
    y, rows = KINDS[kind], X.astype(np.float32)
    rows[[3, 1500]] = 0
    both = OfCodes(feature_map.fit(X[TRAIN]), model)
    model.fit(both.encoded(X[TRAIN]), y[TRAIN])
    made = outputs(to_onnx(feature_map, model), rows)
    np.testing.assert_array_equal(made["label"], both.predict(rows))
    scores = model.decision_function(both.encoded(rows))
    np.testing.assert_allclose(made["scores"], scores, atol=CLOSE * max(1, np.abs(scores).max()))
    if getattr(model, "loss", "") == "logistic":
        expected = model.predict_proba(both.encoded(rows))
        np.testing.assert_allclose(made["probabilities"], expected, atol=CLOSE)
    else:
        assert "probabilities" not in made


def test_pruned_ternary_models():
    rows = X.astype(np.float32)
    bits = BinaryFourier(300).fit(X[TRAIN])
    model = TernaryClassifier(sparsity=0.9).fit(bits.encode(X[TRAIN]), Y[TRAIN]).prune()
    assert len(model.slots_) < 300
    expected = model.predict(bits.encode(rows))
    for feature_map in (bits, bits.keep(model.slots_)):
        made = outputs(to_onnx(feature_map, model), rows)["label"]
        np.testing.assert_array_equal(made, expected)


ESTIMATORS = {
    "ridge": {},
    "exact SVM": {"method": "exact"},
    "exact gaussian": {"kernel": "gaussian"},
    "exact gmm, p": {"p": 0.5},
    "codes": {"n_components": 64},
    "codes of exp_gmm": {"kernel": "exp_gmm", "n_components": 64, "gamma": 2.0},
    "gaussian": {"kernel": "gaussian", "n_components": 64},
    "binary": {"kernel": "gaussian", "method": "binary", "n_components": 256},
    "signs": {"kernel": "acos", "n_components": 256},
    "rbf": {"kernel": "rbf", "n_components": 64, "loss": "logistic"},
    "nystroem": {"method": "nystroem", "n_components": 64},
    "weights": {"n_components": 64, "weights": "learn"},
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("kind", ["strings", "booleans"])
def test_kernel_classifier(name, kind, tmp_path):
    """Also saved and loaded, and where numbers are missing."""
    y = KINDS[kind]
    fitted = KernelClassifier(**ESTIMATORS[name]).fit(X[TRAIN], y[TRAIN])
    rows = X.copy()
    rows[1::50, 2] = np.nan
    assert_predicts(fitted, rows)
    assert_predicts(fitted, rows, rows="float64", close=2e-6)
    fitted.save(tmp_path / "model.kl")
    loaded = kernelight.load(tmp_path / "model.kl")
    assert to_onnx(loaded).SerializeToString() == to_onnx(fitted).SerializeToString()


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("name", ["ridge", "codes", "gaussian", "nystroem"])
def test_kernel_regressor(name, targets):
    y = np.column_stack([1000 + X[:, 1] * X[:, 0], np.sin(X[:, 3])])[:, :targets]
    y = y[:, 0] if targets == 1 else y
    fitted = KernelRegressor(**ESTIMATORS[name]).fit(X[TRAIN], y[TRAIN])
    for rows in TYPES:
        given = X.astype(rows)
        made = outputs(to_onnx(fitted, rows=rows), given)
        assert list(made) == ["variable"]
        expected = fitted.predict(given).reshape(N_ROWS, targets)
        assert made["variable"].shape == expected.shape
        # in units of the target; its mean is rounded to the type of rows
        unit = np.ravel(fitted.target_scale_) * CLOSE + np.abs(expected) * np.finfo(rows).eps
        assert (np.abs(made["variable"] - expected) <= unit).all()


def test_linear_regressor():
    fourier = RandomFourier(50).fit(X[TRAIN])
    model = LinearRegressor().fit(fourier.transform(X[TRAIN]), X[TRAIN, 3])
    rows = X.astype(np.float32)
    made = outputs(to_onnx(fourier, model), rows)["variable"]
    np.testing.assert_allclose(made[:, 0], model.predict(fourier.transform(rows)), atol=CLOSE)


def test_average_whose_members_all_export():
    fitted = KernelClassifier("auto").fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match=r"member of Ferns.*fit kernel='gmm'"):
        to_onnx(fitted)
    average = fitted.model_
    fitted.model_ = type(average)(average.members[:1])
    assert_predicts(fitted, X, rows="float64")


def test_table_model(tmp_path):
    """Of a table with missing numbers, which are filled in as in Python."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"c{at}" for at in range(8)]).assign(kind=KINDS["strings"])
    model = TableModel(KernelClassifier("gaussian", n_components=64))
    model.fit(frame[:500], target="kind")
    rows = X.copy()
    rows[::40, 1] = np.nan
    made = run_onnx(checked(to_onnx(model, rows="float64")), rows)
    later = frame.drop(columns="kind").assign(c1=rows[:, 1])
    np.testing.assert_array_equal(made["label"], model.predict(later))


FRAMED = {
    "an estimator": lambda: KernelClassifier("gaussian", n_components=16),
    "a pipeline": lambda: make_pipeline(ColumnScaler(), RandomFourier(16), LinearClassifier()),
    "a model for a budget": lambda: CompactClassifier(1600),
}


@pytest.mark.parametrize("what", FRAMED)
def test_frames_of_other_columns_are_refused_as_by_predict(what, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcdefgh"))
    fitted = FRAMED[what]().fit(frame[TRAIN], Y[TRAIN])
    exported = to_onnx(fitted)
    onnx.save(exported, tmp_path / "model.onnx")
    for model in (exported, onnx.load(tmp_path / "model.onnx")):
        same = run_onnx(model, frame)["label"]
        np.testing.assert_array_equal(same, fitted.predict(frame))
        np.testing.assert_array_equal(same, run_onnx(model, frame.to_numpy())["label"])
        for other in (frame[list("bacdefgh")], frame.rename(columns={"a": "z"})):
            with pytest.raises(ValueError, match="feature names should match"):
                fitted.predict(other)
            with pytest.raises(ValueError, match=r"not those of training .* pass X\[\['a', 'b'"):
                run_onnx(model, other)


def test_table_models_find_columns_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = TableModel(KernelClassifier("gaussian", n_components=16))
    model.fit(frame[:500].assign(kind=KINDS["strings"][:500]), target="kind")
    exported, expected = to_onnx(model, rows="float64"), model.predict(frame)
    for other in (frame, frame[list("hgfedcba")], frame.assign(more=1.0)):
        np.testing.assert_array_equal(model.predict(other), expected)
        np.testing.assert_array_equal(run_onnx(exported, other)["label"], expected)
    with pytest.raises(ValueError, match=r"X lacks columns of the model: 'a'\."):
        run_onnx(exported, frame.rename(columns={"a": "z"}))


def test_columns_without_names_have_no_metadata():
    fitted = KernelClassifier("gaussian", n_components=16).fit(X[TRAIN], Y[TRAIN])
    assert not to_onnx(fitted).metadata_props


def test_what_is_stated():
    fitted = KernelClassifier("gaussian", n_components=16).fit(X[TRAIN], Y[TRAIN])
    exported = to_onnx(fitted, name="spiral")
    assert [(each.domain, each.version) for each in exported.opset_import] == [("", 18)]
    assert exported.ir_version == 8
    assert exported.graph.name == "spiral"
    assert exported.producer_name == "kernelight"
    assert [each.name for each in exported.graph.input] == ["X"]
    newer = to_onnx(fitted, opset=21)
    assert newer.opset_import[0].version == 21
    rows = X.astype(np.float32)
    np.testing.assert_array_equal(
        run_onnx(checked(newer), rows)["label"], run_onnx(exported, rows)["label"]
    )


def test_small_files():
    """Labels and tables, not the training rows: a model of 256 bits and 4 classes."""
    bits = BinaryFourier(256, threshold=False).fit(X[TRAIN])
    model = TernaryClassifier().fit(bits.encode(X[TRAIN]), Y[TRAIN])
    assert to_onnx(bits, model).ByteSize() < 25_000


# -- What is refused -----------------------------------------------------------------------------


def fitted_to(model, y=Y):
    return model.fit(X[TRAIN], y[TRAIN])


def other_bits():
    bits = BinaryFourier(64).fit(X)
    model = TernaryClassifier().fit(BinaryFourier(64, random_state=1).fit(X).encode(X), Y)
    return bits, model


REFUSED = {
    "darts": (lambda: (fitted_to(GCWS(16, sampler="dart")),), "GCWS\\(sampler='cws'\\)"),
    "ferns": (lambda: (fitted_to(Ferns(16)),), "Ferns cannot be exported.*RandomFourier"),
    "average": (lambda: (fitted_to(KernelClassifier("auto")),), "fit kernel='gmm'"),
    "other steps": (
        lambda: (fitted_to(make_pipeline(StandardScaler(), LogisticRegression())),),
        "kernelight.export.skl2onnx",
    ),
    "an array": (lambda: (X,), "takes scalers, a map and a model"),
    "two models": (
        lambda: (fitted_to(KernelClassifier("gaussian", n_components=8)), LinearClassifier()),
        "a KernelClassifier is exported alone",
    ),
    "codes of another map": (other_bits, "codes of another map"),
    "codes without a map": (lambda: other_bits()[1:], "give the map"),
    "other features": (
        lambda: (RandomFourier(8).fit(X), LinearClassifier().fit(X[:, :3], Y)),
        "3 features, but its rows have 8",
    ),
    "a ternary model of features": (
        lambda: (RandomFourier(64).fit(X), other_bits()[1]),
        "codes of another map",
    ),
    "precomputed": (
        lambda: (KernelNystroem("precomputed", 4).fit(X[:9] @ X[:9].T),),
        "GMM, MinMax, ExpGMM",
    ),
    "another kernel": (
        lambda: (KernelNystroem("acos", 4).fit(X[:9]),),
        "Acos.*cannot be exported.*use one of GMM",
    ),
    "many samples in a slot": (
        lambda: (GCWS(16, gamma=200.0, sampler="cws").fit(X),),
        "use a smaller gamma",
    ),
    "bits chosen by labels": (
        lambda: (kernelight.AlignedFourier(16, binary=True).fit(X, Y),),
        "use binary=False",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_what_works_instead(what):
    make, says = REFUSED[what]
    with pytest.raises((ValueError, TypeError), match=says) as error:
        to_onnx(*make())
    assert str(error.value).endswith(".")


def test_models_of_words_and_dates_are_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": X[TRAIN, 0], "word": np.array(["a", "b"])[Y[TRAIN] % 2]})
    with pytest.raises(ValueError, match="columns of numbers"):
        to_onnx(KernelClassifier(n_components=16).fit(frame, Y[TRAIN]))
    model = TableModel(KernelClassifier(n_components=16)).fit(
        frame.assign(kind=Y[TRAIN].astype(str)), target="kind"
    )
    with pytest.raises(ValueError, match="The column 'word' is made of words"):
        to_onnx(model)


def test_exact_models_beyond_a_size_are_refused(monkeypatch):
    fitted = KernelClassifier().fit(X[TRAIN], Y[TRAIN])
    monkeypatch.setattr("kernelight.export.onnx.kernels.MOST_NUMBERS", 100)
    with pytest.raises(ValueError, match=r"keeps .* rows.*n_components=1024"):
        to_onnx(fitted)


def test_graphs_beyond_two_gigabytes_are_refused(monkeypatch):
    monkeypatch.setattr("kernelight.export.onnx.to_onnx._MOST_BYTES", 100)
    with pytest.raises(ValueError, match="2 GB"):
        to_onnx(RandomFourier(64).fit(X))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rows": "int16"}, "rows"),
        ({"opset": 17}, "opset"),
        ({"opset": 99}, "opset"),
        ({"name": ""}, "name must be a word"),
    ],
)
def test_options_are_checked(options, says):
    with pytest.raises(ValueError, match=says):
        to_onnx(RandomFourier(8).fit(X), **options)


@pytest.mark.parametrize("model", [KernelClassifier(), RandomFourier(), TableModel()], ids=str)
def test_unfitted(model):
    with pytest.raises(NotFittedError):
        to_onnx(model)


def test_sentence_where_the_packages_are_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'kernelight\[onnx\]'"):
        to_onnx(RandomFourier(8).fit(X))


def test_import_loads_nothing_of_onnx():
    import subprocess

    code = "import sys, kernelight.export; assert not {'onnx', 'skl2onnx'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
