"""The tests of ferns, drawn from a seed (docs/hash-spec.md, section 10)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.maps.partitions.fern_cuts import Cuts
from kernelight.maps.projections.splitmix import drawn_by_weight

MAX_DEPTH = 16  # bits of a code
MAX_FERNS = 1 << 20


class FernTests(NamedTuple):
    """Tests of (n_components, depth): the place of the column and the number of the cut of each."""

    places: NDArray[np.int64]
    cuts: NDArray[np.int64]

    def tables(self, cuts: Cuts) -> Any:
        """Only the columns and cuts that are asked for, in the form of the core."""
        used, numbers = np.unique(self.cuts, return_inverse=True)
        place_of_cut = np.searchsorted(cuts.starts, used, side="right") - 1
        places, starts = np.unique(place_of_cut, return_index=True)
        where = np.searchsorted(places, self.places)
        return _core.FernTables(
            cuts.columns[places],
            np.append(starts, len(used)).astype(np.int64),
            cuts.values[used],
            cuts.medians[places],
            where.astype(np.int32),
            (numbers.reshape(self.cuts.shape) - starts[where]).astype(np.uint8),
        )


def draw_tests(
    cuts: Cuts, weights: NDArray[np.float64], n_ferns: int, depth: int, seed: int
) -> FernTests:
    """Columns by weight, and of each the value of a random row.

    Test i of slot j is number 16 j + i, so that fewer slots, or fewer tests, are the first ones.
    """
    words = np.empty((2, n_ferns, MAX_DEPTH), dtype=np.uint64)
    _core.fill_words(seed, _core.STREAM_FERN_COLUMN, words[0].reshape(-1))
    _core.fill_words(seed, _core.STREAM_FERN_CUT, words[1].reshape(-1))
    words = words[:, :, :depth]
    places = drawn_by_weight(weights, words[0])
    sums = np.cumsum(cuts.counts, dtype=np.int64)
    first = np.concatenate([[0], sums])[cuts.starts]  # rows of the cuts of earlier columns
    rows = np.diff(first).astype(np.uint64)[places]
    row = ((words[1] >> np.uint64(32)) * rows) >> np.uint64(32)
    return FernTests(
        places, np.searchsorted(sums, first[places] + row.astype(np.int64), side="right")
    )
