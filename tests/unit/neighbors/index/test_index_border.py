"""Bad input of `Index` is one sentence and changes nothing; damaged files are found.

Long, as all of it is tried on the same small index.
"""

from __future__ import annotations

import os
import pickle
import shutil

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import nightly, sentence

from kernelight import GCWS, Codes, RandomFourier, SignProjection
from kernelight.neighbors import Index

X = np.random.default_rng(0).lognormal(size=(12, 3))
MAP = GCWS(32, bits=4).fit(X)


@pytest.fixture
def index(tmp_path):
    with Index.create(tmp_path / "i", MAP, threshold=0.9) as made:
        made.add(range(8), X[:8])
        made.commit()
        made.remove([3])
        made.commit()
        yield made


WRONG = {
    "known ids": (lambda i: i.add([7, 99], X[:2]), ValueError, "Id 7 is in the index already"),
    "many known ids": (lambda i: i.add([1, 2], X[:2]), ValueError, "2 ids, the first 1, are in"),
    "duplicate ids": (lambda i: i.add([9, 9], X[:2]), ValueError, "9 is given more than once"),
    "unknown ids": (lambda i: i.remove([1, 55]), ValueError, "Id 55 is not in the index"),
    "removed ids": (lambda i: i.remove([3]), ValueError, "Id 3 is not in the index"),
    "too few ids": (lambda i: i.add([9], X[:2]), ValueError, "got 1 id for 2 rows"),
    "mixed ids": (lambda i: i.add([9, "a"], X[:2]), TypeError, "id 1 is 'a' and id 0 is 9"),
    "other ids": (lambda i: i.add(["a", "b"], X[:2]), TypeError, "must be whole numbers"),
    "NumPy ids": (lambda i: i.add([np.int64(9), "a"], X[:2]), TypeError, "'a' and id 0 is 9"),
    "NumPy floats": (lambda i: i.add(np.ones(2), X[:2]), TypeError, "id 0 is 1.0."),
    "no queries": (lambda i: i.search(np.empty((0, 4)), k=1), ValueError, "4 features"),
    "floats": (lambda i: i.add([1.5, 2.5], X[:2]), TypeError, "id 0 is 1.5"),
    "float array": (lambda i: i.add(np.ones(2), X[:2]), TypeError, "id 0 is"),
    "bools": (lambda i: i.add([True, False], X[:2]), TypeError, "id 0 is True"),
    "None": (lambda i: i.add([None, None], X[:2]), TypeError, "id 0 is None"),
    "large ids": (lambda i: i.add([1 << 63], X[:1]), ValueError, "fit into 64 bits"),
    "one string": (lambda i: i.add("ab", X[:2]), TypeError, "must be a list"),
    "a number": (lambda i: i.add(5, X[:1]), TypeError, "must be a list"),
    "a table of ids": (lambda i: i.add(np.ones((2, 2), int), X[:2]), ValueError, "one dimension"),
    "a set of ids": (lambda i: i.add({9, 10}, X[:2]), TypeError, "got a set, whose order"),
    "a dict of ids": (lambda i: i.add({9: 0, 10: 0}, X[:2]), TypeError, "got a dict, whose order"),
    "no rows": (lambda i: i.add([9], None), ValueError, "2D array"),
    "a number for rows": (lambda i: i.add([9], np.array(5.0)), ValueError, "2D array"),
    "no query": (lambda i: i.search(None, k=1), ValueError, "2D array"),
    "a number to look for": (lambda i: i.search(np.array(5.0), k=1), ValueError, "2D array"),
    "k without end": (lambda i: i.search(X, k=10**12), ValueError, "must be at most 65,536"),
    "recall beyond": (lambda i: i.expected_recall([2, -1]), ValueError, "similarity must lie"),
    "recall of NaN": (lambda i: i.expected_recall(np.nan), ValueError, "similarity must lie"),
    "width": (lambda i: i.add([9], np.ones((1, 4))), ValueError, "4 features"),
    "width of a query": (lambda i: i.search(np.ones((1, 4)), k=1), ValueError, "4 features"),
    "NaN": (lambda i: i.add([9], [[1.0, np.nan, 2.0]]), ValueError, "NaN"),
    "codes": (lambda i: i.add([9], MAP.encode(X[:1])), TypeError, "pass the rows"),
    "k of 0": (lambda i: i.search(X, k=0), ValueError, "k must be at least 1"),
    "k of 1.5": (lambda i: i.search(X, k=1.5), TypeError, "k must be a whole number"),
    "neither": (lambda i: i.search(X), ValueError, "either k or threshold"),
    "both": (lambda i: i.search(X, k=1, threshold=0.9), ValueError, "either k or threshold"),
    "threshold 0": (lambda i: i.search(X, threshold=0), ValueError, "above 0 and at most 1"),
    "threshold 1.1": (lambda i: i.search(X, threshold=1.1), ValueError, "between 0 and 1"),
    "threshold NaN": (lambda i: i.search(X, threshold=np.nan), ValueError, "finite number"),
    "low pairs": (lambda i: i.pairs(0.5), ValueError, "at least 0.9, that of the index"),
    "cap": (lambda i: i.pairs(cap=0), ValueError, "cap must be at least 1"),
    "missing": (lambda i: i.remove([1], missing="skip"), ValueError, "missing must be one of"),
    "replace": (lambda i: i.add([1], X[:1], replace="yes"), TypeError, "True or False"),
    "pickle": (pickle.dumps, TypeError, "cannot be pickled"),
    "a second writer": (lambda i: Index.open(i.info()["path"], "a"), BlockingIOError, "one writer"),
    "create again": (lambda i: Index.create(i.info()["path"], MAP), FileExistsError, "already"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_is_one_sentence_and_changes_nothing(index, case):
    act, kind, words = WRONG[case]
    before = index.info(), index.search(X, k=8)
    with pytest.raises(kind, match=sentence(words)):
        act(index)
    after = index.info(), index.search(X, k=8)
    assert before[0] == after[0]
    assert all((was == now).all() for was, now in zip(before[1], after[1], strict=True))
    index.add([20], X[[10]])
    index.commit()
    assert len(Index.open(index.info()["path"])) == 8


def test_a_reader_refuses_changes(index):
    reader = Index.open(index.info()["path"])
    for act in (
        lambda: reader.add([9], X[:1]),
        lambda: reader.remove([1]),
        reader.commit,
        reader.compact,
    ):
        with pytest.raises(ValueError, match=sentence("is open for reading")):
            act()
    reader.close()
    reader.close()
    for act in (
        lambda: len(reader),
        lambda: reader.search(X, k=1),
        reader.info,
        reader.verify,
        reader.__enter__,
    ):
        with pytest.raises(ValueError, match=sentence("is closed")):
            act()
    assert repr(reader) == "Index(closed)"
    with pytest.raises(TypeError, match="create"):
        Index(index.info()["path"])


CREATE = {
    "threshold": ({"threshold": 0.0}, ValueError, "threshold must be above 0"),
    "recall": ({"recall": 1.0}, ValueError, "recall must be above 0 and below 1"),
    "unfitted": ({"map": GCWS(32)}, ValueError, "not fitted"),
    "unfitted signs": ({"map": SignProjection(32), "n_features": 3}, ValueError, "not fitted"),
    "dense map": ({"map": RandomFourier(32).fit(X)}, TypeError, "map into codes"),
    "no map": ({"map": "gcws"}, TypeError, "map into codes"),
    "other width": ({"map": MAP, "n_features": 5}, ValueError, "leave n_features out"),
    "few slots": ({"map": GCWS(4, bits=4).fit(X), "threshold": 0.3}, ValueError, "cannot find"),
    "no state": ({"map": MAP, "attached": "x"}, TypeError, "attached must be a State"),
    "deferred": ({"map": MAP, "deferred": 1}, TypeError, "deferred must be True or False"),
    "no threads": ({"map": MAP, "n_jobs": 0}, ValueError, "n_jobs must not be 0"),
    "a word of threads": ({"map": MAP, "n_jobs": "x"}, TypeError, "n_jobs must be a whole number"),
    "rows of signs": (
        {"map": SignProjection(64).fit(X), "store_rows": True},
        ValueError,
        "store_rows=False",
    ),
}


@pytest.mark.parametrize("case", CREATE)
def test_wrong_parameters_of_create_make_nothing(tmp_path, case, monkeypatch):
    monkeypatch.delenv("KERNELIGHT_NUM_THREADS", raising=False)
    parameters, kind, words = CREATE[case]
    with pytest.raises(kind, match=sentence(words)):
        Index.create(tmp_path / "i", **parameters)
    assert os.listdir(tmp_path) == []


def test_codes_of_another_map(tmp_path):
    with Index.create(tmp_path / "i", MAP, threshold=0.9, store_rows=False) as index:
        index.add([1], MAP.encode(X[:1]))
        others = [
            (GCWS(32, bits=4, random_state=1).fit(X).encode(X), "provenance"),
            (GCWS(64, bits=4).fit(X).encode(X), "slots differ"),
            (MAP.encode(X).low_bits(2), "bits differ"),
            (Codes(np.zeros((12, 32)).astype(int), 4), "provenance"),
        ]
        for codes, words in others:
            for act in (
                lambda codes=codes: index.add(range(20, 32), codes),
                lambda codes=codes: index.search(codes, k=1),
            ):
                with pytest.raises(ValueError, match=sentence(words)):
                    act()
        assert len(index) == 1


def test_places(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    (tmp_path / "empty").mkdir()
    for place, kind, words in (
        ("nowhere", FileNotFoundError, "is not there"),
        ("file", NotADirectoryError, "is a file"),
        ("full", ValueError, "not an index"),
        ("empty", ValueError, "not an index"),
    ):
        for mode in ("r", "a"):
            with pytest.raises(kind, match=sentence(words)):
                Index.open(tmp_path / place, mode)
    for place, kind, words in (
        ("a/b", FileNotFoundError, "there is no directory"),
        ("file", FileExistsError, "is a file"),
        ("full", FileExistsError, "holds other files"),
    ):
        with pytest.raises(kind, match=sentence(words)):
            Index.create(tmp_path / place, MAP)
    assert sorted(os.listdir(tmp_path)) == ["empty", "file", "full"]
    assert os.listdir(tmp_path / "empty") == []
    Index.create(tmp_path / "empty", MAP).close()
    with pytest.raises(ValueError, match="mode must be one of"):
        Index.open(tmp_path / "empty", "w")


def test_a_place_that_cannot_be_written(index, monkeypatch):
    path = index.info()["path"]
    index.close()
    real = os.open

    def refused(place, flags, *more, **named):
        if flags & os.O_RDWR:
            raise OSError(30, os.strerror(30), place)
        return real(place, flags, *more, **named)

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(
        PermissionError, match=sentence("read-only file system: open it with mode='r'")
    ):
        Index.open(path, "a")
    assert len(Index.open(path)) == 7
    os.mkdir(path + "2")
    with pytest.raises(PermissionError, match=sentence("read-only file system: name another")):
        Index.create(path + "2", MAP)


@pytest.mark.parametrize(("number", "kind"), [(30, PermissionError), (28, OSError)])
def test_a_place_that_cannot_be_made(tmp_path, monkeypatch, number, kind):
    def refused(place, *_):
        raise OSError(number, os.strerror(number), place)

    monkeypatch.setattr(os, "mkdir", refused)
    with pytest.raises(kind, match=sentence("cannot be made, .*: name a place")):
        Index.create(tmp_path / "i", MAP)


def test_an_empty_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call in (Index.open, lambda path: Index.create(path, MAP)):
        with pytest.raises(ValueError, match=sentence("must not be empty: name a directory")):
            call("")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_no_queries(index, form):
    assert [part.shape for part in index.search(form(X[:0]), k=2)] == [(0, 2)] * 2
    found = index.search(form(X[:0]), threshold=0.9, return_std=True)
    assert [part.shape for part in found] == [(0,)] * 3


def test_empty_input(index):
    index.add([], np.empty((0, 3)))
    assert index.remove([]) == 0
    index.commit()
    assert [part.shape for part in index.search(X[:1], k=20)] == [(1, 20), (1, 20)]
    assert len(index) == 7


def test_an_empty_index(tmp_path):
    index = Index.create(tmp_path / "i", MAP, threshold=0.9)
    for _ in range(2):
        ids, scores = index.search(X, k=2)
        assert ids.tolist() == [[-1, -1]] * 12
        assert (scores == -1).all()
        assert [part.tolist() for part in index.search(X, threshold=0.9)[0]] == [[]] * 12
        assert [len(part) for part in index.pairs()] == [0, 0, 0]
        assert index.remove([1], missing="ignore") == 0
        index.verify()
        index.compact()
        index.close()
        index = Index.open(tmp_path / "i", "a")
    index.close()


@pytest.mark.parametrize("form", [list, np.array, "pandas", "uint8", "objects", "numpy strings"])
def test_forms_of_ids(tmp_path, form):
    names = [3, 1, 2]
    if form == "pandas":
        pandas = pytest.importorskip("pandas")
        given = pandas.Series(names)
    elif form == "uint8":
        given = np.array(names, dtype=np.uint8)
    elif form == "objects":
        names = ["c", "a", "b"]
        given = np.array(names, dtype=object)
    elif form == "numpy strings":
        names = ["c", "a", "b"]
        given = np.array(names)
    else:
        given = form(names)
    with Index.create(tmp_path / "i", MAP, threshold=0.9) as index:
        index.add(given, X[:3])
        ids = index.search(X[:3], k=1)[0][:, 0].tolist()
    assert ids == names
    assert all(type(each) is type(names[0]) for each in ids)


def test_an_exception_drops_what_was_not_committed(tmp_path):
    def interrupted():
        with Index.create(tmp_path / "i", MAP, threshold=0.9) as index:
            index.add([1], X[:1])
            index.commit()
            index.add([2], X[1:2])
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        interrupted()
    assert len(Index.open(tmp_path / "i")) == 1
    index = Index.open(tmp_path / "i", "a")
    index.add([3], X[:1])
    index.close()
    assert len(Index.open(tmp_path / "i")) == 1


def test_dense_and_sparse_rows_meet(tmp_path):
    for first, second in ((X, sp.csr_matrix(X)), (sp.csr_matrix(X), X)):
        path = tmp_path / type(first).__name__
        with Index.create(path, MAP, threshold=0.9) as index:
            index.add(range(6), first[:6])
            index.commit()
            index.add(range(6, 12), second[6:].astype(np.float32))
            index.commit()
            ids, scores = index.search(second, k=1)
            assert ids[:, 0].tolist() == list(range(12))
            np.testing.assert_allclose(scores, 1, atol=1e-6)
            index.compact()
            assert index.search(first, k=1)[0][:, 0].tolist() == list(range(12))


# -- Damage


@pytest.fixture(scope="module", params=["int", "str"])
def saved(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "i"
    names = [n if request.param == "int" else f"row {n}" for n in range(8)]
    rows = sp.csr_matrix(X) if request.param == "str" else X
    with Index.create(path, MAP, threshold=0.9) as index:
        index.add(names, rows[:8])
        index.commit()
        index.remove(names[2:4])
        index.commit()
    return path


def use(path):
    """Everything that reads an index."""
    with Index.open(path) as index:
        index.search(X, k=3)
        index.search(X, threshold=0.9)
        index.search(X, threshold=0.3)
        index.pairs()
        index.info()
    with Index.open(path, "a") as index:
        index.add(["new" if index.info()["ids"] == "str" else 77], X[:1])
        index.compact()


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=nightly)])
def test_every_flipped_byte_is_found_and_none_crashes(saved, tmp_path, step):
    n_bytes = 0
    for file in sorted(saved.iterdir()):
        content = file.read_bytes()
        for at in range(0, len(content), step):
            shutil.rmtree(tmp_path / "i", ignore_errors=True)
            shutil.copytree(saved, tmp_path / "i")
            flipped = bytearray(content)
            flipped[at] ^= 1 << (at % 8)
            (tmp_path / "i" / file.name).write_bytes(flipped)
            with pytest.raises(ValueError, match=r"^[^\n]*\.$"):
                Index.open(tmp_path / "i").verify()
            if at % 5 == 0:
                try:
                    use(tmp_path / "i")
                except ValueError as error:
                    assert "\n" not in str(error)  # noqa: PT017 (it may also go well)
            n_bytes += 1
    assert n_bytes > 2000 / step


@pytest.mark.parametrize("trials", [60, pytest.param(1000, marks=nightly)])
def test_files_of_random_bytes_do_not_crash(saved, tmp_path, trials):
    """Parts of files are replaced by noise, or cut off."""
    rng = np.random.default_rng(0)
    files = sorted(file.name for file in saved.iterdir() if file.name != "LOCK")
    for _ in range(trials):
        shutil.rmtree(tmp_path / "i", ignore_errors=True)
        shutil.copytree(saved, tmp_path / "i")
        file = tmp_path / "i" / rng.choice(files)
        content = bytearray(file.read_bytes())
        begin, length = int(rng.integers(len(content))), int(rng.integers(1, 200))
        if rng.random() < 0.2:
            content = content[:begin] if rng.random() < 0.5 else content + bytes(length)
        else:
            noise = rng.choice([b"\xff", b"\0", rng.bytes(1), None])
            part = content[begin : begin + length]
            content[begin : begin + length] = (
                rng.bytes(len(part)) if noise is None else noise * len(part)
            )
        if content == file.read_bytes():
            continue
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"^[^\n]*\.$"):
            Index.open(tmp_path / "i").verify()
        try:
            use(tmp_path / "i")
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017 (it may also go well)


def test_a_missing_file(saved, tmp_path):
    for file in sorted(saved.iterdir()):
        if file.name in ("LOCK", "MANIFEST"):
            continue
        shutil.rmtree(tmp_path / "i", ignore_errors=True)
        shutil.copytree(saved, tmp_path / "i")
        (tmp_path / "i" / file.name).unlink()
        for mode in ("r", "a"):
            with pytest.raises(ValueError, match=sentence(f"{file.name} is not there")):
                Index.open(tmp_path / "i", mode)


def test_newer_and_foreign_manifests(saved, tmp_path):
    shutil.copytree(saved, tmp_path / "i")
    manifest = tmp_path / "i" / "MANIFEST"
    content = manifest.read_bytes()
    for first, words in (
        (b"kernelight-index 2 1\n", "newer version of kernelight: its format_version is 2"),
        (b"kernelight-index 1 7\n", "newer version of kernelight: its algorithm_version is 7"),
        (b"kernelight-index 0 1\n", "its format_version is 0"),
        (b"something else\n", "does not begin as the manifest"),
    ):
        manifest.write_bytes(first + content.partition(b"\n")[2])
        with pytest.raises(ValueError, match=sentence(words)):
            Index.open(tmp_path / "i")
    (segment,) = (tmp_path / "i").glob("segment-*")
    manifest.write_bytes(content)
    whole = segment.read_bytes()
    segment.write_bytes(whole[:8] + b"\2" + whole[9:])
    with pytest.raises(ValueError, match=sentence("newer version of kernelight")):
        Index.open(tmp_path / "i")


def test_damage_is_not_merged(saved, tmp_path):
    """A merge would give damaged rows digests of their own."""
    shutil.copytree(saved, tmp_path / "i")
    (segment,) = (tmp_path / "i").glob("segment-*")
    content = bytearray(segment.read_bytes())
    content[-3] ^= 1
    segment.write_bytes(content)
    before = sorted(os.listdir(tmp_path / "i"))
    with (
        Index.open(tmp_path / "i", "a") as index,
        pytest.raises(ValueError, match="altered or damaged"),
    ):
        index.compact()
    assert sorted(os.listdir(tmp_path / "i")) == before


def test_a_new_working_directory_changes_nothing(tmp_path, monkeypatch):
    X = np.random.default_rng(0).lognormal(size=(20, 4))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        with Index.create("rows.index", n_features=4) as index:
            index.add(np.arange(10), X[:10])
    monkeypatch.chdir(tmp_path / "one")
    writer = Index.open("rows.index", "a")
    monkeypatch.chdir(tmp_path / "two")
    with writer:
        writer.add(np.arange(10, 20), X[10:])
    assert len(Index.open(tmp_path / "one" / "rows.index")) == 20
    assert len(Index.open(tmp_path / "two" / "rows.index")) == 10


@pytest.mark.parametrize("kind", ["directory", "loop", "pipe"])
@pytest.mark.parametrize("name", ["MANIFEST", "segment", "map", "removed", "LOCK"])
def test_what_is_no_file_is_damage(index, tmp_path, kind, name):
    """It is neither waited for nor an error of the system."""
    path = index.info()["path"]
    index.close()
    (file,) = (each for each in (tmp_path / "i").iterdir() if each.name.startswith(name))
    file.unlink()
    if kind == "directory":
        file.mkdir()
    elif kind == "loop":
        file.symlink_to(file)
    elif name == "LOCK" or not hasattr(os, "mkfifo"):
        return  # a pipe can be locked
    else:
        os.mkfifo(file)
    with pytest.raises(ValueError, match=sentence(f"{file.name} has been altered or damaged")):
        Index.open(path, "a")
    if name != "LOCK":
        with pytest.raises(ValueError, match=sentence("it is no file")):
            Index.open(path)


def test_more_than_there_are(tmp_path):
    with Index.create(tmp_path / "i", MAP, threshold=0.9) as index:
        index.add([1], X[:1])
        assert index.search(X[:1], k=1 << 16)[0].shape == (1, 1 << 16)
        index.remove({1})  # which is first does not matter here


def test_rows_without_a_manifest_are_not_replaced(tmp_path):
    with Index.create(tmp_path / "rows", n_features=2) as index:
        index.add([1], np.ones((1, 2)))
    before = sorted(path.name for path in (tmp_path / "rows").glob("segment-*"))
    (tmp_path / "rows" / "MANIFEST").unlink()
    with pytest.raises(ValueError, match="MANIFEST is gone"):
        Index.open(tmp_path / "rows")
    with pytest.raises(FileExistsError, match="MANIFEST is gone"):
        Index.create(tmp_path / "rows", n_features=2)
    assert sorted(path.name for path in (tmp_path / "rows").glob("segment-*")) == before != []
