"""Files that change while they are open: nothing learned from one content serves another."""

from __future__ import annotations

import gzip
import os
import shutil
import time

import numpy as np
import pytest

from kernelight.data import DataError, open_dataset

ROWS = 3000


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module in ("delimited", "libsvm"):
        monkeypatch.setattr(f"kernelight.data.{module}.CHUNK", 4096)
    monkeypatch.setattr("kernelight.data.columnar.BATCH", 256)
    monkeypatch.setattr("kernelight.data.npz.BLOCK_BYTES", 4096)


def table(seed=0):
    return np.random.default_rng(seed).integers(10, 100, size=(ROWS, 3))


def csv(names="a,b,y"):
    return (names + "\n" + "".join(f"{a},{b},{y % 2}\n" for a, b, y in table())).encode()


def write(name, content):
    with open(name, "wb") as file:
        file.write(content)


def make(name, seed=0):
    """A file of the kind that the ending says."""
    X = table(seed)
    if name.endswith(".csv"):
        write(name, csv())
    elif name.endswith(".csv.gz"):
        write(name, gzip.compress(csv()))
    elif name.endswith(".svm"):
        write(name, "".join(f"{y % 2} 1:{a} 2:{b}\n" for a, b, y in X).encode())
    elif name.endswith(".npz"):
        np.savez(name, X=X[:, :2], y=X[:, 2] % 2)
    else:
        pa = pytest.importorskip("pyarrow")
        made = pa.table({"a": X[:, 0], "b": X[:, 1], "y": X[:, 2] % 2})
        if name.endswith(".parquet"):
            pytest.importorskip("pyarrow.parquet").write_table(made, name)
        else:
            pytest.importorskip("pyarrow.feather").write_feather(made, name)
    return name


NAMES = ["x.csv", "x.csv.gz", "x.svm", "x.npz", "x.parquet", "x.feather"]


def later(name):
    """As if the clock had ticked since."""
    now = time.time_ns() + 10**9
    os.utime(name, ns=(now, now))


def replaced(name):
    shutil.copy2(name, "other")
    os.replace("other", name)


def written_again(name):
    with open(name, "r+b") as file:
        start = file.read(8)
        file.seek(0)
        file.write(start)
    later(name)


def longer(name):
    stat = os.stat(name)
    with open(name, "ab") as file:
        file.write(b"\n")
    os.utime(name, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def shorter(name):
    os.truncate(name, os.path.getsize(name) // 2)


CHANGES = [replaced, written_again, longer, shorter]
SENTENCE = "x.* has changed since it was opened, so that its rows do not belong together"


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", NAMES)
def test_between_two_passes(name, change):
    data = open_dataset(make(name))
    assert data.n_features == 2
    change(name)
    with pytest.raises(DataError, match=SENTENCE):
        list(data.batches(100))
    with pytest.raises(DataError, match=SENTENCE):
        data.materialise()


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", NAMES)
def test_during_a_pass(name, change):
    data = open_dataset(make(name))
    assert data.task == "classification"
    rows = iter(data.batches(100))
    next(rows)
    change(name)
    with pytest.raises(DataError, match=SENTENCE):
        list(rows)


def test_columns_that_were_swapped():
    write("x.csv", csv())
    data = open_dataset("x.csv")
    assert data.encoding.feature_names == ["a", "b"]
    write("x.csv", csv("b,a,y"))
    later("x.csv")
    with pytest.raises(DataError, match=SENTENCE):
        data.materialise()


@pytest.mark.parametrize("name", NAMES)
def test_other_attributes_may_change(name):
    data = open_dataset(make(name))
    assert data.n_features == 2
    os.chmod(name, 0o400)
    os.link(name, "another-name")
    assert sum(len(batch.y) for batch in data.batches(100)) == ROWS
    assert data.materialise()[0].shape == (ROWS, 2)


def test_a_file_that_was_removed_after_it_was_opened_is_read_to_its_end():
    rows = iter(open_dataset(make("x.csv")).batches(100))
    count = len(next(rows).y)
    os.unlink("x.csv")
    assert count + sum(len(batch.y) for batch in rows) == ROWS
