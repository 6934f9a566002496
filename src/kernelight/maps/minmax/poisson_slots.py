"""The slots that a sampler samples, and how they become the slots of a code.

Without gamma they are the same. With it, slot j of a code stands for Poisson(gamma) many base
slots, whose words are folded into one (docs/hash-spec.md, section 8). A word takes 8 bytes, so that
rows and slots are taken in groups of some 32 MB of words.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Resources
from kernelight.maps.minmax.scheme import MinMaxScheme

WORDS_BYTES = 32 << 20
BYTES_PER_WORD = 8


class SlotRange(NamedTuple):
    """``n_slots`` base slots from ``first_slot`` on, for ``out`` from ``column`` on."""

    first_slot: int
    n_slots: int
    column: int
    out: NDArray[Any]


def base_counts(scheme: MinMaxScheme, gamma: float) -> NDArray[np.int64]:
    """How many base slots each slot of a code has."""
    counts = np.empty(scheme.n_components, dtype=np.int64)
    _core.poisson_counts(scheme.seed, gamma, counts)
    return counts


def n_base_slots(scheme: MinMaxScheme) -> int:
    """The number of slots that a sampler samples.

    It is at least 1, although no code depends on it where all counts are 0.
    """
    if scheme.gamma is None:
        return scheme.n_components
    return max(1, int(base_counts(scheme, scheme.gamma).sum()))


class BaseSlots:
    """What a sampler samples for ``scheme``: the slots of ``base``.

    With a gamma, words of ``word_bits`` bits are sampled and folded.

    ``whole``: the sampler can only do all base slots at once.
    """

    def __init__(self, scheme: MinMaxScheme, word_bits: int, *, whole: bool) -> None:
        self.scheme = scheme
        self.base = scheme
        self.most_rows = sys.maxsize
        #: Where the base slots of each slot begin, and the end of the last.
        self.starts = np.arange(scheme.n_components + 1, dtype=np.int64)
        self._whole = whole
        if scheme.gamma is not None:
            counts = base_counts(scheme, scheme.gamma)
            self.base = replace(
                scheme, n_components=n_base_slots(scheme), bits=word_bits, gamma=None
            )
            self.starts = np.concatenate([[0], np.cumsum(counts)])
            longest = int(counts.sum() if whole else counts.max()) + _core.SLOT_BLOCK
            self.most_rows = max(1, WORDS_BYTES // (BYTES_PER_WORD * longest))

    def ranges(
        self, codes: NDArray[Any], empty: NDArray[np.bool_], resources: Resources, *, most: int
    ) -> Iterator[SlotRange]:
        """Ranges of at most ``most`` base slots that together give ``codes``.

        ``codes`` has at most ``most_rows`` rows. The caller writes each range before it asks for
        the next. Ranges start at multiples of ``SLOT_BLOCK``, as tables do, so a group of words may
        begin with a few words of another group.
        """
        if self.scheme.gamma is None:
            yield from _cut(0, self.scheme.n_components, most, codes)
            return
        for begin, end in self._groups(len(codes)):
            starts = self.starts[begin : end + 1]
            first = int(starts[0]) // _core.SLOT_BLOCK * _core.SLOT_BLOCK
            words = np.empty((len(codes), int(starts[-1]) - first), dtype=np.uint64)
            yield from _cut(first, int(starts[-1]), most, words)
            _core.fold_words(
                words,
                starts - first,
                empty,
                self.scheme.seed,
                begin,
                self.scheme.bits,
                codes,
                resources.threads,
            )

    def _groups(self, n_rows: int) -> Iterator[tuple[int, int]]:
        """Ranges of slots whose words fit the budget for that many rows.

        At least one slot, or all of them where the sampler samples all at once.
        """
        room = WORDS_BYTES // (BYTES_PER_WORD * max(1, n_rows)) - _core.SLOT_BLOCK
        begin, last = 0, self.scheme.n_components
        while begin < last:
            end = int(np.searchsorted(self.starts, self.starts[begin] + room, side="right")) - 1
            end = last if self._whole else max(end, begin + 1)
            yield begin, end
            begin = end


def _cut(first: int, end: int, most: int, out: NDArray[Any]) -> Iterator[SlotRange]:
    """Base slots ``first`` to ``end`` in ranges of at most ``most``, for the columns of ``out``."""
    for at in range(first, end, most):
        yield SlotRange(at, min(most, end - at), at - first, out)
