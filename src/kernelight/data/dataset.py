"""`Dataset`: rows that are somewhere, with everything that is known about them; read when asked, at
once or in batches.

Long for its examples: reading at once and in batches decide alike, and stand side by side for that.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import check_int
from kernelight.data.batches import Batch, cut, merged
from kernelight.data.decisions import (
    Decisions,
    OddValues,
    Unvarying,
    cell_rule,
    formatted_by,
    missing_targets,
    with_targets,
)
from kernelight.data.description import described
from kernelight.data.encoding import CLASSIFICATION, MAX_CATEGORIES, REGRESSION, Encoding
from kernelight.data.encoding_learner import Learner
from kernelight.data.errors import DataError, listed, nearest, shown
from kernelight.data.formatted import FormattedSource
from kernelight.data.reading_options import AUTO, ReadingOptions, date_target, target_column
from kernelight.data.supervision import Relearning, Supervision, words_alone
from kernelight.data.survey import missing_in_head, surveyed
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    Block,
    ColumnSelection,
    TableSource,
    joined,
    sliced,
)
from kernelight.data.target_values import CrossFit, Places, TrainingRows
from kernelight.data.text_formats import BOOLEAN, NUMERIC, WRITTEN

PART_VALUES = 1 << 19  # features that are made of a block at a time


class Dataset:
    """A data set that has been opened, not read: made by `open_dataset`.

    >>> from kernelight.data import open_dataset
    >>> data = open_dataset("wine")
    >>> data.n_features, data.task, data.target_name
    (13, 'classification', 'cultivar')
    >>> X, y = data.materialise()
    >>> X.shape, y[0]
    ((178, 13), np.str_('class_0'))
    >>> [len(batch.y) for batch in data.batches(rows=100)]
    [100, 78]
    """

    def __init__(
        self,
        source: TableSource,
        options: ReadingOptions,
        encoding: Encoding | None,
        supervision: Supervision | None = None,
    ) -> None:
        source.cells = cell_rule(options.missing, encoding)
        self._opened, self._options = source, options
        self._supervision = supervision
        self._cross_fit: CrossFit | None = None
        self._given = encoding
        self._encoding: Encoding | None = None
        self._formats: dict[str, str] = {}
        self._left_out: list[str] = []
        self._decided = Decisions(source.label, list(source.notes))
        if encoding is not None:
            known = {
                *options.ignore,
                *encoding.ignored,
                *(column.name for column in encoding.columns or ()),
            }
            self._decided.rename(pair for pair in source.renamed if pair[1] not in known)
            if options.strict:
                self._decided.refuse()
        self._source = (
            self._looked_at(source)
            if encoding is None
            else formatted_by(encoding, source, options.decimal)
        )
        self.rows_left_out = 0  # of the last reading: rows whose target is missing
        self._selection, self._order = (
            self._selected() if encoding is None else (self._selected_by(encoding), None)
        )
        self._ids: list[str] | None = None
        if encoding is not None:
            self._encoding = (
                encoding if self._selection.target is not None else replace(encoding, target=None)
            )

    # -- What is known
    # --------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What errors and reports call it: the path or the name it was opened by."""
        return self._source.label

    @property
    def n_bytes(self) -> int | None:
        """The size of the file that is read, packed as it is; None if it is no file."""
        return self._opened.n_bytes

    @property
    def _is_named_file(self) -> bool:
        """Whether it is a file with names for its columns: of those it is worth saying which are
        constant."""
        return self.n_bytes is not None and self._source.headed

    @property
    def encoding(self) -> Encoding:
        """The recipe from the columns to the features: the one given, or learned from all rows when
        first asked for."""
        if self._encoding is None:
            learner = self._learner()
            odd, same = (
                OddValues(self.name, self._given, self._opened.has_options),
                Unvarying(self._selection),
            )
            for block in self._source.blocks(self._selection):
                learner.add(block)
                odd.add(block)
                if self._is_named_file:
                    same.add(block)
                if learner.satisfied:
                    break
            else:
                odd.refuse_many()
                self._decided.notes += same.notes()
            self._encoding = self._learned(learner, self._source.blocks)
        return self._encoding

    @property
    def n_features(self) -> int:
        """How many columns X has."""
        return self.encoding.width

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns of the file, with that of a target that its format keeps apart;
        None for sparse rows.

        >>> from kernelight.data import open_dataset
        >>> open_dataset("iris").columns[-2:]
        ['petal width (cm)', 'species']
        """
        if self._source.columns is None:
            return None
        names = [column.name for column in self._source.columns]
        apart = self._source.target
        return names if apart is None or apart in names else [*names, apart]

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns of X; None for sparse rows."""
        return self.encoding.feature_names

    @property
    def target_name(self) -> str | None:
        """The column that is to be predicted, if there is one."""
        return self._selection.target

    @property
    def task(self) -> str | None:
        """ "classification" or "regression", as asked for or inferred; None without a target."""
        target = self.encoding.target
        return None if target is None else target.task

    @property
    def without_target(self) -> Dataset:
        """The same features without the target, which is then neither read nor checked."""
        return self if self._selection.target is None else self.leaving_out(self._selection.target)

    def supervised(
        self,
        held_out: Callable[[Places], NDArray[np.bool_]] | None = None,
        keep: Callable[[Relearning], None] | None = None,
    ) -> Dataset:
        """The same rows for a model to be trained on: columns of many words also become target
        values.

        A training row has the values of other rows, a new row those of all (see `target_values`).
        ``held_out`` says of numbers of rows, counted from 0 among those that have a target, which
        are not to be learned from; ``keep`` is for searches (see `Relearning`).
        """
        few = self._encoding is not None and not any(
            column.others for column in self._encoding.columns or ()
        )
        if self._given is not None or self._selection.target is None or few:
            return self
        supervision = Supervision(held_out=held_out, keep=keep)
        if self._encoding is not None:
            return Dataset(self._opened, self._options, None, supervision)
        made = copy.copy(self)
        made._supervision, made._decided = supervision, copy.deepcopy(self._decided)
        return made

    @property
    def cross_fit(self) -> CrossFit | None:
        """What training rows have instead of the target values of the encoding; None if there are
        no such values."""
        return self._cross_fit if self.encoding.has_target_values else None

    def holding_out(self, held_out: Callable[[Places], NDArray[np.bool_]]) -> Dataset:
        """The same training rows, with target values that are not learned from those that are held
        out."""
        if not self.encoding.has_target_values:
            return self
        made = copy.copy(self)
        made._encoding, made._cross_fit = self._fitted_again(
            Supervision(held_out=held_out), self._source.blocks
        )
        return made

    def relearning(self) -> Relearning | None:
        """What learns target values again without some rows; all rows must fit into memory."""
        if not self.encoding.has_target_values:
            return None
        kept: list[Relearning] = []
        self._fitted_again(
            Supervision(keep=kept.append),
            lambda selection: [joined(list(self._source.blocks(selection)), selection)],
        )
        return kept[0]

    def _fitted_again(
        self, supervision: Supervision, blocks: Callable[[ColumnSelection], Iterable[Block]]
    ) -> tuple[Encoding, CrossFit | None]:
        words = {
            c.name: c.targets.words for c in self.encoding.columns or () if c.targets is not None
        }
        bare = self.encoding.with_target_values({})
        return supervision.fitted(
            bare, words, self._options.max_categories, self._selection, blocks, self.name
        )

    def read_by(self, encoding: Encoding, *, target: bool = True) -> Dataset:
        """The same rows as new rows of a model, with or without their target; as they are if an
        encoding was given already."""
        if self._given is not None:
            return self
        options = self._options if target else replace(self._options, target=None)
        return Dataset(self._opened, options, encoding)

    def leaving_out(self, name: str) -> Dataset:
        """The same rows without a target, and without the column of that name, if there is one."""
        options = replace(self._options, target=None)
        if self._given is None and name in {column.name for column in self._source.columns or ()}:
            options = replace(options, ignore=(*options.ignore, name))
        return Dataset(self._opened, options, self._given)

    def describe(self) -> str:
        """What it is and what becomes of every column, in a few lines.

        >>> from kernelight.data import open_dataset
        >>> print(open_dataset("iris").describe())
        iris: 4 features
        4 columns 'sepal length (cm)', 'sepal width (cm)', 'petal length (cm)', 'petal width (cm)': numbers
        target 'species': classification, 3 classes: 'setosa', 'versicolor', 'virginica'
        """
        return described(self.name, self.encoding, self._decided.notes)

    def __repr__(self) -> str:
        return f"<Dataset {self.name}>"

    # -- Rows
    # -----------------------------------------------------------------------------------------------

    def materialise(self) -> tuple[Any, NDArray[Any] | None]:
        """All rows: X (dense, or CSR for sparse formats) and y (None without a target)."""
        block = self._source.whole(self._selection)
        odd = OddValues(self.name, self._given, self._opened.has_options)
        odd.add(block)
        odd.refuse_many()
        if self._encoding is None:
            learner, same = self._learner(), Unvarying(self._selection)
            learner.add(block)
            if self._is_named_file:
                same.add(block)
            self._encoding = self._learned(
                learner, lambda selection: [words_alone(block, self._selection, selection)]
            )
            self._decided.notes += same.notes()
        if block.n_rows == 0:
            raise DataError(f"{self.name} has no rows.")
        self.rows_left_out = 0
        batch = self._batch(block, self._encoding, 0)
        if not batch.X.shape[0]:
            raise self._no_targets()
        self._ids = batch.ids
        self._decided.tell(odd.notes(), self.rows_left_out)
        return batch.X, batch.y

    def _batch(self, block: Block, encoding: Encoding, first: int) -> Batch:
        """The features and targets of a block; rows whose target is missing are left out, or
        refused (strict).

        The first row that is left is the one of the number ``first`` among all that are.
        """
        gone = None if block.target is None or self._options.strict else missing_targets(block)
        training = None
        if self._cross_fit is not None:
            there = np.ones(block.n_rows, bool) if gone is None else ~gone
            training = TrainingRows(self._cross_fit, first + np.maximum(np.cumsum(there) - 1, 0))
        if gone is None or not gone.any():
            y = encoding.apply_target(block, self.name)
            return Batch(encoding.apply(block, training), y, block.ids)
        self.rows_left_out += int(gone.sum())
        keep = ~gone
        y = None
        if keep.any():
            y = encoding.apply_target(with_targets(block, gone), self.name)
        X = encoding.apply(block, training)[keep]
        ids = (
            None
            if block.ids is None
            else [name for name, kept in zip(block.ids, keep, strict=True) if kept]
        )
        return Batch(X, None if y is None else y[keep], ids)

    def _no_targets(self) -> DataError:
        return DataError(
            f"{self.name}: the target {shown(str(self.target_name))} is missing in every row."
        )

    def batches(self, rows: int = 8192) -> Iterator[Batch]:
        """The rows, so many at a time (the last batch may have fewer), in memory that does not grow
        with the file."""
        check_int("rows", rows, low=1)
        encoding = self.encoding
        waiting: list[Batch] = []
        count = total = 0
        odd = OddValues(self.name, self._given, self._opened.has_options)
        self.rows_left_out = 0
        blocks = _counted(
            self._source.blocks(self._selection),
            odd,
            max(256, PART_VALUES // max(1, encoding.width)),
        )
        for block in blocks:
            X, y, ids = self._batch(block, encoding, total)
            total += X.shape[0]
            start = 0
            while count + X.shape[0] - start >= rows:
                stop = start + rows - count
                waiting.append(cut(Batch(X, y, ids), start, stop))
                yield merged(waiting)
                waiting, count, start = [], 0, stop
            if start < X.shape[0]:
                waiting.append(cut(Batch(X, y, ids), start, X.shape[0]))
                count += X.shape[0] - start
        odd.refuse_many()
        if waiting:
            yield merged(waiting)
        if self.rows_left_out and not total:
            raise self._no_targets()
        self._decided.tell(odd.notes(), self.rows_left_out)

    @property
    def notes(self) -> list[str]:
        """What is decided without being asked, a sentence for each column; more may come when the
        rows are read.

        >>> from kernelight import open_dataset
        >>> open_dataset("iris").notes
        []
        """
        return list(self._decided.notes)

    @property
    def ids(self) -> list[str] | None:
        """The ids of all rows; None unless a column of ids was named."""
        if self._selection.ids is None:
            return None
        if self._ids is None:
            only = replace(self._selection, numbers=(), words=(), dates=())
            names = []
            for block in self._source.blocks(only):
                gone = None if block.target is None else missing_targets(block)
                names += [
                    name for at, name in enumerate(block.ids or []) if gone is None or not gone[at]
                ]
            self._ids = names
        return self._ids

    # -- Decisions
    # ------------------------------------------------------------------------------------------

    def _looked_at(self, source: TableSource) -> TableSource:
        """The source, with formats for what is written in columns of text; notes say what was
        decided."""
        self._source = source
        if source.columns is None:
            return source
        options = self._options
        names = [column.name for column in source.columns]
        target = target_column(options.target, self._source, self._opened, names) if names else None
        settled = {*options.ignore, *options.categorical, *([options.ids] if options.ids else [])}
        found = surveyed(
            source,
            settled,
            target,
            options.max_categories,
            raised=options.max_categories != MAX_CATEGORIES,
            decimal=options.decimal,
        )
        if found.target_date is not None:
            raise date_target(self.name, str(target), f" such as {shown(found.target_date)}")
        self._left_out = found.left_out
        self._decided.rename(pair for pair in source.renamed if pair[1] not in settled)
        said = options.strict and options.decimal is not None  # how numbers are written
        for name in names:
            if name in found.notes and not (said and found.formats.get(name) in NUMERIC):
                self._decided.decide(name, found.notes[name])
        for column in source.columns:
            if column.name in settled or column.name == target:
                continue
            if column.kind == DATE:
                self._decided.decide(column.name, "dates; they become numbers")
            elif column.kind not in (NUMBER, CATEGORICAL):
                self._left_out.append(column.name)
                self._decided.decide(
                    column.name, f"{column.kind} is neither a number nor words nor a date; left out"
                )
        if options.strict:
            self._decided.refuse(found, target, missing_in_head(source, target, found.kinds))
        if not found.formats and not found.kinds:
            return source
        self._formats = {
            name: form for name, form in found.formats.items() if form not in (BOOLEAN, WRITTEN)
        }
        return FormattedSource(source, found.formats, found.kinds)

    def _selected(self) -> tuple[ColumnSelection, list[str] | None]:
        """What to read, and the features in the order of the file, from the columns that there are
        and the wishes."""
        source, options = self._source, self._options
        width = options.n_features
        if source.columns is None:
            if options.ids or options.ignore or options.target not in (AUTO, None, source.target):
                raise DataError(
                    f"{self.name} has sparse rows without names: no column of it can be named."
                )
            target = source.target if options.target is not None else None
            return ColumnSelection(
                target=target, target_kind=source.target_kind, dtype=options.dtype, width=width
            ), None
        if width is not None:
            raise DataError(f"{self.name} has named columns; n_features is for sparse rows.")
        kinds = {column.name: column.kind for column in source.columns}
        if not kinds:
            raise DataError(f"{self.name} has no columns.")
        target = target_column(options.target, self._source, self._opened, list(kinds))
        target_kind = kinds.get(target, source.target_kind) if target is not None else NUMBER
        for name, use in [
            *((n, "to ignore") for n in options.ignore),
            *([(options.ids, "of ids")] if options.ids else []),
        ]:
            if name not in kinds:
                raise DataError(
                    f"{self.name}: there is no column {shown(name)} "
                    f"{use}{nearest(name, kinds) or '.'}"
                )
        if target is not None and (target == options.ids or target in options.ignore):
            raise DataError(
                f"{self.name}: column {shown(target)} cannot be the target and an id or ignored."
            )
        if target_kind == CATEGORICAL and options.task == REGRESSION:
            raise DataError(
                f"{self.name}: the target {shown(str(target))} is words; a regression needs "
                f"numbers."
            )
        left_out = {target, options.ids, *options.ignore, *self._left_out}
        features = [name for name in kinds if name not in left_out]
        if target is not None and target_kind == DATE:
            raise date_target(self.name, target)
        for name in [*features, *([target] if target in kinds else [])]:
            if kinds[name] not in (NUMBER, CATEGORICAL) and (name == target or kinds[name] != DATE):
                raise DataError(
                    f"{self.name}, column {shown(name)}: {kinds[name]} is neither a number nor "
                    f"words; convert it."
                )
        return ColumnSelection(
            numbers=tuple(name for name in features if kinds[name] == NUMBER),
            words=tuple(name for name in features if kinds[name] == CATEGORICAL),
            dates=tuple(name for name in features if kinds[name] == DATE),
            strict=options.strict,
            target=target,
            target_kind=target_kind,
            ids=options.ids,
            dtype=options.dtype,
            limit=options.max_categories if options.strict else None,
        ), features

    def _selected_by(self, encoding: Encoding) -> ColumnSelection:
        """What an encoding needs of this file."""
        source, asked = self._source, self._options.target
        names = None if source.columns is None else [column.name for column in source.columns]
        more = [*self._options.ignore, *([self._options.ids] if self._options.ids else [])]
        unknown = [] if names is None or encoding.columns is None else encoding.unknown(names, more)
        apart = source.target is not None and (names is None or source.target not in names)
        if apart and names is not None and encoding.target is not None:
            # a target that the format keeps apart, whatever it calls it
            names = [*names, encoding.target.name]
        selection = replace(encoding.selection(names, self.name, more), strict=self._options.strict)
        if unknown and self._options.strict:
            raise DataError(
                f"{self.name}: {listed(unknown)} not known to the model; ignore={unknown!r} leaves "
                f"them out."
            )
        if unknown:
            many = "columns" if len(unknown) > 1 else "column"
            self._decided.notes.append(
                f"{many} {listed(unknown)}: not known to the model; left out"
            )
        if names is None and not apart:
            selection = replace(selection, target=None)
        if self._options.ids is not None:
            if names is None or self._options.ids not in names:
                raise DataError(
                    f"{self.name}: there is no column {shown(self._options.ids)} of ids."
                )
            selection = replace(selection, ids=self._options.ids)
        if asked is None:
            selection = replace(selection, target=None)
        elif asked != AUTO and selection.target is None:
            raise DataError(f"{self.name}: there is no column {shown(str(asked))} for the target.")
        return selection

    def _learner(self) -> Learner:
        options = self._options
        return Learner(
            self.name,
            self._selection,
            self._order,
            options.task,
            self._formats,
            options.max_categories,
        )

    def _learned(
        self, learner: Learner, blocks: Callable[[ColumnSelection], Iterable[Block]]
    ) -> Encoding:
        """What was learned; ``blocks`` are the rows once more, for target values if there are any
        to learn."""
        columns = (
            () if self._source.columns is None else tuple(c.name for c in self._source.columns)
        )
        encoding = learner.encoding(
            ids=self._selection.ids,
            ignored=(*self._options.ignore, *self._left_out),
            file_columns=() if self._source.headed else columns,
            missing_words=self._options.missing,
            zero_based=self._options.zero_based,
            charset=self._options.charset,
        )
        if self._supervision is not None:
            encoding, self._cross_fit = self._supervision.fitted(
                encoding,
                learner.many_words,
                self._options.max_categories,
                self._selection,
                blocks,
                self.name,
            )
        for name, note in learner.notes(encoding).items():
            self._decided.decide(name, note)
        self._decided.look_at(encoding.target)
        return encoding


def _counted(blocks: Iterable[Block], odd: OddValues, rows: int) -> Iterator[Block]:
    """Blocks of at most so many rows, whose odd values have been counted."""
    for block in blocks:
        odd.add(block)
        yield from sliced(block, rows)


__all__ = ["AUTO", "CLASSIFICATION", "REGRESSION", "Batch", "Block", "Dataset", "ReadingOptions"]
