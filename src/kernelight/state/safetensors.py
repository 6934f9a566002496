"""The file of a State: an ordinary safetensors file whose metadata has one key, ``kernelight``.

Its value is a JSON text with a magic word, the versions, the meta and a digest of everything. Any
safetensors reader can open the file. The header is read here rather than by the safetensors package
for three reasons: errors of the package do not tell a truncated file from a foreign one, the
versions must be looked at before anything else, and arrays can be views of one buffer.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base.files import FilePath, replacing

FORMAT_VERSION = 1  # how a file is laid out
ALGORITHM_VERSION = 1  # what a seed means: see core/portable

_MAGIC = "kernelight"
_START = b'{"__metadata__":{"kernelight":"'  # how the header of every kernelight file begins
_INTRODUCTION = {"algorithm_version", "digest", "format_version", "magic", "meta"}
_MAX_HEADER = 1 << 25  # bytes; a name for each of a million features is less
_PIECE = 1 << 22  # bytes of a pipe that are read at a time
_MAX_TABLES, _MAX_DEPTH = 200_000, 64  # lists and tables in a header, and their nesting
Span = tuple[np.dtype[Any], tuple[int, ...], int, int]  # dtype, shape, first and last byte
DTYPES = {
    "BOOL": np.dtype(np.bool_),
    **{f"I{8 * size}": np.dtype(f"<i{size}") for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": np.dtype(f"<u{size}") for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
}
# The order of arrays in a file, that of safetensors: the widest first, so that each is aligned.
_ORDER = ("U64", "I64", "F64", "F32", "U32", "I32", "F16", "U16", "I16", "I8", "U8", "BOOL")


def canonical(value: Any) -> str:
    """The one JSON text of plain data."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return next(name for name, known in DTYPES.items() if known == dtype)


# Writing.


class Pieces(NamedTuple):
    """An array that is written piece by piece.

    ``read`` gives its bytes in C order, as often as it is called.

    Parameters
    ----------
    dtype : numpy.dtype
        The type of its values.
    shape : tuple of int
        Its shape.
    read : callable
        Gives the bytes, piece by piece.

    See Also
    --------
    save_pieces : Writes them.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight.state import Pieces
    >>> rows = np.arange(6.0).reshape(3, 2)
    >>> Pieces(rows.dtype, rows.shape, lambda: (row.tobytes() for row in rows)).shape
    (3, 2)
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    read: Callable[[], Iterable[Any]]

    @property
    def nbytes(self) -> int:
        """Bytes of all pieces."""
        return math.prod(self.shape) * self.dtype.itemsize


def save_pieces(
    path: FilePath,
    meta: dict[str, Any],
    arrays: Mapping[str, Pieces],
    algorithm_version: int = ALGORITHM_VERSION,
) -> None:
    """Write the file of a State whose arrays need not be in memory.

    They are read twice, as their digest stands before them.

    Parameters
    ----------
    path : str or path-like
        The file.
    meta : dict
        What a State calls ``meta``.
    arrays : dict of Pieces
        The arrays, by name.
    algorithm_version : int
        What a seed means.

    See Also
    --------
    kernelight.State : The same with arrays in memory.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from kernelight.state import Pieces, State, save_pieces
    >>> rows = np.arange(6.0).reshape(3, 2)
    >>> pieces = Pieces(rows.dtype, rows.shape, lambda: (row.tobytes() for row in rows))
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.kl")
    >>> save_pieces(path, {"kind": "Rows"}, {"rows": pieces})
    >>> State.load(path).arrays["rows"].shape
    (3, 2)
    """
    introduction = {
        "algorithm_version": algorithm_version,
        "digest": digest_of(meta, arrays, algorithm_version),
        "format_version": FORMAT_VERSION,
        "magic": _MAGIC,
        "meta": meta,
    }
    text = canonical(introduction)
    header: dict[str, Any] = {"__metadata__": {_MAGIC: text}}
    placed = sorted(arrays, key=lambda name: (_ORDER.index(_dtype_name(arrays[name].dtype)), name))
    begin = 0
    for name in placed:
        dtype, shape, end = arrays[name].dtype, arrays[name].shape, begin + arrays[name].nbytes
        header[name] = {
            "dtype": _dtype_name(dtype),
            "shape": list(shape),
            "data_offsets": [begin, end],
        }
        begin = end
    start = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    start += b" " * (-len(start) % 8)
    try:
        if len(start) > _MAX_HEADER:
            raise ValueError(f"{len(start)} bytes of it")
        _parsed(text.encode())
        _parsed(start)
    except ValueError as error:
        raise ValueError(
            f"{os.fsdecode(path)} was not written: its meta would not be read again, {error}."
        ) from None
    with replacing(path) as handle:
        handle.write(len(start).to_bytes(8, "little") + start)
        for name in placed:
            handle.writelines(arrays[name].read())


def digest_of(meta: dict[str, Any], arrays: Mapping[str, Pieces], algorithm_version: int) -> str:
    layout = [
        [name, _dtype_name(arrays[name].dtype), arrays[name].shape] for name in sorted(arrays)
    ]
    versions = [_MAGIC, FORMAT_VERSION, algorithm_version]
    hasher = hashlib.blake2b(canonical([versions, meta, layout]).encode(), digest_size=32)
    for name in sorted(arrays):
        for piece in arrays[name].read():
            hasher.update(piece)
    return hasher.hexdigest()


# Reading.


class Content(NamedTuple):
    """What a file holds, its layout checked; the caller checks the digest."""

    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    algorithm_version: int
    digest: str


def read_file(path: FilePath, name: str) -> Content:
    """The content of a file or a pipe, which errors call ``name``."""
    with open(path, "rb") as handle:
        header, start = _read_header(handle, name)
        introduction = _introduction(header, name)
        spans = _spans_of(header, name)
        payload = _read_payload(handle, spans, start, name)
    version, digest = introduction["algorithm_version"], introduction["digest"]
    return Content(introduction["meta"], _arrays_of(spans, payload), version, digest)


def altered(name: str, why: str) -> ValueError:
    return ValueError(f"{name} has been altered or damaged: {why}.")


def _truncated(name: str, length: int, needed: int) -> ValueError:
    return ValueError(f"{name} is truncated: it ends after {length} bytes of at least {needed}.")


def _read_header(handle: BinaryIO, name: str) -> tuple[dict[str, Any], int]:
    """The JSON header of a safetensors file of kernelight, and where its arrays begin."""
    start = handle.read(8 + len(_START))
    if not start:
        raise ValueError(f"{name} is empty: 0 bytes.")
    length = int.from_bytes(start[:8], "little")
    is_kernelight = _START.startswith(start[8:])
    if len(start) < 8 + len(_START) and is_kernelight and length <= _MAX_HEADER:
        raise _truncated(name, len(start), 8 + max(length, len(_START)))
    if length > _MAX_HEADER:
        known = is_kernelight and len(start) > 8  # 8 bytes alone do not tell
        raise altered(name, "the length of its header is impossible") if known else _foreign(name)
    about = os.fstat(handle.fileno())
    # read allocates as many bytes as it is asked for
    available = about.st_size if stat.S_ISREG(about.st_mode) else 8 + length
    rest = handle.read(max(0, min(8 + length, available) - len(start)))
    text = (start + rest)[8 : 8 + length]
    if len(text) < length:
        raise _truncated(name, 8 + len(text), 8 + length) if is_kernelight else _foreign(name)
    try:
        header = _parsed(text)
        if not isinstance(header, dict):
            raise ValueError("not an object")
    except (ValueError, RecursionError):
        unreadable = altered(name, "its header is not readable")
        raise (unreadable if is_kernelight else _foreign(name)) from None
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_MAGIC), str):
        raise _foreign(name, ": it is a safetensors file written by something else")
    header["__metadata__"] = metadata[_MAGIC]
    return header, 8 + length


def _parsed(text: bytes) -> Any:
    """The value of a JSON text.

    A ValueError where lists are too many for the memory or nested too deep for the stack.
    """
    if text.count(b"[") + text.count(b"{") > _MAX_TABLES:
        raise ValueError("too many lists and tables")
    value = json.loads(text)
    level = [value]
    for _ in range(_MAX_DEPTH):
        inner = [
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, (dict, list))
        ]
        level = [each for some in inner for each in some if isinstance(each, (dict, list))]
        if not level:
            return value
    raise ValueError("too deep")


def _foreign(name: str, detail: str = "") -> ValueError:
    return ValueError(f"{name} is not a kernelight file{detail}.")


def _introduction(header: dict[str, Any], name: str) -> dict[str, Any]:
    """The introduction in the header, its versions checked before anything else is believed."""
    text = header.pop("__metadata__")
    try:
        introduction = _parsed(text.encode())
    except (ValueError, RecursionError):
        raise altered(name, "its introduction is not readable") from None
    if not isinstance(introduction, dict) or introduction.get("magic") != _MAGIC:
        raise _foreign(name, ": its introduction lacks the magic word")
    for key, newest in (
        ("format_version", FORMAT_VERSION),
        ("algorithm_version", ALGORITHM_VERSION),
    ):
        version = introduction.get(key)
        if type(version) is not int or version < 1:
            raise altered(name, f"its {key} is {version!r}")
        if version > newest:
            raise ValueError(
                f"{name} was written by a newer version of kernelight: its {key} is {version}, "
                f"this one reads up to {newest}; upgrade kernelight."
            )
    meta = introduction.get("meta") if set(introduction) == _INTRODUCTION else None
    if (
        _canonical_or_none(introduction) != text
        or not isinstance(meta, dict)
        or not isinstance(meta.get("kind"), str)
    ):
        raise altered(name, "its introduction is not as kernelight writes it")
    return introduction


def _canonical_or_none(value: Any) -> str | None:
    try:
        return canonical(value)
    except ValueError:  # json.loads accepts NaN and infinity, which are never written
        return None


def _spans_of(header: dict[str, Any], name: str) -> dict[str, Span]:
    """The span of each array, by name."""
    spans: dict[str, Span] = {}
    for key, entry in header.items():
        span = _span(entry)
        if span is None:
            raise altered(name, "its header describes an impossible array")
        spans[key] = span
    return spans


def _read_payload(handle: BinaryIO, spans: dict[str, Span], start: int, name: str) -> bytes:
    """The bytes of all arrays.

    They are read once it is clear that there are enough, and that arrays fill them without gaps.
    """
    about = os.fstat(handle.fileno())
    needed = max((end for *_, end in spans.values()), default=0)
    payload = b"" if stat.S_ISREG(about.st_mode) else _read_stream(handle, needed + 1)
    available = about.st_size - start if stat.S_ISREG(about.st_mode) else len(payload)
    if available < needed:
        raise _truncated(name, start + available, start + needed)
    if available > needed:
        raise altered(name, f"{available - needed} bytes follow its end")
    last = 0
    for _, _, begin, end in sorted(spans.values(), key=lambda span: span[2:]):
        if begin != last:
            raise altered(
                name, "its arrays have gaps between them, or one is in the place of another"
            )
        last = end
    return payload or handle.read(needed)


def _read_stream(handle: BinaryIO, most: int) -> bytes:
    """What a pipe still has, at most ``most`` bytes.

    Nobody knows how many will come, so memory is taken only for what has come.
    """
    parts, count = [], 0
    while count < most and (part := handle.read(min(most - count, _PIECE))):
        parts.append(part)
        count += len(part)
    return b"".join(parts)


def _arrays_of(spans: dict[str, Span], payload: bytes) -> dict[str, NDArray[Any]]:
    """Views of ``payload``."""
    arrays = {}
    for key, (dtype, shape, begin, end) in spans.items():
        flat = np.frombuffer(payload, dtype=np.uint8, count=end - begin, offset=begin)
        arrays[key] = np.require(flat.view(dtype), requirements="A").reshape(shape)
    return arrays


def _span(entry: Any) -> Span | None:
    """dtype, shape, first and last byte of one array in the header.

    None if they contradict each other.
    """
    try:
        dtype, shape, (begin, end) = (
            DTYPES[entry["dtype"]],
            tuple(entry["shape"]),
            entry["data_offsets"],
        )
    except (KeyError, TypeError, ValueError):
        return None
    if any(type(number) is not int or not 0 <= number < 2**63 for number in (*shape, begin, end)):
        return None
    if end - begin != math.prod(shape) * dtype.itemsize:
        return None
    if len(shape) > 32 or math.prod(max(number, 1) for number in shape) * dtype.itemsize >= 2**63:
        return None  # more than NumPy can describe, though it may hold no element at all
    return dtype, shape, begin, end
