"""`score` and `encode`: predictions and codes of the rows of a Spark DataFrame.

A worker calls `TableModel.predict_arrow` or `TableMap.encode_arrow` with each batch of rows, so
that the result is that of one machine, whatever partitions, batches and retries there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kernelight import TableMap, TableModel
from kernelight.codes import Codes
from kernelight.data import columnar
from kernelight.distributed.spark.engine import (
    arrow_schema,
    check_columns,
    check_frame,
    chosen_columns,
    spark_fields,
    with_fields,
)
from kernelight.distributed.spark.frames import column
from kernelight.distributed.ticket import Ticket
from kernelight.tables import arrow_batches, predictions

CODES, FEATURES = "codes", "features"


def score(
    df: Any,
    model: TableModel,
    *,
    scores: bool = False,
    probabilities: bool = False,
    interval: float | None = None,
    features: str | None = None,
    keep: Sequence[str] | None = None,
) -> Any:
    """Predictions for the rows of a Spark DataFrame, which are made when they are asked for.

    Parameters
    ----------
    df : DataFrame
        The columns that the model knows, in any order; see `TableModel.predict_arrow`.
    model : TableModel
        A fitted model. Its file travels to the workers, and each process loads it once.
    scores, probabilities : bool, default=False
        Also arrays ``scores`` and ``probabilities``, in the order of ``model.classes_``.
    interval : float or None, default=None
        Also ``low`` and ``high``: intervals of this coverage, such as 0.9; of quantities only.
    features : str or None, default=None
        The name of a column of arrays, which have the numbers of all columns of a row in the order
        of training. A column of vectors becomes one by ``pyspark.ml.functions.vector_to_array``.
    keep : list of str or None, default=None
        The columns that pass through, such as the id; None is all. Fewer are faster.

    Returns
    -------
    DataFrame
        The columns that pass through, and ``prediction`` with whatever was asked for.

    See Also
    --------
    ScoringTransformer : The same as a stage of a pipeline.
    fit : A model of all rows.

    Examples
    --------
    On a session ``spark`` with a model of `TableModel`::

        df = spark.read.parquet("new.parquet")
        score(df, model, probabilities=True, keep=["id"]).write.parquet("scored.parquet")
    """
    check_frame(df)
    if not isinstance(model, TableModel):
        raise TypeError(
            f"model must be a fitted TableModel, got a {type(model).__name__}: fit one with "
            "TableModel().fit(table, target=...), or `kernelight fit`."
        )
    wanted = predictions.Wanted(probabilities, interval, scores)
    ticket = Ticket.of(model)
    wanted.refuse_lacking(model.model_)
    made = spark_fields(arrow_batches.prediction_schema(model.model_, wanted))
    names = chosen_columns(df, keep, [field.name for field in made])
    needed = _needed(df, model.encoding_, features)
    sent = list(dict.fromkeys([*names, *needed]))
    work = _Scoring(ticket, sent, names, features, wanted)
    return _mapped(df, made, work)


def encode(
    df: Any, fitted: Any, *, features: str | None = None, keep: Sequence[str] | None = None
) -> Any:
    """Codes of the rows of a Spark DataFrame, or their dense features, made when asked for.

    Parameters
    ----------
    df : DataFrame
        The columns that the map knows, in any order; see `TableMap.encode_arrow`.
    fitted : TableMap, TableModel, KernelClassifier, KernelRegressor or a feature map
        Whatever has a fitted map.
    features : str or None, default=None
        The name of a column of arrays, which have the numbers of all columns of a row.
    keep : list of str or None, default=None
        The columns that pass through, such as the id; None is all. Fewer are faster.

    Returns
    -------
    DataFrame
        The columns that pass through, and ``codes``, a binary value for each row that
        `Codes.from_binary` reads; of a map into dense features ``features``, an array of floats.

    See Also
    --------
    score : Predictions instead of codes.

    Examples
    --------
    On a session ``spark`` with a fitted `TableMap`::

        df = spark.read.parquet("rows.parquet")
        encode(df, fitted, keep=["id"]).write.parquet("codes.parquet")
    """
    check_frame(df)
    made = TableMap.of(fitted)
    name = CODES if made.has_codes else FEATURES
    pa = columnar.pyarrow_or_error("Spark")
    kind = pa.binary() if made.has_codes else pa.list_(pa.float32())
    names = chosen_columns(df, keep, [name])
    needed = _needed(df, made.encoding_, features)
    sent = list(dict.fromkeys([*names, *needed]))
    work = _Encoding(Ticket.of(made), sent, names, features)
    return _mapped(df, spark_fields(pa.schema([(name, kind)])), work)


def _needed(df: Any, encoding: Any, features: str | None) -> list[str]:
    """The columns that workers read; refuses those that are not there."""
    if features is not None:
        check_columns(df, [features])
        return [features]
    columns = None if encoding is None else encoding.columns
    if columns is None:
        raise ValueError(
            "This map or model knows no names of columns: features='...' names a column of arrays "
            "that have the numbers of a row."
        )
    names = [column.name for column in columns]
    check_columns(df, names)
    arrow_batches.check_schema(arrow_schema(df, names), encoding, "df")
    return names


def _mapped(df: Any, made: list[Any], work: _Work) -> Any:
    """The frame of what some work makes of the batches of a frame."""
    schema = with_fields(df, work.keep, made)
    # on the way columns have plain names: mapInArrow cannot take all that Spark has
    plain = (column(name).alias(f"c{at}") for at, name in enumerate(work.sent))
    return df.select(*plain).mapInArrow(work, schema)


@dataclass(frozen=True)
class _Work(ABC):
    """What a worker does with each batch: the columns that pass through, and what is made."""

    ticket: Ticket
    sent: list[str]  # the names of the columns that a worker gets
    keep: list[str]
    features: str | None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        pa = columnar.pyarrow_or_error("Spark")
        fitted = self.ticket.opened()
        for batch in batches:
            batch = batch.rename_columns(self.sent)
            made = self.made(fitted, batch)
            columns = [batch.column(name) for name in self.keep]
            yield pa.RecordBatch.from_arrays([*columns, *made.values()], names=[*self.keep, *made])

    @abstractmethod
    def made(self, fitted: Any, batch: Any) -> dict[str, Any]:
        """The columns that are made of a batch."""


@dataclass(frozen=True)
class _Scoring(_Work):
    wanted: predictions.Wanted

    def made(self, fitted: Any, batch: Any) -> dict[str, Any]:
        said = fitted.predict_arrow(batch, features=self.features, **self.wanted._asdict())
        return dict(zip(said.schema.names, said.columns, strict=True))


@dataclass(frozen=True)
class _Encoding(_Work):
    def made(self, fitted: Any, batch: Any) -> dict[str, Any]:
        encoded = fitted.encode_arrow(batch, features=self.features)
        if isinstance(encoded, Codes):
            return {CODES: encoded.to_binary()}
        return {FEATURES: arrow_batches.as_lists(encoded)}
