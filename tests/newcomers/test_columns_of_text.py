"""Columns of text that are ids, dates in several formats, or a target of dates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from kernelight import KernelClassifier, TableModel, open_dataset
from kernelight.data import DataError, DataWarning, Encoding
from kernelight.data.row_names import occur_once


def left_out(words: list[str]) -> bool:
    frame = pd.DataFrame(
        {"word": words, "x": np.arange(len(words)) % 3, "y": np.arange(len(words)) % 2}
    )
    return "word" in open_dataset(frame).encoding.ignored


def test_one_row_does_not_decide_whether_a_column_is_an_id():
    ids = [f"w{at}" for at in range(90)]
    assert left_out(ids)
    assert left_out([*ids[:-1], "w0"])  # was kept, and left out without the last row
    towns = [f"w{at % 120}" for at in range(200)]  # 80 towns are there twice
    # was left out, as there are more than 100 words, and kept in 4 rows of 5
    assert not left_out(towns)
    assert not left_out(towns[:160])


def test_folds_are_judged_like_the_whole():
    """Of folds of four rows in five, hardly any decide otherwise, whatever the vocabulary."""
    random = np.random.default_rng(0)
    changed = []
    for rows in (100, 300, 1000):
        for words in (30, 100, 300, 1000, 3000, 10**6):
            values = random.integers(0, words, rows)
            of_all, *of_folds = (
                occur_once(int((np.unique(some, return_counts=True)[1] == 1).sum()), len(some))
                for some in (
                    values,
                    *(random.permutation(values)[: 4 * rows // 5] for _ in range(5)),
                )
            )
            changed += [fold != of_all for fold in of_folds]
    assert np.mean(changed) < 0.05


def test_a_limit_that_was_raised_keeps_words():
    frame = pd.DataFrame(
        {"word": [f"w{at}" for at in range(150)], "x": np.arange(150) % 7, "y": np.arange(150) % 2}
    )
    assert open_dataset(frame).feature_names == ["x"]
    assert open_dataset(frame, max_categories=200).n_features == 151


def test_numbers_that_name_most_rows_are_an_id(tmp_path):
    frame = pd.DataFrame({"id": np.arange(100), "x": np.arange(100) % 7, "y": np.arange(100) % 2})
    frame.loc[5, "id"] = 4
    data = open_dataset(frame, target="y")
    assert data.feature_names == ["x"]
    assert data.notes == ["column 'id': 98 of 100 numbers occur once, as ids are; left out"]
    visits = frame.assign(id=np.arange(100) // 3)
    assert open_dataset(visits).feature_names == ["id", "x"]


ISO = [f"2024-{1 + at % 12:02d}-{13 + at % 15:02d}" for at in range(40)]
GERMAN = [f"{13 + at % 15:02d}.{1 + at % 12:02d}.2024" for at in range(30)]
NAMED = [f"{13 + at % 15} Mar 2024" for at in range(20)]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, "csv"])
def test_dates_in_several_formats_are_read_in_all_of_them(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = {"when": [*ISO, *GERMAN, *NAMED], "y": ["u", "v"] * 45}
    frame = make(columns) if make != "csv" else "x.csv"
    pd.DataFrame(columns).to_csv("x.csv", index=False)
    data = open_dataset(frame)
    note = (
        "dates in several formats, 40 such as '2024-01-13', 30 such as '13.01.2024' and 20 such as "
        "'13 Mar 2024'"
    )
    with pytest.warns(DataWarning, match=f"column 'when': {note}; they become numbers"):
        X, _ = data.materialise()
    same = pd.to_datetime([*ISO[:30], *ISO[:30]])
    months = data.feature_names.index("when: month")
    assert X[:30, months].tolist() == X[40:70, months].tolist() == same[:30].month.tolist()
    stored = Encoding.from_plain(data.encoding.to_plain())
    np.testing.assert_array_equal(open_dataset(frame, encoding=stored).materialise()[0], X)


def test_dates_that_are_day_first_and_month_first_are_words_and_said():
    day = [f"{13 + at % 15}/0{1 + at % 3}/2024" for at in range(40)]
    month = [f"0{1 + at % 3}/{13 + at % 15}/2024" for at in range(40)]
    data = open_dataset(pd.DataFrame({"when": [*day, *month], "y": ["u", "v"] * 40}), target="y")
    (note,) = data.notes
    assert note.startswith("column 'when': dates that are day first and dates that are month first")
    assert (
        "(40 such as '13/01/2024' and 40 such as '01/13/2024') cannot be told apart; taken as words"
        in note
    )
    with pytest.raises(
        DataError, match="1 column needs a decision: column 'when': dates that are day first"
    ):
        open_dataset(pd.DataFrame({"when": [*day, *month], "y": ["u", "v"] * 40}), strict=True)


def test_a_few_that_are_the_other_way_round_are_missing():
    when = [f"{13 + at % 15}/0{1 + at % 3}/2024" for at in range(78)] + ["01/13/2024"] * 2
    with pytest.warns(
        DataWarning, match=r"'when': 2 of 80 values are not a date \('01/13/2024' in row 79 first\)"
    ):
        open_dataset(pd.DataFrame({"when": when, "y": ["u", "v"] * 40})).materialise()


def test_text_that_is_partly_dates_is_said_to_be_words():
    data = open_dataset(
        pd.DataFrame({"when": ["2024-01-05", "2024-02-05", "soon"] * 20, "y": ["u", "v"] * 30}),
        target="y",
    )
    (note,) = data.notes
    assert note == (
        "column 'when': of 60 values 40 are dates such as '2024-01-05', the others such as 'soon'; "
        "taken as words"
    )


def test_a_target_of_dates_is_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(
        {"x": np.arange(60.0), "when": [f"2024-01-{1 + at % 20:02d}" for at in range(60)]}
    )
    frame.to_csv("x.csv", index=False)
    for table in ("x.csv", frame, pl.from_pandas(frame)):
        with pytest.raises(
            DataError, match=r"target 'when' is dates such as '2024-01-01', which are neither"
        ):
            open_dataset(table)
        assert len(open_dataset(table, categorical=["when"]).encoding.target.labels) == 20
    typed = frame.assign(when=pd.to_datetime(frame["when"]))
    for table in (typed, pl.from_pandas(typed)):
        with pytest.raises(
            DataError, match=r"the target 'when' is dates, .*categorical=\['when'\] takes each"
        ):
            open_dataset(table)
        assert len(open_dataset(table, categorical=["when"]).encoding.target.labels) == 20


def test_points_in_a_new_file_are_no_thousands(tmp_path):
    """In a file with commas between its cells 5.123 is about five, not five thousand."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (200, 2)).round(3)
    late = np.where(X[:, 0] > X[:, 1], "yes", "no")
    commas, points = tmp_path / "commas.csv", tmp_path / "points.csv"
    lines = [f"{a:.3f};{b:.3f};{c}" for (a, b), c in zip(X.tolist(), late.tolist(), strict=True)]
    commas.write_text("\n".join(["a;b;late", *lines]).replace(".", ","))
    points.write_text("\n".join(["a;b;late", *lines]).replace(";", ","))
    model = TableModel(KernelClassifier(n_components=32, C=1.0, scale="minmax")).fit(
        commas, target="late"
    )
    np.testing.assert_array_equal(model.predict(points), model.predict(commas))
    thousands = tmp_path / "thousands.csv"
    thousands.write_text("a;b;late\n5.123;1,5;yes\n")
    assert open_dataset(thousands, encoding=model.encoding_).materialise()[0][0].tolist() == [
        5123.0,
        1.5,
    ]
