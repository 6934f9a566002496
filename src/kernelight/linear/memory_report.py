"""The memory of a small model, in bytes, part by part."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MemoryReport:
    """Bytes of the parts of a model, and of the projections of the map that makes its codes.

    Projections are either stored, or regenerated from the seed. ``alternatives`` are other forms of
    a part and count in no total. ``str`` of the report is a table.

    >>> from kernelight.linear.memory_report import MemoryReport
    >>> report = MemoryReport({"coefficients": 64}, {"directions": 1024}, {"seed": 8})
    >>> report.total, report.total_stored, report.total_regenerated
    (64, 1088, 72)
    """

    model: dict[str, int]
    stored: dict[str, int] | None = None
    regenerated: dict[str, int] | None = None
    alternatives: dict[str, int] | None = None

    @property
    def total(self) -> int:
        """Bytes of the model alone."""
        return sum(self.model.values())

    @property
    def total_stored(self) -> int | None:
        """Bytes of the model and its stored projections; None if no map was given."""
        return None if self.stored is None else self.total + sum(self.stored.values())

    @property
    def total_regenerated(self) -> int | None:
        """Bytes of the model and of the seed of its projections; None if no map was given."""
        return None if self.regenerated is None else self.total + sum(self.regenerated.values())

    def __str__(self) -> str:
        rows = [("model", "")] + [(f"  {name}", f"{size:,}") for name, size in self.model.items()]
        rows += [(f"  ({name}", f"{size:,})") for name, size in (self.alternatives or {}).items()]
        rows.append(("model in all", f"{self.total:,}"))
        for title, parts, total in (
            ("projections stored", self.stored, self.total_stored),
            ("projections made again from the seed", self.regenerated, self.total_regenerated),
        ):
            if parts is not None:
                rows += [(title, "")] + [(f"  {name}", f"{size:,}") for name, size in parts.items()]
                rows.append(("with the model", f"{total:,}"))
        names, sizes = (max(len(row[side].rstrip(")")) for row in rows) for side in (0, 1))
        # A number in parentheses is one column wider, so that the digits line up.
        lines = (
            f"{name:<{names}}  {size:>{sizes + size.endswith(')')}}".rstrip() for name, size in rows
        )
        return "\n".join(["bytes", *lines])
