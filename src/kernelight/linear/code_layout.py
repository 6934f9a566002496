"""The layout of the weights of codes, in segments that fit the first-level cache.

A slot has an entry (a row of weights, one for each output) for every code that occurs in it; all
other codes of a segment of slots share one entry whose weights are 0. Segments belong to parts,
which are distributed over threads; the number of parts depends on the number of slots alone, so
that sums over parts do not depend on threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEGMENT_BYTES = 1 << 15
MAX_ENTRIES = 1 << 16  # of a segment: entries have indices of 16 bits
SLOTS_PER_PART, MAX_PARTS = 64, 8


@dataclass(frozen=True)
class CodeLayout:
    """Which entry the weights of a code have.

    ``local`` (slots << bits) is the entry of a code within its segment, ``first`` (slots) the entry
    of the first code of a slot. The other arrays are boundaries: slots and entries of segments,
    segments of parts.
    """

    bits: int
    local: NDArray[np.uint16]
    first: NDArray[np.uint16]
    segment_slot: NDArray[np.int64]
    segment_entry: NDArray[np.int64]
    part_segment: NDArray[np.int64]

    @property
    def n_entries(self) -> int:
        """How many entries there are in all."""
        return int(self.segment_entry[-1])

    def places(self, seen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The entries of the codes of ``seen`` (slots, 2^bits), in the order of its True values."""
        base = np.repeat(self.segment_entry[:-1], np.diff(self.segment_slot))
        local = self.local.reshape(seen.shape)[seen].astype(np.int64)
        return np.repeat(base, seen.sum(axis=1)) + local


def code_layout(counts: NDArray[Any], packed: int, itemsize: int) -> CodeLayout:
    """The layout for (slots, 2^bits) counts of codes, or for flags of the codes that occur.

    The codes of a slot are sorted by count, the most frequent first, so that the entries that are
    needed most lie side by side; with flags they are in the order of the codes.
    """
    n_slots, width = counts.shape
    sizes = np.count_nonzero(counts, axis=1)
    slots, parts = _segments(sizes, SEGMENT_BYTES // (packed * itemsize))
    first, local = np.zeros(n_slots, dtype=np.uint16), np.zeros((n_slots, width), dtype=np.uint16)
    entries = [0]
    # a segment at a time: tables of all codes are large if codes have many bits
    for begin, end in pairwise(slots):
        segment, size = counts[begin:end], sizes[begin:end]
        spare = int((size < width).any())  # one entry for codes that do not occur
        ends = spare + np.cumsum(size)
        starts = np.where(size > 0, ends - size, 0)
        local[begin:end] = np.where(segment > 0, starts[:, None] + _ranks(segment), 0)
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
    """For each code of a slot, how many codes come before it."""
    if counts.dtype == np.bool_:
        return np.asarray(np.cumsum(counts, axis=1) - 1)
    ranks = np.empty(counts.shape, dtype=np.int64)
    order = np.argsort(-counts, axis=1, kind="stable")
    np.put_along_axis(ranks, order, np.arange(counts.shape[1])[None, :], axis=1)
    return ranks


def _segments(sizes: NDArray[np.int64], limit: int) -> tuple[list[int], list[int]]:
    """Boundaries of segments, in slots, and of parts, in segments; the ends included.

    A segment has at most ``limit`` entries, or one slot.
    """
    n_slots = len(sizes)
    n_parts = min(MAX_PARTS, max(1, n_slots // SLOTS_PER_PART))
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
