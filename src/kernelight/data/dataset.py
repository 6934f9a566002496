"""`Dataset`: the rows of a source and their encoding, read at once or in batches.

Long, because both ways of reading, and what is noted of the rows, must agree.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import check_int
from kernelight.data.batches import Batch, cut, merged
from kernelight.data.column_selection import selected, selected_by
from kernelight.data.copies import ShownText, copy_rows, refuse_copy, stored_texts
from kernelight.data.decisions import Decisions
from kernelight.data.description import described
from kernelight.data.encoded_source import (
    cell_rule,
    formatted_by,
    missing_words,
    otherwise_spelled,
    sign_notes,
)
from kernelight.data.encoding import MAX_CATEGORIES, REGRESSION, Encoding
from kernelight.data.encoding_learner import Learner
from kernelight.data.errors import DataError, listed, nearest, shown
from kernelight.data.first_rows import missing_in_head
from kernelight.data.formatted import FormattedSource
from kernelight.data.missing_targets import missing_targets, with_targets
from kernelight.data.observations import OddValues
from kernelight.data.observers import Observer, observers_of
from kernelight.data.reading_options import (
    ReadingOptions,
    date_target,
    guess_note,
    target_column,
    text_target,
)
from kernelight.data.rounded_numbers import first_rounded
from kernelight.data.supervision import Relearning, Supervision, words_alone
from kernelight.data.survey import SurveyOptions, surveyed
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    ArraySource,
    Block,
    ColumnSelection,
    TableSource,
    joined,
)
from kernelight.data.target_values import CrossFit, RowIndices, TrainingRows
from kernelight.data.text_formats import BOOLEAN, NUMERIC, WRITTEN
from kernelight.data.units import Signs

PART_VALUES = 1 << 19  # features that are made of a block at a time


class Dataset:
    """A data set that has been opened, not read: made by `open_dataset`.

    See Also
    --------
    kernelight.open_dataset : Opens one.
    Encoding : What becomes of its columns.

    Examples
    --------
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
        self._signs: dict[str, Signs] = {}
        self._left_out: list[str] = []
        self._why_left_out: dict[str, str] = {}
        self._decided = Decisions(source.label, list(source.notes))
        self.rows_left_out = 0  # of the last reading: rows whose target is missing
        self._ids: list[str] | None = None
        self._apart: tuple[str, ...] | None = None  # columns whose missing values are a feature
        self._order: list[str] | None = None
        if encoding is None:
            self._source = self._surveyed(source)
            self._selection, self._order = selected(self._source, source, options, self._left_out)
            guess = guess_note(options.target, source, self._selection.target)
            self._decided.notes[:0] = [] if guess is None else [guess]
            return
        known = {
            *options.ignore,
            *encoding.ignored,
            *(column.name for column in encoding.columns or ()),
        }
        self._decided.rename(pair for pair in source.renamed if pair[1] not in known)
        if options.strict:
            self._decided.refuse()
        self._source, spelled, doubts = formatted_by(encoding, source, options.decimal)
        if spelled and options.strict:
            raise otherwise_spelled(source.label, spelled)
        for name, note in {**doubts, **spelled}.items():
            self._decided.decide(name, note)
        self._selection, unknown = selected_by(encoding, self._source, options)
        self._decided.notes += [] if unknown is None else [unknown]
        used = encoding if self._selection.target is not None else replace(encoding, target=None)
        self._encoding = used
        self._decided.notes += sign_notes(used, source)

    # -- What is known

    @property
    def name(self) -> str:
        """What errors and reports call it: the path or the name it was opened by."""
        return self._source.label

    @property
    def n_bytes(self) -> int | None:
        """The size of the file that is read, compressed as it is; None if it is no file."""
        return self._opened.n_bytes

    @property
    def encoding(self) -> Encoding:
        """The recipe from the columns to the features.

        It is the one given, or learned from all rows when first asked for.
        """
        if self._encoding is None:
            learner, observers = self._learner_and_observers()
            odd = OddValues(self.name, self._given, self._opened.has_options)
            for block in self._source.blocks(self._selection):
                learner.add(block)
                for each in (odd, *observers):
                    each.add(block)
                if learner.satisfied:
                    observers = [each for each in observers if not each.needs_all_rows]
                    break
            else:
                odd.refuse_many()
            self._decided.notes += [note for each in observers for note in each.notes()]
            self._encoding = self._learned(learner, self._source.blocks)
        return self._encoding

    @property
    def n_features(self) -> int:
        """How many columns X has."""
        return self.encoding.width

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns of the file; None for sparse rows.

        A target that the format keeps apart comes last.

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
        if self._selection.target is None:
            return self
        made = self.leaving_out(self._selection.target)
        if self._given is None:
            guess = guess_note(self._options.target, self._opened, self._selection.target)
            made._decided.notes[:0] = [] if guess is None else [guess]
        return made

    def supervised(
        self,
        held_out: Callable[[RowIndices], NDArray[np.bool_]] | None = None,
        keep: Callable[[Relearning], None] | None = None,
    ) -> Dataset:
        """The same rows for training a model: columns of many words also become target values.

        A training row has the values of other rows, a new row those of all (see `target_values`).
        ``held_out`` says of row indices, counted from 0 among the rows that have a target, which
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
        """What training rows have instead of target values; None if the encoding has none."""
        return self._cross_fit if self.encoding.has_target_values else None

    def holding_out(self, held_out: Callable[[RowIndices], NDArray[np.bool_]]) -> Dataset:
        """The same training rows, with target values learned without those that are held out."""
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
        """The same rows as new rows of a model, with or without their target.

        A data set that was opened with an encoding stays as it is.
        """
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

    def telling_apart(self, missing: Collection[str] | None = None) -> Dataset:
        """The same rows, to be compared with each other: a missing value differs from every number.

        Batches have another feature behind all others for each column of numbers or dates among
        ``missing`` (for all of them by default), 1 where the value is missing. A value that is not
        what its column is is refused, where it else would be taken as missing.
        """
        columns = self.encoding.columns or ()
        made = copy.copy(self)
        made._apart = tuple(
            column.name
            for column in columns
            if column.kind != CATEGORICAL and (missing is None or column.name in missing)
        )
        return made

    @property
    def decimals(self) -> frozenset[str]:
        """Columns of numbers whose type may hold more digits than double precision."""
        return self._opened.decimals

    def rounded(self, name: str | None) -> tuple[str, str] | None:
        """A number of a column that double precision cannot hold, and where; None if there is none.

        Without a name, one of a sparse row.
        """
        return first_rounded(self._opened, name)

    @property
    def is_table(self) -> bool:
        """Whether it is a table of named columns: CSV, Parquet, Arrow or a frame."""
        return self._opened.columns is not None and not isinstance(self._opened, ArraySource)

    def stored_texts(self, rows: Sequence[int], longest: int = 400) -> dict[int, ShownText]:
        """Some rows as they are stored, as text of which so many characters are shown."""
        return stored_texts(self._opened, rows, longest)

    def widened(self, width: int) -> Dataset:
        """The same sparse rows with as many features."""
        return Dataset(self._opened, replace(self._options, n_features=width), None)

    def describe(self) -> str:
        """What it is and what becomes of every column, in a few lines.

        >>> from kernelight.data import open_dataset
        >>> lines = open_dataset("iris").describe().splitlines()
        >>> lines[0]
        'iris: 4 features'
        >>> print(lines[2])
        target 'species': classification, 3 classes: 'setosa', 'versicolor', 'virginica'
        """
        return described(self.name, self.encoding, self._decided.notes)

    def __repr__(self) -> str:
        return f"<Dataset {self.name}>"

    # -- Rows

    def materialise(self) -> tuple[Any, NDArray[Any] | None]:
        """All rows: X (dense, or CSR for sparse formats) and y (None without a target)."""
        block = self._source.whole(self._selection)
        odd = OddValues(self.name, self._given, self._opened.has_options)
        odd.add(block)
        odd.refuse_many()
        if self._encoding is None:
            learner, observers = self._learner_and_observers()
            for each in (learner, *observers):
                each.add(block)
            self._encoding = self._learned(
                learner, lambda selection: [words_alone(block, self._selection, selection)]
            )
            self._decided.notes += [note for each in observers for note in each.notes()]
        if block.n_rows == 0:
            raise DataError(f"{self.name} has no rows.")
        self.rows_left_out = 0
        batch = self._batch(block, self._encoding, 0)
        if not batch.X.shape[0]:
            raise self._no_targets()
        self._ids = batch.ids
        self._decided.tell([*self._opened.row_notes, *odd.notes()], self.rows_left_out)
        return batch.X, batch.y

    def _batch(self, block: Block, encoding: Encoding, first: int) -> Batch:
        """The features and targets of a block.

        Rows whose target is missing are left out, or refused (strict). The first of the other rows
        has the number ``first`` among all that have a target.
        """
        gone = None if block.target is None or self._options.strict else missing_targets(block)
        training = None
        if self._cross_fit is not None:
            there = np.ones(block.n_rows, bool) if gone is None else ~gone
            training = TrainingRows(self._cross_fit, first + np.maximum(np.cumsum(there) - 1, 0))
        if gone is None or not gone.any():
            y = encoding.apply_target(block, self.name)
            return Batch(self._features(block, encoding, training), y, block.ids)
        self.rows_left_out += int(gone.sum())
        keep = ~gone
        y = None
        if keep.any():
            y = encoding.apply_target(with_targets(block, gone), self.name)
        X = self._features(block, encoding, training)[keep]
        ids = (
            None
            if block.ids is None
            else [name for name, kept in zip(block.ids, keep, strict=True) if kept]
        )
        return Batch(X, None if y is None else y[keep], ids)

    def _features(self, block: Block, encoding: Encoding, training: TrainingRows | None) -> Any:
        """The features of a block, behind them those of missing values."""
        if not self._apart:
            return encoding.apply(block, training)
        gone = np.zeros((block.n_rows, len(self._apart)), dtype=encoding.dtype)
        numbers, dates = self._selection.numbers, self._selection.dates
        for at, name in enumerate(self._apart):
            if name in numbers:
                gone[:, at] = np.isnan(block.numbers[:, numbers.index(name)])
            else:
                assert block.dates is not None
                gone[:, at] = np.isnat(block.dates[:, dates.index(name)])
        return np.concatenate([encoding.apply(block, training), gone], axis=1)

    def _no_targets(self) -> DataError:
        return DataError(
            f"{self.name}: the target {shown(str(self.target_name))} is missing in every row."
        )

    def batches(self, rows: int = 8192) -> Iterator[Batch]:
        """The rows in batches of ``rows``, in memory that does not grow with the file.

        The last batch may have fewer.
        """
        check_int("rows", rows, low=1)
        encoding = self.encoding
        waiting: list[Batch] = []
        count = total = 0
        apart = self._apart is not None
        odd = OddValues(self.name, self._given, self._opened.has_options, apart=apart)
        self.rows_left_out = 0
        blocks = self._source.blocks(self._selection)
        for block in odd.counted(blocks, max(256, PART_VALUES // max(1, encoding.width))):
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
        self._decided.tell([*self._opened.row_notes, *odd.notes()], self.rows_left_out)

    def texts(
        self, columns: Sequence[str], rows: int = 8192
    ) -> Iterator[tuple[list[list[str]], list[str] | None]]:
        """The cells of some columns as texts, "" where one is missing, and the ids of their rows.

        For each column there is a list of ``rows`` texts, fewer only at the end.
        """
        source = self._opened
        if source.columns is None:
            raise DataError(f"{self.name} has sparse rows, which have no column of texts.")
        known = [each.name for each in source.columns]
        for column in columns:
            if column not in known:
                hint = nearest(column, known) or f"; there are {listed(known)}."
                raise DataError(f"{self.name}: there is no column {shown(column)} of texts{hint}")
        if isinstance(source, ArraySource):
            raise DataError(f"{self.name} has columns of numbers, and none of texts.")
        ids = self._selection.ids if self._selection.ids not in columns else None
        selection = ColumnSelection(words=tuple(columns), ids=ids)
        texts: list[list[str]] = [[] for _ in columns]
        names: list[str] = []
        for block in source.blocks(selection):
            for known_texts, words in zip(texts, block.words, strict=True):
                known_texts += words.texts()
            names += block.ids or []
            while len(texts[0]) >= rows:
                yield [some[:rows] for some in texts], names[:rows] if ids else None
                texts, names = [some[rows:] for some in texts], names[rows:]
        if texts[0]:
            yield texts, names if ids else None

    def copy_rows(self, path: str, kept: NDArray[np.bool_], watch: Any = None) -> None:
        """Write the rows that are ``kept`` to another file, as they are stored in this one.

        Lines of a text are copied byte by byte, with all lines that are no rows; columns of Parquet
        and Arrow files keep their types. The ending of ``path`` says the format; where it is that
        of this file nothing is converted. ``watch`` is told how many rows have been looked at.
        """
        copy_rows(self._opened, path, kept, watch)

    def refuse_copy(self, path: str) -> None:
        """Refuse a path to which `copy_rows` could not write, before any work is done."""
        refuse_copy(self._opened, path)

    @property
    def notes(self) -> list[str]:
        """What was decided by default, a sentence each; more may come when the rows are read.

        >>> from kernelight import open_dataset
        >>> open_dataset("iris").notes
        []
        """
        return [*self._decided.notes, *self._opened.row_notes]

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

    def _surveyed(self, source: TableSource) -> TableSource:
        """The source with formats for its columns of text; notes say what was decided."""
        if source.columns is None:
            return source
        options = self._options
        names = [column.name for column in source.columns]
        target = target_column(options.target, source, source, names) if names else None
        settled = {*options.ignore, *options.categorical, *([options.ids] if options.ids else [])}
        raised = options.max_categories != MAX_CATEGORIES
        guessed = guess_note(options.target, source, target) is not None
        survey = surveyed(
            source,
            settled,
            SurveyOptions(
                target,
                options.max_categories,
                raised,
                options.decimal,
                options.strict,
                guessed,
                options.task == REGRESSION,
            ),
        )
        if survey.target_date is not None:
            raise date_target(source.label, str(target), f" such as {shown(survey.target_date)}")
        if survey.target_texts is not None:
            raise text_target(source.label, str(target), survey.target_texts)
        self._left_out, self._signs = survey.left_out, survey.signs
        self._why_left_out = {
            name: survey.notes[name].replace("; left out", "")
            for name in survey.left_out
            if name in survey.notes
        }
        self._decided.rename(pair for pair in source.renamed if pair[1] not in settled)
        said = options.strict and options.decimal is not None  # how numbers are written
        for name in names:
            if name in survey.notes and not (said and survey.formats.get(name) in NUMERIC):
                self._decided.decide(name, survey.notes[name])
        for column in source.columns:
            if column.name in {*settled, target, *self._left_out}:
                continue
            if column.kind == DATE:
                self._decided.decide(column.name, "dates; they become numbers")
            elif column.kind not in (NUMBER, CATEGORICAL):
                self._left_out.append(column.name)
                self._decided.decide(
                    column.name, f"{column.kind} is neither a number nor words nor a date; left out"
                )
        if options.strict:
            self._decided.refuse(survey, target, missing_in_head(source, target, survey.kinds))
        if not survey.formats and not survey.kinds:
            return source
        self._formats = {
            name: form for name, form in survey.formats.items() if form not in (BOOLEAN, WRITTEN)
        }
        return FormattedSource(source, survey.formats, survey.kinds, survey.units)

    def _learner_and_observers(self) -> tuple[Learner, list[Observer]]:
        options = self._options
        learner = Learner(
            self.name,
            self._selection,
            self._order,
            options.task,
            self._formats,
            options.max_categories,
            self._signs,
        )
        return learner, observers_of(self._source, self._opened, self._selection, self._formats)

    def _learned(
        self, learner: Learner, blocks: Callable[[ColumnSelection], Iterable[Block]]
    ) -> Encoding:
        """What was learned, with target values if there are any to learn.

        ``blocks`` reads the rows once more for these.
        """
        columns = (
            () if self._source.columns is None else tuple(c.name for c in self._source.columns)
        )
        missing = missing_words(self._options.missing, None)
        encoding = learner.encoding(
            self._why_left_out,
            ids=self._selection.ids,
            ignored=(*self._options.ignore, *self._left_out),
            file_columns=() if self._source.headed else columns,
            missing_words=None if self._order is None else missing.anywhere,
            missing_numbers=() if self._order is None else missing.among_numbers,
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
        self._decided.look_at(encoding, self._options.task)
        return encoding
