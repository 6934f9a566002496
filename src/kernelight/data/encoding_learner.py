"""`Learner`: learns an encoding from blocks of training rows, by the rules of `encoding`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.data.dates import DateLearner
from kernelight.data.encoded_columns import EncodedColumn, EncodedTarget
from kernelight.data.encoding import (
    CLASSIFICATION,
    MAX_CATEGORIES,
    MAX_LABELS,
    MEDIAN_ROWS,
    REGRESSION,
    Encoding,
)
from kernelight.data.errors import DataError, shown
from kernelight.data.exact_integers import as_doubles, labels_of, refuse_rounded
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    Block,
    Categorical,
    ColumnSelection,
)
from kernelight.data.tasks import may_be_classes
from kernelight.data.units import Signs
from kernelight.data.word_counts import WordCounts, too_many_words

MOST_SAID = 3  # columns of which an error says why they were left out


class Learner:
    """Learns an encoding from blocks of training rows, whatever their sizes."""

    def __init__(
        self,
        label: str,
        selection: ColumnSelection,
        order: Sequence[str] | None,
        task: str | None,
        formats: Mapping[str, str] | None = None,
        max_categories: int = MAX_CATEGORIES,
        signs: Mapping[str, Signs] | None = None,
    ) -> None:
        self._formats, self._signs = formats or {}, signs or {}
        self._label, self._selection, self._order, self._task = label, selection, order, task
        self._heads: list[NDArray[Any]] = []
        self._head_rows = self._rows = self._width = 0
        self._words = {name: WordCounts(max_categories) for name in selection.words}
        self._dates = [DateLearner() for _ in selection.dates]
        self._labels: set[Any] = set()
        # Rows whose target is missing, and where the first is.
        self._without_target, self._first_without = 0, ""
        # whether classes are still collected
        self._classes = selection.target is not None and task != REGRESSION

    def add(self, block: Block) -> None:
        """Look at more rows."""
        for at, dates in enumerate(self._dates):
            assert block.dates is not None
            dates.add(block.dates[:, at], max(0, MEDIAN_ROWS - self._rows))
        self._rows += block.n_rows
        if sp.issparse(block.numbers):
            self._width = max(self._width, block.numbers.shape[1])
        elif self._head_rows < MEDIAN_ROWS:
            self._heads.append(block.numbers[: MEDIAN_ROWS - self._head_rows].copy())
            self._head_rows += len(self._heads[-1])
        for (name, counts), words in zip(self._words.items(), block.words, strict=True):
            counts.add(words)
            if self._selection.limit is not None and len(counts) > self._selection.limit:
                raise too_many_words(self._label, name, self._selection.limit)
        if self._classes:
            self._add_labels(block.target)
            self._count_missing(block)

    def _count_missing(self, block: Block) -> None:
        target: Any = block.target
        gone = target.codes < 0 if isinstance(target, Categorical) else np.isnan(as_doubles(target))
        count = int(gone.sum())
        if count and not self._without_target:
            self._first_without = block.locate(block.first_row + int(np.argmax(gone)))
        self._without_target += count

    def _add_labels(self, target: Any) -> None:
        if isinstance(target, Categorical):
            self._labels.update(target.values)
        else:
            values = np.unique(target[np.isfinite(as_doubles(target))])
            if self._task is None and not may_be_classes(values, self._labels):
                self._classes = False
                return
            refuse_rounded(values, str(self._selection.target), self._label)
            self._labels.update(values.tolist())
        if len(self._labels) > MAX_LABELS:
            raise DataError(
                f"{self._label}: the target {shown(str(self._selection.target))} has more than "
                f"{MAX_LABELS} classes."
            )

    @property
    def satisfied(self) -> bool:
        """Whether no further row can change what was learned."""
        return (
            self._order is not None
            and not self._selection.words
            and not self._selection.dates
            and not self._classes
            and self._head_rows >= MEDIAN_ROWS
        )

    @property
    def many_words(self) -> dict[str, list[str]]:
        """The words of columns with too many of them, the most frequent first."""
        return {name: words.by_frequency for name, words in self._words.items() if words.others}

    def notes(self, encoding: Encoding) -> dict[str, str]:
        """What is to be said of columns with too many words."""
        by_target = {column.name for column in encoding.columns or () if column.targets is not None}
        return {
            name: words.note(name in by_target)
            for name, words in self._words.items()
            if words.others
        }

    def encoding(
        self, why_left_out: Mapping[str, str] = MappingProxyType({}), **more: Any
    ) -> Encoding:
        """What was learned; ``why_left_out`` is what is said of columns left out by default."""
        if self._rows == 0:
            raise DataError(f"{self._label} has no rows.")
        target = self._encoded_target()
        dtype = np.dtype(self._selection.dtype).name
        if self._order is None and not (self._selection.width or self._width):
            raise DataError(f"{self._label} has no features: every row is empty.")
        if self._order is None:
            width = self._width if self._selection.width is None else self._selection.width
            return Encoding(None, width, target, dtype=dtype, **more)
        fills = dict(zip(self._selection.numbers, self._medians(), strict=True))
        recipes = {
            name: dates.recipe()
            for name, dates in zip(self._selection.dates, self._dates, strict=True)
        }

        def column(name: str) -> EncodedColumn:
            format = self._formats.get(name)
            if name in fills:
                signs = self._signs.get(name, Signs())._asdict()
                return EncodedColumn(name, NUMBER, fill=fills[name], format=format, **signs)
            if name in recipes:
                return EncodedColumn(name, DATE, recipe=recipes[name], format=format)
            words = self._words[name]
            return EncodedColumn(
                name,
                CATEGORICAL,
                categories=words.categories,
                missing=words.missing,
                others=words.others,
            )

        columns = tuple(map(column, self._order))
        width = sum(column.width for column in columns)
        if width == 0:
            raise DataError(f"{self._label} has no features: {_without_features(why_left_out)}.")
        return Encoding(columns, width, target, dtype=dtype, **more)

    def _medians(self) -> list[float]:
        head = self._heads[0] if len(self._heads) == 1 else np.concatenate(self._heads)
        medians = []
        for at in range(head.shape[1]):
            values = head[:, at].astype(np.float64)
            values = values[~np.isnan(values)]
            medians.append(float(np.median(values)) if len(values) else 0.0)
        return medians

    def _encoded_target(self) -> EncodedTarget | None:
        selection = self._selection
        if selection.target is None:
            return None
        format = self._formats.get(selection.target)
        if not self._classes:
            return EncodedTarget(
                selection.target,
                selection.target_kind,
                REGRESSION,
                format=format,
                **self._signs.get(selection.target, Signs())._asdict(),
            )
        labels: list[Any] = sorted(self._labels)
        if selection.target_kind == NUMBER:
            labels = labels_of(labels, selection.target, self._label)
        if len(labels) < 2:
            values = f"one value only, {labels[0]!r}" if labels else "no value"
            if gone := self._without_target:
                rows = (
                    f"{counted(gone, 'row')}, the first in {self._first_without}"
                    if gone > 1
                    else self._first_without
                )
                values += f", and is missing in {rows}"
            raise DataError(
                f"{self._label}: the target {shown(selection.target)} has {values}; a classifier "
                f"needs at least two classes."
            )
        unit = self._signs.get(selection.target, Signs()).unit
        return EncodedTarget(
            selection.target,
            selection.target_kind,
            CLASSIFICATION,
            tuple(labels),
            format,
            unit=unit,
        )


def _without_features(left_out: Mapping[str, str]) -> str:
    """Why there is no feature, and what helps; ``left_out`` are columns left out by default."""
    if not left_out:
        return "every column is the target, an id or ignored"
    some = [*left_out.items()][:MOST_SAID]
    said = [f"column {shown(name)} is left out ({why})" for name, why in some]
    more = [f"{len(left_out) - MOST_SAID} more columns are left out"] * (len(left_out) > MOST_SAID)
    return (
        f"{', '.join([*said, *more])}; categorical=[{shown(some[0][0])}] keeps "
        f"{'it' if len(left_out) == 1 else 'such a column'} as words"
    )
