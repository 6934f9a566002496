"""What the functions of this package ask of Spark: the module itself, schemas, and frames."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from kernelight.data import columnar
from kernelight.data.table_source import DATE, NUMBER


def pyspark_or_error() -> Any:
    """The module pyspark.sql; an error that says how to install it."""
    try:
        import pyspark.sql
    except ImportError as error:
        raise ImportError(
            "Spark needs pyspark, which is not there: pip install 'kernelight[spark]'."
        ) from error
    columnar.pyarrow_or_error("Spark")
    return pyspark.sql


@cache
def settle_worker() -> None:
    """Exempt what a worker process has loaded from garbage collection, once.

    Spark collects the garbage of a worker after each task, which otherwise looks at every object of
    every module: a tenth of a second, as long as a small task.
    """
    gc.collect()
    gc.freeze()


def check_frame(df: Any, name: str = "df") -> Any:
    """A DataFrame of Spark, classic or of Spark Connect."""
    pyspark_or_error()
    if not (hasattr(df, "mapInArrow") and hasattr(df, "schema")):
        made = type(df)
        origin = made.__module__.partition(".")[0]
        said = made.__name__ if origin == "builtins" else f"{made.__name__} of {origin}"
        raise TypeError(f"{name} must be a DataFrame of Spark, got a {said}.")
    return df


def check_columns(df: Any, names: Iterable[str], name: str = "df") -> None:
    """Refuse names that are no column, or several."""
    for each in names:
        found = df.columns.count(each)
        alike = [other for other in df.columns if other.lower() == each.lower()]
        if found == 1 and len(alike) > 1 and not _tells_cases(df):
            raise ValueError(
                f"{name} has columns {alike[0]!r} and {alike[1]!r}, which are the same name for "
                "Spark: rename or drop one."
            )
        if not found:
            raise ValueError(
                f"{name} has no column {each!r}; there are {', '.join(map(repr, df.columns))}."
            )
        if found > 1:
            raise ValueError(f"{name} has {found} columns {each!r}: rename or drop all but one.")


def check_kinds(df: Any, columns: Iterable[Any]) -> None:
    """Refuse columns of an encoding that are of another kind in a frame."""
    t = pyspark_or_error().types
    numbers = (t.NumericType, t.BooleanType, t.NullType, t.DayTimeIntervalType)
    dates = (t.DateType, t.TimestampType, t.TimestampNTZType, t.NullType)
    kinds = {NUMBER: ("numbers", numbers), DATE: ("dates", dates)}
    for each in columns:
        known, types = kinds.get(each.kind, ("", ()))
        found = df.schema[each.name].dataType
        if types and not isinstance(found, types):
            raise ValueError(
                f"df, column {each.name!r} is {found.simpleString()} where the model has {known}; "
                "cast the column before."
            )


def _tells_cases(df: Any) -> bool:
    return str(df.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"


def chosen_columns(df: Any, keep: Sequence[str] | None, made: Sequence[str]) -> list[str]:
    """The columns that pass through; refuses names that the result has already."""
    if isinstance(keep, str):
        raise TypeError(f"keep must be a list of names of columns, got {keep!r}.")
    names = list(df.columns if keep is None else keep)
    check_columns(df, names)
    if len(set(names)) < len(names):
        raise ValueError(f"keep names a column twice: {names!r}.")
    fold = str if _tells_cases(df) else str.lower
    for each in made:
        if each in map(fold, names):
            raise ValueError(
                f"df has a column {each!r} already, and the result has one of this name: rename "
                "or drop yours, or name the columns to keep."
            )
    return names


def spark_fields(schema: Any) -> list[Any]:
    """The fields of an Arrow schema as those of Spark."""
    sql = pyspark_or_error()
    from pyspark.sql.pandas.types import from_arrow_type

    return [
        sql.types.StructField(field.name, from_arrow_type(field.type), True) for field in schema
    ]


def with_fields(df: Any, names: Sequence[str], fields: Sequence[Any]) -> Any:
    """The Spark schema of some columns of a frame, and of more fields behind them."""
    sql = pyspark_or_error()
    return sql.types.StructType([*(df.schema[name] for name in names), *fields])
