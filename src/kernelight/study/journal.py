"""Finished cells in a file, one JSON text a line, so that a study can be carried on after it was cut off.

The first line says what the study is of. A line that was cut off in the middle is not a cell, and is overwritten.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

MAGIC = "kernelight-study"


def fingerprint(X: Any, y: Any, settings: dict[str, Any]) -> str:
    """A digest of the rows, the targets and the settings that decide what a cell is."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    for array in (*parts, y):
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class Journal:
    """Cells by their key; without a path they are only remembered."""

    def __init__(self, path: str | Path | None, mark: str) -> None:
        self._path = None if path is None else Path(path)
        self._cells: dict[str, dict[str, Any]] = {}
        if self._path is None:
            return
        if self._path.exists() and self._path.stat().st_size:
            self._read(mark)
        else:
            self._append({"kind": MAGIC, "of": mark})

    def __len__(self) -> int:
        return len(self._cells)

    def get(self, key: str) -> dict[str, Any] | None:
        """The cell of that key, if it is finished."""
        return self._cells.get(key)

    def add(self, key: str, cell: dict[str, Any]) -> None:
        """Remember a finished cell."""
        self._cells[key] = cell
        if self._path is not None:
            self._append({"key": key, "cell": cell})

    def _read(self, mark: str) -> None:
        assert self._path is not None
        text = self._path.read_bytes()
        whole, _, rest = text.rpartition(b"\n")
        lines = whole.split(b"\n")
        try:
            head = json.loads(lines[0])
        except ValueError:
            head = None
        if not isinstance(head, dict) or head.get("kind") != MAGIC:
            raise ValueError(f"{self._path} is not the journal of a study: give another file to resume from.")
        if head["of"] != mark:
            raise ValueError(
                f"{self._path} belongs to a study of other data or other settings: remove it, or give another file."
            )
        for line in lines[1:]:
            entry = json.loads(line)
            self._cells[entry["key"]] = entry["cell"]
        if rest:
            with self._path.open("r+b") as file:
                file.truncate(len(whole) + 1)

    def _append(self, entry: dict[str, Any]) -> None:
        assert self._path is not None
        with self._path.open("ab") as file:
            file.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
