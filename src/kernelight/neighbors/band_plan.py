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
from scipy.special import bdtrc

from kernelight.theory import band_probability
from kernelight.theory.collisions import bbit_collision
from kernelight.theory.inputs import kernel_values

# Slots that bands leave to the sketch at least, of codes that are long enough; it takes up to twice
# as many if there are, in whole steps: what it stops need not be verified.
SKETCH_SLOTS = 64
_STEP = 32
_MOST_ROWS = 256  # of a band: where pairs always agree, nothing else limits them
SKETCH_LOSS = 2e-3  # of the pairs at the threshold, by the sketch


@dataclass(frozen=True)
class BandPlan:
    """Bands for pairs of some similarity.

    Parameters
    ----------
    n_components : int
        Slots of a code.
    bits : int
        Bits of a slot.
    threshold : float
        The similarity of the pairs.
    bands : int
        How many bands there are.
    rows : int
        Slots in each band.

    See Also
    --------
    kernelight.theory.choose_bands : Bands for a goal.
    BandSearch : A search by these bands.

    Examples
    --------
    >>> from kernelight.neighbors import BandPlan
    >>> plan = BandPlan(n_components=256, bits=8, threshold=0.8, bands=16, rows=8)
    >>> plan.expected_recall([0.5, 0.8, 0.9]).round(3)
    array([0.   , 0.947, 1.   ])
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
        return min(2 * SKETCH_SLOTS, left // _STEP * _STEP)

    @property
    def least_equal(self) -> int:
        """The fewest equal slots of the sketch with which a pair passes."""
        if self.sketch_slots == 0:
            return 0
        agree = float(bbit_collision(self.threshold, self.bits))
        return least_equal(self.sketch_slots, agree, SKETCH_LOSS)

    def expected_recall(self, similarity: ArrayLike) -> NDArray[np.float64]:
        """The probability that a pair of this similarity is found."""
        similarity = kernel_values(similarity, "similarity")
        agree = np.asarray(bbit_collision(similarity, self.bits))
        return found_probability(agree, self.bands, self.rows, self.sketch_slots, self.least_equal)


def found_probability(
    agree: ArrayLike, bands: int, rows: int, sketch: int, least: int
) -> NDArray[np.float64]:
    """The probability that a pair is found whose slots agree with some probability."""
    return np.asarray(band_probability(agree, bands, rows) * _at_least(least, sketch, agree))


def least_equal(slots: int, agree: float, lost: float) -> int:
    """The most that can be asked for: P(Binomial(slots, agree) < it) <= lost."""
    asked = np.arange(slots + 1)
    allowed = _at_least(asked, slots, agree) >= 1.0 - lost
    return int(asked[allowed].max(initial=0))


def _at_least(least: ArrayLike, slots: int, agree: ArrayLike) -> NDArray[np.float64]:
    """P(Binomial(slots, agree) >= least)."""
    least = np.asarray(least, dtype=np.float64)
    return np.where(least <= 0, 1.0, bdtrc(np.maximum(least - 1.0, 0.0), slots, agree))


def fewest_bands(agree: float, rows: int, goal: float) -> float:
    """How many bands find a pair so often, if its slots agree with some probability.

    A whole number but for infinity, where a band never agrees.
    """
    band = agree**rows
    if band >= 1.0:
        return 1.0
    return math.inf if band == 0.0 else float(np.ceil(math.log1p(-goal) / math.log1p(-band)))


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
    goal = min(1 - 1e-12, recall / (1 - SKETCH_LOSS))
    for rows in range(1, min(room, _MOST_ROWS) + 1):
        bands = fewest_bands(agree, rows, goal)
        if bands * rows > room or bands > (most_bands or room):
            break  # longer bands must be more
        plans.append(BandPlan(n_components, bits, threshold, int(bands), rows))
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
