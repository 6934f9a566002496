"""Bytes of a data set: plain or compressed files, standard input, pipes.

Everything that is not a regular file is first kept in a temporary one, because most data are read
twice: once to learn what is in them, once to use them. A file must be the same in every pass: what
was learned from one content would be applied to another.
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
from contextlib import contextmanager, suppress
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.data.charsets import Transcoder
from kernelight.data.errors import DataError

Text = NDArray[np.uint8]
CHUNK = 1 << 23  # bytes of text that are parsed at a time when a file is streamed
LONGEST_ROW = 1 << 28  # bytes
CALL_BYTES = 1 << 27  # of text that one compiled call parses: an interrupt waits for one call
PIECE = 1 << 22  # bytes that are read side by side
# A file that declares more rows than could be in it is refused. A column of 0 and 1 where a
# fraction p of the rows is 1 takes at least H(p) = -p log2 p - (1 - p) log2 (1 - p) bits for each
# row; 10,000 rows in a byte are H(p) = 0.0008, p = 1 / 20,000.
MANY_ROWS = 1 << 22  # that a file may have, however small it is
ROWS_IN_A_BYTE = 10_000  # that a file of more rows may have

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_OPEN: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError)


class Version(NamedTuple):
    """What changes when a file gets another content.

    It is then another file (renamed over), longer or shorter, or written later. The time of the
    last change of its attributes (ctime) does not count: a new hard link or other permissions
    change that and leave the content as it is. A change within one tick of a coarse clock that
    keeps the length goes unnoticed.
    """

    device: int
    inode: int
    size: int
    written: int  # nanoseconds

    @classmethod
    def of(cls, file: int | str) -> Version:
        """That of an open file or a path."""
        about = os.stat(file)
        return cls(about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)


class ByteSource:
    """A file (or what was kept of standard input) by the name that errors call it."""

    def __init__(self, label: str, path: str, keep: Any = None) -> None:
        self.label, self.path = label, path
        self.charset: str | None = None  # the encoding of a text that is to be read as UTF-8
        self._keep = keep  # a temporary file lives as long as this does
        with self._explained(), open(path, "rb") as handle:
            self._version = Version.of(handle.fileno())
            start = handle.read(6)
        self.compression = next(
            (name for magic, name in _MAGIC.items() if start.startswith(magic)), None
        )

    @property
    def n_bytes(self) -> int:
        """The size of the file, compressed as it is."""
        return self._version.size

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(f"{self.label} cannot be read: {error.strerror or error}.") from error

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file as it is, for one pass.

        It is an error if it is not the file that was opened first, or if it changes meanwhile.
        """
        with self._explained():
            handle = open(self.path, "rb")  # noqa: SIM115 (closed below, around what the caller does)
        with handle:
            self._refuse_changed(handle)
            try:
                yield handle
            except Exception:
                self._refuse_changed(handle)  # then that is the reason
                raise
            self._refuse_changed(handle)

    def _refuse_changed(self, handle: BinaryIO) -> None:
        with self._explained():
            versions = [Version.of(handle.fileno())]
        with suppress(OSError):  # a file that was removed is still there for those who have it open
            versions.append(Version.of(self.path))
        if any(version != self._version for version in versions):
            raise DataError(
                f"{self.label} has changed since it was opened, so that its rows do not belong "
                f"together: open it again once nothing writes to it."
            )

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """The content, decompressed and (if a ``charset`` is set) as UTF-8, from its beginning."""
        with self.opened() as handle:
            content = _OPEN[self.compression](handle) if self.compression else handle
            yield Reader(
                self,
                content if self.charset is None else Transcoder(content, self.charset, self.label),
            )

    def head(self, count: int) -> bytes:
        """The first bytes of the content."""
        with self.reader() as reader:
            return reader.read(count)

    def whole(self) -> Text:
        """All of the content, in memory.

        It is not mapped: a mapped file that is cut off meanwhile would end the process.
        """
        if self.compression or self.charset:
            return np.frombuffer(self._decompressed(), dtype=np.uint8)
        with self.opened() as handle, self._explained():
            text = np.empty(os.fstat(handle.fileno()).st_size, dtype=np.uint8)
            return text[: _filled(handle, text)]

    def _decompressed(self) -> bytes:
        """All of a compressed or decoded text.

        A few kilobytes may decompress to more than fits into memory, or to one endless row.
        """
        most, parts, line, pending, count = _available(), list[bytes](), 1, 0, 0
        with self.reader() as reader:
            while part := reader.read(CHUNK):
                parts.append(part)
                count += len(part)
                last = part.rfind(b"\n")
                pending = len(part) - 1 - last if last >= 0 else pending + len(part)
                line += part.count(b"\n")
                if pending > LONGEST_ROW:
                    raise self.endless_row(line)
                if 2 * count > most:  # the pieces, and then the whole
                    raise DataError(
                        f"{self.label} unpacks to more than {count >> 20} MB, for which the memory "
                        f"does not suffice: read it in batches (memory=, --memory)."
                    )
        return b"".join(parts)

    def endless_row(self, line: int) -> DataError:
        """The error of a row that does not end."""
        return DataError(
            f"{self.label}, line {line}: a row of more than {LONGEST_ROW} bytes; is a quote left "
            f"open?"
        )

    def refuse_more_rows(self, rows: int) -> None:
        """Refuse rows that take next to no bytes.

        A few hundred bytes can declare billions of rows, and reading them takes hours.
        """
        if rows > MANY_ROWS and rows > ROWS_IN_A_BYTE * self._version.size:
            raise DataError(
                f"{self.label} declares {rows} rows or more in {self._version.size} bytes: it is "
                f"damaged, or made to keep a reader busy."
            )


def _available() -> float:
    """Bytes of free memory; infinite where the system does not say."""
    with suppress(OSError, ValueError, IndexError), open("/proc/meminfo") as file:
        for text in file:
            if text.startswith("MemAvailable:"):
                return 1024.0 * int(text.split()[1])
    return float("inf")


def _filled(handle: Any, text: Text) -> int:
    """Read a file into ``text``, and return how many bytes there were.

    Pieces are read in parallel, because new memory costs more than the reading.
    """
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

    def __init__(self, source: ByteSource, handle: IO[bytes] | Transcoder) -> None:
        self._source, self._handle, self._done = source, handle, 0

    def read(self, count: int) -> bytes:
        """The next ``count`` bytes; fewer only at the end."""
        parts: list[bytes] = []
        try:
            while count > 0 and (part := self._handle.read(count)):
                parts.append(part)
                count -= len(part)
                self._done += len(part)
        except DataError:
            raise
        except _DAMAGE as error:
            packed = self._source.compression
            if packed is None:
                raise DataError(f"{self._source.label} cannot be read: {error}.") from error
            ends = "is cut off" if isinstance(error, EOFError) else "is damaged"
            raise DataError(
                f"{self._source.label} {ends}: its {packed} data cannot be unpacked beyond byte "
                f"{self._done} of the content."
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
            f"{label} could not be kept in {tempfile.gettempdir()} (set TMPDIR for another place): "
            f"{reason}."
        ) from error
    return ByteSource(label, keep.name, keep)
