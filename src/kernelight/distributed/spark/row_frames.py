"""Rows of a frame as they are compared: learned from all of them, packed, equal ones once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelight.data import columnar
from kernelight.distributed.spark.engine import check_columns, check_frame, pyspark_or_error
from kernelight.distributed.spark.frames import (
    ID,
    PLACE,
    Steps,
    check_ids,
    column,
    ids_digest,
    numbered,
    refuse_equal_ids,
    refuse_null_ids,
    refuse_other_ids,
)
from kernelight.tables import witness_rows
from kernelight.tables.arrow_rows import ArrowRows, table_rows, text_rows

AT_ONCE = 16 << 20  # bytes of rows that a worker unpacks together
Batches = Iterator[Any]


@dataclass(frozen=True)
class Source:
    """The columns of a user's frame that are compared, and its ids as `ID`.

    Columns have numbers for names, as Spark's ``mapInArrow`` refuses some names (with dots).
    """

    df: Any
    names: tuple[str, ...]
    id: str
    label: str
    found: tuple[int, int, int]  # by `ids_digest`

    @classmethod
    def of(cls, df: Any, id: str, names: Sequence[str], label: str) -> Source:
        """Checked: the ids of all rows are read."""
        check_ids(df, id, label)
        every = (column(name).alias(str(at)) for at, name in enumerate(names))
        chosen = df.select(column(id).alias(ID), *every)
        found = ids_digest(df, id)
        refuse_null_ids(found, id, label)
        return cls(chosen, tuple(names), id, label, found)


def chosen_features(
    df: Any, id: str, columns: Sequence[str] | None, ignore: Sequence[str], label: str = "df"
) -> list[str]:
    """The columns that are compared."""
    check_frame(df, label)
    for name, given in (("columns", columns), ("ignore", ignore)):
        if isinstance(given, str):
            raise TypeError(f"{name} must be a list of names of columns, got {given!r}.")
    check_columns(df, [id, *(columns or ()), *ignore], label)
    names = [name for name in df.columns if columns is None or name in columns]
    check_columns(df, names, label)
    names = [name for name in names if name != id and name not in ignore]
    ours = [name for name in names if name in (ID, PLACE)]
    if ours:
        raise ValueError(f"{label} has a column {ours[0]!r}, and such names are ours: rename it.")
    if not names:
        raise ValueError(f"{label} has no columns to compare besides the ids.")
    return names


def learned(sources: Sequence[Source], options: dict[str, Any], p: float) -> ArrowRows:
    """How the rows of one frame or several are compared; of several the first decides on columns.

    ``options`` are those of `open_rows`.
    """
    options = dict(options)
    texts, shingles = options.pop("texts"), options.pop("shingles")
    if texts:
        return text_rows(texts, shingles, p)
    pa = columnar.pyarrow_or_error("Spark")
    heads, others = [], []
    for source in sources:
        names = [ID, *source.names]
        work = Witnesses(names, options["max_categories"], options["categorical"])
        head = source.df.orderBy(column(ID)).limit(witness_rows.HEAD_ROWS).toArrow()
        head = head.rename_columns(names)
        heads.append(head.drop_columns([ID]))
        if head.num_rows < witness_rows.HEAD_ROWS:
            continue  # they are all there
        found = source.df.mapInArrow(work, source.df.schema).repartition(1)
        found = found.mapInArrow(work, source.df.schema).toArrow().rename_columns(names)
        last = head.column(ID)[-1]
        found = found.filter(pa.compute.greater(found.column(ID), last))
        others.append(found.drop_columns([ID]))
    label = sources[0].label
    return table_rows([*heads, *others], p=p, label=label, **options)


@dataclass(frozen=True)
class RowFrame:
    """Packed rows with their ids and numbers, and which of them are equal.

    Attributes
    ----------
    rows : ArrowRows
        How they are compared.
    packed : DataFrame
        All rows: id, row (its number), digest, at, values and empty.
    n_rows, n_empty : int
        How many there are; of these, rows of zeros where they are compared.
    """

    rows: ArrowRows
    packed: Any
    n_rows: int
    n_empty: int

    @classmethod
    def of(cls, source: Source, rows: ArrowRows, steps: Steps, name: str) -> RowFrame:
        """Read, packed and kept."""
        sql = pyspark_or_error()
        F, T = sql.functions, sql.types
        places = [str(source.names.index(each)) for each in rows.names]
        df = numbered(source.df.select(column(ID), *map(column, places)), source.found[0])
        binary = [T.StructField(each, T.BinaryType()) for each in ("digest", "at", "values")]
        kind = df.schema[ID].dataType
        schema = T.StructType(
            [T.StructField("id", kind), T.StructField("row", T.LongType()), *binary]
        )
        schema = schema.add("empty", "boolean")
        packed = steps.keep(df.mapInArrow(PackRows(rows), schema), f"{name}rows")
        refuse_other_ids(source.found, packed, source.id, source.label)
        refuse_equal_ids(packed, source.id, source.label)
        if rows.p != 1.0:
            peaks = packed.select("at", "values").mapInArrow(Peaks(rows), "peak double")
            rows = rows.with_peak(peaks.agg(F.max("peak")).first()[0] or 1.0)
        n_empty = packed.where("empty").count()
        return cls(rows, packed, source.found[0], n_empty)

    def groups(self) -> Any:
        """Rows that have equals: (row, first, last), the ends of their group."""
        F = pyspark_or_error().functions
        known = self.packed.select("row", "digest").where("digest is not null")
        ends = known.groupBy("digest").agg(
            F.min("row").alias("first"), F.max("row").alias("last"), F.count("*").alias("many")
        )
        ends = ends.where("many > 1").drop("many")
        return known.join(ends, "digest").select("row", "first", "last")

    def distinct(self, groups: Any) -> tuple[Any, int, int]:
        """The packed rows without later ones of `groups`; how many; of these, not zeros alone."""
        later = groups.where("row <> first").select("row")
        n_rows = self.n_rows - later.count()
        rows = self.packed.join(later, "row", "left_anti")
        n_empty = rows.where("empty").count() if self.n_empty else 0
        return rows, n_rows, n_rows - n_empty

    def first(self, df: Any, count: int) -> Any:
        """The first rows of some of these frames, by number, as a matrix."""
        some = df.select("row", "at", "values").orderBy("row").limit(count)
        table = some.drop("row").toArrow()
        return self.rows.unpacked(table["at"], table["values"])

    def ids_of(self, df: Any, *pairs: tuple[str, str]) -> Any:
        """A frame with ids in place of numbers: (the name of the number, the name of its id)."""
        kind = self.packed.schema["id"].dataType
        names = dict(pairs)
        if kind.simpleString() != "string":
            return df.select(
                *(
                    column(each).cast(kind).alias(names[each]) if each in names else column(each)
                    for each in df.columns
                )
            )
        order = [names.get(each, each) for each in df.columns]
        for number, id in pairs:
            known = self.packed.select(column("row").alias(number), column("id").alias(ID))
            df = df.join(known, number).drop(number).withColumnRenamed(ID, id)
        return df.select(*map(column, order))


# -- What workers do


@dataclass(frozen=True)
class Witnesses:
    """The rows that show all that is learned of a table."""

    names: list[str]  # of the columns
    max_categories: int
    categorical: tuple[str, ...]

    def __call__(self, batches: Batches) -> Batches:
        numbers = [ID, *map(str, range(len(self.names) - 1))]
        named = (_named(batch.columns, self.names) for batch in batches)
        for found in witness_rows.witnesses(named, self.max_categories, self.categorical, ids=ID):
            yield _named(found.columns, numbers)


@dataclass(frozen=True)
class PackRows:
    """Rows as binary values, with their digests."""

    rows: ArrowRows

    def __call__(self, batches: Batches) -> Batches:
        pa = columnar.pyarrow_or_error("Spark")
        for batch in batches:
            features = [name for name in batch.schema.names if name not in (ID, PLACE)]
            columns = [batch.column(name) for name in features]
            X = self.rows.matrix(_named(columns, self.rows.names))
            at, values = self.rows.packed(X)
            made = {
                "id": batch.column(ID),
                "row": batch.column(PLACE),
                "digest": self.rows.digests(X),
                "at": at,
                "values": values,
                "empty": pa.array(self.rows.empty(X)),
            }
            yield pa.RecordBatch.from_arrays([*made.values()], names=[*made])


@dataclass(frozen=True)
class Peaks:
    """The largest value of the rows of each batch."""

    rows: ArrowRows

    def __call__(self, batches: Batches) -> Batches:
        pa = columnar.pyarrow_or_error("Spark")
        for batch in parts(batches):
            X = self.rows.unpacked(batch["at"], batch["values"])
            peak = np.array([self.rows.largest(X)])
            yield pa.RecordBatch.from_arrays([pa.array(peak)], names=["peak"])


def parts(batches: Batches, most: int | None = None) -> Batches:
    """Batches of packed rows in parts that a worker unpacks together; none is empty."""
    for batch in batches:
        rows = AT_ONCE * batch.num_rows // max(1, batch.nbytes)
        rows = max(1, rows if most is None else min(rows, most))
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def _named(columns: Sequence[Any], names: Sequence[str]) -> Any:
    """A batch of columns by other names."""
    pa = columnar.pyarrow_or_error("Spark")
    return pa.RecordBatch.from_arrays(list(columns), names=list(names))
