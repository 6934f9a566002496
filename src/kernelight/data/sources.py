"""Bytes of a data set: plain or compressed files, standard input, pipes.

Everything that is not a regular file is first kept in a temporary one, because most data are read twice: once to learn what is
in them, once to use them.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.errors import DataError

Text = NDArray[np.uint8]
CHUNK = 1 << 23  # bytes of text that are parsed at a time when a file is streamed
LONGEST_ROW = 1 << 28  # bytes
PIECE = 1 << 22  # bytes that are read side by side

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_OPEN: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError)


class ByteSource:
    """A file (or what was kept of standard input) by the name that errors call it."""

    def __init__(self, label: str, path: str, keep: Any = None) -> None:
        self.label, self.path = label, path
        self._keep = keep  # a temporary file lives as long as this does
        with self._explained(), open(path, "rb") as handle:
            start = handle.read(6)
        self.compression = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(f"{self.label} cannot be read: {error.strerror or error}.") from error

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """The content, decompressed, from its beginning."""
        with self._explained():
            handle = open(self.path, "rb")  # noqa: SIM115 (closed below, around what the caller does)
        try:
            unpacked = _OPEN[self.compression](handle) if self.compression else handle
            yield Reader(self, unpacked)
        finally:
            handle.close()

    def head(self, count: int) -> bytes:
        """The first bytes of the content."""
        with self.reader() as reader:
            return reader.read(count)

    def whole(self) -> Text:
        """All of the content, in memory: a mapped file that someone cuts off meanwhile would end the process."""
        if self.compression:
            with self.reader() as reader:
                parts = []
                while part := reader.read(CHUNK):
                    parts.append(part)
            return np.frombuffer(b"".join(parts), dtype=np.uint8)
        with self._explained(), open(self.path, "rb", buffering=0) as handle:
            text = np.empty(os.fstat(handle.fileno()).st_size, dtype=np.uint8)
            return text[: _filled(handle, text)]


def _filled(handle: Any, text: Text) -> int:
    """Read a file into ``text``, pieces of it side by side, as new memory costs more than the reading; how much was there."""
    if not hasattr(os, "preadv"):
        return int(handle.readinto(text.data))

    def piece(start: int) -> int:
        stop, done = min(len(text), start + PIECE), start
        while done < stop and (count := os.preadv(handle.fileno(), [text[done:stop].data], done)):
            done += count
        return done

    starts = range(0, len(text), PIECE)
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for start, end in zip(starts, pool.map(piece, starts), strict=True):
            if end < min(len(text), start + PIECE):  # someone has cut it off meanwhile
                return end
    return len(text)


class Reader:
    """Reads an opened source; damage becomes a sentence."""

    def __init__(self, source: ByteSource, handle: IO[bytes]) -> None:
        self._source, self._handle, self._done = source, handle, 0

    def read(self, count: int) -> bytes:
        """So many bytes; fewer only at the end."""
        parts: list[bytes] = []
        try:
            while count > 0 and (part := self._handle.read(count)):
                parts.append(part)
                count -= len(part)
                self._done += len(part)
        except _DAMAGE as error:
            packed = self._source.compression
            if packed is None:
                raise DataError(f"{self._source.label} cannot be read: {error}.") from error
            ends = "is cut off" if isinstance(error, EOFError) else "is damaged"
            raise DataError(
                f"{self._source.label} {ends}: its {packed} data cannot be unpacked beyond byte {self._done} of the content."
            ) from error
        return b"".join(parts)


def file_source(path: str, label: str | None = None) -> ByteSource:
    """The bytes of a path, which may also be a pipe."""
    label = label or path
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{label} cannot be read: {reason}.") from error
    if stat.S_ISDIR(mode):
        raise DataError(f"{label} is a directory: name one of its files.")
    if stat.S_ISREG(mode):
        return ByteSource(label, path)
    try:
        handle = open(path, "rb")  # noqa: SIM115 (closed by _kept)
    except OSError as error:
        raise DataError(f"{label} cannot be read: {error.strerror or error}.") from error
    with handle:
        return _kept(label, handle)


def standard_input() -> ByteSource:
    """What comes through standard input, kept in a temporary file."""
    if sys.stdin is None or sys.stdin.closed:
        raise DataError("standard input is closed: pipe the data into it, or name a file.")
    return _kept("standard input", getattr(sys.stdin, "buffer", sys.stdin))


def _kept(label: str, stream: Any) -> ByteSource:
    try:
        keep = tempfile.NamedTemporaryFile(prefix="kernelight-")  # noqa: SIM115 (lives as long as the source)
        while part := stream.read(1 << 20):
            keep.write(part if isinstance(part, bytes) else str(part).encode())
        keep.flush()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"{label} could not be kept in {tempfile.gettempdir()} (set TMPDIR for another place): {reason}."
        ) from error
    return ByteSource(label, keep.name, keep)
