"""Text that is not UTF-8: which charset it has, and how it is read as UTF-8.

A file says nothing about its charset, except by a byte-order mark. Bytes that are not UTF-8 are
nearly always cp1252, what Windows calls ANSI, of which Latin-1 is a part but for control
characters; so that is the guess. It is made from the first 4 megabytes. A byte that is not UTF-8
and comes later is an error that names the option.
"""

from __future__ import annotations

import codecs
from typing import Any

from kernelight.data.errors import DataError, shown

HEAD = 1 << 22  # bytes that the guess is made from
UTF8 = ("utf-8", "utf-8-sig", "ascii")
_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


def checked_charset(name: Any) -> str:
    """The name of an encoding of text, as Python knows it."""
    try:
        codec = codecs.lookup(name)
        text = getattr(codec, "_is_text_encoding", True) and codec.incrementaldecoder is not None
    except (LookupError, TypeError, ValueError):
        text = False
    if not text:
        raise DataError(
            f"charset={shown(str(name))} is no encoding of text that is known here; utf-8, cp1252, "
            f"latin-1, utf-16, gb18030 are."
        )
    return codec.name


def guessed_charset(head: bytes, ended: bool) -> str | None:
    """The encoding of a text by its first bytes; None if they are UTF-8, or no text at all."""
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    if head.isascii() or any(byte in head for byte in (b"\0", b"\x01", b"\x02", b"\x03", b"\x04")):
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, ended)
    except UnicodeDecodeError:
        return (
            "latin-1"
            if any(bytes([byte]) in head for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D))
            else "cp1252"
        )
    return None


class Transcoder:
    """Reads a stream of bytes in some encoding as UTF-8."""

    def __init__(self, handle: Any, charset: str, label: str) -> None:
        self._handle, self._charset, self._label = handle, charset, label
        self._decoder = codecs.getincrementaldecoder(charset)()
        self._ready, self._lines, self._ended = b"", 1, False

    def read(self, count: int) -> bytes:
        """At most ``count`` bytes of UTF-8; none at the end."""
        while not self._ready and not self._ended:
            raw = self._handle.read(count)
            self._ended = not raw
            try:
                self._ready = self._decoder.decode(raw, self._ended).encode()
            except UnicodeError as error:
                raise self._error(error) from error
            self._lines += self._ready.count(b"\n")
        part, self._ready = self._ready[:count], self._ready[count:]
        return part

    def readinto(self, buffer: memoryview) -> int:
        """The same into a buffer; returns how many bytes."""
        part = self.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def _error(self, error: UnicodeError) -> DataError:
        what, line = "", self._lines
        if isinstance(error, UnicodeDecodeError):
            what = f"{error.object[error.start : error.start + 8]!r} is "
            line += error.object[: error.start].decode(self._charset, "replace").count("\n")
        return DataError(
            f"{self._label}, line {line}: {what}not {self._charset}; charset='NAME' names the "
            f"encoding of the text."
        )
