"""An `Index` of tables: rows of files are encoded alike, now and later.

The index keeps the `TableMap` that made features of columns. Ids are strings: those of a column, or
the numbers of rows counted from 1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base.files import FilePath
from kernelight.data import DataError
from kernelight.estimators.progress import Event, Watch, unwatched
from kernelight.neighbors import Index
from kernelight.tables.table_map import TableMap


class FoundRows(NamedTuple):
    """Rows of a table with similar rows of an index, each with its score and standard error."""

    row: NDArray[np.int64]
    row_ids: list[str] | None
    ids: NDArray[Any]
    scores: NDArray[np.float64]
    errors: NDArray[np.float64]


class TableIndex:
    """An index, and the map of tables that it keeps.

    >>> import os, tempfile
    >>> from kernelight import TableMap
    >>> from kernelight.tables.table_index import TableIndex
    >>> folder = tempfile.mkdtemp()
    >>> table, path = os.path.join(folder, "fruit.csv"), os.path.join(folder, "fruit.index")
    >>> with open(table, "w") as file:
    ...     _ = file.write("name,weight,size\\na,100,7\\nb,121,9\\nc,120,9\\n")
    >>> fruit = TableMap(n_components=256).fit(table, ids="name")
    >>> TableIndex.create(path, fruit, table, ids="name")
    3
    >>> with TableIndex.open(path) as index:
    ...     found = next(index.search(table, ids="name", k=2))
    >>> found.ids.tolist()
    ['a', 'c', 'b', 'c', 'c', 'b']
    """

    def __init__(self, index: Index, table_map: TableMap) -> None:
        self.index, self.table_map = index, table_map

    @classmethod
    def create(
        cls,
        path: FilePath,
        table_map: TableMap,
        data: Any,
        *,
        memory: int | str | None = None,
        watch: Watch = unwatched,
        settings: dict[str, Any] | None = None,
        **reading_options: Any,
    ) -> int:
        """Make an index of the rows of a table; returns how many.

        ``settings`` are arguments of `Index.create`. If it fails or is interrupted, or the process
        is killed, there is no index, and it can be created again at the same place.
        """
        if not table_map.has_codes:
            raise ValueError(
                f"{type(table_map.map_).__name__} gives dense features, and an index takes codes: "
                f"choose another kernel or method."
            )
        index = Index.create(
            path, table_map.map_, attached=table_map.to_state(), deferred=True, **(settings or {})
        )
        with cls(index, table_map) as made:
            return made.add(data, numbered=True, memory=memory, watch=watch, **reading_options)

    @classmethod
    def open(cls, path: FilePath, mode: str = "r", *, n_jobs: int | None = None) -> TableIndex:
        """Open an index of tables."""
        index = Index.open(path, mode, n_jobs=n_jobs)
        try:
            if index.attached is None:
                raise ValueError(
                    f"{os.fsdecode(path)} was not made of a table, so that it does not know how "
                    "columns become features: open it with Index.open."
                )
            return cls(index, TableMap.from_state(index.attached))
        except BaseException:
            index.close()
            raise

    def __enter__(self) -> TableIndex:
        self.index.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.index.__exit__(*error)

    def _batches(
        self, data: Any, memory: int | str | None, reading_options: dict[str, Any]
    ) -> Iterator[tuple[int, Any, list[str] | None]]:
        """The number of rows before a batch, its scaled rows, and their ids."""
        n_rows = 0
        for X, ids in self.table_map.row_batches(data, memory=memory, **reading_options):
            yield n_rows, self.table_map.scaling_(X), ids
            n_rows += X.shape[0]

    def add(
        self,
        data: Any,
        *,
        replace: bool = False,
        numbered: bool = False,
        memory: int | str | None = None,
        watch: Watch = unwatched,
        **reading_options: Any,
    ) -> int:
        """Add the rows of a table; returns how many. They are durable after `Index.commit`.

        ``numbered`` takes numbers of rows for ids where there is no column of ids.
        """
        n_rows = 0
        for before, X, ids in self._batches(data, memory, reading_options):
            n_rows = before + X.shape[0]
            if ids is None and not numbered:
                raise DataError("Rows that are added need ids: name their column, ids='name'.")
            names = [str(row + 1) for row in range(before, n_rows)] if ids is None else ids
            self.index.add(names, X, replace=replace)
            watch(Event("adding", n_rows))
        return n_rows

    def search(
        self,
        data: Any,
        *,
        k: int | None = None,
        threshold: float | None = None,
        memory: int | str | None = None,
        watch: Watch = unwatched,
        **reading_options: Any,
    ) -> Iterator[FoundRows]:
        """Similar rows of the index for each row of a table, batch by batch.

        With ``k`` the most similar ones, or all if there are fewer.
        """
        if k is not None:
            k = min(k, max(1, len(self.index)))
        for before, X, ids in self._batches(data, memory, reading_options):
            found = self.index.search(X, k, threshold=threshold, return_std=True)
            if k is not None:
                query, place = np.nonzero(found[1] != -1.0)
                columns = [part[query, place] for part in found]
            else:
                query = np.repeat(np.arange(len(found[0])), [len(part) for part in found[0]])
                columns = [np.concatenate(list(part)) for part in found]
            names = None if ids is None else [ids[row] for row in query.tolist()]
            yield FoundRows(before + query, names, *columns)
            watch(Event("searching", before + X.shape[0]))
