"""`open_dataset`: from a path, a name or a frame to a `Dataset`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelight.base.checks import check_choice, check_int, resources
from kernelight.data.bundled import BUNDLED, bundled, openml
from kernelight.data.byte_sources import ByteSource, file_source, standard_input
from kernelight.data.charsets import HEAD, UTF8, checked_charset, guessed_charset
from kernelight.data.columnar import ColumnarSource
from kernelight.data.dataset import Dataset
from kernelight.data.delimited import DelimitedSource
from kernelight.data.dialect import Named, checked_delimiter
from kernelight.data.encoded_source import missing_words
from kernelight.data.encoding import CLASSIFICATION, MAX_CATEGORIES, REGRESSION, Encoding
from kernelight.data.errors import DataError, nearest, shown
from kernelight.data.frames import frame_source, is_frame
from kernelight.data.libsvm import LibsvmSource, looks_like_libsvm
from kernelight.data.npz import NpzSource
from kernelight.data.other_formats import refuse_other_formats
from kernelight.data.reading_options import AUTO, ReadingOptions
from kernelight.data.table_source import TableSource
from kernelight.data.text_formats import COMMA

FORMATS = ("csv", "libsvm", "parquet", "arrow", "npz")
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npz": "npz",
}
_COMPRESSED = (".gz", ".bz2", ".xz")
_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "npz",
    b"\xff\xff\xff\xff": "arrow",
}


def open_dataset(
    data: Any,
    *,
    target: str | int | None = AUTO,
    ids: str | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    task: str | None = None,
    encoding: Encoding | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    charset: str | None = None,
    missing: Sequence[str] | None = None,
    max_categories: int = MAX_CATEGORIES,
    zero_based: bool = False,
    n_features: int | None = None,
    part: str | None = None,
    dtype: Any = np.float64,
    n_jobs: int | None = None,
    strict: bool = False,
) -> Dataset:
    """Open a data set without reading it.

    Parameters
    ----------
    data : str, path or frame
        A frame of pandas or polars, an Arrow table, or anything that speaks their protocols. Or a
        file (LIBSVM text, CSV or TSV, each also as .gz, .bz2 or .xz; Parquet, Arrow, Feather; NPZ),
        ``-`` for standard input, the name of a .npz file in the folder KERNELIGHT_DATA, a set that
        comes with scikit-learn (``digits``, ``wine``, ``breast_cancer``, ``iris``, ``diabetes``),
        or ``openml:NAME``.
    target : str, int or None
        The column to predict, by name or place; None if there is none. "auto" takes the one the
        format knows, else a column called target, label, class or y, else the last, which must have
        a name; a note then says which column was taken.
    ids : str, optional
        A column that only names the rows.
    ignore : list of str
        Columns to leave out.
    categorical : list of str
        Columns of numbers that are to be read as words; categorical columns of frames are words
        anyway.
    task : {"classification", "regression"}, optional
        What the target is; inferred by default.
    encoding : Encoding, optional
        That of a model: the file is then encoded like the one it was trained on, and must have the
        same columns.
    format : {"csv", "libsvm", "parquet", "arrow", "npz"}, optional
        Of files; recognised by default.
    delimiter, header, missing
        Of delimited text: the delimiter, whether the first row has names, the words that stand for
        a missing value; recognised by default. Lines with a title above the names are skipped.
    decimal : {".", ","}, optional
        The decimal separator of numbers that are text; recognised column by column by default.
        Digits with leading zeros, such as zip codes, are then numbers. Given with an ``encoding``,
        it goes before that of the training file.
    charset : str, optional
        The encoding of a text file, by a name that Python knows (cp1252, latin-1, utf-16). By
        default it is UTF-8; where that cannot be, cp1252 (or what a byte-order mark says) is taken,
        with a note.
    max_categories : int
        How many columns of 0 and 1 the words of a column may become. Of more words the most
        frequent have a column each and the others share one; with ``strict`` they are an error.
        Models make target values of them as well (`Dataset.supervised`).
    zero_based, n_features
        Of LIBSVM files: whether indices begin at 0, and how many features there are (by default as
        many as occur).
    part : {"train", "test"}, optional
        Of NPZ files that have both.
    dtype : {float64, float32}
        Of X.
    n_jobs : int, optional
        Threads for parsing.
    strict : bool
        Refuse, with one error that lists them and the options that settle them, columns that need a
        decision: ids, dates, numbers with signs, codes, too many words. Otherwise the defaults are
        taken, and a `DataWarning` says so when the rows are read.

    Returns
    -------
    Dataset
        Errors of the data are `DataError`.

    See Also
    --------
    kernelight.data.Dataset : What it returns.
    kernelight.data.Encoding : What becomes of columns.

    Examples
    --------
    >>> from kernelight.data import open_dataset
    >>> X, y = open_dataset("digits").materialise()
    >>> X.shape, y[:3]
    ((1797, 64), array([0, 1, 2]))
    """
    check_choice("task", task, (None, CLASSIFICATION, REGRESSION))
    check_choice("format", format, (None, *FORMATS))
    check_choice("part", part, (None, "train", "test"))
    check_choice("decimal", decimal, (None, ".", ","))
    if delimiter is not None:
        checked_delimiter(delimiter)
    check_int("max_categories", max_categories, low=1)
    if n_features is not None:
        check_int("n_features", n_features, low=1)
    check_choice("dtype", np.dtype(dtype).name, ("float32", "float64"))
    charset = None if charset is None else checked_charset(charset)
    if encoding is not None:
        zero_based = zero_based or encoding.zero_based
    options = ReadingOptions(
        target,
        ids,
        tuple(ignore),
        task,
        max_categories,
        n_features,
        np.dtype(dtype).name,
        None if missing is None else tuple(missing),
        zero_based,
        tuple(categorical),
        strict,
        decimal,
        charset,
    )
    named = tuple(categorical)
    if encoding is not None:
        categorical = [c.name for c in encoding.columns or () if c.kind == "words"]
    known = () if encoding is None else encoding.names
    if is_frame(data):
        source: TableSource = frame_source(data, categorical=categorical, known=known)
        _refuse_unknown(categorical if encoding is None else (), source)
        return Dataset(source, options, encoding)
    opened = data if isinstance(data, ByteSource) else _opened(_name(data))
    if isinstance(opened, TableSource):
        return Dataset(opened, options, encoding)
    form = format or _format(opened)
    threads = resources(n_jobs).threads
    if form not in ("csv", "libsvm") and opened.compression:
        raise DataError(f"{opened.label} is {form} inside {opened.compression}: unpack it first.")
    notes: tuple[str, ...] = ()
    if form in ("csv", "libsvm"):
        trained = None if encoding is None else encoding.charset
        notes = _transcoded(opened, charset, trained, guess=form == "csv" and not strict)
    if form == "libsvm":
        source = LibsvmSource(opened, zero_based=zero_based, threads=threads)
    elif form == "csv":
        source = DelimitedSource(
            opened,
            delimiter=delimiter,
            header=header,
            missing=missing_words(missing, encoding),
            categorical=categorical,
            names=_names(encoding),
            settled=encoding is not None,
            threads=threads,
            comma=_comma(decimal, encoding),
            named=Named(
                frozenset(n for n in (target, ids, *ignore, *named) if isinstance(n, str)) - {AUTO},
                frozenset(known),
            ),
            strict=strict,
        )
    elif form == "npz":
        source = NpzSource(opened, part)
    else:
        source = ColumnarSource(opened, form=form, categorical=tuple(categorical), known=known)
    source.n_bytes = opened.n_bytes
    source.notes = (*notes, *source.notes)
    _refuse_unknown(categorical if encoding is None else (), source)
    return Dataset(source, options, encoding)


def _transcoded(
    source: ByteSource, charset: str | None, known: str | None, guess: bool
) -> tuple[str, ...]:
    """Have a text read as UTF-8, from the charset that was given or is known or guessed.

    ``known`` is that of the training file. The notes say what was guessed.
    """
    if charset is not None:
        source.charset = None if charset in UTF8 else charset
        return ()
    head = source.head(HEAD + 1)
    guessed = (
        guessed_charset(head[:HEAD], len(head) <= HEAD) if guess or known is not None else None
    )
    if guessed is None:
        return ()
    if known is not None:
        source.charset = known
        return ()
    source.charset = guessed
    return (
        f"the text is not UTF-8 and is read as {guessed}; charset='NAME' names another encoding",
    )


def _comma(decimal: str | None, encoding: Encoding | None) -> bool:
    """Whether a text certainly has decimal commas: by the user or the training file."""
    if decimal is not None or encoding is None:
        return decimal == ","
    return any(column.format == COMMA for column in encoding.columns or ())


def _name(data: Any) -> str:
    try:
        return os.fsdecode(data)
    except TypeError:
        raise TypeError(
            f"A data set is a path, a name or a frame (pandas, polars, Arrow), got "
            f"{type(data).__name__}."
        ) from None


def _refuse_unknown(categorical: Sequence[str], source: TableSource) -> None:
    """Refuse columns that are to be words and are not there."""
    known = None if source.columns is None else [column.name for column in source.columns]
    unknown = next((name for name in categorical if known is not None and name not in known), None)
    if unknown is not None:
        hint = nearest(unknown, known or ()) or "."
        raise DataError(f"{source.label}: there is no column {unknown!r} of words{hint}")


def _names(encoding: Encoding | None) -> tuple[str, ...]:
    """Of a table without names: what the columns were called in training, without the target."""
    if encoding is None or not encoding.file_columns:
        return ()
    target = None if encoding.target is None else encoding.target.name
    return tuple(name for name in encoding.file_columns if name != target)


def _opened(name: str) -> ByteSource | TableSource:
    """The bytes of a file, or a data set that is no file."""
    if name == "-":
        return standard_input()
    if name.startswith("openml:"):
        return openml(name.removeprefix("openml:"))
    if not name:
        raise DataError("The name of the data set is empty.")
    if os.path.isfile(name) or "\0" in name:
        return file_source(name)
    folder = os.environ.get("KERNELIGHT_DATA")
    if folder:
        path = os.path.join(folder, f"{name}.npz")
        if os.path.isfile(path):
            return file_source(path, name)
    if name in BUNDLED:
        return bundled(name)
    if os.path.lexists(name):
        return file_source(name)
    place, file = os.path.split(name)
    if place and not os.path.isdir(place):
        raise DataError(f"{name}: there is no directory {shown(place)}.")
    known = {
        other: _stem(other)
        for other in _files(place or ".")
        if _is_data(os.path.join(place, other))
    }
    if not place and _stem(file) == file:  # a name, not the name of a file
        sets = [
            *BUNDLED,
            *(s.removesuffix(".npz") for s in _files(folder or "") if s.endswith(".npz")),
        ]
        known = {other: other for other in sets} | known
    raise DataError(f"{name}: there is no such file or data set{_alike(_stem(file), known) or '.'}")


def _stem(name: str) -> str:
    """The name of a file of data without the endings that say its format."""
    stem = name
    for ending in _COMPRESSED:
        stem = stem.removesuffix(ending)
    base, ending = os.path.splitext(stem)
    return base if ending.lower() in _ENDINGS else stem


def _is_data(path: str) -> bool:
    """Whether a path may be suggested: a file with the ending of a format that is not hidden."""
    name = os.path.basename(path)
    return not name.startswith(".") and _stem(name) != name and os.path.isfile(path)


def _alike(stem: str, known: dict[str, str]) -> str:
    """ "; did you mean ...?" for the known name whose stem differs by a slip at most."""
    stems = {other.lower(): name for name, other in reversed(known.items())}
    close = difflib.get_close_matches(stem.lower(), stems, n=1, cutoff=0.75)
    return f"; did you mean {shown(stems[close[0]])}?" if close else ""


def _files(folder: str) -> list[str]:
    """What is in a folder, as far as that can be seen."""
    try:
        return sorted(os.listdir(folder))[:10_000]
    except OSError:
        return []


def _format(source: ByteSource) -> str:
    """By what a file begins with, by its ending, by its first lines."""
    start = source.head(1 << 16)
    if not start:
        raise DataError(f"{source.label} is empty.")
    for magic, form in _MAGIC.items():
        if start.startswith(magic):
            return form
    refuse_other_formats(source.label, start)
    path = source.label.lower()
    for ending in _COMPRESSED:
        path = path.removesuffix(ending)
    ending = os.path.splitext(path)[1]
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    lines = start.split(b"\n")
    return "libsvm" if looks_like_libsvm(lines[:-1] or lines) else "csv"
