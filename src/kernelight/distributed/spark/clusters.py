"""Which rows go, from verified pairs: leaders or components, in rounds while pairs are many.

Rows have numbers in the order of visits here. A round reads and writes frames; as soon as what is
left fits into the driver, it is finished there by the rule of `kernelight.neighbors.deduplicate`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelight.data import columnar
from kernelight.distributed.spark.engine import pyspark_or_error
from kernelight.distributed.spark.frames import Steps
from kernelight.tables.arrow_duplicates import by_components, by_leaders

DRIVER_PAIRS = 4_000_000  # that the driver takes, of 24 bytes each


class Collected(NamedTuple):
    """Pairs on the driver: ranks in the order of visits, and the numbers of these."""

    numbers: Any
    earlier: Any
    later: Any
    similarity: Any


def leaders(pairs: Any, steps: Steps) -> Any:
    """The rows that go by the leader rule: (row, survivor, similarity); ``pairs`` are kept.

    ``pairs`` are (earlier, later, similarity). A row that is the later one of no pair stays, and
    all that are similar to it go, which may let others stay: that is a round. At last each row that
    goes has its most similar earlier row that stays, of equal ones the first.
    """
    F = pyspark_or_error().functions
    left = pairs
    gone: list[Any] = []
    rounds = 0
    while (count := left.count()) > DRIVER_PAIRS:
        rounds += 1
        later = left.select(F.col("later").alias("earlier")).distinct()
        first = left.select("earlier").distinct().join(later, "earlier", "left_anti")
        new = left.join(first, "earlier", "left_semi").select(F.col("later").alias("row"))
        new = steps.keep(new.distinct(), f"gone{rounds}")
        gone.append(new)
        for side in ("earlier", "later"):
            left = left.join(new.withColumnRenamed("row", side), side, "left_anti")
        left = steps.keep(left, f"left{rounds}")
    if not rounds:
        return _on_driver(pairs, by_leaders)
    if count:
        gone.append(_on_driver(left, by_leaders).select("row"))
    every = gone[0]
    for more in gone[1:]:
        every = every.union(more)
    every = steps.keep(every, "gone")
    stays = pairs.join(every.withColumnRenamed("row", "earlier"), "earlier", "left_anti")
    near = stays.join(every.withColumnRenamed("row", "later"), "later", "left_semi")
    best = F.max_by(F.struct("earlier", "similarity"), F.struct("similarity", -F.col("earlier")))
    found = near.groupBy(F.col("later").alias("row")).agg(best.alias("best"))
    return found.select("row", F.col("best.earlier").alias("survivor"), "best.similarity")


def components(pairs: Any, steps: Steps) -> Any:
    """The rows that go by the components rule: (row, survivor), the first of its component.

    Rounds of large stars and small stars (Kiveris et al., 2014): each row is connected with the
    first of its neighbours, in place of these, until nothing changes.
    """
    F = pyspark_or_error().functions
    left = pairs.select(F.col("later").alias("u"), F.col("earlier").alias("v"))
    rounds, before = 0, None
    while (now := _digest(left))[0] > DRIVER_PAIRS and now != before:
        rounds, before = rounds + 1, now
        both = left.union(left.select(F.col("v").alias("u"), F.col("u").alias("v")))
        least = both.groupBy("u").agg(F.least(F.min("v"), F.col("u")).alias("first"))
        large = (
            both.join(least, "u")
            .where("v > u")
            .select(F.col("v").alias("u"), F.col("first").alias("v"))
        )
        large = large.distinct()
        least = large.groupBy("u").agg(F.min("v").alias("first"))
        small = large.join(least, "u").select(F.col("v").alias("u"), F.col("first").alias("v"))
        small = small.union(least.select("u", F.col("first").alias("v")))
        left = steps.keep(small.where("u <> v").distinct(), f"stars{rounds}")
    if now[0] > DRIVER_PAIRS:  # nothing changes any more: each row has the first of its component
        return left.select(F.col("u").alias("row"), F.col("v").alias("survivor"))
    named = left.select(F.col("v").alias("earlier"), F.col("u").alias("later"))
    return _on_driver(named, lambda n, a, b, _: by_components(n, a, b)).drop("similarity")


def _digest(df: Any) -> tuple[int, int]:
    """How many pairs (u, v) there are, and a digest of them that does not depend on their order."""
    F = pyspark_or_error().functions
    row = df.agg(F.count("*").alias("n"), F.expr("bit_xor(xxhash64(u, v))").alias("digest")).first()
    return row["n"], row["digest"] or 0


def _on_driver(pairs: Any, rule: Any) -> Any:
    """What a rule says of the pairs of a frame: (row, survivor, similarity) of rows that go."""
    pa = columnar.pyarrow_or_error("Spark")
    spark, table = pairs.sparkSession, pairs.toArrow()
    earlier, later = (table[side].to_numpy().astype(np.int64) for side in ("earlier", "later"))
    numbers, rank = np.unique(np.concatenate([earlier, later]), return_inverse=True)
    rank = rank.reshape(-1).astype(np.int64)
    similarity = np.ones(len(earlier))
    if "similarity" in table.column_names:
        similarity = table["similarity"].to_numpy().astype(np.float64)
    kept, survivor, most = rule(
        len(numbers), rank[: len(earlier)], rank[len(earlier) :], similarity
    )
    gone = np.flatnonzero(~kept)
    columns = {
        "row": numbers[gone],
        "survivor": numbers[survivor[gone]],
        "similarity": np.asarray(most[gone], np.float64),
    }
    schema = "row long, survivor long, similarity double"
    if not len(gone):
        return spark.createDataFrame([], schema)
    return spark.createDataFrame(pa.table(columns), schema)
