"""What an exported model takes on a device."""

from __future__ import annotations

from dataclasses import dataclass

from kernelight.base import counted


@dataclass(frozen=True)
class ExportReport:
    """What an export takes on the device, and how it did on the check rows.

    ``flash`` has the bytes of each table, and of the code about what gcc -Os makes for a Cortex-M3,
    functions of libgcc included; ``ram`` is the stack in bytes, about. ``str`` of the report is a
    table.

    Parameters
    ----------
    flash : dict
        Bytes of each table and of the code.
    ram : int
        Bytes of stack, about.
    n_rows : int
        How many rows were checked.
    n_different : int
        How many of them are predicted otherwise than in Python.

    See Also
    --------
    to_c : Its result has one.

    Examples
    --------
    >>> from kernelight.export import ExportReport
    >>> print(ExportReport({"planes": 256, "code": 750}, 400, 100, 0))
    flash, bytes
      planes          256
      code (about)    750
      in all        1,006
    stack, bytes      400
    0 of 100 check rows are predicted otherwise than in Python.
    """

    flash: dict[str, int]
    ram: int
    n_rows: int
    n_different: int

    @property
    def total(self) -> int:
        """Bytes of flash in all."""
        return sum(self.flash.values())

    def __str__(self) -> str:
        rows = [
            (f"  {name}{' (about)' if name == 'code' else ''}", f"{size:,}")
            for name, size in self.flash.items()
        ]
        rows += [("  in all", f"{self.total:,}"), ("stack, bytes", f"{self.ram:,}")]
        names, sizes = (max(len(row[side]) for row in rows) for side in (0, 1))
        lines = [f"{name:<{names}}  {size:>{sizes}}" for name, size in rows]
        verb = "is" if self.n_different == 1 else "are"
        last = (
            f"{self.n_different:,} of {counted(self.n_rows, 'check row')} {verb} predicted "
            "otherwise than in Python."
        )
        return "\n".join(["flash, bytes", *lines, last])
