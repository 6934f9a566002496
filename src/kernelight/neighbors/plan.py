"""What a search does, why, and what to expect of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelight.neighbors.band_plan import BandPlan
from kernelight.theory.inputs import kernel_values


@dataclass(frozen=True)
class NeighborPlan:
    """How neighbours are found.

    Attributes
    ----------
    method : str
        "exact", "bands", "graph" or "scan".
    reason : str
        Why this one.
    recall : float
        The expected recall: 1 if exact; at the threshold for bands, from theory; of the n_neighbors
        nearest for graphs and scans, measured on fitted rows.
    seconds : dict
        The time foreseen for each method that was priced, on one thread of a common machine.
    bands : BandPlan or None
        The bands, where there are any.
    candidates, expansion : int
        How many candidates a graph or a scan gives for each query, and how widely it searches.

    See Also
    --------
    MinMaxNeighbors : Its attribute ``plan_``.
    BandPlan : The bands of a plan.

    Examples
    --------
    >>> from kernelight.neighbors import MinMaxNeighbors
    >>> plan = MinMaxNeighbors(n_neighbors=1).fit([[1, 2], [1, 2], [4, 0]]).plan_
    >>> plan.method, plan.recall
    ('exact', 1.0)
    """

    method: str
    reason: str
    recall: float
    seconds: dict[str, float] = field(default_factory=dict)
    bands: BandPlan | None = None
    candidates: int = 0
    expansion: int = 0

    def expected_recall(self, similarity: ArrayLike) -> NDArray[np.float64]:
        """The probability that a pair of this similarity is found."""
        values = kernel_values(similarity, "similarity")
        if self.bands is not None:
            return self.bands.expected_recall(values)
        return np.full(values.shape, self.recall)

    def __str__(self) -> str:
        costs = ", ".join(f"{name} {value:.2g} s" for name, value in self.seconds.items())
        priced = f" Foreseen: {costs}." if costs else ""
        return f"{self.method}: {self.reason} Expected recall {self.recall:.3f}.{priced}"
