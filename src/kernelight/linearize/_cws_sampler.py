"""Consistent weighted sampling: drives the compiled loops and keeps the tables of one fitted object.

Memory beyond input and output stays under 256 MB whatever the width: the listing of a batch of rows takes at most
40 MB, tables for one call at most 48 MB, and tables kept for the next call at most 160 MB.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight._checks import Matrix, Resources
from kernelight.linearize._scheme import Columns, MinMaxScheme, as_columns

LISTING_BYTES = 40 << 20
CALL_BYTES = 48 << 20
KEPT_BYTES = 160 << 20
ROW_BLOCK = 64  # rows whose running minima, 256 bytes each, fit the first-level cache
BYTES_PER_ENTRY = 12 + 8  # coordinate, row, logarithm; and the weight while listing
BYTES_PER_CELL_BLOCK = 4 * _core.CELL_BLOCK


class _Tables(NamedTuple):
    """Cells of some coordinates, for all slots: ``where[coordinate]`` is the table row or -1."""

    cells: NDArray[np.float32]
    ids: NDArray[np.uint64]
    where: NDArray[np.int32]
    count: int


class CwsSampler:
    """Encodes matrices of one scheme; the tables it has drawn are kept for the next call (never pickled)."""

    def __init__(self, scheme: MinMaxScheme) -> None:
        self.scheme = scheme
        self._slot_blocks = -(-scheme.n_components // _core.SLOT_BLOCK)
        self._kept: _Tables | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"scheme": self.scheme}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["scheme"])  # type: ignore[misc]

    def encode(self, X: Matrix, use: Resources) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Codes of every row, and which rows are empty."""
        codes = np.zeros((X.shape[0], self.scheme.n_components), dtype=self.scheme.dtype)
        empty = np.ones(X.shape[0], dtype=bool)
        for begin, end in _batches(X, self.scheme):
            part = X if (begin, end) == (0, X.shape[0]) else X[begin:end]
            empty[begin:end] = self._encode_batch(as_columns(part), codes[begin:end], use)
        return codes, empty

    def _encode_batch(self, columns: Columns, codes: NDArray[Any], use: Resources) -> NDArray[np.bool_]:
        scheme, matrix_args = self.scheme, columns.args(self.scheme)
        counts = np.empty(columns.matrix.shape[0], dtype=np.int64)
        used = np.zeros(columns.n_coordinates, dtype=np.uint8)
        _core.cws_survey(*matrix_args, counts, used, use.threads)
        coordinates = np.flatnonzero(used).astype(np.int32)
        row_block = _row_block(len(coordinates), counts)
        edges = np.minimum(np.arange(-(-len(counts) // row_block) + 1) * row_block, len(counts))
        starts = np.concatenate([[0], np.cumsum(counts)])[edges]
        listing = (
            row_block, starts, np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32),
        )  # fmt: skip
        _core.cws_list(*matrix_args, scheme.p, *listing, *use)
        t_mask = 2**64 - 1 if scheme.t_bits is None else 2**scheme.t_bits - 1
        coding = (scheme.bits, t_mask, scheme.coding == "lowest", codes, *use)
        kept = None if columns.renumbered else self._keep(coordinates, columns, use)
        if kept is not None:
            _core.cws_scan(*listing, kept.cells, kept.ids, kept.where, scheme.seed, 0, scheme.n_components, *coding)
        elif len(coordinates) * BYTES_PER_CELL_BLOCK > CALL_BYTES:
            _core.cws_scan_direct(*listing, columns.ids, scheme.seed, *coding)
        else:
            self._scan_in_groups(listing, coordinates, columns, coding, use)
        return counts == 0

    def _scan_in_groups(
        self, listing: Any, coordinates: NDArray[np.int32], columns: Columns, coding: Any, use: Resources
    ) -> None:
        """Tables of a few slot blocks at a time, drawn, used and overwritten."""
        scheme = self.scheme
        per_group = max(1, CALL_BYTES // max(1, len(coordinates) * BYTES_PER_CELL_BLOCK))
        cells = np.empty((min(per_group, self._slot_blocks), len(coordinates) * _core.CELL_BLOCK), np.float32)
        ids = columns.ids[coordinates]
        where = np.full(columns.n_coordinates, -1, dtype=np.int32)
        where[coordinates] = np.arange(len(coordinates), dtype=np.int32)
        for first in range(0, scheme.n_components, per_group * _core.SLOT_BLOCK):
            n_slots = min(per_group * _core.SLOT_BLOCK, scheme.n_components - first)
            _core.cws_fill(cells, ids, 0, len(ids), scheme.seed, first, n_slots, *use)
            _core.cws_scan(*listing, cells, ids, where, scheme.seed, first, n_slots, *coding)

    def _keep(self, coordinates: NDArray[np.int32], columns: Columns, use: Resources) -> _Tables | None:
        """Kept tables that cover ``coordinates``, grown if need be; None where that would be too much memory."""
        with self._lock:
            kept = self._kept or _Tables(
                np.empty((self._slot_blocks, 0), np.float32), np.empty(0, np.uint64),
                np.full(columns.n_coordinates, -1, np.int32), 0,
            )  # fmt: skip
            new = coordinates[kept.where[coordinates] < 0]
            count = kept.count + len(new)
            if count * BYTES_PER_CELL_BLOCK * self._slot_blocks > KEPT_BYTES:
                return None
            if len(new):
                kept = self._grown(kept, count)
                kept.ids[kept.count : count] = columns.ids[new]
                where = kept.where.copy()  # a call under way in another thread goes on with the map it has
                where[new] = np.arange(kept.count, count, dtype=np.int32)
                _core.cws_fill(
                    kept.cells, kept.ids, kept.count, count, self.scheme.seed, 0, self.scheme.n_components, *use
                )
                self._kept = kept = _Tables(kept.cells, kept.ids, where, count)
            return kept

    def _grown(self, kept: _Tables, count: int) -> _Tables:
        """The same tables with room for ``count`` coordinates: doubled, so that growing row by row stays cheap."""
        room = kept.ids.shape[0]
        if count <= room:
            return kept
        most = KEPT_BYTES // (BYTES_PER_CELL_BLOCK * self._slot_blocks)
        room = count if room == 0 else min(max(count, 2 * room), most)
        cells = np.empty((self._slot_blocks, room * _core.CELL_BLOCK), dtype=np.float32)
        cells[:, : kept.cells.shape[1]] = kept.cells
        ids = np.zeros(room, dtype=np.uint64)
        ids[: kept.count] = kept.ids[: kept.count]
        return _Tables(cells, ids, kept.where, kept.count)


def _row_block(n_coordinates: int, counts: NDArray[np.int64]) -> int:
    """Rows taken together: as few as let a coordinate's parameters, once loaded, serve about eight rows."""
    mean = max(1.0, float(counts.mean()) if len(counts) else 1.0)
    return int(min(max(ROW_BLOCK, 8 * n_coordinates / mean), 16 * ROW_BLOCK)) // ROW_BLOCK * ROW_BLOCK


def _batches(X: Matrix, scheme: MinMaxScheme) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose listing fits the memory set aside for it."""
    n_rows, most = X.shape[0], LISTING_BYTES // BYTES_PER_ENTRY
    if not hasattr(X, "indptr"):
        step = max(1, most // max(1, X.shape[1]))
        step = max(step // ROW_BLOCK * ROW_BLOCK, min(step, ROW_BLOCK))
        yield from ((at, min(at + step, n_rows)) for at in range(0, n_rows, step))
        return
    begin = 0
    while begin < n_rows:
        end = int(np.searchsorted(X.indptr, int(X.indptr[begin]) + most, side="right")) - 1
        end = min(max(end, begin + 1), n_rows)
        yield begin, end
        begin = end
