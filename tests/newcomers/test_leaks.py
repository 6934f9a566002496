"""Columns that give the target away, in files, in frames and in arrays: each is named, once.

A column may tell the classes by being missing, by being zero or by thresholds, exactly or nearly.
"""

from __future__ import annotations

import re
import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from cli.in_process import called
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from kernelight import KernelClassifier, KernelRegressor, TableModel, open_dataset
from kernelight.data import DataWarning, target_leaks
from kernelight.data.separations import separations
from kernelight.data.table_source import Block
from kernelight.study import compare

ROWS = 400
QUICK = {"n_components": 16, "C": 1.0, "scale": None}
SENTENCE = re.compile(
    r"(column|whether column) '(\w+)' (?:is (\w+) )?tells the target 'y' (exactly|almost exactly)"
    r"( by a threshold| by thresholds)?: if it is not known when predictions are made, leave it out"
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def told(work: object) -> dict[str, tuple[str, str]]:
    """The columns that the notes of a call name: how each tells the target, and how well."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    notes = [note for each in caught for note in getattr(each.message, "notes", ())]
    found = [match for note in notes if (match := SENTENCE.match(note))]
    names = [match[2] for match in found]
    assert len(names) == len({*names})
    return {match[2]: ((match[3] or match[5] or "").strip(), match[4]) for match in found}


def leaking(n_rows: int = ROWS, n_wrong: int = 0) -> pd.DataFrame:
    """Columns that tell a target of two classes in different ways, all wrong in some rows."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, n_rows)
    shown = y.copy()
    shown[random.choice(n_rows, n_wrong, replace=False)] ^= 1
    one = shown == 1
    days = pd.Series(np.datetime64("2024-01-01") + random.integers(0, 300, n_rows))
    return pd.DataFrame(
        {
            "noise": random.normal(size=n_rows),
            "paid": np.where(one, random.normal(size=n_rows), np.nan),
            "refund": np.where(one, random.choice([-1, 1], n_rows) * random.random(n_rows), 0.0),
            "score": random.normal(size=n_rows) + 20 * shown,
            "holes": np.where(
                random.random(n_rows) < 0.2, np.nan, random.normal(size=n_rows) - 20 * shown
            ),
            "reason": np.where(one, [f"because {at % 150}" for at in range(n_rows)], None),
            "closed": days.where(pd.Series(one)),
            "kind": random.choice(["u", "v", "w"], n_rows),
            "gaps": np.where(random.random(n_rows) < 0.5, random.normal(size=n_rows), np.nan),
            "y": np.array(["stay", "leave"])[y],
        }
    )


WAYS = {
    "paid": "missing",
    "refund": "zero",
    "score": "by a threshold",
    "holes": "by a threshold",
    "reason": "missing",
    "closed": "missing",
}


@pytest.mark.parametrize(("n_wrong", "how"), [(0, "exactly"), (1, "almost exactly")])
def test_every_way_to_tell_the_class_is_named(n_wrong, how):
    frame = leaking(n_wrong=n_wrong)
    expected = {name: (way, how) for name, way in WAYS.items()}
    frame.to_csv("x.csv", index=False)
    frame.to_parquet("x.parquet")
    X, y = frame.drop(columns="y"), frame["y"].to_numpy()
    for work in (
        lambda: open_dataset(frame, target="y").materialise(),
        lambda: open_dataset("x.csv", target="y").materialise(),
        lambda: list(open_dataset("x.parquet", target="y").batches(rows=50)),
        lambda: TableModel(KernelClassifier(**QUICK)).fit("x.csv", target="y"),
        lambda: KernelClassifier(**QUICK).fit(X, y),
        lambda: KernelClassifier(**QUICK).fit(pl.from_pandas(X), y),
    ):
        assert told(work) == expected
    numbers = X[["noise", "paid", "refund", "score", "holes", "gaps"]].to_numpy()
    assert told(lambda: KernelClassifier(**QUICK).fit(numbers, y)) == {
        "column_2": ("missing", how),
        "column_3": ("zero", how),
        "column_4": ("by a threshold", how),
        "column_5": ("by a threshold", how),
    }


def test_the_command_says_how_to_leave_it_out():
    frame = leaking()
    frame.to_csv("x.csv", index=False)
    small = ("-o", "m.klt", "-k", "16", "-C", "1", "--scale", "none")
    said = called("fit", "x.csv", "--target", "y", *small).said
    ignored = [part for name in WAYS for part in ("--ignore", name)]
    for name in WAYS:
        assert said.count(f"(--ignore {name})") == 1
    assert "tells the target" not in called("fit", "x.csv", "--target", "y", *ignored, *small).said


def test_a_row_is_sampled_wherever_it_is():
    """Rows in the order of their classes, and more of them than are looked at together."""
    y = np.repeat([0, 1, 2], 5_000)
    frame = pd.DataFrame({"a": y + np.random.default_rng(0).random(15_000) / 2, "y": y})
    assert told(lambda: open_dataset(frame, target="y").materialise()) == {
        "a": ("by thresholds", "almost exactly")
    }
    assert told(lambda: KernelClassifier(**QUICK).fit(frame[["a"]], y)) == {
        "a": ("by thresholds", "almost exactly")
    }


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_ordinary_data_raise_no_alarm(load):
    """A petal tells setosa, and not all classes."""
    X, y = load(return_X_y=True)
    assert told(lambda: KernelClassifier(**QUICK).fit(X, y)) == {}
    assert told(lambda: KernelClassifier(**QUICK).fit(X, np.where(y == 1, "one", "rest"))) == {}


def test_setosa_alone_is_told_by_a_petal():
    X, y = load_iris(return_X_y=True)
    assert told(lambda: KernelClassifier(**QUICK).fit(X, y == 0)) == {
        "column_3": ("by a threshold", "exactly"),
        "column_4": ("by a threshold", "exactly"),
    }


def test_chance_raises_no_alarm():
    """Six rows of a class and many columns: some column has them at one end."""
    random = np.random.default_rng(3)
    y = np.repeat([0, 1], [54, 6])
    X = random.normal(size=(60, 20_000))
    X[:, 7] = y + random.random(60) / 2
    assert separations(X, y, 2) == {}  # with so many columns, not even one that does
    assert list(separations(X[:, :9], y, 2)) == [7]
    assert told(lambda: KernelClassifier(**QUICK).fit(X[:, 8:200], y)) == {}


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_thresholds_are_the_best_ones(n_classes):
    """Against all thresholds and all orders of the classes, one by one."""
    random = np.random.default_rng(n_classes)
    for trial in range(20):
        y = np.append(np.repeat(np.arange(n_classes), 5), random.integers(0, n_classes, 60))
        order = random.permutation(n_classes)
        column = np.round(order[y] + random.random(len(y)) * (1 + 0.02 * (trial % 3)), 2)
        values = np.unique(column)
        cuts = [-np.inf, *((values[1:] + values[:-1]) / 2), np.inf]
        best = _fewest_wrong(column, y, n_classes, cuts)
        found = separations(column[:, None], y, n_classes)
        assert (0 in found) == (best == 0)  # with so few rows nothing may be wrong
        if found:
            assert found[0].n_wrong == 0


def _fewest_wrong(column, y, n_classes, cuts):
    """The fewest wrong rows of all orders of classes, by dynamic programming over cuts."""
    best = len(y)
    for order in permutations(range(n_classes)):
        right = [0] * len(cuts)
        for number in order:
            inside = [
                [int(((low < column) & (column < high) & (y == number)).sum()) for high in cuts]
                for low in cuts
            ]
            right = [
                max(right[low] + inside[low][high] for low in range(high + 1))
                for high in range(len(cuts))
            ]
        best = min(best, len(y) - right[-1])
    return best


def test_quantities_and_what_is_not_looked_at():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    assert told(lambda: KernelRegressor(**QUICK).fit(X, 3 * X[:, 1] - 7)) == {
        "column_2": ("", "almost exactly")
    }
    assert told(lambda: KernelRegressor(**QUICK).fit(X, X @ [1, 1, 1])) == {}
    y = (X[:, 0] > 0).astype(int)
    assert "column_1" in told(lambda: KernelClassifier(**QUICK).fit(X, y))
    assert told(lambda: KernelClassifier(**QUICK).fit(sp.csr_matrix(np.abs(X)), y)) == {}
    assert told(lambda: KernelClassifier(**QUICK).fit(X[:40], y[:40])) == {}
    assert told(lambda: KernelRegressor(**QUICK).fit(X, X[:, :2])) == {}


def test_the_warning_points_at_the_line_of_the_user():
    frame = leaking()
    with pytest.warns(DataWarning, match="leave it out of X") as caught:
        KernelClassifier(**QUICK).fit(frame[["noise", "score"]], frame["y"])
    assert [each.filename for each in caught] == [__file__]


# -- Scores that are too good, or worse than none


def test_a_perfect_score_is_remarked():
    random = np.random.default_rng(1)
    X, y = random.random((300, 4)), np.repeat(["u", "v"], 150)
    X[:, :2] += 5.0 * (y == "v")[:, None]
    note = "  note    a perfect score is rare: see whether a column comes of the target"
    model = KernelClassifier(n_components=64).fit(X, y)
    assert "accuracy 1.000" in model.summary()
    assert model.summary().endswith("\n" + note)
    ordinary = KernelClassifier(n_components=64).fit(X[:, 2:], y).summary()
    assert "note" not in ordinary
    scored = KernelClassifier(n_components=64, scoring="recall_macro").fit(X, y)
    assert "recall_macro 1.000" in scored.summary()
    assert "note" not in scored.summary()
    pd.DataFrame(X, columns=list("abcd")).assign(y=y).to_csv("x.csv", index=False)
    answer = called("fit", "x.csv", "-o", "m.klt", "-k", "64", "--target", "y")
    assert note in answer.out


def test_a_score_below_that_of_the_mean_is_remarked():
    random = np.random.default_rng(1)
    X, y = random.random((300, 4)), random.normal(size=300)
    note = (
        "  note    below 0, so predicting the mean would be better: the columns may say nothing "
        "about the target"
    )
    model = KernelRegressor(n_components=64).fit(X, y)
    assert model.validation_score_ < 0
    assert model.summary().endswith("\n" + note)
    assert "note" not in KernelRegressor(n_components=64).fit(X, X[:, 0] + y / 10).summary()
    absolute = KernelRegressor(n_components=64, scoring="neg_mean_absolute_error").fit(X, y)
    assert "note" not in absolute.summary()


def test_rows_held_out_of_all_passes_are_remarked_too(monkeypatch):
    model = TableModel(KernelClassifier(**QUICK))
    model.fit(leaking()[["noise", "y"]], target="y")
    assert "note" not in model.summary()
    scores = {"task": "classification", "rows": 50, "accuracy": 1.0, "standard_error": 0.0}
    monkeypatch.setattr(model, "held_out_", scores)
    assert model.summary().endswith("rare: see whether a column comes of the target")
    monkeypatch.setattr(model, "held_out_", scores | {"accuracy": 0.9})
    assert "note" not in model.summary()


# -- Once


def test_a_study_names_a_leak_once_and_by_its_name():
    frame = leaking()[["noise", "gaps", "kind", "score", "y"]]
    X, y = frame.drop(columns="y"), frame["y"]
    few = {"kernels": ["gmm"], "components": [16], "budget": "2s", "progress": False}
    expected = {"score": ("by a threshold", "exactly")}
    assert told(lambda: compare(X, y, **few)) == expected
    assert told(lambda: compare(open_dataset(frame, target="y"), **few)) == expected
    numbers = frame[["noise", "score"]].to_numpy()
    assert told(lambda: compare(numbers, y, **few)) == {"column_2": ("by a threshold", "exactly")}


def test_no_verb_repeats_a_note():
    frame = leaking()
    frame["level"] = [str(at) if at % 50 else "n/k" for at in range(ROWS)]
    frame.to_csv("x.csv", index=False)
    for verb in (
        ("fit", "x.csv", "--target", "y", "-o", "m.klt", "-k", "16"),
        ("encode", "x.csv", "-o", "c.npz", "-k", "16"),
        ("predict", "m.klt", "x.csv", "-o", "p.csv"),
        ("evaluate", "m.klt", "x.csv"),
        ("similarity", "x.csv", "-o", "s.csv"),
    ):
        answer = called(*verb)
        assert answer.status == 0, answer.said
        lines = answer.said.splitlines()
        assert any("'n/k' in line" in line for line in lines)
        assert len(lines) == len({*lines}), answer.said


def test_the_sample_has_the_rows_of_the_least_keys():
    rng = np.random.default_rng(3)
    sample = target_leaks._Sample(2)
    keys, rows = np.random.default_rng(0), []  # those of the sample
    for count in (0, 3, 256, 4096, 9000, 1, 50, 9000):
        numbers = rng.normal(size=(count + 7, 2))
        numbers[::3, 1] = np.nan
        classes = rng.integers(-1, 3, count)
        sample.add(Block(numbers), slice(7, count + 7), classes)
        rows += [
            (key, number, *values)
            for key, number, values in zip(keys.random(count), classes, numbers[7:], strict=True)
            if number >= 0
        ]
    assert sample.n_seen == len(rows)
    wanted = np.array(sorted(rows)[: target_leaks.SAMPLE_ROWS])
    np.testing.assert_array_equal(sample.classes, wanted[:, 1])
    np.testing.assert_array_equal(sample.values, wanted[:, 2:])
