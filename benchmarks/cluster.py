"""Spark on one machine: CPU time of all processes against the command and against MLlib.

    KERNELIGHT_DATA=folder python benchmarks/cluster.py [--quick]

Rows are 1,000,000 of 50 normal features, in a Parquet file; results are written as Parquet. CPU
time is that of the JVM and of all Python processes, user and system, the least of three runs that
take turns. "The command" is `kernelight predict` or `encode` of the same file in a process of its
own; "nothing" is a ``mapInArrow`` over the same columns that gives back the id.
Duplicates have data of their own (`_cluster_duplicates`).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _cluster_duplicates import rows_of_duplicates
from _measure import Row, show
from _spark import CountedTicket, best_cpu, nothing, session

from kernelight import Codes, KernelClassifier, TableMap, TableModel, load
from kernelight.distributed import Ticket
from kernelight.distributed.spark import encode, score, scoring

ROWS, FEATURES, FILES = 1_000_000, 50, 4
TRAINED = 20_000
OVERHEAD = 1.2  # times the CPU time of a mapInArrow that does nothing
NAMES = [f"x{at}" for at in range(FEATURES)]
CUTS = [(1, 20_000), (5, 7_777), (64, 1)]  # partitions, rows of a batch


def run(quick: bool = False) -> list[Row]:
    """The rows of the table."""
    n_rows = ROWS // 20 if quick else ROWS
    with tempfile.TemporaryDirectory() as name, session() as spark:
        if spark is None:
            return []
        folder = Path(name)
        _write_rows(folder / "rows", n_rows)
        model = TableModel(KernelClassifier("gmm", n_components=512, p=1.0, C=1.0))
        model.fit(_labelled(TRAINED), target="y")
        model.save(folder / "model.kl")
        codes = TableMap("gmm", 256).fit(str(folder / "rows/0.parquet"), ids="id")
        codes.save(folder / "map.kl")
        results = _cpu(spark, folder, n_rows)
        results += _equal(spark, folder, min(n_rows, 100_000))
        results.append(_loads(spark, folder))
        return results + rows_of_duplicates(spark, folder, quick)


# -- Scoring and encoding


def _cpu(spark: Any, folder: Path, n_rows: int) -> list[Row]:
    """CPU time of scoring and encoding, against the command and an empty ``mapInArrow``."""
    df = spark.read.parquet(str(folder / "rows"))
    model, codes = load(folder / "model.kl"), load(folder / "map.kl")

    def write(frame: Any) -> None:
        frame.write.mode("overwrite").parquet(str(folder / "out"))

    whole = str(folder / "rows.parquet")
    pq.write_table(pq.read_table(folder / "rows"), whole)
    calls: dict[str, Callable[[], object]] = {
        "nothing": lambda: (
            df.select("id", *NAMES)
            .mapInArrow(nothing, "id long")
            .write.format("noop")
            .mode("overwrite")
            .save()
        ),
        "score": lambda: write(score(df, model, keep=["id"])),
        "encode": lambda: write(encode(df, codes, keep=["id"])),
        "predict": partial(
            _command, "predict", folder / "model.kl", whole, "-o", folder / "p.parquet"
        ),
        "encode here": partial(
            _command, "encode", whole, "--map", folder / "map.kl", "-o", folder / "c.parquet"
        ),
    }
    for each in ("nothing", "score", "encode"):  # what is compiled and loaded at the first call
        calls[each]()
    cpu = dict(zip(calls, best_cpu(3, *calls.values()), strict=True))
    print({name: round(seconds, 1) for name, seconds in cpu.items()}, flush=True)
    rows = []
    for name, local, what in (
        ("score", "predict", "scoring, k = 512"),
        ("encode", "encode here", "encoding, k = 256"),
    ):
        allowed = cpu[local] + OVERHEAD * cpu["nothing"]
        rows.append(
            {
                "claim": f"{what}: {n_rows:,} rows, {cpu[name]:.1f} CPU s",
                "peer": f"the command, {cpu[local]:.1f} s, and nothing, {cpu['nothing']:.1f} s",
                "bar": f"at most the command and {OVERHEAD:g} times nothing",
                "measured": cpu[name] / allowed,
                "holds": cpu[name] <= allowed,
            }
        )
    return rows


def _command(*arguments: object) -> None:
    words = [*map(str, arguments), "--ids", "id", "--quiet"]
    subprocess.run([sys.executable, "-m", "kernelight", *words], check=True)


def _equal(spark: Any, folder: Path, n_rows: int) -> list[Row]:
    """Differences from one machine, whatever the partitions and the batches."""
    df = spark.read.parquet(str(folder / "rows")).where(f"id < {n_rows}")
    model, codes = load(folder / "model.kl"), load(folder / "map.kl")
    local = pq.read_table(folder / "rows", filters=[("id", "<", n_rows)]).sort_by("id")
    said = model.predict_arrow(local, scores=True)
    expected = codes.encode_arrow(local).array
    rows = []
    for partitions, size in CUTS:
        few = n_rows if size > 1 else min(n_rows, 2_000)  # a batch costs more than a row
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(size))
        cut = df.where(f"id < {few}").repartition(partitions)
        got = score(cut, model, scores=True, keep=["id"]).toArrow().sort_by("id")
        other = sum(
            int(not got[name].slice(0, few).combine_chunks().equals(said[name].slice(0, few)))
            for name in ("prediction", "scores")
        )
        back = encode(cut, codes, keep=["id"]).toArrow().sort_by("id")
        array = Codes.from_binary(back["codes"], provenance=codes.provenance).array
        other += int((array != expected[:few]).sum())
        rows.append(
            {
                "claim": f"codes, labels and scores of {few:,} rows, {partitions} partitions, "
                f"batches of {size:,}",
                "peer": "one machine",
                "bar": "no difference",
                "measured": float(other),
                "unit": "",
                "holds": other == 0,
            }
        )
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    return rows


def _loads(spark: Any, folder: Path) -> Row:
    """How often a process loads the model, where it scores the rows of many partitions."""
    # a seed of its own: no process has this model already
    model = TableModel(KernelClassifier("gmm", n_components=64, C=1.0, random_state=9))
    model.fit(_labelled(2_000), target="y")
    log = folder / "loads"
    ticket = CountedTicket(**vars(Ticket.of(model)), log=str(log))
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
    df = spark.read.parquet(str(folder / "rows")).where("id < 20000").repartition(40)
    with patch.object(scoring, "Ticket", SimpleNamespace(of=lambda fitted: ticket)):
        score(df, model, keep=["id"]).count()
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    loads = Counter(log.read_text().split())
    most = max(loads.values())
    return {
        "claim": f"loads of a model, 40 partitions of 500 rows: {sum(loads.values())} in "
        f"{len(loads)} processes",
        "peer": "",
        "bar": "one in each worker process",
        "measured": float(most),
        "unit": "",
        "holds": most == 1,
    }


def _write_rows(folder: Path, n_rows: int) -> None:
    folder.mkdir()
    rng = np.random.default_rng(1)
    for at, ids in enumerate(np.array_split(np.arange(n_rows), FILES)):
        X = rng.standard_normal((len(ids), FEATURES), dtype=np.float32)
        columns = {"id": ids, **{name: X[:, j] for j, name in enumerate(NAMES)}}
        pq.write_table(pa.table(columns), folder / f"{at}.parquet")


def _labelled(n_rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, FEATURES), dtype=np.float32)
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0
    return pa.table({**{name: X[:, j] for j, name in enumerate(NAMES)}, "y": y.astype(int)})


if __name__ == "__main__":
    show(run("--quick" in sys.argv))
