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
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.data.charsets import Transcoder
from kernelight.data.errors import DataError

Text = NDArray[np.uint8]
CHUNK = 1 << 22  # bytes of text that are read and parsed at a time; an interrupt waits for them
LONGEST_ROW = 1 << 28  # bytes
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
    def reader(self, *, whole: bool = False) -> Iterator[Reader]:
        """The content, decompressed and (if a ``charset`` is set) as UTF-8, from its beginning.

        ``whole``: what is read will be in memory. A few kilobytes may decompress to more than fits.
        """
        with self.opened() as handle:
            content = _OPEN[self.compression](handle) if self.compression else handle
            if self.charset is not None:
                content = Transcoder(content, self.charset, self.label)
            bounded = whole and (self.compression or self.charset)
            yield Reader(self, handle, content, _available() / 2 if bounded else float("inf"))

    def head(self, count: int) -> bytes:
        """The first bytes of the content."""
        with self.reader() as reader:
            return reader.read(count)

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


def line_ends(text: Text) -> int:
    """How many lines end in a text."""
    return _core.count_byte(text, ord("\n"))


def _available() -> float:
    """Bytes of free memory; infinite where the system does not say."""
    with suppress(OSError, ValueError, IndexError), open("/proc/meminfo") as file:
        for text in file:
            if text.startswith("MemAvailable:"):
                return 1024.0 * int(text.split()[1])
    return float("inf")


class Reader:
    """Reads an opened source; damage becomes a sentence."""

    def __init__(self, source: ByteSource, file: BinaryIO, content: Any, most: float) -> None:
        self._source, self._file, self._content = source, file, content
        self._done, self._most = 0, most  # bytes

    def read(self, count: int) -> bytes:
        """The next ``count`` bytes; fewer only at the end."""
        parts: list[bytes] = []
        with self._explained():
            while count > 0 and (part := self._content.read(count)):
                parts.append(part)
                count -= len(part)
                self._done += len(part)
        return b"".join(parts)

    def fill(self, text: Text) -> int:
        """Read the next bytes into ``text``, and return how many: fewer only at the end."""
        done = 0
        with self._explained():
            while done < len(text) and (count := self._content.readinto(text[done:].data)):
                done += count
                self._done += count
        if self._done > self._most:
            raise DataError(
                f"{self._source.label} unpacks to more than {self._done >> 20} MB, for which the "
                f"memory does not suffice: read it in batches (memory=, --memory)."
            )
        return done

    @property
    def fraction(self) -> float:
        """About how much of the file has been read."""
        return min(1.0, self._file.tell() / max(1, self._source.n_bytes))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
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


class Window:
    """The text of a reader, some bytes at a time, in memory that is used again.

    New memory costs more than what is read into it. A file is not mapped either: one that is cut
    off meanwhile would end the process.
    """

    def __init__(self, reader: Reader, size: int) -> None:
        self._reader, self._buffer = reader, np.empty(size, dtype=np.uint8)
        self._kept = 0  # bytes at the beginning that were not used yet
        self.ended = False  # whether the text has no more bytes

    def more(self) -> Text:
        """What was kept and the bytes behind it."""
        if 2 * self._kept > len(self._buffer):  # a long row is not looked at again and again
            larger = np.empty(2 * len(self._buffer), dtype=np.uint8)
            larger[: self._kept] = self._buffer[: self._kept]
            self._buffer = larger
        end = self._kept + self._reader.fill(self._buffer[self._kept :])
        self.ended = end < len(self._buffer)
        self._kept = end
        return self._buffer[:end]

    def drop(self, count: int) -> None:
        """Keep all but the first bytes of what `more` gave, whose memory is used again."""
        rest = self._kept - count
        self._buffer[:rest] = self._buffer[count : self._kept]
        self._kept = rest


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
