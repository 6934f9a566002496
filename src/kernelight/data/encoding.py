"""`Encoding`: the recipe from the columns of a table to features.

It is learned from training rows and then applied unchanged. The rules:

* A number that is missing becomes the median of its column among the first 20,000 training rows (0
  if there is none there).
* A column of words becomes one column of 0 and 1 for each word that occurs in training, in
  alphabetical order, and one more for missing words if some are missing in training. A word never
  seen in training is 0 in all of them; a boolean that is spelled otherwise there is no such word
  (`booleans`).
* Of more than ``max_categories`` words (100 unless told otherwise) the most frequent have a column
  each, and the others, words never seen in training too, share one (`word_counts`). A selection
  with a limit makes that an error.
* Where the target is known, such a column also becomes the mean target of the rows of each word, in
  training of the rows of other folds (`target_values`).
* A date becomes its year, month, weekday, time of day and days since the first, as far as they vary
  (`dates`).
* A target must not be missing. It is a class if it is words, or whole numbers with at most 50
  different values; else it is a quantity (`tasks`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.booleans import as_known
from kernelight.data.charsets import checked_charset
from kernelight.data.encoded_columns import (
    EncodedColumn,
    EncodedTarget,
    column_of,
    format_of,
    percent_of,
    plain_column,
    plain_signs,
    signs_of,
    text_of,
)
from kernelight.data.errors import DataError, listed, nearest, shown
from kernelight.data.exact_integers import as_doubles, classes_of
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    Block,
    Categorical,
    ColumnSelection,
    resized,
)
from kernelight.data.target_values import TargetValues, TrainingRows
from kernelight.data.word_counts import put_ones

MEDIAN_ROWS = 20_000
MAX_CATEGORIES = 100
MAX_LABELS = 100_000
CLASSIFICATION, REGRESSION = "classification", "regression"
_VERSION = 4
# of columns and targets, by the version that brought them
_KEYS = {2: {"format", "parts", "others"}, 3: {"targets"}, 4: {"unit"}}


@dataclass(frozen=True)
class Encoding:
    """How raw columns become features: plain data that is stored with a model.

    ``columns`` is None for sparse rows (LIBSVM), which have ``width`` features and need no recipe.

    See Also
    --------
    Dataset : Its attribute ``encoding``.
    kernelight.open_dataset : ``encoding`` opens other data alike.

    Examples
    --------
    >>> import tempfile, os
    >>> from kernelight.data import Encoding, open_dataset
    >>> path = os.path.join(tempfile.mkdtemp(), "fruit.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("weight,colour,kind\\n100,red,apple\\n")
    ...     _ = file.write(",yellow,banana\\n140,green,apple\\n")
    >>> encoding = open_dataset(path, target="kind").encoding
    >>> encoding.feature_names
    ['weight', 'colour=green', 'colour=red', 'colour=yellow']
    >>> encoding.columns[0].fill, encoding.target.labels
    (120.0, ('apple', 'banana'))
    >>> Encoding.from_plain(encoding.to_plain()) == encoding
    True
    """

    columns: tuple[EncodedColumn, ...] | None
    width: int
    target: EncodedTarget | None
    ids: str | None = None
    ignored: tuple[str, ...] = ()
    file_columns: tuple[str, ...] = ()  # of a table without names, all of its columns in order
    dtype: str = "float64"
    # what stands for a missing value; None: the words that did when models did not name them
    missing_words: tuple[str, ...] | None = None
    zero_based: bool = False  # LIBSVM: whether indices begin at 0
    charset: str | None = None  # the encoding of the text, if it was said
    missing_numbers: tuple[str, ...] = ()  # what is also missing in columns of numbers and dates

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features; None for sparse rows."""
        if self.columns is None:
            return None
        return [name for column in self.columns for name in column.feature_names]

    def column_of_feature(self, names: Sequence[str]) -> NDArray[np.int64] | None:
        """For each feature the place of its column among ``names``; None for sparse rows."""
        if self.columns is None:
            return None
        places = {name: at for at, name in enumerate(names)}
        return np.repeat(
            np.array([places[column.name] for column in self.columns], dtype=np.int64),
            [column.width for column in self.columns],
        )

    @property
    def units(self) -> dict[str, str]:
        """The units of columns of numbers that had one in training, and of the target."""
        every = (*(self.columns or ()), *(() if self.target is None else (self.target,)))
        return {column.name: column.unit for column in every if column.unit is not None}

    @property
    def has_target_values(self) -> bool:
        """Whether a column of words has target values.

        Then training rows have other features than the same rows as new.
        """
        return any(column.targets is not None for column in self.columns or ())

    def with_target_values(self, values: Mapping[str, TargetValues]) -> Encoding:
        """The same with these target values of columns of words, and no others."""
        if self.columns is None:
            return self
        made = tuple(replace(column, targets=values.get(column.name)) for column in self.columns)
        return replace(self, columns=made, width=sum(column.width for column in made))

    # -- Use

    def apply(self, block: Block, training: TrainingRows | None = None) -> Any:
        """The features of raw rows, which were read by `selection`.

        ``training`` says which of the rows that the encoding was learned from these are; else they
        are new rows. The block must not be used again.
        """
        if self.columns is None:
            return resized(block.numbers, self.width)
        numbers = block.numbers
        with np.errstate(over="ignore", invalid="ignore"):
            if numbers.size and not math.isfinite(float(numbers.sum())):
                fills = np.array([c.fill for c in self.columns if c.kind == NUMBER])
                for at in np.flatnonzero(np.isnan(numbers).any(axis=0)).tolist():
                    numbers[np.isnan(numbers[:, at]), at] = fills[at]
        if not block.words and block.dates is None and len(self.columns) == numbers.shape[1]:
            return numbers
        X = np.zeros((block.n_rows, self.width), dtype=self.dtype)
        words = iter(block.words)
        place, number, date = 0, 0, 0
        for column in self.columns:
            if column.kind == NUMBER:
                X[:, place] = numbers[:, number]
                number += 1
            elif column.recipe is not None:
                assert block.dates is not None
                X[:, place : place + column.width] = column.recipe.features(block.dates[:, date])
                date += 1
            else:
                column_words = next(words)
                put_ones(X, place, column_words, column.categories, column.others, column.missing)
                if column.targets is not None:
                    values = (
                        column.targets(column_words)
                        if training is None
                        else training.values(column.name, column_words)
                    )
                    column.put_values(X, place, values)
            place += column.width
        return X

    def apply_target(self, block: Block, label: str) -> NDArray[Any] | None:
        """The target of raw rows: words, whole numbers or numbers; a missing one is an error."""
        if self.target is None or block.target is None:
            return None
        values = block.target
        gone = (
            values.codes < 0
            if isinstance(values, Categorical)
            else ~np.isfinite(as_doubles(values))
        )
        if gone.any():
            at = block.first_row + int(np.argmax(gone))
            state = (
                "missing"
                if isinstance(values, Categorical) or np.isnan(float(values[at - block.first_row]))
                else "infinite"
            )
            raise DataError(
                f"{label}, {block.locate(at)}, column {shown(self.target.name)}: the target is "
                f"{state}; leave such rows out."
            )
        if isinstance(values, Categorical):
            known = [str(word) for word in self.target.labels or ()]
            return np.array(as_known(values.values, known) or [""])[values.codes]
        if self.target.task == CLASSIFICATION and self.target.labels is not None:
            return classes_of(values, self.target.labels, self.target.name, label)
        return as_doubles(values)

    @property
    def names(self) -> set[str]:
        """All columns that the model knows: features, the target, ids, and those left out."""
        apart = [self.target.name] if self.target else []
        apart += [self.ids] if self.ids else []
        return {*(column.name for column in self.columns or ()), *self.ignored, *apart}

    def unknown(self, available: Sequence[str], allowed: Iterable[str] = ()) -> list[str]:
        """Columns of a file that the model does not know."""
        known = {*self.names, *allowed}
        return [name for name in available if name not in known]

    def selection(
        self, available: Sequence[str] | None, label: str, allowed: Iterable[str] = ()
    ) -> ColumnSelection:
        """What to read of a file with these columns; if some are missing, the error lists them."""
        target = self.target
        if self.columns is None:
            if available is not None:
                raise DataError(
                    f"{label} has named columns, but the model was trained on sparse rows without "
                    f"names."
                )
            return ColumnSelection(
                target=target.name if target else None, dtype=self.dtype, width=self.width
            )
        if available is None:
            raise DataError(
                f"{label} has sparse rows without names, but the model was trained on the columns "
                f"{listed([c.name for c in self.columns])}."
            )
        absent = [column.name for column in self.columns if column.name not in set(available)]
        if absent:
            more = self.unknown(available, allowed)
            strange = f"; {listed(more)} not known to the model" if more else ""
            hint = nearest(absent[0], more) or "."
            raise DataError(
                f"{label}: its columns do not match those of the model: {listed(absent)} "
                f"missing{strange}{hint}"
            )
        return ColumnSelection(
            numbers=tuple(c.name for c in self.columns if c.kind == NUMBER),
            words=tuple(c.name for c in self.columns if c.kind == CATEGORICAL),
            dates=tuple(c.name for c in self.columns if c.kind == DATE),
            target=target.name if target and target.name in available else None,
            target_kind=target.kind if target else NUMBER,
            ids=self.ids if self.ids in available else None,
            dtype=self.dtype,
        )

    # -- Plain data

    def to_plain(self) -> dict[str, Any]:
        """Plain data that JSON can say."""
        columns = None
        if self.columns is not None:
            columns = [plain_column(column) for column in self.columns]
        target: dict[str, Any] | None = None
        if self.target is not None:
            labels = None if self.target.labels is None else list(self.target.labels)
            target = {
                "name": self.target.name,
                "kind": self.target.kind,
                "task": self.target.task,
                "labels": labels,
            }
            if self.target.format is not None:
                target["format"] = self.target.format
            if self.target.percent is not None:
                target["percent"] = self.target.percent
            target |= plain_signs(self.target)
        entries = [*(columns or ()), *([target] if target else [])]
        version = max(
            version
            for version in (1, *_KEYS)
            if version == 1 or any(_KEYS[version] & entry.keys() for entry in entries)
        )
        charset = {} if self.charset is None else {"charset": self.charset}
        numbers = self.missing_numbers
        return {
            **charset,
            **({"missing_numbers": list(numbers)} if numbers else {}),
            "version": version,
            "columns": columns,
            "width": self.width,
            "target": target,
            "ids": self.ids,
            "ignored": list(self.ignored),
            "file_columns": list(self.file_columns),
            "dtype": self.dtype,
            "missing_words": None if self.missing_words is None else list(self.missing_words),
            "zero_based": self.zero_based,
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Encoding:
        """The encoding that `to_plain` gave; anything else is a ValueError."""
        try:
            return cls._from_plain(plain)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"This is not a stored encoding of data: {error!r}.") from error

    @classmethod
    def _from_plain(cls, plain: dict[str, Any]) -> Encoding:
        if plain["version"] not in (1, *_KEYS) or isinstance(plain["version"], bool):
            raise ValueError(
                f"This encoding has version {plain['version']!r}; this kernelight reads versions "
                f"up to {_VERSION}: update it."
            )
        columns = None
        if plain["columns"] is not None:
            columns = tuple(column_of(entry) for entry in plain["columns"])
        width = plain["width"]
        whole = isinstance(width, int) and not isinstance(width, bool) and width >= 0
        if not whole or (columns is not None and width != sum(column.width for column in columns)):
            raise ValueError(
                f"A stored encoding has the width {width!r}, which its columns do not have."
            )
        target = None
        if plain["target"] is not None:
            entry = plain["target"]
            if entry["kind"] not in (NUMBER, CATEGORICAL) or entry["task"] not in (
                CLASSIFICATION,
                REGRESSION,
            ):
                raise ValueError(
                    f"A stored encoding has a target that cannot be: {shown(str(entry))}."
                )
            labels = None if entry["labels"] is None else tuple(entry["labels"])
            if labels is not None and not all(
                isinstance(known, (str, int, float)) for known in labels
            ):
                raise ValueError("A stored encoding has labels that are neither words nor numbers.")
            target = EncodedTarget(
                text_of(entry["name"]),
                entry["kind"],
                entry["task"],
                labels,
                format_of(entry, NUMBER),
                percent_of(entry),
                *signs_of(entry),
            )
        if plain["dtype"] not in ("float32", "float64"):
            raise ValueError(
                f"A stored encoding has the dtype {plain['dtype']!r}; float32 or float64 is "
                f"expected."
            )
        ids = None if plain["ids"] is None else text_of(plain["ids"])
        ignored, file_columns = (
            tuple(map(text_of, plain[key])) for key in ("ignored", "file_columns")
        )
        words = plain["missing_words"]
        words = None if words is None else tuple(map(text_of, words))
        if not isinstance(plain["zero_based"], bool):
            raise ValueError("A stored encoding does not say whether indices begin at 0.")
        charset = plain.get("charset")
        charset = None if charset is None else checked_charset(charset)
        return cls(
            columns,
            width,
            target,
            ids,
            ignored,
            file_columns,
            plain["dtype"],
            words,
            plain["zero_based"],
            charset,
            tuple(map(text_of, plain.get("missing_numbers", ()))),
        )
