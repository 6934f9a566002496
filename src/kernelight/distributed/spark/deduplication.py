"""`duplicates`: the near-duplicate rows of a Spark DataFrame, as `kernelight dedup` finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelight.base import counted
from kernelight.data.texts import TextShingles
from kernelight.distributed.spark.banded_pairs import PAIRS, Bands
from kernelight.distributed.spark.clusters import components, leaders
from kernelight.distributed.spark.engine import (
    check_columns,
    pyspark_or_error,
    sentences_of_workers,
)
from kernelight.distributed.spark.frames import Steps, column
from kernelight.distributed.spark.row_frames import RowFrame, Source, chosen_features, learned
from kernelight.tables.arrow_duplicates import (
    BUCKET_CAP,
    band_facts,
    banded_settings,
    check_counts,
    nothing_to_find,
)
from kernelight.tables.deduplication import DedupSettings


@dataclass(frozen=True)
class SparkDuplicates:
    """Which rows of a frame stay, and for every other the row that stays in its place.

    Attributes
    ----------
    survivors : DataFrame
        The rows that stay, with all their columns.
    pairs : DataFrame
        All pairs of different rows that were found: ``id_a`` before ``id_b`` in the order of ids,
        and ``similarity``; of equal rows the one that stands for all.
    clusters : DataFrame
        Of every row its ``id``, its ``representative`` (the row that stays in its place, itself if
        it stays), and the ``similarity`` of both.
    summary : dict
        Counts of rows (all, kept, identical, near, empty), candidates and pairs; buckets above the
        cap; the plan of the bands.

    See Also
    --------
    duplicates : Finds them.

    Examples
    --------
    What `duplicates` returns::

        found.survivors.write.parquet("clean.parquet")
        found.summary["kept"], found.summary["near"]
    """

    survivors: Any
    pairs: Any
    clusters: Any
    summary: dict[str, Any]

    def __repr__(self) -> str:
        said = self.summary
        return (
            f"SparkDuplicates({counted(said['rows'], 'row')}: {said['kept']:,} kept, "
            f"{said['identical']:,} identical and {said['near']:,} near removed)"
        )


def duplicates(
    df: Any,
    id: str,
    threshold: float = 0.8,
    *,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    max_categories: int = 100,
    scale: str | None = None,
    texts: Sequence[str] = (),
    shingles: TextShingles | None = None,
    p: float = 1.0,
    keep: str = "first",
    linkage: str = "leader",
    method: str = "bands",
    recall: float = 0.95,
    cap: int = BUCKET_CAP,
    random_state: int = 0,
    work: str | None = None,
) -> SparkDuplicates:
    """Find the rows that are near-duplicates of others, and say which row stays for each.

    They are those of `kernelight dedup --method bands` on a file of the same rows in the order of
    their ids: the same pairs with the same similarities, to the bit, whatever partitions, batches
    and retries there are.

    Parameters
    ----------
    df : DataFrame
        Rows of a table, or texts.
    id : str
        The column of ids, whole numbers or text, which are different and always the same. Rows are
        in their order (text in that of its UTF-8 bytes).
    threshold : float, default=0.8
        The least similarity of near-duplicates, above 0 and at most 1.
    columns : list of str or None, default=None
        The columns that are compared; None is all but the id.
    ignore : list of str
        Columns that are not compared.
    categorical : list of str
        Columns of numbers that are words.
    max_categories : int, default=100
        How many words a column may have.
    scale : {"records", "none"} or None, default=None
        "records", the default, lets each column count alike; "none" takes numbers as they are, such
        as counts or 0 and 1.
    texts : list of str
        Columns of texts, which alone are compared, by ``shingles``.
    shingles : TextShingles or None, default=None
        How texts become rows; None is `TextShingles()`.
    p : float, default=1.0
        Values are raised to this power first.
    keep : {"first", "last"}, default="first"
        Which row of near-duplicates stays.
    linkage : {"leader", "components"}, default="leader"
        "leader": a row goes only if a row that stays is within the threshold of it. "components":
        of rows connected by a chain of pairs one stays.
    method : {"bands"}
        How pairs are found; an exact search is for one machine.
    recall : float, default=0.95
        Of the pairs at the threshold, the fraction to be found at least.
    cap : int, default=4096
        Rows of a bucket that each of its rows meets; 4096 on one machine.
    random_state : int, default=0
        Seed of the hashes.
    work : str or None, default=None
        A folder that all machines reach, where steps are kept as Parquet files, in a folder of
        their own that is left there. None keeps them with the executors (`localCheckpoint`): then a
        lost executor ends the job with an error.

    Returns
    -------
    SparkDuplicates
        The rows that stay, the pairs, and for each row the one that stays in its place.

    See Also
    --------
    similarity_join : Similar rows of two frames.
    kernelight.neighbors.deduplicate : On one machine.

    Examples
    --------
    On a session ``spark``::

        df = spark.read.parquet("articles.parquet")
        found = duplicates(df, "id", 0.8, texts=["body"])
        found.survivors.write.parquet("clean.parquet")
    """
    check_counts(cap=cap, max_categories=max_categories)
    settings = banded_settings(
        threshold, p, method, recall, random_state, keep=keep, linkage=linkage
    )
    names, options = features(
        df, id, "df", columns, ignore, categorical, max_categories, scale, texts, shingles
    )
    with sentences_of_workers():
        source = Source.of(df, id, names, "df")
        rows = learned([source], options, settings.p)
        steps = Steps(df.sparkSession, work)
        job = _Job(RowFrame.of(source, rows, steps, ""), settings, cap, steps)
        return job.result(df, id)


def features(
    df: Any,
    id: str,
    label: str,
    columns: Sequence[str] | None,
    ignore: Sequence[str],
    categorical: Sequence[str],
    max_categories: int,
    scale: str | None,
    texts: Sequence[str],
    shingles: TextShingles | None,
) -> tuple[list[str], dict[str, Any]]:
    """The columns that are compared, and how, as options of `learned`; checked."""
    for name, given in (("texts", texts), ("categorical", categorical)):
        if isinstance(given, str):
            raise TypeError(f"{name} must be a list of names of columns, got {given!r}.")
    if shingles is not None and not texts:
        raise ValueError("shingles are for texts: name their columns, texts=['...'].")
    if texts and scale is not None:
        raise ValueError("scale is for columns of numbers: leave it out with texts.")
    names = chosen_features(df, id, texts or columns, () if texts else ignore, label)
    if texts:
        names = list(dict.fromkeys(texts))
    else:
        check_columns(df, categorical, label)
        categorical = [name for name in categorical if name in names]
    return names, {
        "texts": tuple(names) if texts else (),
        "shingles": shingles or TextShingles(),
        "categorical": tuple(categorical),
        "max_categories": max_categories,
        "scale": scale,
    }


class _Job:
    """One run, on packed rows."""

    def __init__(self, frame: RowFrame, settings: DedupSettings, cap: int, steps: Steps) -> None:
        self._frame, self._settings, self._cap, self._steps = frame, settings, cap, steps
        self._last = settings.keep == "last"
        self._plan: dict[str, Any] = nothing_to_find()
        self._candidates = self._capped = 0

    def result(self, df: Any, id: str) -> SparkDuplicates:
        """All steps."""
        F = pyspark_or_error().functions
        frame, steps = self._frame, self._steps
        groups = steps.keep(frame.groups(), "equal")
        pairs, rows = self._pairs(groups)
        near = self._near(pairs, rows)
        chosen = "last" if self._last else "first"
        equal = groups.where(F.col("row") != F.col(chosen)).select("row", chosen)
        own = near.withColumnRenamed("row", chosen)
        same = equal.join(own, chosen, "left").select(
            "row",
            F.coalesce("survivor", chosen).alias("survivor"),
            F.coalesce("similarity", F.lit(1.0)).alias("similarity"),
        )
        gone = steps.keep(near.union(same), "removed")
        below = F.count_if(F.col("similarity") < self._settings.threshold)
        removed, n_below = gone.agg(F.count("*"), below).first()
        identical = equal.count()
        summary = {
            "rows": frame.n_rows,
            "kept": frame.n_rows - removed,
            "removed": removed,
            "identical": identical,
            "near": removed - identical,
            "empty": frame.n_empty,
            "candidates": self._candidates,
            "pairs": pairs.count(),
            "below_threshold": n_below,
            "capped": self._capped,
            "threshold": self._settings.threshold,
            "linkage": self._settings.linkage,
            "keep": self._settings.keep,
            "plan": self._plan,
        }
        every = (
            frame.packed.select("row")
            .join(gone, "row", "left")
            .select(
                "row",
                F.coalesce("survivor", "row").alias("survivor"),
                F.coalesce("similarity", F.lit(1.0)).alias("similarity"),
            )
        )
        survivors = df.join(frame.ids_of(gone.select("row"), ("row", id)), id, "left_anti")
        survivors = survivors.select(*map(column, df.columns))
        named = pairs.select(
            F.least("a", "b").alias("a"), F.greatest("a", "b").alias("b"), "similarity"
        )
        return SparkDuplicates(
            survivors,
            frame.ids_of(named, ("a", "id_a"), ("b", "id_b")),
            frame.ids_of(every, ("row", "id"), ("survivor", "representative")),
            summary,
        )

    def _pairs(self, groups: Any) -> tuple[Any, Any]:
        """Verified pairs of the rows that stand for equal ones, and their packed rows."""
        F = pyspark_or_error().functions
        frame, steps, settings = self._frame, self._steps, self._settings
        rows, n_rows, n_filled = frame.distinct(groups)
        if n_filled < 2:
            return frame.packed.sparkSession.createDataFrame([], PAIRS), rows
        self._bands = Bands.planned(frame, rows, n_rows, settings, self._cap)
        found, self._candidates, self._capped = self._bands.candidates(
            self._bands.bucketed(rows), steps
        )
        self._plan = band_facts(self._bands.plan, self._capped)
        bands = self._bands
        pairs = bands.verified(found, frame.packed, frame.packed, steps, "pairs")
        if not self._last:
            return pairs, rows
        for side in ("a", "b"):  # of equal rows the last one stands for all
            ends = groups.where("row = first").select(F.col("first").alias(side), "last")
            pairs = pairs.join(ends, side, "left").withColumn(side, F.coalesce("last", side))
            pairs = pairs.drop("last")
        return steps.keep(pairs.select("a", "b", "similarity"), "last pairs"), rows

    def _near(self, pairs: Any, rows: Any) -> Any:
        """The rows that go because of a similar one: (row, survivor, similarity)."""
        F = pyspark_or_error().functions
        steps = self._steps

        def visit(name: str) -> Any:  # the number in the order of visits, and back again
            return F.bitwise_not(F.col(name)) if self._last else F.col(name)

        visits = pairs.select(
            F.least(visit("a"), visit("b")).alias("earlier"),
            F.greatest(visit("a"), visit("b")).alias("later"),
            "similarity",
        )
        by_leader = self._settings.linkage == "leader"
        found = leaders(visits, steps) if by_leader else components(visits, steps)
        found = found.withColumn("row", visit("row")).withColumn("survivor", visit("survivor"))
        if by_leader or not self._candidates:
            found = found if by_leader else found.withColumn("similarity", F.lit(1.0))
            return steps.keep(found.select("row", "survivor", "similarity"), "near")
        packed = self._frame.packed  # the survivor need not be one of its pairs
        ends = found.select(F.col("row").alias("a"), F.col("survivor").alias("b"))
        ends = self._bands.verified(ends, packed, packed, steps, "near", every=True)
        return ends.select(F.col("a").alias("row"), F.col("b").alias("survivor"), "similarity")
