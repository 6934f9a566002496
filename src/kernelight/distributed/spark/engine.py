"""What the functions of this package ask of Spark: the module itself, schemas, and frames."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from kernelight.data import DataError, columnar

_RAISED = re.compile(rf"^{re.escape(f'{DataError.__module__}.{DataError.__name__}')}: (.+)$", re.M)


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


@contextmanager
def sentences_of_workers() -> Iterator[None]:
    """Errors about data that a worker raised, as they would be raised here.

    Spark gives them as the end of a traceback, in an error of its own.
    """
    try:
        yield
    except Exception as error:
        found = _RAISED.findall(str(error))
        if not found or isinstance(error, DataError):
            raise
        raise DataError(found[-1]) from error


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


def arrow_schema(df: Any, names: Iterable[str]) -> Any:
    """Some columns of a frame as a schema of Arrow."""
    sql = pyspark_or_error()
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(sql.types.StructType([df.schema[name] for name in names]))


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
