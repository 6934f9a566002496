"""`TableMap`: a map together with how the columns of a file become the rows that it takes."""

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
from kernelight.estimators.kernel_choice import EXACT, TUNE, KernelChoice, map_for
from kernelight.estimators.kernel_model import KernelModel
from kernelight.estimators.progress import Event, Watch, unwatched
from kernelight.estimators.routes import MAP_ROWS
from kernelight.maps.base import FeatureMap
from kernelight.maps.scaled_map import ScaledMap
from kernelight.scaling import NAMES, Scaling, fit_scaling
from kernelight.state import State
from kernelight.tables.fitting import FIRST_ROWS
from kernelight.tables.memory_limit import batch_rows, bytes_of, row_bytes
from kernelight.tables.model import TableModel
from kernelight.tables.sample import Sample

MEDIAN = "median"
_PARAMS = ("kernel", "n_components", "bits", "method", "gamma", "p", "scale", "random_state")


class Encoded(NamedTuple):
    """What became of some rows: codes, or a dense array of features; with their ids (None unless
    there is a column of them)."""

    values: Any
    ids: list[str] | None


class TableMap(Storable):
    """A map of the rows of a file to codes, or to dense features for kernels that have no codes.

    Columns are read as for a model: words become columns of 0 and 1, missing numbers are filled.
    Other files are then read like the one it was fitted to, so that codes of both can be compared.

    Parameters
    ----------
    kernel : str, default="gmm"
        The name of a kernel.
    n_components, bits : int
        Codes or features of a row, and bits of a code.
    method : str or None, default=None
        As for `feature_map`; "aligned" and "exact" are for models.
    gamma : float, "median" or None, default=None
        Of kernels that have one; "median" makes the median pair of rows similar by exp(-1), None is
        the default of the kernel.
    p : float or None, default=None
        The power of gmm and exp_gmm.
    scale : str or None, default=None
        What happens to columns first: a name as for `KernelClassifier`, None nothing.
    random_state : int, default=0
        Draws the map, and the rows that it is fitted to where there are many.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Attributes
    ----------
    scaled_map_ : ScaledMap
        The scaling of columns and the map together.
    map_ : FeatureMap
        The fitted map, such as a `GCWS`.
    encoding_ : Encoding or None
        How columns become features; None for a map that came without, which takes files as they
        are.

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
    # ------------------------------------------------------------------------------------------------

    def fit(
        self,
        data: Any,
        *,
        memory: int | str | None = None,
        watch: Watch | None = None,
        **reading: Any,
    ) -> TableMap:
        """Learn how columns become features, and from at most 16,384 rows, fairly drawn, what the
        map has to learn.

        Parameters
        ----------
        data : Dataset, path, name or frame
            A path, a name or a frame (pandas, polars, Arrow) is opened by `open_dataset` with
            ``reading``. Every column is a feature unless ``target=`` names one; a target that the
            format keeps apart (LIBSVM, ``y`` of NPZ) is left out.
        memory : int, str or None, default=None
            A limit for the memory of the whole process, such as "1G".
        watch : callable, optional
            Called with an event whenever there is news, as in `TableModel.fit`.
        """
        choice = self.choice()
        if memory is not None:  # before rows are read
            batch_rows(bytes_of(memory), 0, 4 * self.n_components)
        opened = features_only(data, reading)
        told = watch or unwatched
        X = as_matrix(sample_of(opened, memory, seed_of(self.random_state), told))
        scaling = fit_scaling(self.scale or "none", X, np.random.default_rng(self.random_state))
        rows = scaling(X)
        gamma = choice.median_gamma(rows, self.p) if self.gamma == MEDIAN else self.gamma
        made = map_for(
            choice.made(None if gamma is None else float(gamma), self.p),
            self.n_components,
            self.method,
            bits=self.bits,
            n_rows=rows.shape[0],
            seed=self.random_state,
            n_jobs=self.n_jobs,
        )
        made.fit(rows)
        self._take(ScaledMap(scaling, made), opened.encoding)
        return self

    def choice(self) -> KernelChoice:
        """The kernel; all parameters are checked before a row is read."""
        check_int("n_components", self.n_components, 1)
        check_int("bits", self.bits, 1, 16)
        check_int("random_state", self.random_state, 0)
        check_choice("scale", self.scale, (None, *NAMES))
        if self.method in (EXACT, "aligned"):
            raise ValueError(
                f"method={self.method!r} is for models: it makes no codes or features without "
                f"labels."
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
        made = known.made(None if gamma is None else float(gamma), self.p)
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

    def _take(self, scaled_map: ScaledMap, encoding: Encoding | None) -> None:
        self.scaled_map_, self.encoding_ = scaled_map, encoding

    @property
    def map_(self) -> Any:
        """The fitted map."""
        return self.scaled_map_.feature_map

    @property
    def scaling_(self) -> Scaling:
        """What happens to columns first."""
        return self.scaled_map_.scaling

    @classmethod
    def of(cls, thing: Any, *, where: str = "This") -> TableMap:
        """The way to codes that is inside something fitted: a map, a `KernelClassifier` or a
        `TableModel`, whose scaling and columns are then used too."""
        if isinstance(thing, TableMap):
            return thing
        made, encoding = cls(), None
        if isinstance(thing, TableModel):
            encoding, thing = thing.encoding_, thing.model_
        if isinstance(thing, KernelModel):
            if thing.map_ is None:
                raise ValueError(
                    f"{where} holds a model of method='exact', which has no codes or features."
                )
            made._take(thing.scaled_map_, encoding or getattr(thing, "encoding_", None))
        elif isinstance(thing, FeatureMap):
            made._take(ScaledMap(Scaling("none", thing.n_features_in_, {}), thing), None)
        else:
            raise ValueError(
                f"{where} holds a {type(thing).__name__}, which is neither a map nor a model with "
                f"one."
            )
        return made

    # -- Use
    # ------------------------------------------------------------------------------------------------

    @property
    def has_codes(self) -> bool:
        """Whether rows become codes; dense features otherwise."""
        self._check_fitted()
        return self.scaled_map_.has_codes

    def open(self, data: Any, **reading: Any) -> Dataset:
        """A file, to be read like the one this was fitted to; its target is left out."""
        self._check_fitted()
        if self.encoding_ is None:
            return features_only(data, reading)
        if isinstance(data, Dataset):
            return data.read_by(self.encoding_, target=False)
        return open_like(self.encoding_, "the map", data, reading)

    def encode(self, data: Any, **reading: Any) -> Any:
        """The codes of all rows of a file, or their features as a dense array."""
        parts = [part.values for part in self.encode_batches(data, **reading)]
        return Codes.concatenate(parts) if self.has_codes else np.concatenate(parts)

    def encode_batches(
        self, data: Any, *, memory: int | str | None = None, **reading: Any
    ) -> Iterator[Encoded]:
        """Codes or features batch by batch, in memory that does not grow with the file."""
        self._check_fitted()
        limit = None if memory is None else bytes_of(memory)
        outputs = self.scaled_map_.n_outputs * (2 if self.has_codes else 4)
        batch_rows(limit, 0, outputs)  # a limit that is too small is refused before rows are read
        opened = self.open(data, **reading)
        wanted = self.scaled_map_.n_features
        first = first_rows(opened)
        rows = batch_rows(limit, row_bytes(first), outputs)
        for batch in opened.batches(rows):
            X = batch.X
            if sp.issparse(X) and X.shape[1] < wanted:
                X = resized(X, wanted)
            if X.shape[1] != wanted:
                raise DataError(
                    f"{opened.name} has {counted(X.shape[1], 'feature')}, but the map takes "
                    f"{wanted}."
                )
            found = self.scaled_map_.encode(as_matrix(X))
            if sp.issparse(found):
                raise ValueError(
                    f"{type(self.map_).__name__} gives sparse features, which are neither codes "
                    f"nor dense: method='nystroem' "
                    f"has dense ones of {self.map_.kernel!r}."
                )
            yield Encoded(found, batch.ids)

    @property
    def provenance(self) -> str:
        """A digest of what defines codes or features of this map, as `Codes.provenance`."""
        self._check_fitted()
        return str(self.map_.provenance) if self.has_codes else self.map_.to_state().digest()[:32]

    @property
    def learned(self) -> str | None:
        """A digest of what was learned about columns from the file: words, dates and scales; None
        if nothing."""
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
        said = [words, self.scaling_.name, *([dates] if dates else [])]
        hasher = hashlib.blake2b(json.dumps(said).encode(), digest_size=16)
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
    # ----------------------------------------------------------------------------------------------

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
        made._take(ScaledMap.from_parts(state, meta["scaling"]["name"], n_features), encoding)
        if made.map_ is None:
            raise ValueError("it has no map.")
        if encoding is not None and encoding.width != n_features:
            raise ValueError("its encoding gives rows of another width than its scaling takes.")
        return made


def features_only(data: Any, reading: dict[str, Any]) -> Dataset:
    """A data set without its target: every column is a feature unless it is named as the target."""
    opened = (
        data if isinstance(data, Dataset) else open_dataset(data, **{"target": None, **reading})
    )
    return opened.without_target


def open_like(encoding: Encoding, whose: str, data: Any, reading: dict[str, Any]) -> Dataset:
    """A data set by an encoding, which speaks of the model that it usually belongs to; here it is
    someone else's."""
    try:
        return open_dataset(data, encoding=encoding, **{**reading, "target": None})
    except DataError as error:
        raise DataError(str(error).replace("the model", whose)) from None


def first_rows(data: Dataset) -> Any:
    """A look at what rows are like."""
    first = next(iter(data.batches(FIRST_ROWS)), None)
    if first is None:
        raise DataError(f"{data.name} has no rows.")
    return first.X


def sample_of(data: Dataset, memory: int | str | None, seed: int, watch: Watch) -> NDArray[Any]:
    """All rows, or a fair sample of so many that a map learns enough from them."""
    limit = None if memory is None else bytes_of(memory)
    of_row = row_bytes(first_rows(data))
    rows = min(batch_rows(limit, of_row, 0), MAP_ROWS)
    sample = Sample(rows, seed, classes=False)
    for batch in data.batches(rows):
        sample.add(batch.X, np.zeros(batch.X.shape[0], dtype=np.int8))
        watch(Event("reading", sample.n_rows))
    taken: NDArray[Any] = sample.take(rows)[0]
    return taken
