"""Predictions and codes of Arrow batches: equal to those of tables, whatever the batches are."""

from __future__ import annotations

import warnings
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from kernelight import (
    GCWS,
    CompactClassifier,
    KernelClassifier,
    KernelRegressor,
    TableMap,
    TableModel,
)
from kernelight.data import DataError

N = 300


def table(seed=0, n=N):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 4))
    numbers[rng.random((n, 4)) < 0.05] = np.nan
    colour = rng.choice(["red", "green", "blue", "ünï"], n)
    days = np.datetime64("2024-01-01") + rng.integers(0, 900, n).astype("timedelta64[D]")
    score = np.nan_to_num(numbers[:, 0] + numbers[:, 1] * numbers[:, 2]) + (colour == "red")
    return pa.table(
        {
            **{f"x{at}": pa.array(numbers[:, at], from_pandas=True) for at in range(4)},
            "colour": pa.array([None if at % 17 == 0 else c for at, c in enumerate(colour)]),
            "yes": pa.array(rng.random(n) < 0.5),
            "day": pa.array(days),
            "name": pa.array([f"row {at}" for at in range(n)]),
            "kind": pa.array(np.where(score > 1, "high", np.where(score < -1, "low", "mid"))),
            "amount": pa.array(score),
        }
    )


def fitted(target="kind", **parameters):
    made = KernelRegressor if target == "amount" else KernelClassifier
    model = TableModel(made(kernel="gmm", n_components=64, C=1.0, **parameters))
    ignore = ["name", "amount" if target == "kind" else "kind"]
    return model.fit(table(), target=target, ignore=ignore)


@pytest.fixture(scope="module")
def classifier():
    return fitted()


def batches(rows, size):
    return [rows.slice(start, size) for start in range(0, rows.num_rows, size)]


@pytest.mark.parametrize("size", [1, 7, N])
def test_predictions_do_not_depend_on_batches(classifier, size):
    rows = table(1)
    whole = classifier.predict_arrow(rows, scores=True, probabilities=True)
    parts = [
        classifier.predict_arrow(part, scores=True, probabilities=True)
        for part in batches(rows, size)
    ]
    assert pa.Table.from_batches(parts).combine_chunks() == pa.table(whole)
    known = rows.select([column.name for column in classifier.encoding_.columns])
    assert whole["prediction"].to_pylist() == classifier.predict(known).tolist()
    proba = np.array(whole["probabilities"].to_pylist())
    assert (proba == classifier.predict_proba(known)).all()
    assert np.array(whole["scores"].to_pylist()).shape == (N, 3)


def test_quantities_have_intervals(classifier):
    model = fitted("amount")
    rows = table(1)
    said = model.predict_arrow(rows, interval=0.8)
    known = rows.select([column.name for column in model.encoding_.columns])
    low, high = model.predict_interval(known, 0.8)
    assert said.schema.names == ["prediction", "low", "high"]
    assert (said["low"].to_numpy() == low).all()
    assert (said["high"].to_numpy() == high).all()
    for wrong in ({"scores": True}, {"probabilities": True}):
        with pytest.raises(ValueError, match="quantities"):
            model.predict_arrow(rows, **wrong)
    with pytest.raises(ValueError, match="Intervals are for quantities"):
        classifier.predict_arrow(rows, interval=0.8)


def test_a_compact_classifier_has_scores():
    rng = np.random.default_rng(0)
    rows = pa.table({f"x{at}": rng.integers(-9, 9, 200) for at in range(5)})
    rows = rows.append_column("y", pa.array(np.asarray(rows["x0"]) > 0))
    model = TableModel(CompactClassifier(max_bytes=1500)).fit(rows, target="y")
    said = model.predict_arrow(rows, scores=True)
    assert said.num_rows == 200
    with pytest.raises(ValueError, match="no probabilities"):
        model.predict_arrow(rows, probabilities=True)


def test_a_batch_without_rows_gives_the_same_columns(classifier):
    rows = table(1)
    none = classifier.predict_arrow(rows.slice(0, 0), scores=True, probabilities=True)
    assert none.num_rows == 0
    some = classifier.predict_arrow(rows.slice(0, 3), scores=True, probabilities=True)
    assert none.schema == some.schema
    codes = TableMap.of(classifier).encode_arrow(rows.slice(0, 0))
    assert codes.shape == (0, 64)


@pytest.mark.parametrize("size", [1, 7, N])
def test_codes_do_not_depend_on_batches(classifier, size):
    rows = table(2)
    made = TableMap.of(classifier)
    known = rows.select([column.name for column in classifier.encoding_.columns])
    whole = made.encode(known)
    parts = [made.encode_arrow(part).array for part in batches(rows, size)]
    assert (np.concatenate(parts) == whole.array).all()
    assert made.encode_arrow(rows.to_batches()[0]) == whole


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.float64()),
        pa.list_(pa.float32(), 4),
        pa.list_view(pa.float64()),
        pa.list_(pa.decimal128(8, 2)),
    ],
)
def test_a_column_of_lists_has_the_numbers_of_a_row(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 8, size=(60, 4)) / 4
    decimal = pa.types.is_decimal(kind.value_type)
    values = [[Decimal(str(each)) for each in row] for row in X] if decimal else X.tolist()
    lists = pa.array(values, type=kind)
    named = pa.table({f"x{at}": X[:, at] for at in range(4)})
    bare = TableMap.of(GCWS(32).fit(X))
    expected = bare.map_.encode(X)
    more = pa.table({"id": np.arange(60), "x": lists})
    assert bare.encode_arrow(pa.table({"x": lists})) == expected
    assert bare.encode_arrow(more, features="x") == expected
    assert bare.encode_arrow(named) == expected
    learned = TableMap(n_components=32).fit(named)
    assert learned.encode_arrow(more, features="x") == learned.encode(named)
    assert learned.encode_arrow(more.slice(7, 9), features="x").array.tolist() == (
        learned.encode(named).array[7:16].tolist()
    )


def test_runs_and_dictionaries_of_numbers_are_numbers(classifier):
    rows = table(3)
    expected = classifier.predict_arrow(rows, scores=True)
    runs = pa.compute.run_end_encode(rows["x1"].combine_chunks())
    words = pa.compute.run_end_encode(rows["colour"].combine_chunks())
    other = (
        rows.set_column(0, "x0", rows["x0"].dictionary_encode())
        .set_column(1, "x1", runs)
        .set_column(4, "colour", words)
    )
    assert classifier.predict_arrow(other, scores=True) == expected
    chunked = pa.concat_tables([other.slice(0, 100), other.slice(100)])
    assert classifier.predict_arrow(chunked, scores=True) == expected


def test_a_column_of_nulls_is_missing_whatever_its_type(classifier):
    rows = table(3, 5)
    for at, name in ((1, "x1"), (4, "colour"), (6, "day")):
        typed = rows.set_column(at, name, pa.nulls(5, rows.schema.field(name).type))
        bare = rows.set_column(at, name, pa.nulls(5))
        assert classifier.predict_arrow(bare) == classifier.predict_arrow(typed)


def test_no_note_comes_with_every_batch(classifier):
    rows = table(3).set_column(4, "colour", pa.array(["mauve"] * N))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier.predict_arrow(rows)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.drop_columns(["x1"]), "the batch has no column 'x1'; there are 'x0', 'x2'"),
        (
            lambda t: t.rename_columns([name.replace("our", "or") for name in t.column_names]),
            "the batch has no column 'colour'; did you mean 'color'",
        ),
        (lambda t: t.append_column("x1", t["x1"]), "the batch has several columns 'x1'"),
        (
            lambda t: t.set_column(1, "x1", pa.array(["1"] * N)),
            "the batch, column 'x1': words where the model has numbers",
        ),
        (
            lambda t: t.set_column(6, "day", pa.array(["2024-01-01"] * N)),
            "the batch, column 'day': words where the model has dates",
        ),
        (
            lambda t: t.set_column(1, "x1", pa.array([[1.0]] * N)),
            "the batch, column 'x1': list<.*> where the model has numbers",
        ),
        (
            lambda t: t.set_column(1, "x1", pa.array([np.inf] * N)),
            "the batch, row 1, column 'x1': infinity is no value",
        ),
    ],
)
def test_other_columns_are_refused(classifier, change, sentence):
    with pytest.raises(DataError, match=sentence):
        classifier.predict_arrow(change(table(1)))


def test_other_lists_are_refused():
    made = TableMap.of(GCWS(8).fit(np.eye(3)))
    for column, sentence in (
        (pa.array([[1.0, 2.0, 3.0], None]), "row 2 is null"),
        (pa.array([[1.0, 2.0, 3.0], [1.0]]), "the list of row 2 has 1 number, and 3 were expected"),
        (pa.array([["a", "b", "c"]]), "has lists of string"),
        (pa.array([1.0]), "is double, and a list of 3 numbers was expected"),
    ):
        with pytest.raises(DataError, match=sentence):
            made.encode_arrow(pa.table({"x": column}), features="x")
    with pytest.raises(DataError, match="no column 'z'"):
        made.encode_arrow(pa.table({"x": [[1.0, 2.0, 3.0]]}), features="z")
    with pytest.raises(DataError, match="has 2 columns, and 3 were expected"):
        made.encode_arrow(pa.table({"a": [1.0], "b": [1.0]}))
    with pytest.raises(TypeError, match="RecordBatch or a Table of pyarrow, got a list"):
        made.encode_arrow([[1, 2, 3]])
