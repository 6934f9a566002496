"""What is left of the plan: cells and hours, by what finished cells took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from papers._cells import Cell, Store


def estimate(planned: Mapping[str, Sequence[Cell]], store: Store) -> str:
    """A line for each script: cells that are left, and their hours of one core.

    A cell is expected to take its weight, times what finished cells of its family took for theirs;
    families without any take one second for a weight of one. A cell of several scripts counts
    for the first.
    """
    factors = _factors([cell for cells in planned.values() for cell in cells], store)
    seen: set[Cell] = set()
    lines, all_cells, all_hours = [], 0, 0.0
    for name, cells in planned.items():
        left = [cell for cell in dict.fromkeys(cells) if cell not in store and cell not in seen]
        seen.update(left)
        hours = sum(cell.weight * factors.get(cell.family, 1.0) for cell in left) / 3600
        lines.append(f"{name:16} {len(left):6,} cells {hours:8.1f} h")
        all_cells, all_hours = all_cells + len(left), all_hours + hours
    return "\n".join([*lines, f"{'all':16} {all_cells:6,} cells {all_hours:8.1f} h of one core"])


def _factors(cells: Sequence[Cell], store: Store) -> dict[str, float]:
    """Seconds for a weight of one, for each family of which cells are finished."""
    taken: defaultdict[str, float] = defaultdict(float)
    weights: defaultdict[str, float] = defaultdict(float)
    for cell in dict.fromkeys(cells):
        seconds = store.seconds(cell)
        if seconds is not None:
            taken[cell.family] += seconds
            weights[cell.family] += cell.weight
    return {family: taken[family] / weights[family] for family in taken}
