"""De-duplication of a file of a million sparse rows within 1 GB; and sorted runs against DuckDB.

Rows are those of set C of `_search_data`, a fifth of them near-duplicates of others. The command
reads them as LIBSVM text, on one thread. Time must grow no faster than rows, and memory must stay
within the limit.

Of one band of as many keys, runs are sorted, written and merged as the command does it, and by
DuckDB (if it is installed), whose sort spills to disk within the same memory.

    python benchmarks/dedup.py [rows ...]
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import numpy as np
from _measure import Row, show
from _search_data import synthetic

from kernelight.tables.sorted_runs import SortedRuns

ROWS = (100_000, 1_000_000)
LIMIT = "1G"
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
    """Synthetic rows as LIBSVM text."""
    X = synthetic(n)
    bounds = X.indptr.tolist()
    with path.open("w") as file:
        for start, stop in itertools.pairwise(bounds):
            columns, values = X.indices[start:stop] + 1, X.data[start:stop]
            cells = zip(columns.tolist(), values.tolist(), strict=True)
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
