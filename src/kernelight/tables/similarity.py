"""The most similar rows of two files: by an exact kernel, or by the codes or features of both.

Each block of rows of the first file is compared with the second file block by block. Only the best
pairs so far are kept in memory, never all similarities.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, as_matrix, check_choice, check_int, check_number
from kernelight.codes import Codes
from kernelight.data import DataError, Dataset, open_dataset
from kernelight.data.byte_sources import ByteSource, file_source, standard_input
from kernelight.data.errors import nearest, shown
from kernelight.estimators.progress import Event, Watch, unwatched
from kernelight.kernels import GMM
from kernelight.kernels.base import Kernel
from kernelight.neighbors import ExactRows
from kernelight.neighbors.exact import ExactSearch
from kernelight.scaling import SCALING_NAMES, Scaling, fit_scaling
from kernelight.tables.code_files import FEATURES, EncodedRows, read_encoded
from kernelight.tables.deduplication import DedupRows
from kernelight.tables.memory_limit import row_bytes
from kernelight.tables.table_map import TableMap, first_rows, open_like, sample_of

TOP = 5
LEFT_ROWS, RIGHT_ROWS = 1024, 4096  # of two blocks: 32 MB of similarities
BLOCK_BYTES = 16 << 20  # of the rows of a block


class Pairs(NamedTuple):
    """Pairs of rows with their similarities: row indices from 0, and ids (None without ids)."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    similarity: NDArray[np.float64]
    a_ids: list[str] | None
    b_ids: list[str] | None


class RowBlock(NamedTuple):
    """A block of rows as they are compared, how many there are, and their ids."""

    rows: Any
    n_rows: int
    ids: list[str] | None


class ComparableRows(ABC):
    """Rows that can be compared with other rows of the same class."""

    name: str

    @abstractmethod
    def blocks(self, most: int) -> Iterator[RowBlock]:
        """The rows in blocks of at most ``most``."""

    @abstractmethod
    def similarities(self, left: Any, right: Any) -> NDArray[Any]:
        """The similarities of the rows of two blocks, as a matrix."""


class KernelRows(ComparableRows):
    """Rows of a data set, compared by an exact kernel."""

    def __init__(self, data: Dataset, kernel: Kernel, scaling: Scaling | None) -> None:
        self.name, self._data, self._kernel, self._scaling = data.name, data, kernel, scaling

    def blocks(self, most: int) -> Iterator[RowBlock]:
        rows = min(most, max(16, BLOCK_BYTES // row_bytes(first_rows(self._data))))
        for batch in self._data.batches(rows):
            X = as_matrix(batch.X)
            X = X if self._scaling is None else self._scaling(X)
            yield RowBlock(self._kernel.prepare(X, name=self.name), X.shape[0], batch.ids)

    def similarities(self, left: Any, right: Any) -> NDArray[Any]:
        return self._kernel.pairwise(left, right)

    @property
    def power(self) -> float | None:
        """The power of the min-max kernel; None for other kernels."""
        kernel = self._kernel
        return kernel.p if type(kernel) is GMM and kernel.center is None else None

    def whole(self, watch: Watch) -> tuple[Matrix, list[str] | None]:
        """All rows, scaled, and their ids."""
        return DedupRows(self._data, scaling=self._scaling).whole(watch)


class StoredRows(ComparableRows):
    """Rows of a file of codes or features.

    Codes are compared by the fraction of slots in which they agree, which is the inner product of
    their one-hot features; with their map, by its estimate of the kernel. Dense features are
    compared by their inner product.
    """

    def __init__(self, rows: EncodedRows, table_map: TableMap | None, n_jobs: int | None) -> None:
        self.name, self.rows, self._n_jobs = rows.name, rows, n_jobs
        self._estimate = None
        if table_map is not None and isinstance(rows.values, Codes):
            self._estimate = getattr(table_map.map_, "similarity", None)
            if rows.values.provenance != table_map.provenance:
                raise ValueError(
                    f"{rows.name} was not made by this map: its provenance differs; encode it "
                    f"again."
                )
            k = getattr(table_map.map_, "n_components", rows.values.n_components)
            if (
                rows.values.n_components != k
                or rows.about.get("learned", table_map.learned) != table_map.learned
            ):
                raise ValueError(
                    f"{rows.name} was not made by this map, which has other slots, words or "
                    f"scales; encode it again."
                )

    def blocks(self, most: int) -> Iterator[RowBlock]:
        values, ids = self.rows.values, self.rows.ids
        for start in range(0, len(values), most):
            block = values[start : start + most]
            block_ids = None if ids is None else ids[start : start + most]
            yield RowBlock(block, len(block), block_ids)

    def similarities(self, left: Any, right: Any) -> NDArray[Any]:
        if not isinstance(left, Codes):
            return np.asarray(left @ right.T)
        if self._estimate is not None:
            return np.asarray(self._estimate(left, right))
        return left.collisions(right, n_jobs=self._n_jobs) / left.n_components


# -- What is compared

PathOrSource = str | os.PathLike[str] | ByteSource


def rereadable(path: str) -> PathOrSource:
    """A path, or the bytes of standard input or a pipe, which can be opened once only.

    Files are opened twice here: to see whether they hold codes, and to read them.
    """
    if path == "-":
        return standard_input()
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return file_source(path)
    return path


def _name(source: PathOrSource) -> str:
    return source.label if isinstance(source, ByteSource) else os.fsdecode(source)


def stored_rows(
    a: PathOrSource,
    b: PathOrSource | None,
    *,
    table_map: TableMap | None = None,
    n_jobs: int | None = None,
) -> tuple[StoredRows, StoredRows] | None:
    """The rows of two files of codes or features; None if neither file is one.

    Without ``b``, both are the rows of ``a``. Files that cannot be compared are refused.
    """
    first = _stored(a)
    files = [first, first if b is None else _stored(b)]
    if files == [None, None]:
        return None
    for path, other, rows in ((a, b, files[0]), (b, a, files[1])):
        if rows is None and path is not None and other is not None:
            raise ValueError(
                f"{_name(path)} holds no codes, but {_name(other)} does: encode both with one map, "
                f"or compare the data."
            )
    left, right = (rows for rows in files if rows is not None)
    _refuse_different_origin(left, right)
    return StoredRows(left, table_map, n_jobs), StoredRows(right, table_map, n_jobs)


def _stored(source: PathOrSource) -> EncodedRows | None:
    # the name of a data set is no file
    is_file = isinstance(source, ByteSource) or os.path.isfile(source)
    return read_encoded(source) if is_file else None


def _refuse_different_origin(left: EncodedRows, right: EncodedRows) -> None:
    """Refuse codes or features of different maps, or of columns encoded differently."""
    names = f"{left.name} and {right.name} cannot be compared"
    advice = "encode the second with --map and what --save-map wrote for the first"
    if left.about["kind"] != right.about["kind"]:
        raise ValueError(
            f"{names}: one holds {left.about['kind']}, the other {right.about['kind']}."
        )
    if left.about["provenance"] != right.about["provenance"]:
        raise ValueError(
            f"{names}: their provenance differs, so they were made by different maps; {advice}."
        )
    known = [rows.about["learned"] for rows in (left, right) if "learned" in rows.about]
    if len(set(known)) > 1:
        raise ValueError(f"{names}: their columns were encoded or scaled differently; {advice}.")
    if left.about["kind"] == FEATURES:
        return
    for what in ("n_features", "bits", "n_components"):
        one, other = getattr(left.values, what), getattr(right.values, what)
        if one != other and not (what == "n_features" and None in (one, other)):
            raise ValueError(
                f"{names}: {what} is {one} in the one and {other} in the other; {advice}."
            )


def kernel_of(name: str, gamma: float | None = None, p: float | None = None) -> Kernel:
    """The kernel of a name; the gamma of gaussian is 1 / (2 sigma^2), as for models.

    >>> kernel_of("exp_gmm", gamma=2.0)
    ExpGMM(gamma=2.0, p=1.0)
    """
    return TableMap(name, gamma=gamma, p=p).choice().make(gamma, p)


def kernel_rows(
    a: PathOrSource,
    b: PathOrSource | None,
    kernel: Kernel,
    *,
    scale: str | None = None,
    watch: Watch,
    **reading_options: Any,
) -> tuple[KernelRows, KernelRows]:
    """The rows of two data files, to be compared by an exact kernel.

    The columns of ``b`` are encoded and scaled as those of ``a``. The column that ``target`` names
    is left out of both; one of them may lack it.
    """
    target = reading_options.pop("target", None)
    left = open_dataset(a, target=None, **reading_options)
    if target is not None:
        left = left.leaving_out(target)
        reading_options["ignore"] = (*reading_options.get("ignore", ()), target)
    scaling = None
    if scale not in (None, "none"):
        X = as_matrix(sample_of(left, None, 0, watch))
        name = check_choice("scale", scale, SCALING_NAMES)
        scaling = fit_scaling(name, X, np.random.default_rng(0))
    right = left if b is None else open_like(left.encoding, shown(left.name), b, reading_options)
    if target is not None and not any(target in (data.columns or ()) for data in (left, right)):
        raise DataError(
            f"{left.name}: there is no column "
            f"{shown(target)}{nearest(target, left.columns or ()) or '.'}"
        )
    return KernelRows(left, kernel, scaling), KernelRows(right, kernel, scaling)


# -- Comparison


def similar_rows(
    left: ComparableRows,
    right: ComparableRows,
    *,
    top: int | None = None,
    above: float | None = None,
    itself: bool = False,
    n_jobs: int | None = None,
    watch: Watch = unwatched,
) -> Iterator[Pairs]:
    """The most similar rows of ``right`` for each row of ``left``, or all pairs above a value.

    Parameters
    ----------
    top : int, optional
        How many rows for each; 5 if ``above`` is not given either. Of rows with equal similarity
        the first come first.
    above : float, optional
        Only pairs whose similarity is at least this.
    itself : bool, default=False
        Both are the same rows: no row is compared with itself, and with ``above`` alone each pair
        comes once.

    Yields
    ------
    Pairs
        In the order of the rows of ``left``, for each the most similar first. Pairs ``above`` a
        value under the min-max kernel are found by an exact search, with all rows in memory;
        everything else is compared block by block.
    """
    check_limits(top, above)
    minmax = isinstance(left, KernelRows) and left.power is not None
    if minmax and top is None and above is not None and 0.0 < above <= 1.0:
        yield from minmax_pairs(left, right, above, itself=itself, n_jobs=n_jobs, watch=watch)
        return
    most = TOP if top is None and above is None else top
    right_ids: list[str] = []
    n_left = 0  # rows of the blocks of ``left`` before this one
    for block in left.blocks(LEFT_ROWS):
        best: _TopRows | _AllPairs = _AllPairs() if most is None else _TopRows(block.n_rows, most)
        n_right = 0
        for others in right.blocks(RIGHT_ROWS):
            K = np.array(left.similarities(block.rows, others.rows), dtype=np.float64)
            if itself:
                _drop_own_pairs(K, n_left, n_right, once=most is None)
            if above is not None:
                K[above > K] = -np.inf
            best.add(K, n_right)
            n_right += others.n_rows
            if n_left == 0 and others.ids is not None:
                right_ids += others.ids
        if n_right == 0:
            raise DataError(f"{right.name} has no rows.")
        yield _pairs(best, n_left, block.ids, right_ids)
        n_left += block.n_rows
        watch(Event("comparing", n_left))
    if n_left == 0:
        raise DataError(f"{left.name} has no rows.")


def minmax_pairs(
    left: ComparableRows,
    right: ComparableRows,
    above: float,
    *,
    itself: bool = False,
    n_jobs: int | None = None,
    watch: Watch = unwatched,
) -> Iterator[Pairs]:
    """All pairs of at least ``above`` under the min-max kernel, as `similar_rows` gives them.

    They are found by an exact search, which looks at few of all pairs; all rows are in memory.
    """
    assert isinstance(left, KernelRows)
    assert isinstance(right, KernelRows)
    power = left.power or 1.0
    X, ids = left.whole(watch)
    watch(Event("comparing"))
    if itself:
        found, other_ids = ExactSearch(ExactRows.of(X, power), n_jobs).pairs(above), ids
    else:
        Y, other_ids = right.whole(watch)
        rows = ExactRows.of(Y, power)
        found = ExactSearch(rows, n_jobs).above(rows.like(X), above)
    a, b, similarity = found
    order = np.lexsort((b, -similarity, a))
    a, b, similarity = a[order], b[order], similarity[order]
    for start in range(0, len(a), LEFT_ROWS):
        some = slice(start, start + LEFT_ROWS)
        a_ids = None if ids is None else [ids[row] for row in a[some].tolist()]
        b_ids = None if other_ids is None else [other_ids[row] for row in b[some].tolist()]
        yield Pairs(a[some], b[some], similarity[some], a_ids, b_ids)


def check_limits(top: int | None, above: float | None) -> None:
    """Refuse a wrong number of rows, or a wrong least similarity."""
    if top is not None:
        check_int("top", top, 1)
    if above is not None:
        check_number("above", above, -math.inf)


def _drop_own_pairs(
    K: NDArray[np.float64], first_left: int, first_right: int, *, once: bool
) -> None:
    """Drop the pairs of a row with itself, and with rows before it if each pair comes ``once``."""
    left = first_left + np.arange(K.shape[0])[:, None]
    right = first_right + np.arange(K.shape[1])[None, :]
    K[left >= right if once else left == right] = -np.inf


def _pairs(
    best: _TopRows | _AllPairs, first: int, ids: list[str] | None, right_ids: list[str]
) -> Pairs:
    """The pairs of a block whose first row has the index ``first``, with the ids of their rows."""
    a, b, similarity = best.result()
    a_ids = None if ids is None else [ids[row] for row in a.tolist()]
    b_ids = [right_ids[row] for row in b.tolist()] if right_ids else None
    return Pairs(first + a, b, similarity, a_ids, b_ids)


class _TopRows:
    """The most similar rows for each row of a block, the best first."""

    def __init__(self, n_rows: int, top: int) -> None:
        self._top = top
        self._similarity = np.full((n_rows, top), -np.inf)
        self._index = np.full((n_rows, top), -1, dtype=np.int64)

    def add(self, K: NDArray[np.float64], first: int) -> None:
        """Look at the similarities to more rows, the first of which has the index ``first``."""
        (n, m), top = K.shape, self._top
        better = self._similarity[:, -1:] < K
        if m > top:  # most are not even among the best of this block
            better &= np.partition(K, m - top, axis=1)[:, m - top, None] <= K
        rows, columns = np.nonzero(better)
        row = np.concatenate([np.repeat(np.arange(n), top), rows])
        similarity = np.concatenate([self._similarity.reshape(-1), K[rows, columns]])
        index = np.concatenate([self._index.reshape(-1), first + columns])
        order = np.lexsort((index, -similarity, row))
        counts = top + np.bincount(rows, minlength=n)
        chosen = order[(np.cumsum(counts) - counts)[:, None] + np.arange(top)]
        self._similarity, self._index = similarity[chosen], index[chosen]

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Rows of the block, the rows they are similar to, and the similarities."""
        rows, columns = np.nonzero(self._similarity > -np.inf)
        return rows, self._index[rows, columns], self._similarity[rows, columns]


class _AllPairs:
    """All pairs that were not dropped."""

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []

    def add(self, K: NDArray[np.float64], first: int) -> None:
        """Look at the similarities to more rows, the first of which has the index ``first``."""
        rows, columns = np.nonzero(np.isfinite(K))
        self._parts.append((rows, first + columns, K[rows, columns]))

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Rows of the block, the rows they are similar to, and the similarities."""
        row, index, similarity = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        order = np.lexsort((index, -similarity, row))
        return row[order], index[order], similarity[order]
