"""Similar rows: exact, by bands of codes, or by a graph of codes; always verified exactly."""

from __future__ import annotations

from kernelight.neighbors.band_keys import band_keys, short_band_keys
from kernelight.neighbors.band_plan import BandPlan
from kernelight.neighbors.banded import BandSearch
from kernelight.neighbors.exact_rows import ExactRows
from kernelight.neighbors.minmax_neighbors import MinMaxNeighbors
from kernelight.neighbors.pairs import NeighborPairs
from kernelight.neighbors.plan import NeighborPlan
from kernelight.neighbors.scan import equal_slots, scan_codes

__all__ = [
    "BandPlan",
    "BandSearch",
    "ExactRows",
    "MinMaxNeighbors",
    "NeighborPairs",
    "NeighborPlan",
    "band_keys",
    "equal_slots",
    "scan_codes",
    "short_band_keys",
]
