"""Data sets of every format: the same rows whichever way they come, at once or in batches."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_digits, load_svmlight_file

import kernelight
from kernelight import State
from kernelight.data import DataError, Encoding, open_dataset
from kernelight.data.bundled import BUNDLED

PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KERNELIGHT_DATA", raising=False)


@pytest.fixture
def small_chunks(monkeypatch):
    for module in ("delimited", "libsvm"):
        monkeypatch.setattr(f"kernelight.data.{module}.CHUNK", 777)
    monkeypatch.setattr("kernelight.data.columnar.BATCH", 37)
    monkeypatch.setattr("kernelight.data.table_source.ArraySource.STEP", 37)


def write(name, content):
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return name


def frame(n=300, seed=0):
    """A table with numbers, words, both with holes, an id and a target."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "id": [f"row {i}" for i in range(n)],
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "colour": rng.choice(["red", "green", 'a "b", c', "größe"], n),
            "count": rng.integers(0, 1000, n).astype(float),
            "shape": np.where(rng.random(n) < 0.2, None, rng.choice(["round", "flat"], n)),
            "kind": rng.choice(["yes", "no", "maybe"], n),
        }
    )
    return table.astype({"shape": object})


def by_hand(table):
    """What the encoding should give, with pandas."""
    columns = [table["size"].fillna(table["size"].median())]
    columns += [(table["colour"] == word).astype(float) for word in sorted(set(table["colour"]))]
    columns += [
        table["count"],
        *((table["shape"] == word).astype(float) for word in ("flat", "round")),
    ]
    return np.column_stack([*columns, table["shape"].isna().astype(float)])


def assert_batches_are_rows(data, X, y, rows):
    parts = list(data.batches(rows))
    assert all(len(part.y) == rows for part in parts[:-1])
    stack = sp.vstack if sp.issparse(X) else np.concatenate
    features = stack([part.X for part in parts])
    np.testing.assert_array_equal(
        features.toarray() if sp.issparse(X) else features, X.toarray() if sp.issparse(X) else X
    )
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), y)
    return parts


# -- Tables


def tables(table):
    """The same table as files of every format that has names."""
    table.to_csv("t.csv", index=False)
    table.to_csv("t.tsv", index=False, sep="\t")
    table.to_csv("semicolons.txt", index=False, sep=";", lineterminator="\r\n", na_rep="NA")
    write("mark.csv", b"\xef\xbb\xbf" + Path("t.csv").read_bytes())
    for ending, pack in PACK.items():
        write(f"p.csv{ending}", pack(Path("t.csv").read_bytes()))
    names = ["t.csv", "t.tsv", "semicolons.txt", "mark.csv", *(f"p.csv{ending}" for ending in PACK)]
    pa = pytest.importorskip("pyarrow", reason="Parquet and Arrow files need pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    columns = pa.Table.from_pandas(table, preserve_index=False)
    pyarrow.parquet.write_table(columns, "t.parquet", row_group_size=70)
    pyarrow.feather.write_feather(columns, "t.feather")
    with pa.ipc.new_stream("t.stream", columns.schema) as stream:
        stream.write_table(columns, max_chunksize=50)
    categories = table.astype({name: "category" for name in ("colour", "kind") if name in table})
    pyarrow.parquet.write_table(pa.Table.from_pandas(categories, preserve_index=False), "d.parquet")
    return [*names, "t.parquet", "t.feather", "t.stream", "d.parquet"]


@pytest.mark.parametrize("rows", [1, 50, 1000])
def test_every_format_gives_the_same_rows(small_chunks, rows):
    table = frame()
    for name in tables(table):
        data = open_dataset(name, target="kind", ids="id")
        X, y = data.materialise()
        np.testing.assert_allclose(X, by_hand(table), rtol=1e-15, err_msg=name)
        assert X.flags.c_contiguous
        assert y.tolist() == table["kind"].tolist()
        assert data.ids == table["id"].tolist()
        fresh = open_dataset(name, target="kind", ids="id")
        parts = assert_batches_are_rows(fresh, X, y, rows)
        assert [row for part in parts for row in part.ids] == data.ids
        assert fresh.encoding == data.encoding
        assert data.task == "classification"
        assert data.encoding.target.labels == ("maybe", "no", "yes")


def test_an_encoding_is_applied_unchanged(small_chunks):
    table = frame()
    train, test = table[:200], table[200:].copy()
    encoding = open_dataset(tables(train)[0], target="kind", ids="id").encoding
    stored = State({"kind": "Test", "encoding": encoding.to_plain()})
    encoding = Encoding.from_plain(json.loads(json.dumps(stored.meta["encoding"])))
    test.loc[test.index[:5], "colour"] = "never seen"
    wanted = by_hand(table)[200:]
    wanted[test["size"].isna(), 0] = train["size"].median()
    wanted[:5, 1:5] = 0
    shuffled = test[["kind", "shape", "id", "size", "count", "colour"]]
    for name in tables(shuffled):
        data = open_dataset(name, encoding=encoding)
        X, y = data.materialise()
        np.testing.assert_allclose(X, wanted, rtol=1e-15, err_msg=name)
        assert y.tolist() == test["kind"].tolist()
        assert data.ids == test["id"].tolist()
        assert_batches_are_rows(data, X, y, 33)
        bare = data.without_target
        assert bare.target_name is None
        assert bare.materialise()[1] is None
        assert all(part.y is None for part in bare.batches(40))
    for name in tables(test.drop(columns=["kind", "id"])):
        X, y = open_dataset(name, encoding=encoding).materialise()
        np.testing.assert_allclose(X, wanted, rtol=1e-15, err_msg=name)
        assert y is None
    assert open_dataset("t.csv", encoding=encoding).ids is None


def test_dtypes():
    tables(frame())
    for name in ("t.csv", "t.parquet"):
        single, double = (
            open_dataset(name, ids="id", dtype=kind).materialise()[0]
            for kind in (np.float32, np.float64)
        )
        assert single.dtype == np.float32
        np.testing.assert_array_equal(single[:, -4:], double[:, -4:].astype(np.float32))


def test_tables_without_names():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 2, 40), rng.normal(size=(40, 2)).round(3)])
    lines = [",".join(map(str, row)) for row in rows.tolist()]
    data = open_dataset(write("plain.csv", "\n".join(lines)), target=0)
    assert data.feature_names == ["column_2", "column_3"]
    assert data.target_name == "column_1"
    X, y = data.materialise()
    np.testing.assert_array_equal(X, rows[:, 1:])
    assert y.dtype == np.int64
    bare = "\n".join(line.split(",", 1)[1] for line in lines)
    again, nothing = open_dataset(write("bare.csv", bare), encoding=data.encoding).materialise()
    np.testing.assert_array_equal(again, X)
    assert nothing is None
    both = open_dataset("plain.csv", encoding=data.encoding).materialise()
    np.testing.assert_array_equal(both[0], X)
    np.testing.assert_array_equal(both[1], y)


def test_headers():
    assert open_dataset(write("a.csv", "1999,2000\n1,2\n3,4\n"), header=True).feature_names == [
        "1999"
    ]
    assert open_dataset(write("b.csv", "u,v\nx,y\nz,y\n"), header=False).materialise()[0].shape == (
        3,
        3,
    )
    indexed = open_dataset(write("c.csv", ",size,y\n0,1.5,a\n1,2.5,b\n"))
    assert indexed.feature_names == ["column_1", "size"]
    quoted = open_dataset(write("d.csv", '"two\nlines","say ""x""",y\n1,2,a\n3,4,b\n'))
    assert quoted.feature_names == ["two\nlines", 'say "x"']
    assert open_dataset(write("e.csv", "a b,y\n1,0\n2,1\n")).feature_names == ["a b"]
    assert (
        open_dataset(write("f.csv", "a|b|y\n1,5|2|0\n2,5|3|1\n"), categorical=["a"]).n_features == 3
    )


def test_which_column_is_the_target():
    write("a.csv", "Label,x,z\n0,1,2\n1,3,4\n")
    assert open_dataset("a.csv").target_name == "Label"
    write("b.csv", "u,x,z\n0,1,2\n1,3,4\n")
    assert open_dataset("b.csv").target_name == "z"
    assert open_dataset("b.csv", target=-3).target_name == "u"
    assert open_dataset("b.csv", target=None).feature_names == ["u", "x", "z"]
    assert open_dataset("b.csv", target="u", ignore=["x"]).feature_names == ["z"]


def test_tasks():
    def task(values, **options):
        text = "x,y\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values))
        return open_dataset(write("t.csv", text), **options).task

    assert task([0, 1, 1]) == "classification"
    assert task(["a", "b", "a"]) == "classification"
    assert task([0.5, 1, 1]) == "regression"
    assert task(range(50)) == "classification"
    assert task(range(51)) == "regression"
    assert task(range(51), task="classification") == "classification"
    assert task([0, 1, 1], task="regression") == "regression"
    assert task([3, 3, 3], task="regression") == "regression"
    assert open_dataset("t.csv", target=None).task is None
    assert task([0.5, 1.5, 0.5], task="classification") == "classification"
    assert open_dataset("t.csv", task="classification").encoding.target.labels == (0.5, 1.5)


def test_missing_values_have_a_rule():
    write("a.csv", "a,b,y\n1,u,0\n?,,1\n3,v,0\nNaN,u,1\n10,-,1\n")
    data = open_dataset("a.csv")
    X, _ = data.materialise()
    assert X[:, 0].tolist() == [1, 3, 3, 3, 10]
    assert data.feature_names == ["a", "b=-", "b=u", "b=v", "b is missing"]
    other = open_dataset("a.csv", missing=["?", "NaN", "-"])
    assert other.feature_names == ["a", "b=u", "b=v", "b is missing"]
    again = open_dataset("a.csv", encoding=Encoding.from_plain(other.encoding.to_plain()))
    np.testing.assert_array_equal(again.materialise()[0], other.materialise()[0])
    write("n.csv", "a,y\n,0\n,1\n")
    assert open_dataset("n.csv").materialise()[0].tolist() == [[0], [0]]


# -- Sparse rows


@pytest.mark.parametrize("ending", PACK)
def test_libsvm_is_what_scikit_learn_reads(small_chunks, ending):
    X = sp.random(200, 70, 0.1, "csr", random_state=np.random.default_rng(0))
    y = np.random.default_rng(1).integers(-1, 2, 200)
    dump_svmlight_file(X, y, "plain", zero_based=False)
    wanted, labels = load_svmlight_file("plain")
    name = write(f"x.svm{ending}", PACK[ending](Path("plain").read_bytes()))
    data = open_dataset(name)
    features, classes = data.materialise()
    assert (features != wanted).nnz == 0
    assert features.shape == wanted.shape
    assert features.has_canonical_format
    assert features.indices.dtype == np.int32
    np.testing.assert_array_equal(classes, labels)
    assert classes.dtype == np.int64
    assert_batches_are_rows(open_dataset(name), features, classes, 33)
    assert data.feature_names is None
    assert data.task == "classification"
    assert open_dataset(write("noname", Path("plain").read_bytes())).n_features == features.shape[1]
    dump_svmlight_file(X, y, "zero", zero_based=True)
    zero = open_dataset("zero", format="libsvm", zero_based=True, dtype=np.float32)
    assert abs(zero.materialise()[0] - X).max() < 1e-6
    assert Encoding.from_plain(zero.encoding.to_plain()) == zero.encoding
    assert open_dataset("zero", encoding=zero.encoding).materialise()[0].shape == X.shape


def test_a_narrower_file_has_the_width_of_the_model():
    data = open_dataset(write("a.svm", "1 1:1 9:2\n0 2:1\n"))
    X, _ = open_dataset(write("b.svm", "0 2:1\n"), encoding=data.encoding).materialise()
    assert X.shape == (1, 9)
    assert open_dataset("b.svm", n_features=20, task="regression").materialise()[0].shape == (1, 20)


def test_indices_beyond_32_bits():
    X, y = open_dataset(write("a.svm", "0.5 1:1 9000000000:2\n1 2:1\n")).materialise()
    assert X.shape == (2, 9_000_000_000)
    assert X.indices.dtype == np.int64
    assert y.tolist() == [0.5, 1]
    assert X[0, 8_999_999_999] == 2


# -- Arrays and names


def test_npz(small_chunks, monkeypatch):
    X, y = load_digits(return_X_y=True)
    np.savez("mine.npz", X=X.astype(np.int16), y=y)
    np.savez(
        "split.npz",
        X_train=X[:99],
        y_train=y[:99].astype(str),
        X_test=X[99:],
        y_test=y[99:].astype(str),
    )
    sp.save_npz("sparse.npz", sp.csr_matrix(X))
    features, labels = open_dataset("mine.npz").materialise()
    np.testing.assert_array_equal(features, X)
    np.testing.assert_array_equal(labels, y)
    assert_batches_are_rows(open_dataset("mine.npz"), features, labels, 500)
    assert open_dataset("split.npz").materialise()[0].shape == (99, 64)
    assert open_dataset("split.npz", part="test").materialise()[1][0] == str(y[99])
    sparse, nothing = open_dataset("sparse.npz").materialise()
    assert (sparse != sp.csr_matrix(X)).nnz == 0
    assert nothing is None
    monkeypatch.setenv("KERNELIGHT_DATA", os.getcwd())
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    assert open_dataset("mine").name == "mine"
    model = open_dataset("mine").encoding
    bare = open_dataset("split", part="test", encoding=model)
    np.testing.assert_array_equal(bare.materialise()[0], X[99:])
    only = np.savez("only.npz", X=X)
    assert only is None
    assert open_dataset("only.npz").target_name is None
    assert open_dataset("only.npz", target="column_3").materialise()[1][0] == X[0, 2]


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_bundled_sets(name):
    data = open_dataset(name)
    X, y = data.materialise()
    assert X.shape[1] == data.n_features == len(data.feature_names)
    assert len(y) == len(X)
    assert data.task == ("regression" if name == "diabetes" else "classification")
    assert BUNDLED[name] in data.describe()


def test_openml(monkeypatch):
    import sklearn.datasets
    from sklearn.utils import Bunch

    asked = []

    def fetch(name, version, **_):
        asked.append((name, version))
        if name == "gone":
            raise OSError("HTTP Error 404: Not Found\nsorry")
        return Bunch(
            data=np.array([[1.0, 0], [2, 1], [3, np.nan]]),
            feature_names=["a", "b"],
            categories={"b": ["u", "v"]},
            target=np.array(["x", "y", "x"], object),
            target_names=["t"],
        )

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    data = open_dataset("openml:some:3")
    X, y = data.materialise()
    assert X.tolist() == [[1, 1, 0, 0], [2, 0, 1, 0], [3, 0, 0, 1]]
    assert data.feature_names == ["a", "b=u", "b=v", "b is missing"]
    assert y.tolist() == ["x", "y", "x"]
    assert open_dataset("openml:some").target_name == "t"
    assert asked == [("some", 3), ("some", "active")]
    with pytest.raises(
        DataError, match=r"^openml:gone could not be fetched: HTTP Error 404: Not Found sorry\.$"
    ):
        open_dataset("openml:gone")
    with pytest.raises(DataError, match="names no data set"):
        open_dataset("openml:a:b")


def test_standard_input_and_pipes(monkeypatch):
    text = frame().to_csv(index=False).encode()
    write("t.csv", text)
    wanted = open_dataset("t.csv", ids="id").materialise()
    for content in (text, gzip.compress(text)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        data = open_dataset("-", ids="id")
        np.testing.assert_array_equal(data.materialise()[0], wanted[0])
        assert sum(len(part.y) for part in data.batches(100)) == len(wanted[1])
        assert data.name == "standard input"
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe")
        with subprocess.Popen(["sh", "-c", "cat t.csv > pipe"]):
            np.testing.assert_array_equal(
                open_dataset("pipe", ids="id").materialise()[0], wanted[0]
            )


def test_a_long_file_is_streamed_in_little_memory():
    program = """
import resource, sys
import numpy as np
from kernelight.data import open_dataset
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
open_dataset("small." + sys.argv[1]).materialise()
before = peak()
rows = sum(len(batch.y) for batch in open_dataset("long." + sys.argv[1], n_jobs=1).batches(1000))
assert rows == 600000, rows
print(peak() - before)
"""
    if not os.path.exists("/proc/self/status"):
        pytest.skip("peaks of memory are read from /proc")
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(1000, 8)).round(6).tolist()
    block = "".join(
        f"{','.join(map(str, row))},{'red' if i % 3 else 'blue'},{i % 2}\n"
        for i, row in enumerate(numbers)
    )
    names = "a,b,c,d,e,f,g,h,colour,y\n"
    write("small.csv", names + block)
    write("long.csv", names + block * 600)
    lines = "".join(
        f"{i % 2} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) + "\n"
        for i, row in enumerate(numbers)
    )
    write("small.svm", lines)
    write("long.svm", lines * 600)
    for ending in ("csv", "svm"):
        done = subprocess.run(
            [sys.executable, "-c", program, ending], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) < 80e6, ending


def test_public_names():
    assert kernelight.open_dataset is open_dataset
    assert repr(open_dataset("wine")) == "<Dataset wine>"
    sentence = open_dataset(tables(frame())[0], target="kind", ignore=["id"]).describe()
    assert "column 'shape': words, 2 columns of 0 and 1, and one for missing words" in sentence
