"""Tiny files that unpack to, or declare, more than anyone can read: refused in a sentence, soon."""

from __future__ import annotations

import gzip
import io
import time
import zipfile

import numpy as np
import pytest

from kernelight.data import DataError, byte_sources, open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 20


def sentences(name, **options):
    """What is said when it is read at once and in batches."""
    said = []
    for read in (lambda data: data.materialise(), lambda data: list(data.batches())):
        with pytest.raises(DataError) as caught:
            read(open_dataset(name, **options))
        said.append(str(caught.value))
    return said


def npy(shape, content=b"", dtype="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return file.getvalue() + content


def test_rows_of_a_sparse_matrix_that_take_no_bytes():
    members = {
        "format": npy((), b"csc", "|S3"),
        "shape": npy((2,), np.array([2**31, 2]).tobytes(), "<i8"),
        "data": npy((0,)),
        "indices": npy((0,), dtype="<i4"),
        "indptr": npy((3,), bytes(12), "<i4"),
    }
    with zipfile.ZipFile("x.npz", "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    assert all("declares 2147483648 rows or more in" in said for said in sentences("x.npz"))


def test_rows_of_nulls():
    pa = pytest.importorskip("pyarrow")
    nulls = pa.nulls(2**31 - 1)
    with (
        pa.OSFile("x.arrow", "wb") as file,
        pa.ipc.new_file(file, pa.schema([("a", pa.null())])) as out,
    ):
        out.write_batch(pa.record_batch([nulls], names=["a"]))
    said = sentences("x.arrow", target=None)
    assert all("declares 2147483647 rows or more in" in sentence for sentence in said)


def test_a_row_without_end(monkeypatch):
    for module in ("byte_sources", "delimited", "libsvm"):
        monkeypatch.setattr(f"kernelight.data.{module}.LONGEST_ROW", 1 << 24)
    for name, start in (("x.csv.gz", b"a,y\n"), ("x.svm.gz", b"1 1:2\n")):
        with gzip.open(name, "wb", compresslevel=1) as file:
            file.write(start)
            for _ in range(40):
                file.write(b"1" * (1 << 20))
        assert all(
            "line 2" in said and "more than 16777216 bytes" in said for said in sentences(name)
        )


def test_more_than_the_memory_holds(monkeypatch):
    with gzip.open("x.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"a,y\n" + b"1,0\n2,1\n" * (3 << 20))
    monkeypatch.setattr(byte_sources, "_available", lambda: float(1 << 24))
    with pytest.raises(
        DataError, match="for which the memory does not suffice: read it in batches"
    ):
        open_dataset("x.csv.gz").materialise()
    assert next(iter(open_dataset("x.csv.gz").batches(10))).X.shape == (10, 1)


def test_a_long_line_is_searched_once():
    with open("x.csv", "wb") as file:
        file.write(b"a,y\n" + b"1" * (64 << 20))
    began = time.monotonic()
    with pytest.raises(DataError, match="is beyond the largest number"):
        open_dataset("x.csv").materialise()
    assert time.monotonic() - began < 10
