"""De-duplication of a file of a million sparse rows within 1 GB; and sorted runs against DuckDB.

Rows have 60 nonzeros of 100,000 columns, drawn by a law of Zipf; a fifth are copies of others with
a part of their values changed, similar to them by 0.3 to 1. The command reads them as LIBSVM text,
on one thread. Time must grow no faster than rows, and memory must stay within the limit.

Of one band of as many keys, runs are sorted, written and merged as the command does it, and by
DuckDB (if it is installed), whose sort spills to disk within the same memory.

    python benchmarks/dedup.py [rows ...]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import numpy as np
from _measure import Row, show

from kernelight.tables.sorted_runs import SortedRuns

ROWS = (100_000, 1_000_000)
NONZEROS, COLUMNS, LIMIT = 60, 100_000, "1G"
BATCH = 1 << 16
PROGRAM = """
import sys, time
from kernelight.cli.app import main
start = time.process_time()
try:
    main()
finally:
    with open("/proc/self/status") as status:
        peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    print(time.process_time() - start, int(peak) / 1024, file=sys.stderr)
"""


def write_rows(path: Path, n: int) -> None:
    """The rows as LIBSVM text."""
    random = np.random.default_rng(7)
    chances = np.cumsum(1 / np.arange(1, COLUMNS + 1) ** 0.9)
    chances /= chances[-1]

    def columns(count: int) -> np.ndarray:
        drawn = np.searchsorted(chances, random.random(count))
        return np.minimum(drawn, COLUMNS - 1).astype(np.int32)

    own = int(0.8 * n)
    at = np.empty((n, NONZEROS), np.int32)
    values = np.empty((n, NONZEROS), np.float32)
    at[:own] = columns(own * NONZEROS).reshape(own, NONZEROS)
    values[:own] = random.lognormal(0, 1, (own, NONZEROS))
    source = random.integers(0, own, n - own)
    similar = random.uniform(0.3, 1, n - own)
    at[own:], values[own:] = at[source], values[source]
    other = random.random((n - own, NONZEROS)) > (2 * similar / (1 + similar))[:, None]
    at[own:][other] = columns(int(other.sum()))
    values[own:][other] = random.lognormal(0, 1, int(other.sum()))
    with path.open("w") as file:
        for row in range(n):
            names, places = np.unique(at[row], return_inverse=True)
            sums = np.bincount(places.reshape(-1), values[row])
            cells = zip((names + 1).tolist(), sums.tolist(), strict=True)
            file.write("0 " + " ".join(f"{c}:{v:.5g}" for c, v in cells) + "\n")


def deduplicated(path: Path) -> tuple[float, float]:
    """Processor seconds and peak megabytes of the command."""
    options = ["-o", f"{path}.clean.svm", "--memory", LIMIT, "--jobs", "1", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "dedup", str(path), *options],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, megabytes = done.stderr.split()[-2:]
    return float(seconds), float(megabytes)


def merged_by_runs(keys: np.ndarray, folder: str) -> float:
    """Seconds to sort batches into runs on disk and to merge them."""
    start = time.perf_counter()
    runs = SortedRuns(os.path.join(folder, "runs"))
    for begin in range(0, len(keys), BATCH):
        run = (keys[begin : begin + BATCH] << np.uint64(32)) | np.arange(
            begin, min(begin + BATCH, len(keys)), dtype=np.uint64
        )
        run.sort()
        runs.append(run)
    total = sum(int(part[-1] & np.uint64(1)) + len(part) for part in runs.parts(1 << 21))
    assert total >= len(keys)
    runs.close()
    return time.perf_counter() - start


def merged_by_duckdb(keys: np.ndarray, folder: str) -> float | None:
    """Seconds of DuckDB's sort of the same keys; None without DuckDB."""
    try:
        duckdb = import_module("duckdb")
    except ImportError:
        return None
    start = time.perf_counter()
    base = duckdb.connect(os.path.join(folder, "sort.duckdb"))
    base.execute(
        "SET threads = 1; SET memory_limit = '256MB'; SET preserve_insertion_order = false"
    )
    base.execute("CREATE TABLE entries (key UINTEGER, row UINTEGER)")
    for begin in range(0, len(keys), BATCH):
        some = keys[begin : begin + BATCH].astype(np.uint32)
        batch = {"key": some, "row": np.arange(begin, begin + len(some), dtype=np.uint32)}
        base.execute("INSERT INTO entries SELECT * FROM batch")
        del batch
    reader = base.execute("SELECT key, row FROM entries ORDER BY key, row")
    assert len(reader.fetchnumpy()["key"]) == len(keys)
    base.close()
    return time.perf_counter() - start


def run(rows: tuple[int, ...] = ROWS) -> list[Row]:
    """Memory and growth of the command, and both sorts."""
    found: list[Row] = []
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for n in rows:
            path = Path(folder) / f"rows{n}.svm"
            write_rows(path, n)
            seconds, megabytes = deduplicated(path)
            times.append(seconds / n)
            path.unlink()
            claim = f"dedup of {n:,} sparse rows: {seconds:.0f} s, {megabytes:.0f} MB at most"
            found.append(_row(claim, f"--memory {LIMIT}", "<= 1 x", megabytes / 1024, most=1.0))
        if len(times) > 1:
            growth = times[-1] / times[0]
            claim = f"seconds a row of {rows[-1]:,} rows"
            found.append(_row(claim, f"of {rows[0]:,} rows", "<= 1.1 x", growth, most=1.1))
        keys = np.random.default_rng(0).integers(0, 1 << 32, 10_000_000, dtype=np.uint64)
        ours, theirs = merged_by_runs(keys, folder), merged_by_duckdb(keys, folder)
        if theirs is not None:
            claim = f"10,000,000 keys sorted in runs on disk and merged: {ours:.1f} s"
            found.append(_row(claim, "DuckDB's sort", ">= 1 x", theirs / ours, least=1.0))
    return found


def _row(
    claim: str, peer: str, bar: str, measured: float, most: float = np.inf, least: float = 0.0
) -> Row:
    holds = bool(least <= measured <= most)
    return {"claim": claim, "peer": peer, "bar": bar, "measured": measured, "holds": holds}


if __name__ == "__main__":
    show(run(tuple(map(int, sys.argv[1:])) or ROWS))
