"""What maps made of other maps share: independent copies, gaps of theory, nested states."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import clone

from kernelight import _core
from kernelight.base import checks
from kernelight.base.checks import Matrix
from kernelight.base.estimator import fitted_part, with_parts
from kernelight.maps.base import FeatureMap
from kernelight.state import State

MAX_DEPTH = 8  # levels of maps; each costs time in the recursion of scikit-learn's parameters
Parts = dict[str, FeatureMap]
Map = TypeVar("Map", bound=FeatureMap)


class Combination(FeatureMap):
    """A map made of parts: what a user gave stays as it is, ``fit`` fits copies.

    Two parts with the same ``random_state`` must not share their draws, or the estimate of a
    product would be that of one factor. So the copy at position p has the seed child(stream(seed,
    15), p), and parts of parts have it twice (docs/projection-spec.md, section 7). ``seeds_`` are
    the seeds before that.
    """

    _decided: ClassVar[tuple[str, ...]] = ("seeds_",)

    @abstractmethod
    def _given_parts(self) -> Parts:
        """The parts as they were given, by their keys in a state.

        Defaults stand in the place of None.
        """

    @abstractmethod
    def _give_parts(self, parts: Parts) -> None:
        """Make these parts the parameters."""

    @abstractmethod
    def _fitted_parts(self) -> Parts:
        """The copies that ``fit`` fitted."""

    @abstractmethod
    def _hold_parts(self, parts: Parts) -> None:
        """Make these the fitted copies."""

    def _check_parts(self, parts: Parts) -> None:
        """Refuse parts that do not go together, as far as is known before they are fitted."""

    def _parts_in_use(self) -> Parts:
        return self._fitted_parts() if hasattr(self, "seeds_") else self._given_parts()

    def _fit(self, X: Any, y: Any) -> None:
        """Fit a copy of each part, with random numbers of its own.

        ``y`` is for parts that learn from labels.
        """
        if depth(self) > MAX_DEPTH:
            raise ValueError(
                f"Maps of maps may be nested {MAX_DEPTH} deep, got {depth(self)} levels."
            )
        X = self._validated(X, reset=True)
        given = self._given_parts()
        for key, part in given.items():
            refuse_other_kinds(type(self).__name__, key, part)
        refuse_some_pairwise(type(self).__name__, given)
        parts = {key: with_defaults(part) for key, part in given.items()}
        self._check_parts(parts)
        seeds = {key: seeds_of(part) for key, part in parts.items()}
        for position, (key, part) in enumerate(parts.items()):
            part.set_params(**{name: moved(seed, position) for name, seed in seeds[key].items()})
            part.fit(X, y)
        self._hold_parts(parts)
        self.seeds_ = seeds
        self._settle()

    def _validated(self, X: Any, *, reset: bool) -> Matrix:
        pairwise = self.__sklearn_tags__().input_tags.pairwise
        if pairwise and isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
            checks.as_matrix(X)  # as scikit-learn has it: a bad value is named before a bad shape
        return super()._validated(X, reset=reset)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "seeds_")

    @property
    def has_prefix(self) -> bool:
        """Whether all parts have it."""
        return all(part.has_prefix for part in self._parts_in_use().values())

    @property
    def theory_gap(self) -> str | None:
        """Why ``expected`` is not known exactly: the sentence of the first part that has one.

        None where it is known.
        """
        return next(filter(None, (part.theory_gap for part in self._parts_in_use().values())), None)

    @property
    def variance_gap(self) -> str | None:
        """Why ``variance`` is not known exactly: the sentence of the first part that has one.

        None where it is known.
        """
        gaps = (part.variance_gap for part in self._parts_in_use().values())
        return self.theory_gap or next(filter(None, gaps), None)

    def _state(self) -> State:
        """Own parameters and the states of the parts.

        Their meta is under "parts", their arrays under "key.name".
        """
        return with_parts(super()._state(), self._fitted_parts())

    def _take_parts(self, state: State) -> None:
        """Take the fitted parts out of a state.

        The parameters are their copies, with the seeds they had before ``fit``.
        """
        metas, seeds = state.meta["parts"], self.seeds_
        refuse_deep(metas)
        if not metas:
            raise ValueError("it has no parts.")
        if not isinstance(seeds, Mapping) or set(seeds) != set(metas):
            raise ValueError("its seeds do not belong to its parts.")
        parts = {key: part_of(state, key) for key in metas}
        self._hold_parts(parts)
        self._give_parts({key: reseeded(clone(part), seeds[key]) for key, part in parts.items()})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_parts = [
            part.__sklearn_tags__()
            for part in self._given_parts().values()
            if isinstance(part, FeatureMap)
        ]
        tags.input_tags.sparse = all(of.input_tags.sparse for of in of_parts)
        tags.input_tags.positive_only = any(of.input_tags.positive_only for of in of_parts)
        tags.input_tags.pairwise = bool(of_parts) and all(of.input_tags.pairwise for of in of_parts)
        tags.target_tags.required = any(of.target_tags.required for of in of_parts)
        return tags


def refuse_other_kinds(owner: str, key: str, part: Any) -> None:
    """Refuse a part that is not a feature map."""
    if not isinstance(part, FeatureMap):
        kind = part.__name__ if isinstance(part, type) else type(part).__name__
        hint = f"an instance, {kind}()" if isinstance(part, type) else "a map such as GCWS()"
        raise TypeError(
            f"{owner} is made of maps of kernelight: part {key} must be {hint}, got {kind}."
        )


def refuse_some_pairwise(owner: str, parts: Parts) -> None:
    """Refuse maps of a precomputed kernel matrix beside maps of rows.

    The same X cannot be both.
    """
    pairwise = {key: part.__sklearn_tags__().input_tags.pairwise for key, part in parts.items()}
    if any(pairwise.values()) and not all(pairwise.values()):
        first = next(key for key, is_so in pairwise.items() if is_so)
        other = next(key for key, is_so in pairwise.items() if not is_so)
        raise ValueError(
            f"{owner} gives the same X to all maps: part {first} takes a precomputed kernel "
            f"matrix, part {other} takes rows."
        )


def depth(part: Any, around: tuple[Any, ...] = ()) -> int:
    """How many levels of maps there are; ``around`` are the maps that this one is in."""
    if not isinstance(part, Combination):
        return 1
    if any(part is outer for outer in around):
        raise ValueError(f"A {type(part).__name__} cannot be a part of itself.")
    inner = part._given_parts().values()
    return 1 + max((depth(each, (*around, part)) for each in inner), default=0)


def with_defaults(part: Map) -> Map:
    """A copy in which every part, at any depth, is a map.

    A part that is None would have no seed to set.
    """
    copy: Map = clone(part)
    if isinstance(copy, Combination):
        copy._give_parts({key: with_defaults(inner) for key, inner in copy._given_parts().items()})
    return copy


def seeds_of(part: FeatureMap) -> dict[str, int]:
    """The seed of every ``random_state`` in a map."""
    params = part.get_params(deep=True).items()
    return {
        name: checks.seed_of(value)
        for name, value in params
        if name.split("__")[-1] == "random_state"
    }


def give_all(parts: list[FeatureMap], options: dict[str, Any]) -> None:
    """Take ``random_state`` and ``n_jobs`` out of ``options`` and set them in every map.

    Maps without such a parameter are left as they are.
    """
    for wanted in ("random_state", "n_jobs"):
        if wanted in options:
            value = options.pop(wanted)
            for part in parts:
                names = [name for name in part.get_params() if name.split("__")[-1] == wanted]
                part.set_params(**dict.fromkeys(names, value))


def moved(seed: int, position: int) -> int:
    """The seed of the part at a position."""
    return int(_core.child(_core.stream(seed, _core.STREAM_POSITION), position))


def part_of(state: State, key: str) -> FeatureMap:
    """The fitted part of that key."""
    try:
        part: FeatureMap = fitted_part(state, key, "map")
    except ValueError as error:
        described = re.match(r"This state does not describe an? (\w+): (.*)", str(error), re.DOTALL)
        if described is None:
            raise
        raise ValueError(f"in its part {key}, {described[1]}, {described[2]}") from error
    if part.n_features_in_ != state.meta["n_features_in"]:
        raise ValueError(f"its part {key} takes rows of another width.")
    return part


def reseeded(part: Map, seeds: Any) -> Map:
    """``part`` with the seeds it had before ``fit``, which a state may have wrong."""
    if not isinstance(seeds, Mapping) or set(seeds) != set(seeds_of(part)):
        raise ValueError("its seeds do not belong to its parts.")
    part.set_params(
        **{name: checks.seed_of(checks.check_int(name, seed)) for name, seed in seeds.items()}
    )
    return part


def refuse_deep(metas: Any) -> None:
    """Refuse parts that are not described, or nested too deep; without recursion."""
    level = [metas]
    for _ in range(MAX_DEPTH):
        if not all(
            isinstance(metas, Mapping) and all(isinstance(meta, Mapping) for meta in metas.values())
            for metas in level
        ):
            raise ValueError("its parts are not described.")
        level = [meta["parts"] for metas in level for meta in metas.values() if "parts" in meta]
        if not level:
            return
    raise ValueError(f"its parts are nested more than {MAX_DEPTH} deep.")
