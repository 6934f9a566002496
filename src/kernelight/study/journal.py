"""The journal: finished cells in a file, so that an interrupted study can be resumed.

Every line is a JSON object. The first has a digest of the data and the settings, each other a cell.
A last line that was cut off is overwritten.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelight.base import naming
from kernelight.study.cells import Cell

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
    """Finished cells by their key, in a file or, without a path, in memory."""

    def __init__(self, path: str | Path | None, digest: str) -> None:
        self._path = None if path is None else Path(path)
        self._cells: dict[str, Cell] = {}
        if self._path is None:
            return
        head = _line({"kind": MAGIC, "of": digest})
        with naming(self._path):
            text = self._path.read_bytes() if self._path.exists() else b""
        # A new file, or one whose first line was cut off when the process was killed.
        if len(text) < len(head) and head.startswith(text):
            with naming(self._path):
                self._path.write_bytes(head)
        else:
            self._read(text, digest)

    def __len__(self) -> int:
        return len(self._cells)

    def get(self, key: str) -> Cell | None:
        """The cell of that key, if it is finished."""
        return self._cells.get(key)

    def add(self, key: str, cell: Cell) -> None:
        """Keep a finished cell."""
        self._cells[key] = cell
        if self._path is not None:
            self._append({"key": key, "cell": cell.to_plain()})

    def _read(self, text: bytes, digest: str) -> None:
        assert self._path is not None
        whole, _, rest = text.rpartition(b"\n")
        lines = whole.split(b"\n")
        try:
            head = json.loads(lines[0])
        except ValueError:
            head = None
        if not isinstance(head, dict) or head.get("kind") != MAGIC:
            raise ValueError(
                f"{self._path} is not the journal of a study: give another file to resume from."
            )
        if head.get("of") != digest:
            raise ValueError(
                f"{self._path} belongs to a study of other data or other settings: remove it, or "
                f"give another file."
            )
        for number, line in enumerate(lines[1:], start=2):
            try:
                entry = json.loads(line)
                self._cells[entry["key"]] = Cell.from_plain(entry["cell"])
            except (ValueError, TypeError, KeyError) as error:
                raise ValueError(
                    f"{self._path}, line {number} is not a finished model of a study ({error}): "
                    "remove the line, or give another file."
                ) from error
        if rest:
            with naming(self._path), self._path.open("r+b") as file:
                file.truncate(len(whole) + 1)

    def _append(self, entry: dict[str, Any]) -> None:
        assert self._path is not None
        with naming(self._path), self._path.open("ab") as file:
            file.write(_line(entry))
            file.flush()
            os.fsync(file.fileno())


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False).encode() + b"\n"
