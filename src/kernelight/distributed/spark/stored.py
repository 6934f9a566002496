"""Frames that are kept while something is computed: by Spark, or in a folder.

A chain of frames in which each is computed of the one before must be cut: what Spark notes of a
chain doubles with each link. In a folder that all machines reach it is cut for good. Without one it
is cut where executors keep the frame themselves (`localCheckpoint`): then what an executor has kept
is lost with it, and the chain must be gone through again (`is_lost` says when).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_MADE = "kernelight-"  # what the names of our folders begin with


@contextmanager
def storing(spark: Any, folder: str | None) -> Iterator[Stored]:
    """What keeps frames, and forgets them in the end."""
    made = Stored(spark, folder)
    try:
        yield made
    finally:
        made.forget()


class Stored:
    """Keeps frames; see `storing`."""

    def __init__(self, spark: Any, folder: str | None) -> None:
        self._spark, self._folder = spark, folder
        self._persisted: list[Any] = []
        self._paths: dict[str, list[tuple[str, Any]]] = {}

    def persisted(self, frame: Any) -> Any:
        """The frame, which Spark keeps and computes again where it is lost."""
        self._persisted.append(frame.persist())
        return frame

    def written(self, name: str, frame: Any) -> Any:
        """The rows of a frame, from a file if there is a folder."""
        return frame if self._folder is None else self._filed(name, frame)

    def cut(self, name: str, frame: Any) -> Any:
        """The rows of a frame, computed now. The one before the last of a name is forgotten."""
        return frame.localCheckpoint() if self._folder is None else self._filed(name, frame)

    def _filed(self, name: str, frame: Any) -> Any:
        paths = self._paths.setdefault(name, [])
        path = f"{self._folder}/{_MADE}{name}-{len(paths) % 2}"
        frame.write.mode("overwrite").parquet(path)
        paths.append((path, frame.schema))
        return self._spark.read.schema(frame.schema).parquet(path)

    def forget(self) -> None:
        """Forget all frames."""
        for frame in self._persisted:
            frame.unpersist()
        for path, schema in (pair for paths in self._paths.values() for pair in paths[:2]):
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:  # where only Spark can write: what cannot be removed is made empty
                nothing = self._spark.createDataFrame([], schema)
                nothing.coalesce(1).write.mode("overwrite").parquet(path)


def is_lost(error: Exception) -> bool:
    """Whether an error says that a frame was lost with the executor that kept it."""
    return "checkpoint block" in str(error).lower()
