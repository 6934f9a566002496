"""Where the weights of codes lie: only codes that occur have weights, in segments that fit the first cache.

A slot has an entry (a row of weights, one for each class) for every code that occurs in it; all other codes of a segment of
slots share one entry whose weights are 0. Segments belong to parts, which are what threads share out; their number depends
on the number of slots alone, so that sums over parts do not depend on threads.
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
    """Entries of codes. ``local`` (slots << bits): the entry of a code within its segment; ``first`` (slots): the entry of the
    first code of a slot."""

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
        return (self.local.reshape(seen.shape) + base[:, None])[seen]


def code_layout(counts: NDArray[Any], lanes: int, itemsize: int) -> CodeLayout:
    """The layout for (slots, 2^bits) counts of codes, or flags that say which occur.

    The codes of a slot are in the order of their counts, the most frequent first, so that the entries that are needed most lie
    side by side; flags leave them in the order of the codes.
    """
    n_slots, width = counts.shape
    seen = counts > 0
    sizes = seen.sum(axis=1)
    if counts.dtype == np.bool_:
        ranks = np.cumsum(seen, axis=1) - 1
    else:
        ranks = np.empty((n_slots, width), dtype=np.int64)
        order = np.argsort(-counts, axis=1, kind="stable")
        np.put_along_axis(ranks, order, np.arange(width)[None, :], axis=1)
    slots, parts = _segments(sizes, width, SEGMENT_BYTES // (lanes * itemsize))
    first = np.zeros(n_slots, dtype=np.int64)
    entries = [0]
    for begin, end in pairwise(slots):
        spare = int((sizes[begin:end] < width).any())  # the entry of codes that do not occur
        ends = spare + np.cumsum(sizes[begin:end])
        first[begin:end] = np.where(sizes[begin:end] > 0, ends - sizes[begin:end], 0)
        entries.append(entries[-1] + int(ends[-1]))
    local = np.where(seen, first[:, None] + ranks, 0).astype(np.uint16)
    return CodeLayout(
        bits=width.bit_length() - 1,
        local=local.reshape(-1),
        first=first.astype(np.uint16),
        segment_slot=np.asarray(slots, dtype=np.int64),
        segment_entry=np.asarray(entries, dtype=np.int64),
        part_segment=np.asarray(parts, dtype=np.int64),
    )


def _segments(sizes: NDArray[np.int64], width: int, limit: int) -> tuple[list[int], list[int]]:
    """First slots of segments of at most ``limit`` entries (or of one slot), and first segments of parts; ends included."""
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
