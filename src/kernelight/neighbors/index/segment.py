"""Segments: rows that never change, with their codes, tables of bands and ids.

======================== =======================================================================
array                    what it holds, for n rows of k slots in B bands
======================== =======================================================================
codes                    (n, k) integers
empty                    the numbers of rows of zeros, which have no codes and are in no band
band_keys, band_rows     (B, n - empty): the upper 32 bits of the keys of a band, ascending, and
                         the rows that have them, ascending for each key
ids or id_...            ids, ascending: `ids`
rows or row_...          the rows themselves, if they are stored: `row_store`
======================== =======================================================================

A segment is in memory or a mapped file. Rows that were removed are a list beside it, so that a
segment with other removed rows shares everything else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.codes import Codes
from kernelight.neighbors.band_keys import short_band_keys
from kernelight.neighbors.index.array_file import ArrayFile, array_of, bytes_of, pieces_of
from kernelight.neighbors.index.ids import COLUMNS, IdColumn, Ids, id_column, order_of
from kernelight.neighbors.index.manifest import SegmentEntry
from kernelight.neighbors.index.plan import IndexPlan
from kernelight.neighbors.index.row_store import RowStore, arrays_of, layout, merged_rows
from kernelight.state import Pieces
from kernelight.state.safetensors import altered

SEGMENT, REMOVED = "segment", "removed"
_STEP = 1 << 22  # values that a merge copies at a time
_NONE = np.empty(0, dtype=np.uint32)


class SegmentKind(NamedTuple):
    """What all segments of an index have in common.

    ``rows`` is "dense", "sparse", or None if rows are not stored.
    """

    plan: IndexPlan
    dtype: np.dtype[Any]
    bits: int
    provenance: str
    n_features: int
    ids: str
    rows: str | None

    def layout(self, n_rows: int, n_filled: int) -> dict[str, Any]:
        """dtypes and shapes of the arrays of a segment; None is any length."""
        tables = (self.plan.bands, n_filled)
        shapes: dict[str, Any] = {
            "codes": (self.dtype.str, (n_rows, self.plan.n_components)),
            "empty": ("<u4", (n_rows - n_filled,)),
            "band_keys": ("<u4", tables),
            "band_rows": ("<u4", tables),
            **COLUMNS[self.ids].layout(n_rows),
        }
        if self.rows is not None:
            shapes |= layout(self.rows, n_rows, self.n_features)
        return shapes


@dataclass(frozen=True, eq=False)
class Segment:
    """Some rows of an index, in the order of their ids.

    ``entry`` is that of the manifest, None before the segment is in a file. ``listed`` says whether
    the removed rows are those of the entry.
    """

    kind: SegmentKind
    n_rows: int
    arrays: Mapping[str, NDArray[Any]]
    removed: NDArray[np.uint32] = field(default_factory=lambda: _NONE)
    entry: SegmentEntry | None = None
    file: ArrayFile | None = None
    removed_file: ArrayFile | None = None
    listed: bool = True

    @property
    def where(self) -> str:
        """What errors call it."""
        return "The index" if self.file is None else self.file.path

    @property
    def n_live(self) -> int:
        """Rows that were not removed."""
        return self.n_rows - len(self.removed)

    @property
    def n_bytes(self) -> int:
        """Bytes of its arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    @cached_property
    def ids(self) -> IdColumn:
        """The ids of all rows."""
        return id_column(self.kind.ids, self.arrays, self.where)

    @cached_property
    def rows(self) -> RowStore:
        """The rows themselves, where they are stored."""
        return RowStore(str(self.kind.rows), self.arrays, self.kind.n_features, self.where)

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Which rows were not removed."""
        return ~self._mask(self.removed, "a removed row")

    @cached_property
    def hidden(self) -> NDArray[np.bool_]:
        """Rows that no search finds by their codes: removed ones and empty ones."""
        return ~self.live | self._mask(self.arrays["empty"], "an empty row")

    def _mask(self, rows: NDArray[Any], what: str) -> NDArray[np.bool_]:
        mask = np.zeros(self.n_rows, dtype=np.bool_)
        mask[self.in_range(rows, what)] = True
        return mask

    def in_range(self, rows: NDArray[Any], what: str) -> NDArray[Any]:
        """Numbers of rows that a file holds, if there are such rows."""
        if len(rows) and rows.max() >= self.n_rows:
            raise altered(self.where, f"it has no row of the number of {what}")
        return rows

    def is_live(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of some rows were not removed; costs little if they are few."""
        if not len(self.removed):
            return np.ones(len(rows), dtype=np.bool_)
        at = np.minimum(np.searchsorted(self.removed, rows), len(self.removed) - 1)
        return np.asarray(self.removed[at] != rows)

    def find(self, ids: Ids) -> NDArray[np.int64]:
        """The row of each id, -1 of one that is not there or was removed."""
        rows = self.ids.find(ids)
        at = np.flatnonzero(rows >= 0)
        gone = at[~self.is_live(rows[at])]
        rows[gone] = -1
        return rows

    def without(self, rows: NDArray[np.int64]) -> Segment:
        """The same segment without some more of its rows."""
        removed = np.union1d(self.removed, rows.astype(np.uint32))
        return replace(self, removed=removed, listed=False)

    def codes(self) -> Codes:
        """All codes; rows that no search finds are empty."""
        return Codes._adopt(
            self.arrays["codes"],
            self.kind.bits,
            empty=self.hidden if self.hidden.any() else None,
            provenance=self.kind.provenance,
            n_features=self.kind.n_features,
        )

    def bucket_bounds(
        self, keys: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the rows with some keys (m, bands) begin and end in each table."""
        begins, ends = (np.empty(keys.shape, dtype=np.int64) for _ in range(2))
        for band, table in enumerate(self.arrays["band_keys"]):
            begins[:, band] = np.searchsorted(table, keys[:, band], "left")
            ends[:, band] = np.searchsorted(table, keys[:, band], "right")
        return begins, np.maximum(begins, ends)  # a damaged table does not ascend


# -- Made of rows


def build_segment(kind: SegmentKind, ids: Ids, codes: Codes, X: Matrix | None) -> Segment:
    """A segment in memory."""
    order = order_of(ids)
    codes, ids = codes[order], ids[order]
    filled = np.flatnonzero(~codes.empty)
    arrays: dict[str, NDArray[Any]] = {
        "codes": codes.array,
        "empty": np.flatnonzero(codes.empty).astype(np.uint32),
        **_tables(codes, filled, kind.plan),
        **COLUMNS[kind.ids].arrays_of(ids),
    }
    if X is not None:
        arrays |= arrays_of(X[order])
    return Segment(kind, len(ids), arrays)


def _tables(
    codes: Codes, filled: NDArray[np.int64], plan: IndexPlan
) -> dict[str, NDArray[np.uint32]]:
    by_row = short_band_keys(codes[filled], plan.bands, plan.rows)
    keys, rows = (np.empty((plan.bands, len(filled)), dtype=np.uint32) for _ in range(2))
    for band in range(plan.bands):
        order = np.argsort(by_row[:, band], kind="stable")
        keys[band], rows[band] = by_row[order, band], filled[order]
    return {"band_keys": keys, "band_rows": rows}


# -- Read from files


def open_segment(directory: str, entry: SegmentEntry, kind: SegmentKind) -> Segment:
    """A segment that is mapped; its layout is checked, its arrays are not read."""
    file = ArrayFile(directory, entry.file, SEGMENT)
    empty = file.arrays.get("empty")
    n_empty = len(empty) if empty is not None and empty.ndim == 1 else 0
    _check_layout(file, kind.layout(entry.n_rows, entry.n_rows - n_empty))
    removed, removed_file = _NONE, None
    if entry.removed is not None:
        removed_file = ArrayFile(directory, entry.removed, REMOVED)
        _check_layout(removed_file, {"rows": ("<u4", (entry.n_removed,))})
        removed = removed_file.arrays["rows"]
    return Segment(kind, entry.n_rows, file.arrays, removed, entry, file, removed_file)


def _check_layout(file: ArrayFile, wanted: dict[str, Any]) -> None:
    if set(file.arrays) != set(wanted):
        raise altered(file.path, "it has other arrays than a segment of this index")
    for name, (dtypes, shape) in wanted.items():
        array = file.arrays[name]
        known = (dtypes,) if isinstance(dtypes, str) else dtypes
        same = array.ndim == len(shape) and all(
            want in (None, length) for want, length in zip(shape, array.shape, strict=True)
        )
        if array.dtype.str not in known or not same:
            raise altered(file.path, f"its {name} are not those of a segment of this index")


# -- Merged


def merged_pieces(segments: Sequence[Segment]) -> tuple[int, dict[str, Pieces]]:
    """The live rows of segments as one segment: its rows, and its arrays piece by piece.

    Codes and rows are copied some at a time; the ids of all rows are in memory, and the table of a
    band.
    """
    kind = segments[0].kind
    live = [np.flatnonzero(each.live) for each in segments]
    segment = np.repeat(np.arange(len(segments)), [len(rows) for rows in live])
    row = np.concatenate(live)
    ids = np.concatenate([each.ids.take(rows) for each, rows in zip(segments, live, strict=True)])
    order = order_of(ids)
    segment, row, ids = segment[order], row[order], ids[order]
    # the new number of each old row; removed rows have none
    numbers = [np.full(each.n_rows, -1, dtype=np.int64) for each in segments]
    empty = np.zeros(len(row), dtype=np.bool_)
    for at, each in enumerate(segments):
        mine = np.flatnonzero(segment == at)
        numbers[at][row[mine]] = mine
        gone = numbers[at][each.in_range(each.arrays["empty"], "an empty row")]
        empty[gone[gone >= 0]] = True
    n_filled = len(row) - int(empty.sum())
    arrays = {
        "codes": _merged_codes(segments, segment, row),
        "empty": pieces_of(np.flatnonzero(empty).astype(np.uint32)),
        **_merged_tables(segments, numbers, n_filled),
        **{name: pieces_of(array) for name, array in COLUMNS[kind.ids].arrays_of(ids).items()},
    }
    if kind.rows is not None:
        stores = [each.rows for each in segments]
        arrays |= merged_rows(stores, (segment, row), kind.n_features, _STEP)
    return len(row), arrays


def _merged_codes(
    segments: Sequence[Segment], segment: NDArray[np.int64], row: NDArray[np.int64]
) -> Pieces:
    kind = segments[0].kind
    k = kind.plan.n_components
    chunk = max(1, _STEP // k)

    def read() -> Iterator[memoryview]:
        for begin in range(0, len(row), chunk):
            part = slice(begin, begin + chunk)
            block = np.empty((len(row[part]), k), dtype=kind.dtype)
            for at, each in enumerate(segments):
                mine = np.flatnonzero(segment[part] == at)
                block[mine] = each.arrays["codes"][row[part][mine]]
            yield bytes_of(block)

    return Pieces(kind.dtype, (len(row), k), read)


def _merged_tables(
    segments: Sequence[Segment], numbers: Sequence[NDArray[np.int64]], n_filled: int
) -> dict[str, Pieces]:
    """The tables of bands; what is asked for twice is sorted twice, as it may not fit twice."""
    bands = segments[0].kind.plan.bands

    def table(band: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        parts = []
        for each, number in zip(segments, numbers, strict=True):
            rows = number[each.in_range(each.arrays["band_rows"][band], "a band")]
            parts.append((each.arrays["band_keys"][band][rows >= 0], rows[rows >= 0]))
        keys, rows = (np.concatenate(column) for column in zip(*parts, strict=True))
        if len(rows) != n_filled:
            raise altered(segments[0].where, "a band lacks rows, or has one twice")
        order = np.lexsort((rows, keys))
        return keys[order], rows[order].astype(np.uint32)

    def pieces(which: int) -> Pieces:
        return Pieces(
            np.dtype("<u4"),
            (bands, n_filled),
            lambda: (bytes_of(table(band)[which]) for band in range(bands)),
        )

    return {"band_keys": pieces(0), "band_rows": pieces(1)}


def merged_in_memory(segments: Sequence[Segment]) -> Segment:
    """The live rows of segments as one segment in memory."""
    n_rows, pieces = merged_pieces(segments)
    arrays = {name: array_of(each) for name, each in pieces.items()}
    return Segment(segments[0].kind, n_rows, arrays)


def tier(n_rows: int) -> int:
    """The size class of a segment: each is 8 times the one before, the first up to 8,192 rows."""
    return 0 if n_rows <= 1 << 13 else math.ceil(math.log2(n_rows) / 3 - 13 / 3 - 1e-9)
