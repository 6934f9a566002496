"""Models out of Python: `to_c` writes C for microcontrollers, `to_onnx` graphs for servers."""

from __future__ import annotations

from kernelight.export import skl2onnx
from kernelight.export.c_export import CExport, to_c
from kernelight.export.onnx.to_onnx import run_onnx, to_onnx
from kernelight.export.report import ExportReport

__all__ = ["CExport", "ExportReport", "run_onnx", "skl2onnx", "to_c", "to_onnx"]
