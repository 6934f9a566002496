"""Similar rows: exact, by bands of codes, or by a graph of codes; always verified exactly.

`deduplicate` says which rows stay when near-duplicates go.
"""

from __future__ import annotations

from kernelight.neighbors.band_keys import band_keys, short_band_keys
from kernelight.neighbors.band_plan import BandPlan
from kernelight.neighbors.banded import BandSearch
from kernelight.neighbors.deduplicate import deduplicate
from kernelight.neighbors.duplicates import Duplicates, Matches
from kernelight.neighbors.exact_rows import ExactRows
from kernelight.neighbors.index import Index
from kernelight.neighbors.minmax_neighbors import MinMaxNeighbors
from kernelight.neighbors.pairs import NeighborPairs
from kernelight.neighbors.plan import NeighborPlan
from kernelight.neighbors.scan import equal_slots, scan_codes

__all__ = [
    "BandPlan",
    "BandSearch",
    "Duplicates",
    "ExactRows",
    "Index",
    "Matches",
    "MinMaxNeighbors",
    "NeighborPairs",
    "NeighborPlan",
    "band_keys",
    "deduplicate",
    "equal_slots",
    "scan_codes",
    "short_band_keys",
]
