"""A class of one row is named, with what becomes of it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from cli.in_process import called

from kernelight import KernelClassifier, TableModel
from kernelight.tables import fitting
from kernelight.tables.sample import Sample

RNG = np.random.default_rng(0)
X = RNG.random((150, 3))
QUICK = {"n_components": 16, "C": 1.0, "scale": None}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def said(work: object) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [str(each.message) for each in caught if "1 row" in str(each.message)]


def test_a_class_of_one_row_is_named_once():
    y = np.where(np.arange(150) == 7, "odd", np.where(X[:, 0] > 0.5, "u", "v"))
    sentence = (
        "The class 'odd' has 1 row: it is learned from, but no score can say whether new rows of "
        "it are recognised; join it with another class, or leave the row out."
    )
    assert said(lambda: KernelClassifier(**QUICK).fit(X, y)) == [sentence]
    assert said(lambda: KernelClassifier(n_components=16).fit(X, y)) == [sentence]
    pd.DataFrame(X, columns=list("abc")).assign(y=y).to_csv("x.csv", index=False)
    notes = called("fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1").said
    assert notes.count(sentence) == 1
    assert "hardly counts" not in notes
    assert said(lambda: KernelClassifier(**QUICK).fit(X, np.where(y == "odd", "u", y))) == []


def test_several_are_named_in_one_sentence():
    y = np.arange(150) % 2
    y[:12] = np.arange(2, 14)
    assert said(lambda: KernelClassifier(**QUICK).fit(X, y)) == [
        "The classes 2, 3, 4, 5, 6, 7, 8, 9 and 4 more have 1 row each: it is learned from, but no "
        "score can say whether new rows of them are recognised; join them with another class, or "
        "leave the row out."
    ]


def test_a_table_of_a_few_rows_needs_no_note():
    assert said(lambda: KernelClassifier(**QUICK).fit(X[:3], ["u", "u", "v"])) == []


def test_a_weight_counts_as_rows():
    y = np.where(np.arange(150) == 7, "odd", np.where(X[:, 0] > 0.5, "u", "v"))
    three = np.where(y == "odd", 3.0, 1.0)
    assert said(lambda: KernelClassifier(**QUICK).fit(X, y, sample_weight=three)) == []


def test_a_sample_is_not_the_file(monkeypatch):
    """Rows that do not fit into memory: a class may have one row in the sample, and more."""
    monkeypatch.setattr(fitting.Allowance, "held", 60, raising=False)
    monkeypatch.setattr(Sample, "complete", False)
    rows = RNG.random((3_000, 3))
    y = np.where(rows[:, 0] > 0.5, "u", "v").astype(object)
    y[[5, 2_500]] = "twice"
    y[77] = "once"
    table = pd.DataFrame(rows).assign(y=y)
    model = TableModel(KernelClassifier(**QUICK))
    found = said(lambda: model.fit(table, target="y", memory="4G"))
    assert [sentence[:28] for sentence in found] == ["The class 'once' has 1 row: "]
