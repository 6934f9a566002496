"""The search space: which of scale, gamma, p and C may be tuned, and what is tried for each.

A `Setting` is one combination of a scaling, a gamma and a p. C is apart, because all C share the
features that a setting makes of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelight.base.checks import Matrix
from kernelight.estimators.column_weights import LEARN, Recipe, learn_weights
from kernelight.estimators.kernel_choice import (
    GAMMA_STEPS,
    MEDIAN_ROWS,
    P_GRID,
    SCALE,
    TUNE,
    KernelChoice,
)
from kernelight.estimators.routes import MAP_ROWS, Task, spread
from kernelight.estimators.scoring import Scoring
from kernelight.kernels.base import Kernel
from kernelight.scaling import Scaling, fit_scalings, suitable_scalings

C_GRID = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
DEFAULT_C, DEFAULT_P = 1.0, 1.0
DEFAULT_COMPONENTS = 1024

#: What ``sources_`` may say of a parameter, with the words of the summary.
SOURCES = {
    "given": "given",
    "rule": "by the rule scale",
    "tuned": "tuned",
    "default": "default, too few rows to tune",
    "only": "the only one for these rows",
    "none": "the kernel has none",
    "members": "by each member",
    "learned": "learned",
    "equal": "learned ones are not clearly better",
}


@dataclass(frozen=True)
class Setting:
    """A fitted scaling and the parameters of the kernel; None for those that it has not."""

    scaling: Scaling
    gamma: float | None
    p: float | None
    recipe: Recipe | None = None  # by which the weights of the scaling were learned, if they were

    def describe(self) -> dict[str, Any]:
        """As plain data."""
        return {"scale": self.scaling.name, "gamma": self.gamma, "p": self.p}

    def weighted(self, recipe: Recipe, kernel: Kernel, X: Matrix, task: Task) -> Setting:
        """The same with weights that are learned from these rows."""
        scaling = learn_weights(recipe, kernel, self.scaling, X, task)
        return replace(self, scaling=scaling, recipe=recipe)

    def __str__(self) -> str:
        gamma = "" if self.gamma is None else f", gamma={self.gamma:g}"
        p = "" if self.p in (None, DEFAULT_P) else f", p={self.p:g}"
        weights = "" if self.recipe is None else ", weights"
        return self.scaling.name + gamma + p + weights


@dataclass(frozen=True)
class SearchSpace:
    """The parameters of the estimator that the search may choose, each a value or "tune".

    Methods have a switch ``tune``: False leaves a default for each "tune", as for too few rows.
    """

    choice: KernelChoice
    n_components: int
    scale: str  # a name or "tune"
    C: float | str
    cv: Any
    scoring: Scoring
    weights: Any = None  # of columns: None, "learn", or an array of one number for each

    def settings(
        self, X: Matrix, task: Task, rng: np.random.Generator, *, tune: bool
    ) -> list[Setting]:
        """All combinations of scale, gamma and p, with scalings fitted to all rows of X."""
        names: tuple[str, ...] = (self.scale,)
        if self.scale == TUNE:
            choice = self.choice
            names = suitable_scalings(
                X, nonnegative=choice.nonnegative, fixed_width=choice.fixed_width
            )
        settings = []
        for scaling in fit_scalings(names if tune else names[:1], X, rng, task.weight):
            if isinstance(self.weights, np.ndarray):
                scaling = scaling.weighted(self.weights)
            for p in self._powers(tune):
                gammas = self._gammas(X, task, scaling, p, tune)
                settings += [Setting(scaling, gamma, p) for gamma in gammas]
        return settings

    @property
    def learns_weights(self) -> bool:
        """Whether weights of columns may be learned."""
        return isinstance(self.weights, str) and self.weights == LEARN

    @property
    def tunes_kernel(self) -> bool:
        """Whether a parameter of the kernel is tuned."""
        given = {"gamma": self.choice.gamma, "p": self.choice.p}
        return any(value == TUNE and self.choice.has(name) for name, value in given.items())

    def c_values(self, *, tune: bool) -> tuple[float, ...]:
        """The values of C, ascending."""
        if self.C == TUNE:
            return C_GRID if tune else (DEFAULT_C,)
        return (float(self.C),)

    def _powers(self, tune: bool) -> tuple[float | None, ...]:
        """The values of p."""
        if not self.choice.has("p"):
            return (None,)
        if self.choice.p == TUNE:
            return P_GRID if tune else (DEFAULT_P,)
        return (float(self.choice.p),)

    def _gammas(
        self, X: Matrix, task: Task, scaling: Scaling, p: float | None, tune: bool
    ) -> tuple[float | None, ...]:
        """The values of gamma, which depend on the scaled rows unless one was given."""
        choice = self.choice
        if not choice.has("gamma"):
            return (None,)
        if not isinstance(choice.gamma, str):
            return (float(choice.gamma),)
        if choice.gamma == SCALE:
            some = spread(X.shape[0], MAP_ROWS)
            weight = None if task.weight is None else task.weight[some]
            return (choice.scale_gamma(scaling(X[some]), p, weight),)
        middle = choice.median_gamma(scaling(X[spread(X.shape[0], MEDIAN_ROWS)]), p)
        return tuple(float(f"{middle * step:.2g}") for step in GAMMA_STEPS) if tune else (middle,)

    def sources(self, settings: list[Setting], *, tune: bool) -> dict[str, str]:
        """Where the value of each parameter comes from: one of `SOURCES`."""
        choice = self.choice
        given = {"scale": self.scale, "gamma": choice.gamma, "p": choice.p, "C": self.C}
        sources = {}
        for name, value in given.items():
            if name in ("gamma", "p") and not choice.has(name):
                sources[name] = "none"
            elif value == SCALE:
                sources[name] = "rule"
            elif value != TUNE:
                sources[name] = "given"
            else:
                sources[name] = "tuned" if tune else "default"
        if self.weights is not None:
            sources["weights"] = "given"
            if isinstance(self.weights, str):  # the search says so if it learns some
                sources["weights"] = "equal" if tune else "default"
        scalings = {setting.scaling.name for setting in settings}
        if sources["scale"] == "tuned" and len(scalings) == 1:
            sources["scale"] = "only"
        return sources
