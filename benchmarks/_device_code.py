"""C code of a model as `tools/microcontrollers` measures it, for the benchmark of devices."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from tools.microcontrollers import ARM, DEVICES, QEMU, Code, Measured, measured, on_host, run  # noqa: E402

__all__ = ["ARM", "DEVICES", "QEMU", "Code", "Measured", "measured", "on_host", "run", "table"]


def table(ctype: str, name: str, numbers: np.ndarray[Any, Any]) -> str:
    """A constant table."""
    values = ",".join(map(str, numbers.ravel().tolist()))
    return f"static const {ctype} {name}[{numbers.size}] = {{{values}}};\n"
