"""`ScoringTransformer`: a fitted model as a stage of a pipeline of ``pyspark.ml``.

It is pure Python over `score`, so that it works with Spark Connect. What Spark saves of it are its
options, and the file of the model as one binary value, which goes wherever Spark writes.
"""

from __future__ import annotations

import os
from inspect import signature
from typing import Any

from pyspark.ml import Transformer
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)

from kernelight import TableModel
from kernelight.distributed.spark.scoring import score
from kernelight.distributed.ticket import Ticket

_OPTIONS, _CONTENT = "kernelight", "content"


class ScoringTransformer(Transformer, MLReadable["ScoringTransformer"], MLWritable):
    """A stage that adds the predictions of a model: `score` with these options.

    Parameters
    ----------
    model : TableModel
        A fitted model.
    **options
        Arguments of `score`, such as ``probabilities=True``.

    Attributes
    ----------
    model : TableModel
    options : dict

    See Also
    --------
    score : The same as a function.

    Examples
    --------
    As the last stage of a pipeline::

        from pyspark.ml import PipelineModel

        pipeline = PipelineModel([ScoringTransformer(model, probabilities=True)])
        pipeline.transform(df)
    """

    def __init__(self, model: TableModel, **options: Any) -> None:
        super().__init__()
        if not isinstance(model, TableModel):
            raise TypeError(f"model must be a fitted TableModel, got a {type(model).__name__}.")
        signature(score).bind(None, model, **options)  # refuses what `score` does not take
        self.model, self.options = model, options

    def _transform(self, dataset: Any) -> Any:
        return score(dataset, self.model, **self.options)

    def write(self) -> MLWriter:
        """What saves it, alone or in a pipeline."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[ScoringTransformer]:
        """What loads it."""
        return _Reader()


class _Writer(MLWriter):
    def __init__(self, stage: ScoringTransformer) -> None:
        super().__init__()
        self._stage = stage

    def saveImpl(self, path: str) -> None:  # noqa: N802 (Spark's name)
        spark = self.sparkSession
        ticket = Ticket.of(self._stage.model)
        options = {_OPTIONS: self._stage.options}
        DefaultParamsWriter.saveMetadata(self._stage, path, spark, extraMetadata=options)
        content = spark.createDataFrame([(bytearray(ticket.content),)], f"{_CONTENT} binary")
        content.coalesce(1).write.parquet(os.path.join(path, "model"))


class _Reader(MLReader[ScoringTransformer]):
    def load(self, path: str) -> ScoringTransformer:
        spark = self.sparkSession
        metadata = DefaultParamsReader.loadMetadata(path, spark)
        row = spark.read.parquet(os.path.join(path, "model")).first()
        if row is None:
            raise ValueError(f"{path} has no model: it was not written to the end.")
        stage = ScoringTransformer(
            Ticket.of_content(bytes(row[_CONTENT])).opened(), **metadata[_OPTIONS]
        )
        stage._resetUid(metadata["uid"])
        return stage
