"""Names that occur twice or are missing, delimiters at the ends of rows, targets of all kinds."""

from __future__ import annotations

import datetime
import io
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.in_process import called

from kernelight import KernelClassifier, KernelRegressor, TableModel, open_dataset
from kernelight.data import DataError, DataWarning, Encoding
from kernelight.data.table_source import distinct
from kernelight.study import compare

N = 60
ROWS = [f"{at % 7},{at % 5},{at % 2}" for at in range(N)]
X = np.random.default_rng(0).normal(size=(N, 3))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, text):
    with open(name, "w") as file:
        file.write(text)
    return name


# -- Names


@pytest.mark.parametrize("names", ["a,b,a", "a,a,a", "a,b,a,a.1", "a,a.1,a,a", "x,a.1,a,a,a.1"])
def test_names_that_are_there_twice_are_numbered_as_pandas_does(names):
    text = f"{names}\n{','.join('1' * len(names.split(',')))}\n"
    assert distinct(names.split(",")) == list(pd.read_csv(io.StringIO(text)).columns)


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_a_model_of_the_frame_of_pandas_reads_the_file():
    write("x.csv", "Type,Type,y\n" + "\n".join(ROWS) + "\n")
    encoding = open_dataset(pd.read_csv("x.csv")).encoding
    assert encoding.feature_names == ["Type", "Type.1"] == open_dataset("x.csv").feature_names
    np.testing.assert_array_equal(
        open_dataset("x.csv", encoding=encoding).materialise()[0], pd.read_csv("x.csv").iloc[:, :2]
    )


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_a_model_from_before_keeps_its_names():
    write("x.csv", "a,a,a,y\n" + "\n".join(f"{at % 3},{row}" for at, row in enumerate(ROWS)) + "\n")
    data = open_dataset("x.csv")
    plain = data.encoding.to_plain()
    for column, name in zip(plain["columns"], ["a", "a.2", "a.3"], strict=True):
        column["name"] = name
    before = Encoding.from_plain(plain)
    expected, _ = data.materialise()
    table = pa.Table.from_arrays(
        [pa.array(column) for column in [*expected.T, np.arange(N) % 2]], list("aaay")
    )
    pq.write_table(table, "x.parquet")
    frame = pd.DataFrame(np.c_[expected, np.arange(N) % 2], columns=list("aaay"))
    for form in ("x.csv", "x.parquet", table, frame):
        np.testing.assert_array_equal(
            open_dataset(form, encoding=before).materialise()[0], expected
        )
        np.testing.assert_array_equal(
            open_dataset(form, encoding=data.encoding).materialise()[0], expected
        )


# -- Delimiters at the end of rows


@pytest.mark.parametrize(
    ("head", "end"),
    [
        ("a,b,c,\n", ","),
        ("a,b,c\n", ","),
        ("a,b,c\n", ",,"),
        ("a,b,c,,\n", ",,"),
        ("", ","),
        ("a,b,c,\n", ""),
    ],
    ids=["all", "rows", "rows twice", "all twice", "no names", "names"],
)
@pytest.mark.parametrize("rows", [8, 60])
def test_a_delimiter_at_the_end_of_rows_is_no_column(head, end, rows):
    data = open_dataset(write("x.csv", head + "".join(f"{row}{end}\n" for row in ROWS[:rows])))
    names = ["a", "b", "c"] if head else ["column_1", "column_2", "column_3"]
    assert (data.feature_names, data.target_name) == (names[:2], names[2])
    notes = [
        note
        for note in data.notes
        if "no name and no value, as if each row ended with a delimiter" in note
    ]
    assert len(notes) == len(data.notes) - 1 == len(end)  # and one for the target
    write("n.csv", (head.rstrip(",\n") + "\n" if head else "") + "\n".join(ROWS[:rows]) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # a file without them
        features, _ = open_dataset("n.csv", encoding=data.encoding).materialise()
    np.testing.assert_array_equal(features, open_dataset("n.csv").materialise()[0])


def test_rows_with_a_field_too_many_are_still_an_error():
    with pytest.raises(DataError, match="line 3: 4 fields where 3 are expected"):
        open_dataset(write("x.csv", "a,b,c\n1,2,0\n1,2,0,7\n")).materialise()
    with pytest.raises(DataError, match="line 2: 4 fields where 3 are expected"):
        open_dataset(write("x.csv", "a,b,c\n1,2,0,7\n1,2,0\n")).materialise()


# -- The target that nobody named


@pytest.mark.parametrize("name", ["", " ", "Unnamed: 2", None])
def test_a_column_without_a_name_is_not_taken_for_the_target(name):
    frame = pd.DataFrame({"a": np.arange(N) % 7, "b": np.arange(N) % 5, "c": np.arange(N) % 2})
    frame.columns = ["a", "b", name]
    write("x.csv", "a,b,\n" + "\n".join(ROWS) + "\n")
    for table in ("x.csv", frame):
        with pytest.raises(
            DataError, match=r"the last column has no name, .* target='b' or target='2'"
        ):
            open_dataset(table)
        assert open_dataset(table, target=2).task == "classification"
        assert open_dataset(table, target="b").target_name == "b"
    empty = frame.assign(d=np.nan).set_axis(["a", "b", "c", "Unnamed: 3"], axis=1)
    assert open_dataset(empty).target_name == "c"
    assert open_dataset(empty).feature_names == ["a", "b"]


# -- Targets of all kinds

SECONDS = np.arange(N, dtype=np.float64)


def durations() -> dict[str, object]:
    listed = [datetime.timedelta(seconds=at) for at in range(N)]
    return {
        "numpy": SECONDS.astype(np.int64).astype("timedelta64[s]"),
        "nanoseconds": (SECONDS * 1e9).astype(np.int64).astype("timedelta64[ns]"),
        "list": listed,
        "pandas": pd.Series(listed),
        "objects": pd.Series(listed, dtype=object),
        "polars": pl.Series(listed),
        "arrow": pa.chunked_array([pa.array(listed)]),
    }


@pytest.mark.parametrize("form", durations())
def test_durations_are_seconds(form):
    quick = {"n_components": 16, "C": 1.0}
    expected = KernelRegressor(**quick).fit(X, SECONDS).predict(X)
    np.testing.assert_array_equal(
        KernelRegressor(**quick).fit(X, durations()[form]).predict(X), expected
    )


def test_durations_and_booleans_of_npz():
    np.savez("x.npz", X=X, y=durations()["numpy"])
    assert open_dataset("x.npz").materialise()[1].tolist() == SECONDS.tolist()
    later = durations()["numpy"].copy()
    later[3] = np.timedelta64("NaT")
    np.savez("x.npz", X=X, y=later)
    with pytest.warns(DataWarning, match="1 row has no target and is left out"):
        open_dataset("x.npz").materialise()
    np.savez("x.npz", X=X, y=np.arange(N) % 3 == 0)
    data = open_dataset("x.npz")
    assert data.encoding.target.labels == (0, 1)
    assert data.materialise()[1][:4].tolist() == [1, 0, 0, 1]
    np.savez("x.npz", X=X, y=np.arange(N).astype("datetime64[D]"))
    with pytest.raises(DataError, match="'y' is dates, which are neither classes nor quantities"):
        open_dataset("x.npz")


def without_one() -> dict[str, object]:
    values = SECONDS % 2
    values[3] = np.nan
    listed = [None if value != value else value for value in values.tolist()]
    return {
        "numpy": values,
        "two": np.c_[SECONDS, values],
        "pandas": pd.Series(values),
        "nullable": pd.array(listed, dtype="Float64"),
        "objects": np.array(listed, dtype=object),
        "list": listed,
        "polars": pl.Series(listed),
        "polars NaN": pl.Series(values),
        "arrow": pa.array(listed),
        "NaT": np.where(np.isnan(values), np.timedelta64("NaT"), np.timedelta64(1, "s")),
    }


@pytest.mark.parametrize("form", without_one())
@pytest.mark.parametrize("model", [KernelRegressor, KernelClassifier])
def test_estimators_refuse_a_missing_target_in_one_sentence(form, model):
    with pytest.raises(
        ValueError, match=r"^Input y contains NaN or another missing value at row 3: leave such"
    ):
        model(n_components=8, C=1.0).fit(X, without_one()[form])


def test_studies_refuse_it_and_tables_leave_the_row_out():
    with pytest.raises(ValueError, match="Input y contains NaN or another missing value at row 3"):
        compare(X, without_one()["numpy"], budget=5)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=without_one()["numpy"])
    with pytest.warns(DataWarning, match="1 row has no target and is left out"):
        TableModel(KernelClassifier(n_components=8, C=1.0)).fit(frame)


@pytest.mark.parametrize("model", [KernelRegressor, KernelClassifier])
def test_estimators_refuse_dates(model):
    dates = pd.Series(pd.date_range("2024-01-01", periods=N))
    for y in (dates, dates.to_numpy(), dates.tolist(), dates.dt.date, pl.from_pandas(dates)):
        with pytest.raises(ValueError, match=r"Input y contains dates, .*: make numbers of them"):
            model(n_components=8, C=1.0).fit(X, y)


@pytest.mark.parametrize(
    ("repeated", "many"), [(0, "all 100 words are different"), (10, "90 of 100 words occur once")]
)
def test_a_target_of_ids_or_free_text_is_refused(repeated, many):
    texts = ["fine" if i < repeated else f"this is remark {i}" for i in range(100)]
    with open("x.csv", "w") as file:
        file.write("a,comment\n")
        file.writelines(f"{i % 7},{text}\n" for i, text in enumerate(texts))
    said = (
        f"x.csv: the target 'comment' cannot be learned, because {many}, as ids or free text are: "
        f"name another target (target='NAME'); categorical=['comment'] takes each word as a class."
    )
    with pytest.raises(DataError) as error:
        open_dataset("x.csv")
    assert str(error.value) == said
    frame = pd.read_csv("x.csv")
    with pytest.raises(DataError, match="the target 'comment' cannot be learned"):
        open_dataset(frame, target="comment")
    assert len(open_dataset("x.csv", categorical=["comment"]).encoding.target.labels) > 90
    status, _, told = called("fit", "x.csv", "-o", "m.klt")
    assert status == 2
    assert "name another target (--target NAME)" in told


def test_a_guessed_target_of_ids_has_a_note():
    with open("x.csv", "w") as file:
        file.write("a,customer_id\n" + "".join(f"{i % 7},{1000 + 7 * i}\n" for i in range(100)))
    note = (
        "column 'customer_id': all 100 numbers are different, as ids are; nothing can be learned "
        "from such a target"
    )
    assert note in open_dataset("x.csv").notes
    assert open_dataset("x.csv", target="customer_id").notes == []
    with open("x.csv", "w") as file:
        file.write("a,place\n" + "".join(f"{i % 7},{i + 1}\n" for i in range(100)))
    assert any("it counts the rows, 1, 2, 3" in note for note in open_dataset("x.csv").notes)


def test_words_that_differ_in_spelling_only_have_a_note():
    words = ["Female", "Male", "female", "MALE", "other"]
    with open("x.csv", "w") as file:
        file.write("a,b,y\n" + "".join(f"{words[i % 5]},{i % 7},{i % 2}\n" for i in range(60)))
    note = (
        "column 'a': words 'Female', 'female' differ in spelling only, as do others; each is a "
        "word of its own"
    )
    data = open_dataset("x.csv", strict=True)  # no decision: they stay what they are
    data.materialise()
    assert note in data.notes


def test_evaluate_notes_the_training_file():
    with open("x.csv", "w") as file:
        file.write("a,b,y\n" + "".join(f"{i % 9},{i % 7},{i % 2}\n" for i in range(60)))
    with open("x.csv") as file, open("new.csv", "w") as new:
        new.writelines(file.readlines()[:40])
    called("fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1")
    for data, noted in (("x.csv", True), ("new.csv", False)):
        status, out, said = called("evaluate", "m.klt", data)
        assert (status, said) == (0, "")
        assert ("60, which the model was trained on: the scores of new rows" in out) == noted
