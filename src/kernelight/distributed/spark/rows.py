"""Rows of a DataFrame that are to be learned from: counted, sampled, encoded.

Each row has a hash, of its id or of all that is in it, which says what sample and what block it is
in. So the same rows are always in the same places, however Spark has cut them into partitions.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.data import DataError, DataWarning, columnar
from kernelight.distributed.spark.blocks import BLOCK, ENCODED, HASH, ID, Encoding
from kernelight.distributed.spark.engine import check_columns, pyspark_or_error
from kernelight.distributed.spark.frames import changing, check_ids, column
from kernelight.distributed.ticket import Ticket
from kernelight.tables import arrow_batches
from kernelight.tables.block_training import EVERY_CLASS, BlockTraining, in_sample

NAME = "a DataFrame of Spark"
THERE, DRAW = "kernelight_there", "kernelight_draw"
LABEL, BOUND = "kernelight_label", "kernelight_bound"
MAX_LABELS = 100_000
SALT = 20_011  # so that the rows of the sample are in all blocks
SPREAD = 6.0  # standard deviations of a number of rows that a hash has chosen


class ClassRows(NamedTuple):
    """Some rows: how many they are, and a digest of their hashes in any order."""

    n_rows: int
    digest: int


def together(parts: Iterable[ClassRows]) -> ClassRows:
    """All rows of several parts."""
    n_rows, digest = 0, 0
    for each in parts:
        n_rows, digest = n_rows + each.n_rows, digest ^ each.digest
    return ClassRows(n_rows, digest)


class Label(NamedTuple):
    """The rows that have a value of the target, and the class that it is; None if it is missing."""

    class_: Any
    rows: ClassRows


class Facts(NamedTuple):
    """Of the rows that have a target: how many, and a digest; about how many different targets."""

    n_all: int
    n_rows: int
    digest: int
    n_targets: int


@dataclass(frozen=True)
class Rows:
    """The columns that are learned from, with a hash of each row that says where it goes."""

    frame: Any
    target: str
    id: str | None
    features: str | None
    columns: list[str]

    @classmethod
    def of(
        cls, df: Any, target: str, id: str | None, ignore: Sequence[str], features: str | None
    ) -> Rows:
        """Those of a frame of a user."""
        F = pyspark_or_error().functions  # what everyone calls it
        named = [name for name in (target, id, features) if name is not None]
        check_columns(df, [*named, *ignore])
        ours = [name for name in df.columns if name.startswith("kernelight_")]
        if ours:
            raise ValueError(f"df has a column {ours[0]!r}, and such names are ours: rename it.")
        if len(set(named)) < len(named):
            raise ValueError("target, id and features must be different columns.")
        if target in ignore:
            raise ValueError(f"The column {target!r} is the target, and ignore leaves it out.")
        if _is_a(df, target, "ArrayType", "StructType", "MapType", "BinaryType", "VariantType"):
            kind = df.schema[target].dataType.simpleString()
            raise ValueError(f"The target {target!r} is {kind}, and must be words or numbers.")
        if id is not None:
            check_ids(df, id)
        if features is not None:
            if not _is_a(df, features, "ArrayType"):
                raise ValueError(
                    f"The column {features!r} is {df.schema[features].dataType.simpleString()}, "
                    "and features must be arrays of numbers; vector_to_array of "
                    "pyspark.ml.functions makes them of vectors."
                )
            columns = [features]
        else:
            columns = _plain_columns(df, {*named, *ignore})
            check_columns(df, columns)
        hashed = [id] if id is not None else [*columns, target]
        there = column(target).isNotNull()
        if _is_a(df, target, "FloatType", "DoubleType"):
            there = there & ~F.isnan(column(target))
        own = [column(name) for name in [*columns, target]]
        own += [column(id).alias(ID)] if id is not None else []
        frame = df.select(*own, F.xxhash64(*map(column, hashed)).alias(HASH), there.alias(THERE))
        return cls(frame, target, id, features, columns)

    def is_text(self, name: str) -> bool:
        """Whether a column has text."""
        return _is_a(self.frame, name, "StringType", "VarcharType", "CharType")

    def refuse_fickle(self) -> None:
        """Refuse columns that are others when they are computed again."""
        if found := changing(self.frame):
            raise ValueError(
                f"df is computed with {found}(), which gives other values when partitions "
                "change or a worker is lost: write df to Parquet and fit what is read from there."
            )

    def facts(self) -> Facts:
        """What must be known of all rows."""
        F = pyspark_or_error().functions
        col = F.col
        found = [
            F.count("*").alias("n_all"),
            F.count_if(col(THERE)).alias("n_rows"),
            F.bit_xor(F.when(col(THERE), col(HASH))).alias("digest"),
            F.approx_count_distinct(F.when(col(THERE), column(self.target))).alias("n_targets"),
        ]
        if self.id is not None:
            found.append(F.count_if(col(ID).isNull()).alias("n_null"))
        (row,) = self.frame.agg(*found).collect()
        self._check_counts(row.n_all, row.n_rows, 0 if self.id is None else row.n_null)
        return Facts(row.n_all, row.n_rows, row.digest, row.n_targets)

    def _check_counts(self, n_all: int, n_rows: int, n_null: int) -> None:
        if not n_rows:
            raise DataError(
                f"{NAME} has no rows."
                if not n_all
                else f"{NAME}: the target {self.target!r} is missing in every row."
            )
        if n_null:
            raise ValueError(
                f"{counted(n_null, 'row')} of df have no id in {self.id!r}: give them one, or "
                "leave them out."
            )

    @property
    def learned(self) -> Any:
        """The rows that have a target."""
        return self.frame.where(pyspark_or_error().functions.col(THERE)).drop(THERE)

    def without(self, labels: list[Any]) -> Rows:
        """The rows of other classes."""
        if not labels:
            return self
        return replace(self, frame=self.frame.where(~column(self.target).isin(labels)))

    def labels(self, *, words: bool) -> tuple[Facts, dict[Any, Label]]:
        """What must be known of all rows, and the rows of each value of the target, with its class.

        ``words``: it is read as words.
        """
        F = pyspark_or_error().functions
        found = self.frame.groupBy(THERE, column(self.target)).agg(
            F.count("*").alias("n"),
            F.bit_xor(HASH).alias("digest"),
            (F.lit(0) if self.id is None else F.count_if(F.col(ID).isNull())).alias("n_null"),
        )
        groups = found.limit(MAX_LABELS + 3).toArrow()  # no value and NaN are groups too
        n_all, n_null = (sum(groups.column(name).to_pylist()) for name in ("n", "n_null"))
        table = groups.filter(groups.column(THERE))
        n_rows, digest = together(
            map(ClassRows, *(table.column(name).to_pylist() for name in ("n", "digest")))
        )
        self._check_counts(n_all, n_rows, n_null)
        if table.num_rows > MAX_LABELS:
            raise DataError(
                f"{NAME}: the target {self.target!r} has more than {MAX_LABELS:,} different "
                "values, which are too many classes."
            )
        values = table.column(self.target)
        classes = arrow_batches.target_words(values, self.target) if words else values.to_pylist()
        columns = (values, classes, table.column("n"), table.column("digest"))
        values, classes, counts, digests = (
            each if isinstance(each, list) else each.to_pylist() for each in columns
        )
        labels = {
            value: Label(class_, ClassRows(n, digest))
            for value, class_, n, digest in zip(values, classes, counts, digests, strict=True)
        }
        return Facts(n_all, n_rows, digest, len(labels)), labels

    def drawn(self, size: int, n_rows: int, labels: Mapping[Any, Label]) -> Any:
        """A fair sample of ``size`` rows as an Arrow table, and the first rows of each class.

        Each row has a number, which is a hash; the rows with the least numbers are in the sample,
        in the order of these numbers.
        """
        pa = columnar.pyarrow_or_error("Spark")
        sql = pyspark_or_error()
        F = sql.functions
        rows = self.learned.withColumn(DRAW, F.xxhash64(F.lit(SALT), F.col(HASH)))
        least = _bound(size, n_rows)
        bound = F.lit(least)
        # of rare classes more rows are drawn
        bounds = [(value, _bound(EVERY_CLASS, each.rows.n_rows)) for value, each in labels.items()]
        bounds = [(value, more) for value, more in bounds if more > least]
        if bounds:
            types = sql.types
            kind = self.frame.schema[self.target].dataType
            schema = types.StructType(
                [types.StructField(LABEL, kind), types.StructField(BOUND, types.LongType())]
            )
            known = self.frame.sparkSession.createDataFrame(bounds, schema)
            rows = rows.join(F.broadcast(known), column(self.target) == F.col(LABEL), "left")
            bound = F.greatest(bound, F.col(BOUND))  # which passes over null
        table = rows.where(F.col(DRAW) <= bound).drop(BOUND, LABEL).toArrow()
        order = [(DRAW, "ascending"), *([(ID, "ascending")] if self.id is not None else [])]
        table = table.sort_by(order).combine_chunks()
        kept = pa.array(in_sample(len(table), size, table.column(self.target) if labels else None))
        table = table.filter(kept).select([*self.columns, self.target])
        return table if self.features is None else self._spread_out(table)

    def _spread_out(self, table: Any) -> Any:
        """The numbers of arrays as columns."""
        pa = columnar.pyarrow_or_error("Spark")
        assert self.features is not None
        lists = table.column(self.features)
        width = len(lists[0].as_py() or [])
        X = arrow_batches.lists_matrix(lists, self.features, width)
        made = {f"{self.features}_{at}": X[:, at] for at in range(width)}
        return pa.table({**made, self.target: table.column(self.target)})

    def encoded(self, ticket: Ticket, training: BlockTraining, n_blocks: int) -> Any:
        """The rows as the solver takes them, those of a block together."""
        F = pyspark_or_error().functions
        known = training.model.encoding_.columns or ()
        needed = [self.features] if self.features else [each.name for each in known]
        keep = [BLOCK, HASH, *([ID] if self.id is not None else [])]
        names = F.array(*map(F.lit, block_names(n_blocks)))
        place = F.pmod(F.col(HASH), F.lit(n_blocks)).cast("int")
        rows = self.learned.withColumn(BLOCK, F.element_at(names, place + 1))
        # on the way columns have plain names: mapInArrow cannot take all that Spark has
        names_of_user = [*needed, self.target]
        plain = (column(name).alias(f"c{at}") for at, name in enumerate(names_of_user))
        work = Encoding(ticket, self.features, keep, names_of_user)
        return rows.select(*map(column, keep), *plain).mapInArrow(work, ENCODED)


def block_names(n_blocks: int) -> list[int]:
    """Numbers by which Spark puts each block into a partition of its own, of as many partitions.

    By 0, 1, 2, ... some partitions would have several blocks, and some workers nothing to do.
    """
    some = np.arange(64 * n_blocks)
    _, first = np.unique(spark_hash(some) % n_blocks, return_index=True)
    others = np.setdiff1d(some, first)[: n_blocks - len(first)]
    return sorted([*first.tolist(), *others.tolist()])


def spark_hash(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """What Spark's ``hash`` is of ints: MurmurHash3 of their 4 bytes with the seed 42, signed."""

    def times(words: Any, factor: int) -> Any:
        return words * np.uint64(factor) & np.uint64(0xFFFFFFFF)

    def turned(words: Any, bits: int) -> Any:
        return (words << np.uint64(bits) | words >> np.uint64(32 - bits)) & np.uint64(0xFFFFFFFF)

    words = times(turned(times(numbers.astype(np.uint64), 0xCC9E2D51), 15), 0x1B873593)
    words = times(turned(words ^ np.uint64(42), 13), 5) + np.uint64(0xE6546B64)
    words = words & np.uint64(0xFFFFFFFF) ^ np.uint64(4)  # their length
    for bits, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        words = times(words ^ words >> np.uint64(bits), factor)
    return np.asarray(words.astype(np.uint32).view(np.int32), dtype=np.int64)


def _is_a(df: Any, name: str, *types: str) -> bool:
    return type(df.schema[name].dataType).__name__ in types


def _plain_columns(df: Any, apart: set[str]) -> list[str]:
    """The columns of numbers, words and dates; a note names the others."""
    t = pyspark_or_error().types
    dates = (t.DateType, t.TimestampType, t.TimestampNTZType)
    kinds = (t.NumericType, t.StringType, t.BooleanType, *dates)
    columns: list[str] = []
    others: list[str] = []
    for field in df.schema.fields:
        if field.name not in apart:
            (columns if isinstance(field.dataType, kinds) else others).append(field.name)
    notes = [
        f"column {name!r}: {df.schema[name].dataType.simpleString()} is neither a number nor words "
        "nor a date; left out"
        for name in others
    ]
    if notes:
        warnings.warn(DataWarning(NAME, notes), stacklevel=5)
    if not columns:
        raise DataError(f"{NAME} has no column to learn from beside the target.")
    return columns


def _bound(size: int, n_rows: int) -> int:
    """The hash that at least ``size`` of ``n_rows`` rows do not exceed, almost certainly."""
    wanted = size + math.ceil(SPREAD * math.sqrt(size) + SPREAD)
    return min(wanted * 2**64 // n_rows, 2**64 - 1) - 2**63
