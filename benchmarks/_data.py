"""Data of the papers, from a folder of the user's: nothing of it is in the project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np


def arrays(name: str) -> Any | None:
    """The arrays of ``name``.npz in the folder KERNELIGHT_DATA; None, and a line that says so, if
    there is no such file."""
    folder = os.environ.get("KERNELIGHT_DATA")
    path = Path(folder or ".") / f"{name}.npz"
    if folder is not None and path.is_file():
        return np.load(path)
    where = "KERNELIGHT_DATA names no folder" if folder is None else f"{path} is missing"
    print(f"{name} is left out: {where}.", flush=True)
    return None
