"""`TableSource`: where a table is read from, and the raw rows that it gives (`Block`)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.data.errors import DataError
from kernelight.data.exact_integers import Targets, targets_of
from kernelight.data.number_columns import count_rows, refuse_infinite

NUMBER, CATEGORICAL, DATE = "number", "words", "date"
_A_CODE = re.compile(r"[+-]?[0-9]{1,300}(?:\.[0-9]{0,300})?")
FIRST_ROWS = 500  # rows that are read to find columns without values


@dataclass(frozen=True)
class Categorical:
    """A column of words: ``values[codes[i]]`` is that of row i; a code of -1 is a missing one."""

    codes: NDArray[np.int32]
    values: tuple[str, ...]

    def texts(self) -> list[str]:
        """The words one by one; "" where there is none."""
        known = (*self.values, "")
        return [known[code] for code in self.codes.tolist()]


@dataclass(frozen=True)
class CellRule:
    """How text of a typed table (a frame, Parquet) is read, so that it means what it does in CSV.

    Blanks around it do not count, and an empty text and the words of ``missing`` are missing
    values.
    ``known`` has the words of a model, by column: they stay as they are, also in models of text
    that was read otherwise.
    """

    missing: frozenset[str]
    among_numbers: frozenset[str] = frozenset()  # missing there, and words elsewhere
    known: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def read(self, name: str, words: Categorical) -> Categorical:
        """The words of a column by this rule."""
        known = self.known.get(name, frozenset())
        values = [value if value in known else self._read(value) for value in words.values]
        if values == list(words.values):
            return words
        read = words_of(values)
        return Categorical(np.append(read.codes, np.int32(-1))[words.codes], read.values)

    def _read(self, text: str) -> str | None:
        text = text.strip(" \t")
        return None if not text or text in self.missing else text

    @cached_property
    def codes(self) -> NDArray[np.float64]:
        """Words for a missing value that are numbers, such as -999: they are missing as such."""
        written = sorted(word for word in self.missing if _A_CODE.fullmatch(word))
        return np.array(written, dtype=np.float64)

    def without_codes(self, values: NDArray[Any]) -> NDArray[Any]:
        """Numbers with NaN instead of codes for a missing value; the same array if there are none.

        It may have other digits than the word: -999.0 is -999.
        """
        if not len(self.codes):
            return values
        gone = np.isin(values.astype(np.float64), self.codes.astype(values.dtype))
        return np.where(gone, np.nan, values) if gone.any() else values


@dataclass(frozen=True)
class Column:
    """A column of a source."""

    name: str
    kind: str  # NUMBER, CATEGORICAL, DATE, or the name of a type that is none of these


@dataclass(frozen=True)
class ColumnSelection:
    """The columns to read: features that are numbers, words and dates, the target, and the ids."""

    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    target: str | None = None
    target_kind: str = NUMBER
    ids: str | None = None
    dtype: Any = np.float64
    limit: int | None = None  # how many different words a column of features may have; None: any
    width: int | None = None  # sparse rows: how many features there are; None: as many as occur
    dates: tuple[str, ...] = ()
    # whether a word in a column of numbers is an error; else it is missing, and counted
    strict: bool = False


def _by_row(row: int) -> str:
    return f"row {row + 1}"


class Odd(NamedTuple):
    """Values that are not what their column is, taken as missing: how many, and the first."""

    number: int
    first: str  # quoted, as it is shown
    where: str  # such as "line 17"
    kind: str = NUMBER


@dataclass
class Block:
    """Some rows of a source, as a `ColumnSelection` asks for them."""

    numbers: Any  # (rows, numbers of the selection), NaN where a value is missing; or CSR
    words: tuple[Categorical, ...] = ()
    target: Targets | Categorical | None = None
    ids: list[str] | None = None
    first_row: int = 0
    # where a row (counted within the data set) is
    locate: Callable[[int], str] = field(default=_by_row)
    # (rows, dates of the selection), microseconds in UTC, NaT where one is missing; None: no dates
    dates: NDArray[np.datetime64] | None = None
    odd: dict[str, Odd] = field(default_factory=dict)  # by the name of the column

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.numbers.shape[0])


class StoredText(NamedTuple):
    """Some bytes of a text, valid until the next are read, and where the rows in them are."""

    text: NDArray[np.uint8]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]


class TableSource(ABC):
    """A data set as its format knows it.

    ``columns`` is None for sparse rows, whose features have numbers and no names.
    """

    label: str
    columns: tuple[Column, ...] | None
    target: str | None = None  # of formats that know which it is
    target_kind: str = NUMBER
    headed: bool = True  # whether the names are those of the file
    guesses: bool = True  # whether a column may be taken for the target without being named
    # columns of text whose kind is a guess, because some values are not numbers
    guessed: frozenset[str] = frozenset()
    nameless: frozenset[str] = frozenset()  # columns without a name of their own
    # columns of numbers whose first values are digits of one length, which may be codes
    digits: frozenset[str] = frozenset()
    text: bool = False  # whether every value is written as text
    cells: CellRule = CellRule(frozenset())  # how text is read where not every value is
    # whether the user has the options of `open_dataset`; those of estimators have not
    has_options: bool = True
    # whether a comma is more likely to be a decimal comma than between thousands
    comma: bool = False
    delimiter: str | None = None  # what stands between the cells of a text
    notes: tuple[str, ...] = ()  # what was decided while it was opened
    # what errors advise where the first line of a text may be a title and not names
    title_hint: str = ""
    # names that another column has, and what the column is called instead
    renamed: tuple[tuple[str, str], ...] = ()
    n_bytes: int | None = None  # of the file that is read; None if it is no file
    # columns of numbers whose type may hold more digits than doubles: decimals of Arrow
    decimals: frozenset[str] = frozenset()
    _blank: frozenset[str] | None = None
    _counting: frozenset[str] = frozenset()

    @property
    def row_notes(self) -> list[str]:
        """What was left out of the rows that have been read."""
        return []

    @property
    def blank(self) -> frozenset[str]:
        """Columns of numbers or dates that have no value in the first rows."""
        if self._blank is None:
            self._blank = self._find_blank()
        return self._blank

    @property
    def counting(self) -> frozenset[str]:
        """Columns of numbers that count the first rows, from 0 or 1."""
        _ = self.blank  # which looks at the same rows
        return self._counting

    def _find_blank(self) -> frozenset[str]:
        selection = ColumnSelection(
            numbers=tuple(c.name for c in self.columns or () if c.kind == NUMBER),
            dates=tuple(c.name for c in self.columns or () if c.kind == DATE),
        )
        try:
            block = self._first_rows(selection)
        except DataError:  # damage, which is reported when the rows are read
            block = None
        if block is None or not block.n_rows:
            return frozenset()
        self._counting = frozenset(
            name for at, name in enumerate(selection.numbers) if count_rows(block.numbers[:, at])
        )
        empty = np.isnan(block.numbers).all(axis=0).tolist()
        if block.dates is not None:
            empty += np.isnat(block.dates).all(axis=0).tolist()
        names = (*selection.numbers, *selection.dates)
        return frozenset(name for name, none in zip(names, empty, strict=True) if none)

    def _first_rows(self, selection: ColumnSelection) -> Block | None:
        """The first `FIRST_ROWS` rows; None from sources of which no column can be empty."""
        return None

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 where NumPy would make that of all numbers, else float64."""
        return np.dtype(np.float64)

    @abstractmethod
    def blocks(self, selection: ColumnSelection) -> Iterator[Block]:
        """The rows, some at a time."""

    def whole(self, selection: ColumnSelection) -> Block:
        """All rows."""
        return joined(list(self.blocks(selection)), selection)

    def stored_rows(self) -> Iterator[Any]:
        """All that the file holds, rows as they are stored, some at a time.

        Of a text `StoredText`, of tables of Arrow's types record batches.
        """
        raise DataError(f"{self.label} is no file whose rows could be copied.")

    def _distinct(self, names: Sequence[str], known: Collection[str] = ()) -> list[str]:
        """The names of the columns without duplicates; ``renamed`` lists those that change."""
        unique = distinct(names, known)
        self.renamed = tuple(
            (old, new) for old, new in zip(names, unique, strict=True) if old != new
        )
        return unique


def distinct(names: Sequence[str], known: Collection[str] = ()) -> list[str]:
    """Names without duplicates: the second ``a`` is ``a.1``, as in pandas.

    In older models it is ``a.2``. If counting from 2 gives more of the names that a model has
    (``known``), that is done.

    >>> from kernelight.data.table_source import distinct
    >>> distinct(["a", "b", "a", "a.1"])
    ['a', 'b', 'a.2', 'a.1']
    >>> distinct(["a", "b", "a"]), distinct(["a", "b", "a"], known=["a", "b", "a.2"])
    (['a', 'b', 'a.1'], ['a', 'b', 'a.2'])
    """
    numbered, before = _numbered(names, 1), _numbered(names, 2)
    return before if len({*before} & {*known}) > len({*numbered} & {*known}) else numbered


def _numbered(names: Sequence[str], first: int) -> list[str]:
    taken, seen, numbered = set(names), set(), []
    for name in names:
        number, made = first, name
        while made in seen or (made != name and made in taken):
            made, number = f"{name}.{number}", number + 1
        seen.add(made)
        numbered.append(made)
    return numbered


def sliced(block: Block, rows: int) -> Iterator[Block]:
    """A dense block as blocks of at most ``rows`` rows, since words may become many features.

    Each has only the words that occur in it, and no count of odd values.
    """
    if block.n_rows <= rows or sp.issparse(block.numbers):
        yield block
        return
    for start in range(0, block.n_rows, rows):
        some = slice(start, start + rows)
        target: Any = block.target
        if target is not None:
            target = _few_words(target, some) if isinstance(target, Categorical) else target[some]
        yield replace(
            block,
            numbers=block.numbers[some],
            words=tuple(_few_words(column, some) for column in block.words),
            target=target,
            ids=None if block.ids is None else block.ids[some],
            first_row=block.first_row + start,
            dates=None if block.dates is None else block.dates[some],
            odd={},
        )


def _few_words(column: Categorical, rows: slice) -> Categorical:
    """Some rows of a column, with the words that occur in them."""
    used, codes = np.unique(column.codes[rows], return_inverse=True)
    missing = int(len(used) > 0 and used[0] < 0)
    values = tuple(column.values[at] for at in used[missing:].tolist())
    return Categorical((codes.reshape(-1) - missing).astype(np.int32), values)


def joined(blocks: Sequence[Block], selection: ColumnSelection, numbers: Any = None) -> Block:
    """Blocks one after another as one block; its numbers, if they are together already."""
    if len(blocks) == 1:
        return blocks[0] if numbers is None else replace(blocks[0], numbers=numbers)
    if not blocks:
        empty = (
            np.zeros(0)
            if selection.target_kind == NUMBER
            else Categorical(np.zeros(0, np.int32), ())
        )
        return Block(
            np.zeros((0, len(selection.numbers)), selection.dtype),
            tuple(Categorical(np.zeros(0, np.int32), ()) for _ in selection.words),
            None if selection.target is None else empty,
            None if selection.ids is None else [],
            dates=np.zeros((0, len(selection.dates)), "datetime64[us]")
            if selection.dates
            else None,
        )
    if numbers is not None:
        pass
    elif sp.issparse(blocks[0].numbers):
        width = max(block.numbers.shape[1] for block in blocks)
        numbers = sp.vstack([resized(block.numbers, width) for block in blocks], format="csr")
    else:
        numbers = np.concatenate([block.numbers for block in blocks])
    targets = [block.target for block in blocks]
    return Block(
        numbers,
        tuple(
            joined_words([block.words[at] for block in blocks])
            for at in range(len(blocks[0].words))
        ),
        None if selection.target is None else _joined_target(targets),
        None if selection.ids is None else [name for block in blocks for name in block.ids or []],
        blocks[0].first_row,
        lambda row: next(block for block in reversed(blocks) if block.first_row <= row).locate(row),
        np.concatenate([block.dates for block in blocks if block.dates is not None])
        if selection.dates
        else None,
        joined_odd(blocks),
    )


def joined_odd(blocks: Iterable[Block]) -> dict[str, Odd]:
    """The odd values of blocks one after another."""
    joint: dict[str, Odd] = {}
    for block in blocks:
        for name, odd in block.odd.items():
            known = joint.get(name)
            joint[name] = odd if known is None else known._replace(number=known.number + odd.number)
    return joint


def _joined_target(targets: Sequence[Any]) -> Any:
    return joined_words(targets) if isinstance(targets[0], Categorical) else np.concatenate(targets)


def joined_words(parts: Sequence[Categorical]) -> Categorical:
    """Columns of words one after another."""
    numbers: dict[str, int] = {}
    codes = []
    for part in parts:
        mapped = [numbers.setdefault(value, len(numbers)) for value in part.values]
        codes.append(np.array([*mapped, -1], dtype=np.int32)[part.codes])
    return Categorical(np.concatenate(codes), tuple(numbers))


def resized(X: Any, width: int) -> Any:
    """A CSR matrix with more columns, of the same arrays."""
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width), copy=False)


def words_of(values: Sequence[Any]) -> Categorical:
    """A column of Python values, None where one is missing, as words."""
    numbers: dict[str, int] = {}
    codes = [
        -1 if value is None else numbers.setdefault(str(value), len(numbers)) for value in values
    ]
    return Categorical(np.array(codes, dtype=np.int32), tuple(numbers))


class ArraySource(TableSource):
    """A data set in memory: a matrix (dense or CSR), some columns of words, and a target."""

    STEP = 1 << 16  # rows of a block
    guesses = False

    def __init__(
        self,
        label: str,
        names: Sequence[str] | None,
        matrix: Any,
        words: dict[str, Categorical],
        target: tuple[str, Any] | None,
    ) -> None:
        self.label, self._matrix, self._words, self._target = label, matrix, words, target
        self._places: dict[str, int] = {}
        if names is not None:
            numbers = [name for name in names if name not in words]
            self._places = {name: at for at, name in enumerate(numbers)}
        self.columns = (
            None
            if names is None
            else tuple(Column(name, CATEGORICAL if name in words else NUMBER) for name in names)
        )
        if target is not None:
            self.target = target[0]
            self.target_kind = CATEGORICAL if isinstance(target[1], Categorical) else NUMBER

    def blocks(self, selection: ColumnSelection) -> Iterator[Block]:
        rows = self._matrix.shape[0]
        for start in range(0, rows, self.STEP):
            yield self._part(selection, start, min(rows, start + self.STEP))

    def whole(self, selection: ColumnSelection) -> Block:
        return self._part(selection, 0, self._matrix.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if self._matrix.dtype == np.float32 else np.float64)

    @property
    def whole_numbers(self) -> bool:
        """Whether the numbers are stored as integers."""
        return bool(self._matrix.dtype.kind in "iu")

    def _part(self, selection: ColumnSelection, start: int, stop: int) -> Block:
        apart = None if self._target is None else _rows_of(self._target[1], slice(start, stop))
        return self._block(selection, start, self._matrix[start:stop], apart)

    def _block(self, selection: ColumnSelection, start: int, matrix: Any, apart: Any) -> Block:
        """Rows of the matrix from ``start`` on; targets that are kept apart are ``apart``."""
        if self.columns is None:
            if selection.width is not None and matrix.shape[1] > selection.width:
                raise DataError(
                    f"{self.label} has {counted(matrix.shape[1], 'feature')} where the model has "
                    f"{selection.width}."
                )
            numbers = matrix.astype(selection.dtype)
        else:
            places = [self._places[name] for name in selection.numbers]
            every = places == list(range(matrix.shape[1]))
            with np.errstate(over="ignore"):
                numbers = np.array(
                    matrix if every else matrix[:, places], dtype=selection.dtype, order="C"
                )
            refuse_infinite(self.label, numbers, selection.numbers, start)
            numbers = self.cells.without_codes(numbers)
        target: Any = None
        if selection.target is not None:
            target = self._column(selection.target, start, matrix) if apart is None else apart
            if not isinstance(target, Categorical):
                target = self.cells.without_codes(target)
        ids = None if selection.ids is None else _texts(self._column(selection.ids, start, matrix))
        rows = slice(start, start + matrix.shape[0])
        words = tuple(_rows_of(self._words[name], rows) for name in selection.words)
        return Block(numbers, words, target, ids, start)

    def _column(self, name: str, start: int, matrix: Any) -> Any:
        if name in self._words:
            return _rows_of(self._words[name], slice(start, start + matrix.shape[0]))
        return targets_of(matrix[:, self._places[name]])


def _rows_of(column: Any, rows: slice) -> Any:
    if isinstance(column, Categorical):
        return Categorical(column.codes[rows], column.values)
    return targets_of(column[rows])


def _texts(column: Any) -> list[str]:
    return (
        column.texts()
        if isinstance(column, Categorical)
        else [_digits(value) for value in column.tolist()]
    )


def _digits(value: float | int) -> str:
    """A number that names a row: whole numbers without a point, others with all their digits."""
    whole = isinstance(value, int) or value.is_integer()
    return "" if value != value else str(int(value)) if whole else repr(value)
