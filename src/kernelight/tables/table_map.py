"""`TableMap`: a feature map that is fitted to a table and encodes the rows of tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from kernelight import kernels
from kernelight.base import counted
from kernelight.base.checks import as_matrix, check_choice, check_int, check_positive, seed_of
from kernelight.base.estimator import Storable
from kernelight.codes import Codes
from kernelight.data import DataError, Dataset, Encoding, open_dataset
from kernelight.data.table_source import CATEGORICAL, resized
from kernelight.estimators.average_model import AverageModel
from kernelight.estimators.kernel_choice import EXACT, RIDGE, TUNE, KernelChoice, map_for
from kernelight.estimators.kernel_model import KernelModel
from kernelight.estimators.progress import Event, Watch, unwatched
from kernelight.estimators.routes import MAP_ROWS
from kernelight.maps.base import FeatureMap
from kernelight.maps.scaled_map import ScaledMap
from kernelight.scaling import SCALING_NAMES, Scaling, fit_scaling
from kernelight.state import State
from kernelight.tables.arrow_batches import batch_matrix
from kernelight.tables.fitting import FIRST_ROWS
from kernelight.tables.memory_limit import batch_rows, bytes_of, row_bytes
from kernelight.tables.model import TableModel
from kernelight.tables.sample import Sample

MEDIAN = "median"
_PARAMS = ("kernel", "n_components", "bits", "method", "gamma", "p", "scale", "random_state")


class Encoded(NamedTuple):
    """Some encoded rows: `Codes` or a dense array of features, and ids (None without ids)."""

    values: Any
    ids: list[str] | None


class TableMap(Storable):
    """A feature map of a table: it takes files and data frames, and encodes their columns itself.

    Rows become codes, or dense features for kernels that have no codes. Columns become features as
    in a `TableModel`: words become columns of 0 and 1, missing numbers are filled. Other tables are
    encoded in the same way, so that their codes can be compared.

    Parameters
    ----------
    kernel : str, default="gmm"
        The name of a kernel.
    n_components : int, default=1024
        Codes or features of a row.
    bits : int, default=8
        Bits of a code.
    method : str or None, default=None
        The feature map, as in `feature_map`; "aligned" and "exact" are for models only.
    gamma : float, "median" or None, default=None
        Of kernels that have one. "median" makes the kernel of the median pair of rows exp(-1); None
        is the default of the kernel.
    p : float or None, default=None
        The power of gmm and exp_gmm.
    scale : str or None, default=None
        How columns are scaled first, by a name as in `KernelClassifier`; None does not scale.
    random_state : int, default=0
        Seed of the map, and of the sample that it is fitted to if there are many rows.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Attributes
    ----------
    scaled_map_ : ScaledMap
        The scaling and the map together.
    map_ : FeatureMap
        The fitted map, such as a `GCWS`.
    scaling_ : Scaling
        The fitted scaling.
    encoding_ : Encoding or None
        How columns become features; None for a map that was not fitted to a table, which takes the
        columns of numeric tables as they are.

    See Also
    --------
    TableModel : Models of files.
    GCWS : A map of matrices.

    Examples
    --------
    >>> import os, tempfile
    >>> from kernelight import TableMap
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "fruit.csv"), "w") as file:
    ...     _ = file.write("weight,colour\\n100,red\\n120,yellow\\n121,yellow\\n")
    >>> fruit = TableMap(n_components=512).fit(os.path.join(folder, "fruit.csv"))
    >>> codes = fruit.encode(os.path.join(folder, "fruit.csv"))
    >>> codes
    Codes(3 rows, 512 slots of 8 bits, provenance='a6f1e5bcb250')
    >>> float(fruit.map_.similarity(codes)[1, 2]) > 0.95
    True
    """

    scaled_map_: ScaledMap
    encoding_: Encoding | None

    def __init__(
        self,
        kernel: str = "gmm",
        n_components: int = 1024,
        *,
        bits: int = 8,
        method: str | None = None,
        gamma: float | str | None = None,
        p: float | None = None,
        scale: str | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.bits = bits
        self.method = method
        self.gamma = gamma
        self.p = p
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs

    # -- Fit

    def fit(
        self,
        data: Any,
        *,
        memory: int | str | None = None,
        watch: Watch | None = None,
        **reading_options: Any,
    ) -> TableMap:
        """Learn how columns become features, and fit scaling and map.

        What the scaling and the map learn, they learn from a random sample of at most 16,384 rows.

        Parameters
        ----------
        data : path, name, data frame or Dataset
            A path, the name of a data set or a data frame (pandas, polars, Arrow) is opened by
            `open_dataset`. Every column is a feature unless ``target`` names one; a target that the
            format keeps apart (LIBSVM, ``y`` of NPZ) is left out.
        memory : int, str or None, default=None
            A limit for the memory of the whole process, such as "1G".
        watch : callable, optional
            Called with an `Event` whenever there is progress, as in `TableModel.fit`.
        **reading_options
            Arguments of `open_dataset`.

        Returns
        -------
        TableMap
            This object.
        """
        choice = self.choice()
        if memory is not None:  # before rows are read
            batch_rows(bytes_of(memory), 0, 4 * self.n_components)
        opened = features_only(data, reading_options)
        seed = seed_of(self.random_state)
        X = as_matrix(sample_of(opened, memory, seed, watch or unwatched))
        scaling = fit_scaling(self.scale or "none", X, np.random.default_rng(self.random_state))
        rows = scaling(X)
        gamma = choice.median_gamma(rows, self.p) if self.gamma == MEDIAN else self.gamma
        made = map_for(
            choice.make(None if gamma is None else float(gamma), self.p),
            self.n_components,
            self.method,
            bits=self.bits,
            n_rows=rows.shape[0],
            seed=self.random_state,
            n_jobs=self.n_jobs,
        )
        made.fit(rows)
        self._set(ScaledMap(scaling, made), opened.encoding)
        return self

    def choice(self) -> KernelChoice:
        """The kernel; refuses wrong parameters, before a row is read."""
        check_int("n_components", self.n_components, 1)
        check_int("bits", self.bits, 1, 16)
        check_int("random_state", self.random_state, 0)
        check_choice("scale", self.scale, (None, *SCALING_NAMES))
        if self.method in (EXACT, RIDGE, "aligned"):
            raise ValueError(
                f"method={self.method!r} is for models: it makes no codes or features without a "
                f"target."
            )
        if not isinstance(self.kernel, str):
            raise TypeError(f"kernel must be the name of a kernel, got {self.kernel!r}.")
        kernels.get(self.kernel)
        known = KernelChoice(self.kernel, TUNE, TUNE)
        for name in ("gamma", "p"):
            value = getattr(self, name)
            if value is None:
                continue
            if not known.has(name):
                raise ValueError(f"The kernel {self.kernel!r} has no {name}: leave it out.")
            if not (name == "gamma" and value == MEDIAN):
                check_positive(name, value)
        gamma = None if self.gamma == MEDIAN else self.gamma
        made = known.make(None if gamma is None else float(gamma), self.p)
        map_for(
            made,
            self.n_components,
            self.method,
            bits=self.bits,
            n_rows=1,
            seed=0,
            n_jobs=self.n_jobs,
        )
        return known

    def _set(self, scaled_map: ScaledMap, encoding: Encoding | None) -> None:
        self.scaled_map_, self.encoding_ = scaled_map, encoding

    @property
    def map_(self) -> Any:
        """The fitted map."""
        return self.scaled_map_.feature_map

    @property
    def scaling_(self) -> Scaling:
        """The fitted scaling."""
        return self.scaled_map_.scaling

    @classmethod
    def of(cls, fitted: Any, *, where: str = "This") -> TableMap:
        """The map inside a fitted object: a feature map, a `KernelClassifier` or a `TableModel`.

        Of a model, the scaling and the encoding of columns are taken over too. ``where`` is the
        name of the object in errors.
        """
        if isinstance(fitted, TableMap):
            return fitted
        made, encoding = cls(), None
        if isinstance(fitted, TableModel):
            encoding, fitted = fitted.encoding_, fitted.model_
        if isinstance(fitted, KernelModel):
            if fitted.map_ is None:
                if isinstance(fitted.model_, AverageModel):
                    raise ValueError(
                        f"{where} holds a model of kernel='auto', an average that has no codes of "
                        f"its own: fit kernel='gmm' for codes."
                    )
                if fitted.model_.lesson is None:
                    raise ValueError(
                        f"{where} holds a model of method='exact', which has no codes or features."
                    )
                fitted = fitted.to_codes()
            made._set(fitted.scaled_map_, encoding or getattr(fitted, "encoding_", None))
        elif isinstance(fitted, FeatureMap):
            fitted._check_fitted()
            made._set(ScaledMap(Scaling("none", fitted.n_features_in_, {}), fitted), None)
        else:
            said = "is of the type" if where == "This" else "holds a"
            raise ValueError(
                f"{where} {said} {type(fitted).__name__}, which is neither a map nor a "
                f"model with a map."
            )
        return made

    # -- Use

    @property
    def has_codes(self) -> bool:
        """Whether rows become codes; if not, dense features."""
        self._check_fitted()
        return self.scaled_map_.has_codes

    def open(self, data: Any, **reading_options: Any) -> Dataset:
        """Open a table with the encoding of this map; its target is left out."""
        self._check_fitted()
        if self.encoding_ is None:
            return features_only(data, reading_options)
        if isinstance(data, Dataset):
            return data.read_by(self.encoding_, target=False)
        return open_like(self.encoding_, "the map", data, reading_options)

    def encode(self, data: Any, **reading_options: Any) -> Any:
        """The codes of all rows of a table, or their features as a dense array.

        ``data`` is a path, name, data frame or `Dataset`; ``reading_options`` are arguments of
        `open_dataset`.
        """
        parts = [part.values for part in self.encode_batches(data, **reading_options)]
        return Codes.concatenate(parts) if self.has_codes else np.concatenate(parts)

    def encode_batches(
        self, data: Any, *, memory: int | str | None = None, **reading_options: Any
    ) -> Iterator[Encoded]:
        """Codes or features batch by batch, in memory that does not grow with the table.

        ``memory`` is a limit for the whole process, such as "1G".
        """
        for X, ids in self.row_batches(data, memory=memory, **reading_options):
            yield Encoded(self._encoded(X), ids)

    def encode_arrow(self, batch: Any, *, features: str | None = None) -> Any:
        """The codes of the rows of an Arrow batch, or their features as a dense array.

        What a row gives depends on no other row of the batch. ``batch`` is a
        ``pyarrow.RecordBatch`` or ``Table`` with the columns that the map knows, others are
        ignored; ``features`` names a column of lists that have the numbers of all columns of a row,
        in their order. `Codes.to_binary` makes a column of codes.

        >>> import pyarrow as pa
        >>> from kernelight import TableMap
        >>> rows = pa.table({"a": [1.0, 2.0, 3.0], "b": [4.0, 0.0, 5.0]})
        >>> some = TableMap(n_components=4).fit(rows).encode_arrow(rows.slice(1, 2))
        >>> some.shape, some.to_binary().type
        ((2, 4), DataType(binary))
        """
        self._check_fitted()
        X = batch_matrix(batch, self.encoding_, self.scaled_map_.n_features, features)
        if not X.shape[0]:  # which no map takes
            return self._encoded(np.zeros((1, X.shape[1])))[:0]
        return self._encoded(as_matrix(X))

    def _encoded(self, X: Any) -> Any:
        encoded = self.scaled_map_.encode(X)
        if sp.issparse(encoded):
            raise ValueError(
                f"{type(self.map_).__name__} gives sparse features, which are neither codes "
                f"nor dense: method='nystroem' gives dense ones of {self.map_.kernel!r}."
            )
        return encoded

    def row_batches(
        self, data: Any, *, memory: int | str | None = None, **reading_options: Any
    ) -> Iterator[tuple[Any, list[str] | None]]:
        """Rows of a table as the scaling takes them, and their ids (None without ids).

        They come batch by batch, few enough to be encoded within ``memory``.
        """
        self._check_fitted()
        limit = None if memory is None else bytes_of(memory)
        outputs = self.scaled_map_.n_outputs * (2 if self.has_codes else 4)
        batch_rows(limit, 0, outputs)  # a limit that is too small is refused before rows are read
        opened = self.open(data, **reading_options)
        n_features = self.scaled_map_.n_features
        first = first_rows(opened)
        rows = batch_rows(limit, row_bytes(first), outputs)
        for batch in opened.batches(rows):
            X = batch.X
            if sp.issparse(X) and X.shape[1] < n_features:
                X = resized(X, n_features)
            if X.shape[1] != n_features:
                raise DataError(
                    f"{opened.name} has {counted(X.shape[1], 'feature')}, but the map takes "
                    f"{n_features}."
                )
            yield as_matrix(X), batch.ids

    @property
    def provenance(self) -> str:
        """The digest of everything that defines a code or feature, as in `Codes.provenance`."""
        self._check_fitted()
        return str(self.map_.provenance) if self.has_codes else self.map_.to_state().digest()[:32]

    @property
    def learned(self) -> str | None:
        """A digest of what was learned about columns: words, dates and scales; None if nothing."""
        self._check_fitted()
        columns = () if self.encoding_ is None else self.encoding_.columns or ()
        words = [
            [
                at,
                list(c.categories),
                c.missing,
                *([c.others] if c.others else []),
                *([] if c.targets is None else [c.targets.to_plain()]),
            ]
            for at, c in enumerate(columns)
            if c.kind == CATEGORICAL
        ]
        dates = [[at, *c.recipe] for at, c in enumerate(columns) if c.recipe is not None]
        if not words and not dates and self.scaling_.name == "none":
            return None
        learned = [words, self.scaling_.name, *([dates] if dates else [])]
        hasher = hashlib.blake2b(json.dumps(learned).encode(), digest_size=16)
        for name in sorted(self.scaling_.arrays):
            hasher.update(self.scaling_.arrays[name].tobytes())
        return hasher.hexdigest()

    def __repr__(self) -> str:
        return f"TableMap({getattr(self, 'map_', self.kernel)!r})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scaled_map_")

    def _check_fitted(self) -> None:
        if not hasattr(self, "scaled_map_"):
            raise NotFittedError("This TableMap is not fitted yet: call fit with a data set first.")

    # -- Files

    def _state(self) -> State:
        """Parameters, the encoding, the scaling, and the state of the map."""
        inner = self.scaled_map_.to_state()
        own = {
            "kind": "TableMap",
            "params": {name: getattr(self, name) for name in _PARAMS},
            "encoding": None if self.encoding_ is None else self.encoding_.to_plain(),
        }
        return State(inner.meta | own, inner.arrays)

    @classmethod
    def _restored(cls, state: State) -> TableMap:
        meta = state.meta
        made = cls(**{name: meta["params"][name] for name in _PARAMS})
        made.choice()
        n_features = check_int("n_features", meta["scaling"]["n_features"], 1, 1 << 62)
        encoding = None if meta["encoding"] is None else Encoding.from_plain(meta["encoding"])
        made._set(ScaledMap.from_parts(state, meta["scaling"]["name"], n_features), encoding)
        if made.map_ is None:
            raise ValueError("it has no map.")
        if encoding is not None and encoding.width != n_features:
            raise ValueError("its encoding gives rows of another width than its scaling takes.")
        return made


def features_only(data: Any, reading_options: dict[str, Any]) -> Dataset:
    """A data set without a target: every column is a feature unless the options name a target."""
    if isinstance(data, Dataset):
        return data.without_target
    return open_dataset(data, **{"target": None, **reading_options}).without_target


def open_like(
    encoding: Encoding, owner: str, data: Any, reading_options: dict[str, Any]
) -> Dataset:
    """Open a table with an encoding; errors speak of its ``owner`` in place of "the model"."""
    try:
        return open_dataset(data, encoding=encoding, **{**reading_options, "target": None})
    except DataError as error:
        raise DataError(str(error).replace("the model", owner)) from None


def first_rows(data: Dataset) -> Any:
    """The first rows, which show how many bytes a row takes."""
    first = next(iter(data.batches(FIRST_ROWS)), None)
    if first is None:
        raise DataError(f"{data.name} has no rows.")
    return first.X


def sample_of(data: Dataset, memory: int | str | None, seed: int, watch: Watch) -> NDArray[Any]:
    """A random sample of the rows for fitting a map, or all rows if there are few."""
    limit = None if memory is None else bytes_of(memory)
    of_row = row_bytes(first_rows(data))
    size = min(batch_rows(limit, of_row, 0), MAP_ROWS)
    sample = Sample(size, seed, classes=False)
    for batch in data.batches(size):
        sample.add(batch.X, np.zeros(batch.X.shape[0], dtype=np.int8))
        watch(Event("reading", sample.n_rows))
    rows: NDArray[Any] = sample.take(size)[0]
    return rows
