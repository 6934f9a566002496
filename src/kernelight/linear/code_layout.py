"""Where the weights of codes lie: only codes that occur have weights, in segments that fit the
first cache.

A slot has an entry (a row of weights, one for each class) for every code that occurs in it; all
other codes of a segment of slots share one entry whose weights are 0. Segments belong to parts,
which are what threads share out; their number depends on the number of slots alone, so that sums
over parts do not depend on threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEGMENT_BYTES = 1 << 15
MAX_ENTRIES = 1 << 16  # entries of a segment are counted in 16 bits
SLOTS_OF_A_PART, MAX_PARTS = 64, 8


@dataclass(frozen=True)
class CodeLayout:
    """Entries of codes. ``local`` (slots << bits): the entry of a code within its segment;
    ``first`` (slots): the entry of the first code of a slot."""

    bits: int
    local: NDArray[np.uint16]
    first: NDArray[np.uint16]
    segment_slot: NDArray[np.int64]
    segment_entry: NDArray[np.int64]
    part_segment: NDArray[np.int64]

    @property
    def n_entries(self) -> int:
        return int(self.segment_entry[-1])

    def places(self, seen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The entries of the codes of ``seen`` (slots, 2^bits), in the order of its True values."""
        base = np.repeat(self.segment_entry[:-1], np.diff(self.segment_slot))
        return np.repeat(base, seen.sum(axis=1)) + self.local.reshape(seen.shape)[seen].astype(
            np.int64
        )


def code_layout(counts: NDArray[Any], packed: int, itemsize: int) -> CodeLayout:
    """The layout for (slots, 2^bits) counts of codes, or flags that say which occur.

    The codes of a slot are in the order of their counts, the most frequent first, so that the
    entries that are needed most lie side by side; flags leave them in the order of the codes.
    """
    n_slots, width = counts.shape
    sizes = np.count_nonzero(counts, axis=1)
    slots, parts = _segments(sizes, SEGMENT_BYTES // (packed * itemsize))
    first, local = np.zeros(n_slots, dtype=np.uint16), np.zeros((n_slots, width), dtype=np.uint16)
    entries = [0]
    # a segment at a time: tables of all codes are large where they have many bits
    for begin, end in pairwise(slots):
        some, size = counts[begin:end], sizes[begin:end]
        spare = int((size < width).any())  # the entry of codes that do not occur
        ends = spare + np.cumsum(size)
        starts = np.where(size > 0, ends - size, 0)
        local[begin:end] = np.where(some > 0, starts[:, None] + _ranks(some), 0)
        first[begin:end] = starts
        entries.append(entries[-1] + int(ends[-1]))
    return CodeLayout(
        bits=width.bit_length() - 1,
        local=local.reshape(-1),
        first=first,
        segment_slot=np.asarray(slots, dtype=np.int64),
        segment_entry=np.asarray(entries, dtype=np.int64),
        part_segment=np.asarray(parts, dtype=np.int64),
    )


def _ranks(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Of each code of a slot, how many come before it."""
    if counts.dtype == np.bool_:
        return np.asarray(np.cumsum(counts, axis=1) - 1)
    ranks = np.empty(counts.shape, dtype=np.int64)
    order = np.argsort(-counts, axis=1, kind="stable")
    np.put_along_axis(ranks, order, np.arange(counts.shape[1])[None, :], axis=1)
    return ranks


def _segments(sizes: NDArray[np.int64], limit: int) -> tuple[list[int], list[int]]:
    """First slots of segments of at most ``limit`` entries (or of one slot), and first segments of
    parts; ends included."""
    n_slots = len(sizes)
    n_parts = min(MAX_PARTS, max(1, n_slots // SLOTS_OF_A_PART))
    slots, parts = [], [0]
    for part in range(n_parts):
        slot, end = n_slots * part // n_parts, n_slots * (part + 1) // n_parts
        while slot < end:
            slots.append(slot)
            size = 1 + int(sizes[slot])
            slot += 1
            while slot < end and size + int(sizes[slot]) <= min(limit, MAX_ENTRIES):
                size += int(sizes[slot])
                slot += 1
        parts.append(len(slots))
    return [*slots, n_slots], parts
