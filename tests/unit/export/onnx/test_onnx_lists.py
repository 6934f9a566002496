"""Lists of likely samples in graphs of `GCWS`: codes are those of Python."""

from __future__ import annotations

import numpy as np
import pytest
from running import assert_predicts, checked, codes_of, outputs, run_onnx, to_onnx
from sklearn.pipeline import make_pipeline

from kernelight import GCWS, ColumnScaler, LinearClassifier, _core
from kernelight.export.onnx import cws_lists, minmax
from kernelight.export.onnx.cws_lists import DartLists, last_below, logarithms

TYPES = ("float32", "float64")
WIDTH = 40
SCHEMES = [
    {},
    {"p": 0.5},
    {"t_bits": 0},
    {"t_bits": 2},
    {"t_bits": 0, "coding": "lowest"},
    {"gamma": 2.0},
    {"bits": 16},
    {"bits": 1},
]


def columns(count=600, seed=0):
    """Rows of which some are empty, nearly empty, or far beyond those of training."""
    rng = np.random.default_rng(seed)
    X = rng.random((count, WIDTH)) * rng.choice([0.0, 1.0], (count, WIDTH), p=[0.2, 0.8])
    X[0], X[1] = 0, 1  # what "minmax" makes 0 and 1
    X[100:120] = 0
    X[110:120, 3] = 1e-4
    X[120:140, 7] = 30.0
    return X


def made_lists(monkeypatch):
    """The lists of graphs that are made from now on."""
    made, of = [], DartLists.of

    def kept(*given):
        made.append(of(*given))
        return made[-1]

    monkeypatch.setattr(minmax.DartLists, "of", staticmethod(kept))
    return made


@pytest.mark.parametrize("rows", TYPES)
@pytest.mark.parametrize("scale", ["minmax", "max", "quantile+complement"])
@pytest.mark.parametrize("options", SCHEMES, ids=str)
def test_codes_are_those_of_python(options, scale, rows, monkeypatch):
    """Also of rows that lists decide in part or not at all; "max" leaves both signs."""
    lists = made_lists(monkeypatch)
    X = columns()
    if scale == "max":
        X *= np.random.default_rng(1).choice([-1, 1], X.shape)
    scaler = ColumnScaler(scale).fit(X[:100])
    gcws = GCWS(70, sampler="cws", **options).fit(scaler.transform(X[:100]))
    made = outputs(to_onnx(make_pipeline(scaler, gcws), rows=rows), X.astype(rows))["codes"]
    assert [each is not None for each in lists] == [True]
    np.testing.assert_array_equal(made, codes_of(gcws, scaler.transform(X.astype(rows))))
    # alone, too
    for at in (3, 105, 115, 125):
        alone = run_onnx(to_onnx(make_pipeline(scaler, gcws), rows=rows), X[at : at + 1])
        np.testing.assert_array_equal(alone["codes"][0], made[at])


@pytest.mark.parametrize("rows", TYPES)
@pytest.mark.parametrize("n_components", [16, 256])
@pytest.mark.parametrize("weights", [None, np.linspace(0, 2, WIDTH)], ids=["", "weights"])
def test_models(n_components, weights, rows):
    X = columns()
    y = np.array(["ah", "bé", "c"])[X[:, :3].argmax(axis=1)]
    scaler = ColumnScaler("minmax", weights=weights)
    gcws = GCWS(n_components, sampler="cws", bits=5)
    model = make_pipeline(scaler, gcws, LinearClassifier("logistic")).fit(X[:300], y[:300])
    assert_predicts(model, X, rows=rows)


@pytest.mark.parametrize("power", [1.0, 0.3])
@pytest.mark.parametrize("dtype", TYPES)
def test_lists_are_those_of_all_darts(dtype, power, monkeypatch):
    """The slow way: all t of all coordinates in the order of a, and their thresholds by trial."""
    lists = made_lists(monkeypatch)
    X = columns()
    scaler = ColumnScaler("minmax").fit(X[:100])
    gcws = GCWS(20, sampler="cws", p=power).fit(scaler.transform(X[:100]))
    to_onnx(make_pipeline(scaler, gcws), rows=dtype)
    (made,) = lists
    for slot in (0, 7, 19):
        darts = []
        for place in range(WIDTH):
            cell = _core.cws_cell(gcws.seed_, slot, 2 * place)
            inverse, beta, r, q = map(np.float32, cell)
            t = np.floor(np.float32(0) * inverse + beta)  # of 1, the limit
            darts += [(q - r * (t - n), place, t - n) for n in range(200)]
        darts.sort()
        for (_, place, t), number in zip(darts, reversed(range(cws_lists.DARTS)), strict=False):
            assert made.places[slot, number] == place
            word = _core.cws_code(gcws.seed_, slot, 2 * place, int(t))
            assert made.words[slot, number] == word
            inverse, beta, _, _ = map(np.float32, _core.cws_cell(gcws.seed_, slot, 2 * place))
            last = made.thresholds[slot, number]
            logs = logarithms(np.array([last, np.nextafter(last, np.inf, dtype=last.dtype)]), power)
            reached = np.floor(logs * inverse + beta) >= t
            assert reached.tolist() == [False, True]


@pytest.mark.parametrize("dtype", TYPES)
def test_the_last_value_below_a_logarithm(dtype):
    logs = np.array([-np.inf, -1e5, -50.0, -1e-7, 0.0, 3.25, 80.0, 1e5, np.inf], np.float32)
    found = last_below(logs, 1.0, np.dtype(dtype))
    assert found.dtype == dtype
    assert found[[0, 1, -2, -1]].tolist() == [0, 0, np.inf, np.inf]
    above = np.nextafter(found[2:-2], np.inf, dtype=found.dtype)
    assert (logarithms(found[2:-2], 1.0) <= logs[2:-2]).all()
    assert (logarithms(above, 1.0) > logs[2:-2]).all()


def test_most_rows_are_decided_by_lists(monkeypatch):
    """So that the rest may take longer: of rows like those of training all slots of nearly all."""
    lists = made_lists(monkeypatch)
    X = np.random.default_rng(2).random((400, WIDTH))
    scaler = ColumnScaler("minmax").fit(X)
    scaled = scaler.transform(X)
    checked(to_onnx(make_pipeline(scaler, GCWS(64, sampler="cws").fit(scaled)), rows="float64"))
    (made,) = lists
    decided = (scaled[:, made.places] > made.thresholds).any(axis=2).all(axis=1)
    assert decided.mean() > 0.95


def test_where_scanning_takes_less_there_are_no_lists(monkeypatch):
    lists = made_lists(monkeypatch)
    X = np.random.default_rng(2).random((100, cws_lists.DARTS - 1))
    scaler = ColumnScaler("minmax").fit(X)
    gcws = GCWS(16, sampler="cws").fit(scaler.transform(X))
    made = outputs(to_onnx(make_pipeline(scaler, gcws), rows="float64"), X)["codes"]
    assert lists == [None]
    np.testing.assert_array_equal(made, codes_of(gcws, scaler.transform(X)))
