"""`State`: plain data, the one form in which every persistent thing is stored, sent and loaded.

A file is an ordinary safetensors file whose metadata has one key, ``kernelight``: a JSON text with a magic
word, the versions, the meta and a digest of everything. Any safetensors reader can open it; loading runs no
code.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import numbers
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from kernelight._files import Path, replacing

FORMAT_VERSION = 1  # how a file is laid out
ALGORITHM_VERSION = 1  # what a seed means: see core/portable

_MAGIC = "kernelight"
_START = b'{"__metadata__":{"kernelight":"'  # how the header of every file of ours begins
_INTRODUCTION = {"algorithm_version", "digest", "format_version", "magic", "meta"}
_MAX_HEADER = 1 << 25  # bytes; a name for each of a million features is less
_PIECE = 1 << 22  # bytes of a pipe that are read at a time
_MAX_TABLES, _MAX_DEPTH = 200_000, 64  # lists and tables in it, and one inside another
Span = tuple[np.dtype[Any], tuple[int, ...], int, int]  # dtype, shape, first and last byte
_DTYPES = {
    "BOOL": np.dtype(np.bool_),
    **{f"I{8 * size}": np.dtype(f"<i{size}") for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": np.dtype(f"<u{size}") for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
}
# In a file the widest come first, so that each array begins where its width wants it; this is the order of safetensors.
_ORDER = ("U64", "I64", "F64", "F32", "U32", "I32", "F16", "U16", "I16", "I8", "U8", "BOOL")


class Immutable:
    """A base for values: attributes are set once, by `_set`, while the value is being built."""

    __slots__ = ()

    def _set(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name!r}.")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class State(Immutable):
    """Plain data that stands for an object: ``meta`` (JSON) and ``arrays`` (name to NumPy array), both
    immutable.

    Parameters
    ----------
    meta : dict
        Whatever JSON can say, with string keys; ``meta["kind"]`` names the class. NumPy scalars become Python
        numbers, tuples become lists; NaN, infinity and objects are refused.
    arrays : dict of str to array, optional
        Arrays of booleans, integers or floats of at most 64 bits. Arrays that could be changed later are
        copied.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from kernelight import State
    >>> state = State({"kind": "Example", "seed": 7}, {"w": np.arange(3.0)})
    >>> path = os.path.join(tempfile.mkdtemp(), "example.kl")
    >>> state.save(path)
    >>> State.load(path) == state
    True
    >>> state.meta["seed"], state.arrays["w"].flags.writeable
    (7, False)
    """

    __slots__ = ("_algorithm_version", "_arrays", "_meta_text")
    _algorithm_version: int
    _arrays: Mapping[str, NDArray[Any]]
    _meta_text: str

    def __init__(self, meta: Mapping[str, Any], arrays: Mapping[str, Any] | None = None) -> None:
        if not isinstance(meta, Mapping):
            raise TypeError(f"meta must be a dict, got {type(meta).__name__}.")
        plain = _plain(dict(meta), "meta")
        if not isinstance(plain.get("kind"), str) or not plain["kind"]:
            raise ValueError('meta must name its class: meta["kind"] must be a non-empty string.')
        self._fill(
            plain, {_array_name(name): _storable(name, array) for name, array in (arrays or {}).items()}
        )

    def _fill(
        self,
        meta: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        algorithm_version: int = ALGORITHM_VERSION,
    ) -> None:
        views = {name: read_only(arrays[name]) for name in sorted(arrays)}
        self._set(
            _meta_text=_canonical(meta), _arrays=MappingProxyType(views), _algorithm_version=algorithm_version
        )

    @classmethod
    def _restore(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]], algorithm_version: int) -> State:
        """A State of parts that were already checked and that nobody else holds: no copy."""
        state = cls.__new__(cls)
        state._fill(meta, arrays, algorithm_version)
        return state

    @property
    def meta(self) -> dict[str, Any]:
        """The plain values; a fresh copy at each access, so changing it changes nothing here."""
        meta: dict[str, Any] = json.loads(self._meta_text)
        return meta

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The arrays by name, read-only."""
        return self._arrays

    @property
    def kind(self) -> str:
        """The name of the class this is a state of."""
        return str(self.meta["kind"])

    @property
    def algorithm_version(self) -> int:
        """The version of the algorithms (what a seed means) under which this state was made."""
        return self._algorithm_version

    def require(self, kind: str, *, where: str = "This state") -> State:
        """This state, if it is one of a ``kind``; otherwise a ValueError which says what it is."""
        if self.kind != kind:
            raise ValueError(f"{where} holds a {self.kind}, not {kind}.")
        return self

    def digest(self) -> str:
        """A fingerprint of the meta, the names, dtypes, shapes and bytes of all arrays, and the versions.

        >>> from kernelight import State
        >>> State({"kind": "Example", "a": 1}).digest() == State({"kind": "Example", "a": 2}).digest()
        False
        """
        return _digest(self.meta, self._pieces(), self._algorithm_version)

    def save(self, path: Path) -> None:
        """Write one file, all or nothing: ``path`` never holds a part of it, whatever happens while
        writing."""
        save_pieces(path, self.meta, self._pieces(), self._algorithm_version)

    def _pieces(self) -> dict[str, Pieces]:
        """The arrays, each in one piece."""
        return {
            name: Pieces(a.dtype, a.shape, lambda a=a: (a.reshape(-1).view(np.uint8).data,))  # type: ignore[misc]
            for name, a in self._arrays.items()
        }

    @classmethod
    def load(cls, path: Path, kind: str | None = None, *, name: str | None = None) -> State:
        """The state in a file or a pipe; ``kind`` refuses any other kind, ``name`` is what errors call it instead of ``path``.

        A file that is empty, truncated, altered, not of kernelight or of a newer version is a ValueError
        which says which.
        """
        name = name or os.fsdecode(path)
        with open(path, "rb") as handle:
            header, start = _read_header(handle, name)
            introduction = _introduction(header, name)
            spans = _spans_of(header, name)
            payload = _read_payload(handle, spans, start, name)
        arrays = _arrays_of(spans, payload)
        state = cls._restore(introduction["meta"], arrays, introduction["algorithm_version"])
        if state.digest() != introduction["digest"]:
            raise _altered(name, "its content does not match its digest")
        return state if kind is None else state.require(kind, where=name)

    def __eq__(self, other: object) -> bool:
        return self.digest() == other.digest() if isinstance(other, State) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest())

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}: {a.dtype}{list(a.shape)}" for name, a in self._arrays.items())
        return f"State(kind={self.kind!r}, arrays={{{parts}}})"

    def __reduce__(self) -> tuple[Any, ...]:
        return State._restore, (self.meta, dict(self._arrays), self._algorithm_version)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of ``array`` that cannot be made writeable again, for an array nobody else holds."""
    owner: Any = array
    while isinstance(
        owner, np.ndarray
    ):  # NumPy asks the owner of the memory before it makes a view writeable
        owner.flags.writeable = False
        owner = owner.base
    return array.view(np.ndarray)


def may_change(array: NDArray[Any]) -> bool:
    """Whether someone may still write to the memory of ``array``, here or through what it is a view of."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    fixed = owner is None or isinstance(owner, (bytes, mmap.mmap))  # a file mapped read-only stays on disk
    return not (fixed or (isinstance(owner, memoryview) and owner.readonly))


def _canonical(value: Any) -> str:
    """The one JSON text of plain data."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _plain(value: Any, where: str) -> Any:
    """``value`` as JSON has it, or an error that names the place of what JSON cannot say exactly."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        if not -(2**63) <= int(value) < 2**64:
            raise ValueError(f"{where} must fit into 64 bits, got {int(value)}.")
        return int(value)
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise ValueError(f"{where} must be finite, got {value}.")
        return float(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{at}]") for at, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{where} must have string keys, got {key!r}.")
        return {str(key): _plain(item, f"{where}[{key!r}]") for key, item in value.items()}
    raise TypeError(
        f"{where} must be plain data (None, bool, int, float, str, list, dict), got {type(value).__name__}."
    )


def _array_name(name: Any) -> str:
    if not isinstance(name, str) or not name or name == "__metadata__" or not name.isprintable():
        raise ValueError(f"An array needs a printable name other than '__metadata__', got {name!r}.")
    return name


def _storable(name: str, value: Any) -> NDArray[Any]:
    """``value`` as a C-ordered little-endian array that nobody can change."""
    array = np.asarray(value)
    dtype = (
        np.dtype(f"<{array.dtype.kind}{array.dtype.itemsize}") if array.dtype.kind in "iuf" else array.dtype
    )
    if dtype not in _DTYPES.values():
        raise TypeError(
            f"Array {name!r} must hold booleans, integers or floats of at most 64 bits, got {array.dtype}."
        )
    stored = np.asarray(array, dtype=dtype, order="C")
    return stored.copy() if may_change(stored) and np.may_share_memory(stored, array) else stored


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return next(name for name, known in _DTYPES.items() if known == dtype)


# Writing.


class Pieces(NamedTuple):
    """An array that is written piece by piece: dtype, shape, and its bytes in C order, read as often as they are asked for."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    read: Callable[[], Iterable[Any]]

    @property
    def nbytes(self) -> int:
        """Bytes of all pieces."""
        return math.prod(self.shape) * self.dtype.itemsize


def save_pieces(
    path: Path, meta: dict[str, Any], arrays: Mapping[str, Pieces], algorithm_version: int = ALGORITHM_VERSION
) -> None:
    """Write the file of a State whose arrays need not be in memory; they are read twice, as the digest stands before them."""
    introduction = {
        "algorithm_version": algorithm_version,
        "digest": _digest(meta, arrays, algorithm_version),
        "format_version": FORMAT_VERSION,
        "magic": _MAGIC,
        "meta": meta,
    }
    text = _canonical(introduction)
    header: dict[str, Any] = {"__metadata__": {_MAGIC: text}}
    placed = sorted(arrays, key=lambda name: (_ORDER.index(_dtype_name(arrays[name].dtype)), name))
    begin = 0
    for name in placed:
        dtype, shape, end = arrays[name].dtype, arrays[name].shape, begin + arrays[name].nbytes
        header[name] = {"dtype": _dtype_name(dtype), "shape": list(shape), "data_offsets": [begin, end]}
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


def _digest(meta: dict[str, Any], arrays: Mapping[str, Pieces], algorithm_version: int) -> str:
    layout = [[name, _dtype_name(arrays[name].dtype), arrays[name].shape] for name in sorted(arrays)]
    versions = [_MAGIC, FORMAT_VERSION, algorithm_version]
    hasher = hashlib.blake2b(_canonical([versions, meta, layout]).encode(), digest_size=32)
    for name in sorted(arrays):
        for piece in arrays[name].read():
            hasher.update(piece)
    return hasher.hexdigest()


# Reading. The header is read here rather than by safetensors for three reasons: its errors do not tell a
# truncated file from a foreign one, the versions must be looked at before anything else, and arrays can be
# views of one buffer.


def _altered(name: str, why: str) -> ValueError:
    return ValueError(f"{name} has been altered or damaged: {why}.")


def _truncated(name: str, found: int, needed: int) -> ValueError:
    return ValueError(f"{name} is truncated: it ends after {found} bytes of at least {needed}.")


def _read_header(handle: BinaryIO, name: str) -> tuple[dict[str, Any], int]:
    """The JSON header of a safetensors file that introduces itself as ours, and where the arrays begin."""
    start = handle.read(8 + len(_START))
    if not start:
        raise ValueError(f"{name} is empty: 0 bytes.")
    length = int.from_bytes(start[:8], "little")
    ours = _START.startswith(start[8:])
    if len(start) < 8 + len(_START) and ours and length <= _MAX_HEADER:
        raise _truncated(name, len(start), 8 + max(length, len(_START)))
    if length > _MAX_HEADER:
        known = ours and len(start) > 8  # up to 8 bytes say nothing more about whose they are
        raise _altered(name, "the length of its header is impossible") if known else _foreign(name)
    about = os.fstat(handle.fileno())
    there = (
        about.st_size if stat.S_ISREG(about.st_mode) else 8 + length
    )  # read makes room for all it is asked for
    rest = handle.read(max(0, min(8 + length, there) - len(start)))
    text = (start + rest)[8 : 8 + length]
    if len(text) < length:
        raise _truncated(name, 8 + len(text), 8 + length) if ours else _foreign(name)
    try:
        header = _parsed(text)
        if not isinstance(header, dict):
            raise ValueError("not an object")
    except (ValueError, RecursionError):
        raise (_altered(name, "its header is not readable") if ours else _foreign(name)) from None
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_MAGIC), str):
        raise _foreign(name, ": it is a safetensors file written by something else")
    header["__metadata__"] = metadata[_MAGIC]
    return header, 8 + length


def _parsed(text: bytes) -> Any:
    """JSON of sober shape: lists and tables are neither so many that they fill the memory nor so deep that nobody gets out."""
    if text.count(b"[") + text.count(b"{") > _MAX_TABLES:
        raise ValueError("too many lists and tables")
    found = json.loads(text)
    level = [found]
    for _ in range(_MAX_DEPTH):
        inner = [
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, (dict, list))
        ]
        level = [each for some in inner for each in some if isinstance(each, (dict, list))]
        if not level:
            return found
    raise ValueError("too deep")


def _foreign(name: str, detail: str = "") -> ValueError:
    return ValueError(f"{name} is not a kernelight file{detail}.")


def _introduction(header: dict[str, Any], name: str) -> dict[str, Any]:
    """What our part of the header says, its versions checked before anything else is believed."""
    text = header.pop("__metadata__")
    try:
        found = _parsed(text.encode())
    except (ValueError, RecursionError):
        raise _altered(name, "its introduction is not readable") from None
    if not isinstance(found, dict) or found.get("magic") != _MAGIC:
        raise _foreign(name, ": its introduction lacks the magic word")
    for key, ours in (("format_version", FORMAT_VERSION), ("algorithm_version", ALGORITHM_VERSION)):
        version = found.get(key)
        if type(version) is not int or version < 1:
            raise _altered(name, f"its {key} is {version!r}")
        if version > ours:
            raise ValueError(
                f"{name} was written by a newer version of kernelight: its {key} is {version}, this one "
                f"reads up to {ours}; upgrade kernelight."
            )
    meta = found.get("meta") if set(found) == _INTRODUCTION else None
    if (
        _canonical_or_none(found) != text
        or not isinstance(meta, dict)
        or not isinstance(meta.get("kind"), str)
    ):
        raise _altered(name, "its introduction is not as kernelight writes it")
    return found


def _canonical_or_none(value: Any) -> str | None:
    try:
        return _canonical(value)
    except ValueError:  # json.loads accepts NaN and infinity, which we never write
        return None


def _spans_of(header: dict[str, Any], name: str) -> dict[str, Span]:
    """Where each array is."""
    spans: dict[str, Span] = {}
    for key, entry in header.items():
        span = _span(entry)
        if span is None:
            raise _altered(name, "its header describes an impossible array")
        spans[key] = span
    return spans


def _read_payload(handle: BinaryIO, spans: dict[str, Span], start: int, name: str) -> bytes:
    """The bytes of all arrays, read once it is clear that there are as many, and that arrays fill them one after another."""
    about = os.fstat(handle.fileno())
    needed = max((end for *_, end in spans.values()), default=0)
    payload = b"" if stat.S_ISREG(about.st_mode) else _read_stream(handle, needed + 1)
    there = about.st_size - start if stat.S_ISREG(about.st_mode) else len(payload)
    if there < needed:
        raise _truncated(name, start + there, start + needed)
    if there > needed:
        raise _altered(name, f"{there - needed} bytes follow its end")
    last = 0
    for _, _, begin, end in sorted(spans.values(), key=lambda span: span[2:]):
        if begin != last:
            raise _altered(name, "its arrays have gaps between them, or one is in the place of another")
        last = end
    return payload or handle.read(needed)


def _read_stream(handle: BinaryIO, most: int) -> bytes:
    """What a pipe still has, at most so many bytes. Nobody knows how many will come, so memory is taken for what has come."""
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
    """dtype, shape, first and last byte of one array in the header; None if they contradict each other."""
    try:
        dtype, shape, (begin, end) = _DTYPES[entry["dtype"]], tuple(entry["shape"]), entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        return None
    if any(type(number) is not int or not 0 <= number < 2**63 for number in (*shape, begin, end)):
        return None
    if end - begin != math.prod(shape) * dtype.itemsize:
        return None
    if len(shape) > 32 or math.prod(max(number, 1) for number in shape) * dtype.itemsize >= 2**63:
        return None  # more than NumPy can describe, though it may hold no element at all
    return dtype, shape, begin, end
