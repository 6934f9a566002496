"""Consistent weighted sampling: calls the compiled loops and keeps the tables of a fitted object.

Memory beyond input and output stays under 256 MB whatever the width: the listing of a batch of rows
takes at most 48 MB, tables for one call at most 48 MB or running minima of rows, without tables,
some 24 MB, tables kept for the next call at most 96 MB, twice that while they grow, lists of
coordinates at most 32 MB, and words that wait to be folded some 32 MB.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix, Resources
from kernelight.maps.minmax.cws_lists import ListKeeper
from kernelight.maps.minmax.poisson_slots import BaseSlots, SlotRange
from kernelight.maps.minmax.scheme import MinMaxScheme, RowRange, Settled, all_rows, row_ranges

LISTING_BYTES = 48 << 20
CALL_BYTES = 48 << 20
RIVALS_BYTES = 24 << 20  # of all threads together
KEPT_BYTES = 96 << 20
# Nonzeros times slots of one compiled call, for each thread: some tenths of a second, so that
# Ctrl-C is handled.
SCAN_WORK, BOUNDS_WORK, STREAM_WORK = 1 << 29, 1 << 28, 1 << 24
FEW_ROWS, FEW_WORK = 8, 1 << 22  # up to so many rows, and nonzeros times slots, in one call
ROW_BLOCK = 96  # rows whose running minima, 256 bytes each, fit the first-level cache
BYTES_PER_ENTRY = 2 * 12  # coordinate, row, logarithm; and the same again while they are sorted
BYTES_PER_CELL_BLOCK = 4 * _core.CELL_BLOCK
BYTES_PER_RIVALS = 3 * 4 * _core.SLOT_BLOCK  # of a row: two minima and a winner for each slot
# Where tables are not kept, a cell that is met fewer times than this is better not drawn as defined
# (core/cws_bounds.h); from then on the cheaper scan outweighs the drawing.
FEW_MEETINGS = 20
# Logarithms beyond this leave bounds too loose: one slot in twenty would be sampled twice.
MOST_REACH = 1 << 14
FEWEST_RIVALS = 1024  # rows of a block, however many threads share the memory


class _Tables(NamedTuple):
    """Cells of some coordinates, for all slots: ``where[coordinate]`` is the table row or -1."""

    cells: NDArray[np.float32]
    ids: NDArray[np.uint64]
    where: NDArray[np.int32]
    filled: int  # table rows in use

    def view(self, first_slot: int = 0) -> _core.CwsTables:
        """The tables from ``first_slot`` on, as the compiled functions take them.

        ``first_slot`` is the first of its block.
        """
        return _core.CwsTables(self.cells[first_slot // _core.SLOT_BLOCK :], self.ids, self.where)


class _Listing(NamedTuple):
    """The nonzeros of every block of rows as the compiled functions take them."""

    view: _core.CwsListing
    log_value: NDArray[np.float32]

    @property
    def reach(self) -> float:
        """The size of the largest logarithm."""
        logs = self.log_value
        return max(float(logs.max(initial=0.0)), -float(logs.min(initial=0.0)))


class CwsSampler:
    """Encodes matrices of one scheme.

    The tables that it has drawn are kept for the next call; they are never pickled.
    """

    def __init__(self, scheme: MinMaxScheme) -> None:
        self.scheme = scheme
        self.slots = BaseSlots(scheme, word_bits=64, whole=False)
        self._base = self.slots.base
        self._slot_blocks = -(-self._base.n_components // _core.SLOT_BLOCK)
        self._keeper = ListKeeper(self._base.n_components)
        self._kept: _Tables | None = None
        self._whole: tuple[_Tables, _core.CwsTables] | None = None  # a view of all that is kept
        self._lock = threading.Lock()
        self.settled: Settled | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return CwsSampler, (self.scheme,)

    def encode(
        self, X: Matrix, resources: Resources, winners: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Codes of every row, and which rows are empty.

        Into ``winners`` go the features that won the base slots, (n, base slots); those of empty
        rows are left as they are. Rows are then scanned, whatever their number.
        """
        codes = np.zeros((X.shape[0], self.scheme.n_components), dtype=self.scheme.dtype)
        empty = np.ones(X.shape[0], dtype=bool)
        few = winners is None and X.shape[0] <= FEW_ROWS
        if few and self._encode_few(all_rows(X), codes, empty, resources):
            return codes, empty
        for at, rows in row_ranges(
            X, LISTING_BYTES // BYTES_PER_ENTRY, most_rows=self.slots.most_rows
        ):
            won = None if winners is None else winners[at]
            empty[at] = self._encode_range(rows, codes[at], won, resources)
        return codes, empty

    def _encode_few(
        self, rows: RowRange, codes: NDArray[Any], empty: NDArray[np.bool_], resources: Resources
    ) -> bool:
        """A few rows in one compiled call; False where the tables that are kept will not do."""
        kept = self._kept
        work = rows.values.size * self._base.n_components
        if kept is None or self.scheme.gamma is not None or rows.is_wide or work > FEW_WORK:
            return False
        whole = self._whole
        if whole is None or whole[0] is not kept:
            self._whole = whole = (kept, kept.view())
        return _core.cws_encode_few(
            rows.weighted(self.scheme),
            self.scheme.p,
            whole[1],
            self._coding,
            codes,
            empty,
            resources.simd,
        )

    def _encode_range(
        self,
        rows: RowRange,
        codes: NDArray[Any],
        winners: NDArray[np.int64] | None,
        resources: Resources,
    ) -> NDArray[np.bool_]:
        """Survey the rows, list their nonzeros, then scan with tables.

        Where there are more coordinates than tables may have, or few rows for each, sample by
        bounds; where a row or the width is too long to be listed, stream.
        """
        counts = np.empty(rows.n_rows, dtype=np.int64)
        resources = resources.for_work(rows.values.size * self._base.n_components)
        too_long = rows.values.size > LISTING_BYTES // BYTES_PER_ENTRY
        if too_long or (rows.is_wide and rows.indices is None):
            _core.cws_survey(rows.weighted(self.scheme), counts, None, resources.threads)
            return self._stream(rows, np.equal(counts, 0), codes, winners, resources)
        if rows.is_wide or self._are_few_and_wide(rows):
            rows = rows.renumbered()
        used = np.zeros(rows.n_coordinates, dtype=np.uint8)
        weighted = rows.weighted(self.scheme)
        _core.cws_survey(weighted, counts, used, resources.threads)
        coordinates = np.flatnonzero(used).astype(np.int32)
        kept = None if rows.ids is not None else self._keep(coordinates, rows, resources)
        empty = np.equal(counts, 0)
        if kept is None:
            self._encode_once(rows, weighted, counts, coordinates, empty, codes, winners, resources)
        elif winners is not None or not self._encode_by_lists(
            rows, weighted, counts, kept, empty, codes, resources
        ):
            listing = self._list(weighted, counts, _row_block(len(coordinates), counts), resources)
            for part in self.slots.ranges(
                codes, empty, resources, most=_most_slots(SCAN_WORK, rows, resources)
            ):
                self._scan(listing.view, kept.view(part.first_slot), part, winners, resources)
        return empty

    def _are_few_and_wide(self, rows: RowRange) -> bool:
        """Whether arrays as long as the width would cost more than to sample without tables.

        Only where tables of the whole width could not be kept: they are faster still.
        """
        tables = rows.n_coordinates * BYTES_PER_CELL_BLOCK * self._slot_blocks
        return (
            rows.indices is not None
            and rows.values.size * self._base.n_components < rows.n_coordinates
            and tables > KEPT_BYTES
        )

    def _encode_once(
        self,
        rows: RowRange,
        weighted: _core.WeightedRows,
        counts: NDArray[np.int64],
        coordinates: NDArray[np.int32],
        empty: NDArray[np.bool_],
        codes: NDArray[Any],
        winners: NDArray[np.int64] | None,
        resources: Resources,
    ) -> None:
        """Rows whose tables would be too large to keep."""
        fits = len(coordinates) * BYTES_PER_CELL_BLOCK <= CALL_BYTES
        few = int(counts.sum()) < FEW_MEETINGS * len(coordinates)
        by_bounds = few or not fits
        row_block = _rivals_block(len(counts), resources.threads) if by_bounds else 0
        listing = self._list(
            weighted, counts, row_block or _row_block(len(coordinates), counts), resources
        )
        if by_bounds and listing.reach <= MOST_REACH:
            self._encode_by_bounds(listing, rows, weighted, empty, codes, winners, resources)
        elif fits:
            self._scan_in_groups(listing.view, coordinates, rows, empty, codes, winners, resources)
        else:
            self._stream(rows, empty, codes, winners, resources)

    def _encode_by_bounds(
        self,
        listing: _Listing,
        rows: RowRange,
        weighted: _core.WeightedRows,
        empty: NDArray[np.bool_],
        codes: NDArray[Any],
        winners: NDArray[np.int64] | None,
        resources: Resources,
    ) -> None:
        """Sample without tables: every cell is drawn once for a block of rows, roughly."""
        for part in self.slots.ranges(
            codes, empty, resources, most=_most_slots(BOUNDS_WORK, rows, resources)
        ):
            _core.cws_encode_bounds(
                weighted,
                self.scheme.p,
                rows.ids,
                listing.view,
                listing.reach,
                self._coding,
                *part,
                winners,
                *resources,
            )

    def _encode_by_lists(
        self,
        rows: RowRange,
        weighted: _core.WeightedRows,
        counts: NDArray[np.int64],
        kept: _Tables,
        empty: NDArray[np.bool_],
        codes: NDArray[Any],
        resources: Resources,
    ) -> bool:
        """Sample rows side by side, where that is worth it; see `cws_lists`."""
        p = self.scheme.p
        lists = self._keeper.lists_for(
            weighted, p, counts, kept.view(), kept.where, kept.filled, self._coding, resources
        )
        if lists is None:
            return False
        for part in self.slots.ranges(
            codes, empty, resources, most=_most_slots(SCAN_WORK, rows, resources)
        ):
            tables = kept.view(part.first_slot)
            work = _core.cws_encode_lists(
                weighted, p, lists.view, tables, self._coding, *part, *resources
            )
            self._keeper.learn(counts, work, part.n_slots)
        return True

    def _scan(
        self,
        listing: _core.CwsListing,
        tables: _core.CwsTables,
        part: SlotRange,
        winners: NDArray[np.int64] | None,
        resources: Resources,
    ) -> None:
        """Words or codes of some slots, whose cells are those of the first blocks of ``tables``."""
        _core.cws_scan(listing, tables, self._coding, *part, winners, *resources)

    @cached_property
    def _coding(self) -> _core.CwsCoding:
        t_mask: int = 2**64 - 1 if self._base.t_bits is None else 2**self._base.t_bits - 1
        lowest = self._base.coding == "lowest"
        return _core.CwsCoding(self.scheme.seed, self._base.bits, t_mask, lowest)

    def _stream(
        self,
        rows: RowRange,
        empty: NDArray[np.bool_],
        codes: NDArray[Any],
        winners: NDArray[np.int64] | None,
        resources: Resources,
    ) -> NDArray[np.bool_]:
        for part in self.slots.ranges(
            codes, empty, resources, most=_most_slots(STREAM_WORK, rows, resources)
        ):
            for at, some in rows.cut(STREAM_WORK * resources.threads // part.n_slots):
                weighted, here = some.weighted(self.scheme), part._replace(out=part.out[at])
                won = None if winners is None else winners[at]
                _core.cws_stream(
                    weighted, self.scheme.p, rows.ids, self._coding, *here, won, *resources
                )
        return empty

    def _list(
        self,
        weighted: _core.WeightedRows,
        counts: NDArray[np.int64],
        row_block: int,
        resources: Resources,
    ) -> _Listing:
        """The nonzeros of every ``row_block`` rows, by coordinate."""
        edges = np.minimum(np.arange(-(-len(counts) // row_block) + 1) * row_block, len(counts))
        starts = np.concatenate([[0], np.cumsum(counts)])[edges]
        coordinate, row = np.empty((2, starts[-1]), dtype=np.int32)
        log_value = np.empty(starts[-1], dtype=np.float32)
        listing = _core.CwsListing(row_block, starts, coordinate, row, log_value)
        _core.cws_list(weighted, self.scheme.p, listing, *resources)
        return _Listing(listing, log_value)

    def _scan_in_groups(
        self,
        listing: _core.CwsListing,
        coordinates: NDArray[np.int32],
        rows: RowRange,
        empty: NDArray[np.bool_],
        codes: NDArray[Any],
        winners: NDArray[np.int64] | None,
        resources: Resources,
    ) -> None:
        """Tables of a few slot blocks at a time, drawn, used and overwritten."""
        per_group = max(1, CALL_BYTES // max(1, len(coordinates) * BYTES_PER_CELL_BLOCK))
        cells = np.empty(
            (min(per_group, self._slot_blocks), len(coordinates) * _core.CELL_BLOCK), np.float32
        )
        ids = rows.identities(coordinates)
        where = np.full(rows.n_coordinates, -1, dtype=np.int32)
        where[coordinates] = np.arange(len(coordinates), dtype=np.int32)
        tables = _Tables(cells, ids, where, len(ids)).view()
        most = min(per_group * _core.SLOT_BLOCK, _most_slots(SCAN_WORK, rows, resources))
        for part in self.slots.ranges(codes, empty, resources, most=most):
            slots = (part.first_slot, part.n_slots)
            _core.cws_fill(cells, ids, 0, len(ids), self.scheme.seed, *slots, *resources)
            self._scan(listing, tables, part, winners, resources)

    def _keep(
        self, coordinates: NDArray[np.int32], rows: RowRange, resources: Resources
    ) -> _Tables | None:
        """Kept tables that cover ``coordinates``, enlarged where needed.

        None where that would take too much memory.
        """
        with self._lock:
            kept = self._kept or _Tables(
                np.empty((self._slot_blocks, 0), np.float32),
                np.empty(0, np.uint64),
                np.full(rows.n_coordinates, -1, np.int32),
                0,
            )
            new = coordinates[kept.where[coordinates] < 0]
            count = kept.filled + len(new)
            if count * BYTES_PER_CELL_BLOCK * self._slot_blocks > KEPT_BYTES:
                return None
            if len(new):
                kept = self._grown(kept, count)
                kept.ids[kept.filled : count] = rows.identities(new)
                # a copy: a call in another thread may be using the old array
                where = kept.where.copy()
                where[new] = np.arange(kept.filled, count, dtype=np.int32)
                _core.cws_fill(
                    kept.cells,
                    kept.ids,
                    kept.filled,
                    count,
                    self.scheme.seed,
                    0,
                    self._base.n_components,
                    *resources,
                )
                self._kept = kept = _Tables(kept.cells, kept.ids, where, count)
            return kept

    def _grown(self, kept: _Tables, count: int) -> _Tables:
        """The same tables with room for ``count`` coordinates.

        Room is doubled, so that growing row by row stays cheap.
        """
        room = kept.ids.shape[0]
        if count <= room:
            return kept
        most = KEPT_BYTES // (BYTES_PER_CELL_BLOCK * self._slot_blocks)
        room = count if room == 0 else min(max(count, 2 * room), most)
        cells = np.empty((self._slot_blocks, room * _core.CELL_BLOCK), dtype=np.float32)
        cells[:, : kept.cells.shape[1]] = kept.cells
        ids = np.zeros(room, dtype=np.uint64)
        ids[: kept.filled] = kept.ids[: kept.filled]
        return _Tables(cells, ids, kept.where, kept.filled)


def _most_slots(work: int, rows: RowRange, resources: Resources) -> int:
    """Slots of one compiled call: whole blocks, at least one."""
    return (
        max(1, work * resources.threads // max(1, rows.values.size * _core.SLOT_BLOCK))
        * _core.SLOT_BLOCK
    )


def _row_block(n_coordinates: int, counts: NDArray[np.int64]) -> int:
    """Rows listed together.

    As few as let the parameters of a coordinate, once loaded, serve some two dozen rows.
    """
    mean = max(1.0, float(counts.mean()) if len(counts) else 1.0)
    return (
        int(min(max(ROW_BLOCK, 24 * n_coordinates / mean), 16 * ROW_BLOCK)) // ROW_BLOCK * ROW_BLOCK
    )


def _rivals_block(n_rows: int, threads: int) -> int:
    """Rows that are sampled together by bounds: as many as memory allows, but some a thread."""
    room = RIVALS_BYTES // (BYTES_PER_RIVALS * threads)
    return max(1, min(max(room, FEWEST_RIVALS), -(-n_rows // threads)))
