"""Similar pairs of packed rows: by buckets of bands, and verified.

Buckets are sorted by Spark, and each is scanned by one task; memory does not grow with a bucket,
nor does the work of a row, as each meets the first rows of its bucket only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelight.data import columnar
from kernelight.distributed.spark.engine import pyspark_or_error
from kernelight.distributed.spark.frames import Steps, column
from kernelight.distributed.spark.row_frames import AT_ONCE, Batches, RowFrame, parts
from kernelight.distributed.ticket import Ticket
from kernelight.neighbors import BandPlan
from kernelight.tables.arrow_duplicates import (
    LOOKED_AT,
    BandKeys,
    Bucketed,
    BucketScan,
    planned,
    rows_that_decide,
    similarities,
)
from kernelight.tables.arrow_rows import ArrowRows, binary_values, bytes_of
from kernelight.tables.deduplication import DedupSettings

PAIRS = "a long, b long, similarity double"
_FOUND = "a long, b long, capped boolean"


@dataclass(frozen=True)
class Bands:
    """Rows and the bands by which they are compared; the map travels as a ticket."""

    rows: ArrowRows
    ticket: Ticket
    plan: BandPlan
    cap: int

    @classmethod
    def planned(
        cls, frame: RowFrame, rows: Any, n_rows: int, settings: DedupSettings, cap: int
    ) -> Bands:
        """Those for ``n_rows`` rows, by the first distinct ones of a frame."""
        first = frame.first(rows, LOOKED_AT)
        many = rows_that_decide(frame.rows, first)
        if many > LOOKED_AT:
            first = frame.first(rows, many)
        made, plan = planned(frame.rows, first[:many], n_rows, settings)
        return cls(frame.rows, Ticket.of(made), plan, cap)

    def bucketed(self, packed: Any, seeking: bool | None = None) -> Any:
        """An entry for each band of each row: bucket, row, sketch, and whether it is seeking."""
        F = pyspark_or_error().functions
        df = packed.where("not empty").select("row", "at", "values")
        made = df.mapInArrow(
            KeyRows(BandKeys(self.rows, self.plan), self.ticket),
            "bucket long, row long, sketch binary",
        )
        return made if seeking is None else made.withColumn("seeking", F.lit(seeking))

    def candidates(self, bucketed: Any, steps: Steps) -> tuple[Any, int, int]:
        """Different pairs (a, b) of one bucket whose sketches agree; how many; capped buckets."""
        F = pyspark_or_error().functions
        seeking = "seeking" in bucketed.columns
        order = ["bucket", *["seeking"] * seeking, "row"]
        scan = ScanBuckets(self.plan.sketch_slots, self.plan.least_equal, self.cap)
        found = bucketed.repartition("bucket").sortWithinPartitions(*order).mapInArrow(scan, _FOUND)
        found = steps.keep(found.distinct(), "candidates")
        counted = found.agg(F.count("*"), F.count_if("capped")).first()
        return found.where("not capped").drop("capped"), counted[0] - counted[1], counted[1]

    def verified(
        self, pairs: Any, left: Any, right: Any, steps: Steps, name: str, *, every: bool = False
    ) -> Any:
        """Pairs (a of left, b of right) with their similarity; those that are near, or all."""
        sides = []
        for frame, side in ((left, "a"), (right, "b")):
            names = {"row": side, "at": f"at_{side}", "values": f"values_{side}"}
            sides.append(frame.select(*(column(old).alias(new) for old, new in names.items())))
        df = pairs.select("a", "b").join(sides[0], "a").join(sides[1], "b")
        work = VerifyPairs(self.rows, None if every else self.plan.threshold)
        return steps.keep(df.mapInArrow(work, PAIRS), name)


# -- What workers do


@dataclass(frozen=True)
class KeyRows:
    """Packed rows become entries of buckets."""

    keys: BandKeys
    ticket: Ticket

    def __call__(self, batches: Batches) -> Batches:
        pa = columnar.pyarrow_or_error("Spark")
        made = self.ticket.opened()
        plan = self.keys.plan
        most = AT_ONCE // (plan.bands * (plan.sketch_slots + 16))
        for batch in parts(batches, most):
            X = self.keys.rows.unpacked(batch["at"], batch["values"])
            bucket, row, sketch = self.keys(made, X, _numbers(batch["row"]))
            columns = [
                pa.array(bucket),
                pa.array(row),
                binary_values(sketch, np.arange(len(sketch) + 1) * sketch.shape[1]),
            ]
            yield pa.RecordBatch.from_arrays(columns, names=["bucket", "row", "sketch"])


@dataclass(frozen=True)
class ScanBuckets:
    """Sorted entries become candidates; a row (band and key, null, true) is a capped bucket."""

    slots: int
    least_equal: int
    cap: int

    def __call__(self, batches: Batches) -> Batches:
        pa = columnar.pyarrow_or_error("Spark")
        scan = BucketScan(self.cap, self.least_equal)
        for batch in batches:
            sketch = bytes_of(batch["sketch"])[1].reshape(batch.num_rows, self.slots)
            entries = Bucketed(_numbers(batch["bucket"]), _numbers(batch["row"]), sketch)
            seeking = None
            if "seeking" in batch.schema.names:
                seeking = batch["seeking"].to_numpy(zero_copy_only=False).astype(bool)
            for found in scan.add(entries, seeking):
                many = len(found.a)
                a = np.concatenate([found.a, found.capped])
                b = pa.array(np.concatenate([found.b, found.capped]))
                capped = pa.array(np.arange(len(a)) >= many)
                columns = [pa.array(a), b, capped]
                yield pa.RecordBatch.from_arrays(columns, names=["a", "b", "capped"])


@dataclass(frozen=True)
class VerifyPairs:
    """Pairs of packed rows with their similarity; those below the threshold are left out."""

    rows: ArrowRows
    threshold: float | None

    def __call__(self, batches: Batches) -> Batches:
        pa = columnar.pyarrow_or_error("Spark")
        for batch in parts(batches):
            A, B = (
                self.rows.unpacked(batch[f"at_{side}"], batch[f"values_{side}"]) for side in "ab"
            )
            similarity = similarities(self.rows, A, B)
            near = np.ones(len(similarity), bool)
            if self.threshold is not None:
                near = similarity >= self.threshold
            columns = [batch[side].filter(pa.array(near)) for side in "ab"]
            yield pa.RecordBatch.from_arrays(
                [*columns, pa.array(similarity[near])], names=["a", "b", "similarity"]
            )


def _numbers(values: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.int64)
