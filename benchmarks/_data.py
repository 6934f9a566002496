"""Data sets of the papers, from a folder that the user names; none of them is in the repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Split(NamedTuple):
    """Rows to learn from and rows to score on."""

    X: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]
    X_test: np.ndarray[Any, Any]
    y_test: np.ndarray[Any, Any]


def arrays(name: str) -> Any | None:
    """The arrays of ``name``.npz in the folder KERNELIGHT_DATA or in its folder tables/.

    If there is no such file, a line says so, and None is returned.
    """
    folder = os.environ.get("KERNELIGHT_DATA")
    path = Path(folder or ".") / f"{name}.npz"
    for each in (path, path.parent / "tables" / path.name):
        if folder is not None and each.is_file():
            return np.load(each)
    where = "KERNELIGHT_DATA names no folder" if folder is None else f"{path} is missing"
    print(f"{name} is left out: {where}.", flush=True)
    return None
