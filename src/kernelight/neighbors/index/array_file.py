"""Files of an index: named arrays that are mapped, never read as a whole.

A file is

    magic word, format version, algorithm version, length of the header    (24 bytes, little-endian)
    header: JSON text, then spaces up to a multiple of 64 bytes from the beginning
    arrays, each from a multiple of 64 bytes on, with zeros between them

and says in its header what it is and where its arrays are. Digests of the header and of each array
are in the manifest, since the arrays of a merged segment are written piece by piece. To open a file
costs its header; `ArrayFile.verify` reads everything, gaps included.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import mmap
import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base.files import naming
from kernelight.neighbors.index.files import Files, SyncError, open_to_read
from kernelight.state import ALGORITHM_VERSION, Pieces
from kernelight.state.safetensors import altered, canonical

INDEX_FORMAT = 1  # how the files of an index are laid out
HEADER = "header"  # what the digest of a header is called
_MAGIC = b"klindex\n"
_START = struct.Struct("<8sIIQ")
_ALIGNMENT = 64
_MAX_HEADER = 1 << 25
_PIECE = 1 << 22  # bytes that are hashed at a time
_DTYPES = {
    name: np.dtype(name)
    for name in ("<f4", "<f8", "<i4", "<i8", "<u2", "<u4", "<u8", "|b1", "|i1", "|u1", "<i2", "<f2")
}


class FileEntry(NamedTuple):
    """What the manifest says of a file: its name, its length, and the digests of its parts."""

    name: str
    n_bytes: int
    digests: Mapping[str, str]


def digest(content: Any) -> str:
    """The digest of some bytes, as manifests hold it."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def bytes_of(array: NDArray[Any]) -> memoryview:
    """The bytes of a C-ordered array."""
    return array.reshape(-1).view(np.uint8).data


def pieces_of(array: NDArray[Any]) -> Pieces:
    """An array in memory as an array that is written in one piece."""
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return Pieces(array.dtype, array.shape, lambda: (bytes_of(array),))


def array_of(pieces: Pieces) -> NDArray[Any]:
    """An array that was to be written piece by piece, in memory."""
    content = b"".join(bytes(piece) for piece in pieces.read())
    return np.frombuffer(content, dtype=pieces.dtype).reshape(pieces.shape)


# -- Writing


def write_arrays(
    files: Files, directory: str, name: str, about: Mapping[str, Any], arrays: Mapping[str, Pieces]
) -> FileEntry:
    """Write a file and make it durable; its name is durable after the next sync of the directory.

    A file that cannot be written whole is removed again.
    """
    path = os.path.join(directory, name)
    spans, end = _layout([(key, each.dtype, each.shape) for key, each in arrays.items()])
    listed = [[key, dtype.str, list(shape), at] for key, dtype, shape, at in spans]
    text = canonical({**about, "arrays": listed}).encode()
    text += b" " * (-(_START.size + len(text)) % _ALIGNMENT)
    if len(text) > _MAX_HEADER:
        raise ValueError(f"{path} was not written: its header would have {len(text):,} bytes.")
    start = _START.pack(_MAGIC, INDEX_FORMAT, ALGORITHM_VERSION, len(text)) + text
    digests = {HEADER: digest(start)}
    with naming(path):
        handle = files.create(path)
    try:
        with handle:
            with naming(path):
                files.write(handle, start)
            written = 0
            for key, _, _, at in spans:
                if at > written:
                    with naming(path):
                        files.write(handle, bytes(at - written))
                hasher, written = hashlib.blake2b(digest_size=16), at
                for piece in arrays[key].read():
                    hasher.update(piece)
                    with naming(path):
                        files.write(handle, piece)
                    written += memoryview(piece).nbytes
                if written != at + arrays[key].nbytes:
                    raise RuntimeError(f"{key} of {name} has other bytes than were promised")
                digests[key] = hasher.hexdigest()
            synced(files, handle, path)
    except BaseException:
        with contextlib.suppress(OSError):
            files.unlink(path)
        raise
    return FileEntry(name, len(start) + end, digests)


def synced(files: Files, handle: Any, path: str) -> None:
    """Make a file durable; an error is a `SyncError`."""
    try:
        files.sync(handle)
    except OSError as error:
        raise SyncError(error.errno, os.strerror(error.errno or 0), path) from error


def _layout(
    arrays: list[tuple[str, np.dtype[Any], tuple[int, ...]]],
) -> tuple[list[tuple[str, np.dtype[Any], tuple[int, ...], int]], int]:
    """Where arrays begin, counted from the end of the header, and where the last ends."""
    spans, end = [], 0
    for name, dtype, shape in arrays:
        begin = end + -end % _ALIGNMENT
        spans.append((name, dtype, shape, begin))
        end = begin + math.prod(shape) * dtype.itemsize
    return spans, end


# -- Reading


class ArrayFile:
    """The arrays of a file, mapped read-only.

    They stay valid when the file is removed. What its header says is checked against the manifest
    and the length of the file before anything is mapped.
    """

    def __init__(self, directory: str, entry: FileEntry, kind: str) -> None:
        self.entry, self.path = entry, os.path.join(directory, entry.name)
        with open_to_read(self.path) as handle:
            size = os.fstat(handle.fileno()).st_size
            start = handle.read(_START.size)
            header = self._header_length(start, size)
            start += handle.read(header)
            if size != entry.n_bytes:
                raise altered(self.path, f"it has {size:,} bytes instead of {entry.n_bytes:,}")
            if digest(start) != entry.digests.get(HEADER):
                raise altered(self.path, "its header does not match its digest")
            self.about, self._spans = self._parsed(start, size)
            if self.about.get("kind") != kind:
                raise altered(self.path, f"it is not a {kind}")
            self._map = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        self._data = len(start)
        self.arrays = {name: self._view(*span) for name, *span in self._spans}

    def _header_length(self, start: bytes, size: int) -> int:
        """The length of the header; what introduces itself otherwise is refused."""
        if len(start) < _START.size:
            raise altered(self.path, f"it ends after {counted_bytes(len(start))}")
        magic, version, algorithm, length = _START.unpack(start)
        if magic != _MAGIC:
            raise altered(self.path, "it is not a file of an index")
        refuse_versions(self.path, version, algorithm)
        if not 0 < length <= min(_MAX_HEADER, size - _START.size):
            raise altered(self.path, "the length of its header is impossible")
        return int(length)

    def _parsed(self, start: bytes, size: int) -> tuple[dict[str, Any], list[Any]]:
        """What the header says; arrays must lie as `write_arrays` lays them out."""
        try:
            about = json.loads(start[_START.size :])
            named = [
                (str(name), _DTYPES[dtype], tuple(shape))
                for name, dtype, shape, _ in about["arrays"]
            ]
            if any(type(n) is not int or not 0 <= n < 2**60 for *_, shape in named for n in shape):
                raise ValueError("a shape")
            spans, end = _layout(named)
            found = [(*each, at) for each, (*_, at) in zip(named, about["arrays"], strict=True)]
            if spans != found or len(start) + end != size or len(start) % _ALIGNMENT:
                raise ValueError("a layout")
            if set(self.entry.digests) != {HEADER, *(name for name, *_ in named)}:
                raise ValueError("a digest")
        except (ValueError, KeyError, TypeError, RecursionError):
            raise altered(self.path, "its header describes impossible arrays") from None
        return about, spans

    def _view(self, dtype: np.dtype[Any], shape: tuple[int, ...], at: int) -> NDArray[Any]:
        count = math.prod(shape)
        if count == 0:
            return np.empty(shape, dtype=dtype)
        return np.frombuffer(self._map, dtype, count, self._data + at).reshape(shape)

    def verify(self) -> None:
        """Read everything; the first part that is not as it was written is a ValueError."""
        content = memoryview(self._map)
        if digest(content[: self._data]) != self.entry.digests[HEADER]:
            raise altered(self.path, "its header does not match its digest")
        end = self._data
        for name, dtype, shape, at in self._spans:
            begin = self._data + at
            if any(content[end:begin]):
                raise altered(self.path, f"the gap before {name} is not empty")
            end = begin + math.prod(shape) * dtype.itemsize
            hasher = hashlib.blake2b(digest_size=16)
            for piece in _pieces(content[begin:end]):
                hasher.update(piece)
            if hasher.hexdigest() != self.entry.digests[name]:
                raise altered(self.path, f"its {name} do not match their digest")


def _pieces(content: memoryview) -> Iterator[memoryview]:
    return (content[at : at + _PIECE] for at in range(0, len(content), _PIECE))


def counted_bytes(count: int) -> str:
    """A number of bytes as part of a sentence."""
    return f"{count:,} byte{'' if count == 1 else 's'}"


def refuse_versions(path: str, version: int, algorithm: int) -> None:
    """Refuse a file of a newer version, or of one that never was."""
    for key, given, newest in (
        ("format_version", version, INDEX_FORMAT),
        ("algorithm_version", algorithm, ALGORITHM_VERSION),
    ):
        if given < 1:
            raise altered(path, f"its {key} is {given}")
        if given > newest:
            raise ValueError(
                f"{path} was written by a newer version of kernelight: its {key} is {given}, this "
                f"one reads up to {newest}; upgrade kernelight."
            )
