"""Data sets of the papers, from a folder that the user names; none of them is in the repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np


def arrays(name: str) -> Any | None:
    """The arrays of ``name``.npz in the folder KERNELIGHT_DATA, None if there is no such file.

    In that case a line is printed that says so.
    """
    folder = os.environ.get("KERNELIGHT_DATA")
    path = Path(folder or ".") / f"{name}.npz"
    if folder is not None and path.is_file():
        return np.load(path)
    where = "KERNELIGHT_DATA names no folder" if folder is None else f"{path} is missing"
    print(f"{name} is left out: {where}.", flush=True)
    return None
