"""Which rows of a file are most similar to those of another: by an exact kernel, or by codes or
features of both.

A block of rows of the first file meets the second file block by block; of their similarities only
what is kept stays.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import as_matrix, check_choice, check_int, check_number
from kernelight.codes import Codes
from kernelight.data import DataError, Dataset, open_dataset
from kernelight.data.byte_sources import ByteSource, file_source, standard_input
from kernelight.data.errors import nearest, shown
from kernelight.estimators.progress import Event, Watch, unwatched
from kernelight.kernels.base import Kernel
from kernelight.scaling import NAMES, Scaling, fit_scaling
from kernelight.tables.code_files import FEATURES, EncodedRows, read_encoded
from kernelight.tables.memory_limit import row_bytes
from kernelight.tables.table_map import TableMap, first_rows, open_like, sample_of

TOP = 5
LEFT_ROWS, RIGHT_ROWS = 1024, 4096  # that meet at a time: 32 MB of similarities
BLOCK_BYTES = 16 << 20  # of rows


class Pairs(NamedTuple):
    """Pairs of rows, counted from 0, with their similarities; and their ids, None where there are
    none."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    similarity: NDArray[np.float64]
    a_ids: list[str] | None
    b_ids: list[str] | None


class Part(NamedTuple):
    """Some rows as they are compared, how many they are, and their ids."""

    rows: Any
    n_rows: int
    ids: list[str] | None


class ComparableRows(ABC):
    """Rows that can be compared with others of their kind."""

    name: str

    @abstractmethod
    def blocks(self, most: int) -> Iterator[Part]:
        """The rows, at most so many at a time."""

    @abstractmethod
    def compared(self, left: Any, right: Any) -> NDArray[Any]:
        """The similarities of two blocks."""


class KernelRows(ComparableRows):
    """Rows of a data set, compared by an exact kernel."""

    def __init__(self, data: Dataset, kernel: Kernel, scaling: Scaling | None) -> None:
        self.name, self._data, self._kernel, self._scaling = data.name, data, kernel, scaling

    def blocks(self, most: int) -> Iterator[Part]:
        rows = min(most, max(16, BLOCK_BYTES // row_bytes(first_rows(self._data))))
        for batch in self._data.batches(rows):
            X = as_matrix(batch.X)
            X = X if self._scaling is None else self._scaling(X)
            yield Part(self._kernel.prepare(X, name=self.name), X.shape[0], batch.ids)

    def compared(self, left: Any, right: Any) -> NDArray[Any]:
        return self._kernel.pairwise(left, right)


class StoredRows(ComparableRows):
    """Rows of a file of codes or features.

    Codes are compared by the share of slots in which they agree, which is the inner product of
    their features, or by what their map makes of that; features by their inner product.
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

    def blocks(self, most: int) -> Iterator[Part]:
        values, ids = self.rows.values, self.rows.ids
        for start in range(0, len(values), most):
            some = values[start : start + most]
            yield Part(some, len(some), None if ids is None else ids[start : start + most])

    def compared(self, left: Any, right: Any) -> NDArray[Any]:
        if not isinstance(left, Codes):
            return np.asarray(left @ right.T)
        if self._estimate is not None:
            return np.asarray(self._estimate(left, right))
        return left.collisions(right, n_jobs=self._n_jobs) / left.n_components


# -- What is compared
# ------------------------------------------------------------------------------------------------

Source = str | os.PathLike[str] | ByteSource


def kept(path: str) -> Source:
    """Standard input or a pipe as a file: it can be read once only, and here it is looked at twice.
    Other paths stay."""
    if path == "-":
        return standard_input()
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return file_source(path)
    return path


def _name(source: Source) -> str:
    return source.label if isinstance(source, ByteSource) else os.fsdecode(source)


def stored_rows(
    a: Source, b: Source | None, *, table_map: TableMap | None = None, n_jobs: int | None = None
) -> tuple[StoredRows, StoredRows] | None:
    """Two files of codes or features that may be compared; None if neither file is one."""
    first = _stored(a)
    found = [first, first if b is None else _stored(b)]
    if found == [None, None]:
        return None
    for path, other, rows in ((a, b, found[0]), (b, a, found[1])):
        if rows is None and path is not None and other is not None:
            raise ValueError(
                f"{_name(path)} holds no codes, but {_name(other)} does: encode both, with one "
                f"map, or compare the data."
            )
    left, right = (rows for rows in found if rows is not None)
    _refuse_other_origin(left, right)
    return StoredRows(left, table_map, n_jobs), StoredRows(right, table_map, n_jobs)


def _stored(source: Source) -> EncodedRows | None:
    # the name of a data set is no file
    is_file = isinstance(source, ByteSource) or os.path.isfile(source)
    return read_encoded(source) if is_file else None


def _refuse_other_origin(left: EncodedRows, right: EncodedRows) -> None:
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
    """The kernel of that name; gamma of gaussian is 1 / (2 sigma^2), as for models.

    >>> kernel_of("exp_gmm", gamma=2.0)
    ExpGMM(gamma=2.0, p=1.0)
    """
    return TableMap(name, gamma=gamma, p=p).choice().made(gamma, p)


def kernel_rows(
    a: Source,
    b: Source | None,
    kernel: Kernel,
    *,
    scale: str | None = None,
    watch: Watch,
    **reading: Any,
) -> tuple[KernelRows, KernelRows]:
    """Two data files by an exact kernel; columns of the second become what those of the first do,
    scaled like those.

    Either may lack the column that ``target`` names, which is left out of both.
    """
    target = reading.pop("target", None)
    left = open_dataset(a, target=None, **reading)
    if target is not None:
        left = left.leaving_out(target)
        reading["ignore"] = (*reading.get("ignore", ()), target)
    scaling = None
    if scale not in (None, "none"):
        X = as_matrix(sample_of(left, None, 0, watch))
        scaling = fit_scaling(check_choice("scale", scale, NAMES), X, np.random.default_rng(0))
    right = left if b is None else open_like(left.encoding, shown(left.name), b, reading)
    if target is not None and not any(target in (data.columns or ()) for data in (left, right)):
        raise DataError(
            f"{left.name}: there is no column "
            f"{shown(target)}{nearest(target, left.columns or ()) or '.'}"
        )
    return KernelRows(left, kernel, scaling), KernelRows(right, kernel, scaling)


# -- Comparison
# ------------------------------------------------------------------------------------------------------


def similar_rows(
    left: ComparableRows,
    right: ComparableRows,
    *,
    top: int | None = None,
    above: float | None = None,
    itself: bool = False,
    watch: Watch = unwatched,
) -> Iterator[Pairs]:
    """The most similar rows of ``right`` for each row of ``left``, or all pairs above a value.

    Parameters
    ----------
    top : int, optional
        How many rows for each; 5 if ``above`` is not given either. Of equal similarity the first
        come first.
    above : float, optional
        Only pairs that are as similar as this or more.
    itself : bool, default=False
        Both are the same rows: none is compared with itself, and of all pairs above a value each
        comes once.

    Yields
    ------
    Pairs
        In the order of the rows of ``left``, for each the most similar first.
    """
    check_limits(top, above)
    most = TOP if top is None and above is None else top
    right_ids: list[str] = []
    done = 0
    for block in left.blocks(LEFT_ROWS):
        kept: _Best | _Above = _Above() if most is None else _Best(block.n_rows, most)
        first = 0
        for others in right.blocks(RIGHT_ROWS):
            K = np.array(left.compared(block.rows, others.rows), dtype=np.float64)
            if itself:
                _leave_out(K, done, first, once=most is None)
            if above is not None:
                K[above > K] = -np.inf
            kept.add(K, first)
            first += others.n_rows
            if done == 0 and others.ids is not None:
                right_ids += others.ids
        if first == 0:
            raise DataError(f"{right.name} has no rows.")
        yield _pairs(kept, done, block.ids, right_ids)
        done += block.n_rows
        watch(Event("comparing", done))
    if done == 0:
        raise DataError(f"{left.name} has no rows.")


def check_limits(top: int | None, above: float | None) -> None:
    """Refuse what cannot be how many rows, or how similar ones, are asked for."""
    if top is not None:
        check_int("top", top, 1)
    if above is not None:
        check_number("above", above, -math.inf)


def _leave_out(K: NDArray[np.float64], first_left: int, first_right: int, *, once: bool) -> None:
    """Leave out pairs of a row with itself, and those of a row with one before it if each pair is
    to come once."""
    rows = first_left + np.arange(K.shape[0])[:, None]
    others = first_right + np.arange(K.shape[1])[None, :]
    K[rows >= others if once else rows == others] = -np.inf


def _pairs(kept: _Best | _Above, first: int, ids: list[str] | None, right_ids: list[str]) -> Pairs:
    a, b, similarity = kept.result()
    names = None if ids is None else [ids[row] for row in a.tolist()]
    others = [right_ids[row] for row in b.tolist()] if right_ids else None
    return Pairs(first + a, b, similarity, names, others)


class _Best:
    """The most similar rows for each row of a block, the best first."""

    def __init__(self, n_rows: int, top: int) -> None:
        self._top = top
        self._values = np.full((n_rows, top), -np.inf)
        self._places = np.full((n_rows, top), -1, dtype=np.int64)

    def add(self, K: NDArray[np.float64], first: int) -> None:
        """Look at similarities to more rows, the first of which has the number ``first``."""
        (n, m), top = K.shape, self._top
        better = self._values[:, -1:] < K
        if m > top:  # most are not even among the best of this block
            better &= np.partition(K, m - top, axis=1)[:, m - top, None] <= K
        rows, columns = np.nonzero(better)
        row = np.concatenate([np.repeat(np.arange(n), top), rows])
        value = np.concatenate([self._values.reshape(-1), K[rows, columns]])
        place = np.concatenate([self._places.reshape(-1), first + columns])
        order = np.lexsort((place, -value, row))
        counts = top + np.bincount(rows, minlength=n)
        chosen = order[(np.cumsum(counts) - counts)[:, None] + np.arange(top)]
        self._values, self._places = value[chosen], place[chosen]

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Rows of the block, rows that they are similar to, and how similar."""
        rows, columns = np.nonzero(self._values > -np.inf)
        return rows, self._places[rows, columns], self._values[rows, columns]


class _Above:
    """All pairs that were not left out."""

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []

    def add(self, K: NDArray[np.float64], first: int) -> None:
        """Look at similarities to more rows, the first of which has the number ``first``."""
        rows, columns = np.nonzero(np.isfinite(K))
        self._parts.append((rows, first + columns, K[rows, columns]))

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Rows of the block, rows that they are similar to, and how similar."""
        row, place, value = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.lexsort((place, -value, row))
        return row[order], place[order], value[order]
