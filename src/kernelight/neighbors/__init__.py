"""Near neighbours and duplicates by the min-max kernel."""

from kernelight.neighbors.deduplicate import deduplicate
from kernelight.neighbors.duplicates import Duplicates, Matches
from kernelight.neighbors.minmax_neighbors import MinMaxNeighbors, NeighborPairs

__all__ = ["Duplicates", "Matches", "MinMaxNeighbors", "NeighborPairs", "deduplicate"]
