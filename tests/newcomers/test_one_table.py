"""One table has one encoding: as a CSV file, Parquet, a frame of pandas or polars, or Arrow."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernelight import KernelClassifier, TableModel, open_dataset
from kernelight.data import DataError, DataWarning, Encoding

ROWS = 200
TYPED = ["pandas", "pandas text", "objects", "polars", "polars text", "arrow", "parquet"]


def messy() -> str:
    """All that a column may be, as text: ids, dates, currency, percents, booleans, words."""
    random = np.random.default_rng(0)
    lines = ["ident,when,price,share,level,flag,note,group,kind"]
    for at in range(ROWS):
        level = {7: "broken", 9: "n/a", 11: "?"}.get(at % 40, f"{random.normal():.2f}")
        flag, note = "TRUE" if at % 3 else "FALSE", "" if at % 5 else "seen"
        group, kind = " red" if at % 2 else "blue", "u" if at % 3 else "v"
        when, price = f"2024-{1 + at % 12:02d}-{1 + at % 28:02d}", f"$ {1000 + at}.50"
        lines.append(f"A{at:04d},{when},{price},{at % 100} %,{level},{flag},{note},{group},{kind}")
    return "\n".join([*lines, ""])


@pytest.fixture
def tables(tmp_path, monkeypatch) -> dict[str, object]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "messy.csv").write_text(messy())
    text = pd.read_csv("messy.csv", dtype=str, keep_default_na=False)
    arrow = pa.Table.from_pandas(text)
    pq.write_table(arrow, "messy.parquet")
    return {
        "csv": "messy.csv",
        "pandas": pd.read_csv("messy.csv"),
        "pandas text": text,
        "objects": text.astype(object),
        "polars": pl.read_csv("messy.csv"),
        "polars text": pl.from_arrow(arrow),
        "arrow": arrow,
        "parquet": "messy.parquet",
    }


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_every_form_gives_the_same_encoding_and_features(tables):
    data = open_dataset(tables["csv"])
    expected, y = data.materialise()
    assert [column.kind for column in data.encoding.columns] == [
        "date",
        "number",
        "number",
        "number",
        "number",
        "words",
        "words",
    ]
    assert data.encoding.ignored == ("ident",)
    for form in TYPED:
        other = open_dataset(tables[form])
        X, target = other.materialise()
        assert other.encoding == data.encoding, form
        np.testing.assert_array_equal(X, expected, err_msg=form)
        assert target.tolist() == y.tolist(), form
        X, _ = open_dataset(tables[form], encoding=data.encoding).materialise()
        np.testing.assert_array_equal(X, expected, err_msg=form)


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_a_model_of_a_file_reads_every_frame(tables):
    model = TableModel(KernelClassifier(n_components=64, C=1.0, scale="minmax")).fit(tables["csv"])
    expected = model.predict(tables["csv"])
    for form in TYPED:
        np.testing.assert_array_equal(model.predict(tables[form]), expected, err_msg=form)


@pytest.mark.parametrize("form", TYPED)
def test_words_among_numbers_are_counted_and_named(tables, form):
    with pytest.warns(
        DataWarning, match=r"'level': 5 of 200 values are not a number \('broken' in row 8 first\)"
    ):
        open_dataset(tables[form]).materialise()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_text_with_many_words_among_numbers_is_words(make):
    """A CSV file is refused then, with the options; a frame says that the column is text."""
    frame = make({"a": ["1", "2", "x", "4"] * 30, "y": ["u", "v"] * 60})
    data = open_dataset(frame)
    with pytest.warns(
        DataWarning, match="of 120 values 90 are numbers such as '1', the others such as 'x'"
    ):
        data.materialise()
    assert data.feature_names == ["a=1", "a=2", "a=4", "a=x"]
    assert open_dataset(frame, missing=["x"]).feature_names == ["a"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_words_that_come_late_are_refused_if_they_are_many(make):
    """Beyond the rows that are looked at first."""
    frame = make({"a": ["1"] * 20_000 + ["x"] * 10_000, "b": np.arange(30_000.0)})
    with pytest.raises(
        DataError, match=r"'x' is not a number .* 10,000 are not\); categorical=\['a'\] reads"
    ):
        open_dataset(frame, target=None).materialise()
    with pytest.raises(DataError, match="make it a categorical column if it is words"):
        KernelClassifier(n_components=8).fit(frame, np.arange(30_000) % 2)


def test_categoricals_stay_words():
    frame = pd.DataFrame({"zip": ["8001", "8002", "3000"] * 20, "y": ["u", "v"] * 30})
    assert open_dataset(frame).feature_names == ["zip"]
    assert open_dataset(frame.astype({"zip": "category"})).n_features == 3
    assert open_dataset(frame, categorical=["zip"]).n_features == 3


def test_words_that_a_stored_model_knows_stay_what_they_are():
    """A model of a frame from before has "" and " red" among its words."""
    plain = open_dataset(
        pd.DataFrame({"a": ["b", "c"], "x": [1.0, 2.0]}), target=None
    ).encoding.to_plain()
    plain["columns"][0]["categories"] = ["", " red", "None", "c"]
    plain["width"] = 5
    stored = Encoding.from_plain(plain)
    frame = pd.DataFrame({"a": [" red", "", "None", " c"], "x": [0.0] * 4})
    X, _ = open_dataset(frame, target=None, encoding=stored).materialise()
    assert X[:, :4].argmax(axis=1).tolist() == [1, 0, 2, 3]


def test_missing_words_can_be_named_for_frames():
    frame = pd.DataFrame({"a": ["red", "unknown"] * 20, "x": ["1", "-"] * 20, "y": [0, 1] * 20})
    encoding = open_dataset(frame, missing=["unknown", "-"]).encoding
    assert encoding.feature_names == ["a=red", "a is missing", "x"]
    X, _ = open_dataset(frame, encoding=encoding).materialise()
    assert X[:2].tolist() == [[1, 0, 1], [0, 1, 1]]


def test_a_model_of_numbers_reads_numbers_that_are_text():
    numbers = pd.DataFrame({"a": np.arange(60.0), "b": np.arange(60.0) % 7})
    model = KernelClassifier(n_components=64, C=1.0).fit(numbers, numbers["a"] > 30)
    text = numbers.astype(str)
    np.testing.assert_array_equal(model.predict(text), model.predict(numbers))
    text.loc[3, "a"] = "broken"
    with pytest.warns(DataWarning, match="'a': 1 of 60 values is not a number"):
        model.predict(text)
    with pytest.raises(DataError, match=r"'red' is not a number .*, where the model has numbers"):
        model.predict(numbers.assign(a="red"))


def test_estimators_keep_numbers_that_name_the_rows():
    """A file's column of that kind is left out; an estimator takes the numbers it is given."""
    frame = pd.DataFrame({"id": np.arange(60), "a": np.arange(60.0) % 7, "word": ["u", "v"] * 30})
    y = np.random.default_rng(0).integers(0, 2, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            KernelClassifier(n_components=8, C=1.0).fit(frame[["id", "a"]], y).n_features_in_ == 2
        )
        model = KernelClassifier(n_components=8, C=1.0).fit(frame, y)
    assert model.encoding_.feature_names == ["id", "a", "word=u", "word=v"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_dates_that_are_all_missing(make):
    frame = make({"when": ["2024-01-01", "2024-02-03"] * 20, "x": [1.0, 2.0] * 20})
    encoding = open_dataset(frame, target=None).encoding
    assert [column.kind for column in encoding.columns] == ["date", "number"]
    X, _ = open_dataset(
        make({"when": [None, None], "x": [0.0, 1.0]}), target=None, encoding=encoding
    ).materialise()
    assert np.isfinite(X).all()
