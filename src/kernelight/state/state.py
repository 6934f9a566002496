"""`State`: plain data, the one form in which every persistent thing is stored, sent and loaded.

Loading runs no code.
"""

from __future__ import annotations

import json
import math
import numbers
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.files import FilePath
from kernelight.state.immutable import Immutable, may_change, read_only
from kernelight.state.safetensors import (
    ALGORITHM_VERSION,
    DTYPES,
    Pieces,
    altered,
    canonical,
    digest_of,
    read_file,
    save_pieces,
)


class State(Immutable):
    """Plain data that stands for an object: ``meta`` (JSON) and ``arrays`` (name to NumPy array).

    Both are immutable.

    Parameters
    ----------
    meta : dict
        Whatever JSON can say, with string keys; ``meta["kind"]`` names the class. NumPy scalars
        become Python numbers, tuples become lists; NaN, infinity and objects are refused.
    arrays : dict of str to array, optional
        Arrays of booleans, integers or floats of at most 64 bits. Arrays that could be changed
        later are copied.

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
            plain,
            {_array_name(name): _storable(name, array) for name, array in (arrays or {}).items()},
        )

    def _fill(
        self,
        meta: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        algorithm_version: int = ALGORITHM_VERSION,
    ) -> None:
        views = {name: read_only(arrays[name]) for name in sorted(arrays)}
        self._set(
            _meta_text=canonical(meta),
            _arrays=MappingProxyType(views),
            _algorithm_version=algorithm_version,
        )

    @classmethod
    def _restore(
        cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]], algorithm_version: int
    ) -> State:
        """A State of parts that are already checked and that nobody else holds: no copy."""
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
        """What the state calls its class."""
        return str(self.meta["kind"])

    @property
    def algorithm_version(self) -> int:
        """The version of the algorithms (what a seed means) under which this state was made."""
        return self._algorithm_version

    def require(self, kind: str, *, where: str = "This state") -> State:
        """This state, if it is of a ``kind``; otherwise a ValueError which says what it is."""
        if self.kind != kind:
            raise ValueError(f"{where} holds a {self.kind}, not {kind}.")
        return self

    def digest(self) -> str:
        """A digest of the meta, the arrays and the versions.

        Of arrays it covers names, dtypes, shapes and bytes.

        >>> from kernelight import State
        >>> one, two = State({"kind": "Example", "a": 1}), State({"kind": "Example", "a": 2})
        >>> one.digest() == two.digest()
        False
        """
        return digest_of(self.meta, self._pieces(), self._algorithm_version)

    def save(self, path: FilePath) -> None:
        """Write one file, all or nothing.

        ``path`` never holds a part of it, whatever happens while writing.
        """
        save_pieces(path, self.meta, self._pieces(), self._algorithm_version)

    def _pieces(self) -> dict[str, Pieces]:
        """The arrays, each in one piece."""
        return {
            name: Pieces(a.dtype, a.shape, lambda a=a: (a.reshape(-1).view(np.uint8).data,))  # type: ignore[misc]
            for name, a in self._arrays.items()
        }

    @classmethod
    def load(cls, path: FilePath, kind: str | None = None, *, name: str | None = None) -> State:
        """The state in a file or a pipe.

        ``kind`` refuses any other kind; ``name`` is what errors call the file instead of ``path``.

        A file that is empty, truncated, altered, not of kernelight or of a newer version is a
        ValueError which says which.
        """
        name = name or os.fsdecode(path)
        content = read_file(path, name)
        state = cls._restore(content.meta, content.arrays, content.algorithm_version)
        if state.digest() != content.digest:
            raise altered(name, "its content does not match its digest")
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


def _plain(value: Any, where: str) -> Any:
    """``value`` as JSON has it, or an error that names the place of what JSON cannot hold."""
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
        f"{where} must be plain data (None, bool, int, float, str, list, dict), got "
        f"{type(value).__name__}."
    )


def _array_name(name: Any) -> str:
    if not isinstance(name, str) or not name or name == "__metadata__" or not name.isprintable():
        raise ValueError(
            f"An array needs a printable name other than '__metadata__', got {name!r}."
        )
    return name


def _storable(name: str, value: Any) -> NDArray[Any]:
    """``value`` as a C-ordered little-endian array that nobody can change."""
    array = np.asarray(value)
    dtype = (
        np.dtype(f"<{array.dtype.kind}{array.dtype.itemsize}")
        if array.dtype.kind in "iuf"
        else array.dtype
    )
    if dtype not in DTYPES.values():
        raise TypeError(
            f"Array {name!r} must hold booleans, integers or floats of at most 64 bits, got "
            f"{array.dtype}."
        )
    stored = np.asarray(array, dtype=dtype, order="C")
    return stored.copy() if may_change(stored) and np.may_share_memory(stored, array) else stored
