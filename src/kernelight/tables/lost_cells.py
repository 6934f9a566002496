"""Rows that differ in the file and would be compared as equal: they are refused, in a sentence.

A column may be no feature (ids, free text), its rare words may share one, and its numbers may be
more than double precision holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelight.base.checks import Matrix
from kernelight.data import DataError, Dataset
from kernelight.data.errors import shown
from kernelight.data.exact_integers import INEXACT
from kernelight.data.table_source import NUMBER


def refuse_lost_columns(data: Dataset, reading_options: dict[str, Any]) -> None:
    """Refuse to compare rows without columns that the user has not left out."""
    try:
        encoding = data.encoding
    except DataError as error:
        if "has no features" not in str(error):
            raise
        raise DataError(f"{str(error).rstrip('.')}, and --text NAME compares it as text.") from None
    known = {*(data.columns or ())}
    lost = [
        name
        for name in encoding.ignored
        if name not in reading_options.get("ignore", ()) and name in known
    ]
    if lost:
        raise DataError(
            f"{data.name}: column {shown(lost[0])} is no feature, as ids, free text and columns "
            "without values are not, and rows that differ only there would count as equal: "
            f"--text {lost[0]} compares it as text, --ignore {lost[0]} leaves it out."
        )
    many = next((column.name for column in encoding.columns or () if column.others), None)
    if many is not None:
        raise DataError(
            f"{data.name}: column {shown(many)} has more words than have a feature each, and rows "
            f"that differ only in rare words would count as equal: --text {many} compares it as "
            f"text, --max-categories allows more, --ignore {many} leaves it out."
        )


class RoundedNumbers:
    """Refuses numbers that double precision cannot hold, where a file has them.

    Rows are looked at as they are read; the text of a column only if it may have such numbers.
    """

    def __init__(self, data: Dataset) -> None:
        self._data = data
        self._looked_at: set[str | None] = set()
        self._places: list[tuple[str, int]] = []
        place = 0
        for column in data.encoding.columns or ():
            if column.kind == NUMBER:
                self._places.append((column.name, place))
                if column.name in data.decimals:
                    self._look(column.name)
            place += column.width

    def look(self, X: Matrix) -> None:
        """Look at more rows of features."""
        if sp.issparse(X):
            if X.nnz and np.abs(X.data).max() >= INEXACT:
                self._look(None)
            return
        if not self._places or not X.shape[0]:
            return
        size = np.maximum(X.max(axis=0), -X.min(axis=0))
        for name, place in self._places:
            if size[place] >= INEXACT:
                self._look(name)

    def _look(self, name: str | None) -> None:
        if name in self._looked_at:
            return
        self._looked_at.add(name)
        found = self._data.rounded(name)
        if found is None:
            return
        number, where = found
        where = f"{self._data.name}, {where}"
        if name is None:
            raise DataError(
                f"{where}: {number} is beyond 2^53, where different whole numbers become the same "
                f"in double precision, and rows that differ only there would count as equal."
            )
        raise DataError(
            f"{where}, column {shown(name)}: {number} has more digits than double precision holds, "
            f"and rows that differ only there would count as equal: --text {name} compares it as "
            f"text, --categorical {name} reads words, --ignore {name} leaves it out."
        )
