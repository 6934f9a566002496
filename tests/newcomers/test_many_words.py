"""Columns with many words: the most frequent have a feature each, the others share one."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernelight import KernelClassifier, TableMap, TableModel, open_dataset
from kernelight.data import DataError, DataWarning, Encoding, word_counts
from kernelight.data.table_source import Categorical
from kernelight.data.word_counts import WordCounts

ROWS = 1_500
NOTE = (
    "column 'town': 300 words; the 99 most frequent have columns of their own, the others share one"
)


def towns() -> pd.DataFrame:
    """300 towns, the first of which are the most frequent, and a class that depends on them."""
    town = np.concatenate([np.arange(300), np.random.default_rng(0).integers(0, 60, ROWS - 300)])
    bought = np.where(town % 2, "yes", "no")
    size = np.random.default_rng(1).random(ROWS)
    words = [f"town {at:03d}" for at in town]
    return pd.DataFrame({"town": words, "size": size, "bought": bought})


TOWNS = towns()


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def forms() -> list[object]:
    TOWNS.to_csv("towns.csv", index=False)
    pq.write_table(pa.Table.from_pandas(TOWNS, preserve_index=False), "towns.parquet")
    return [
        "towns.csv",
        "towns.parquet",
        TOWNS,
        TOWNS.astype({"town": "category"}),
        pl.from_pandas(TOWNS),
        pa.Table.from_pandas(TOWNS, preserve_index=False),
    ]


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_every_form_of_a_table_gives_the_same_columns():
    counts = TOWNS["town"].value_counts()
    frequent = sorted(sorted(counts.index, key=lambda word: (-counts[word], word))[:99])
    names = [*(f"town={word}" for word in frequent), "town: other words", "size"]
    expected = np.zeros((ROWS, 101))
    place = {word: at for at, word in enumerate(frequent)}
    expected[np.arange(ROWS), [place.get(word, 99) for word in TOWNS["town"]]] = 1
    expected[:, 100] = TOWNS["size"]
    for form in forms():
        data = open_dataset(form, target="bought")
        assert data.feature_names == names
        assert data.notes == [NOTE]
        assert "99 columns of 0 and 1, one for all other words" in data.describe()
        np.testing.assert_array_equal(data.materialise()[0], expected)
        streamed = open_dataset(form, target="bought")
        np.testing.assert_array_equal(
            np.concatenate([b.X for b in streamed.batches(100)]), expected
        )
        assert streamed.encoding == data.encoding
        with pytest.raises(
            DataError, match=r"column 'town': more than 100 different words; ignore=\['town'\]"
        ):
            open_dataset(form, target="bought", strict=True).materialise()


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_the_encoding_is_stored_and_takes_words_never_seen():
    frame = TOWNS.copy()
    frame.loc[::50, "town"] = None
    encoding = open_dataset(frame, target="bought", max_categories=3).encoding
    assert [name for name in encoding.feature_names if "town" in name][2:] == [
        "town: other words",
        "town is missing",
    ]
    plain = json.loads(json.dumps(encoding.to_plain()))
    assert plain["version"] == 2
    assert Encoding.from_plain(plain) == encoding
    new = pd.DataFrame(
        {"town": ["Atlantis", None, encoding.columns[0].categories[1]], "size": [0.0, 0, 0]}
    )
    X = open_dataset(new, encoding=Encoding.from_plain(plain)).materialise()[0]
    np.testing.assert_array_equal(X[:, :4], [[0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0]])
    assert (
        open_dataset(frame, target="bought", max_categories=300).encoding.to_plain()["version"] == 1
    )


@pytest.mark.parametrize("others", [1, None, "yes", [True]])
def test_hostile_encodings_are_refused(others):
    entry = {"name": "a", "categories": ["x"], "missing": False, "others": others}
    plain = {
        "version": 2,
        "columns": [entry],
        "width": 2,
        "target": None,
        "ids": None,
        "ignored": [],
        "file_columns": [],
        "dtype": "float64",
        "missing_words": None,
        "zero_based": False,
    }
    with pytest.raises(ValueError, match="stored encoding"):
        Encoding.from_plain(plain)
    entry["others"] = False
    with pytest.raises(ValueError, match="width"):
        Encoding.from_plain(plain)


def test_models_of_frames_and_files_learn_from_them(tmp_path):
    X, y = TOWNS.drop(columns="bought"), TOWNS["bought"]
    with pytest.warns(
        DataWarning,
        match="300 words, by their target values; the 99 most frequent also have columns",
    ):
        model = KernelClassifier(n_components=128, scale="minmax", C=1.0).fit(X, y)
    assert model.encoding_.width == 102
    assert model.score(X, y) > 0.8
    new = X.head(2).assign(town=["Atlantis", "town 299"])
    assert len(set(model.predict(new.assign(size=0.5)).tolist())) == 1
    forms()
    with pytest.warns(
        DataWarning,
        match="300 words, by their target values; the 99 most frequent also have columns",
    ):
        table = TableModel(KernelClassifier(n_components=128, scale="minmax", C=1.0)).fit(
            "towns.csv"
        )
    assert table.encoding_.feature_names == model.encoding_.feature_names


@pytest.mark.parametrize("cut", [1, 7, 100])
def test_memory_is_bounded_and_blocks_do_not_matter(monkeypatch, cut):
    monkeypatch.setattr(word_counts, "MAX_COUNTED", 5)
    rows = [*"abcabcde", "f", "e", "g", "e", *"ffffff", "a"]
    counts = WordCounts(3)
    for start in range(0, len(rows), cut):
        part = rows[start : start + cut]
        values = sorted(set(part))
        counts.add(
            Categorical(np.array([values.index(word) for word in part], np.int32), tuple(values))
        )
    assert len(counts) == 5
    assert counts.categories == ("a", "e")  # f came after five other words
    assert (
        counts.note()
        == "more than 5 words; the 2 most frequent have columns of their own, the others share one"
    )


def test_notes_of_small_limits():
    words = Categorical(np.arange(3, dtype=np.int32), ("a", "b", "c"))
    for limit, said in (
        (1, "they share one column"),
        (2, "the most frequent has a column of its own, the others share one"),
    ):
        counts = WordCounts(limit)
        counts.add(words)
        assert counts.note() == f"3 words; {said}"
        assert counts.categories == ("a", "b", "c")[: limit - 1]


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_maps_of_other_words_or_dates_are_told_apart():
    """Codes of two maps are compared only if the columns became features in the same way."""
    frame = pd.DataFrame({"word": list("aaabbc"), "day": pd.date_range("2024-01-01", periods=6)})
    maps = [
        TableMap(n_components=4).fit(table)
        for table in (
            frame,
            frame.assign(day=frame["day"] + pd.Timedelta(days=7)),
            frame[["day"]],
            frame[["word"]],
        )
    ]
    shared = TableMap(n_components=4).fit(frame[["word"]], max_categories=2)
    own = TableMap(n_components=4).fit(frame[["word"]][:3])
    assert shared.encoding_.columns[0].categories == own.encoding_.columns[0].categories == ("a",)
    assert len({made.learned for made in [*maps, shared, own]} - {None}) == 6
