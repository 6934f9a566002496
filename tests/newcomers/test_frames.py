"""Tables that people have in memory: frames of pandas, polars and Arrow, taken as they are."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kernelight import TableMap, TableModel, open_dataset
from kernelight.data import DataError

N = 240
RANDOM = np.random.default_rng(0)


def people() -> pd.DataFrame:
    """Numbers, nullable numbers, words, categoricals of words and of numbers, booleans, objects; each with missing values."""
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
    return {"pandas": plain(), "polars": pl.from_arrow(table), "arrow": table, "batch": table.to_batches()[0]}


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
        "grade=1", "grade=2", "grade=3", "grade=4", "grade is missing",
    ]  # fmt: skip
    assert [name for name in names if name.startswith("mixed")] == [
        "mixed=0", "mixed=1", "mixed=2", "mixed=x", "mixed is missing",
    ]  # fmt: skip
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
    frame = pl.DataFrame({
        "c": pl.Series(["3", "1", None, "3"], dtype=pl.Categorical),
        "e": pl.Series(["p", "q", "q", "p"], dtype=pl.Enum(["p", "q", "never"])),
        "y": [1, 0, 1, 0],
    })  # fmt: skip
    assert open_dataset(frame, target="y").feature_names == ["c=1", "c=3", "c is missing", "e=p", "e=q"]


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
    for form in (frame, frame.astype({"y": object}), frame.astype({"y": "Int64"}), pl.from_pandas(frame)):
        assert (
            open_dataset(form, target="y", task="classification").materialise()[1].tolist()
            == [2**53, 2**53 + 1] * 4
        )


def test_a_model_of_frames(tmp_path):
    model = TableModel().fit(PEOPLE, target="bought")
    assert model.evaluate(PEOPLE)["accuracy"] > 0.8
    found = model.predict(PEOPLE.drop(columns="bought"))
    model.save(tmp_path / "m.klt")
    np.testing.assert_array_equal(TableModel.load(tmp_path / "m.klt").predict(PEOPLE), found)


def test_a_model_of_a_frame_reads_other_frames_and_files(tmp_path):
    model = TableModel().fit(plain(), target="bought")
    found = model.predict(plain())
    for form in forms().values():
        np.testing.assert_array_equal(model.predict(form), found)
    plain().to_parquet(tmp_path / "people.parquet", index=False)
    np.testing.assert_array_equal(model.predict(tmp_path / "people.parquet"), found)


def test_a_map_of_frames():
    features = plain().drop(columns="bought")
    made = TableMap(n_components=64).fit(features)
    assert made.encode(features) == made.encode(pa.Table.from_pandas(features, preserve_index=False))


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ([1.0, np.inf], "the frame, row 2, column 'a': infinity is no value."),
        ([10**400, 1], "the frame, row 1, column 'a': infinity is no value."),
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
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[[1.0, 1.0, 0.0], [2.0, 0.0, 1.0]]",
        "the frame needs pyarrow, which is not there: pip install 'kernelight[io]'.",
    ]
