"""kernelight on Spark: the same codes, models and duplicates as on one machine, to the bit.

Everything goes through the DataFrame API, and works with Spark Connect too. The package must be
installed on the workers, in the version of the driver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kernelight.distributed.spark import scoring
from kernelight.distributed.spark.deduplication import SparkDuplicates, duplicates
from kernelight.distributed.spark.fitting import fit
from kernelight.distributed.spark.joins import SparkJoin, similarity_join
from kernelight.distributed.spark.scoring import encode, score

if TYPE_CHECKING:
    from kernelight.distributed.spark.transformer import ScoringTransformer

__all__ = [
    "ScoringTransformer",
    "SparkDuplicates",
    "SparkJoin",
    "duplicates",
    "encode",
    "fit",
    "score",
    "scoring",
    "similarity_join",
]


def __getattr__(name: str) -> Any:
    """The stage of a pipeline, which needs pyspark as soon as it is defined."""
    if name != "ScoringTransformer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kernelight.distributed.spark.engine import pyspark_or_error

    pyspark_or_error()
    return import_module("kernelight.distributed.spark.transformer").ScoringTransformer
