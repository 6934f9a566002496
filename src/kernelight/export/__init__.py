"""Models out of Python: `to_c` writes one C header that predicts on a microcontroller."""

from __future__ import annotations

from kernelight.export.c_export import CExport, to_c
from kernelight.export.report import ExportReport

__all__ = ["CExport", "ExportReport", "to_c"]
