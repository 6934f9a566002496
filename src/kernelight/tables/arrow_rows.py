"""Rows of Arrow batches as they are compared, packed into binary values, with digests of them.

`ArrowRows` is what a worker of any engine needs to know: it is plain data, learned from a few rows
(`witness_rows`), and what it makes of a row depends on no other row.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, as_matrix
from kernelight.data import DataError, DataWarning, Encoding, open_dataset
from kernelight.data.columnar import pyarrow_or_error
from kernelight.data.encoded_source import cell_rule
from kernelight.data.errors import shown
from kernelight.data.frames import LABEL as FRAME
from kernelight.data.frames import frame_source
from kernelight.data.table_source import CATEGORICAL, ColumnSelection
from kernelight.data.texts import TextShingles
from kernelight.kernels.prepare import row_peaks
from kernelight.neighbors import ExactRows
from kernelight.neighbors.equal_rows import empty_rows
from kernelight.scaling import Scaling
from kernelight.tables.deduplication import DedupRows, open_rows
from kernelight.tables.lost_cells import RoundedNumbers
from kernelight.tables.record_scaling import RECORDS, Gap

_DIGEST = 16  # bytes: of 10^15 different rows two have the same with a probability of 1e-9
_FIRST_ROWS = 1000  # that show how many values are zeros
_SPARSE = 2  # times as many values as nonzeros: then nonzeros alone take fewer bytes


class PackedRows(NamedTuple):
    """Rows as binary values of Arrow: columns of nonzeros (int32; empty for dense rows), values."""

    at: Any
    values: Any


@dataclass(frozen=True)
class ArrowRows:
    """How rows of a table or texts are compared.

    Attributes
    ----------
    names : tuple of str
        The columns that are read.
    encoding : Encoding or None
        From columns to features; None for texts.
    scaling, gaps
        As `DedupRows` has them.
    shingles : TextShingles or None
        How texts become rows.
    p, peak : float
        The power that values are raised to, and the largest value of all rows, if it is not 1.
    sparse : bool
        Whether packed rows are nonzeros.
    width : int
        Features of a row before it is scaled.
    """

    names: tuple[str, ...]
    encoding: Encoding | None
    scaling: Scaling | None
    gaps: tuple[Gap, ...]
    shingles: TextShingles | None
    p: float
    peak: float
    sparse: bool
    width: int

    @property
    def unite_empty(self) -> bool:
        """Whether rows of zeros are equal: records are, texts say nothing."""
        return self.shingles is None

    def matrix(self, batch: Any) -> Matrix:
        """The features of the rows of a batch, not scaled."""
        pa = pyarrow_or_error("An Arrow batch")
        table = pa.table([batch.column(name) for name in self.names], names=list(self.names))
        if self.shingles is not None:
            return self.shingles.transform(*_texts(table, self.names), names=self.names)
        if not table.num_rows:
            return np.zeros((0, self.width))
        with warnings.catch_warnings():  # notes are on files, and would come with every batch
            warnings.simplefilter("ignore", DataWarning)
            data = open_dataset(table, encoding=self.encoding, target=None)
            if self.gaps:
                data = data.telling_apart([gap.name for gap in self.gaps])
            rows = DedupRows(data, gaps=self.gaps, rounded=RoundedNumbers(data))
            return next(rows.batches(table.num_rows))[0]

    def compared(self, X: Matrix) -> Matrix:
        """Rows as they are compared."""
        return DedupRows(None, scaling=self.scaling, gaps=self.gaps).compared(X)  # type: ignore[arg-type]

    def exact(self, X: Matrix) -> ExactRows:
        """Rows of `matrix`, prepared for exact similarities; all have one scale."""
        compared = self.compared(X)
        return ExactRows(compared[:0], self.p, self.peak or 1.0).like(compared)

    def with_peak(self, peak: float) -> ArrowRows:
        """The same, where the largest value of all rows is known."""
        return replace(self, peak=peak)

    def largest(self, X: Matrix) -> float:
        """The largest value of some rows as they are compared."""
        return float(row_peaks(self.compared(X)).max(initial=0.0))

    def empty(self, X: Matrix) -> NDArray[np.bool_]:
        """Which rows are similar to nothing, because they are zeros where they are compared."""
        return empty_rows(self.compared(X))

    def packed(self, X: Matrix) -> PackedRows:
        """Rows of `matrix` as binary values."""
        if self.sparse:
            rows = _nonzeros(X)
            ends = rows.indptr.astype(np.int64)
            return PackedRows(
                binary_values(rows.indices.astype("<i4"), 4 * ends),
                binary_values(rows.data.astype("<f8"), 8 * ends),
            )
        ends = np.arange(X.shape[0] + 1, dtype=np.int64) * (8 * X.shape[1])
        dense = _dense(X)
        return PackedRows(binary_values(np.zeros(0, "<i4"), 0 * ends), binary_values(dense, ends))

    def unpacked(self, at: Any, values: Any) -> Matrix:
        """The rows of binary values: those of `matrix`."""
        _, data = bytes_of(values)
        if not self.sparse:
            return data.view("<f8").astype(np.float64, copy=False).reshape(-1, self.width)
        ends, indices = bytes_of(at)
        parts = (data.view("<f8").astype(np.float64), indices.view("<i4"), ends // 4)
        rows = sp.csr_matrix(parts, shape=(len(at), self.width))
        return rows if self.shingles is not None else rows.toarray()

    def digests(self, X: Matrix) -> Any:
        """What equal rows share, as binary values; null for rows that are equal to no other."""
        pa = pyarrow_or_error("Digests of rows")
        at, values = self.packed(X)
        alone = np.zeros(X.shape[0], bool) if self.unite_empty else empty_rows(X)
        found: list[bytes | None] = []
        for indices, numbers, none in zip(_views(at), _views(values), alone.tolist(), strict=True):
            hasher = hashlib.blake2b(indices, digest_size=_DIGEST)
            hasher.update(numbers)
            found.append(None if none else hasher.digest())
        return pa.array(found, type=pa.binary())


def text_rows(names: Sequence[str], shingles: TextShingles, p: float = 1.0) -> ArrowRows:
    """Columns of texts, compared by their shingles: nothing is learned."""
    if shingles.needs_fit:
        raise ValueError(
            "weights='tfidf' needs the counts of all texts, which are not made here: use 'tf'."
        )
    return ArrowRows(tuple(names), None, None, (), shingles, p, 1.0, True, shingles.n_features)


def table_rows(
    tables: Sequence[Any],
    *,
    scale: str | None = None,
    p: float = 1.0,
    label: str = "df",
    **reading_options: Any,
) -> ArrowRows:
    """Columns of a table, by its first rows in their order, then witnesses of others.

    ``tables`` are Arrow tables of the same columns. What is learned is what `open_rows` learns from
    a file of all rows; a column whose text is numbers or dates is refused, as how it is written
    shows only when every row is read.
    """
    if scale not in (None, RECORDS, "none"):
        raise ValueError(
            f"scale must be {RECORDS!r} or 'none' here, got {scale!r}: other scalings are learned "
            "from a sample of a file."
        )
    pa = pyarrow_or_error("Rows of Arrow batches")
    some = pa.concat_tables([table.cast(tables[0].schema) for table in tables])
    if not some.num_rows:
        raise DataError(f"{label} has no rows.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            rows = open_rows(some, scale=scale, **reading_options)
            encoding = rows.data.encoding
            first = next(rows.batches(_FIRST_ROWS))[0]
    except DataError as error:
        raise DataError(_in_python(str(error).replace(FRAME, label, 1))) from None
    columns, t = encoding.columns or (), pa.types
    for column in columns:
        kind = some.schema.field(column.name).type
        if column.kind == CATEGORICAL or not (t.is_string(kind) or t.is_large_string(kind)):
            continue
        raise DataError(
            f"{label}, column {shown(column.name)} is text that reads as {column.kind}s: cast the "
            "column, or name it in categorical to compare it as words."
        )
    names = tuple(column.name for column in columns)
    sparse = first.size > _SPARSE * max(1, int(np.count_nonzero(first)))
    width = encoding.width + len(rows.gaps)
    return ArrowRows(names, encoding, rows.scaling, rows.gaps, None, p, 1.0, bool(sparse), width)


def _in_python(sentence: str) -> str:
    """A sentence of the command with arguments for its options, and without the number of a row.

    Rows of an engine have no numbers, and those that are looked at are not in their order.
    """
    sentence = re.sub(r", row [\d,]+(?=[,:])", "", sentence, count=1)
    for option, argument in (("text", "texts"), ("categorical",) * 2, ("ignore",) * 2):
        sentence = re.sub(
            rf"--{option} (.+?) (compares|reads|leaves)",
            lambda found, name=argument: f"{name}=[{found[1]!r}] {found[2]}",  # type: ignore[misc]
            sentence,
        )
    return sentence.replace("--max-categories", "max_categories")


def _texts(table: Any, names: Sequence[str]) -> list[list[str]]:
    """The cells of columns as texts, read as those of a file."""
    source = frame_source(table, categorical=names)
    source.cells = cell_rule(None, None)
    for column in source.columns or ():
        if column.kind != CATEGORICAL:
            raise DataError(f"column {shown(column.name)} of texts is {column.kind}: cast it.")
    return [words.texts() for words in source.whole(ColumnSelection(words=tuple(names))).words]


def _nonzeros(X: Matrix) -> Any:
    """Rows as CSR without zeros, columns ascending."""
    rows = sp.csr_matrix(X, dtype=np.float64)
    if sp.issparse(X):
        rows = rows.copy()
        rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def _dense(X: Matrix) -> NDArray[np.float64]:
    """Dense rows of doubles, in which no zero has a sign."""
    dense = X.toarray() if sp.issparse(X) else X
    return np.ascontiguousarray(as_matrix(dense), dtype="<f8") + 0.0


def binary_values(flat: NDArray[Any], ends: NDArray[np.int64]) -> Any:
    """One binary value for each row, from all bytes and where those of a row end."""
    pa = pyarrow_or_error("Binary values")
    large = bool(ends[-1] >= 1 << 31)
    offsets = ends.astype(np.int64 if large else np.int32)
    made = pa.LargeBinaryArray if large else pa.BinaryArray
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(flat))]
    return made.from_buffers(pa.large_binary() if large else pa.binary(), len(ends) - 1, buffers)


def bytes_of(values: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where the bytes of each binary value end, from 0, and all bytes; they are not copied."""
    pa = pyarrow_or_error("Binary values")
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if values.null_count:
        raise ValueError("A packed row is null: this frame was not written to its end.")
    offset = np.int64 if pa.types.is_large_binary(values.type) else np.int32
    ends = np.frombuffer(values.buffers()[1], dtype=offset)
    ends = ends[values.offset : values.offset + len(values) + 1].astype(np.int64)
    flat = np.frombuffer(values.buffers()[2] or b"", dtype=np.uint8)
    return ends - ends[0], flat[ends[0] : ends[-1]]


def _views(values: Any) -> list[memoryview]:
    ends, flat = bytes_of(values)
    view = memoryview(flat)  # type: ignore[arg-type]
    return [view[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
