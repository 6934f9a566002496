"""NPZ files: arrays ``X`` and ``y``, and what `scipy.sparse.save_npz` writes.

There may also be ``X_train``, ``y_train``, ``X_test`` and ``y_test``. Arrays of Python objects are
not read, because reading them could run code. A dense matrix stays in the file
and is read some rows at a time; one in Fortran order, whose rows lie scattered, and a sparse one
are read when the file is opened.
"""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.base.sparse import compressed
from kernelight.data.byte_sources import ByteSource
from kernelight.data.errors import DataError, explained, listed
from kernelight.data.exact_integers import targets_of
from kernelight.data.table_source import ArraySource, Block, ColumnSelection, words_of

BLOCK_BYTES = 1 << 22  # of rows that are read at a time
_SPARSE = {"indices", "indptr", "format", "shape", "data"}


@dataclass(frozen=True)
class Member:
    """An array of an NPZ file, which is still there: its name, and what its header says."""

    key: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool

    @property
    def row_bytes(self) -> int:
        """Bytes of what belongs to one row."""
        return int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize

    def pieces(self, archive: zipfile.ZipFile, rows: int) -> Iterator[NDArray[Any]]:
        """The array, ``rows`` rows at a time.

        The archive compares its checksum when the last of them are read.
        """
        with archive.open(f"{self.key}.npy") as handle:
            _header(self.key, handle)
            for start in range(0, self.shape[0], rows):
                count = min(rows, self.shape[0] - start)
                data = handle.read(count * self.row_bytes)
                if len(data) < count * self.row_bytes:
                    raise EOFError(f"{self.key!r} is cut off in row {start + 1} or later")
                yield np.frombuffer(data, self.dtype).reshape(count, *self.shape[1:])


class NpzSource(ArraySource):
    """A data set from the arrays of an NPZ file."""

    def __init__(self, source: ByteSource, part: str | None) -> None:
        self._source = source
        self._streamed: tuple[Member, Member | None] | None = None
        with explained(source.label, "NPZ"):
            matrix, target, names = self._opened(part)
        super().__init__(source.label, names, matrix, {}, None if target is None else ("y", target))
        self.headed = False

    def _opened(self, part: str | None) -> tuple[Any, Any, list[str] | None]:
        """The matrix, the target, and the names of the columns.

        Of a matrix that is to be streamed no rows are read here.
        """
        label = self._source.label
        with self._source.opened() as handle, zipfile.ZipFile(handle) as archive:
            members = _members(label, archive)
        suffix = self._suffix = _suffix(label, members.keys(), part)
        sparse = members.keys() >= _SPARSE
        stored, of_target = members.get(f"X{suffix}"), members.get(f"y{suffix}")
        self._integers = (members["data"] if sparse else members[f"X{suffix}"]).dtype.kind in "iu"
        if not sparse:
            assert stored is not None
            _refuse_no_matrix(label, stored.key, stored.dtype, stored.shape)
            self._source.refuse_more_rows(stored.shape[0])
        with self._source.opened() as handle, np.load(handle, allow_pickle=False) as file:
            given = file["feature_names"].tolist() if "feature_names" in members else None
            if sparse or (stored is not None and stored.fortran and stored.shape[1] > 1):
                if sparse and file["shape"].size:
                    self._source.refuse_more_rows(int(file["shape"].flat[0]))
                matrix = _sparse(file) if sparse else file[f"X{suffix}"]
                target = None if of_target is None else file[of_target.key]
            else:
                assert stored is not None
                self._streamed = stored, of_target
                matrix = np.zeros((0, stored.shape[1]), stored.dtype)
                target = None if of_target is None else np.zeros(0, of_target.dtype)
        if of_target is not None and target is not None:
            n_rows = matrix.shape[0] if stored is None or sparse else stored.shape[0]
            _refuse_other_rows(label, of_target, n_rows)
            target = _targets(target)
        if sparse:
            _refuse_no_matrix(label, "X", matrix.dtype, matrix.shape)
            _refuse_sparse_nan(label, matrix)
            return matrix, target, None
        count = matrix.shape[1]
        names = [f"column_{at + 1}" for at in range(count)]
        if isinstance(given, list) and len(given) == count == len(set(map(str, given))):
            names = [str(name) for name in given]
        return matrix, target, names

    @property
    def whole_numbers(self) -> bool:
        return self._integers  # sparse ones have become doubles

    def blocks(self, selection: ColumnSelection) -> Iterator[Block]:
        if self._streamed is None:
            yield from super().blocks(selection)
            return
        yield from self._read(
            selection, min(self.STEP, max(1, BLOCK_BYTES // max(1, self._streamed[0].row_bytes)))
        )

    def whole(self, selection: ColumnSelection) -> Block:
        if self._streamed is None:
            return super().whole(selection)
        rows = self._streamed[0].shape[0]
        return next(self._read(selection, rows)) if rows else super().whole(selection)

    def copy_rows(self, kept: NDArray[np.bool_], handle: Any) -> None:
        """Write an NPZ file with some of the rows, the other arrays as they are.

        Arrays whose first axis counts the rows are cut: X and y of the part that was opened. A
        dense matrix is copied some rows at a time.
        """
        with (
            explained(self.label, "NPZ"),
            self._source.opened() as given,
            zipfile.ZipFile(given) as archive,
            zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as made,
        ):
            members = _members(self.label, archive)
            if members.keys() >= _SPARSE:
                given.seek(0)
                cut = self._matrix[kept]
                if not isinstance(cut, sp.csr_matrix):
                    cut = cut.tocsr()
                arrays = {"data": cut.data, "indices": cut.indices, "indptr": cut.indptr}
                arrays |= {"format": np.array(b"csr"), "shape": np.array(cut.shape)}
                for key in members:
                    array = arrays.get(key)
                    if array is None:
                        with archive.open(f"{key}.npy") as file:
                            array = np.lib.format.read_array(file, allow_pickle=False)
                        array = array[kept] if key == "y" else array
                    _write_member(made, key, [array], array.shape, array.dtype)
                return
            cut_keys = {f"{name}{self._suffix}" for name in ("X", "y")}
            for key, member in members.items():
                if member.fortran or not member.shape:
                    with archive.open(f"{key}.npy") as file:
                        array = np.lib.format.read_array(file, allow_pickle=False)
                    array = array[kept] if key in cut_keys else array
                    _write_member(made, key, [array], array.shape, array.dtype)
                    continue
                rows = max(1, BLOCK_BYTES // max(1, member.row_bytes))
                shape, pieces = member.shape, member.pieces(archive, rows)
                if key in cut_keys:
                    shape = (int(kept.sum()), *shape[1:])
                    starts = range(0, member.shape[0], rows)
                    pieces = (
                        piece[kept[start : start + rows]]
                        for start, piece in zip(starts, pieces, strict=True)
                    )
                _write_member(made, key, pieces, shape, member.dtype)

    def _read(self, selection: ColumnSelection, rows: int) -> Iterator[Block]:
        assert self._streamed is not None
        stored, of_target = self._streamed
        with (
            explained(self.label, "NPZ"),
            self._source.opened() as handle,
            zipfile.ZipFile(handle) as archive,
        ):
            targets = None if of_target is None else of_target.pieces(archive, rows)
            start = 0
            for matrix in stored.pieces(archive, rows):
                apart = None if targets is None else _targets(next(targets))
                yield self._block(selection, start, matrix, apart)
                start += len(matrix)


def _write_member(
    archive: zipfile.ZipFile, key: str, pieces: Any, shape: tuple[int, ...], dtype: Any
) -> None:
    """An array of an NPZ file, from pieces of its first axis."""
    header = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(dtype)),
        "fortran_order": False,
        "shape": shape,
    }
    with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for piece in pieces:
            file.write(np.ascontiguousarray(piece).tobytes())


def _refuse_other_archives(label: str, names: list[str]) -> None:
    """Say what an archive is that begins as an NPZ file does and holds no array."""
    if not names or any(name.endswith(".npy") for name in names):
        return
    if any(name.startswith(("xl/", "content.xml")) for name in names):
        raise DataError(f"{label} is a spreadsheet: save its sheet as CSV, and read that.")
    raise DataError(f"{label} is a zip archive: unpack it, and read the file inside.")


def _members(label: str, archive: zipfile.ZipFile) -> dict[str, Member]:
    """The arrays by their names.

    One whose header promises more than there is is refused, before memory for it is taken.
    """
    _refuse_other_archives(label, archive.namelist())
    members = {}
    for name in archive.namelist():
        key = name.removesuffix(".npy")
        with archive.open(name) as handle:
            member = _header(key, handle)
            size = archive.getinfo(name).file_size - handle.tell()
        wanted = member.dtype.itemsize
        for extent in member.shape:
            wanted *= int(extent)
        if member.dtype.hasobject:
            raise DataError(
                f"{label}: {key!r} holds Python objects, which are not read; store numbers or text."
            )
        if wanted != size:
            raise DataError(
                f"{label}: {key!r} should have {counted(wanted, 'byte')} and has {size}."
            )
        members[key] = member
    return members


def _header(key: str, handle: Any) -> Member:
    version = np.lib.format.read_magic(handle)
    first = version == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(handle)
    return Member(key, shape, dtype, fortran)


def _suffix(label: str, keys: Collection[str], part: str | None) -> str:
    """What follows "X" and "y" in the names of the arrays that are asked for."""
    if "X" in keys or set(keys) >= _SPARSE:
        if part is not None:
            raise DataError(f"{label} has no part {part!r}: it is one matrix.")
        return ""
    suffix = f"_{part or 'train'}"
    if f"X{suffix}" not in keys:
        raise DataError(
            f"{label} has no array 'X{suffix}' (nor 'X'); it has {listed(sorted(keys)) or 'none'}."
        )
    return suffix


def _refuse_no_matrix(label: str, key: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or dtype.kind not in "biuf":
        raise DataError(
            f"{label}: {key!r} must be a matrix of numbers, got {dtype} of shape {shape}."
        )


def _refuse_sparse_nan(label: str, matrix: Any) -> None:
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right"))
        column = int(matrix.indices[bad[0]]) + 1
        raise DataError(
            f"{label}, row {row}, column {column}: {matrix.data[bad[0]]} is no value of a sparse "
            f"row."
        )


def _sparse(file: Any) -> Any:
    form = file["format"].item()
    form = form.decode() if isinstance(form, bytes) else str(form)
    if form not in ("csr", "csc"):
        raise ValueError(f"its sparse format is {form!r}; save it as CSR")
    shape = file["shape"]
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
        raise ValueError(f"its shape is {shape.tolist()}, not two whole numbers")
    matrix = compressed(form, file["data"], file["indices"], file["indptr"], shape.tolist()).tocsr()
    matrix.sum_duplicates()
    return matrix


def _refuse_other_rows(label: str, target: Member, rows: int) -> None:
    if target.shape not in ((rows, 1), (rows,)):
        raise DataError(
            f"{label}: 'y' has the shape {target.shape} where {counted(rows, 'row')} "
            f"{'has' if rows == 1 else 'have'} ({rows},)."
        )
    if target.dtype.kind == "M":
        raise DataError(
            f"{label}: 'y' is dates, which are neither classes nor quantities: store numbers or "
            f"text."
        )
    if target.dtype.kind not in "biufmUS":
        raise DataError(f"{label}: 'y' must be numbers or text, got {target.dtype}.")


def _targets(target: NDArray[Any]) -> Any:
    """Numbers (durations in seconds), or text as words."""
    target = target.reshape(-1)
    if target.dtype.kind == "m":
        return target / np.timedelta64(1, "s")
    if target.dtype.kind in "US":
        return words_of([t.decode() if isinstance(t, bytes) else t for t in target.tolist()])
    return targets_of(target)
