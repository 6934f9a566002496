"""Cells: the single computations, whose results are kept in a file.

A cell is a kind of computation and its parameters, nothing else; its result is plain data. Results
are lines of JSON in one file, each written by a single append: a run that is killed loses only the
cell it was computing. A kind has a version, which is part of the key: raise it when the computation
changes, and its cells are computed again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Result = dict[str, Any]


@dataclass(frozen=True)
class _Kind:
    compute: Callable[..., Result]
    version: int


_KINDS: dict[str, _Kind] = {}


def kind(name: str, version: int) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Register a function of keywords as a kind of cell."""

    def register(compute: Callable[..., Result]) -> Callable[..., Result]:
        _KINDS[name] = _Kind(compute, version)
        return compute

    return register


@dataclass(frozen=True)
class Cell:
    """One computation.

    ``stage`` and ``weight`` (about its seconds) order the work and estimate its end. No other cell
    runs beside one that is ``timed``.
    """

    key: str
    label: str = field(compare=False)
    stage: int = field(compare=False, default=0)
    weight: float = field(compare=False, default=1.0)
    timed: bool = field(compare=False, default=False)

    @property
    def dataset(self) -> str | None:
        """The data set it belongs to, None for simulations."""
        name: str | None = json.loads(self.key)[2].get("dataset")
        return name

    def compute(self) -> Result:
        """Compute the result, whatever is stored."""
        name, _version, params = json.loads(self.key)
        return _KINDS[name].compute(**params)


def cell(
    kind_name: str, *, stage: int = 0, weight: float = 1.0, timed: bool = False, **params: Any
) -> Cell:
    """The cell of a kind with these parameters, which must be plain data."""
    key = json.dumps([kind_name, _KINDS[kind_name].version, params], sort_keys=True)
    label = " ".join([kind_name, *(str(value) for value in params.values() if _short(value))])
    return Cell(key, label, stage, weight, timed)


def _short(value: Any) -> bool:
    return value is not None and not isinstance(value, list | dict)


class Store:
    """Finished cells in a file.

    A line that was cut off by a kill is ignored, and the next one begins on a line of its own.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._results: dict[str, Result] = {}
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        self._torn = bool(lines) and not lines[-1].endswith(b"\n")
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                self._results[entry["key"]] = entry["result"]

    def __contains__(self, wanted: Cell) -> bool:
        return wanted.key in self._results

    def get(self, wanted: Cell) -> Result | None:
        """The result, None if it is not computed yet."""
        return self._results.get(wanted.key)

    def put(self, done: Cell, result: Result) -> None:
        """Keep a result, in the file before in memory."""
        line = "\n" * self._torn + json.dumps({"key": done.key, "result": result}) + "\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, line.encode())
            os.fsync(handle)
        finally:
            os.close(handle)
        self._torn = False
        self._results[done.key] = result
