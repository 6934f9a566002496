"""The bands and the sketch of an index, which its manifest holds; `band_plan` has the theory.

They serve every threshold from that of the index on, so that the sketch asks for more where more is
asked of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelight.neighbors.band_plan import fewest_bands, found_probability, least_equal
from kernelight.theory import bbit_collision
from kernelight.theory.inputs import kernel_values

SKETCH = 64  # slots, at most a quarter of all
_MOST_ROWS = 32  # of a band: rows that agree in more by chance are rarer than equal keys
_FEW = 8  # bands that are allowed whatever codes take
_LOST = 0.001  # of the pairs at the threshold, by the sketch


class IndexPlan(NamedTuple):
    """Bands, rows in each, slots of the sketch, and the goal that they were chosen for.

    ``bits`` is None where slots agree with the probability of the similarity itself; otherwise that
    of `theory.bbit_collision`.
    """

    threshold: float
    recall: float
    n_components: int
    bits: int | None
    bands: int
    rows: int
    sketch: int

    def checked(self) -> IndexPlan:
        """This plan, if it can be; it may come from a file."""
        counts = (self.n_components, self.bands, self.rows)
        numbers = (self.threshold, self.recall)
        if (
            not all(type(count) is int and count > 0 for count in counts)
            or type(self.sketch) is not int
            or not 0 <= self.sketch < self.n_components
            or self.bands * self.rows > self.n_components - self.sketch
            or not (self.bits is None or (type(self.bits) is int and 1 <= self.bits <= 16))
            or not all(type(number) is float and 0.0 < number <= 1.0 for number in numbers)
        ):
            raise ValueError("it has an impossible plan of bands")
        return self

    def slot_probability(self, similarity: ArrayLike) -> NDArray[np.float64]:
        """How often slots of rows of this similarity agree."""
        similarity = np.asarray(similarity, dtype=np.float64)
        return (
            similarity if self.bits is None else np.asarray(bbit_collision(similarity, self.bits))
        )

    def least(self, threshold: float) -> int:
        """How many slots of the sketch must agree, so that few pairs at the threshold are lost."""
        return least_equal(self.sketch, float(self.slot_probability(threshold)), self.lost)

    @property
    def lost(self) -> float:
        """The fraction of pairs at the threshold that the sketch may lose."""
        return min(_LOST, (1.0 - self.recall) / 10.0)

    def expected_recall(
        self, similarity: ArrayLike, threshold: float | None = None
    ) -> NDArray[np.float64]:
        """The probability that rows of this similarity are found, over seeds of the map."""
        agree = self.slot_probability(kernel_values(similarity, "similarity"))
        least = self.least(self.threshold if threshold is None else threshold)
        return found_probability(agree, self.bands, self.rows, self.sketch, least)


def plan_bands(
    n_components: int, bits: int | None, slot_bytes: int, threshold: float, recall: float
) -> IndexPlan:
    """Bands for codes of ``n_components`` slots of ``slot_bytes`` bytes.

    A band takes 8 bytes a row. Of the bands that have the recall, and take at most half of what
    codes take, those of most rows are taken: they have the fewest false candidates. Where there are
    none, the fewest bands that have the recall are taken.

    >>> from kernelight.neighbors.index.plan import plan_bands
    >>> plan = plan_bands(256, 8, 1, threshold=0.8, recall=0.95)
    >>> plan.bands, plan.rows, plan.sketch, plan.least(0.8)
    (13, 7, 64, 41)
    >>> float(plan.expected_recall(0.8).round(3))
    0.953
    """
    sketch = min(SKETCH, n_components // 4)
    slots = n_components - sketch
    most = max(_FEW, n_components * slot_bytes // 16)
    empty = IndexPlan(threshold, recall, n_components, bits, 1, 1, sketch)
    goal = recall / (1.0 - empty.lost)
    s = float(empty.slot_probability(threshold))
    plans = []
    for rows in range(1, min(_MOST_ROWS, slots) + 1):
        bands = fewest_bands(s, rows, goal)
        if bands * rows <= slots:
            plans.append(empty._replace(bands=int(bands), rows=rows))
    small = [plan for plan in plans if plan.bands <= most]
    if small:
        return max(small, key=lambda plan: plan.rows)
    if plans:
        return min(plans, key=lambda plan: plan.bands)
    raise ValueError(
        f"Codes of {n_components} slots cannot find pairs of similarity {threshold:g} with recall "
        f"{recall:g}: use more components, or ask for less."
    )
