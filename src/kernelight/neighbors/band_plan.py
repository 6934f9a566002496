"""How codes are cut into bands and a sketch, and what is found then.

Of k slots the first b r are the bands, the last s the sketch; no slot is both, so that a pair whose
slots agree with probability J is found with probability

    (1 - (1 - J^r)^b) P(Binomial(s, J) >= m),

m the fewest equal slots of the sketch that pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from kernelight.theory import band_probability
from kernelight.theory.collisions import bbit_collision

SKETCH_SLOTS = 64
SKETCH_LOSS = 5e-4  # of the pairs at the threshold, by the sketch


@dataclass(frozen=True)
class BandPlan:
    """Bands for pairs of some similarity.

    >>> from kernelight.neighbors import BandPlan
    >>> plan = BandPlan(n_components=256, bits=8, threshold=0.8, bands=16, rows=8)
    >>> plan.expected_recall([0.5, 0.8, 0.9]).round(3)
    array([0.002, 0.948, 1.   ])
    """

    n_components: int
    bits: int
    threshold: float
    bands: int
    rows: int

    @property
    def sketch_slots(self) -> int:
        """Slots of the sketch; 0 where the bands leave too few."""
        left = self.n_components - self.bands * self.rows
        return SKETCH_SLOTS if left >= SKETCH_SLOTS else left if left >= SKETCH_SLOTS // 2 else 0

    @property
    def least_equal(self) -> int:
        """The fewest equal slots of the sketch with which a pair passes."""
        if self.sketch_slots == 0:
            return 0
        agree = float(bbit_collision(self.threshold, self.bits))
        return int(binom.ppf(SKETCH_LOSS, self.sketch_slots, agree))

    def expected_recall(self, similarity: ArrayLike) -> NDArray[np.float64]:
        """The probability that a pair of this similarity is found."""
        agree = np.asarray(bbit_collision(similarity, self.bits))
        found = np.asarray(band_probability(similarity, self.bands, self.rows, bits=self.bits))
        if self.sketch_slots:
            found = found * binom.sf(self.least_equal - 1, self.sketch_slots, agree)
        return np.asarray(found, dtype=np.float64)


def possible_plans(
    n_components: int, bits: int, threshold: float, recall: float, *, most_bands: int | None = None
) -> list[BandPlan]:
    """For each number of rows the fewest bands that find a pair at the threshold often enough.

    Long bands have fewer false candidates; short ones are fewer. An error where none will do.
    """
    agree = float(bbit_collision(threshold, bits))
    # Slots of the sketch must not be slots of the bands. Short codes have none.
    room = n_components - (SKETCH_SLOTS if n_components >= 2 * SKETCH_SLOTS else 0)
    plans = []
    for rows in range(1, n_components + 1):
        miss = agree**rows
        goal = min(1 - 1e-12, recall / (1 - SKETCH_LOSS))
        fewest = 1.0 if miss >= 1.0 else math.log1p(-goal) / math.log1p(-miss) if miss else math.inf
        if fewest * rows > room or (most_bands is not None and fewest > most_bands):
            break  # longer bands agree less often, and there are fewer of them
        bands = math.ceil(fewest)
        if bands * rows <= room:
            plans.append(BandPlan(n_components, bits, threshold, bands, rows))
    if not plans:
        raise ValueError(
            f"No bands of {n_components} slots find pairs of similarity {threshold:g} with "
            f"recall={recall:g}: use more components, a higher threshold or a lower recall."
        )
    return plans


def plan_facts(plan: BandPlan) -> dict[str, Any]:
    """The plan as plain data, for reports."""
    return {
        "bands": plan.bands,
        "rows": plan.rows,
        "sketch_slots": plan.sketch_slots,
        "least_equal": plan.least_equal,
        "recall_at_threshold": float(plan.expected_recall(plan.threshold)),
    }
