"""Dense NPZ files are read in blocks: the same rows as at once, in bounded memory."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from peak import started

from kernelight.data import DataError, open_dataset

PEAK = """
from peak import peak
from kernelight.data import open_dataset

list(open_dataset({small!r}).batches())  # so that everything is loaded
before = peak()
rows = sum(len(batch.y) for batch in open_dataset({large!r}).batches())
print(rows, peak() - before)
"""


@pytest.fixture
def few_bytes(monkeypatch):
    monkeypatch.setattr("kernelight.data.npz.BLOCK_BYTES", 1000)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("dtype", ["<f8", ">f4", "int16", "bool", "float16"])
def test_streamed_rows_are_those_of_the_array(tmp_path, few_bytes, save, dtype):
    random = np.random.default_rng(0)
    X = (random.normal(size=(301, 7)) * 10).astype(dtype)
    texts = random.choice(["one", "two", "three"], size=301)
    for y in (
        texts,
        texts.astype("S"),
        random.integers(0, 3, size=(301, 1)),
        random.normal(size=301),
    ):
        save(tmp_path / "x.npz", X=X, y=y)
        save(tmp_path / "f.npz", X=np.asfortranarray(X), y=y)
        data = open_dataset(tmp_path / "x.npz")
        parts = list(data.batches(100))
        assert [part.X.shape[0] for part in parts] == [100, 100, 100, 1]
        np.testing.assert_array_equal(
            np.concatenate([part.X for part in parts]), X.astype(np.float64)
        )
        wanted = y.astype(str) if y.dtype.kind in "US" else y.reshape(-1)
        np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), wanted)
        for name in ("x.npz", "f.npz"):
            whole, labels = open_dataset(tmp_path / name).materialise()
            np.testing.assert_array_equal(whole, X.astype(np.float64))
            np.testing.assert_array_equal(labels, wanted)


def test_columns_by_name(tmp_path, few_bytes):
    X = np.arange(1200.0).reshape(300, 4)
    np.savez(tmp_path / "x.npz", X=X, feature_names=["a", "b", "c", "d"])
    data = open_dataset(tmp_path / "x.npz", target="c", ids="a", ignore=["b"])
    parts = list(data.batches(77))
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), X[:, 3:])
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), X[:, 2])
    assert [name for part in parts for name in part.ids] == [f"{value:.17g}" for value in X[:, 0]]


def test_no_rows(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.zeros((0, 3)))
    for read in (lambda data: list(data.batches()), lambda data: data.materialise()):
        with pytest.raises(DataError, match="has no rows"):
            read(open_dataset(tmp_path / "x.npz"))


def test_damage_behind_the_first_rows_is_a_sentence(tmp_path, few_bytes):
    X = np.random.default_rng(0).normal(size=(500, 8))
    np.savez(tmp_path / "x.npz", X=X)
    encoding = open_dataset(tmp_path / "x.npz").encoding
    content = bytearray((tmp_path / "x.npz").read_bytes())
    content[len(content) // 2] ^= 1  # a value that is still a number: only the checksum knows
    (tmp_path / "x.npz").write_bytes(content)
    batches = open_dataset(tmp_path / "x.npz", encoding=encoding).batches(50)
    assert next(batches).X.shape == (50, 8)
    with pytest.raises(DataError, match=r"x\.npz cannot be read as NPZ: Bad CRC-32"):
        list(batches)
    with pytest.raises(DataError, match="Bad CRC-32"):
        open_dataset(tmp_path / "x.npz").materialise()


def test_infinity_is_named_by_its_row(tmp_path, few_bytes):
    X = np.zeros((400, 8))
    X[333, 2] = np.inf
    np.savez(tmp_path / "x.npz", X=X)
    with pytest.raises(DataError, match="row 334, column 'column_3': infinity"):
        list(open_dataset(tmp_path / "x.npz").batches())


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"]
)
def test_memory_does_not_grow_with_the_file(tmp_path, method):
    rows, width = 400_000, 40
    np.savez(tmp_path / "small.npz", X=np.zeros((100, width)), y=np.arange(100) % 2)
    with zipfile.ZipFile(tmp_path / "large.npz", "w", method, compresslevel=1) as archive:
        for name, shape in (("X", (rows, width)), ("y", (rows,))):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array_header_1_0(
                    file, {"descr": "<f8", "fortran_order": False, "shape": shape}
                )
                part = np.tile(np.arange(8.0), int(np.prod(shape)) // 8 // 10).tobytes()
                for _ in range(10):
                    file.write(part)
    script = PEAK.format(small=str(tmp_path / "small.npz"), large=str(tmp_path / "large.npz"))
    printed = started(script)
    count, growth = map(int, printed.split())
    assert count == rows
    assert growth < 48 << 20 < rows * width * 8 // 2
