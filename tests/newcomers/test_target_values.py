"""Columns of many words become target values: right, without leaks, the same on every way.

Long because one table and its slow target values serve all of these questions.
"""

from __future__ import annotations

import json
import os
import pickle
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import kernelight
from kernelight import KernelClassifier, KernelRegressor, TableMap, TableModel, open_dataset
from kernelight.cli import info
from kernelight.data import Encoding, target_values
from kernelight.data.table_source import Categorical
from kernelight.data.target_values import FOLDS, CrossFit, TargetMeans, TargetValues, folds_of
from kernelight.study import compare
from kernelight.study.inputs import rows_of, taken
from kernelight.study.plan import cut
from kernelight.tables import fitting
from kernelight.tables.memory_limit import Allowance
from kernelight.tables.sample import HeldOut

ROWS, TOWNS = 1_500, 300
pytestmark = pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")


def towns(seed: int = 0) -> pd.DataFrame:
    """300 towns of about five rows each, and a size; both matter, and some values are missing."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, TOWNS, ROWS)
    score = 2.0 * np.random.default_rng(7).standard_normal(TOWNS)[town] + rng.standard_normal(ROWS)
    words = np.array([f"town {at:03d}" for at in town], dtype=object)
    words[rng.random(ROWS) < 0.02] = None
    bought = np.where(score > 0, "yes", "no").astype(object)
    return pd.DataFrame(
        {"town": words, "size": rng.random(ROWS), "bought": bought, "price": score + 10}
    )


FRAME = towns()
X, Y = FRAME[["town", "size"]], FRAME["bought"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def small(**more):
    return KernelClassifier(n_components=64, scale="minmax", C=1.0, **more)


# -- The values


def words_of(words) -> Categorical:
    known = sorted({word for word in words if isinstance(word, str)})
    return Categorical(
        np.array([known.index(w) if isinstance(w, str) else -1 for w in words], dtype=np.int32),
        tuple(known),
    )


def slow_values(words, target, weight, own_fold):
    """Row by row: the shrunken mean of the rows with the same word in other folds, or in all."""
    words, weight = [str(word) for word in words], weight / weight.mean()
    groups = {word: [i for i, other in enumerate(words) if other == word] for word in set(words)}
    n, count = len(words), len(groups)
    mean = np.average(target, weights=weight)
    means = {w: np.average(target[at], weights=weight[at]) for w, at in groups.items()}
    within = sum((weight[at] * (target[at] - means[w]) ** 2).sum() for w, at in groups.items()) / (
        n - count
    )
    sizes = {w: weight[at].sum() for w, at in groups.items()}
    between = sum(sizes[w] * (means[w] - mean) ** 2 for w in groups) / (count - 1)
    each = (n - sum(size**2 for size in sizes.values()) / n) / (count - 1)
    strength = within / ((between - within) / each)
    fold = folds_of(np.arange(n))
    values = []
    for i, word in enumerate(words):
        at = [j for j in groups[word] if not own_fold or fold[j] != fold[i]]
        values.append(
            (sum(weight[j] * target[j] for j in at) + strength * mean)
            / (weight[at].sum() + strength)
        )
    return np.array(values)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("quantities", [False, True])
def test_the_values_are_shrunken_means_of_the_other_folds(weighted, quantities):
    frame = FRAME[:600]
    words = words_of(frame["town"])
    target = (
        frame["price"].to_numpy()
        if quantities
        else (frame["bought"] == "yes").to_numpy().astype(float)
    )
    weight = np.random.default_rng(1).random(600) + 0.5 if weighted else np.ones(600)
    outputs = (
        TargetMeans.of_quantities(["price"])
        if quantities
        else TargetMeans.of_classes(["no", "yes"])
    )
    fit = CrossFit({"town": words.values}, outputs)
    fit.add([words], target[:, None] if quantities else target.astype(int), np.arange(600), weight)
    fit.settle()
    expected = slow_values(frame["town"], target, weight, own_fold=True)
    np.testing.assert_allclose(
        fit.of_training("town", words, np.arange(600))[:, 0], expected, rtol=1e-9
    )
    expected = slow_values(frame["town"], target, weight, own_fold=False)
    np.testing.assert_allclose(fit.values["town"](words)[:, 0], expected, rtol=1e-9)
    strange = fit.values["town"](words_of(["Atlantis"]))
    assert strange[0, 0] == pytest.approx(np.average(target, weights=weight))


def test_three_classes_have_a_share_each_and_targets_a_mean_each():
    kind = np.random.default_rng(0).integers(0, 3, ROWS)
    town = FRAME["town"].fillna("none").to_numpy()
    y = np.where(
        np.array([word[-1] in "02468" for word in town]), "a", np.array(["a", "b", "c"])[kind]
    )
    model = small().fit(X, y)
    assert model.encoding_.feature_names[-4:] == [
        "town: share of a",
        "town: share of b",
        "town: share of c",
        "size",
    ]
    shares = model.encoding_.columns[0].targets.table
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    both = np.column_stack(
        [FRAME["price"], np.random.default_rng(1).random(ROWS), -1e6 * FRAME["price"]]
    )
    several = KernelRegressor(n_components=64, scale="minmax", C=1.0).fit(X, both)
    outputs = several.encoding_.columns[0].targets.outputs
    # towns say nothing about the second target
    assert outputs == ("mean target 1", "mean target 3")
    table = several.encoding_.columns[0].targets.table
    np.testing.assert_allclose(table[:, 1], -1e6 * table[:, 0], rtol=1e-6)


def test_a_target_of_more_classes_than_columns_leaves_frequent_words():
    data = open_dataset(FRAME.assign(bought=FRAME["town"]), target="bought").supervised()
    data.materialise()
    assert data.encoding.columns[0].targets is None
    assert "295 words; the 99 most frequent have columns of their own" in data.notes[0]


@pytest.mark.parametrize("size", [1e300, 1e-300, 1e9])
def test_quantities_of_any_size(size):
    y = size * (FRAME["price"].to_numpy() + (1e3 if size == 1e9 else 0.0))
    plain = KernelRegressor(n_components=64, scale="minmax", C=1.0).fit(X, FRAME["price"])
    model = KernelRegressor(n_components=64, scale="minmax", C=1.0).fit(X, y)
    expected = plain.encoding_.columns[0].targets.table + (1e3 if size == 1e9 else 0.0)
    np.testing.assert_allclose(model.encoding_.columns[0].targets.table / size, expected, rtol=1e-9)
    wanted = plain.predict(X) + (1e3 if size == 1e9 else 0.0)
    np.testing.assert_allclose(model.predict(X) / size, wanted, atol=0.2)


def test_weights_of_zero_are_rows_that_are_not_there():
    weight = np.ones(ROWS)
    weight[1_000:] = 0.0
    some = small().fit(X, Y, sample_weight=weight).encoding_.columns[0].targets
    alone = small().fit(X[:1_000], Y[:1_000]).encoding_.columns[0].targets
    shared = [alone.words.index(word) for word in some.words if word in alone.words]
    mine = [some.words.index(alone.words[at]) for at in shared]
    np.testing.assert_allclose(some.table[mine], alone.table[shared], rtol=1e-12)


def test_words_and_values_are_bounded(monkeypatch):
    monkeypatch.setattr(target_values, "MOST_CELLS", 50)
    model = small().fit(X, Y)
    counts = FRAME["town"].value_counts()
    kept = model.encoding_.columns[0].targets.words
    assert len(kept) == 50
    assert counts[list(kept)].min() >= counts.drop(list(kept)).max()
    rare = X.head(1).assign(town=counts.index[-1])
    assert model.predict(rare.assign(town="Atlantis")).tolist() == model.predict(rare).tolist()
    monkeypatch.setattr(target_values, "MOST_BYTES", 400)
    assert len(small().fit(X, Y).encoding_.columns[0].targets.words) == 11


# -- Leaks


def noise(seed: int, each: int = 6, rows: int = 1_200) -> tuple[pd.DataFrame, np.ndarray]:
    """Words of six rows each and random classes, which have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    word = rng.permutation(np.repeat(np.arange(2 * rows // each), each))
    frame = pd.DataFrame({"word": [f"w{at}" for at in word], "x": rng.random(2 * rows)})
    return frame, rng.integers(0, 2, 2 * rows)


def test_words_that_tell_nothing_do_not_mislead():
    naive, trained, held, tested = [], [], [], []
    for seed in range(4):
        frame, y = noise(seed)
        half = len(y) // 2
        means = (
            pd.Series(y[:half])
            .groupby(frame["word"][:half].to_numpy())
            .transform("mean")
            .to_numpy()
        )
        leaking = np.column_stack([means, frame["x"][:half]])
        naive.append(small().fit(leaking, y[:half]).score(leaking, y[:half]))
        model = KernelClassifier(n_components=64, scale="minmax", cv=3).fit(frame[:half], y[:half])
        trained.append(np.mean([entry["score"] for entry in model.search_]))
        held.append(model.validation_score_)
        tested.append(model.score(frame[half:], y[half:]))
    assert np.mean(naive) > 0.65  # the mean of a word's own rows knows their classes
    assert abs(np.mean(trained) - 0.5) < 0.02  # standard error 0.007
    assert np.mean(held) < 0.54  # the best of seven
    assert abs(np.mean(tested) - 0.5) < 0.025


@pytest.mark.parametrize("table", [False, True], ids=["frame", "table"])
def test_rows_held_out_of_the_search_are_held_out_of_the_values(monkeypatch, table):
    """Values of other rows that know the classes of those held out made noise look like 54 %."""
    # words that tell nothing have values as well
    monkeypatch.setattr(target_values, "DEVIATIONS", -np.inf)
    scores = []
    for seed in range(3):
        frame, y = noise(seed)
        model = KernelClassifier(n_components=64, scale="minmax", cv=5)
        if table:
            model = TableModel(model).fit(frame.assign(y=y), target="y").model_
        else:
            model.fit(frame, y)
            assert model.encoding_.has_target_values
        scores.append(np.mean([entry["score"] for entry in model.search_]))
    assert abs(np.mean(scores) - 0.5) < 0.02  # standard error 0.006


def test_words_that_tell_nothing_cost_little_beside_a_column_that_tells():
    with_words, without = [], []
    for seed in range(3):
        frame, y = noise(seed)
        y = (
            frame["x"] + 0.2 * np.random.default_rng(seed).standard_normal(len(y)) > 0.5
        ).to_numpy()
        half = len(y) // 2
        with_words.append(small().fit(frame[:half], y[:half]).score(frame[half:], y[half:]))
        alone = frame[["x"]].to_numpy()
        without.append(small().fit(alone[:half], y[:half]).score(alone[half:], y[half:]))
    assert np.mean(with_words) > np.mean(without) - 0.03


def test_towns_are_learned_where_frequent_words_are_not_enough():
    new = towns(1)
    assert small().fit(X, Y).score(new[["town", "size"]], new["bought"]) > 0.75
    frequent = open_dataset(FRAME.drop(columns="price"), target="bought")
    rows, labels = frequent.materialise()
    tested = open_dataset(new.drop(columns="price"), encoding=frequent.encoding).materialise()
    assert small().fit(rows, labels).score(*tested) < 0.70


def test_exact_machines_and_maps_that_learn_labels_are_searched_as_well():
    frame, y = X[:300], Y[:300]
    for method, kernel in (("exact", "gmm"), ("aligned", "gaussian")):
        model = KernelClassifier(
            kernel, n_components=32, method=method, scale="minmax", C="tune", gamma=1.0
        )
        assert (
            model.set_params(gamma="tune" if kernel == "gmm" else 1.0)
            .fit(frame, y)
            .encoding_.has_target_values
        )
        assert 0.4 < model.validation_score_ < 0.9


# -- The same on every way


def test_training_rows_have_other_values_than_the_same_rows_as_new_ones():
    table = FRAME.drop(columns="price")
    data = open_dataset(table, target="bought").supervised()
    trained, _ = data.materialise()
    again, _ = open_dataset(table, encoding=data.encoding).materialise()
    column = data.feature_names.index("town: share of yes")
    others = np.delete(trained, column, axis=1)
    np.testing.assert_array_equal(others, np.delete(again, column, axis=1))
    assert (trained[:, column] != again[:, column]).mean() > 0.9
    full = data.encoding.columns[0].targets
    np.testing.assert_array_equal(again[:, column], full(words_of(table["town"]))[:, 0])


def test_files_and_frames_of_any_form_and_batches_of_any_size_give_the_same_bits():
    table = FRAME.drop(columns="price")
    table.loc[::40, "bought"] = None  # rows without a target are left out everywhere
    table.to_csv("towns.csv", index=False)
    pq.write_table(
        pa.Table.from_pandas(table, preserve_index=False), "towns.parquet", row_group_size=100
    )
    rows, labels = open_dataset(table, target="bought").supervised().materialise()
    assert len(labels) < ROWS
    for form in ("towns.csv", "towns.parquet", table):
        for size in (1, 77, 5_000):
            data = open_dataset(form, target="bought").supervised()
            batches = list(data.batches(size)) if size > 1 else [*data.batches(10)]
            np.testing.assert_array_equal(np.concatenate([batch.X for batch in batches]), rows)
            np.testing.assert_array_equal(np.concatenate([batch.y for batch in batches]), labels)
            again = [batch.X for batch in data.batches(100)]  # another pass
            np.testing.assert_array_equal(np.concatenate(again), rows)
    FRAME.drop(columns="price").to_csv("whole.csv", index=False)
    new = towns(1)[["town", "size"]]
    expected = small().fit(X, Y).predict_proba(new)
    np.testing.assert_array_equal(TableModel(small()).fit("whole.csv").predict_proba(new), expected)


def test_quantities_do_not_depend_on_blocks():
    words, price = words_of(FRAME["town"]), FRAME["price"].to_numpy()[:, None]
    tables = []
    for size in (1, 13, 400, ROWS):
        fit = CrossFit({"town": words.values}, TargetMeans.of_quantities(["price"]))
        for start in range(0, ROWS, size):
            part = slice(start, min(start + size, ROWS))
            fit.add(
                [Categorical(words.codes[part], words.values)], price[part], np.arange(ROWS)[part]
            )
        fit.settle()
        tables.append((fit.values["town"].table, fit.of_training("town", words, np.arange(ROWS))))
    for table in tables[1:]:
        np.testing.assert_array_equal(table[0], tables[0][0])
        np.testing.assert_array_equal(table[1], tables[0][1])


def test_memory_and_data_sets_that_were_opened_before():
    table = FRAME.drop(columns="price")
    table.to_csv("towns.csv", index=False)
    new = towns(1)[["town", "size"]]
    whole = TableModel(small()).fit("towns.csv", target="bought")
    within = TableModel(small()).fit("towns.csv", target="bought", memory="2G")
    opened = open_dataset("towns.csv", target="bought")
    assert opened.encoding.width == 102  # frequent words, without a target's values
    given = TableModel(small()).fit(opened)
    for model in (within, given):
        assert model.encoding_ == whole.encoding_
        np.testing.assert_array_equal(model.predict_proba(new), whole.predict_proba(new))
    # the data set itself is read as new rows then
    np.testing.assert_array_equal(given.predict(opened), whole.predict("towns.csv"))
    assert given.evaluate(opened)["accuracy"] == whole.evaluate("towns.csv")["accuracy"]
    codes = TableMap.of(given) if hasattr(TableMap, "of") else None
    if codes is not None:
        assert codes.encode(opened).shape[0] == ROWS


class Narrow(Allowance):
    """Little room for rows, whatever the process takes already."""

    held = 400

    def batch(self, n_rows):
        return 150


def test_passes_over_a_file_hold_rows_out_of_the_values_too(monkeypatch):
    monkeypatch.setattr(fitting, "_allowance", lambda *_: Narrow(1, 0, 1, 1, 1, 1))
    rows = 6_000
    table = pd.concat([towns(seed) for seed in range(4)])[["town", "size", "bought"]]
    table.to_csv("towns.csv", index=False)
    model = TableModel(small()).fit("towns.csv", memory="1G")
    held = HeldOut.of(rows).among(np.arange(rows))
    assert held.sum() == rows // 10
    assert 0 < model.held_out_["rows"] <= rows // 10
    learned = (
        small()
        .fit(table[~held][["town", "size"]], table[~held]["bought"])
        .encoding_.columns[0]
        .targets
    )
    values = model.encoding_.columns[0].targets
    np.testing.assert_allclose(
        values(words_of(learned.words)), learned(words_of(learned.words)), rtol=1e-9
    )
    new = towns(9)[["town", "size", "bought"]]
    tested = model.evaluate(new)["accuracy"]
    assert tested > 0.8
    assert abs(model.held_out_["accuracy"] - tested) < 0.06  # standard errors 0.015 and 0.01


def test_memory_of_the_sums_counts():
    table = FRAME.drop(columns="price")
    plain = open_dataset(table, target="bought", max_categories=1_000).supervised()
    many = open_dataset(table, target="bought").supervised()
    model = small()
    held = [fitting._allowance(model, data, 4 << 30, 0).base for data in (plain, many)]
    assert held[0] == 0
    assert held[1] == 2 * many.cross_fit.n_bytes > 2 * 295 * 8 * FOLDS


# -- Kept


def test_models_are_saved_loaded_piped_pickled_and_cloned(capsys):
    new = towns(1)[["town", "size"]]
    model, table = (
        small().fit(X, Y),
        TableModel(small()).fit(FRAME.drop(columns="price"), target="bought"),
    )
    expected = model.predict_proba(new)
    model.save("m.klt")
    table.save("t.klt")
    read, write = os.pipe()
    with open("t.klt", "rb") as file:
        content = file.read()

    def feed() -> None:
        with os.fdopen(write, "wb") as file:
            file.write(content)

    feeder = threading.Thread(target=feed)
    feeder.start()
    piped = kernelight.load(f"/dev/fd/{read}")
    feeder.join()
    os.close(read)
    for made in (
        kernelight.load("m.klt"),
        kernelight.load("t.klt"),
        piped,
        pickle.loads(pickle.dumps(model)),
        table,
    ):
        np.testing.assert_array_equal(made.predict_proba(new), expected)
    again = clone(model).fit(X, Y)
    assert again.encoding_ == model.encoding_
    np.testing.assert_array_equal(again.predict_proba(new), expected)
    for file in ("m.klt", "t.klt"):
        info.run(file, as_json=False)
        assert (
            f"town: {len(model.encoding_.columns[0].targets.words)} words, by their target values"
            in capsys.readouterr().out
        )
    assert "295 words, by their target values (share of yes); and 99 columns" in (
        open_dataset(FRAME.drop(columns="price"), target="bought").supervised().describe()
    )


def test_encodings_of_before_have_no_values_and_stay_what_they_are():
    frame, y = noise(0)
    encoding = small().fit(frame, y).encoding_
    plain = json.loads(json.dumps(encoding.to_plain()))
    assert plain["version"] == 2
    assert "targets" not in plain["columns"][0]
    assert Encoding.from_plain(plain) == encoding
    newer = json.loads(json.dumps(small().fit(X, Y).encoding_.to_plain()))
    assert newer["version"] == 3
    assert Encoding.from_plain(newer) == small().fit(X, Y).encoding_


@pytest.mark.parametrize(
    "change",
    [
        {"values": []},
        {"values": [0.5, 0.5, "x"]},
        {"values": [0.5, 0.5, None]},
        {"values": [0.5, 0.5, 1e999]},
        {"values": [True, 0.5, 0.5]},
        {"words": ["a", "a"], "values": [1, 2, 3, 4]},
        {"words": [1]},
        {"words": None},
        {"outputs": []},
        {"outputs": "share"},
        {"outputs": [["share"]]},
    ],
)
def test_hostile_values_are_refused(change):
    plain = {"outputs": ["share of b"], "words": ["a"], "values": [0.25, 0.5, 0.5]}
    assert TargetValues.from_plain(plain)(words_of(["a", None, "z"]))[:, 0].tolist() == [
        0.25,
        0.5,
        0.5,
    ]
    with pytest.raises(ValueError, match="A stored encoding has"):
        TargetValues.from_plain(plain | change)
    with pytest.raises(ValueError, match="A stored encoding has"):
        TargetValues.from_plain([])


def test_folds_are_fair():
    counts = np.bincount(folds_of(np.arange(100_000)), minlength=FOLDS)
    assert abs(counts - 10_000).max() < 400


# -- The study


def test_the_study_learns_values_without_its_test_rows():
    price, table = FRAME["price"].to_numpy(), FRAME.drop(columns="bought")
    test = cut(price, "regression", np.random.default_rng(3))[1]
    features, _ = rows_of(X, price, None, 3)
    column = 101  # after 99 towns, other towns and missing ones
    assert features.shape == (ROWS, 103)
    assert len(np.unique(features[:, column])) > 500
    other = price.copy()
    other[test] *= -100
    np.testing.assert_array_equal(rows_of(X, other, None, 3)[0][:, column], features[:, column])
    learn = np.setdiff1d(np.arange(ROWS), test)
    front = KernelRegressor(n_components=64, scale="minmax", C=1.0).fit(X.iloc[learn], price[learn])
    new = front.encoding_.columns[0].targets(words_of(X["town"].iloc[test]))[:, 0]
    np.testing.assert_allclose(features[test, column], new, rtol=1e-9)
    for given in (
        (X, price, None),
        (table, None, "price"),
        (open_dataset(table, target="price"), None, None),
    ):
        rows, target, _ = taken(*given, None, 3)
        np.testing.assert_array_equal(rows[:, column], features[:, column])
        assert target.values.tolist() == price.tolist()


def test_compare_needs_a_data_set_with_a_target():
    with pytest.raises(ValueError, match="iris has no target"):
        compare(open_dataset("iris", target=None), progress=False)
