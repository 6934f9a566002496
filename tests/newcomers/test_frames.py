"""Tables that people have in memory: frames of pandas, polars and Arrow, taken as they are.

Long because data sets and estimators must treat the same frames alike, and share them here.
"""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from kernelight import KernelClassifier, KernelRegressor, TableMap, TableModel, open_dataset
from kernelight.data import DataError, DataWarning
from kernelight.state import State
from kernelight.study import compare
from kernelight.study.inputs import rows_of

N = 240
RANDOM = np.random.default_rng(0)


def people() -> pd.DataFrame:
    """Columns of every type, each with missing values."""
    age = RANDOM.integers(18, 80, N).astype(float)
    town = RANDOM.choice(["Bern", "Rome", "Oslo"], N).astype(object)
    grade = RANDOM.integers(1, 5, N)
    frame = pd.DataFrame(
        {
            "age": age,
            "town": town,
            "children": pd.array(RANDOM.integers(0, 4, N), dtype="Int64"),
            "member": pd.array(RANDOM.random(N) < 0.5, dtype="boolean"),
            "grade": pd.Categorical(grade, categories=[1, 2, 3, 4, 5, 6]),
            "note": pd.array(RANDOM.choice(["a", "b"], N), dtype="string"),
            "mixed": [None if i % 7 == 0 else i if i % 2 else "x" for i in range(N)],
            "paid": RANDOM.random(N) < 0.3,
        }
    )
    for at, name in enumerate(["age", "town", "children", "member", "grade", "note"]):
        frame.loc[frame.index[at::17], name] = None
    frame["mixed"] = [
        value if value is None or isinstance(value, str) else value % 3 for value in frame["mixed"]
    ]
    frame["bought"] = np.where((np.nan_to_num(age) > 45) ^ (town == "Rome"), "yes", "no")
    frame.index = RANDOM.permutation(N)  # which says nothing
    return frame


PEOPLE = people()


def plain() -> pd.DataFrame:
    """What every library can hold."""
    return PEOPLE[["age", "town", "children", "member", "note", "paid", "bought"]]


def forms() -> dict[str, object]:
    table = pa.Table.from_pandas(plain(), preserve_index=False)
    return {
        "pandas": plain(),
        "polars": pl.from_arrow(table),
        "arrow": table,
        "batch": table.to_batches()[0],
    }


class Stream:
    """Something that has nothing but the Arrow C-stream protocol."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Interchange:
    """Something that has nothing but the dataframe interchange protocol."""

    def __init__(self, table):
        self.table = table

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self.table.__dataframe__(nan_as_null, allow_copy)


def test_a_frame_of_pandas_becomes_features():
    data = open_dataset(PEOPLE, target="bought")
    X, y = data.materialise()
    names = data.feature_names
    assert names[:5] == ["age", "town=Bern", "town=Oslo", "town=Rome", "town is missing"]
    assert [name for name in names if name.startswith("grade")] == [
        "grade=1",
        "grade=2",
        "grade=3",
        "grade=4",
        "grade is missing",
    ]
    assert [name for name in names if name.startswith("mixed")] == [
        "mixed=0",
        "mixed=1",
        "mixed=2",
        "mixed=x",
        "mixed is missing",
    ]
    ages = PEOPLE["age"].to_numpy()
    np.testing.assert_array_equal(X[:, 0], np.where(np.isnan(ages), np.nanmedian(ages), ages))
    np.testing.assert_array_equal(X[:, names.index("paid")], PEOPLE["paid"])
    assert y.tolist() == PEOPLE["bought"].tolist()
    assert data.task == "classification"


@pytest.mark.parametrize("form", ["polars", "arrow", "batch"])
def test_all_libraries_give_the_same(form):
    X, y = open_dataset(plain(), target="bought").materialise()
    other = open_dataset(forms()[form], target="bought")
    np.testing.assert_array_equal(other.materialise()[0], X)
    np.testing.assert_array_equal(other.materialise()[1], y)
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in other.batches(50)]), X)


@pytest.mark.parametrize("protocol", [Stream, Interchange])
def test_protocols_are_enough(protocol):
    table = pa.table({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"], "y": ["u", "v", "u"]})
    X, y = open_dataset(protocol(table)).materialise()
    assert X.tolist() == [[1, 1, 0], [2, 0, 1], [3, 1, 0]]
    assert y.tolist() == ["u", "v", "u"]


def test_categoricals_of_polars():
    frame = pl.DataFrame(
        {
            "c": pl.Series(["3", "1", None, "3"], dtype=pl.Categorical),
            "e": pl.Series(["p", "q", "q", "p"], dtype=pl.Enum(["p", "q", "never"])),
            "y": [1, 0, 1, 0],
        }
    )
    assert open_dataset(frame, target="y").feature_names == [
        "c=1",
        "c=3",
        "c is missing",
        "e=p",
        "e=q",
    ]


def test_numbers_can_be_asked_to_be_words():
    frame = pd.DataFrame({"month": [1.0, 2.0, None], "y": ["u", "v", "u"]})
    assert open_dataset(frame, categorical=["month"]).feature_names == [
        "month=1",
        "month=2",
        "month is missing",
    ]
    with pytest.raises(DataError, match="no column 'moth' of words; did you mean 'month'"):
        open_dataset(frame, categorical=["moth"])


def test_large_whole_targets_stay_apart():
    frame = pd.DataFrame({"a": [1.0, 2.0] * 4, "y": [2**53, 2**53 + 1] * 4})
    for form in (
        frame,
        frame.astype({"y": object}),
        frame.astype({"y": "Int64"}),
        pl.from_pandas(frame),
    ):
        assert (
            open_dataset(form, target="y", task="classification").materialise()[1].tolist()
            == [2**53, 2**53 + 1] * 4
        )


def test_a_model_of_frames(tmp_path):
    model = TableModel().fit(PEOPLE, target="bought")
    assert model.evaluate(PEOPLE)["accuracy"] > 0.8
    predicted = model.predict(PEOPLE.drop(columns="bought"))
    model.save(tmp_path / "m.klt")
    np.testing.assert_array_equal(TableModel.load(tmp_path / "m.klt").predict(PEOPLE), predicted)


def test_a_model_of_a_frame_reads_other_frames_and_files(tmp_path):
    model = TableModel().fit(plain(), target="bought")
    predicted = model.predict(plain())
    for form in forms().values():
        np.testing.assert_array_equal(model.predict(form), predicted)
    plain().to_parquet(tmp_path / "people.parquet", index=False)
    np.testing.assert_array_equal(model.predict(tmp_path / "people.parquet"), predicted)


def test_a_map_of_frames():
    features = plain().drop(columns="bought")
    made = TableMap(n_components=64).fit(features)
    assert made.encode(features) == made.encode(
        pa.Table.from_pandas(features, preserve_index=False)
    )


# what pandas 3 makes of a list of such numbers; pandas 2 raises OverflowError of the list
HUGE = pd.Series([10**400, 1], dtype=object)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ([1.0, np.inf], "the frame, row 2, column 'a': infinity is no value"),
        (HUGE, "the frame, row 1, column 'a': infinity is no value"),
        ([[1], [2]], "the frame: 1 column needs a decision: column 'a': list is neither"),
    ],
)
def test_values_that_cannot_be(column, sentence):
    with pytest.raises(DataError, match=sentence):
        open_dataset(pd.DataFrame({"a": column, "y": ["u", "v"]}), strict=True).materialise()


def test_words_where_the_model_has_numbers():
    model = TableModel().fit(pd.DataFrame({"a": np.arange(40.0), "y": ["u", "v"] * 20}))
    for form in (pd.DataFrame, pl.DataFrame):
        with pytest.raises(DataError, match=r"column 'a': .* where the model has numbers"):
            model.predict(form({"a": ["x", "z"]}))


def test_other_things_are_no_data():
    with pytest.raises(TypeError, match=r"a path, a name or a frame .*, got Series"):
        open_dataset(pd.Series([1, 2]))


def test_pandas_needs_no_pyarrow():
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import pandas as pd, kernelight\n"
        "frame = pd.DataFrame({'a': [1, 2], 'b': ['x', None], 'y': ['u', 'v']})\n"
        "print(kernelight.open_dataset(frame).materialise()[0].tolist())\n"
        "class Stream:\n"
        "    __arrow_c_stream__ = None\n"
        "try:\n"
        "    kernelight.open_dataset(Stream())\n"
        "except kernelight.data.DataError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "[[1.0, 1.0, 0.0], [2.0, 0.0, 1.0]]",
        "the frame needs pyarrow, which is not there: pip install 'kernelight[io]'.",
    ]


# -- Estimators

X, Y = PEOPLE.drop(columns="bought"), PEOPLE["bought"]


def quick(**more):
    return KernelClassifier(**{"n_components": 64, "C": 1.0, "scale": "minmax", **more})


def test_a_classifier_takes_a_frame_as_it_is(tmp_path):
    model = KernelClassifier(n_components=256).fit(X, Y)
    assert model.score(X, Y) > 0.8
    assert model.n_features_in_ == 8
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert model.encoding_.feature_names[:3] == ["age", "town=Bern", "town=Oslo"]
    assert "8 features (21 after encoding)" in model.summary()
    model.save(tmp_path / "m.klt")
    for other in (KernelClassifier.load(tmp_path / "m.klt"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
    assert not hasattr(clone(model), "encoding_")


def test_the_same_features_as_from_a_file():
    data = open_dataset(PEOPLE, target="bought")
    model = quick().fit(X, Y)
    assert model.encoding_.columns == data.encoding.columns
    np.testing.assert_array_equal(
        quick().fit(*data.materialise()).decision_function(data.materialise()[0]),
        model.decision_function(X),
    )


@pytest.mark.parametrize("form", ["polars", "arrow", "batch"])
def test_estimators_take_all_libraries(form):
    frame = forms()[form]
    frame = frame.drop(["bought"]) if form == "polars" else pa.table(frame).drop_columns(["bought"])
    expected = quick().fit(plain().drop(columns="bought"), Y)
    model = quick().fit(frame, Y.tolist())
    assert model.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    np.testing.assert_array_equal(
        model.decision_function(frame), expected.decision_function(plain().drop(columns="bought"))
    )


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "Int64", "bool"])
def test_plain_numbers_give_the_same_bits_as_an_array(dtype):
    rows = RANDOM.integers(0, 2, (120, 3))
    frame = pd.DataFrame(rows, columns=list("abc")).astype(dtype)
    array = rows.astype("int64" if dtype == "Int64" else dtype)
    labels = rows[:, 0] ^ rows[:, 1]
    model, expected = quick().fit(frame, labels), quick().fit(array, labels)
    assert model.encoding_ is None
    assert expected.encoding_ is None
    for name, array in model.to_state().arrays.items():
        np.testing.assert_array_equal(array, expected.to_state().arrays[name])
        assert array.dtype == expected.to_state().arrays[name].dtype


def test_arrays_with_missing_values():
    rows = RANDOM.random((200, 3))
    labels = rows[:, 0] > 0.5
    rows[::7, 1] = np.nan
    model = quick().fit(rows, labels)
    assert model.encoding_.columns[1].fill == np.nanmedian(rows[:, 1])
    assert model.score(rows.tolist(), labels) > 0.9
    with pytest.raises(ValueError, match="infinity"):
        quick().fit(np.where(np.isnan(rows), np.inf, rows), labels)


def test_values_that_are_missing_only_later():
    rows = RANDOM.random((200, 3))
    model = quick().fit(rows, rows[:, 0] > 0.5)
    gone, filled = rows[:5].copy(), rows[:5].copy()
    gone[:, 1], filled[:, 1] = np.nan, np.median(rows[:, 1])
    assert model.encoding_ is None
    np.testing.assert_array_equal(model.decision_function(gone), model.decision_function(filled))
    frame = pd.DataFrame({"a": rows[:, 0], "b": ["x", "y"] * 100})
    words = quick().fit(frame, rows[:, 0] > 0.5)
    assert words.predict(pd.DataFrame({"a": [None, 0.1], "b": [None, "never seen"]})).shape == (2,)


def test_lists_and_arrays_of_words():
    rows = [[1, "red"], [2, "blue"]] * 30
    expected = ["column_1", "column_2=blue", "column_2=red"]
    for form in (rows, np.array(rows, dtype=object), np.array(rows)):
        model = quick().fit(form, [0, 1] * 30)
        assert model.encoding_.feature_names == expected
        assert model.predict(form).tolist() == [0, 1] * 30


@pytest.mark.parametrize(
    "target",
    [
        pd.Series([0, 1] * 60).astype("Int64"),
        pd.Series([True, False] * 60).astype("boolean"),
        pd.Series(["a", "b"] * 60).astype("category"),
        pd.Series(["a", "b"] * 60, dtype="string"),
        pd.Categorical([3, 5] * 60),
        pl.Series(["a", "b"] * 60),
        pl.Series(["a", "b"] * 60, dtype=pl.Categorical),
        pa.chunked_array([[0, 1] * 60]),
    ],
    ids=lambda target: f"{type(target).__module__}-{getattr(target, 'dtype', '')}",
)
def test_targets_of_all_kinds(target):
    rows = np.tile([[0.0, 1.0], [1.0, 0.0]], (60, 1))
    model = quick().fit(rows, target)
    assert model.predict(rows).tolist() == list(
        target.to_pylist() if hasattr(target, "to_pylist") else target
    )
    assert model.score(rows, target) == 1.0


def test_a_missing_target_is_said():
    rows = np.tile([[0.0, 1.0], [1.0, 0.0]], (60, 1))
    for target in (
        pd.Series(["a", None] * 60),
        pd.array([0, None] * 60, dtype="Int64"),
        pl.Series(["a", None] * 60),
    ):
        with pytest.raises(
            ValueError, match="Input y contains NaN or another missing value at row 1"
        ):
            quick().fit(rows, target)


def test_names_are_compared_as_scikit_learn_does():
    model = quick().fit(X, Y)
    with pytest.raises(ValueError, match="same order"):
        model.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        model.predict(X.drop(columns="age"))
    twice = pd.concat([X[["age", "town"]], X[["town"]]], axis=1)
    with pytest.raises(ValueError, match="X has two columns called 'town': rename"):
        quick().fit(twice, Y)
    assert quick().fit(X.set_axis(range(8), axis=1), Y).n_features_in_ == 8


def test_values_that_are_no_features():
    with pytest.raises(
        TypeError, match="column 'a' holds list: each argument must be a string or a number"
    ):
        quick().fit(pd.DataFrame({"a": [[1], [2]] * 20}), [0, 1] * 20)
    with pytest.raises(
        ValueError, match="column 'column_1': 'x' is not a number, where the model has numbers"
    ):
        quick().fit(np.eye(40), [0, 1] * 20).predict(np.full((1, 40), "x", dtype=object))


def test_regression_batches_and_scikit_learn(tmp_path):
    amount = np.nan_to_num(PEOPLE["age"].to_numpy()) + 20.0 * (PEOPLE["town"] == "Rome").to_numpy()
    model = KernelRegressor(n_components=256).fit(X, amount)
    assert model.score(X, amount) > 0.8
    assert model.partial_fit(X.iloc[:50], amount[:50]).n_rows_ == N + 50
    search = GridSearchCV(quick(), {"C": [0.1, 1.0]}, cv=3).fit(X, Y)
    assert search.predict(X).shape == (N,)
    assert cross_val_score(make_pipeline("passthrough", quick()), X, Y, cv=3).shape == (3,)


def test_a_map_of_a_model_of_a_frame_knows_its_columns(tmp_path):
    model = quick().fit(plain().drop(columns="bought"), Y)
    assert TableMap.of(model).encode(plain().drop(columns="bought")).array.shape == (N, 64)


def test_compare_takes_frames():
    options = {"kernels": ["gmm"], "components": [64], "budget": "20s", "progress": False}
    study = compare(pl.from_pandas(plain()).head(100), target="bought", **options)
    assert study.data["class_names"] == ["no", "yes"]
    assert rows_of(X)[0].shape == (N, 21)
    assert not np.isnan(rows_of(np.where(RANDOM.random((N, 2)) < 0.1, np.nan, 1.0))[0]).any()
    with pytest.raises(ValueError, match="compare needs the target"):
        compare(X)


def damage(**changes):
    def change(meta):
        meta["encoding"] = meta["encoding"] | changes
        return meta

    return change


@pytest.mark.parametrize(
    "change",
    [
        damage(width=3),
        damage(columns=None),
        damage(columns=[{"name": "other", "fill": 0.0}] * 21),
        damage(dtype="int8"),
        damage(version=99),
        lambda meta: meta | {"encoding": 3},
    ],
)
def test_hostile_states_are_refused(change):
    state = quick().fit(X, Y).to_state()
    with pytest.raises(ValueError, match="does not describe a KernelClassifier"):
        KernelClassifier.from_state(State(change(dict(state.meta)), dict(state.arrays)))


def test_states_from_before_load():
    rows = RANDOM.random((100, 3))
    state = quick().fit(rows, rows[:, 0] > 0.5).to_state()
    assert "encoding" not in state.meta
    old = KernelClassifier.from_state(
        State(
            dict(state.meta),
            {name: array for name, array in state.arrays.items() if name != "medians_"},
        )
    )
    assert old.predict(rows).shape == (100,)
    with pytest.raises(ValueError, match="NaN"):
        old.predict(np.full((1, 3), np.nan))
    with pytest.raises(ValueError, match="medians_"):
        KernelClassifier.from_state(
            State(dict(state.meta), {**state.arrays, "medians_": np.zeros(7)})
        )


def test_dates_of_frames():
    days = pd.to_datetime(["2024-01-01 00:00", None, "2025-06-30 12:00"] * 40)
    forms = (
        pd.DataFrame({"day": days}),
        pd.DataFrame({"day": days.tz_localize("UTC")}),
        pd.DataFrame(
            {"day": [None if day is pd.NaT else day.to_pydatetime() for day in days]}, dtype=object
        ),
        pl.DataFrame({"day": pl.Series(days.to_numpy())}),
    )
    features = [open_dataset(frame, target=None).materialise()[0] for frame in forms]
    for other in features[1:]:
        np.testing.assert_array_equal(other, features[0])
    with pytest.warns(UserWarning, match="day"):
        model = quick().fit(forms[0], np.arange(120) % 3 == 0)
    assert model.predict(forms[0]).tolist() == (np.arange(120) % 3 == 0).tolist()


def test_warnings_point_to_the_line_of_the_caller():
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60), "x": np.arange(60.0)})
    y = np.arange(60) % 2
    model = KernelClassifier(n_components=8, scale="minmax", C=1.0)
    calls = [
        lambda: model.fit(frame, y),
        lambda: make_pipeline(clone(model)).fit(frame, y),
        lambda: TableModel(model).fit(frame.assign(y=y), target="y"),
        lambda: TableMap(n_components=8).fit(frame),
        lambda: open_dataset(frame, target=None).materialise(),
        lambda: list(open_dataset(frame, target=None).batches(7)),
    ]
    for call in calls:
        with pytest.warns(DataWarning, match="'day': dates") as told:
            call()
        places = [(w.filename, w.lineno) for w in told if w.category is DataWarning]
        assert places == [(__file__, call.__code__.co_firstlineno)]
    assert model.encoding_.feature_names[:2] == ["day: month", "day: weekday"]


def durations() -> pd.DataFrame:
    """A duration that decides the target, beside a number, with a missing value."""
    took = pd.Series(pd.to_timedelta(RANDOM.integers(0, 100, N) * 1500, unit="ms"))
    took[5] = pd.NaT
    return pd.DataFrame({"took": took, "size": RANDOM.random(N)})


@pytest.mark.parametrize(
    "library", ["pandas", "pandas objects", "pandas of Arrow", "polars", "Arrow"]
)
def test_durations_are_seconds(library: str) -> None:
    frame = durations()
    seconds = frame.assign(took=frame["took"].dt.total_seconds())
    y = seconds["took"].fillna(0) + seconds["size"]
    given = {
        "pandas": lambda: frame,
        "pandas objects": lambda: frame.assign(took=frame["took"].astype(object)),
        "pandas of Arrow": lambda: frame.astype({"took": "duration[us][pyarrow]"}),
        "polars": lambda: pl.from_pandas(frame),
        "Arrow": lambda: pa.Table.from_pandas(frame),
    }[library]()
    expected, features = (
        open_dataset(each, target=None).materialise()[0] for each in (seconds, given)
    )
    np.testing.assert_allclose(features, expected, rtol=1e-12)
    model = KernelRegressor(n_components=32, C=1.0, scale="minmax").fit(given, y)
    same = KernelRegressor(n_components=32, C=1.0, scale="minmax").fit(seconds, y)
    np.testing.assert_allclose(model.predict(given), same.predict(seconds), rtol=1e-6)


def test_a_lazy_frame_is_to_be_collected() -> None:
    lazy = pl.LazyFrame({"a": [1.0, 2.0] * 20, "y": [0, 1] * 20})
    for call in (
        lambda: KernelClassifier(n_components=16).fit(lazy, [0, 1] * 20),
        lambda: open_dataset(lazy, target="y"),
        lambda: TableModel().fit(lazy, target="y"),
    ):
        with pytest.raises(DataError, match=r"is a LazyFrame, .*: collect\(\) it first"):
            call()
