"""Whole numbers that double precision rounds stay exact as classes and as ids."""

from __future__ import annotations

import decimal

import numpy as np
import pytest

from kernelight import KernelClassifier, TableModel
from kernelight.cli.output import opened
from kernelight.data import DataError, Encoding, open_dataset
from kernelight.data.errors import DataWarning

LARGE = (2**53, 2**53 + 1, -(2**60) - 1)
UNSIGNED = (2**64 - 1, 2**64 - 2, 5)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KERNELIGHT_DATA", raising=False)


def rows(labels, n=40):
    """Features that tell the classes apart, and the class of each row."""
    which = np.arange(n) % len(labels)
    X = np.random.default_rng(0).normal(size=(n, 2)) + 8.0 * which[:, None]
    return X, [labels[at] for at in which]


def write_csv(labels):
    X, y = rows(labels)
    with open("x.csv", "w") as file:
        file.write(
            "a,b,y\n" + "".join(f'{a},{b},"{label}"\n' for (a, b), label in zip(X, y, strict=True))
        )
    return "x.csv"


def write_libsvm(labels):
    X, y = rows(labels)
    with open("x.svm", "w") as file:
        file.write("# a comment\n\n")
        file.write(
            "".join(f" {label} 1:{a} 2:{b} # 7\n" for (a, b), label in zip(X, y, strict=True))
        )
    return "x.svm"


def write_npz(labels):
    X, y = rows(labels)
    np.savez("x.npz", X=X, y=np.array(y, dtype=np.int64 if min(y) < 0 else np.uint64))
    return "x.npz"


def write_npz_column(labels):
    _, y = rows(labels)
    y = np.array(y, dtype=np.int64 if min(y) < 0 else np.uint64)
    np.savez("c.npz", X=np.c_[np.arange(len(y), dtype=y.dtype), y])
    return "c.npz"


def write_parquet(labels, kind=None):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    X, y = rows(labels)
    kind = kind or (pa.int64() if min(y) < 0 else pa.uint64())
    parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "y": pa.array(y, kind)}), "x.parquet")
    return "x.parquet"


@pytest.mark.parametrize("write", [write_csv, write_libsvm, write_npz, write_parquet])
@pytest.mark.parametrize("labels", [LARGE, UNSIGNED], ids=["int64", "uint64"])
def test_classes_are_those_of_the_file(write, labels):
    name = write(labels)
    _, wanted = rows(labels)
    _, y = open_dataset(name).materialise()
    assert y.tolist() == wanted
    assert y.dtype == (np.uint64 if max(labels) >= 2**63 else np.int64)
    data = open_dataset(name)
    assert np.concatenate([batch.y for batch in data.batches(7)]).tolist() == wanted
    assert data.encoding.target.labels == tuple(sorted(labels))
    assert Encoding.from_plain(data.encoding.to_plain()) == data.encoding


def test_a_column_of_a_matrix_is_a_target_as_well():
    name = write_npz_column(LARGE)
    _, y = open_dataset(name, target="column_2").materialise()
    assert y.tolist() == rows(LARGE)[1]


def test_decimals_of_parquet_are_exact():
    pa = pytest.importorskip("pyarrow")
    labels = [decimal.Decimal(2**53), decimal.Decimal(2**53 + 1)]
    _, y = open_dataset(write_parquet(labels, pa.decimal128(20, 0))).materialise()
    assert y.tolist() == rows([2**53, 2**53 + 1])[1]


@pytest.mark.parametrize("labels", [LARGE, UNSIGNED], ids=["int64", "uint64"])
def test_predictions_are_written_as_the_file_has_them(labels):
    name = write_csv(labels)
    model = TableModel(KernelClassifier(n_components=64, C=1.0, scale="standard")).fit(name)
    model.save("m.klt")
    assert TableModel.load("m.klt").evaluate(name)["accuracy"] == 1.0
    with opened("p.csv") as out:
        out.write({"prediction": TableModel.load("m.klt").predict(name)})
    with open("p.csv") as file:
        assert file.read().split() == ["prediction", *map(str, rows(labels)[1])]


@pytest.mark.parametrize("memory", [None, "1G"])
def test_a_model_tells_neighbours_apart(memory):
    name = write_libsvm((2**53, 2**53 + 1))
    fitted = TableModel(KernelClassifier(n_components=64, C=1.0)).fit(name, memory=memory)
    assert fitted.model_.classes_.tolist() == [2**53, 2**53 + 1]


@pytest.mark.parametrize("chunk", [1 << 23, 100])
def test_small_and_large_ones_in_different_blocks(monkeypatch, chunk):
    for module in ("delimited", "libsvm"):
        monkeypatch.setattr(f"kernelight.data.{module}.CHUNK", chunk)
    labels = [*([1, 2] * 50), *([2**53 + 1, 2] * 50)]
    with open("x.csv", "w") as file:
        file.write("a,y\n" + "".join(f"{at},{label}\n" for at, label in enumerate(labels)))
    data = open_dataset("x.csv")
    assert [label for batch in data.batches(9) for label in batch.y.tolist()] == labels
    assert {batch.y.dtype for batch in data.batches(9)} == {np.dtype(np.int64)}


def test_a_quantity_stays_one():
    quantities = [f"{at}.5e17" for at in range(1, 40)]
    with open("x.csv", "w") as file:
        file.write("a,y\n" + "".join(f"{at},{label}\n" for at, label in enumerate(quantities)))
    data = open_dataset("x.csv")
    assert data.task == "regression"
    assert data.materialise()[1].tolist() == [float(text) for text in quantities]
    with open("y.csv", "w") as file:  # more than 64 bits
        file.write("a,y\n" + "".join(f"{at},{10**25 + at}\n" for at in range(30)))
    data = open_dataset("y.csv")
    assert data.task == "regression"
    assert data.materialise()[1].dtype == np.float64
    _, y = open_dataset(write_csv(LARGE), task="regression").materialise()
    assert y.dtype == np.float64


def refused(name, **options):
    with pytest.raises(DataError) as caught:
        open_dataset(name, **options).materialise()
    assert str(caught.value).startswith(name)
    return str(caught.value)


def test_floating_point_numbers_are_refused_as_large_classes():
    X, y = rows((2.0**53, 2.0**53 + 2))
    np.savez("x.npz", X=X, y=y)
    assert open_dataset("x.npz").task == "regression"
    sentence = refused("x.npz", task="classification")
    assert (
        "the class 9007199254740992, a floating-point number that stands for its neighbours too"
        in sentence
    )
    name = write_csv(("9.007199254740993e15", "9007199254740992.0"))
    assert "floating-point" in refused(name, task="classification")
    encoding = open_dataset(write_npz((2**53, 2**53 + 1))).encoding
    np.savez("f.npz", X=X, y=y)
    assert "floating-point" in refused("f.npz", encoding=encoding)


def test_classes_beyond_64_bits_are_refused():
    assert "such as 100000000000000000000, which no type of number holds" in refused(
        write_csv((10**20, 5)), task="classification"
    )
    assert "together with fractions" in refused(
        write_csv((2**53 + 1, "0.5")), task="classification"
    )
    encoding = open_dataset(write_csv((1, 2))).encoding
    assert (
        "has the class 18446744073709551615, where those of the model go from 1 to 2."
        in refused(write_csv((1, 2**64 - 1)), encoding=encoding)
    )


def test_a_missing_target_among_large_ones():
    with open("x.csv", "w") as file:
        file.write(f"a,y\n1,{2**53}\n2,\n3,{2**53 + 1}\n")
    with pytest.warns(DataWarning, match="1 row has no target and is left out"):
        _, y = open_dataset("x.csv").materialise()
    assert y.tolist() == [2**53, 2**53 + 1]
    with pytest.raises(DataError, match="line 3, column 'y': the target is missing"):
        open_dataset("x.csv", strict=True).materialise()


def test_missing_targets_beside_one_value():
    np.savez("x.npz", X=np.ones((4, 2)), y=np.array([1.0, np.nan, 1.0, np.nan]))
    assert "'y' has one value only, 1, and is missing in 2 rows, the first in row 2; a" in refused(
        "x.npz"
    )
    np.savez("x.npz", X=np.ones((2, 2)), y=np.array([np.nan, 1.0]))
    assert "'y' has one value only, 1, and is missing in row 1; a" in refused("x.npz")


def test_ids_are_those_of_the_file():
    matrix = np.array([[2**53, 1], [2**53 + 1, 2], [-(2**62) - 1, 3]])
    np.savez("x.npz", X=matrix)
    assert open_dataset("x.npz", ids="column_1").ids == [str(value) for value in matrix[:, 0]]
    np.savez("f.npz", X=np.array([[1e22, 1.0], [0.1, 2.0], [3.0, 3.0]]))
    assert open_dataset("f.npz", ids="column_1").ids == ["10000000000000000000000", "0.1", "3"]
