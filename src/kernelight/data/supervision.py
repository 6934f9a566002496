"""Target values of columns with many words: the targets that they need, and the encoding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.encoded_columns import EncodedTarget
from kernelight.data.encoding import Encoding
from kernelight.data.missing_targets import missing_targets, with_targets
from kernelight.data.table_source import Block, Categorical, ColumnSelection
from kernelight.data.target_values import AllRows, CrossFit, RowIndices, TargetMeans


@dataclass(frozen=True)
class KnownTargets:
    """Targets that are kept apart from the rows, and weights.

    ``rows`` are class numbers (n,) or quantities (n, m).
    """

    outputs: TargetMeans
    rows: NDArray[Any]
    weight: NDArray[np.float64] | None = None

    @classmethod
    def of_classes(cls, labels: Sequence[Any], numbers: NDArray[Any], weight: Any) -> KnownTargets:
        """Of the classes ``labels``, by their numbers."""
        return cls(TargetMeans.of_classes(labels), numbers, weight)

    @classmethod
    def of_quantities(cls, values: NDArray[Any], weight: Any) -> KnownTargets:
        """Of one target (n,) or several (n, m)."""
        rows = values.reshape(len(values), -1)
        count = rows.shape[1]
        names = ["target"] if count == 1 else [f"target {at + 1}" for at in range(count)]
        return cls(TargetMeans.of_quantities(names), rows, weight)


@dataclass(frozen=True)
class Relearning:
    """Training rows whose target values can be learned again without some of them.

    A search holds these out. Otherwise the values of the other rows would contain the targets of
    those held out, and a model would seem better than it is.
    """

    encoding: Encoding
    fit: CrossFit

    def __call__(
        self, X: NDArray[Any], rows: NDArray[np.intp], held: NDArray[np.intp]
    ) -> NDArray[Any]:
        """Some rows of all features X, with target values learned without the rows ``held``."""
        assert self.fit.all_rows is not None
        away = np.zeros(self.fit.n_rows, dtype=bool)
        away[held] = True
        again = self.fit.relearned(away)
        columns = dict(zip(self.fit.names, self.fit.all_rows.columns, strict=True))
        features, place = X[rows], 0
        for column in self.encoding.columns or ():
            if column.targets is not None:
                words = columns[column.name]
                values = again.of_training(
                    column.name, Categorical(words.codes[rows], words.values), rows
                )
                column.put_values(features, place, values)
            place += column.width
        return features


@dataclass(frozen=True)
class Supervision:
    """That the target of training rows may be used for their features.

    ``known`` gives the targets if they are no column of the data set. Rows that are ``held_out``
    are not learned from. If all rows come at once, ``keep`` is given what can learn the values
    again without some of them.
    """

    known: Callable[[], KnownTargets] | None = None
    held_out: Callable[[RowIndices], NDArray[np.bool_]] | None = None
    keep: Callable[[Relearning], None] | None = None

    def fitted(
        self,
        encoding: Encoding,
        words: Mapping[str, Sequence[str]],
        limit: int,
        selection: ColumnSelection,
        blocks: Callable[[ColumnSelection], Iterable[Block]],
        label: str,
    ) -> tuple[Encoding, CrossFit | None]:
        """The encoding with target values, and what training rows have instead of these.

        ``words`` are those of each column, the most frequent first; ``blocks`` reads the rows. A
        target of more than ``limit`` classes would become more columns than frequent words do, and
        none are made.
        """
        if (
            not words
            or encoding.columns is None
            or (self.known is None and encoding.target is None)
        ):
            return encoding, None
        known = None if self.known is None else self.known()
        outputs = _outputs(encoding.target) if known is None else known.outputs
        if len(outputs.names) > limit:
            return encoding, None
        fit = CrossFit(words, outputs, self.held_out)
        place = 0
        parts: list[AllRows] = []
        only = replace(
            selection, numbers=(), dates=(), ids=None, words=tuple(fit.names), limit=None
        )
        for block in blocks(only):
            columns: Sequence[Categorical] = block.words
            if known is None:
                gone = missing_targets(block)
                target = _target(block, gone, encoding, label)
                columns = [Categorical(column.codes[~gone], column.values) for column in columns]
                weight = None
            else:
                rows = slice(place, place + block.n_rows)
                target = known.rows[rows]
                weight = None if known.weight is None else known.weight[rows]
            fit.add(columns, target, np.arange(place, place + len(target)), weight)
            place += len(target)
            if self.keep is not None and len(parts) < 2:
                parts.append(AllRows(columns, target, weight))
        fit.settle()
        encoding = encoding.with_target_values(fit.values)
        if self.keep is not None and len(parts) == 1 and fit.values:
            fit.all_rows = parts[0]
            self.keep(Relearning(encoding, fit))
        return encoding, fit


def words_alone(block: Block, has: ColumnSelection, wanted: ColumnSelection) -> Block:
    """A block without its numbers and dates, with the columns of words that are wanted."""
    words = dict(zip(has.words, block.words, strict=True))
    numbers = np.zeros((block.n_rows, 0))
    return replace(
        block, numbers=numbers, dates=None, words=tuple(words[name] for name in wanted.words)
    )


def _outputs(target: EncodedTarget | None) -> TargetMeans:
    assert target is not None
    return (
        TargetMeans.of_quantities([target.name])
        if target.labels is None
        else TargetMeans.of_classes(target.labels)
    )


def _target(block: Block, gone: NDArray[np.bool_], encoding: Encoding, label: str) -> NDArray[Any]:
    """Class numbers, or quantities, of the rows that have a target."""
    assert encoding.target is not None
    if gone.all():
        values = np.zeros(0)
    else:
        whole = encoding.apply_target(with_targets(block, gone) if gone.any() else block, label)
        assert whole is not None
        values = whole[~gone]
    if encoding.target.labels is None:
        return values.reshape(-1, 1)
    return (
        np.searchsorted(np.array(encoding.target.labels), values)
        if len(values)
        else values.astype(np.int64)
    )
