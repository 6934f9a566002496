"""The model of kernel="auto": the average of the scores of several models, each with its own map.

Members see the rows as they are, before any scaling: each has a scaled map of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base import checks
from kernelight.base.checks import Matrix, check_int
from kernelight.base.estimator import arrays_under, fitted_part, part_state, with_parts
from kernelight.estimators.routes import scores_of
from kernelight.estimators.support_model import SupportModel, support_model_of
from kernelight.kernels.base import Kernel
from kernelight.maps.scaled_map import ScaledMap
from kernelight.state import State

GMM, FERNS, LEAVES = "gmm", "ferns", "leaves"
MEMBERS = (GMM, FERNS, LEAVES)
_KIND = "Member"


@dataclass(frozen=True, eq=False)
class Member:
    """One model of an average, and what the search said of it."""

    name: str  # one of `MEMBERS`
    scaled_map: ScaledMap
    model: Any  # linear, or a `SupportModel`
    C: float
    unit: float  # what its scores are divided by before they are averaged
    score: float | None  # on held-out rows, by itself; None if there were none

    @property
    def width(self) -> int:
        """Numbers that a row becomes on the way to its scores."""
        model = self.model
        return model.width if isinstance(model, SupportModel) else self.scaled_map.n_outputs

    @property
    def n_bytes(self) -> int:
        """Bytes of what model, map and scaling hold."""
        model, feature_map = self.model, self.scaled_map.feature_map
        held = model.n_bytes if isinstance(model, SupportModel) else model.weights_.nbytes
        if feature_map is not None:
            held += sum(array.nbytes for array in feature_map.to_state().arrays.values())
        return int(held) + self.scaled_map.scaling.n_bytes

    def scores(self, X: Matrix) -> NDArray[np.float64]:
        """(n, m) scores of rows as they are, in the units of the average."""
        scores = self.scaled_map.stream(X, partial(scores_of, self.model), width=self.width)
        return np.asarray(scores.reshape(len(scores), -1) / self.unit, dtype=np.float64)

    # -- States

    def to_state(self) -> State:
        """Everything that defines it."""
        scaling = self.scaled_map.scaling
        meta = {
            "kind": _KIND,
            "name": self.name,
            "C": self.C,
            "unit": self.unit,
            "score": self.score,
            "scaling": {"name": scaling.name, "n_features": scaling.n_features},
        }
        arrays = self.scaled_map.scaling_arrays()
        if isinstance(self.model, SupportModel):
            arrays |= {f"support.{name}": array for name, array in self.model.arrays().items()}
            return State(meta, arrays)
        return with_parts(State(meta, arrays), {**self.scaled_map.parts(), "model": self.model})

    @classmethod
    def from_state(
        cls, state: State, kernel: Kernel, width: int, n_scores: int, n_classes: int | None
    ) -> Member:
        """The member of a state, checked; ``kernel`` is that of support rows."""
        meta = state.meta
        name = checks.check_choice("The name of a member", meta["name"], MEMBERS)
        n_features = check_int("n_features", meta["scaling"]["n_features"], 1, 1 << 62)
        if n_features != width:
            raise ValueError(f"its member {name} takes rows of another width.")
        scaled_map = ScaledMap.from_parts(state, meta["scaling"]["name"], width)
        if scaled_map.feature_map is None:
            model: Any = support_model_of(
                kernel,
                arrays_under(state, "support"),
                scaled_map.scaling.n_features_out,
                n_scores,
                n_classes,
            )
        else:
            model = fitted_part(state, "model", "model")
            wanted = "LinearRegressor" if n_classes is None else "LinearClassifier"
            if type(model).__name__ != wanted:
                raise ValueError(f"the model of its member {name} is not a {wanted}.")
            n_own = model.n_targets_ if n_classes is None else len(model.classes_)
            if n_own != (n_scores if n_classes is None else n_classes):
                raise ValueError(f"the model of its member {name} has another number of scores.")
        checks.check_positive("C of a member", meta["C"])
        checks.check_positive("unit of a member", meta["unit"])
        if meta["score"] is not None:
            checks.check_number("score of a member", meta["score"], -np.inf)
        return cls(name, scaled_map, model, meta["C"], meta["unit"], meta["score"])


@dataclass(frozen=True, eq=False)
class AverageModel:
    """f(x) = mean over members of f_m(x) / unit_m."""

    members: tuple[Member, ...]

    @property
    def width(self) -> int:
        """Numbers that a row becomes on the way to its scores."""
        return max(member.width for member in self.members)

    @property
    def n_bytes(self) -> int:
        """Bytes of weights, support rows and scalings."""
        return sum(member.n_bytes for member in self.members)

    def scores(self, X: Matrix) -> NDArray[np.float64]:
        """(n, m) scores of rows as they are."""
        return np.asarray(sum(member.scores(X) for member in self.members) / len(self.members))

    def to_parts(self) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
        """What a state holds of it: the meta of each member, and all arrays."""
        states = [member.to_state() for member in self.members]
        arrays = {
            f"{_key(at)}.{name}": array
            for at, state in enumerate(states)
            for name, array in state.arrays.items()
        }
        return [dict(state.meta) for state in states], arrays

    @classmethod
    def from_parts(
        cls,
        state: State,
        metas: Any,
        kernel: Kernel,
        width: int,
        n_scores: int,
        n_classes: int | None,
    ) -> AverageModel:
        """The average that `to_parts` put into a state, checked: a state may hold anything."""
        if not isinstance(metas, list) or not 1 <= len(metas) <= len(MEMBERS):
            raise ValueError(f"an average has 1 to {len(MEMBERS)} members.")
        members = []
        for at, meta in enumerate(metas):
            own = part_state(state, _key(at), meta)
            if not isinstance(own.meta.get("scaling"), Mapping):
                raise ValueError("a member must say how it scales columns.")
            members.append(Member.from_state(own, kernel, width, n_scores, n_classes))
        if len({member.name for member in members}) < len(members):
            raise ValueError("the members of an average must be different.")
        return cls(tuple(members))


def _key(at: int) -> str:
    """The prefix of the arrays of a member."""
    return f"member{at}"
