"""What many rows cost on Spark: a table, from the constants that were measured.

    python benchmarks/_cluster_sizing.py

prints it from cluster_constants.json, which `cluster.run` leaves behind. All of it is linear in the
rows; each constant is for a million of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).resolve().parent / "cluster_constants.json"
SIZES = {"10^9": 1e9, "10^11": 1e11}
HOUR, GIB, MILLION = 3600.0, float(1 << 30), 1e6
BLOCK_GIB = 8.0  # of a worker, for the number of blocks
MEASURED: dict[str, float] = {}  # what a run has measured so far
UNITS = ("B", "KB", "MB", "GB", "TB", "PB")


def table(measured: dict[str, float]) -> str:
    """The rows of the table, in Markdown."""
    lines = [f"| | {' | '.join(f'{name} rows' for name in SIZES)} |", "|---|" + "---|" * len(SIZES)]
    lines += [f"| {' | '.join(cells)} |" for cells in _cells(measured)]
    return "\n".join(lines) + "\n"


def _cells(measured: dict[str, float]) -> Iterator[tuple[str, ...]]:
    def hours(seconds: float) -> list[str]:
        return [f"{_short(seconds * n / MILLION / HOUR)} core-hours" for n in SIZES.values()]

    def stored(each: float) -> list[str]:
        return [_bytes(each * n) for n in SIZES.values()]

    rounds = int(measured["rounds"])
    yield ("`score`, k = 512: CPU", *hours(measured["score"]))
    yield ("`encode`, k = 256: CPU", *hours(measured["encode"]))
    yield ("`encode`, k = 256: codes", *stored(measured["code_bytes"]))
    learning = measured["blocks"] + rounds * measured["round"]
    yield (f"`fit`, k = 256, {rounds} rounds: CPU", *hours(learning))
    yield ("`fit`: shuffled once, and kept", *stored(measured["block_bytes"]))
    yield ("`fit`: duals written in a round", *stored(measured["dual_bytes"]))
    needed = [measured["worker_bytes"] * n / (BLOCK_GIB * GIB) for n in SIZES.values()]
    blocks = [f"{max(1, round(count)):,}" for count in needed]
    yield (f"`fit`: blocks of {BLOCK_GIB:g} GiB of a worker", *blocks)
    bands = int(measured["bands"])
    yield (f"`duplicates`, {bands} bands: CPU", *hours(measured["duplicates"]))
    yield ("`duplicates`: shuffled", *stored(measured["shuffled"]))


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _bytes(count: float) -> str:
    at = 0
    while count >= 1000 and at < len(UNITS) - 1:
        count, at = count / 1000, at + 1
    return f"{_short(count)} {UNITS[at]}"


if __name__ == "__main__":
    print(table(json.loads(FILE.read_text())))
