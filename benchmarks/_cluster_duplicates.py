"""Duplicates on Spark, for `cluster.py`: equal to one machine, linear, and against MLlib.

Rows of the first part are 60 numbers, most of them 0; a third are near copies of others. A tenth of
all are chosen so that they share a bucket: four columns are the same in all of them, and of many
such rows those are taken whose slots of the first band all fall on these columns. They are not
near-duplicates, so that every one of them meets the first rows of the bucket in vain.

Rows of the second part are sets of 30 of 1,000 words, a tenth of them copies of others with one to
six words changed. Both engines look for pairs of a Jaccard similarity of 0.8; the exact pairs are
found by `MinMaxNeighbors`. MLlib gets sparse vectors that are made before, with two hash tables.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from _cluster_sizing import MEASURED, MILLION
from _measure import Row
from _spark import cpu_of
from numpy.typing import NDArray

from kernelight.data.texts import TextShingles
from kernelight.distributed.spark import SparkDuplicates, duplicates
from kernelight.neighbors import MinMaxNeighbors, short_band_keys
from kernelight.tables import arrow_duplicates, arrow_rows, deduplication

SIZES = [100_000, 1_000_000]  # rows, of which a tenth share a bucket
COLUMNS, SAME, OWN = 60, 4, 8
THRESHOLD = 0.8
COMMON = 0.65  # of the sum of a row that shares the bucket: the columns that are the same
SETS, WORDS, OF_A_SET, TABLES = 30_000, 1000, 30, 2
LEAST = 5.0  # times less CPU time than MLlib


def rows_of_duplicates(spark: Any, folder: Path, quick: bool = False) -> list[Row]:
    """The rows of the table."""
    sizes = [size // 20 for size in SIZES] if quick else SIZES
    rows: list[Row] = []
    cpu = []
    for n_rows in sizes:
        seconds, more = _against_one_machine(spark, folder, n_rows)
        cpu.append(seconds)
        rows += more
    ratio, allowed = cpu[1] / cpu[0], 1.5 * sizes[1] / sizes[0]
    rows.append(
        {
            "claim": f"duplicates: CPU time of {sizes[1]:,} rows over that of {sizes[0]:,}",
            "peer": f"{sizes[1] / sizes[0]:g} times the rows",
            "bar": f"at most {allowed:g} times",
            "measured": ratio,
            "holds": ratio <= allowed,
        }
    )
    return [*rows, _against_mllib(spark, folder, SETS // 6 if quick else SETS)]


# -- A bucket of a tenth of the rows


def _against_one_machine(spark: Any, folder: Path, n_rows: int) -> tuple[float, list[Row]]:
    """CPU seconds on Spark, and rows on what was found."""
    path, work = str(folder / f"rows{n_rows}.parquet"), folder / f"work{n_rows}"
    table, popular = _rows(n_rows)
    pq.write_table(table, path, row_group_size=max(1000, n_rows // 16))
    spilled = Path(spark.conf.get("spark.local.dir"))
    df = spark.read.parquet(path)
    duplicates(df.limit(2000), "id", scale="none").survivors.count()  # what is loaded at first
    found: list[SparkDuplicates] = []
    with _Disk(spilled) as disk:
        cpu = cpu_of(
            lambda: found.append(duplicates(df, "id", THRESHOLD, scale="none", work=str(work)))
        )
    there, said = found[0], found[0].summary
    made: list[Any] = []
    settings = deduplication.DedupSettings(THRESHOLD, method="bands")
    here_cpu = cpu_of(
        lambda: made.append(
            deduplication.deduplicate_rows(
                deduplication.open_rows(path, ids="id", scale="none"), settings
            )
        )
    )
    here = made[0].found
    bands, cap = said["plan"]["bands"], arrow_duplicates.BUCKET_CAP
    moved = disk.most / n_rows
    print(
        f"duplicates of {n_rows:,} rows ({popular:,} in one bucket): {cpu:.1f} CPU s on Spark, "
        f"{here_cpu:.1f} here; {bands} bands; {moved:,.0f} bytes a row on disk for shuffles, "
        f"{moved / bands:.0f} a row and band; {_bytes(work) / n_rows:,.0f} in the work folder; "
        f"{said['candidates']:,} candidates, {said['pairs']:,} pairs",
        flush=True,
    )
    MEASURED["duplicates"], MEASURED["bands"] = cpu * MILLION / n_rows, bands
    MEASURED["shuffled"] = moved
    other = _differences(there, here)
    most = cap * bands * n_rows
    return cpu, [
        {
            "claim": f"duplicates of {n_rows:,} rows, a bucket of {popular:,} "
            f"({said['capped']:,} capped)",
            "peer": "kernelight dedup --method bands",
            "bar": "no difference in pairs, similarities and survivors",
            "measured": float(other),
            "unit": "",
            "holds": other == 0 and (said["capped"] > 0) == (popular > cap),
        },
        {
            "claim": f"duplicates of {n_rows:,} rows: {said['candidates']:,} candidates",
            "peer": f"cap x bands x rows = {most:,}",
            "bar": "at most that",
            "measured": said["candidates"] / most,
            "holds": said["candidates"] <= most,
        },
    ]


def _rows(n_rows: int) -> tuple[pa.Table, int]:
    """The rows, and how many of them share a bucket of the first band."""
    rng = np.random.default_rng(0)
    n_popular = n_rows // 10
    n_plain = n_rows - n_popular
    X = rng.exponential(size=(n_plain, COLUMNS)) * (rng.random((n_plain, COLUMNS)) < 0.2)
    copies = np.arange(n_plain // 3 * 2, n_plain)
    X[copies] = X[rng.integers(0, n_plain // 3, len(copies))]
    X[copies] *= 1 + 0.15 * rng.normal(size=(len(copies), COLUMNS)).clip(-3, 3)
    X[:, 0] += 0.01  # no row is zeros
    names = [f"x{at}" for at in range(COLUMNS)]
    first = pa.table({name: X[:50_000, at] for at, name in enumerate(names)})
    rows = arrow_rows.table_rows([first], scale="none")
    matrix = rows.matrix(first)
    many = arrow_duplicates.rows_that_decide(rows, matrix[: arrow_duplicates.LOOKED_AT])
    settings = deduplication.DedupSettings(THRESHOLD, method="bands")
    made, plan = arrow_duplicates.planned(rows, matrix[:many], n_rows, settings)
    parts: list[NDArray[np.float64]] = []
    key = None
    while sum(map(len, parts)) < n_popular:
        some = np.zeros((200_000, COLUMNS))
        some[:, :SAME] = COMMON / SAME
        own = np.argsort(rng.random((len(some), COLUMNS - SAME)), axis=1)[:, :OWN] + SAME
        weights = rng.exponential(size=own.shape)
        weights *= (1 - COMMON) / weights.sum(axis=1, keepdims=True)
        np.put_along_axis(some, own, weights, axis=1)
        keys = short_band_keys(made.encode(rows.exact(some).matrix), 1, plan.rows)[:, 0]
        if key is None:
            values, counts = np.unique(keys, return_counts=True)
            key = values[np.argmax(counts)]
        parts.append(some[keys == key])
    X = np.concatenate([X, np.concatenate(parts)[:n_popular]])
    columns = {name: X[:, at] for at, name in enumerate(names)}
    return pa.table({"id": np.arange(n_rows), **columns}), n_popular


def _differences(there: SparkDuplicates, here: Any) -> int:
    """Pairs and survivors that are not the same, to the bit."""
    pairs = there.pairs.toArrow().sort_by([("id_a", "ascending"), ("id_b", "ascending")])
    known = here.pairs
    if pairs.num_rows != len(known.i):
        return abs(int(pairs.num_rows) - len(known.i))
    other = sum(
        int((column.to_numpy() != values).sum())
        for column, values in zip(pairs.columns, (known.i, known.j, known.similarity), strict=True)
    )
    kept = np.sort(there.survivors.select("id").toArrow()["id"].to_numpy())
    clusters = there.clusters.toArrow().sort_by("id")
    other += int((clusters["representative"].to_numpy() != here.survivor).sum())
    return other + len(np.setxor1d(kept, np.flatnonzero(here.kept)))


class _Disk:
    """The most bytes that a folder has while a block runs, beyond those that it had before."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._before, self.most = folder, _bytes(folder), 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> _Disk:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.5):
            self.most = max(self.most, _bytes(self._folder) - self._before)


def _bytes(folder: Path) -> int:
    """The bytes of all files of a folder."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return total


# -- MLlib


def _against_mllib(spark: Any, folder: Path, n_rows: int) -> Row:
    """CPU time and recall of sets of words, here and with `MinHashLSH`."""
    from pyspark.ml.feature import MinHashLSH
    from pyspark.ml.linalg import SparseVector
    from pyspark.sql.functions import col

    X = _sets(n_rows)
    exact = MinMaxNeighbors(method="exact").fit(X).pairs(THRESHOLD)
    wanted = set(zip(exact.i.tolist(), exact.j.tolist(), strict=True))
    words = [" ".join(f"w{each}" for each in row.indices) for row in X]
    pq.write_table(pa.table({"id": np.arange(n_rows), "words": words}), folder / "sets.parquet")
    df = spark.read.parquet(str(folder / "sets.parquet"))
    one = TextShingles(lengths=(1, 1))
    vectors = [(at, SparseVector(WORDS, row.indices, row.data)) for at, row in enumerate(X)]
    sets = spark.createDataFrame(vectors, ["id", "features"])
    path = str(folder / "sets_vectors.parquet")
    sets.repartition(8).write.parquet(path)
    sets = spark.read.parquet(path)
    hashing = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=TABLES, seed=0)
    model = hashing.fit(sets)
    found: dict[str, set[tuple[int, int]]] = {}

    def ours() -> None:
        join = duplicates(df, "id", THRESHOLD, texts=["words"], shingles=one)
        pairs = join.pairs.toArrow()
        found["ours"] = set(zip(pairs["id_a"].to_pylist(), pairs["id_b"].to_pylist(), strict=True))

    def mllib() -> None:
        joined = model.approxSimilarityJoin(sets, sets, 1 - THRESHOLD + 1e-9, "distance")
        pairs = joined.where(col("datasetA.id") < col("datasetB.id"))
        table = pairs.select(col("datasetA.id").alias("a"), col("datasetB.id").alias("b")).toArrow()
        found["mllib"] = set(zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True))

    duplicates(df.limit(2000), "id", texts=["words"], shingles=one)  # what is loaded at first
    seconds = {call.__name__: cpu_of(call) for call in (ours, mllib)}
    recall = {name: len(pairs & wanted) / len(wanted) for name, pairs in found.items()}
    print(
        f"{n_rows:,} sets, {len(wanted):,} pairs: ours {seconds['ours']:.1f} CPU s, recall "
        f"{recall['ours']:.3f}; MLlib {seconds['mllib']:.1f} CPU s, recall {recall['mllib']:.3f}",
        flush=True,
    )
    times = seconds["mllib"] / seconds["ours"]
    return {
        "claim": f"duplicates of {n_rows:,} sets, {seconds['ours']:.1f} CPU s at a recall of "
        f"{recall['ours']:.3f}",
        "peer": f"MLlib MinHashLSH, {seconds['mllib']:.1f} CPU s at {recall['mllib']:.3f}",
        "bar": f"at least {LEAST:g} times less, at no smaller recall",
        "measured": times,
        "holds": times >= LEAST and recall["ours"] >= recall["mllib"] - 0.005,
    }


def _sets(n_rows: int) -> sp.csr_array:
    """Rows of 0 and 1."""
    rng = np.random.default_rng(2)
    rows = [np.sort(rng.choice(WORDS, OF_A_SET, replace=False)) for _ in range(n_rows)]
    for at in rng.choice(np.arange(n_rows // 2, n_rows), n_rows // 10, replace=False):
        row = rows[rng.integers(0, n_rows // 2)].copy()
        changed = rng.integers(1, 7)
        new = rng.choice(np.setdiff1d(np.arange(WORDS), row), changed, replace=False)
        row[rng.choice(OF_A_SET, changed, replace=False)] = new
        rows[at] = np.sort(row)
    ends = np.arange(n_rows + 1) * OF_A_SET
    data = np.ones(n_rows * OF_A_SET)
    return sp.csr_array((data, np.concatenate(rows), ends), shape=(n_rows, WORDS))
