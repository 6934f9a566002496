"""Files that are read in pieces: the same rows, lines and errors, however large the pieces are."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from kernelight.data import DataError, byte_sources, growing, open_dataset
from kernelight.data.byte_sources import Window, file_source
from kernelight.data.growing import Growing
from kernelight.data.observations import Unvarying
from kernelight.data.table_source import Block, ColumnSelection


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def pieces_of(size, monkeypatch):
    for module in ("delimited", "libsvm"):
        monkeypatch.setattr(f"kernelight.data.{module}.CHUNK", size)


@pytest.mark.parametrize("charset", [None, "latin-1"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("size", [1, 2, 7, 64, 5000])
def test_a_window_gives_every_byte_once(size, packed, charset):
    content = bytes(np.random.default_rng(0).integers(32, 127, 3000).tolist())
    with open("x", "wb") as file:
        file.write(gzip.compress(content) if packed else content)
    source = file_source("x")
    source.charset = charset
    rng, seen = np.random.default_rng(size), b""
    with source.reader() as reader:
        window = Window(reader, size)
        while not window.ended:
            text = window.more()
            used = len(text) if window.ended else int(rng.integers(0, len(text) + 1))
            seen += text[:used].tobytes()
            window.drop(used)
        assert reader.fraction == 1
    assert seen == content


@pytest.mark.parametrize("mapped", [0, growing.MAPPED])
def test_growing_rows_reserve_what_is_expected(mapped, monkeypatch):
    monkeypatch.setattr(growing, "MAPPED", mapped)
    rows = Growing(np.float32, 3)
    for part in range(10):
        place = rows.room(40, (part + 1) / 10)
        place[:] = part
        rows.add(40 if part % 2 else 30)
    wanted = np.repeat(np.arange(10), [30, 40] * 5)
    np.testing.assert_array_equal(rows.array, np.repeat(wanted[:, None], 3, axis=1))
    assert rows.array.dtype == np.float32
    moves = []
    monkeypatch.setattr(Growing, "_reserve", lambda self, *sizes: moves.append(sizes))
    rows = Growing(np.int64)
    rows.room(100, 0.25)
    assert moves == [(100 + int(300 * (1 + growing.SPARE)), 100)]


def test_growing_rows_may_take_many_pages_and_be_replaced(monkeypatch):
    monkeypatch.setattr(growing, "MAPPED", 0)
    rows, parts = Growing(np.int64), np.arange(300_000).reshape(30, -1)
    for at, part in enumerate(parts):
        rows.room(len(part), (at + 1) / 60)[:] = part  # half of them more than expected
        rows.add(len(part))
        if at == 20:
            rows.array = rows.array.astype(np.float64)
    np.testing.assert_array_equal(rows.array, parts.reshape(-1))
    assert rows.array.dtype == np.float64


@pytest.mark.parametrize("mapped", [0, growing.MAPPED])
def test_growing_rows_that_cannot_be_reserved_are_copied(mapped, monkeypatch):
    monkeypatch.setattr(growing, "MAPPED", mapped)
    rows = Growing(np.int64)
    for part in range(50):  # as if the file were a billion times as long
        rows.room(10, 1e-17)[:] = part
        rows.add(10)
    np.testing.assert_array_equal(rows.array, np.repeat(np.arange(50), 10))


@pytest.mark.parametrize("size", [100, 1000, 1 << 20])
@pytest.mark.parametrize("lines_of_rows", ["one", "blank between", "two"])
def test_lines_are_counted_over_pieces(size, lines_of_rows, monkeypatch):
    pieces_of(size, monkeypatch)
    lines = ["a,word,y"]
    for row in range(300):
        word = '"two\nlines"' if lines_of_rows == "two" else "one"
        lines.append(f"{row},{word},{row % 2}")
        if lines_of_rows == "blank between" and row % 7 == 0:
            lines += ["", " "]
    text = "\n".join([*lines, "7,one,"])
    with open("x.csv", "w") as file:
        file.write(text)
    line = text.count("\n") + 1
    data = open_dataset("x.csv", target="y", strict=True)
    for read in (data.materialise, lambda: list(data.batches(50))):
        with pytest.raises(DataError, match=rf"line {line}, column 'y': the target is missing"):
            read()


@pytest.mark.parametrize("size", [100, 1000, 1 << 20])
def test_exact_labels_and_wide_indices_in_later_pieces(size, monkeypatch):
    pieces_of(size, monkeypatch)
    rows = [f"{row % 2} 1:{row} 5:2.5" for row in range(200)]
    rows[150] = "9007199254740993 3:1 5000000000:4"
    with open("x.svm", "w") as file:
        file.write("\n".join(rows))
    X, y = open_dataset("x.svm").materialise()
    assert X.shape == (200, 5_000_000_000)
    assert X[150, 4_999_999_999] == 4
    assert X.nnz == 400
    assert X[:, 0].toarray()[:, 0].tolist() == [*range(150), 0, *range(151, 200)]
    assert y[150] == 9007199254740993
    assert y[149:152].tolist() == [1, 9007199254740993, 1]


def test_a_packed_text_beyond_memory_is_refused_while_it_is_read(monkeypatch):
    with gzip.open("x.svm.gz", "wb") as file:
        file.write(b"1 1:2\n0 1:3\n" * 100_000)
    pieces_of(1 << 16, monkeypatch)
    monkeypatch.setattr(byte_sources, "_available", lambda: float(1 << 19))
    with pytest.raises(DataError, match="unpacks to more than 0 MB, for which the memory"):
        open_dataset("x.svm.gz").materialise()
    assert open_dataset("x.svm.gz").n_features == 1


@pytest.mark.parametrize("varies_at", [5, 255, 256, 300, 65_791, 65_792, 70_000, 69_999])
def test_columns_that_vary_in_any_row(varies_at):
    numbers = np.zeros((70_001, 3))
    numbers[varies_at, 1] = 1
    numbers[::2, 2] = np.nan
    unvarying = Unvarying(ColumnSelection(numbers=("same", "varies", "gaps")))
    unvarying.add(Block(numbers))
    (note,) = unvarying.notes()
    assert note.startswith("columns 'same', 'gaps': every value is the same")
