"""Booleans are spelled differently by every format, and mean the same; new words are noted."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kernelight import KernelClassifier, TableModel, open_dataset
from kernelight.data import DataError, DataWarning, Encoding

N = 120
RANDOM = np.random.default_rng(0)
FLAG = RANDOM.random(N) < 0.5
X = RANDOM.normal(size=N)
TRUE = {"True": "False", "true": "false", "TRUE": "FALSE", "1": "0"}
FORMS = [
    *(f"csv {word}" for word in TRUE),
    "pandas",
    "nullable",
    "object",
    "words",
    "category",
    "arrow",
    "polars",
]


def table(form: str, folder: Path, values: np.ndarray, name: str, **more) -> object:
    """A table with a column of booleans in one of the forms, last."""
    frame = pd.DataFrame({**more, name: values})
    if form.startswith("csv"):
        word = form.removeprefix("csv ")
        path = folder / f"{word}{len(list(folder.iterdir()))}.csv"
        frame.assign(**{name: np.where(values, word, TRUE[word])}).to_csv(path, index=False)
        return path
    if form == "arrow":
        return pa.Table.from_pandas(frame)
    if form == "polars":
        return pl.from_arrow(pa.Table.from_pandas(frame))
    kinds = {
        "pandas": bool,
        "nullable": "boolean",
        "object": object,
        "words": str,
        "category": "category",
    }
    return frame.astype({name: kinds[form]})


@pytest.mark.parametrize("trained", FORMS)
def test_features_mean_the_same_in_every_format(trained, tmp_path):
    encoding = open_dataset(table(trained, tmp_path, FLAG, "flag", x=X), target=None).encoding
    own = open_dataset(table(trained, tmp_path, FLAG, "flag", x=X), target=None, encoding=encoding)
    expected = own.materialise()[0]
    for applied in FORMS:
        data = open_dataset(
            table(applied, tmp_path, FLAG, "flag", x=X), target=None, encoding=encoding
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            features = data.materialise()[0]
        np.testing.assert_allclose(features, expected, err_msg=applied)


@pytest.mark.parametrize("trained", FORMS)
def test_targets_mean_the_same_in_every_format(trained, tmp_path):
    training = open_dataset(table(trained, tmp_path, FLAG, "y", x=X), target="y")
    expected = training.materialise()[1]
    for applied in FORMS:
        data = open_dataset(table(applied, tmp_path, FLAG, "y", x=X), encoding=training.encoding)
        labels = data.materialise()[1]
        assert labels.tolist() == expected.tolist(), applied


def test_a_model_of_one_format_predicts_and_is_scored_on_another(tmp_path):
    y = np.where(FLAG, "u", "v")
    model = TableModel(KernelClassifier(n_components=64, C=1.0, scale="minmax"))
    model.fit(table("csv True", tmp_path, FLAG, "flag", y=y, x=X), target="y")
    for form in FORMS:
        assert model.evaluate(table(form, tmp_path, FLAG, "flag", y=y, x=X))["accuracy"] == 1.0, (
            form
        )


def test_spellings_that_training_told_apart_stay_apart():
    frame = pd.DataFrame({"flag": ["True", "true", "False", "x"], "x": [1.0, 2.0, 3.0, 4.0]})
    encoding = open_dataset(frame, target=None).encoding
    assert (
        open_dataset(frame, target=None, encoding=encoding)
        .materialise()[0][:, :4]
        .sum(axis=0)
        .tolist()
        == [1] * 4
    )
    digits = pd.DataFrame({"flag": ["1", "TRUE"], "x": [0.0, 0.0]})
    X, _ = open_dataset(digits, target=None, encoding=encoding).materialise()
    assert X[:, :4].tolist() == [[0, 0, 0, 0], [0, 1, 0, 0]]  # 1 is no boolean beside 'x'


def test_an_encoding_that_was_stored_reads_the_other_spellings():
    """One of the time when booleans that are text were words."""
    frame = pd.DataFrame({"flag": ["True", "False"], "x": [1.0, 2.0]})
    as_words = open_dataset(frame, target=None, categorical=["flag"])
    stored = Encoding.from_plain(as_words.encoding.to_plain())
    X, _ = open_dataset(
        frame.assign(flag=["true", "FALSE"]), target=None, encoding=stored
    ).materialise()
    assert X.tolist() == [[0, 1, 1], [1, 0, 2]]


def test_words_are_still_no_numbers(tmp_path):
    encoding = open_dataset(pd.DataFrame({"flag": FLAG, "x": X}), target=None).encoding
    path = tmp_path / "words.csv"
    pd.DataFrame({"flag": np.where(FLAG, "True", "maybe"), "x": X}).to_csv(path, index=False)
    with pytest.raises(DataError, match=r"column 'flag': '(True|maybe)' is not a number"):
        open_dataset(path, target=None, encoding=encoding).materialise()
    with pytest.raises(
        DataError, match=r"'(True|maybe)' is not a number .* where the model has numbers"
    ):
        open_dataset(pd.read_csv(path), target=None, encoding=encoding).materialise()


@pytest.mark.parametrize("batches", [False, True])
def test_words_never_seen_in_training_are_told_once(batches):
    frame = pd.DataFrame({"town": ["Bern", "Rome", "Oslo", "Rome"] * 10, "x": np.arange(40.0)})
    encoding = open_dataset(frame, target=None).encoding
    new = frame.assign(town=["Paris", "Rome", "Vaduz", None] * 10)
    data = open_dataset(new, target=None, encoding=encoding)
    note = r"column 'town': 20 of 30 words never occurred in training \('Paris' first\)"

    def read() -> None:
        _ = list(data.batches(rows=7)) if batches else data.materialise()

    with pytest.warns(DataWarning, match=note):
        read()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read()


def test_new_words_are_said_unless_they_share_a_column():
    frame = pd.DataFrame({"town": ["Bern", "Rome", "Oslo", "Rome"] * 10, "x": np.arange(40.0)})
    encoding = open_dataset(frame, target=None).encoding
    few = frame.assign(town=["Bern", "Rome", "Oslo", "Vaduz"] * 10)
    # where new words share a column
    many = open_dataset(frame, target=None, max_categories=2).encoding
    with pytest.warns(UserWarning, match="10 of 40 words never occurred in training"):
        open_dataset(few, target=None, encoding=encoding).materialise()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*share")
            open_dataset(frame.assign(town="Vaduz"), target=None, encoding=many).materialise()


@pytest.mark.parametrize("ones", [1, 2])
@pytest.mark.parametrize(("true", "false"), [("true", "false"), ("TRUE", "False")])
def test_words_beside_one_and_zero_in_a_new_file(tmp_path, true, false, ones):
    """It was refused, with the advice to take true as missing."""
    old, new = tmp_path / "x.csv", tmp_path / "n.csv"
    rows = [f"{'true' if i % 3 else 'false'},{i % 7},{'ab'[i % 2]}" for i in range(60)]
    old.write_text("\n".join(["paid,n,y", *rows, ""]))
    encoding = open_dataset(old).encoding
    cells = [str(i % 2) if i % 3 < ones else (false, true)[i % 2] for i in range(30)]
    new.write_text("\n".join(["paid,n", *(f"{cell},{i % 7}" for i, cell in enumerate(cells)), ""]))
    data = open_dataset(new, encoding=encoding)
    assert data.materialise()[0][:, 0].tolist() == [i % 2 for i in range(30)]
    assert any("are read as 1 and 0, as booleans are" in note for note in data.notes)
