"""Cells: the single computations, whose results are kept in a file.

A cell is a kind of computation and its parameters, nothing else; its result is plain data. Results
are lines of JSON in one file, each written by a single append: a run that is killed loses only the
cell it was computing. A kind has a version, which is part of the key: raise it when the computation
changes, and its cells are computed again. Results of earlier runs are in the repository, see
`_kept`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from papers._kept import Entry, key_of, read_kept, rounded, write_kept

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


def kinds() -> list[str]:
    """The names of all kinds."""
    return sorted(_KINDS)


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
    def kind(self) -> str:
        """The name of its kind."""
        name: str = json.loads(self.key)[0]
        return name

    @property
    def dataset(self) -> str | None:
        """The data set it belongs to, None for simulations."""
        return dataset_of(self.key)

    @property
    def family(self) -> str:
        """Its kind and method: cells that take about as long for their weight."""
        name, _version, params = json.loads(self.key)
        return " ".join([name, *(params[at] for at in ("method", "kernel") if at in params)])

    def compute(self) -> Result:
        """Compute the result, whatever is stored."""
        name, _version, params = json.loads(self.key)
        return _KINDS[name].compute(**params)


def cell(
    kind_name: str, *, stage: int = 0, weight: float = 1.0, timed: bool = False, **params: Any
) -> Cell:
    """The cell of a kind with these parameters, which must be plain data."""
    key = key_of(kind_name, _KINDS[kind_name].version, params)
    label = " ".join([kind_name, *(str(value) for value in params.values() if _short(value))])
    return Cell(key, label, stage, weight, timed)


def dataset_of(key: str) -> str | None:
    """The data set that a key names, None for simulations."""
    name: str | None = json.loads(key)[2].get("dataset")
    return name


def is_current(key: str) -> bool:
    """Is this the present version of its kind?"""
    name, version, _params = json.loads(key)
    return name in _KINDS and _KINDS[name].version == version


def _short(value: Any) -> bool:
    return value is not None and not isinstance(value, list | dict)


class Store:
    """Finished cells in a file, and those that the repository keeps in the folder ``kept``.

    A line that was cut off by a kill is ignored, and the next one begins on a line of its own.
    """

    def __init__(self, path: Path, kept: Path | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.kept = path, kept
        self._entries: dict[str, Entry] = read_kept(kept) if kept else {}
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        self._torn = bool(lines) and not lines[-1].endswith(b"\n")
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                self._entries[entry["key"]] = Entry(entry["result"], entry.get("seconds"))

    def __contains__(self, wanted: Cell) -> bool:
        return wanted.key in self._entries

    def get(self, wanted: Cell) -> Result | None:
        """The result, None if it is not computed yet."""
        entry = self._entries.get(wanted.key)
        return None if entry is None else entry.result

    def seconds(self, done: Cell) -> float | None:
        """The processor seconds it took, None if they were not measured."""
        entry = self._entries.get(done.key)
        return None if entry is None else entry.seconds

    def put(self, done: Cell, result: Result, seconds: float | None = None) -> None:
        """Keep a result, in the file before in memory."""
        entry = Entry(rounded(result), None if seconds is None else round(seconds, 2))
        fields = {"key": done.key, "result": entry.result, "seconds": entry.seconds}
        line = "\n" * self._torn + json.dumps(fields) + "\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, line.encode())
            os.fsync(handle)
        finally:
            os.close(handle)
        self._torn = False
        self._entries[done.key] = entry

    def keep(self, wanted: Callable[[str], bool]) -> None:
        """Write the wanted cells into the repository; what it kept of others is dropped.

        Cells of an older version are never wanted.
        """

        def current(key: str) -> bool:
            return is_current(key) and wanted(key)

        if self.kept is not None:
            before, after = write_kept(self.kept, self._entries, current)
            print(f"{self.kept} keeps {after:,} cells; it had {before:,}.")
