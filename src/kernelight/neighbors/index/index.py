"""`Index`: rows that are found by similarity, on disk, growing, safe from crashes.

Long, as it is one class: what each method does is elsewhere, and here is what users are told.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelight.base import counted, registry
from kernelight.base.checks import (
    as_matrix,
    check_bool,
    check_choice,
    check_int,
    check_number,
    resources,
)
from kernelight.base.files import FilePath
from kernelight.codes import Codes
from kernelight.codes.provenance import refuse_other_origin
from kernelight.maps.base import CodeMap
from kernelight.neighbors.banded import BUCKET_CAP, warn_of_capped
from kernelight.neighbors.index.array_file import ArrayFile
from kernelight.neighbors.index.contents import Contents
from kernelight.neighbors.index.files import Files
from kernelight.neighbors.index.ids import as_ids, named
from kernelight.neighbors.index.index_map import code_form, estimates_kernel, fitted_map, power_of
from kernelight.neighbors.index.join import similar_pairs
from kernelight.neighbors.index.manifest import Manifest, read_manifest
from kernelight.neighbors.index.plan import plan_bands
from kernelight.neighbors.index.search import Queries, Snapshot
from kernelight.neighbors.index.segment import Segment
from kernelight.neighbors.index.store import Store
from kernelight.state import State

_MOST_EMPTY = 1 << 16  # results of a query where there are fewer rows


class Index:
    """An index of rows on disk: similar rows are found by bands of codes, and compared exactly.

    Made by `Index.create`, opened by `Index.open`. It is a directory of files that never change,
    and a manifest that is replaced as a whole: whatever happens to the process or the machine, what
    `commit` has acknowledged is there, and nothing of what it has not. There is one writer at a
    time; readers see the index as it was when they opened it, also while a writer commits and
    compacts. Threads may share an index: changes of one writer take turns. A process that was
    forked while a writer was open may read, and not write.

    A writer sees its own changes at once; they are on disk after `commit`. As a context manager it
    commits when the block ends well; after an exception it does not, and what was not committed is
    dropped. `close` does not commit either.

    See Also
    --------
    MinMaxNeighbors : Rows in memory.
    deduplicate : Rows without near-duplicates.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from kernelight import GCWS
    >>> from kernelight.neighbors import Index
    >>> X = np.random.default_rng(0).lognormal(size=(200, 30))
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.index")
    >>> with Index.create(path, map=GCWS(256).fit(X), threshold=0.8) as index:
    ...     index.add([f"row {number}" for number in range(200)], X)
    >>> index = Index.open(path)
    >>> index
    Index(200 rows)
    >>> ids, scores = index.search(X[7:8] * 1.05, k=1)
    >>> ids[0, 0], float(scores[0, 0].round(3))
    ('row 7', 0.952)
    >>> index.close()
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("Index.create makes an index and Index.open opens one.")

    # -- Made and opened

    @classmethod
    def create(
        cls,
        path: FilePath,
        map: CodeMap | None = None,
        *,
        threshold: float = 0.8,
        recall: float = 0.95,
        store_rows: bool | None = None,
        n_features: int | None = None,
        attached: State | None = None,
        deferred: bool = False,
        n_jobs: int | None = None,
    ) -> Index:
        """Make an empty index in a new directory, and open it for writing.

        A process that is killed before the index is there leaves none: it can be created again at
        the same place. An error removes what was written.

        Parameters
        ----------
        path : path
            A directory that is not there yet, or an empty one.
        map : CodeMap, default=GCWS(256)
            A fitted map into codes. A `GCWS` need not be fitted if ``n_features`` is given; its
            ``sampler="auto"`` then means "cws".
        threshold, recall : float
            A pair of rows of this similarity, hence each above it, is found with at least this
            probability: bands of slots are chosen so.
        store_rows : bool, optional
            Whether rows are stored beside their codes, for exact scores. By default they are where
            the kernel of the map is `GMM` or `NGMM`. Without them scores are estimated from codes:
            similarities of `GCWS` with their standard error, of other maps the fraction of equal
            slots.
        n_features : int, optional
            Width of the rows, for a map that is not fitted.
        attached : State, optional
            Whatever is to be kept with the index: `attached` has it.
        deferred : bool, default=False
            There is no index before the first commit, so that it has all its rows or is not there.
            By default there is an empty one at once.
        n_jobs : int, optional
            Threads; None means all cores.
        """
        where = _place(path)
        threshold = _fraction("threshold", threshold)
        recall = check_number("recall", recall, 0.0, 1.0)
        if not 0.0 < recall < 1.0:
            raise ValueError(f"recall must be above 0 and below 1, got {recall}.")
        fitted = fitted_map(map, n_features)
        dtype, bits = code_form(fitted)
        exact = power_of(fitted) is not None
        stored = exact if store_rows is None else check_bool("store_rows", store_rows)
        check_bool("deferred", deferred)
        if not isinstance(attached, State | None):
            raise TypeError(
                f"attached must be a State, as to_state of fitted objects returns it, got "
                f"{type(attached).__name__}."
            )
        resources(n_jobs)  # refuses wrong ones
        if stored and not exact:
            raise ValueError(
                f"{type(fitted).__name__} aims at {fitted.kernel!r}, of which an index has no "
                "exact scores: pass store_rows=False for scores of its codes."
            )
        plan = plan_bands(
            fitted.n_outputs,
            bits if estimates_kernel(fitted) else None,
            dtype.itemsize,
            threshold,
            recall,
        )
        store = Store.create(where, cls._files())
        try:
            with store.writing():
                written = store.write_state("map", fitted.to_state())
                extra = None if attached is None else store.write_state("attached", attached)
                store.begin(Manifest(plan, stored, written, extra))
                if not deferred:
                    store.publish(store.manifest)
            return cls._of(store, n_jobs)
        except BaseException:
            store.close()
            raise

    @classmethod
    def open(cls, path: FilePath, mode: str = "r", *, n_jobs: int | None = None) -> Index:
        """Open an index to read ("r") or to change it ("a").

        It costs the same however many rows there are: files are mapped, not read.

        >>> from kernelight.neighbors import Index
        >>> Index.open("/nowhere.index")
        Traceback (most recent call last):
        ...
        FileNotFoundError: /nowhere.index is not there: Index.create makes an index.
        """
        where = _place(path)
        check_choice("mode", mode, ("r", "a"))
        resources(n_jobs)  # refuses wrong ones
        store = Store.open_reader(where) if mode == "r" else Store.open_writer(where, cls._files())
        try:
            return cls._of(store, n_jobs)
        except BaseException:
            store.close()
            raise

    #: Makes the files of a writer; crash tests have others.
    _files: ClassVar[Callable[[], Files]] = Files
    _store: Store
    _contents: Contents
    _n_jobs: int | None
    _closed: bool
    _turn: threading.RLock
    _map: CodeMap
    _map_file: ArrayFile
    _attached: State | None
    _attached_file: ArrayFile | None
    _power: float | None

    @classmethod
    def _of(cls, store: Store, n_jobs: int | None) -> Index:
        made = object.__new__(cls)
        made._store, made._n_jobs, made._closed = store, n_jobs, False
        made._turn = threading.RLock()
        lost: Exception | None = None
        for manifest in store.reading():
            try:
                made._load(manifest)
                return made
            except FileNotFoundError as error:
                lost = error
        raise ValueError(
            f"{store.path} has been altered or damaged: its file "
            f"{os.path.basename(str(getattr(lost, 'filename', '')))} is not there."
        )

    def _load(self, manifest: Manifest) -> None:
        """Map the files that a manifest names."""
        state, self._map_file = self._store.state(manifest.map, "map")
        try:
            self._map = registry.stored_class(state.kind, "map").from_state(state)
            if not isinstance(self._map, CodeMap):
                raise ValueError(f"{state.kind} makes no codes")
            dtype, bits = code_form(self._map)
        except ValueError as error:
            raise ValueError(f"{self._map_file.path} does not describe a map: {error}") from error
        if getattr(self._map, "n_jobs", self) is None:
            self._map.n_jobs = self._n_jobs
        self._attached, self._attached_file = None, None
        if manifest.attached is not None:
            self._attached, self._attached_file = self._store.state(manifest.attached, "attached")
        self._power = power_of(self._map) if manifest.store_rows else None
        if manifest.plan.n_components != self._map.n_outputs or (
            manifest.store_rows and self._power is None
        ):
            raise ValueError(f"{self._store.path} has been altered or damaged: its map is another.")
        provenance, n_features = self._map.provenance, int(self._map.n_features_in_)
        self._contents = Contents.opened(self._store, dtype, bits, provenance, n_features)

    @property
    def _segments(self) -> list[Segment]:
        return self._contents.segments

    # -- What it is

    @property
    def map(self) -> CodeMap:
        """The map that makes codes of rows."""
        return self._map

    @property
    def attached(self) -> State | None:
        """What was given to `create` to be kept with the index."""
        return self._attached

    @property
    def threshold(self) -> float:
        """The similarity from which on rows are found with the recall that was asked for."""
        return self._store.manifest.plan.threshold

    def __len__(self) -> int:
        self._refuse_closed()
        return len(self._contents)

    def __repr__(self) -> str:
        return "Index(closed)" if self._closed else f"Index({counted(len(self), 'row')})"

    def expected_recall(self, similarity: ArrayLike) -> NDArray[np.float64]:
        """The probability that rows of a similarity are found by bands, over seeds of the map.

        >>> import os, tempfile
        >>> from kernelight.neighbors import Index
        >>> path = os.path.join(tempfile.mkdtemp(), "rows.index")
        >>> with Index.create(path, n_features=3, threshold=0.8, recall=0.95) as index:
        ...     index.expected_recall([0.5, 0.8, 0.9]).round(3)
        array([0.002, 0.953, 1.   ])
        """
        return self._store.manifest.plan.expected_recall(similarity)

    def info(self) -> dict[str, Any]:
        """What the index holds, as plain data."""
        self._refuse_closed()
        manifest, plan = self._store.manifest, self._store.manifest.plan
        committed = sum(entry.n_bytes for entry in manifest.files)
        rows = sum(entry.n_rows - entry.n_removed for entry in manifest.segments)
        return {
            "path": self._store.path,
            "rows": len(self),
            "removed": sum(len(segment.removed) for segment in self._segments),
            "segments": len(self._segments),
            "generation": manifest.generation,
            "uncommitted": self._contents.changed,
            "bytes": committed,
            "bytes_a_row": round(committed / rows, 1) if rows else None,
            "ids": self._contents.ids,
            "features": self._contents.n_features,
            "map": type(self._map).__name__,
            "kernel": repr(self._map.kernel),
            "components": plan.n_components,
            "bits": self._contents.bits,
            "provenance": self._contents.provenance,
            "scores": "exact" if self._power is not None else "estimated",
            "stored_rows": self._contents.rows if manifest.store_rows else None,
            "threshold": plan.threshold,
            "recall": plan.recall,
            "expected_recall": round(float(self.expected_recall(plan.threshold)), 4),
            "bands": plan.bands,
            "rows_of_a_band": plan.rows,
        }

    # -- Search

    def search(
        self,
        X: Any,
        k: int | None = None,
        *,
        threshold: float | None = None,
        return_std: bool = False,
    ) -> tuple[NDArray[Any], ...]:
        """The most similar rows of the index, for each row of ``X``.

        Give one of ``k`` and ``threshold``. With ``k`` every code is looked at, and the best of
        them are compared exactly. With a ``threshold`` only rows are looked at that share a band;
        below the `threshold` of the index, where bands would miss too many, every code.

        Parameters
        ----------
        X : matrix of rows, or Codes if the index stores no rows
        k : int
            How many rows for each, at most as many as there are, or 65,536.
        threshold : float
            All rows of at least this similarity, above 0 and at most 1.
        return_std : bool, default=False
            Also return the standard errors of the scores: 0 where they are exact.

        Returns
        -------
        ids, scores : arrays
            The highest score first, equal scores in the order of ids. With ``k`` both are
            (n, k); where fewer are found (rows that agree
            in no slot never are), scores are -1 and ids are -1 or None. With a
            ``threshold`` both are arrays of n arrays, as those of ``radius_neighbors``.
        """
        self._refuse_closed()
        if (k is None) == (threshold is None):
            raise ValueError("search needs either k or threshold.")
        check_bool("return_std", return_std)
        if k is not None:
            k, most = check_int("k", k, 1), max(len(self), _MOST_EMPTY)
            if k > most:
                raise ValueError(
                    f"k must be at most {most:,} for an index of {counted(len(self), 'row')}, got "
                    f"{k:,}."
                )
            queries = self._queries(X)
            found = self._snapshot().nearest(queries, min(k, max(1, len(self))))
            results = found.table(len(queries), k)
        else:
            threshold = _fraction("threshold", threshold)
            queries = self._queries(X)
            results = self._snapshot().above(queries, threshold).lists(len(queries))
        return results if return_std else results[:2]

    def pairs(
        self, threshold: float | None = None, *, cap: int = BUCKET_CAP, return_std: bool = False
    ) -> tuple[NDArray[Any], ...]:
        """All pairs of rows of at least this similarity: ids of both, and scores.

        The smaller id comes first, and pairs are in the order of ids. ``threshold`` is that of the
        index by default, and must not be below it: bands would miss too many pairs. Of the rows
        that share a key of a band each meets the first ``cap`` in the order of ids; a warning says
        how often there were more.

        >>> import os, tempfile
        >>> import numpy as np
        >>> from kernelight.neighbors import Index
        >>> path = os.path.join(tempfile.mkdtemp(), "rows.index")
        >>> with Index.create(path, n_features=3) as index:
        ...     index.add([5, 6, 7], np.array([[1.0, 2.0, 3.0], [9.0, 0.0, 1.0], [1.0, 2.0, 3.1]]))
        ...     a, b, similarity = index.pairs()
        >>> a, b, similarity.round(3)
        (array([5]), array([7]), array([0.984]))
        """
        self._refuse_closed()
        least = self.threshold
        threshold = least if threshold is None else _fraction("threshold", threshold)
        if threshold < least:
            raise ValueError(
                f"threshold must be at least {least:g}, that of the index, got {threshold:g}: "
                "its bands would miss too many pairs; create an index with a lower threshold."
            )
        cap = check_int("cap", cap, 1)
        found = similar_pairs(self._snapshot(), threshold, cap)
        warn_of_capped(found.n_capped, cap)
        results = (found.a, found.b, found.scores)
        return (*results, found.errors) if return_std else results

    def _snapshot(self) -> Snapshot:
        plan = self._store.manifest.plan
        return Snapshot(plan, tuple(self._segments), self._power, self._n_jobs)

    def _queries(self, X: Any) -> Queries:
        empty = _count_rows(X) == 0 and hasattr(X, "shape")
        if empty and not isinstance(X, Codes):  # maps refuse to encode nothing
            return self._no_queries(X)
        codes, rows = self._encoded(X)
        return Queries(codes, rows)

    def _no_queries(self, X: Any) -> Queries:
        width = X.shape[1] if len(X.shape) == 2 else 0
        if width != self._contents.n_features:
            raise ValueError(
                f"X has {counted(width, 'feature')}, but this index has rows of "
                f"{self._contents.n_features}."
            )
        return Queries(self._no_codes(), None)

    def _encoded(self, X: Any) -> tuple[Codes, Any]:
        """Codes of what a user gave, and rows as the exact kernel takes them, if it does."""
        if isinstance(X, Codes):
            if self._power is not None:
                raise TypeError(
                    "This index has exact scores, for which it needs rows: pass the rows instead "
                    "of their codes."
                )
            self._refuse_foreign(X)
            return X, None
        codes = self._map.encode(X)
        if self._power is None:
            return codes, None
        return codes, as_matrix(self._map.kernel.prepare(as_matrix(X)))

    def _refuse_foreign(self, codes: Codes) -> None:
        refuse_other_origin(self._no_codes(), codes, "put into this index or looked for in it")

    def _no_codes(self) -> Codes:
        own, k = self._contents, self._store.manifest.plan.n_components
        return Codes(
            np.zeros((0, k), own.dtype),
            own.bits,
            provenance=own.provenance,
            n_features=own.n_features,
        )

    # -- Change

    def add(self, ids: Any, X: Any, *, replace: bool = False) -> None:
        """Add rows.

        Parameters
        ----------
        ids : list of int or of str
            One for each row, unique; the first rows decide which of the two an index has.
        X : matrix of rows, or Codes if the index stores no rows
        replace : bool, default=False
            Take the place of rows whose ids are in the index already, which is an error otherwise.
        """
        with self._changing():
            check_bool("replace", replace)
            names = as_ids(ids, self._contents.ids, ordered=True)
            n_rows = _count_rows(X)
            if n_rows != len(names):
                raise ValueError(
                    f"ids must be one for each row, got {counted(len(names), 'id')} for "
                    f"{counted(n_rows, 'row')}."
                )
            if not n_rows:
                return
            segments, found = self._contents.without(names)
            if found.any() and not replace:
                are = "is" if found.sum() == 1 else "are"
                raise ValueError(
                    f"{named(names[found])} {are} in the index already: pass replace=True for new "
                    "rows in their place."
                )
            codes, rows = self._encoded(X)
            self._contents.add(segments, names, codes, rows)

    def remove(self, ids: Any, *, missing: str = "error") -> int:
        """Remove rows; returns how many.

        ``missing="ignore"`` passes over ids that are not in the index, which are an error
        otherwise.
        """
        with self._changing():
            check_choice("missing", missing, ("error", "ignore"))
            names = as_ids(ids, self._contents.ids)
            segments, found = self._contents.without(names)
            if not found.all() and missing == "error":
                are = "is" if (~found).sum() == 1 else "are"
                raise ValueError(
                    f"{named(names[~found])} {are} not in the index: nothing was removed; "
                    "missing='ignore' passes over such ids."
                )
            self._contents.remove(segments)
            return int(found.sum())

    def commit(self) -> None:
        """Make all changes durable, at once: when it returns, no crash loses them.

        If it fails for want of room on the disk, the changes wait for another commit. If the system
        cannot say that they are durable, this writer does not go on.
        """
        with self._changing():
            self._contents.commit()

    def compact(self) -> None:
        """Commit, with all rows in one segment and nothing left of those that were removed.

        What is merged is verified first. Readers keep what they have open.
        """
        with self._changing():
            self._contents.compact()

    def verify(self) -> None:
        """Read every byte of every file of the index; damage is a ValueError that names it all.

        What this writer has not committed yet is not looked at.
        """
        self._refuse_closed()
        damaged: list[str] = []
        if self._store.published:
            read_manifest(self._store.path)
        for file in self._open_files():
            try:
                file.verify()
            except ValueError as error:
                damaged.append(str(error).rstrip("."))
        if damaged:
            raise ValueError("; ".join(damaged) + ".")

    def _open_files(self) -> Iterable[ArrayFile]:
        yield self._map_file
        if self._attached_file is not None:
            yield self._attached_file
        for segment in self._segments:
            for file in (segment.file, segment.removed_file):
                if file is not None:
                    yield file

    # -- End

    def close(self) -> None:
        """Close the index; what was not committed is dropped."""
        # a fork may have the turn of a thread that is not there
        with contextlib.nullcontext() if self._store.inherited else self._turn:
            if not self._closed:
                self._closed, self._contents.segments = True, []
                self._store.close()

    def __enter__(self) -> Index:
        self._refuse_closed()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            writes = self._store.lock is not None and not self._store.inherited
            if error is None and not self._closed and writes:
                self.commit()
        finally:
            self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("An open index cannot be pickled: open it again by its path.")

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ValueError(f"{self._store.path} is closed: open it again.")

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """One change at a time, by whoever may change the index."""
        if self._store.lock is not None and self._store.inherited:
            raise ValueError(
                f"{self._store.path} was opened for writing by another process, of which this one "
                "was forked: write there, or open the index here once that has closed it."
            )
        with self._turn:
            self._refuse_closed()
            if self._store.lock is None:
                raise ValueError(f"{self._store.path} is open for reading: open it with mode='a'.")
            yield


def _place(path: FilePath) -> str:
    """Where an index is, whatever the working directory will be."""
    if not os.fsdecode(path):
        raise ValueError("The path of an index must not be empty: name a directory.")
    return os.path.abspath(os.fsdecode(path))


def _count_rows(X: Any) -> int:
    """How many rows a user gave; what is no matrix is refused."""
    if isinstance(X, Codes | list | tuple):
        return len(X)
    shape = getattr(X, "shape", None)
    return int(shape[0] if shape else as_matrix(X).shape[0])


def _fraction(name: str, value: Any) -> float:
    number = check_number(name, value, 0.0, 1.0)
    if number == 0.0:
        raise ValueError(f"{name} must be above 0 and at most 1, got {value}.")
    return number
