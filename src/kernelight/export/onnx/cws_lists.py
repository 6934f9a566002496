"""Lists of the likeliest samples of each slot, by which a graph samples most rows.

A dart is a coordinate with one t, and `core/cws_lists.h` says why the sample of a row is the first
dart that it owns, in the order of a: one whose threshold its value exceeds. So a row is compared
with thresholds, which are those of its values themselves, and the words of its samples stand in a
table: neither logarithms nor hashes are left. Slots of which a row owns no dart are sampled by
the tables of `minmax`, and all slots of a row with a value beyond the limits of the lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.export.onnx.graph import FLOAT, Graph

_GROUP = np.dtype([("probe", [("weight", "f4"), ("place", "u4")], 4), ("word", "u8", 4)])
#: Darts of a slot. A row whose values sum to a share s of the limits owns none of n of them with
#: probability exp(-n s): that is one slot in 15,000 where s is 0.4.
DARTS = 24
_MOST_DARTS = 1 << 24  # whole numbers of single precision
_EXPECTED = 2.0  # times as many darts are drawn on average, so that nearly all lists are full


@dataclass(frozen=True, eq=False)
class DartLists:
    """The first darts of each slot, the likeliest last.

    ``thresholds`` are the largest values that do not own a dart, ``places`` those of the values
    among the values of a row, and ``words`` what docs/hash-spec.md makes of the samples, before
    any bits are cut off.
    """

    limits: NDArray[Any]  # values of a row; beyond, it owns darts that are not listed
    thresholds: NDArray[Any]  # (slots, DARTS)
    places: NDArray[np.int32]
    words: NDArray[np.uint64]

    @classmethod
    def of(
        cls,
        cells: NDArray[np.float32],
        ids: NDArray[np.uint64],
        limits: NDArray[Any],
        n_slots: int,
        power: float,
        coding: _core.CwsCoding,
    ) -> DartLists | None:
        """Lists from the cells of the coordinates ``ids``, whose values go up to ``limits``.

        None where there would be too many darts to number them, or where scanning takes less.
        """
        groups = DARTS // _GROUP["word"].shape[0]
        if len(ids) < DARTS or n_slots * DARTS >= _MOST_DARTS:
            return None
        listed = np.empty((n_slots * groups, _GROUP.itemsize // 8), dtype=np.uint64)
        starts = np.arange(n_slots + 1, dtype=np.int64) * groups
        logs = logarithms(limits, power)
        with np.errstate(over="ignore", divide="ignore"):
            most_a = np.log(_EXPECTED * DARTS / np.exp(logs.astype(np.float64)).sum())
        where = np.arange(len(ids), dtype=np.int32)
        tables = _core.CwsTables(cells, ids, where)
        _core.cws_rank(tables, coding, most_a, _core.CwsLists(listed, starts, logs), 1)
        darts = listed.view(_GROUP).reshape(n_slots, groups)
        weights, places, words = (
            np.ascontiguousarray(each.reshape(n_slots, DARTS)[:, ::-1])
            for each in (darts["probe"]["weight"], darts["probe"]["place"], darts["word"])
        )
        thresholds = last_below(weights.ravel(), power, limits.dtype).reshape(n_slots, DARTS)
        return cls(limits, thresholds, places.astype(np.int32), words)

    def first(self, g: Graph, values: str) -> tuple[str, str]:
        """The number of the first dart that a row owns in each slot, from 1; 0 where it owns none.

        And a number for each value, which is positive unless it is beyond its limit. Both are of
        single precision.
        """
        own = g.add("GatherElements", values, g.constant(self.places.ravel()))
        own = g.add("Greater", own, g.constant(self.thresholds.ravel()))
        own = g.add("Reshape", g.cast(own, FLOAT), g.ints(*self.places.shape))
        # later darts have larger numbers, and the first stands last
        numbers = np.arange(1, self.places.size + 1, dtype=FLOAT).reshape(self.places.shape)
        first = g.add("ReduceMax", g.add("Mul", own, g.constant(numbers)), g.ints(1), keepdims=0)
        beyond = np.nextafter(self.limits, np.inf, dtype=self.limits.dtype)
        room = g.add("Sub", g.constant(beyond), values)
        if self.limits.dtype != FLOAT:  # a difference of doubles may round to 0
            room = g.cast(g.add("Sign", room), FLOAT)
        return first, room


def logarithms(values: NDArray[Any], power: float) -> NDArray[np.float32]:
    """(float)(power * log(value)) as docs/hash-spec.md has them; -infinity of 0."""
    found = np.full(len(values), -np.inf, dtype=np.float32)
    positive = values > 0
    given = np.ascontiguousarray(values[positive])[:, None]
    count = len(given)
    rows = _core.WeightedRows(given, None, None, 1, None, False)
    starts = np.array([0, count], dtype=np.int64)
    places, logs = np.empty((2, count), dtype=np.int32), np.empty(count, dtype=np.float32)
    listing = _core.CwsListing(max(1, count), starts, places[0], places[1], logs)
    if count:
        _core.cws_list(rows, power, listing, 1, 0)
    found[positive] = logs
    return found


def last_below(logs: NDArray[np.float32], power: float, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The largest value of a type whose logarithm is not above; infinity if there is none above.

    Found by bisection of the bits of positive numbers, which ascend with them.
    """
    bits = np.int32 if dtype == FLOAT else np.int64
    highest = np.array(np.finfo(dtype).max, dtype).view(bits)
    low, high = np.zeros(len(logs), bits), np.full(len(logs), highest + 1, bits)
    while (high - low > 1).any():
        middle = low + (high - low) // 2
        below = logarithms(middle.view(dtype), power) <= logs
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(low == highest, dtype.type(np.inf), low.view(dtype))
