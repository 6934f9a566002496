"""Ids of rows: whole numbers or strings, unique, as columns that are sorted and mapped.

The rows of a segment are in the order of their ids, so that whole numbers need nothing else to be
found. Strings are their UTF-8 bytes one after the other, with offsets; they are found by 64-bit
hashes, and compared.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.state.safetensors import altered

#: int64, or an object array of str
Ids = NDArray[Any]
INT, STR = "int", "str"


# -- What users give


def as_ids(given: Any, kind: str | None, *, ordered: bool = False) -> Ids:
    """Ids that a user gave, unique; ``kind`` is that of the index, None if it has no rows yet.

    With ``ordered`` each is that of a row, so that sets and dicts are refused.
    """
    if ordered and isinstance(given, (Set, Mapping)):
        raise TypeError(
            f"ids must be a list in the order of the rows, got a {type(given).__name__}, whose "
            "order says nothing of rows."
        )
    values = _listed(given)
    ids = _as_integers(values) if _are_numbers(values) else _as_strings(values)
    found = kind_of(ids)
    if len(ids) and kind is not None and found != kind:
        words = {INT: "whole numbers", STR: "strings"}
        raise TypeError(
            f"ids must be {words[kind]}, as those of this index are, got {words[found]}, such as "
            f"{plain_id(ids[0])!r}."
        )
    _refuse_duplicates(ids)
    return ids if len(ids) else empty_ids(kind)


def kind_of(ids: Ids) -> str:
    """ "int" or "str"."""
    return STR if ids.dtype.kind == "O" else INT


def empty_ids(kind: str | None) -> Ids:
    """No ids."""
    return np.empty(0, dtype=object if kind == STR else np.int64)


def _listed(given: Any) -> Any:
    if isinstance(given, (str, bytes)):
        raise TypeError(f"ids must be a list, one for each row, got {given!r}.")
    if hasattr(given, "to_numpy"):  # a column of a data frame
        given = given.to_numpy()
    if not isinstance(given, np.ndarray):
        try:
            given = list(given)
        except TypeError:
            raise TypeError(
                f"ids must be a list, one for each row, got {plain_id(given)!r}."
            ) from None
        return given
    if given.ndim != 1:
        raise ValueError(f"ids must have one dimension, got {given.ndim}.")
    return given


def _are_numbers(values: Any) -> bool:
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return values.dtype.kind in "iu"
    return len(values) > 0 and _is_integer(values[0])


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def _as_integers(values: Any) -> Ids:
    plain = isinstance(values, np.ndarray) and values.dtype.kind in "iu"
    for at, value in enumerate(() if plain else values):
        if not _is_integer(value):
            raise TypeError(
                f"ids must be all whole numbers or all strings, but id {at} is {plain_id(value)!r} "
                f"and id 0 is {plain_id(values[0])!r}."
            )
    limits = np.iinfo(np.int64)
    if len(values) and not limits.min <= int(min(values)) <= int(max(values)) <= limits.max:
        raise ValueError("ids must fit into 64 bits with a sign: use strings for larger numbers.")
    return np.array(values, dtype=np.int64)


def _as_strings(values: Any) -> Ids:
    ids = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        if not isinstance(value, str):
            other = f" and id 0 is {plain_id(values[0])!r}" if at else ""
            raise TypeError(
                "ids must be all whole numbers or all strings, but id "
                f"{at} is {plain_id(value)!r}{other}."
            )
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"Id {at} is no valid text: {plain_id(value)!r}.") from None
        ids[at] = str(value)
    return ids


def _refuse_duplicates(ids: Ids) -> None:
    if len(ids) < 2:
        return
    ordered = np.sort(ids)
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(twice):
        raise ValueError(
            f"ids must be unique, but {plain_id(ordered[twice[0]])!r} is given more than once."
        )


def plain_id(value: Any) -> Any:
    """An id as Python has it."""
    return value.item() if isinstance(value, np.generic) else value


def named(ids: Ids) -> str:
    """Some ids at the beginning of a sentence: the first of them, and how many there are."""
    first = repr(plain_id(ids[0]))
    return f"Id {first}" if len(ids) == 1 else f"{counted(len(ids), 'id')}, the first {first},"


# -- What segments hold


class IdColumn(ABC):
    """The ids of the rows of a segment, ascending."""

    kind: ClassVar[str]

    @staticmethod
    @abstractmethod
    def arrays_of(ids: Ids) -> dict[str, NDArray[Any]]:
        """What is stored of ascending ids."""

    @staticmethod
    @abstractmethod
    def layout(n_rows: int) -> dict[str, tuple[str, tuple[int | None, ...]]]:
        """dtypes and shapes of what is stored; None is any length."""

    @abstractmethod
    def find(self, ids: Ids) -> NDArray[np.int64]:
        """The row of each id, -1 of one that is not there."""

    @abstractmethod
    def take(self, rows: NDArray[Any]) -> Ids:
        """The ids of rows."""


class IntColumn(IdColumn):
    """Whole numbers."""

    kind = INT

    def __init__(self, arrays: Mapping[str, NDArray[Any]], where: str) -> None:
        self._ids = arrays["ids"]

    @staticmethod
    def arrays_of(ids: Ids) -> dict[str, NDArray[Any]]:
        return {"ids": np.ascontiguousarray(ids, dtype=np.int64)}

    @staticmethod
    def layout(n_rows: int) -> dict[str, tuple[str, tuple[int | None, ...]]]:
        return {"ids": ("<i8", (n_rows,))}

    def find(self, ids: Ids) -> NDArray[np.int64]:
        at = np.searchsorted(self._ids, ids)
        inside = np.minimum(at, len(self._ids) - 1)
        return np.where(self._ids[inside] == ids, inside, -1).astype(np.int64)

    def take(self, rows: NDArray[Any]) -> Ids:
        return np.asarray(self._ids[rows], dtype=np.int64)


class StrColumn(IdColumn):
    """Strings."""

    kind = STR

    def __init__(self, arrays: Mapping[str, NDArray[Any]], where: str) -> None:
        self._offsets, self._bytes = arrays["id_offsets"], arrays["id_bytes"]
        self._hashes, self._rows, self._where = arrays["id_hashes"], arrays["id_rows"], where

    @staticmethod
    def arrays_of(ids: Ids) -> dict[str, NDArray[Any]]:
        texts = [text.encode() for text in ids]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.uint64)
        hashes = _hashes(texts)
        order = np.argsort(hashes, kind="stable")
        return {
            "id_offsets": ends,
            "id_bytes": np.frombuffer(b"".join(texts), dtype=np.uint8),
            "id_hashes": hashes[order],
            "id_rows": order.astype(np.uint32),
        }

    @staticmethod
    def layout(n_rows: int) -> dict[str, tuple[str, tuple[int | None, ...]]]:
        return {
            "id_offsets": ("<u8", (n_rows + 1,)),
            "id_bytes": ("|u1", (None,)),
            "id_hashes": ("<u8", (n_rows,)),
            "id_rows": ("<u4", (n_rows,)),
        }

    def find(self, ids: Ids) -> NDArray[np.int64]:
        found = np.full(len(ids), -1, dtype=np.int64)
        hashes = _hashes([text.encode() for text in ids])
        at = np.searchsorted(self._hashes, hashes)
        left = np.arange(len(ids))
        while len(left):  # once, but for strings of equal hashes
            left = left[at[left] < len(self._hashes)]
            left = left[self._hashes[at[left]] == hashes[left]]
            if not len(left):
                break
            rows = self._rows[at[left]].astype(np.int64)
            if rows.max() >= len(self._rows):
                raise altered(self._where, "a hash of an id leads to no row")
            same = self.take(rows) == ids[left]
            found[left[same]] = rows[same]
            left = left[~same]
            at[left] += 1
        return found

    def take(self, rows: NDArray[Any]) -> Ids:
        rows = np.asarray(rows, dtype=np.int64)
        begins, ends = self._offsets[rows], self._offsets[rows + 1]
        if (begins > ends).any() or (ends > len(self._bytes)).any():
            raise altered(self._where, "an id lies outside of its bytes")
        content = self._bytes.data
        ids = np.empty(len(rows), dtype=object)
        try:
            for at, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
                ids[at] = str(content[begin:end], "utf-8")
        except UnicodeDecodeError:
            raise altered(self._where, "an id is no text") from None
        return ids


def _hashes(texts: list[bytes]) -> NDArray[np.uint64]:
    content = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(content, dtype="<u8").astype(np.uint64)


COLUMNS: dict[str, type[IdColumn]] = {INT: IntColumn, STR: StrColumn}


def id_column(kind: str, arrays: Mapping[str, NDArray[Any]], where: str) -> IdColumn:
    """The column of a kind, of its arrays."""
    return IntColumn(arrays, where) if kind == INT else StrColumn(arrays, where)


def order_of(ids: Ids) -> NDArray[np.int64]:
    """Which of them is the least, and so on."""
    return np.asarray(np.argsort(ids, kind="stable"), dtype=np.int64)
