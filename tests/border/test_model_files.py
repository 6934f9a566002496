"""Stored models are equal when loaded, and refused with a ValueError if anything is wrong.

Generic over every registered model: a new one needs a line in MAKERS.
"""

from __future__ import annotations

import copy
import json
import pickle
import struct
import tracemalloc
from functools import partial

import numpy as np
import pytest
from helpers import rounds
from sklearn.datasets import load_iris

import kernelight
from kernelight import (
    GCWS,
    BinaryFourier,
    CompactClassifier,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    State,
    TernaryClassifier,
)
from kernelight.base import registry

IRIS = load_iris(return_X_y=True)
X, Y = IRIS
CODES = GCWS(16, bits=4).fit(X).encode(X)
BITS = BinaryFourier(70, sigma=1.5).fit(X).encode(X)
NAMES = np.array(["setosa", "versicolor", "virginica"])

#: model -> makers of (fitted model, rows it predicts)
MAKERS = {
    "KernelClassifier": [
        lambda: (KernelClassifier("gmm", 32, C=1.0, scale="quantile").fit(X, NAMES[Y]), X),
        lambda: (
            KernelClassifier("rbf", gamma=1.0, C=1.0, scale=None, method="exact").fit(X, Y),
            X,
        ),
    ],
    "KernelRegressor": [
        lambda: (KernelRegressor("gmm", 32, C=1.0, scale="minmax").fit(X, X[:, 0]), X),
        lambda: (KernelRegressor("rbf", 32, gamma=1.0, C=1.0, scale="standard").fit(X, X[:, 0]), X),
    ],
    "CompactClassifier": [
        lambda: (CompactClassifier(1100).fit(X, NAMES[Y]), X),
        lambda: (CompactClassifier(1300, scale="standard").fit(X, Y > 0), X),
    ],
    "LinearClassifier": [
        lambda: (LinearClassifier(class_weight={"setosa": 2.0}).fit(CODES, NAMES[Y]), CODES),
        lambda: (
            LinearClassifier("logistic", class_weight="balanced", random_state=None).fit(X, Y > 0),
            X,
        ),
    ],
    "LinearRegressor": [
        lambda: (LinearRegressor().fit(CODES, Y), CODES),
        lambda: (LinearRegressor("epsilon_insensitive", epsilon=0.1, tol=1e-2).fit(X, X[:, :2]), X),
    ],
    "TernaryClassifier": [
        lambda: (TernaryClassifier(class_weight={0: 2.0}).fit(BITS, Y), BITS),
        lambda: (TernaryClassifier(sparsity=0.8).fit(BITS, NAMES[Y]).prune(), BITS),
        lambda: (TernaryClassifier(loss="logistic").fit(X, NAMES[Y]), X),
    ],
}
CASES = [(name, at) for name, makers in MAKERS.items() for at in range(len(makers))]
LINEAR = [case for case in CASES if case[0].startswith("Linear")]
MADE: dict = {}


def made(case):
    if case not in MADE:
        MADE[case] = MAKERS[case[0]][case[1]]()
    return MADE[case]


def state_of(case):
    return made(case)[0].to_state()


def refused(case, state):
    with pytest.raises(ValueError, match=r"does not describe a|holds a"):
        type(made(case)[0]).from_state(state)


def test_every_model_is_here():
    assert set(MAKERS) == set(registry.names("model"))


# -- What comes back


@pytest.mark.parametrize("case", CASES, ids=str)
def test_files_and_pickles_are_equal(case, tmp_path):
    model, rows = made(case)
    path = tmp_path / "model.kl"
    model.save(path)
    for other in (type(model).load(path), kernelight.load(path), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(rows), model.predict(rows))
        if hasattr(model, "decision_function"):
            np.testing.assert_array_equal(
                other.decision_function(rows), model.decision_function(rows)
            )
            np.testing.assert_array_equal(other.classes_, model.classes_)
            assert other.classes_.dtype == model.classes_.dtype
        mine, its = model.get_params(), other.get_params()
        if mine["random_state"] is None and its["random_state"] is not None:
            mine["random_state"] = model.seed_
        assert its == mine
        assert other.to_state() == model.to_state()


@pytest.mark.parametrize("case", LINEAR, ids=str)
def test_half_precision(case, tmp_path):
    model, rows = made(case)
    whole, half = tmp_path / "whole.kl", tmp_path / "half.kl"
    model.save(whole)
    model.save(half, weights="float16")
    other = kernelight.load(half)
    assert other.weights_.dtype == np.float32
    np.testing.assert_allclose(other.weights_, model.weights_, rtol=2.0**-10, atol=1e-7)
    scores = "decision_function" if hasattr(model, "decision_function") else "predict"
    np.testing.assert_allclose(
        getattr(other, scores)(rows), getattr(model, scores)(rows), atol=0.05
    )
    if rows is CODES and case[0] == "LinearClassifier":
        assert half.stat().st_size < whole.stat().st_size - model.weights_.size
    with pytest.raises(ValueError, match="weights must be one of"):
        model.save(half, weights="float32")
    for power in (20, -40, 100):  # whatever their size: weights are stored with a power of 2
        moved = copy.copy(model)
        moved.weights_ = np.ldexp(model.weights_, power)
        moved.save(half, weights="float16")
        np.testing.assert_array_equal(
            kernelight.load(half).weights_, np.ldexp(other.weights_, power)
        )


def test_feature_names_are_stored(tmp_path):
    frame, y = load_iris(return_X_y=True, as_frame=True)
    LinearClassifier().fit(frame, y).save(tmp_path / "m.kl")
    other = kernelight.load(tmp_path / "m.kl")
    assert other.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names"):
        other.predict(frame[frame.columns[::-1]])


@pytest.mark.parametrize(
    "params", [{"C": "x"}, {"loss": "x"}, {"class_weight": {0: -1}}, {"n_jobs": 0}]
)
def test_parameters_set_to_nonsense_cannot_be_stored(params, tmp_path):
    model = LinearClassifier().fit(X, Y).set_params(**params)
    with pytest.raises(ValueError, match="cannot be stored as it is"):
        model.save(tmp_path / "m.kl")


# -- States of anything


# models that were written before there were probabilities and intervals, and before files held what
# replaces missing numbers
OPTIONAL = {"calibration", "held.errors", "medians_"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_states_without_a_part_are_refused(case):
    state = state_of(case)
    for name in set(state.arrays) - OPTIONAL:
        refused(
            case,
            State(state.meta, {key: value for key, value in state.arrays.items() if key != name}),
        )
    for name in set(state.meta) - {"kind"} - OPTIONAL:
        refused(
            case,
            State({key: value for key, value in state.meta.items() if key != name}, state.arrays),
        )
    for name in state.meta["decided"]:
        meta = state.meta
        del meta["decided"][name]
        refused(case, State(meta, state.arrays))


def test_states_from_before_probabilities_and_intervals_load():
    X = np.random.default_rng(0).random((40, 3))
    classifier = KernelClassifier(n_components=16, C=1.0, scale="minmax").fit(X, X[:, 0] > 0.5)
    regressor = KernelRegressor(n_components=16, C=1.0, scale="minmax").fit(X, X[:, 0])
    for model, asked in ((classifier, "predict_proba"), (regressor, "predict_interval")):
        state = model.to_state()
        meta = {key: value for key, value in state.meta.items() if key not in OPTIONAL}
        arrays = {key: value for key, value in state.arrays.items() if key not in OPTIONAL}
        before = type(model).from_state(State(meta, arrays))
        np.testing.assert_array_equal(before.predict(X), model.predict(X))
        with pytest.raises((ValueError, AttributeError), match=r"has no attribute|fit"):
            getattr(before, asked)(X)


def other_arrays(array):
    """Arrays that cannot stand for this one: other dtypes and shapes, and numbers that are none."""
    yield array.astype(bool)
    yield np.zeros(array.shape, dtype=np.float16 if array.dtype != np.float16 else np.int32)
    yield array[..., None]
    yield array[:0]
    yield np.concatenate([array, array])
    yield np.zeros((), dtype=array.dtype)
    yield np.zeros((0, 1 << 40), dtype=array.dtype)
    if array.dtype.kind == "f":
        for value in (np.nan, np.inf):
            changed = np.array(array)
            changed.flat[0] = value
            yield changed


@pytest.mark.parametrize("case", CASES, ids=str)
def test_other_arrays_are_refused(case):
    state = state_of(case)
    for name, array in state.arrays.items():
        part = name.rsplit(".", 1)[-1]  # of a model in a model
        for changed in other_arrays(array):
            if part == "weights_" and changed.dtype == np.float16 and changed.shape == array.shape:
                continue  # half precision
            if (
                part in ("objective_", "dual_gap_")
                and changed.dtype == array.dtype
                and changed.shape == array.shape
            ):
                continue  # may be infinite
            refused(case, State(state.meta, {**state.arrays, name: changed}))
    if made(case)[1] is X and case in LINEAR:  # codes that were seen, where there are no codes
        refused(case, State(state.meta, {**state.arrays, "seen_": np.zeros(1, np.uint8)}))


JUNK = [None, True, -1, 0, 1 << 40, 1 << 62, (1 << 64) - 1, 0.5, "x", [], [1], [[1]], {}, {"x": 1}]
LABELS = [
    None,
    [],
    {"dtype": "int64"},
    {"values": [1, 2]},
    *(
        {"dtype": "int64", "values": values}
        for values in (
            [],
            [1],
            [2, 1, 0],
            [1, 1, 2],
            [1, "a", 2],
            [[1], [2], [3]],
            [[[]]],
            [0, 1, 1 << 63],
            [0.0, 1.0, 2.0],
            [True, 2, 3],
        )
    ),
    *(
        {"dtype": dtype, "values": [1, 2, 3]}
        for dtype in (
            "str",
            "complex128",
            "datetime64",
            "V8",
            "float64",
            "int7",
            "int99999999999",
            None,
            3,
            ["int64"],
        )
    ),
    {"dtype": "int8", "values": [1, 2, 999]},
    {"dtype": "uint8", "values": [-1, 2, 3]},
    {"dtype": "str", "values": ["b", "a", "c"]},
    {"dtype": "object", "values": [{}, {}, {}]},
    {"dtype": "bool", "values": [True, False, True]},
]


def loads_or_is_refused(load):
    """What ``load`` gives, or None if it refuses with a ValueError.

    A state that was changed may be another model.
    """
    try:
        return load()
    except ValueError:
        return None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_labels_of_anything_are_refused(case):
    meta = state_of(case).meta
    arrays = state_of(case).arrays
    if "labels" in meta:
        for labels in LABELS:
            refused(case, State({**meta, "labels": labels}, arrays))
    if "labels_" in meta["decided"]:
        for labels in LABELS:
            refused(
                case, State({**meta, "decided": {**meta["decided"], "labels_": labels}}, arrays)
            )


@pytest.mark.parametrize(
    "weights",
    [
        "x",
        3,
        0.5,
        True,
        [[1]],
        [[1, 2, 3]],
        [[1, "x"]],
        [[1, -1.0]],
        [[1, None]],
        [[[1], 2.0]],
        [[{}, 1.0]],
        [1],
        {"a": "x"},
    ],
    ids=str,
)
def test_class_weights_of_anything(weights):
    for case in CASES:
        state = state_of(case)
        meta = state.meta
        if "class_weight" in meta["params"]:
            meta["params"]["class_weight"] = weights
            refused(case, State(meta, state.arrays))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_meta_of_anything(case):
    """Every entry of the meta replaced by anything: a ValueError, or a model that can be stored."""
    state = state_of(case)
    count = 0
    for section in (None, "params", "decided"):
        entries = state.meta if section is None else state.meta[section]
        for name in entries:
            if name == "kind":
                continue
            for junk in JUNK:
                meta = state.meta
                (meta if section is None else meta[section])[name] = junk
                model = loads_or_is_refused(
                    partial(type(made(case)[0]).from_state, State(meta, state.arrays))
                )
                count += model is None
                if model is not None:
                    model.to_state()
    assert count > 100
    for junk in JUNK:
        if junk != state.meta["n_features_in"]:
            refused(case, State({**state.meta, "n_features_in": junk}, state.arrays))
    refused(
        case, State({**state.meta, "params": {**state.meta["params"], "nonsense": 1}}, state.arrays)
    )


# -- Files of anything


def parts_of(whole):
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["kernelight"]), whole[8 + length :]


def joined(header, introduction, payload):
    text = json.dumps(introduction, sort_keys=True, separators=(",", ":"))
    header = {**header, "__metadata__": {"kernelight": text}}
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + payload


def numbers_in(value, path=()):
    """Where whole numbers are in plain data."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers_in(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from numbers_in(item, (*path, at))
    elif isinstance(value, int):
        yield path


def put(value, path, number):
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = number


def damaged(rng, whole):
    """One of many ways to damage a file."""
    way = rng.integers(6)
    if way == 0:  # some bits
        changed = bytearray(whole)
        for at in rng.integers(0, len(whole), rng.integers(1, 9)):
            changed[at] ^= 1 << rng.integers(8)
        return bytes(changed)
    if way == 1:
        return whole[: rng.integers(len(whole))]
    if way == 2:
        at = rng.integers(len(whole))
        return whole[:at] + rng.bytes(rng.integers(1, 64)) + whole[at:]
    if way == 3:  # the length of the header
        return struct.pack("<Q", int(rng.integers(0, 1 << 62)) >> int(rng.integers(62))) + whole[8:]
    header, introduction, payload = parts_of(whole)
    number = int(rng.choice([0, -1, 1, 2, 255, 1 << 31, 1 << 40, (1 << 63) - 1]))
    where = header if way == 4 else introduction
    places = list(numbers_in({key: value for key, value in where.items() if key != "__metadata__"}))
    put(where, places[rng.integers(len(places))], number)
    return joined(header, introduction, payload)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_damaged_files_are_refused(case, tmp_path):
    model, _ = made(case)
    path = tmp_path / "model.kl"
    model.save(path)
    whole, wanted = path.read_bytes(), model.to_state()
    rng = np.random.default_rng(CASES.index(case))
    tracemalloc.start()
    try:
        refusals = 0
        for _ in range(150):
            path.write_bytes(damaged(rng, whole))
            other = loads_or_is_refused(partial(kernelight.load, path))
            refusals += other is None
            assert other is None or other.to_state() == wanted
        assert refusals > 120
        assert tracemalloc.get_traced_memory()[1] < 20 * len(whole) + (16 << 20)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(
    "trials", [30, pytest.param(100, marks=[pytest.mark.nightly, pytest.mark.rounds])]
)
def test_well_signed_files_of_anything(case, trials, tmp_path):
    """Numbers of the meta changed, with a digest that fits.

    A ValueError or a model, and never much memory.
    """
    state = state_of(case)
    rng = np.random.default_rng(7)
    places = list(numbers_in(state.meta))
    tracemalloc.start()
    try:
        for _ in range(rounds(trials)):
            meta = state.meta
            number = int(
                rng.choice([0, -1, 1, 2, 3, 7, 16, 255, 1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1])
            )
            put(meta, places[rng.integers(len(places))], number)
            State(meta, state.arrays).save(tmp_path / "m.kl")
            loads_or_is_refused(partial(kernelight.load, tmp_path / "m.kl"))
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
