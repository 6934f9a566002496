"""Finished cells in the repository, so that a fresh clone goes on where others were.

``papers/cells`` has a file for each kind and in it a line for each cell, in the order of their
keys: a change of one cell is a change of one line. When two branches have added cells, Git takes
the lines of both (.gitattributes). They may then be out of order, or name a cell twice, of which
the later line counts; the next writing sorts them.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelight.data import replacing

DIGITS = 6  # of the floats of a result; the page shows fewer


@dataclass(frozen=True)
class Entry:
    """A result, and the processor seconds it took (None where they were not measured)."""

    result: dict[str, Any]
    seconds: float | None = None


def key_of(kind: str, version: int, params: Mapping[str, Any]) -> str:
    """The key of a cell: the same text for equal parameters."""
    return json.dumps([kind, version, params], sort_keys=True)


def rounded(value: Any) -> Any:
    """Plain data with DIGITS digits, so that a stored result is that of the run that made it."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list | tuple) else value


def read_kept(folder: Path) -> dict[str, Entry]:
    """The entries of all files of the folder by their keys, of whatever version."""
    entries: dict[str, Entry] = {}
    for path in sorted(folder.glob("*.jsonl")):
        unread = 0
        for line in path.read_text().splitlines():
            try:
                key, entry = _entry(line)
            except (ValueError, KeyError, TypeError):
                unread += 1
            else:
                entries[key] = entry
        if unread:
            print(
                f"{path}: {unread} lines are no cells and are left out (of a merge that was not "
                "finished?).",
                file=sys.stderr,
            )
    return entries


def write_kept(
    folder: Path, entries: Mapping[str, Entry], wanted: Callable[[str], bool]
) -> tuple[int, int]:
    """Write the wanted entries and those that are kept already; both numbers of cells.

    What is not wanted, such as the cells of an older version, is dropped. Each file is replaced as
    a whole, and left alone if nothing in it changes.
    """
    before = read_kept(folder)
    after = {key: entry for key, entry in (before | dict(entries)).items() if wanted(key)}
    files: defaultdict[Path, list[str]] = defaultdict(list)
    for key in sorted(after):
        name = re.sub(r"[^a-z0-9]+", "-", json.loads(key)[0].lower())
        files[folder / f"{name}.jsonl"].append(_line(key, after[key]) + "\n")
    folder.mkdir(parents=True, exist_ok=True)
    for path, lines in files.items():
        text = "".join(lines).encode()
        if not path.exists() or path.read_bytes() != text:
            with replacing(path) as file:
                file.write(text)
    for path in set(folder.glob("*.jsonl")) - set(files):
        path.unlink()
    return len(before), len(after)


def _line(key: str, entry: Entry) -> str:
    """What a result repeats of its parameters is named only."""
    kind, version, params = json.loads(key)
    result = entry.result
    repeats = [name for name in result if name in params and rounded(params[name]) == result[name]]
    fields = {
        "kind": kind,
        "version": version,
        "params": params,
        "result": {name: value for name, value in result.items() if name not in repeats},
        "repeats": repeats,
        "seconds": entry.seconds,
    }
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


def _entry(line: str) -> tuple[str, Entry]:
    fields = json.loads(line)
    params = fields["params"]
    result = {name: rounded(params[name]) for name in fields["repeats"]} | fields["result"]
    return key_of(fields["kind"], fields["version"], params), Entry(result, fields["seconds"])
