"""`similarity_join`: the similar rows of two Spark DataFrames."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelight.base import counted
from kernelight.data import columnar
from kernelight.data.texts import TextShingles
from kernelight.distributed.spark.banded_pairs import PAIRS, Bands
from kernelight.distributed.spark.deduplication import features
from kernelight.distributed.spark.engine import (
    check_columns,
    check_frame,
    pyspark_or_error,
    sentences_of_workers,
)
from kernelight.distributed.spark.frames import Steps, column
from kernelight.distributed.spark.row_frames import Batches, RowFrame, Source, learned, parts
from kernelight.tables.arrow_duplicates import (
    BUCKET_CAP,
    band_facts,
    banded_settings,
    check_counts,
    most_similar,
    nothing_to_find,
    warn_of_capped,
)
from kernelight.tables.arrow_rows import ArrowRows
from kernelight.tables.deduplication import DedupSettings

_TRIED, _LEAST_TRIED = 200, 16  # rows whose nearest rows are found exactly
_TRIED_PAIRS = 50_000_000  # that this may take, but for the least rows
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean")


@dataclass(frozen=True)
class SparkJoin:
    """Similar rows of two frames.

    Attributes
    ----------
    pairs : DataFrame
        ``id_left``, ``id_right``, ``similarity``.
    summary : dict
        Rows of both, candidates, buckets above the cap, and the plan of the bands.

    See Also
    --------
    similarity_join : Makes one.

    Examples
    --------
    What `similarity_join` returns::

        found.pairs.where("similarity > 0.9").show()
    """

    pairs: Any
    summary: dict[str, Any]


def similarity_join(
    left: Any,
    right: Any,
    id: str,
    threshold: float | None = None,
    k: int | None = None,
    *,
    right_id: str | None = None,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    max_categories: int = 100,
    scale: str | None = None,
    texts: Sequence[str] = (),
    shingles: TextShingles | None = None,
    p: float = 1.0,
    method: str = "bands",
    recall: float = 0.95,
    cap: int = BUCKET_CAP,
    random_state: int = 0,
    work: str | None = None,
) -> SparkJoin:
    """Find for the rows of one frame the similar rows of another, by the min-max kernel.

    Words, ranges and weights of columns are those of the rows of both frames together, and every
    similarity is verified by the exact kernel. A pair at the threshold is found with a probability
    of at least ``recall``, a more similar one with a greater one, as `MinMaxNeighbors` does.

    Parameters
    ----------
    left, right : DataFrame
        Rows with the same columns; ``right`` may have more.
    id : str
        The column of ids of ``left``, and of ``right`` unless ``right_id`` names another; as in
        `duplicates`.
    threshold : float or None, default=None
        The least similarity of a pair, above 0 and at most 1.
    k : int or None, default=None
        How many rows of ``right`` each row of ``left`` gets at most: the most similar ones, of
        equal ones the first. Without a threshold it is found with some rows of ``left`` and all of
        ``right``: that of ``recall`` of the k nearest rows.
    columns, ignore, categorical, max_categories, scale, texts, shingles, p, method, recall, cap, \
random_state, work
        As in `duplicates`.

    Returns
    -------
    SparkJoin
        The pairs, and how they were found.

    See Also
    --------
    duplicates : Within one frame.

    Examples
    --------
    On a session ``spark``::

        found = similarity_join(new, known, "id", k=3, texts=["title"])
        found.pairs.show()
    """
    if threshold is None and k is None:
        raise ValueError("similarity_join needs a threshold, or k, or both.")
    check_counts(cap=cap, max_categories=max_categories, k=1 if k is None else k)
    settings = banded_settings(
        1.0 if threshold is None else threshold, p, method, recall, random_state
    )
    right_id = id if right_id is None else right_id
    names, options = features(
        left, id, "left", columns, ignore, categorical, max_categories, scale, texts, shingles
    )
    check_frame(right, "right")
    check_columns(right, [right_id, *names], "right")
    left_df, right_df = _alike(left, right, names)
    sources = [Source.of(left_df, id, names, "left"), Source.of(right_df, right_id, names, "right")]
    with sentences_of_workers():
        rows, steps = learned(sources, options, p), Steps(left.sparkSession, work)
        frames = [
            RowFrame.of(source, rows, steps, name)
            for source, name in zip(sources, ("left", "right"), strict=True)
        ]
    peak = max(frame.rows.peak for frame in frames)  # both at one scale
    frames = [replace(frame, rows=frame.rows.with_peak(peak)) for frame in frames]
    groups = [
        steps.keep(frame.groups(), f"{name}equal")
        for frame, name in zip(frames, ("left", "right"), strict=True)
    ]
    (ours, n_ours, ours_filled), (others, n_others, others_filled) = (
        frame.distinct(some) for frame, some in zip(frames, groups, strict=True)
    )
    facts = {"left": frames[0].n_rows, "right": frames[1].n_rows}
    found = {"candidates": 0, "capped": 0, "plan": nothing_to_find()}
    pairs = left.sparkSession.createDataFrame([], PAIRS)
    if ours_filled and others_filled:
        if threshold is None:
            assert k is not None
            least, recall = _threshold(frames, ours, others, n_others, k, recall)
            settings = replace(settings, threshold=least, recall=recall)
        bands = _planned(frames[1], others, n_ours + n_others, settings, cap, k, threshold)
        entries = bands.bucketed(others, False).union(bands.bucketed(ours, True))
        met, candidates, capped = bands.candidates(entries, steps)
        met = met.selectExpr("b as a", "a as b")  # of left, then of right
        every = threshold is None
        pairs = bands.verified(met, ours, others, steps, "pairs", every=every)
        found = {"candidates": candidates, "capped": capped, "plan": band_facts(bands.plan, capped)}
        warn_of_capped(capped, cap)
    for side, some in zip("ab", groups, strict=True):
        pairs = _of_equal_rows(pairs, side, some)
    if k is not None:
        pairs = _best(pairs, k)
    named = frames[0].ids_of(pairs.select("a", "b", "similarity"), ("a", "id_left"))
    return SparkJoin(frames[1].ids_of(named, ("b", "id_right")), {**facts, **found})


def _alike(left: Any, right: Any, names: Sequence[str]) -> tuple[Any, Any]:
    """Both frames with columns of the same types: different numbers become doubles."""
    for name in names:
        one, other = (df.schema[name].dataType.simpleString() for df in (left, right))
        if one == other:
            continue
        if one not in _NUMBERS or other not in _NUMBERS:
            raise TypeError(
                f"column {name!r} is {one} in left and {other} in right: cast one of them."
            )
        left, right = (df.withColumn(name, column(name).cast("double")) for df in (left, right))
    return left, right


def _threshold(
    frames: Sequence[RowFrame], ours: Any, others: Any, n_others: int, k: int, recall: float
) -> tuple[float, float]:
    """A threshold, and a recall there, that find this fraction of the k nearest rows.

    Some rows of the left, chosen by hashes of their numbers, are compared with all of the right.
    Half of what may be missed is below the threshold, the other half above it.
    """
    F = pyspark_or_error().functions
    many = max(_LEAST_TRIED, min(_TRIED, _TRIED_PAIRS // max(1, n_others)))
    some = ours.where("not empty").orderBy(F.xxhash64("row"), "row").limit(many)
    table = some.select("at", "values").toArrow()
    rows = frames[0].rows
    work = NearestOfSome(rows, rows.unpacked(table["at"], table["values"]), k)
    near = others.where("not empty").select("at", "values")
    found = near.mapInArrow(work, "tried int, similarity double").toArrow()
    tried = found["tried"].to_numpy()
    similarity = found["similarity"].to_numpy()
    order = np.lexsort((-similarity, tried))
    place = np.arange(len(tried)) - np.searchsorted(tried[order], tried[order])
    nearest = np.sort(similarity[order][place < k])
    nearest = nearest[nearest > 0]
    missed = (1.0 - recall) / 2
    if not len(nearest):
        return 1.0, 1.0 - missed
    return float(nearest[math.floor(missed * len(nearest))]), 1.0 - missed


def _planned(
    frame: RowFrame,
    rows: Any,
    n_rows: int,
    settings: DedupSettings,
    cap: int,
    k: int | None,
    threshold: float | None,
) -> Bands:
    """The bands; an error of its own where the nearest rows are too far for them."""
    try:
        return Bands.planned(frame, rows, n_rows, settings, cap)
    except ValueError as error:
        if threshold is not None:
            raise
        raise ValueError(
            f"The {counted(k or 1, 'nearest row')} of some rows of left have similarities down to "
            f"{settings.threshold:.2f}, and no bands find such pairs often enough: give a "
            "threshold, or a lower recall."
        ) from error


def _of_equal_rows(pairs: Any, side: str, groups: Any) -> Any:
    """Pairs of the rows that stand for equal ones become those of all."""
    F = pyspark_or_error().functions
    others = groups.where("row <> first").select(F.col("first").alias(side), "row")
    more = pairs.join(others, side).drop(side).withColumnRenamed("row", side)
    return pairs.unionByName(more)


def _best(pairs: Any, k: int) -> Any:
    """The k most similar rows of the right for each row of the left."""
    sql = pyspark_or_error()
    F = sql.functions
    window = sql.Window.partitionBy("a").orderBy(F.col("similarity").desc(), "b")
    ranked = pairs.where("similarity > 0").withColumn("rank", F.row_number().over(window))
    return ranked.where(F.col("rank") <= k).drop("rank")


@dataclass(frozen=True)
class NearestOfSome:
    """For a few rows the greatest similarities to all that come: (which of them, similarity)."""

    rows: ArrowRows
    tried: Any
    k: int

    def __call__(self, batches: Batches) -> Iterator[Any]:
        pa = columnar.pyarrow_or_error("Spark")
        best = np.full((self.tried.shape[0], self.k), -1.0)
        for batch in parts(batches):
            X = self.rows.unpacked(batch["at"], batch["values"])
            best = most_similar(self.rows, self.tried, X, best)
        tried, place = np.nonzero(best >= 0)
        columns = [pa.array(tried.astype(np.int32)), pa.array(best[tried, place])]
        yield pa.RecordBatch.from_arrays(columns, names=["tried", "similarity"])
