"""Rows copied to another file are those of the first, byte by byte, in every format."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from kernelight import open_dataset
from kernelight.data import DataError, byte_sources, delimited, libsvm

ODD_CSV = (
    'Report of things,,\nname,size,"said, if at all"\n'
    'a,1,"x ""y"" z"\r\n\nb,2,"two\nlines, here"\n  \nc,3,\nname,size,"said, if at all"\n'
    'd,4,5" pipe\n"é",5,last\nTotal,15,\n'
).encode()


@pytest.fixture(params=[1 << 22, 32], ids=["one piece", "pieces"])
def pieces(request, monkeypatch):
    for module in (byte_sources, delimited, libsvm):
        monkeypatch.setattr(module, "CHUNK", request.param)


def kept_of(count: int, *gone: int) -> np.ndarray:
    kept = np.ones(count, dtype=bool)
    kept[list(gone)] = False
    return kept


def copied(folder, content: bytes, kept, name="given.csv", to="made.csv", **options) -> bytes:
    path, made = folder / name, folder / to
    path.write_bytes(content)
    open_dataset(path, target=None, **options).copy_rows(str(made), kept)
    return made.read_bytes()


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
@pytest.mark.usefixtures("pieces")
def test_lines_of_csv(tmp_path):
    assert copied(tmp_path, ODD_CSV, kept_of(5)) == ODD_CSV
    without = ODD_CSV.replace(b'b,2,"two\nlines, here"\n', b"").replace(
        '"é",5,last\n'.encode(), b""
    )
    assert copied(tmp_path, ODD_CSV, kept_of(5, 1, 4)) == without
    nothing = copied(tmp_path, ODD_CSV, np.zeros(5, bool))
    assert nothing == (
        b'Report of things,,\nname,size,"said, if at all"\n\n  \nname,size,"said, if at all"\n'
        b"Total,15,\n"
    )


@pytest.mark.usefixtures("pieces")
def test_what_stays_is_read_as_before(tmp_path):
    random = np.random.default_rng(0)
    lines = [f"{random.integers(100)};w{random.integers(9)};{random.random()}" for _ in range(60)]
    kept = random.random(60) < 0.5
    for end in ("\n", "\r\n"):
        for last in ("", end):
            text = end.join(["n;w;x", *lines]) + last
            made = copied(tmp_path, text.encode(), kept)
            wanted = end.join(["n;w;x", *(line for line, k in zip(lines, kept, strict=True) if k)])
            assert made.decode().rstrip() == wanted


@pytest.mark.usefixtures("pieces")
def test_lines_of_libsvm(tmp_path):
    lines = ["1 1:2 3:4 # a", "", "# comment", " -1 2:5", "\t# another", "3", "  ", "4 9:1"]
    text = "\n".join(lines)
    assert copied(tmp_path, text.encode(), kept_of(4), "a.svm", "b.svm") == text.encode()
    made = copied(tmp_path, text.encode(), kept_of(4, 0, 2), "a.svm", "b.libsvm").decode()
    assert made == "\n".join(lines[1:5] + lines[6:])


@pytest.mark.parametrize("charset", ["cp1252", "utf-16", "utf-8-sig"])
def test_the_encoding_of_a_text_stays(tmp_path, charset):
    text = "name,size\nä,1\nö,2\n"
    made = copied(tmp_path, text.encode(charset), kept_of(2, 0), charset=charset)
    assert made == text.replace("ä,1\n", "").encode(charset)


@pytest.mark.parametrize("pack", [gzip, bz2, lzma])
def test_packed_files(tmp_path, pack):
    ending = {gzip: "gz", bz2: "bz2", lzma: "xz"}[pack]
    content = pack.compress(b"a,b\n1,2\n3,4\n")
    made = copied(tmp_path, content, kept_of(2, 0), f"a.csv.{ending}", f"b.csv.{ending}")
    assert pack.decompress(made) == b"a,b\n3,4\n"
    assert copied(tmp_path, content, kept_of(2, 0), f"a.csv.{ending}", "b.csv") == b"a,b\n3,4\n"


def odd_table() -> pa.Table:
    return pa.table(
        {
            "n": pa.array([1, None, 3], pa.int8()),
            "d": pa.array([1, 2, 3], pa.decimal128(5, 2)),
            "w": pa.array(["a", "b", "a"]).dictionary_encode(),
            "t": pa.array([0, 1, None], pa.timestamp("ns", "Europe/Berlin")),
            "l": pa.array([[1], [], None], pa.list_(pa.int64())),
        }
    ).replace_schema_metadata({"about": "kept"})


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("to", ["parquet", "arrow"])
def test_tables_of_arrow_keep_their_types(tmp_path, ending, to):
    table = odd_table()
    path, made = tmp_path / f"a.{ending}", tmp_path / f"b.{to}"
    if ending == "parquet":
        pa.parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    open_dataset(path, target=None).copy_rows(str(made), kept_of(3, 1))
    read = pa.parquet.read_table(made) if to == "parquet" else pa.ipc.open_file(made).read_all()
    wanted = table.take([0, 2])
    assert read.schema.types == wanted.schema.types
    assert read.to_pylist() == wanted.to_pylist()
    assert read.schema.metadata[b"about"] == b"kept"


def test_a_table_of_arrow_as_csv(tmp_path):
    path, made = tmp_path / "a.parquet", tmp_path / "b.csv"
    pa.parquet.write_table(odd_table().select(["n", "w"]), path)
    open_dataset(path, target=None).copy_rows(str(made), kept_of(3, 1))
    assert pa.csv.read_csv(made).to_pylist() == [{"n": 1, "w": "a"}, {"n": 3, "w": "a"}]
    pa.parquet.write_table(odd_table(), path)
    with pytest.raises(DataError, match=r"b\.csv cannot be written as \.csv"):
        open_dataset(path, target=None).copy_rows(str(made), kept_of(3))


@pytest.mark.filterwarnings("ignore::kernelight.data.DataWarning")
def test_cells_of_csv_as_columns_of_text(tmp_path):
    path, made = tmp_path / "a.csv", tmp_path / "b.parquet"
    path.write_bytes(ODD_CSV)
    open_dataset(path, target=None).copy_rows(str(made), kept_of(5, 0, 3))
    assert pa.parquet.read_table(made).to_pylist() == [
        {"name": "b", "size": "2", "said, if at all": "two\nlines, here"},
        {"name": "c", "size": "3", "said, if at all": ""},
        {"name": "é", "size": "5", "said, if at all": "last"},
    ]


@pytest.mark.parametrize("fortran", [False, True])
def test_arrays_of_npz(tmp_path, fortran):
    path, made = tmp_path / "a.npz", tmp_path / "b.npz"
    X, y = np.arange(12, dtype=np.float32).reshape(4, 3), np.array(list("abca"))
    X = np.asfortranarray(X) if fortran else X
    np.savez(path, X_train=X, y_train=y, X_test=X[:1], y_test=y[:1], feature_names=list("uvw"))
    open_dataset(path, target=None).copy_rows(str(made), kept_of(4, 2))
    with np.load(made) as file:
        np.testing.assert_array_equal(file["X_train"], X[[0, 1, 3]])
        assert file["X_train"].dtype == np.float32
        assert file["y_train"].tolist() == ["a", "b", "a"]
        np.testing.assert_array_equal(file["X_test"], X[:1])
        assert file["feature_names"].tolist() == list("uvw")


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_npz(tmp_path, form):
    path, made = tmp_path / "a.npz", tmp_path / "b.npz"
    X = sp.random(6, 5, 0.5, format=form, random_state=0)
    sp.save_npz(path, X)
    open_dataset(path, target=None).copy_rows(str(made), kept_of(6, 0, 5))
    assert (sp.load_npz(made) != X.tocsr()[1:5]).nnz == 0


@pytest.mark.parametrize(
    ("name", "to", "message"),
    [
        ("a.csv", "b.svm", "copied as they are, which is not .svm: give the file the ending of"),
        ("a.csv", "b.npz", "copied as they are"),
        ("a.csv", "b.tsv", "with ',' between cells: the ending .csv is right"),
        ("a.csv", "b.parquet.gz", "packed inside: leave .gz out"),
        ("a.svm", "b.parquet", "copied as they are"),
        ("a.npz", "b.csv", "can be written to .npz files"),
        ("iris", "b.csv", "iris is no file whose rows could be copied"),
    ],
)
def test_formats_that_do_not_fit_are_refused(tmp_path, name, to, message):
    path = name if name == "iris" else tmp_path / name
    if name == "a.csv":
        path.write_text("a,b\n1,2\n")
    elif name == "a.svm":
        path.write_text("1 1:2\n")
    elif name == "a.npz":
        np.savez(path, X=np.ones((1, 2)))
    data = open_dataset(path, target=None)
    for act in (lambda: data.refuse_copy(to), lambda: data.copy_rows(to, np.ones(1, bool))):
        with pytest.raises(DataError, match=message):
            act()


def test_a_file_that_has_other_rows_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n2\n")
    made = tmp_path / "b.csv"
    with pytest.raises(DataError, match="2 rows where 3 were read"):
        open_dataset(path, target=None).copy_rows(str(made), np.ones(3, bool))
    assert not made.exists()


def test_texts_of_a_column(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,said\n7,"one, two"\n8,\n9,NA\n10,four\n')
    data = open_dataset(path, target=None, ids="id")
    parts = list(data.texts(["said"], rows=3))
    assert parts == [([["one, two", "", ""]], ["7", "8", "9"]), ([["four"]], ["10"])]
    both = list(data.texts(["said", "id"]))
    assert both == [([["one, two", "", "", "four"], ["7", "8", "9", "10"]], None)]
    shown = {row: text.text for row, text in data.stored_texts([3, 0]).items()}
    assert shown == {0: '7,"one, two"', 3: "10,four"}
    with pytest.raises(DataError, match="no column 'sad' of texts; did you mean 'said'"):
        next(data.texts(["sad"]))
    svm = tmp_path / "a.svm"
    svm.write_text("1 1:2\n")
    with pytest.raises(DataError, match="sparse rows, which have no column of texts"):
        next(open_dataset(svm).texts(["x"]))
    with pytest.raises(DataError, match="columns of numbers, and none of texts"):
        next(open_dataset("iris").texts(["sepal length (cm)"]))
