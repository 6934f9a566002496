"""`BlockTraining`: a model of a table from a sample and blocks, without any engine."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelight import KernelClassifier, KernelRegressor, TableModel
from kernelight.data import DataError
from kernelight.linear.rounds import MemoryBlocks
from kernelight.tables.block_training import BlockRows, BlockTraining, in_sample, training_rows

N = 600


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return pa.table(
        {
            **{f"x{at}": X[:, at] for at in range(3)},
            "word": rng.choice(["red", "green", "1"], n),
            "kind": np.where(X[:, 0] * X[:, 1] > 0, "yes", "no"),
            "amount": X[:, 0] * X[:, 1],
        }
    )


def blocks_of(training, data, n_blocks=3):
    """The blocks of a training, by way of the bytes that an engine would carry."""
    made = training_rows(training.model, data)
    values = made.values.to_pylist()
    parts, seen = [], None
    for at in range(n_blocks):
        rows = range(at, len(values), n_blocks)
        content = made.content[at::n_blocks].tobytes()
        block = BlockRows(b"".join(values[row] for row in rows), content, len(rows))
        bits = block.seen(training.provenance)
        seen = bits if seen is None or bits is None else seen | bits
        parts.append((block.rows(training.provenance), block.targets(classes=training.classes)))
    flags = None
    if seen is not None:
        slots, width = training.seen_shape
        flags = np.unpackbits(seen, count=slots * width).astype(bool).reshape(slots, width)
    return MemoryBlocks(training.problem(flags, n_blocks), parts)


def counts_of(data, name="kind"):
    return dict(
        zip(*(each.tolist() for each in np.unique(data[name], return_counts=True)), strict=True)
    )


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (KernelClassifier("gmm", n_components=64, C=1.0, scale="standard"), "kind"),
        (KernelRegressor("gmm", n_components=64, C=1.0, scale="standard"), "amount"),
        (KernelClassifier("gaussian", n_components=64, gamma=1.0, C=1.0, scale=None), "kind"),
    ],
)
def test_near_the_ordinary_fit(model, target):
    data = table()
    other = "amount" if target == "kind" else "kind"
    options = {"target": target, "ignore": [other], "categorical": ["word"]}
    counts = counts_of(data) if target == "kind" else {}
    training = BlockTraining(TableModel(model), data, counts, **options)
    made = training.learn(blocks_of(training, data), 2e-3, 200, "here")
    local = TableModel(model).fit(data, **options)
    here, there = local.model_.model_, made.model_.model_
    assert np.allclose(there.objective_, here.objective_, rtol=3e-3)
    assert (there.dual_gap_ <= 2e-3 * there.objective_).all()
    assert (made.n_rows_, made.trained_on_, made.held_out_) == (N, "here", None)
    assert abs(made.score(table(300, 1)) - local.score(table(300, 1))) < 0.02
    assert "word=1" in made.encoding_.feature_names
    if model.kernel == "gmm":
        assert made.explain(data.slice(0, 5)).values.shape[0] == 5


def test_the_sample_decides_and_all_rows_teach():
    data = table()
    model = TableModel(KernelClassifier("gmm", n_components=32, class_weight="balanced"))
    some = data.slice(0, 200)
    training = BlockTraining(
        model, some, counts_of(data), target="kind", ignore=["amount"], categorical=["word"]
    )
    assert not hasattr(model, "model_")
    counts = counts_of(data)
    weights = training.model.model_.class_weight
    assert weights == {label: N / (2 * count) for label, count in counts.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        made = training.learn(blocks_of(training, data), 1e-9, 2, "here")
    assert made.n_rows_ == made.model_.n_rows_ == N
    assert made.model_.model_.n_iter_ == 2
    assert training.row_bytes > 4 * 40


def test_the_first_rows_of_a_class_are_in_the_sample():
    labels = pa.chunked_array([pa.array(["a"] * 300 + ["b"] * 30 + ["c"] * 2)])
    kept = in_sample(332, 50, labels)
    assert [int(kept[:300].sum()), int(kept[300:330].sum()), int(kept[330:].sum())] == [50, 20, 2]
    assert kept[:50].all()
    assert kept[300:320].all()
    assert in_sample(5, 3).tolist() == [True, True, True, False, False]


def test_targets_that_are_missing_or_new_are_refused():
    data = table(100)
    training = BlockTraining(
        TableModel(KernelClassifier("gmm", n_components=16, C=1.0, scale=None)),
        data,
        counts_of(data),
        target="kind",
        ignore=["amount"],
        categorical=["word"],
    )
    for value, sentence in ((None, "the target of some rows is missing"), ("new", "'new'")):
        kinds = [value, *data["kind"].to_pylist()[1:]]
        place = data.column_names.index("kind")
        other = data.set_column(place, "kind", pa.array(kinds))
        with pytest.raises((DataError, ValueError), match=sentence):
            training_rows(training.model, other)
    with pytest.raises(DataError, match="no column 'kind'"):
        training_rows(training.model, data.drop_columns(["kind"]))
