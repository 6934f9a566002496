"""TableModel: files in, predictions out, within a limit of memory."""

from __future__ import annotations

import errno
import os
import pickle
import tempfile

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kernelight
from kernelight import KernelClassifier, KernelRegressor, State, TableModel, open_dataset
from kernelight.data import DataError
from kernelight.linear.stored_rows import StoredRows
from kernelight.tables import fitting
from kernelight.tables.evaluation import ClassCounts, ErrorSums
from kernelight.tables.memory_limit import Allowance, bytes_of
from kernelight.tables.sample import EVERY_CLASS, HeldOut, Sample, hashed

ROWS = 900


def write_table(path, seed=0, rows=ROWS, *, target="kind", order=None):
    """A table of numbers, words and gaps whose classes are those of an exclusive or."""
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(2, rows))
    kind = np.where(a * b > 0, "same", "other")
    lines = []
    for at in range(rows) if order is None else order(kind):
        first = "" if at % 31 == 0 else f"{a[at]:.4f}"
        last = kind[at] if target == "kind" else f"{a[at] * b[at] + 100:.4f}"
        lines.append(f"r{at},{first},{b[at]:.4f},{('red', 'green')[at % 2]},{last}")
    path.write_text("\n".join([f"id,a,b,colour,{target}", *lines]) + "\n")
    return str(path)


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "train.csv")


def small(**given):
    return KernelClassifier(n_components=64, C=1.0, scale=None, **given)


def test_from_file_to_predictions(table, tmp_path):
    model = TableModel(small()).fit(table, ids="id")
    X, y = open_dataset(table, ids="id").materialise()
    alone = small().fit(X, y)
    np.testing.assert_array_equal(model.predict(table), alone.predict(X))
    test = write_table(tmp_path / "test.csv", 1)
    found = model.evaluate(test)
    truth = open_dataset(test, encoding=model.encoding_).materialise()[1]
    assert found["rows"] == ROWS
    assert found["accuracy"] == np.mean(model.predict(test) == truth) > 0.85
    assert found["confusion"]["labels"] == ["other", "same"]
    assert np.sum(found["confusion"]["rows_are_true_columns_predicted"]) == ROWS
    assert (model.task, model.n_rows_) == ("classification", ROWS)
    assert table in model.summary()


def test_the_target_decides_the_model(table, tmp_path):
    assert isinstance(TableModel().fit(table, ids="id").model_, KernelClassifier)
    numbers = write_table(tmp_path / "numbers.csv", target="value")
    model = TableModel(KernelRegressor(n_components=128, C=1.0)).fit(numbers, ids="id")
    found = model.evaluate(numbers)
    X, y = open_dataset(numbers, ids="id").materialise()
    assert found["r2"] == pytest.approx(model.model_.score(X, y), abs=1e-9)
    assert found["r2"] > 0.5
    error = np.abs(model.predict(numbers) - y)
    assert found["mean_absolute_error"] == pytest.approx(error.mean())
    assert found["largest_error"] == error.max()
    with pytest.raises(ValueError, match="this model predicts quantities"):
        next(model.predict_batches(numbers, probabilities=True))
    with pytest.raises(DataError, match="KernelClassifier was asked for"):
        TableModel(small()).fit(numbers, ids="id")


def test_files_and_pickles_predict_the_same(table, tmp_path):
    model = TableModel(small(loss="logistic")).fit(table, ids="id")
    model.save(tmp_path / "model.klt")
    wanted = next(model.predict_batches(table, probabilities=True)).probabilities
    for other in (kernelight.load(tmp_path / "model.klt"), pickle.loads(pickle.dumps(model))):
        assert other.encoding_ == model.encoding_
        part = next(iter(other.predict_batches(table, probabilities=True)))
        np.testing.assert_array_equal(part.probabilities, wanted)
        assert part.ids[:2] == ["r0", "r1"]
    model.save(tmp_path / "half.klt", weights="float16")
    assert (tmp_path / "half.klt").stat().st_size < (tmp_path / "model.klt").stat().st_size
    assert (
        np.mean(TableModel.load(tmp_path / "half.klt").predict(table) == model.predict(table))
        > 0.99
    )


def altered(state, change):
    meta = state.meta
    change(meta)
    return State(meta, state.arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda meta: meta.pop("encoding"), "encoding"),
        (lambda meta: meta["encoding"].update(width=3), "width"),
        (lambda meta: meta["encoding"]["target"].update(labels=["other", "else"]), "other classes"),
        (lambda meta: meta["encoding"].update(target=None), "target"),
        (lambda meta: meta["encoding"]["target"].update(task="regression"), "target"),
        (lambda meta: meta["parts"].update(model={"kind": "State"}), "Its model"),
        (lambda meta: meta.update(n_rows=-1), "n_rows"),
        (lambda meta: meta.update(parts=7), "TableModel"),
    ],
)
def test_states_that_cannot_be(table, change, message):
    state = TableModel(small()).fit(table, ids="id").to_state()
    with pytest.raises(ValueError, match=message):
        TableModel.from_state(altered(state, change))


def test_wrong_use(table, tmp_path):
    with pytest.raises(NotFittedError):
        TableModel().predict(table)
    with pytest.raises(TypeError, match="KernelClassifier"):
        TableModel(kernelight.LinearClassifier())
    with pytest.raises(DataError, match="no target"):
        TableModel().fit(table, target=None, ids="id")
    with pytest.raises(ValueError, match="passes"):
        TableModel().fit(table, ids="id", passes=0)
    model = TableModel(small()).fit(table, ids="id")
    with pytest.raises(ValueError, match="Intervals are for quantities"):
        next(model.predict_batches(table, interval=0.9))
    (tmp_path / "new.csv").write_text("id,a,colour\n1,2,red\n")
    with pytest.raises(DataError, match="'b' missing"):
        model.predict(str(tmp_path / "new.csv"))
    (tmp_path / "new.csv").write_text("id,a,b,colour\n1,2,3,red\n")
    assert model.predict(str(tmp_path / "new.csv")).shape == (1,)
    with pytest.raises(DataError, match="no target 'kind'"):
        model.evaluate(str(tmp_path / "new.csv"))
    (tmp_path / "new.csv").write_text("id,a,b,colour,kind\n1,2,3,red,odd\n")
    with pytest.warns(UserWarning, match="'odd' never occurred in training"):
        assert model.evaluate(str(tmp_path / "new.csv"))["accuracy"] == 0


# -- Limits of memory


@pytest.mark.parametrize(
    ("text", "value"),
    [("512M", 512 << 20), ("1.5g", 3 << 29), ("7 KiB", 7168), (10, 10), ("64", 64)],
)
def test_sizes(text, value):
    assert bytes_of(text) == value


@pytest.mark.parametrize("text", ["", "M", "-1M", "0", 0, "1X", None, True, 1.5])
def test_sizes_that_are_none(text):
    with pytest.raises(ValueError, match="memory must"):
        bytes_of(text)


def in_batches(rows, size):
    for start in range(0, rows, size):
        places = np.arange(start, min(start + size, rows))
        yield np.column_stack([places, places]).astype(float), places


def test_a_sample_is_fair():
    """Of 60 rows 12 are kept: each with probability 1/5, every pair with 12 * 11 / (60 * 59)."""
    turns = 2000
    kept = np.zeros((turns, 60))
    for turn in range(turns):
        sample = Sample(12, turn, classes=False)
        for X, y in in_batches(60, 7):
            sample.add(X, y)
        X, y = sample.take(12)
        np.testing.assert_array_equal(X[:, 0], y)
        assert (np.diff(y) > 0).all()
        assert len(y) == 12
        kept[turn, y] = 1
    share, wanted = kept.mean(axis=0), 12 / 60
    assert np.abs(share - wanted).max() < 5 * np.sqrt(wanted * (1 - wanted) / turns)
    pairs = kept.T @ kept / turns
    wanted = 12 * 11 / (60 * 59)
    away = np.abs(pairs[~np.eye(60, dtype=bool)] - wanted).max()
    assert away < 5 * np.sqrt(wanted * (1 - wanted) / turns)


def test_a_sample_of_fewer_rows_is_all_of_them():
    sample = Sample(1000, 0, classes=True)
    for X, y in in_batches(500, 64):
        sample.add(X, y % 3)
    assert sample.complete
    X, _ = sample.take(sample.n_rows)
    np.testing.assert_array_equal(X[:, 0], np.arange(500))


def test_every_class_is_in_a_sample():
    sample = Sample(50, 0, classes=True)
    labels = np.repeat([0, 1, 2], [3, 100_000, 30])
    for start in range(0, len(labels), 1000):
        sample.add(np.zeros((len(labels[start : start + 1000]), 1)), labels[start : start + 1000])
    assert not sample.complete
    _, y = sample.take(50)
    counts = np.bincount(y)
    assert counts[0] == 3
    assert counts[1] >= EVERY_CLASS
    assert counts[2] >= EVERY_CLASS
    assert len(y) == 50


def test_rows_held_out_are_a_fair_share_and_the_same_in_every_pass():
    rows, firsts = 100_000, np.arange(40)
    held = HeldOut(most=2000)
    labels = np.random.default_rng(0).integers(0, 3, rows)
    for start in range(0, rows, 3000):
        held.add(labels[start : start + 3000])
    held.settle(firsts)
    whole = held.among(np.arange(rows))
    assert whole.sum() == held.n_rows
    assert 2000 - len(firsts) <= held.n_rows <= 2000
    assert not whole[firsts].any()
    np.testing.assert_array_equal(np.bincount(labels[whole]), np.bincount(held.y))
    parts = [held.among(np.arange(at, min(at + 777, rows))) for at in range(0, rows, 777)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    tenths = whole.reshape(10, -1).sum(axis=1)  # along the file: 200 each
    assert np.abs(tenths - 200).max() < 5 * np.sqrt(200)
    few = HeldOut()
    few.add(np.zeros(1000))
    few.settle(np.zeros(0, dtype=np.int64))
    assert few.n_rows == few.among(np.arange(1000)).sum() == 100


def test_hashes_of_places_differ():
    assert len(np.unique(hashed(np.arange(100_000)))) == 100_000


def test_few_rows_take_memory_too():
    given = {
        "base": 150 << 20,
        "of_row": 80,
        "code_bytes": 1024,
        "n_outputs": 1,
        "n_weights": 1024 << 8,
    }
    with pytest.raises(
        ValueError, match=r"the process takes 150 MB .* at least 241 MB: allow that"
    ):
        Allowance(5 << 20, **given).refuse_too_little()
    Allowance(241 << 20, **given).refuse_too_little()


class Narrow(Allowance):
    """Little room for rows, whatever the process takes already."""

    held = 400
    block_rows = None

    def batch(self, n_rows):
        return 150

    def block(self, n_rows, n_held_out):
        return self.block_rows


NOTHING = {"limit": 1, "base": 0, "of_row": 1, "code_bytes": 1, "n_outputs": 1, "n_weights": 1}


@pytest.fixture(params=[None, 1500, 10**6], ids=["read again", "on disk", "in memory"])
def narrow(monkeypatch, request):
    """Too little memory for rows; where their codes are, if they are kept."""
    monkeypatch.setattr(Narrow, "block_rows", request.param)
    monkeypatch.setattr(fitting, "_allowance", lambda *_: Narrow(**NOTHING))
    return request.param


@pytest.mark.parametrize(
    "order", [None, lambda kind: np.argsort(kind, kind="stable")], ids=["mixed", "sorted"]
)
def test_rows_that_do_not_fit_are_learned_in_batches(tmp_path, order, narrow):
    rows = 6000
    table = write_table(tmp_path / "train.csv", rows=rows, order=order)
    test = write_table(tmp_path / "test.csv", 1, rows=3000)
    seen = []
    model = TableModel(KernelClassifier(n_components=256, C=1.0, scale="minmax+complement")).fit(
        table, ids="id", memory="1G", watch=seen.append
    )
    whole = TableModel(KernelClassifier(n_components=256, C=1.0, scale="minmax+complement")).fit(
        table, ids="id"
    )
    assert model.evaluate(test)["accuracy"] > whole.evaluate(test)["accuracy"] - 0.005
    assert model.n_rows_ == rows
    found = model.explain(test)  # it knows the rows to centre on
    features, _ = model.open(test).materialise()
    size = np.abs(found.values).sum(axis=1)
    np.testing.assert_array_less(
        np.abs(found.scores - model.model_.decision_function(features)), 1e-5 * (1 + size)
    )
    held = model.held_out_["rows"]
    assert rows // 10 - 2 * EVERY_CLASS <= held <= rows // 10
    assert model.model_.n_rows_ == rows - held
    told = [event[:4] for event in seen]
    if narrow is None:
        assert ("pass 3 of 3", rows - held, rows - held, "rows") in told
    else:  # it may take fewer passes
        assert ("encoding", rows, rows, "rows") in told
        assert ("pass 1 of 3", rows - held, rows - held, "rows") in told
    assert ("evaluating the model", held, held, "rows") in told
    shares = [event.fraction for event in seen if event.fraction is not None]
    assert shares == sorted(shares)
    assert shares[-1] > 0.9


@pytest.mark.parametrize("narrow", [1500], indirect=True)
def test_an_interrupt_or_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch, narrow):
    table = write_table(tmp_path / "train.csv", rows=6000)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    files = []

    def interrupt(self, rows):
        files.append(self._file)
        raise KeyboardInterrupt

    def full(self, *arguments):
        files.append(self._file)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))

    for name, fault, error in (("blocks", interrupt, KeyboardInterrupt), ("_write", full, OSError)):
        model = TableModel(small())
        with monkeypatch.context() as patched:
            patched.setattr(StoredRows, name, fault)
            with pytest.raises(error):
                model.fit(table, ids="id", memory="1G")
        assert list(folder.iterdir()) == []
        assert not hasattr(model, "model_")
    assert len(files) == 2
    assert all(file.closed for file in files)


@pytest.mark.usefixtures("narrow")
def test_quantities_and_sparse_rows_in_batches(tmp_path):
    table = write_table(tmp_path / "train.csv", rows=3000, target="value")
    model = TableModel(KernelRegressor(n_components=256, C=1.0)).fit(table, ids="id", memory="1G")
    assert model.evaluate(table)["r2"] > 0.6
    random = np.random.default_rng(0)
    lines = [
        f"{y} " + " ".join(f"{at + 1 + 3 * y}:{random.random():.3f}" for at in range(4))
        for y in (0, 1)
    ] * 500
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    model = TableModel(KernelClassifier(n_components=64, C=1.0)).fit(
        str(tmp_path / "rows.svm"), memory="1G"
    )
    assert model.evaluate(str(tmp_path / "rows.svm"))["accuracy"] == 1.0


@pytest.mark.usefixtures("narrow")
def test_rare_classes_weigh_as_much_in_batches(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(6000, 2)).round(4)
    rare = (X[:, 0] > 1.2) & (random.random(6000) < 0.5)
    lines = [
        f"{a},{b},{'rare' if found else 'usual'}" for (a, b), found in zip(X, rare, strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,kind", *lines]) + "\n")
    model = TableModel(small(class_weight="balanced")).fit(tmp_path / "t.csv", memory="1G")
    assert model.model_.class_weight == pytest.approx(
        {"rare": 3000 / rare.sum(), "usual": 3000 / (~rare).sum()}, rel=0.05
    )
    # those of the rows that were learned from: of both classes together the same
    weights = model.model_.class_weight
    learned = {label: model.model_.n_rows_ / (2 * weight) for label, weight in weights.items()}
    assert learned == pytest.approx({label: round(count) for label, count in learned.items()})
    assert sum(learned.values()) == pytest.approx(6000 - model.held_out_["rows"])
    plain = TableModel(small()).fit(tmp_path / "t.csv", memory="1G")
    found, without = (
        each.evaluate(tmp_path / "t.csv")["balanced_accuracy"] for each in (model, plain)
    )
    assert found > without + 0.05


@pytest.mark.usefixtures("narrow")
def test_an_exact_machine_needs_all_rows(tmp_path):
    table = write_table(tmp_path / "train.csv", rows=6000)
    with pytest.raises(ValueError, match="exact"):
        TableModel(KernelClassifier(method="exact", C=1.0, scale=None)).fit(
            table, ids="id", memory="1G"
        )


def test_a_limit_that_is_too_small_says_what_it_takes(tmp_path, monkeypatch):
    table = write_table(tmp_path / "train.csv", rows=6000)
    given = {
        "base": 100 << 20,
        "of_row": 80,
        "code_bytes": 64,
        "n_outputs": 1,
        "n_weights": 64 << 8,
    }
    monkeypatch.setattr(fitting, "_allowance", lambda *_: Allowance(1 << 20, **given))
    # the first look, without rows
    monkeypatch.setattr("kernelight.tables.model.refuse_too_little", lambda *_: None)
    with pytest.raises(ValueError, match="takes at least") as refusal:
        TableModel(small()).fit(table, ids="id", memory="1M")
    enough = int(str(refusal.value).partition("at least ")[2].split()[0])
    assert Allowance(enough << 20, **given).batch(6000) >= 256
    with pytest.raises(ValueError, match="takes at least"):
        Allowance((enough - 1) << 20, **given).batch(6000)
    large = Allowance(8 << 30, **given)
    assert large.held > 1_000_000
    assert large.batch(10**8) == 1 << 16


# -- Counting


def test_counts_of_classes_are_those_of_scikit_learn():
    from sklearn.metrics import (
        balanced_accuracy_score,
        confusion_matrix,
        precision_score,
        recall_score,
    )

    random = np.random.default_rng(0)
    truth = random.integers(0, 4, 500)
    found = np.where(random.random(500) < 0.6, truth, random.integers(0, 4, 500))
    counts = ClassCounts()
    for rows in (slice(0, 100), slice(100, 500)):
        counts.add(truth[rows], found[rows])
    result = counts.result()
    assert result["accuracy"] == np.mean(truth == found)
    assert result["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(truth, found))
    np.testing.assert_array_equal(
        result["confusion"]["rows_are_true_columns_predicted"], confusion_matrix(truth, found)
    )
    np.testing.assert_allclose(
        [entry["precision"] for entry in result["classes"]],
        precision_score(truth, found, average=None),
    )
    np.testing.assert_allclose(
        [entry["recall"] for entry in result["classes"]], recall_score(truth, found, average=None)
    )


def test_errors_far_from_zero():
    from sklearn.metrics import r2_score, root_mean_squared_error

    random = np.random.default_rng(0)
    truth = 1e9 + random.normal(size=1000)
    found = truth + 0.3 * random.normal(size=1000)
    errors = ErrorSums()
    for rows in (slice(0, 1), slice(1, 1000)):
        errors.add(truth[rows], found[rows])
    result = errors.result()
    assert result["r2"] == pytest.approx(r2_score(truth, found), abs=1e-9)
    assert result["root_mean_squared_error"] == pytest.approx(root_mean_squared_error(truth, found))
    constant = ErrorSums()
    constant.add(np.ones(3), np.zeros(3))
    assert constant.result()["r2"] is None
