r"""The search of `CompactClassifier`: scaling, sigma and coefficients for a budget of bytes.

Scalings and sigmas are compared by ridge regressions on the features, each row left out by itself.
With the features Z (a column of ones among them), the eigenvalues s_j and eigenvectors V of their
Gram matrix Z'Z, and U = Z V, the scores of left-out rows follow for every penalty l:

    h_i = sum_j U_ij^2 / (s_j + l),    f_i = sum_j U_ij (V'Z'Y)_j / (s_j + l),
    f_(-i) = (f_i - h_i y_i) / (1 - h_i).

Coefficients -1, 0 and 1 often do better with another sigma than exact ones, so that sigmas near
the best one, and then C, are compared once more with these, by folds, and with the features of two
seeds, as what one of them favours may be chance. The seed itself is not chosen: the one that does
best on left-out rows of handwritten digits does no better than the others on new rows.

Where one setting is to be preferred (no scaling, which takes no bytes), another must be better
beyond doubt: by more rows than the standard error of the difference, the root of the number of rows
that only one of both gets right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from kernelight.estimators.device_size import flash_of, most_features
from kernelight.linear.ternary import TernaryClassifier
from kernelight.maps.projections.integer_fourier import IntegerFourier
from kernelight.maps.projections.projection import padded_width
from kernelight.scaling import Scaling, fit_scaling

SCALES = ("none", "minmax", "standard")
SIGMAS = (0.35, 0.5, 0.7, 0.95, 1.3, 1.8, 2.5)  # times the root of the mean squared distance
NEAR = (1.0, 0.85, 0.72, 0.6, 1.2)  # times the best sigma, what ternary coefficients try
PENALTIES = (0.01, 0.05, 0.2, 1.0)  # for features of unit length
CS = (10.0, 3.0, 30.0)
MOST_ROWS, MOST_FEATURES = 4000, 768  # of the comparisons
DOUBT = 1.0  # standard errors
LARGEST = 2048  # features: more take long, and gain little
FEWEST = 8
FOLDS = 4


@dataclass(frozen=True)
class Setting:
    """What the search chooses."""

    scale: str
    sigma: float
    seed: int
    C: float = CS[0]


@dataclass(frozen=True)
class Choice:
    """What the search chose, and the table of what it tried: a line of a setting and its score."""

    setting: Setting
    n_components: int
    score: float | None  # accuracy on rows held out; None where a class has one row
    tried: list[dict[str, Any]]


@dataclass(frozen=True)
class Problem:
    """Rows to choose by, the scalings that may be chosen, and the budget."""

    X: NDArray[Any]
    sides: NDArray[np.intp]  # the class of each row, 0, 1, ...
    n_classes: int
    scalings: dict[str, Scaling]
    max_bytes: int
    n_jobs: int | None

    def n_features(self, scale: str) -> int:
        """How many features fit into the budget."""
        scaling = self.scalings[scale]
        width = padded_width(scaling.n_features_out, "sorf")
        return min(LARGEST, most_features(self.max_bytes, self.n_classes, width, scaling))

    def least_bytes(self, scale: str) -> int:
        """Bytes of a model of the fewest features."""
        scaling = self.scalings[scale]
        width = padded_width(scaling.n_features_out, "sorf")
        return sum(flash_of(self.n_classes, FEWEST, width, scaling).values())

    def features(self, setting: Setting, most: int) -> NDArray[np.float32]:
        """Features of the rows, as many as fit, or ``most``."""
        feature_map = IntegerFourier(
            min(self.n_features(setting.scale), most),
            sigma=setting.sigma,
            random_state=setting.seed,
            n_jobs=self.n_jobs,
        )
        return np.asarray(feature_map.fit_transform(self.scalings[setting.scale](self.X)))


class Score(NamedTuple):
    """Which rows are predicted right, and minus the mean squared error, which decides ties."""

    right: NDArray[np.bool_]
    closeness: float

    def beats(self, other: Score, doubt: float) -> bool:
        """Whether this is better, by more than ``doubt`` standard errors."""
        gain = int(self.right.sum()) - int(other.right.sum())
        if doubt:
            return gain > doubt * float(np.sqrt((self.right != other.right).sum()))
        return gain > 0 or (gain == 0 and self.closeness > other.closeness)


def left_out(Z: NDArray[np.float32], sides: NDArray[np.intp], n_classes: int) -> Score:
    """The score of ridge regressions on rows left out, with the best penalty."""
    rows = np.hstack([Z, np.ones((len(Z), 1))])
    Y = 2.0 * (sides[:, None] == np.arange(n_classes)) - 1.0
    values, vectors = np.linalg.eigh(rows.T @ rows)
    values = np.maximum(values, 0.0)
    U = rows @ vectors
    projected, squares = vectors.T @ (rows.T @ Y), U * U
    best: Score | None = None
    for penalty in PENALTIES:
        weights = 1.0 / (values + penalty)
        leverage = np.minimum(squares @ weights, 1.0 - 1e-9)[:, None]
        scores = (U @ (weights[:, None] * projected) - leverage * Y) / (1.0 - leverage)
        new = Score(scores.argmax(axis=1) == sides, -float(np.square(scores - Y).mean()))
        best = new if best is None or new.beats(best, 0.0) else best
    assert best is not None
    return best


def search(
    X: NDArray[Any],
    sides: NDArray[np.intp],
    n_classes: int,
    max_bytes: int,
    scales: tuple[str, ...],
    seed: int,
    n_jobs: int | None,
) -> Choice:
    """The setting that predicts left-out rows best; `ValueError` if nothing fits the budget."""
    random = np.random.default_rng(seed)
    rows = _some_rows(sides, random)
    scalings = {scale: fit_scaling(scale, X, random) for scale in scales}
    problem = Problem(X[rows], sides[rows], n_classes, scalings, max_bytes, n_jobs)
    fitting = [scale for scale in scales if problem.n_features(scale) >= FEWEST]
    if not fitting:
        least = min(problem.least_bytes(scale) for scale in scales)
        raise ValueError(
            f"max_bytes={max_bytes:,} is too small for {n_classes} classes and {X.shape[1]} "
            f"columns: it must be at least {least:,}."
        )
    tried: list[dict[str, Any]] = []

    def noted(setting: Setting, score: Score, **more: Any) -> Score:
        facts = {"scale": setting.scale, "sigma": setting.sigma, "seed": setting.seed}
        tried.append(facts | more | {"accuracy": float(score.right.mean())})
        return score

    def by_ridge(setting: Setting) -> Score:
        Z = problem.features(setting, min(MOST_FEATURES, len(rows)))
        return noted(setting, left_out(Z, problem.sides, n_classes))

    units = {scale: _spread(scalings[scale](problem.X)) for scale in fitting}
    known: tuple[Score, Setting] | None = None
    for scale in fitting:
        of_scale = [Setting(scale, times * units[scale], seed) for times in SIGMAS]
        new = _best(of_scale, by_ridge)
        known = new if known is None or new[0].beats(known[0], DOUBT) else known
    assert known is not None
    best = known[1]
    folds = _folds(problem.sides, seed)
    if folds is None:
        return Choice(best, problem.n_features(best.scale), None, tried)

    seeds = (seed, int(random.integers(0, 2**63)))

    def by_folds(setting: Setting) -> Score:
        right = np.zeros((len(seeds), len(problem.sides)), dtype=bool)
        for at, each in enumerate(seeds):
            Z = problem.features(replace(setting, seed=each), LARGEST)
            for learn, check in folds:
                model = TernaryClassifier(C=setting.C, random_state=seed, n_jobs=n_jobs)
                model.fit(Z[learn], problem.sides[learn])
                right[at, check] = model.predict(Z[check]) == problem.sides[check]
        return noted(setting, Score(right.ravel(), 0.0), C=setting.C)

    known = _best([replace(best, sigma=times * best.sigma) for times in NEAR], by_folds)
    score, best = _best([replace(known[1], C=C) for C in CS[1:]], by_folds, known, DOUBT)
    accuracy = float(score.right.mean())
    return Choice(best, problem.n_features(best.scale), accuracy, tried)


def _best(
    settings: list[Setting],
    score_of: Callable[[Setting], Score],
    known: tuple[Score, Setting] | None = None,
    doubt: float = 0.0,
) -> tuple[Score, Setting]:
    """The best score and its setting; ``known`` stays unless another one is better beyond doubt."""
    for setting in settings:
        score = score_of(setting)
        if known is None or score.beats(known[0], doubt):
            known = (score, setting)
    assert known is not None
    return known


def _folds(sides: NDArray[np.intp], seed: int) -> list[Any] | None:
    """Rows to learn from and to check on; None where a class has one row."""
    n_folds = min(FOLDS, int(np.bincount(sides).min()))
    if n_folds < 2:
        return None
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed % 2**32)
    return list(folds.split(np.zeros((len(sides), 1)), sides))


def _some_rows(sides: NDArray[np.intp], random: np.random.Generator) -> NDArray[np.intp]:
    """Rows for comparisons, in their order; of every class at least two, if it has two."""
    if len(sides) <= MOST_ROWS:
        return np.arange(len(sides))
    order = random.permutation(len(sides))
    first = [order[sides[order] == side][:2] for side in range(int(sides.max()) + 1)]
    return np.union1d(order[:MOST_ROWS], np.concatenate(first))


def _spread(X: NDArray[Any]) -> float:
    """The root of the mean squared distance of rows to their mean; 1 if all are equal."""
    return float(np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).mean())) or 1.0
