"""De-duplication of the rows of files: tables, sparse rows, and columns of texts.

`DedupRows` says what the rows of a file are compared by; `deduplicate_rows` finds the duplicates in
memory, `deduplicate_spooled` (`spooled_deduplication`) within a memory limit.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.base.checks import Matrix, as_matrix, check_choice, check_int, check_positive
from kernelight.data import DataError, Dataset, open_dataset
from kernelight.data.errors import shown
from kernelight.data.texts import TextShingles
from kernelight.estimators.progress import Event, Watch, unwatched
from kernelight.neighbors.deduplicate import OtherRows, Others, deduplicate_matrix
from kernelight.neighbors.duplicates import COMPONENTS, FIRST, LAST, LEADER, Duplicates
from kernelight.neighbors.limits import check_recall, check_threshold
from kernelight.neighbors.minmax_neighbors import METHODS
from kernelight.scaling import SCALING_NAMES, Scaling, fit_scaling
from kernelight.tables.lost_cells import RoundedNumbers, refuse_lost_columns
from kernelight.tables.near_pairs import AT_ONCE, RECORD, NearPairs, Records
from kernelight.tables.record_scaling import RECORDS, Gap, gaps_of, record_scaling, with_gaps
from kernelight.tables.table_map import open_like, sample_of

BATCH = 1 << 13  # rows that are read at a time
IDENTICAL, SAME_SHINGLES = "identical", "same shingles"
_SAME, _NEAR, _AGAINST = range(3)


@dataclass(frozen=True)
class DedupSettings:
    """What near-duplicates are, and which of them stay; as in `deduplicate`.

    >>> from kernelight.tables.deduplication import DedupSettings
    >>> DedupSettings(threshold=0.9).linkage
    'leader'
    """

    threshold: float = 0.8
    keep: str = FIRST
    linkage: str = LEADER
    p: float = 1.0
    method: str = "auto"
    recall: float = 0.95
    random_state: int = 0
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        check_choice("keep", self.keep, (FIRST, LAST))
        check_choice("linkage", self.linkage, (LEADER, COMPONENTS))
        check_choice("method", self.method, METHODS)
        check_recall(self.recall)
        check_positive("p", self.p)
        check_int("random_state", self.random_state, 0)

    @property
    def engine(self) -> dict[str, Any]:
        """The arguments of `MinMaxNeighbors`."""
        names = ("p", "method", "recall", "random_state", "n_jobs")
        return {name: getattr(self, name) for name in names}


@dataclass
class DedupRows:
    """The rows of a file as they are compared: encoded columns, or the shingles of a column.

    Attributes
    ----------
    data : Dataset
        The file, without a target.
    texts : tuple of str
        The columns of texts; none for all columns as they are encoded.
    shingles : TextShingles or None
        How texts become rows; fitted if they need it.
    scaling : Scaling or None
        What happens to columns before rows are compared; equal rows are equal before.
    scale : str
        Its name.
    """

    data: Dataset
    texts: tuple[str, ...] = ()
    shingles: TextShingles | None = None
    scaling: Scaling | None = None
    scale: str = "none"
    gaps: tuple[Gap, ...] = ()  # columns whose missing values have a feature
    every_gap: tuple[Gap, ...] = ()  # those that may have missing values in another file
    rounded: RoundedNumbers | None = field(default=None, compare=False)
    n_rows: int | None = field(default=None, compare=False)  # once all were read

    @property
    def name(self) -> str:
        """What errors and reports call the file."""
        return self.data.name

    def batches(self, rows: int = BATCH) -> Iterator[tuple[Matrix, list[str] | None]]:
        """The rows in batches of ``rows``, not scaled, each with ids if a column has them."""
        if self.texts:
            assert self.shingles is not None
            for columns, ids in self.data.texts(self.texts, rows):
                yield self.shingles.transform(*columns, names=self.texts), ids
            return
        for batch in self.data.batches(rows):
            X = as_matrix(batch.X, name=self.name)
            if self.rounded is not None:
                self.rounded.look(X)
            yield X, batch.ids

    def compared(self, X: Matrix) -> Matrix:
        """Rows as they are compared."""
        if self.gaps:
            return with_gaps(X, self.gaps, self.scaling)
        return X if self.scaling is None else self.scaling(X)

    @property
    def same(self) -> str:
        """What rows have in common that are equal where they are compared."""
        return SAME_SHINGLES if self.texts else IDENTICAL

    @property
    def unite_empty(self) -> bool:
        """Whether rows of zeros are equal: records are, texts and sparse rows say nothing."""
        return self.data.is_table and not self.texts

    def empty_text(self, count: int) -> str:
        """What is true of ``count`` rows that are zeros where they are compared."""
        many, are = counted(count, "row"), "is" if count == 1 else "are"
        if not self.unite_empty:
            stay = "stays" if count == 1 else "stay"
            return f"{many} without any value {are} similar to nothing and {stay}."
        what = "of only zeros" + ("" if self.scaling is None else " once scaled")
        return f"{many} {what} {are} similar to no other rows; equal ones count as identical."

    def whole(self, watch: Watch = unwatched) -> tuple[Matrix, list[str] | None]:
        """All rows, not scaled, and their ids."""
        parts: list[Matrix] = []
        names: list[str] = []
        count, has_ids = 0, False
        for X, ids in self.batches():
            parts.append(X)
            if ids is not None:
                has_ids = True
                names += ids
            count += X.shape[0]
            watch(Event("reading", count))
        if not parts:
            raise DataError(f"{self.name} has no rows.")
        self.n_rows = count
        X = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
        return as_matrix(X), names if has_ids else None

    def count(self, watch: Watch = unwatched) -> int:
        """How many rows there are."""
        if self.n_rows is None:
            self.n_rows = 0
            for X, _ in self.batches():
                self.n_rows += X.shape[0]
                watch(Event("reading", self.n_rows))
        return self.n_rows


def open_rows(
    path: Any,
    *,
    texts: Sequence[str] = (),
    shingles: TextShingles | None = None,
    scale: str | None = None,
    target: str | None = None,
    learn: bool = True,
    watch: Watch = unwatched,
    **reading_options: Any,
) -> DedupRows:
    """The rows of a file, ready to be compared, or without ``learn`` ready for `learn_from`.

    Columns of tables count alike by default, whatever their units (`record_scaling`); sparse rows
    and arrays are taken as they are. What would let rows go as equal that are not (`lost_cells`) is
    refused, and a missing value has a feature of its own.
    """
    if scale is not None:
        check_choice("scale", scale, (RECORDS, *SCALING_NAMES))
    data = open_dataset(path, target=None, **reading_options)
    if texts:
        rows = DedupRows(data, tuple(texts), shingles or TextShingles())
        if rows.shingles is not None and rows.shingles.needs_fit and learn:
            count = 0
            for columns, _ in data.texts(texts, BATCH):
                rows.shingles.partial_fit(*columns, names=rows.texts)
                count += len(columns[0])
                watch(Event("counting words", count))
        return rows
    if target is not None:
        data = data.leaving_out(target)
    refuse_lost_columns(data, reading_options)
    scale = (RECORDS if data.is_table else "none") if scale is None else scale
    if scale == RECORDS and data.encoding.columns is None:
        raise DataError(f"{data.name} has sparse rows: --scale {RECORDS} is for tables.")
    gaps = gaps_of(data.encoding)
    if gaps:
        data = data.telling_apart()
    rows = DedupRows(data, scale=scale, gaps=gaps, every_gap=gaps, rounded=RoundedNumbers(data))
    if not learn:
        return rows
    if gaps or scale == RECORDS:
        low, high = _ranges(rows, watch)
        rows = _without_empty_gaps(_ranged(rows, low, high), high)
    if scale in (RECORDS, "none"):
        return rows
    return _scaled(rows, as_matrix(sample_of(rows.data, None, 0, watch)))


def learn_from(rows: DedupRows, some: Any) -> DedupRows:
    """The same rows, where some of them (a matrix, or columns of texts) say how to compare all."""
    if rows.texts:
        if rows.shingles is not None and rows.shingles.needs_fit:
            rows.shingles.partial_fit(*some, names=rows.texts)
        return rows
    X = as_matrix(some)
    if rows.gaps or rows.scale == RECORDS:
        rows = _ranged(rows, X.min(axis=0), X.max(axis=0))
    return _scaled(rows, X)


def _ranged(rows: DedupRows, low: Any, high: Any) -> DedupRows:
    """The same rows, by the least and the largest value of each feature."""
    width = rows.data.n_features
    gaps = rows.gaps
    if rows.scale == "none":  # as much as the largest value of the column
        largest = np.maximum(np.abs(low), np.abs(high))
        gaps = tuple(
            gap._replace(weight=float(largest[gap.start : gap.stop].max(initial=0.0)) or 1.0)
            for gap in gaps
        )
    scaling = rows.scaling
    if rows.scale == RECORDS:
        scaling = record_scaling(rows.data.encoding, low[:width], high[:width])
    return replace(rows, gaps=gaps, every_gap=gaps, scaling=scaling)


def _without_empty_gaps(rows: DedupRows, high: Any) -> DedupRows:
    """The same rows without the features of missing values that no row has."""
    seen = high[rows.data.n_features :] > 0
    gaps = tuple(gap for gap, there in zip(rows.gaps, seen, strict=True) if there)
    return replace(rows, gaps=gaps, data=rows.data.telling_apart([gap.name for gap in gaps]))


def _scaled(rows: DedupRows, some: Any) -> DedupRows:
    """The same rows, with a scaling that some of them say, unless they have it."""
    if rows.scale in ("none", RECORDS):
        return rows
    some = np.ascontiguousarray(some[:, : rows.data.n_features]) if rows.gaps else some
    return replace(rows, scaling=fit_scaling(rows.scale, some, np.random.default_rng(0)))


def _ranges(rows: DedupRows, watch: Watch) -> tuple[NDArray[Any], NDArray[Any]]:
    """The least and the largest value of each feature."""
    low, high, count = np.inf, -np.inf, 0
    for X, _ in rows.batches():
        low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
        count += X.shape[0]
        watch(Event("reading", count))
    if not count:
        raise DataError(f"{rows.name} has no rows.")
    return np.asarray(low), np.asarray(high)


def open_others(
    rows: DedupRows, path: Any, *, target: str | None = None, **reading_options: Any
) -> tuple[DedupRows, DedupRows]:
    """The same rows, and those of another file to compare them with.

    Columns of the other file become features as those of the first. Where both have sparse rows,
    both get the width of the wider one.
    """
    if rows.texts:
        reading_options = {**reading_options, "target": None}
        return rows, replace(rows, data=open_dataset(path, **reading_options), n_rows=None)
    if rows.data.columns is None:
        other = open_dataset(path, **{**reading_options, "target": None})
        if other.columns is not None:
            raise DataError(f"{rows.name} has sparse rows, and {other.name} a table of columns.")
        width = max(rows.data.n_features, other.n_features)
        mine = rows.data.widened(width)
        other = other.widened(width)
        rounded = RoundedNumbers(other)
        return replace(rows, data=mine), replace(rows, data=other, n_rows=None, rounded=rounded)
    if target is not None:
        reading_options["ignore"] = (*reading_options.get("ignore", ()), target)
    other = open_like(rows.data.encoding, shown(rows.name), path, reading_options)
    if not rows.every_gap:
        return rows, replace(rows, data=other, n_rows=None)
    names = [gap.name for gap in rows.every_gap]
    rows = replace(rows, data=rows.data.telling_apart(names), gaps=rows.every_gap)
    other = other.telling_apart(names)
    return rows, replace(rows, data=other, n_rows=None, rounded=RoundedNumbers(other))


@dataclass(frozen=True)
class TableDuplicates:
    """Duplicates among the rows of a file, with what a report says of how they were found."""

    found: Duplicates
    settings: DedupSettings
    ids: list[str] | None
    other_ids: list[str] | None  # of the rows of another file, if they have ids
    plan: dict[str, Any]
    seconds: float
    near: NearPairs  # where ``found`` has none, they are in a file
    same: str = "identical"  # how rows go that are equal where they are compared

    @property
    def n_rows(self) -> int:
        """Rows of the file."""
        return len(self.found.kept)

    def label(self, row: int) -> str:
        """The id of a row, or its number counted from 1."""
        return str(row + 1) if self.ids is None else self.ids[row]

    def survivor_label(self, survivor: int) -> str:
        """The id or number of a survivor, which may be a row of another file."""
        if survivor >= 0:
            return self.label(survivor)
        other = -1 - survivor
        return str(other + 1) if self.other_ids is None else self.other_ids[other]

    def facts(self) -> dict[str, Any]:
        """The numbers, as plain data."""
        found = self.found
        sizes = found.cluster_sizes
        return {
            "rows": self.n_rows,
            "kept": found.n_kept,
            "removed": found.n_removed,
            "identical": found.n_identical,
            "near": found.n_near,
            "against": found.n_matched,
            "empty": found.n_empty,
            "clusters": int((sizes > 1).sum()),
            "largest_cluster": int(sizes.max(initial=0)),
            "pairs": len(self.near),
            "below_threshold": found.n_below,
            "capped": found.capped,
            "threshold": self.settings.threshold,
            "linkage": self.settings.linkage,
            "keep": self.settings.keep,
            "plan": self.plan,
            "seconds": round(self.seconds, 3),
        }

    def pair_batches(self) -> Iterator[dict[str, Any]]:
        """A table of pairs: a row, another it is similar to, how similar, and why the row went.

        Of equal rows each is paired with the one that stands for it. ``kind`` is identical (of
        texts same shingles), near or against; ``removed`` says that the row went because of this
        pair. At least one batch comes.
        """
        others = self._other_pairs()
        empty, begin = np.zeros(0, RECORD), 0
        for near in self.near.batches():
            last = int(near["row"][-1])
            while True:  # in batches of their own, where there are many
                end = int(np.searchsorted(others[0], last, side="right"))
                if end - begin <= AT_ONCE:
                    break
                yield self._labelled(empty, tuple(c[begin : begin + AT_ONCE] for c in others))
                begin += AT_ONCE
            yield self._labelled(near, tuple(column[begin:end] for column in others))
            begin = end
        while begin < len(others[0]):
            yield self._labelled(empty, tuple(c[begin : begin + AT_ONCE] for c in others))
            begin += AT_ONCE
        if not len(self.near) and not len(others[0]):
            yield self._labelled(empty, others)

    def _other_pairs(self) -> tuple[NDArray[Any], ...]:
        """Rows of pairs that are not near ones, in order: row, other, similarity, kind."""
        found = self.found
        same = np.flatnonzero(found.identical)
        gone = np.flatnonzero((found.survivor < 0) & ~found.identical)
        other, similarity = found.survivor[gone], found.similarity[gone]
        if found.matches is not None:  # rather its own match than that of its cluster
            own = found.matches.row[gone] >= 0
            other = np.where(own, -1 - found.matches.row[gone], other)
            similarity = np.where(own, found.matches.similarity[gone], similarity)
        row = np.concatenate([same, gone])
        order = np.argsort(row, kind="stable")
        kind = np.repeat([_SAME, _AGAINST], [len(same), len(gone)])
        others = np.concatenate([found.equal[same], other])
        return (
            row[order],
            others[order],
            np.append(np.ones(len(same)), similarity)[order],
            kind[order],
        )

    def _labelled(self, near: Records, others: tuple[NDArray[Any], ...]) -> dict[str, Any]:
        found = self.found
        row = np.concatenate([near["row"].astype(np.int64), others[0]])
        other = np.concatenate([near["other"].astype(np.int64), others[1]])
        similarity = np.concatenate([near["similarity"], others[2]])
        kind = np.concatenate([np.full(len(near), _NEAR), others[3]])
        order = np.lexsort((other, kind, -similarity, row))
        row, other, kind = row[order], other[order], kind[order]
        removed = ~found.kept[row] & ((found.survivor[row] == other) | (kind != _NEAR))
        text = self.ids is not None or self.other_ids is not None
        return {
            "row": row + 1 if self.ids is None else _texts(map(self.label, row.tolist())),
            "other": _texts(map(self.survivor_label, other.tolist()))
            if text
            else np.where(other >= 0, other + 1, -other),
            "similarity": similarity[order],
            "kind": np.array([self.same, "near", "against"])[kind],
            "removed": removed,
        }

    def close(self) -> None:
        """Close the temporary file of the pairs, if there is one."""
        self.near.close()


def _texts(labels: Iterable[str]) -> NDArray[Any]:
    return np.array(list(labels), dtype=str)


def deduplicate_rows(
    rows: DedupRows,
    settings: DedupSettings,
    *,
    against: DedupRows | None = None,
    others: Others | None = None,
    watch: Watch = unwatched,
) -> TableDuplicates:
    """The duplicates among all rows, in memory.

    A row also goes if a row of ``against`` is within the threshold; ``others`` is the same for
    rows that are elsewhere, such as those of an index.
    """
    start = time.monotonic()
    X, ids = rows.whole(watch)
    other_ids = None
    if against is not None:
        Y, other_ids = against.whole(watch)
        if Y.shape[1] != X.shape[1]:
            raise DataError(
                f"{against.name} has {counted(Y.shape[1], 'feature')} where {rows.name} has "
                f"{X.shape[1]}."
            )
        others = OtherRows(against.compared(Y), settings.threshold, settings.engine)
    watch(Event("looking for duplicates"))
    found, plan = deduplicate_matrix(
        X,
        settings.threshold,
        settings.engine,
        keep=settings.keep,
        linkage=settings.linkage,
        others=others,
        compared=rows.compared,
        unite_empty=rows.unite_empty,
    )
    other_ids = getattr(others, "ids", other_ids)  # an index knows what it has found
    near = NearPairs.of(found.pairs, settings.keep)
    seconds = time.monotonic() - start
    return TableDuplicates(found, settings, ids, other_ids, plan, seconds, near, rows.same)
