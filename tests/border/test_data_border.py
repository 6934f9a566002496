"""Data that are not what they should be: each is refused in one sentence with where and why.

Long for its lists of cases.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import rounds

from kernelight.data import DataError, Encoding, byte_sources, open_dataset
from kernelight.data import opening as opening_module

CSV = b"age,colour,kind\n31,red,a\n42,blue,b\n,red,a\n"
SVM = b"1 1:0.5 3:2\n-1 2:1e3\n1\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KERNELIGHT_DATA", raising=False)


def write(name, content):
    with open(name, "wb") as file:
        file.write(content)
    return name


def refusal(name, content=None, **options):
    """The sentence, which must be the same when the file is read at once and in batches."""
    if content is not None:
        write(name, content)
    with pytest.raises(DataError) as caught:
        open_dataset(name, **options).materialise()
    with pytest.raises(DataError) as streamed:
        list(open_dataset(name, **options).batches(2))
    sentence = str(caught.value)
    assert sentence == str(streamed.value)
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    assert sentence.startswith(name)
    return sentence


CSV_ERRORS = {
    "a short row": (b"a,b,y\n1,2,0\n3,4\n", "line 3: 2 fields where 3 are expected."),
    "a long row": (b"a,b,y\n1,2,0\n3,4,5,6,7\n", "line 3: 5 fields where 3 are expected."),
    "a word among numbers": (
        b"a,b,y\n1,2,0\n3,4,1\n5,six,1\n",
        "line 4, column 'b': 'six' is not a number; categorical=['b']",
    ),
    "a quoted word among numbers": (
        b'a,y\n1,0\n"2",1\n"six, or so",1\n4,0\n',
        "line 4, column 'a': 'six, or so' is not a number",
    ),
    "infinity": (
        b"a,y\n1,0\n-inf,1\n2,0\n",
        "line 3, column 'a': '-inf' is beyond the largest number.",
    ),
    "a number without end": (
        b"a,y\n1,0\n1e999,1\n",
        "line 3, column 'a': '1e999' is beyond the largest number.",
    ),
    "empty": (b"", "is empty."),
    "blank lines": (b"\n  \n\n", "is empty."),
    "names only": (b"a,b,y\n", "has no rows."),
    "one class": (
        b"a,y\n1,yes\n2,yes\n",
        "the target 'y' has one value only, 'yes'; a classifier needs at least two classes.",
    ),
    "no target": (
        b"a,y\n1,x\n2,\n3,z\n",
        "line 3, column 'y': the target is missing; leave such rows out.",
    ),
    "no target, a number": (
        b"a,y\n\n1,0\n\n2,NA\n3,1\n",
        "line 5, column 'y': the target is missing; leave such rows out.",
    ),
    "an open quote": (
        b'a,b,y\n1,"x,0\n2,z,1\n',
        "line 2, column 'b': a quote is opened and never closed.",
    ),
    "text behind a quote": (
        b'a,b,y\n1,u,0\n2,"v"w,1\n',
        "line 3, column 'b': text follows a closing quote.",
    ),
    "invalid UTF-8 in words": (
        b"a,b,y\n1,u,0\n2,\xff\xfe,1\n",
        "line 3, column 'b': b'\\xff\\xfe' is not UTF-8; charset='cp1252'",
    ),
    "invalid UTF-8 among numbers": (
        b"a,y\n1,0\n2,1\n\xff,1\n",
        "line 4, column 'a': b'\\xff', which is not UTF-8, is not a number.",
    ),
    "invalid UTF-8 in names": (
        b"a,b\xff,y\n1,2,0\n",
        "line 1: the names of the columns are not UTF-8; charset='cp1252'",
    ),
    "UTF-16": ("a,y\n1,0\n".encode("utf-16"), "is UTF-16; charset='utf-16' reads it."),
    "a zero byte": (b"a,y\n1,0\n\x00,1\n", "is not text: byte 8 is 0"),
    "old line ends": (b"a,y\r1,0\r2,1\r", "ends its lines with carriage returns alone"),
    "a name twice": (
        b"a,a,y\n1,2,0\n",
        "column 'a': another column has this name; it is called 'a.1' here. That is",
    ),
    "no feature": (b"y\n1\n0\n", "has no features"),
}


# what is refused in strict reading alone
DECIDED = {
    "no target",
    "no target, a number",
    "a name twice",
    "invalid UTF-8 in words",
    "invalid UTF-8 among numbers",
    "invalid UTF-8 in names",
    "UTF-16",
}


@pytest.mark.parametrize("case", CSV_ERRORS)
def test_csv(case):
    content, wanted = CSV_ERRORS[case]
    assert wanted in refusal("x.csv", content, strict=True)
    if case not in DECIDED:
        assert wanted in refusal("x.csv", content)


SVM_ERRORS = {
    "index 0": (
        b"1 1:2\n0 0:1 1:1\n",
        "line 2: index 0, where the first is 1; zero_based=True reads",
    ),
    "descending": (b"1 1:2\n0 5:1 3:1\n", "line 2: index 3 does not ascend."),
    "twice": (b"1 2:2 2:3\n", "line 1: index 2 does not ascend."),
    "NaN": (b"1 1:2\n0 3:nan\n", "line 2, index 3: the value 'nan' is not a finite number."),
    "infinity": (b"1 1:2\n0 3:-inf\n", "line 2, index 3: the value '-inf' is not a finite number."),
    "no value": (b"1 1:2\n0 3:\n", "line 2, index 3: the value '' is missing."),
    "no colon": (b"1 1:2\n0 3\n", "line 2: '3' has no value; index:value is expected."),
    "a word": (b"1 1:2\n0 x:3\n", "line 2: 'x:3' is not index:value"),
    "an index without end": (
        b"1 99999999999999999999:1\n",
        "is not index:value with a whole index of at most",
    ),
    "a label": (b"1 1:2\nyes 1:2\n", "line 2: the label 'yes' is not a finite number."),
    "labels": (b"1,2 1:2\n", "line 1: the label '1,2' is not a finite number."),
    "invalid UTF-8": (
        b"1 1:2\n\xff 1:2\n",
        "line 2: the label b'\\xff', which is not UTF-8, is not",
    ),
    "empty": (b"", "is empty."),
    "comments only": (b"# nothing\n\n", "has no rows."),
    "one class": (b"1 1:2\n1 2:2\n", "the target 'label' has one value only, 1;"),
}


@pytest.mark.parametrize("case", SVM_ERRORS)
def test_libsvm(case):
    content, wanted = SVM_ERRORS[case]
    assert wanted in refusal("x.svm", content)


def test_a_line_is_counted_across_chunks(monkeypatch):
    for module in ("delimited", "libsvm"):
        monkeypatch.setattr(f"kernelight.data.{module}.CHUNK", 1000)
    rows = b"".join(b"%d,%d\n" % (i, i % 2) for i in range(2000))
    assert "line 2002, column 'a': 'x' is" in refusal(
        "x.csv", b"a,y\n" + rows + b"x,1\n" + rows, strict=True
    )
    lines = b"".join(b"%d 1:%d\n" % (i % 2, i) for i in range(2000))
    assert "line 2001, index 1: the value 'x' is" in refusal("x.svm", lines + b"1 1:x\n" + lines)
    assert "line 2003, column 'y': the target is missing" in refusal(
        "m.csv", b"a,y\n\n" + rows + b"1,\n" + rows, strict=True
    )


@pytest.mark.parametrize(
    ("compress", "word"), [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz")]
)
def test_compressed_files_that_are_cut_off_or_damaged(compress, word):
    rng = np.random.default_rng(0)
    rows = b"a,y\n" + b"".join(b"%.17g,%d\n" % (rng.normal(), i % 2) for i in range(3000))
    packed = compress(rows)
    assert "has" not in str(open_dataset(write("whole.csv", packed)).materialise()[0].shape)
    sentence = refusal("cut.csv", packed[: len(packed) // 2])
    assert sentence.startswith(
        f"cut.csv is cut off: its {word} data cannot be unpacked beyond byte"
    )
    broken = bytearray(packed)
    broken[len(packed) // 2] ^= 255
    assert "bad.csv" in refusal("bad.csv", bytes(broken))


def test_names_that_are_no_files(monkeypatch):
    write("flowers.csv", CSV)
    assert (
        refusal("flower.csv")
        == "flower.csv: there is no such file or data set; did you mean 'flowers.csv'?"
    )
    assert "did you mean 'digits'?" in refusal("digit")
    assert refusal("nowhere/x.csv") == "nowhere/x.csv: there is no directory 'nowhere'."
    for silly in ("no-such.py", ".no-such.csv", "no-such.md"):
        write(silly, b"x")
    os.mkdir("no-such-.csv")
    assert refusal("no-such.csv") == "no-such.csv: there is no such file or data set."
    assert refusal("win.csv") == "win.csv: there is no such file or data set."  # not the set wine
    write("no-such.csv.gz", b"x")
    assert refusal("no-such.csv").endswith("did you mean 'no-such.csv.gz'?")
    os.mkdir("folder")
    assert refusal("folder") == "folder is a directory: name one of its files."
    os.symlink("gone.csv", "link.csv")
    assert refusal("link.csv") == "link.csv cannot be read: No such file or directory."
    with pytest.raises(DataError, match="is empty"):
        open_dataset("")
    with pytest.raises(DataError, match="cannot be read"):
        open_dataset("a\0b")
    monkeypatch.setenv("KERNELIGHT_DATA", str(os.getcwd()))
    np.savez("mine.npz", X=np.eye(3), y=[0, 1, 1])
    assert open_dataset("mine").materialise()[0].shape == (3, 3)
    assert "did you mean 'mine'?" in refusal("mien")


def test_a_file_that_may_not_be_read(monkeypatch):
    write("x.csv", CSV)
    os.chmod("x.csv", 0)
    if os.geteuid() == 0:  # root may read everything

        def refuse(*_, **__):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "x.csv")

        monkeypatch.setattr(byte_sources, "open", refuse, raising=False)
    assert refusal("x.csv") == "x.csv cannot be read: Permission denied."


def test_a_full_disk(monkeypatch):
    class Full:
        name = "nowhere"

        def write(self, _):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", lambda **_: Full())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV)))
    with pytest.raises(
        DataError, match=r"^standard input could not be kept in .*: No space left on device\.$"
    ):
        open_dataset("-")


def test_targets_that_are_not_there():
    write("x.csv", CSV)
    assert (
        refusal("x.csv", target="knid")
        == "x.csv: there is no column 'knid' for the target; did you mean 'kind'?"
    )
    assert "there are 'age', 'colour', 'kind'." in refusal("x.csv", target="zzz")
    assert refusal("x.csv", target=3) == "x.csv has 3 columns: target=3 is none of them."
    assert "no column 'aeg' to ignore; did you mean 'age'?" in refusal("x.csv", ignore=["aeg"])
    assert "no column 'aeg' of ids; did you mean 'age'?" in refusal("x.csv", ids="aeg")
    assert "no column 'aeg' of words; did you mean 'age'?" in refusal("x.csv", categorical=["aeg"])
    assert "cannot be the target and" in refusal("x.csv", target="kind", ids="kind")
    assert "is words; a regression needs numbers" in refusal("x.csv", task="regression")
    write("x.svm", SVM)
    assert "no column of it can be named" in refusal("x.svm", target="age")


def test_too_many_words():
    rows = b"".join(b"w%d,%d\n" % (i, i % 2) for i in range(150)) * 3
    write("x.csv", b"a,y\n" + rows)
    sentence = refusal("x.csv", strict=True)
    assert "x.csv, column 'a': more than 100 different words; ignore=['a'] leaves" in sentence
    assert open_dataset("x.csv").n_features == 100
    assert open_dataset("x.csv", max_categories=150).n_features == 150
    with pytest.raises(DataError, match="no features"):
        _ = open_dataset("x.csv", ignore=["a"]).encoding


def test_columns_that_do_not_match_the_model():
    encoding = open_dataset(write("x.csv", CSV)).encoding
    other = b"aeg,colour,height,kind\n31,red,2,a\n"
    assert refusal("y.csv", other, encoding=encoding) == (
        "y.csv: its columns do not match those of the model: 'age' missing; 'aeg', 'height' not "
        "known to the model; "
        "did you mean 'aeg'?"
    )
    assert "'colour' missing." in refusal("y.csv", b"age\n31\n", encoding=encoding)
    assert "sparse rows without names, but the model was" in refusal(
        "y.svm", SVM, encoding=encoding
    )
    words = b"age,colour\n31,red\nold,red\n"
    assert "line 3, column 'age': 'old' is not a number" in refusal(
        "z.csv", words, encoding=encoding
    )
    sparse = open_dataset("y.svm").encoding
    assert "named columns, but the model was" in refusal("x.csv", encoding=sparse)
    assert "line 2: index 4 is beyond the last feature, 3." in refusal(
        "z.svm", b"1 3:1\n1 4:2\n", encoding=sparse
    )
    sp.save_npz("wide.npz", sp.csr_matrix(np.eye(5)))
    assert "has 5 features where the model has 3." in refusal("wide.npz", encoding=sparse)


def test_encodings_that_are_none():
    plain = open_dataset(write("x.csv", CSV)).encoding.to_plain()
    for key in plain:
        if key != "missing_numbers":  # older ones have none
            with pytest.raises(ValueError, match=r"stored encoding|This encoding"):
                Encoding.from_plain({other: v for other, v in plain.items() if other != key})
        if key not in ("ids", "target", "missing_words", "columns"):
            with pytest.raises(ValueError, match=r"stored encoding|This encoding"):
                Encoding.from_plain({**plain, key: None})
        with pytest.raises(ValueError, match=r"stored encoding|This encoding"):
            Encoding.from_plain({**plain, key: 3.5})
    with pytest.raises(ValueError, match="finite number is expected"):
        Encoding.from_plain({**plain, "columns": [{"name": "a", "fill": float("nan")}]})


# -- NPZ and columns


def test_npz():
    def saved(**arrays):
        np.savez("x.npz", **arrays)
        return "x.npz"

    X = np.eye(3)
    assert "no array 'X_train' (nor 'X'); it has 'Z'" in refusal(saved(Z=X))
    assert "'y' has the shape (2,) where 3 rows have (3,)" in refusal(saved(X=X, y=[1, 2]))
    assert "holds Python objects" in refusal(saved(X=X, y=np.array([1, "a", None], object)))
    assert "must be a matrix of numbers, got <U1" in refusal(saved(X=[["a"]]))
    assert "must be a matrix of numbers, got float64 of shape (3,)" in refusal(saved(X=np.ones(3)))
    assert "row 1, column 'column_2': infinity is no value" in refusal(
        saved(X=[[1, np.inf]], y=[1])
    )
    assert "has no part 'test'" in refusal(saved(X=X), part="test")
    assert "row 2, column 'y': the target is missing" in refusal(
        saved(X=X, y=[1.5, np.nan, 2]), strict=True
    )
    assert "row 2, column 'y': the target is infinite" in refusal(saved(X=X, y=[1.5, np.inf, 2]))
    damaged = sp.csr_matrix(X)
    damaged.indices[1] = 77
    sp.save_npz("s.npz", damaged)
    assert "cannot be read as NPZ" in refusal("s.npz")
    sp.save_npz("s.npz", sp.csr_matrix(np.diag([1, np.nan])))
    assert "row 2, column 2: nan is no value of a sparse row" in refusal("s.npz")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2**10)}
    )
    with zipfile.ZipFile("lie.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue())
    assert "'X' should have" in refusal("lie.npz")


def test_parquet_and_arrow():
    pa = pytest.importorskip("pyarrow", reason="Parquet and Arrow files need pyarrow")
    import pyarrow.parquet as pq

    table = pa.table({"a": [1.0, float("inf")], "y": ["u", "v"]})
    pq.write_table(table, "x.parquet")
    assert "row 2, column 'a': infinity is no value" in refusal("x.parquet")
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.timestamp("s")), "y": [0, 1]}), "x.parquet")
    assert "column 'a': dates; they become numbers" in refusal("x.parquet", strict=True)
    pq.write_table(pa.table({"a": [[1], [2]], "b": [1, 2], "y": [0, 1]}), "x.parquet")
    assert "is neither a number nor words nor a date; left out" in refusal("x.parquet", strict=True)
    assert open_dataset("x.parquet", ignore=["a"]).n_features == 1
    content = Path("x.parquet").read_bytes()
    assert "cannot be read as parquet" in refusal("cut.parquet", content[: len(content) // 2])
    assert "cannot be read as parquet" in refusal("csv.parquet", CSV)
    assert "cannot be read as arrow" in refusal("csv.feather", CSV)
    assert "is parquet inside gzip: unpack it first" in refusal(
        "x.parquet.gz", gzip.compress(content)
    )
    pq.write_table(pa.table({"a": [1, 2, 3], "y": [0, None, 1]}), "x.parquet")
    assert "row 2, column 'y': the target is missing" in refusal("x.parquet", strict=True)


def test_without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "needs pyarrow, which is not there: pip install 'kernelight[io]'." in refusal(
        "x.parquet", b"PAR1...."
    )


MUTATE = """
import sys, warnings
import numpy as np
from kernelight.data import DataError, open_dataset
sys.path.insert(0, {tests!r})
from oracles.test_data_twin import mutated
rng = np.random.default_rng(7)
refused = 0
for name in {names!r}:
    content = open(name, "rb").read()
    for trial in range({trials}):
        with open("mutated", "wb") as file:
            file.write(mutated(content, rng, content))
        try:
            data = open_dataset("mutated", format={form!r})
            X, y = data.materialise()
            assert X.shape[0] and np.isfinite(X.data if hasattr(X, "indptr") else X).all()
            batches = open_dataset("mutated", format={form!r}).batches(50)
            assert sum(len(batch.y) for batch in batches) == len(y)
        except DataError as error:
            refused += 1
            assert str(error).startswith("mutated") and "\\n" not in str(error), error
print(refused)
"""


@pytest.fixture(
    params=[0.2, pytest.param(1.0, marks=[pytest.mark.nightly, pytest.mark.rounds])],
    ids=["some", "many"],
)
def fraction(request):
    """Of the trials."""
    return request.param


def survives(form, names, trials):
    """Read damaged files in a process, which must not crash and raise DataError only."""
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    trials = rounds(trials)
    program = MUTATE.format(tests=tests, names=names, trials=trials, form=form)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > trials // 10


def test_mutations_of_csv(fraction):
    rng = np.random.default_rng(1)
    rows = [f"{rng.normal()},{rng.choice(['red', 'blue', 'NA'])},{i % 3}" for i in range(100)]
    write("a.csv", "\n".join(["size,colour,y", *rows]).encode())
    write("b.csv", b'"size";"colour, or so";"y"\r\n1;"x ""y""";u\r\n2;"z\nz";v\r\n')
    survives("csv", ["a.csv", "b.csv"], 250 * fraction)


def test_mutations_of_libsvm(fraction):
    rng = np.random.default_rng(1)
    lines = [
        f"{i % 2} " + " ".join(f"{j}:{rng.normal():.5g}" for j in range(1, 9, 1 + i % 3))
        for i in range(50)
    ]
    write("a.svm", "\n".join(lines).encode())
    survives("libsvm", ["a.svm"], 800 * fraction)


def test_mutations_of_npz(fraction):
    np.savez("a.npz", X=np.random.default_rng(0).normal(size=(20, 4)), y=np.arange(20) % 3)
    np.savez_compressed(
        "b.npz", X=np.random.default_rng(0).normal(size=(20, 4)), y=np.arange(20) % 3
    )
    sp.save_npz("c.npz", sp.csr_matrix(np.eye(20)))
    survives("npz", ["a.npz", "b.npz"], 300 * fraction)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_mutations_of_columns(form, fraction):
    pa = pytest.importorskip("pyarrow", reason="Parquet and Arrow files need pyarrow")
    import pyarrow.feather
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "a": rng.normal(size=200),
            "b": rng.integers(0, 9, 200),
            "c": rng.choice(["u", "v", "w"], 200),
            "y": rng.choice(["p", "q"], 200),
        }
    )
    if form == "parquet":
        pq.write_table(table, "a")
        pq.write_table(
            table, "b", compression="none", use_dictionary=False, write_page_checksum=True
        )
    else:
        pyarrow.feather.write_feather(table, "a")
        pyarrow.feather.write_feather(table, "b", compression="uncompressed")
    survives(form, ["a", "b"], 300 * fraction)


def test_options_that_cannot_be():
    write("x.csv", CSV)
    for options in ({"delimiter": "ab"}, {"delimiter": "1"}, {"delimiter": '"'}):
        with pytest.raises(DataError, match="delimiter must be one character"):
            open_dataset("x.csv", **options)
    for options in (
        {"task": "guess"},
        {"format": "xls"},
        {"part": "all"},
        {"dtype": "int32"},
        {"max_categories": 0},
    ):
        with pytest.raises(ValueError, match="must be"):
            open_dataset("x.csv", **options)
    assert opening_module.open_dataset is open_dataset
