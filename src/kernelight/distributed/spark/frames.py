"""Frames in steps: where a step is kept, names of columns, and ids that number the rows."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import threading
import uuid
from typing import Any

from kernelight.base import counted
from kernelight.distributed.spark.engine import pyspark_or_error

ID, PLACE = "kernelight: id", "kernelight: place"  # names that no column of a user has
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_PARTS = 64  # of ids in order, numbered one by one
_SAMPLED = 4000  # ids that show where to cut
# what gives another result when Spark computes it again, with other partitions; `rand(1)#5` in a
# plan is a column of that name
_CHANGING = re.compile(
    r"\b(monotonically_increasing_id|uuid|randn?|random|randstr|uniform|shuffle|spark_partition_id)"
    r"\((?![^()]*\)#)"
)

_explaining = threading.Lock()


class Steps:
    """Keeps frames, so that later steps read what was computed once.

    In a folder they are Parquet files, which outlive executors; without one they are kept by the
    executors (`localCheckpoint`), which a killed Python worker does not touch.
    """

    def __init__(self, spark: Any, work: str | None) -> None:
        if work is not None and not isinstance(work, str):
            raise TypeError(f"work must be the path of a folder or None, got {work!r}.")
        self._spark, self._work = spark, work
        self.folder = None if work is None else os.path.join(work, f"kernelight-{uuid.uuid4().hex}")
        if self.folder is not None:
            self._try_folder(os.path.join(self.folder, "begun"))

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the folder if it can be reached from here; nothing needs its steps any more."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _try_folder(self, path: str) -> None:
        """Refuse a folder that cannot be written to, before anything is computed."""
        try:
            self._spark.range(0).coalesce(1).write.parquet(path)
        except Exception as error:
            first = str(error).strip().partition("\n")[0][:200]
            raise ValueError(
                f"work={self._work!r} is no folder that Spark can write to: {first}"
            ) from error

    def keep(self, df: Any, name: str, *, later: bool = False) -> Any:
        """The same frame, computed; ``later``: by the first job that reads all of it, if it can be.

        That spares a job, which costs as much as some megabytes.
        """
        if self.folder is None:
            return df.localCheckpoint(eager=not later)
        path = os.path.join(self.folder, name)
        df.write.parquet(path)
        return self._spark.read.schema(df.schema).parquet(path)

    def drop(self, name: str) -> None:
        """Forget a step of a folder."""
        if self.folder is None:
            return
        path = os.path.join(self.folder, name)
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:  # where only Spark can write: what cannot be removed is made empty
            self._spark.range(0).coalesce(1).write.mode("overwrite").parquet(path)


def is_lost(error: Exception) -> bool:
    """Whether an error says that a step was lost with the executor that kept it."""
    return "checkpoint block" in str(error).lower()


def column(name: str) -> Any:
    """A column by its name, whatever is in it."""
    quoted = name.replace("`", "``")
    return pyspark_or_error().functions.col(f"`{quoted}`")


class _Printed(io.StringIO):
    """What this thread prints meanwhile; others print where they did."""

    def __enter__(self) -> _Printed:
        self._thread, self._stdout = threading.get_ident(), sys.stdout
        sys.stdout = self
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout = self._stdout

    def write(self, text: str) -> int:
        if threading.get_ident() == self._thread:
            return super().write(text)
        return self._stdout.write(text)


def changing(df: Any) -> str | None:
    """A function by which a frame is computed, and which need not give the same again."""
    with _explaining, _Printed() as printed:
        df.explain(True)
    # there nothing is left that the columns of the frame do not need
    found = _CHANGING.search(printed.getvalue().split("== Optimized Logical Plan ==")[-1])
    return found[1] if found else None


def check_ids(df: Any, name: str, label: str = "df") -> None:
    """Refuse ids of a type that has no order, and ids that are made when they are read."""
    kind = df.schema[name].dataType.simpleString()
    if kind != "string" and kind not in _INTEGERS:
        raise TypeError(
            f"{label}: the ids in column {name!r} are {kind}, and must be whole numbers or text: "
            "cast the column."
        )
    if found := changing(df.select(column(name))):
        raise ValueError(
            f"{label}: the ids in column {name!r} are made by {found}(), which may give rows other "
            "ids whenever they are read: write the frame with its ids first, and read it again."
        )


def ids_digest(df: Any, name: str) -> tuple[int, int, int]:
    """Of a column: rows, rows with an id, and a digest that does not depend on their order."""
    F = pyspark_or_error().functions
    row = df.agg(
        F.count("*").alias("rows"),
        F.count(column(name)).alias("ids"),
        F.expr(f"bit_xor(xxhash64(`{name.replace('`', '``')}`))").alias("digest"),
    ).first()
    return row["rows"], row["ids"], row["digest"] or 0


def refuse_null_ids(found: tuple[int, int, int], name: str, label: str = "df") -> None:
    """Refuse a frame without rows, and rows without an id."""
    rows, ids, _ = found
    if not rows:
        raise ValueError(f"{label} has no rows.")
    if rows > ids:
        raise ValueError(
            f"{label}: {counted(rows - ids, 'row')} of {rows:,} have no id in column {name!r}: "
            "each row needs one of its own."
        )


def refuse_equal_ids(df: Any, name: str, label: str = "df") -> None:
    """Refuse ids that several rows have; ``df`` has them in ``id``."""
    F = pyspark_or_error().functions
    twice = df.groupBy("id").count().where(F.col("count") > 1).first()
    if twice is not None:
        raise ValueError(
            f"{label}: {twice['count']:,} rows have the id {twice['id']!r} in column {name!r}: "
            "each row needs one of its own."
        )


def refuse_other_ids(before: tuple[int, int, int], df: Any, name: str, label: str = "df") -> None:
    """Refuse ids that are not those that were read before."""
    if ids_digest(df, "id") != before:
        raise ValueError(
            f"{label}: column {name!r} has other ids whenever it is read, as rand() or "
            "monotonically_increasing_id() make them: write the frame with its ids first, and read "
            "it again."
        )


def numbered(df: Any, rows: int) -> Any:
    """The rows with their numbers in the order of their ids (`ID`) as another column, `PLACE`.

    Whole numbers are their own; texts are counted, in the order of their UTF-8 bytes.
    """
    sql = pyspark_or_error()
    F = sql.functions
    if df.schema[ID].dataType.simpleString() != "string":
        return df.withColumn(PLACE, column(ID).cast("long"))
    some = df.select(column(ID)).where(
        F.abs(F.xxhash64(column(ID)) % max(1, rows // _SAMPLED)) == 0
    )
    sample = sorted((row[0] for row in some.distinct().collect()), key=str.encode)
    cuts = sorted({sample[at * len(sample) // _PARTS] for at in range(1, _PARTS)} if sample else ())
    bounds = F.array(*map(F.lit, cuts)) if cuts else F.array().cast("array<string>")
    part = F.size(F.filter(bounds, lambda cut: cut <= column(ID)))
    counts = dict(df.select(part.alias("part")).groupBy("part").count().collect())
    before, offsets = 0, []
    for at in range(len(cuts) + 1):
        offsets.append(before)
        before += counts.get(at, 0)
    offset = F.element_at(F.array(*(F.lit(each).cast("long") for each in offsets)), part + 1)
    rank = F.row_number().over(sql.Window.partitionBy(part).orderBy(column(ID)))
    return df.withColumn(PLACE, rank.cast("long") - 1 + offset)
