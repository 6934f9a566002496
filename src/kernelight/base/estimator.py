"""What every fitted object shares: states, files, and fits that are all or nothing.

A `Storable` can be turned into a `State` and made from one. A `StoredEstimator` is a `Storable`
estimator of scikit-learn. A class that derives from it

* names in `_decided` the attributes that ``fit`` decides and that are plain data (numbers, strings,
  lists), and in `_learned` the arrays that ``fit`` learns from the data. Apart from the parameters,
  this is all that a state holds;
* fits the copy of ``with self._trial() as trial``, which replaces the object when the block ends
  well: a fit that fails or is interrupted leaves the object as it was;
* makes in `_settle` everything else from parameters, decisions and learned arrays (projections,
  samplers), and checks these there. ``fit`` calls it last, and so does ``from_state``: a loaded
  object is complete, and a state that does not fit is refused;
* is listed in `kernelight.base.registry`, which says what its states are called (`kind_of`).

An estimator made of others stores them as parts of its own state: `with_parts` puts them there,
`fitted_part` takes one out.
"""

from __future__ import annotations

import numbers
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelight.base import registry
from kernelight.base.checks import (
    Matrix,
    as_matrix,
    as_names,
    check_choice,
    check_int,
    check_numbers,
    is_plain,
    within_floats,
)
from kernelight.base.files import FilePath
from kernelight.state import State

Kept = TypeVar("Kept", bound="Storable")
Self = TypeVar("Self", bound="StoredEstimator")


def checked_rows(estimator: Any, X: Any, *, reset: bool, missing: bool = False) -> Matrix:
    """``X`` checked for an estimator as scikit-learn checks it (names, width), for the core."""
    if sp.issparse(X):
        X = as_matrix(X, missing=missing)  # first: scikit-learn would follow damaged indices
    else:
        check_numbers(X)
    with within_floats("X"):
        X = validate_data(
            estimator,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            reset=reset,
            accept_large_sparse=True,
            ensure_all_finite=False,
        )
    return X if sp.issparse(X) else as_matrix(X, missing=missing)


class Storable(ABC):
    """What can be turned into a `State` and made from one, in memory and in files."""

    def to_state(self) -> State:
        """Everything that defines the fitted object, as plain data."""
        self._check_fitted()
        return self._state()

    @abstractmethod
    def _check_fitted(self) -> None:
        """Refuse to go on with an object that is not fitted."""

    @abstractmethod
    def _state(self) -> State:
        """`to_state` of an object that is fitted."""

    @classmethod
    def from_state(cls: type[Kept], state: State) -> Kept:
        """The fitted object of a state."""
        cls._refuse_other_kind(state, "This state")
        try:
            return cls._restored(state)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            why = str(error).rstrip(".")
            raise ValueError(f"This state does not describe a {cls.__name__}: {why}.") from error

    @classmethod
    def _refuse_other_kind(cls, state: State, where: str) -> None:
        if state.kind != registry.kind_of(cls):
            raise ValueError(f"{where} holds a {registry.name_of(state.kind)}, not {cls.__name__}.")

    @classmethod
    @abstractmethod
    def _restored(cls: type[Kept], state: State) -> Kept:
        """`from_state` of a state of this kind; raises where something does not fit.

        A state may hold anything.
        """

    def save(self, path: FilePath, *, weights: str | None = None) -> None:
        """Write the fitted object to a file, all or nothing.

        ``weights="float16"`` stores the weights of linear models in half precision: half the size,
        three digits of the largest.
        """
        check_choice("weights", weights, (None, "float16"))
        state = self.to_state()
        (state if weights is None else halved(state)).save(path)

    @classmethod
    def load(cls: type[Kept], path: FilePath) -> Kept:
        """The fitted object in a file; loading runs no code."""
        state = State.load(path)
        cls._refuse_other_kind(state, os.fsdecode(path))
        return cls.from_state(state)


class StoredEstimator(Storable, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A base of scikit-learn estimators that can be stored: the head of this module says how."""

    #: Names of the attributes decided by ``fit`` that are plain data.
    _decided: ClassVar[tuple[str, ...]] = ()
    #: Names of the arrays that ``fit`` learned from the data; one that is None is not stored.
    _learned: ClassVar[tuple[str, ...]] = ()
    #: Whether rows may hold NaN, for numbers that are missing.
    _takes_missing: ClassVar[bool] = False

    @contextmanager
    def _trial(self: Self) -> Iterator[Self]:
        """A copy to fit, which replaces this object if nothing fails."""
        trial = object.__new__(type(self))
        trial.__dict__.update(self.__dict__)
        yield trial
        self.__dict__ = trial.__dict__

    def _validated(self, X: Any, *, reset: bool) -> Matrix:
        """``X`` checked as scikit-learn checks it (names, width), in the form the core needs."""
        if not reset:
            self._check_fitted()
            if self._takes_as_it_is(X):
                return X
        return checked_rows(self, X, reset=reset, missing=self._takes_missing)

    def _takes_as_it_is(self, X: Any) -> bool:
        """Whether a fitted object takes ``X`` without any further check or conversion.

        Names of columns are scikit-learn's to compare.
        """
        return "feature_names_in_" not in self.__dict__ and is_plain(X, self.n_features_in_)

    def to_state(self) -> State:
        """Parameters and what ``fit`` decided, as plain data."""
        return self._loadable(super().to_state())

    def _check_fitted(self) -> None:
        # what scikit-learn asks takes longer than many a prediction
        if "n_features_in_" not in self.__dict__:
            check_is_fitted(self)

    def _state(self) -> State:
        decided = {name: getattr(self, name) for name in self._decided}
        decided = {
            name: each.tolist() if isinstance(each, np.ndarray) else each
            for name, each in decided.items()
        }
        meta = {
            "kind": registry.kind_of(type(self)),
            "params": self._plain_params(),
            "decided": decided,
            "n_features_in": self.n_features_in_,
        }
        if hasattr(self, "feature_names_in_"):
            meta["feature_names_in"] = [str(name) for name in self.feature_names_in_]
        arrays = {
            name: getattr(self, name) for name in self._learned if getattr(self, name) is not None
        }
        return State(meta, arrays)

    def _loadable(self, state: State) -> State:
        """``state``, if it can be loaded again; parameters may have been changed after fit."""
        try:
            type(self).from_state(state)
        except ValueError as error:
            why = str(error).partition(": ")[2] or str(error)
            raise ValueError(
                f"This {type(self).__name__} cannot be stored as it is: {why}"
            ) from error
        return state

    def _plain_params(self) -> dict[str, Any]:
        """Parameters as a state can hold them; ``random_state`` is replaced by its seed."""
        params = {
            name: plain_value(value)
            for name, value in self.get_params(deep=False).items()
            if name != "random_state"
        }
        return params | ({"random_state": self.seed_} if hasattr(self, "random_state") else {})

    @classmethod
    def _restored(cls: type[Self], state: State) -> Self:
        meta = state.meta
        made = cls(**cls._params_of(state))
        for name in cls._decided:
            setattr(made, name, meta["decided"][name])
        for name in cls._learned:
            setattr(made, name, _whole(state.arrays.get(name), state.arrays.get(name + POWER)))
        made._take_parts(state)
        made.n_features_in_ = check_int("n_features_in", meta["n_features_in"], 1, 1 << 62)
        if "feature_names_in" in meta:
            made.feature_names_in_ = as_names(meta["feature_names_in"], made.n_features_in_)
        made._settle()
        return made

    @classmethod
    def _params_of(cls, state: State) -> dict[str, Any]:
        """The arguments of the constructor, of what `_plain_params` made of them."""
        params: dict[str, Any] = state.meta["params"]
        return params

    def _take_parts(self, state: State) -> None:
        """Take the parts of this estimator out of a state, if it has parts."""

    def _settle(self) -> None:
        """Make and check what follows from parameters, decisions and learned arrays.

        Called at the end of ``fit`` and of ``from_state``; a state may hold anything.
        """


def plain_value(value: Any) -> Any:
    """A parameter as JSON can hold it.

    NumPy's scalars, which a search over an array gives, become Python's, arrays become lists, and
    other real numbers, such as ``fractions.Fraction``, floats.
    """
    if isinstance(value, (np.generic, str)):
        return value.item() if isinstance(value, np.generic) else str.__str__(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, numbers.Real):
        return float(value)
    return np.asarray(value).tolist()


def with_parts(own: State, parts: Mapping[str, StoredEstimator]) -> State:
    """A state with the states of parts in it: meta under "parts", arrays under "key.name"."""
    states = {key: part.to_state() for key, part in parts.items()}
    arrays = {
        f"{key}.{name}": array for key, of in states.items() for name, array in of.arrays.items()
    }
    metas = {key: of.meta for key, of in states.items()}
    return State(own.meta | {"parts": metas}, {**own.arrays, **arrays})


def part_state(state: State, key: str, meta: Any) -> State:
    """The state of the part of that key; a state may hold anything under "parts"."""
    if not isinstance(meta, Mapping) or not isinstance(meta.get("kind"), str):
        raise ValueError(f"its part {key} has no kind.")
    return State._restore(dict(meta), arrays_under(state, key), state.algorithm_version)


def fitted_part(state: State, key: str, family: str) -> Any:
    """The fitted part of that key, which must be of that family of the registry."""
    inner = part_state(state, key, state.meta["parts"][key])
    try:
        cls = registry.stored_class(inner.kind, family)
    except ValueError:
        raise ValueError(f"{inner.kind!r}, its part {key}, is not a {family}.") from None
    return cls.from_state(inner)


def arrays_under(state: State, key: str) -> dict[str, NDArray[Any]]:
    """The arrays called "key.name", by name."""
    start = f"{key}."
    return {
        name.removeprefix(start): array
        for name, array in state.arrays.items()
        if name.startswith(start)
    }


#: How names of arrays of weights end. With POWER added it is the name of the power of 2 by which
#: they are divided.
WEIGHTS, POWER = "weights_", "power_"
# Half precision reaches up to 2^16. Weights are brought below 2^15, which rounding cannot exceed.
LARGEST_HALF = 15


def halved(state: State) -> State:
    """The same state with weights in half precision.

    They are divided by a power of 2 that brings the largest just below 2^LARGEST_HALF.
    """
    arrays = dict(state.arrays)
    for name, array in state.arrays.items():
        if name.endswith(WEIGHTS) and array.ndim == 2:  # not the weights of a map: 1D
            power = int(np.frexp(np.abs(array).max())[1]) - LARGEST_HALF if array.size else 0
            arrays[name] = np.ldexp(array, -power).astype(np.float16)
            arrays[name + POWER] = np.array([power], dtype=np.int32)
    return State(state.meta, arrays)


def _whole(array: Any, power: Any) -> Any:
    """Weights before `halved`, in single precision; any other array as it is."""
    if power is None or not isinstance(array, np.ndarray):
        return array
    if (
        array.dtype != np.float16
        or power.dtype != np.int32
        or power.shape != (1,)
        or abs(int(power[0])) > 1100
    ):
        raise ValueError(
            "weights in half precision must come with the power of 2 they were divided by."
        )
    with np.errstate(over="ignore"):
        return np.ldexp(array.astype(np.float64), int(power[0])).astype(np.float32)


def plain_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """The labels of classes as plain data: the values, and the dtype of their array."""
    kind = classes.dtype.kind
    values = classes.tolist()
    if kind == "O" and not all(isinstance(value, str) for value in values):
        raise ValueError("labels must be numbers or strings; others cannot be stored.")
    if kind not in "biufUO":
        raise ValueError(
            f"labels of dtype {classes.dtype} cannot be stored: use numbers or strings."
        )
    return {
        "dtype": "str" if kind == "U" else "object" if kind == "O" else classes.dtype.name,
        "values": values,
    }


def labels_from_plain(plain: Any) -> NDArray[Any]:
    """The labels that `plain_labels` described; they ascend, as scikit-learn sorts them."""
    if not isinstance(plain, dict) or not isinstance(plain.get("values"), list):
        raise ValueError("labels must be a list of values and their dtype.")
    name, values = plain.get("dtype"), plain["values"]
    numbers = {"bool": bool, "float": float, "int": int, "uint": int}
    wanted = str if name in ("str", "object") else numbers.get(str(name).rstrip("0123456789"))
    if wanted is None or not all(type(value) is wanted for value in values):
        raise ValueError(f"labels must be values of dtype {name!r}.")
    labels = np.asarray(values, dtype=name)
    if len(labels) == 0 or any(not left < right for left, right in pairwise(labels)):
        raise ValueError("labels must be at least one, each above the one before.")
    return labels
