"""What is compared, and in which order: decided by the data alone, before anything is timed.

The rows are split once: a fifth of them are the test rows, which have no part in any choice. The
others are split into five folds, some of which are held out, one after the other, to choose by
(cross-validation). Rounds go from few rows and components to many, so that a poor model costs
little (successive halving).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import kernels
from kernelight.base import counted
from kernelight.estimators import KernelClassifier
from kernelight.tables.default_model import MOST_SPARSE_COLUMNS

RowIndices = NDArray[np.intp]
Split = tuple[RowIndices, RowIndices]  # training rows, held-out rows

COMPONENTS = (64, 256, 1024, 4096)
TEST_FRACTION, MOST_TEST_ROWS = 0.2, 20_000
N_FOLDS = 5
MIN_ROWS = 10
FEW_ROWS = 500  # below, every fold is held out once: fewer would be too few rows to choose by
SCREEN_ROWS, SCREEN_COMPONENTS = 1_000, 128
MIDDLE_ROWS = (4_000, 16_000, 64_000)  # rows of the rounds between the first and the full ones
MOST_EXACT_ROWS = 5_000
MOST_BOOSTED_VALUES = 50_000_000  # rows x columns: boosting takes dense rows only
WIDE = 200_000  # columns beyond which a dense matrix of random directions is too large

# The default fit: KernelClassifier or KernelRegressor with the default number of components.
DEFAULT: str = KernelClassifier().kernel
LINEAR, MAP, AVERAGE, BOOSTING, EXACT = "linear", "map", "average", "boosting", "exact"


@dataclass(frozen=True)
class Candidate:
    """A model to be compared.

    References (gradient boosting, exact SVMs) are shown, and never recommended.
    """

    name: str
    label: str
    kind: str = MAP
    kernel: str = ""
    method: str | None = None
    #: Parameters of the estimator that are searched in the first round.
    searched: tuple[str, ...] = ("scale",)
    #: Parameters copied from another candidate, which was searched before: name -> candidate.
    borrowed: dict[str, str] = field(default_factory=dict, hash=False)
    #: Whether its map needs a dense matrix of random directions.
    dense_directions: bool = False
    #: With more rows it takes too long to be tried.
    most_rows: int | None = None
    #: The model in the words of a headline.
    words: str = ""
    #: What k counts.
    unit: str = "codes"

    @property
    def nonnegative(self) -> bool:
        """Whether the kernel takes nonnegative values only."""
        if self.kind == AVERAGE or not self.kernel:
            return False
        return kernels.get(self.kernel).nonnegative

    @property
    def is_reference(self) -> bool:
        """Whether it is there to compare with, and not to be recommended."""
        return self.kind in (BOOSTING, EXACT)


# Cheap ones first: if time runs out in the first round, the later ones are left out.
CANDIDATES = (
    Candidate("linear", "Linear", LINEAR, words="a linear model"),
    Candidate("gmm", "GMM (min-max)", kernel="gmm", words="a min-max kernel"),
    Candidate(
        "auto",
        "Average (auto)",
        AVERAGE,
        kernel="auto",
        searched=(),
        words="the average of a min-max kernel, ferns and forest leaves",
    ),
    Candidate(
        "gaussian",
        "Gaussian",
        kernel="gaussian",
        searched=("scale", "gamma"),
        dense_directions=True,
        words="a Gaussian kernel",
        unit="random features",
    ),
    Candidate(
        "rbf",
        "RBF of directions",
        kernel="rbf",
        searched=("scale", "gamma"),
        dense_directions=True,
        words="an RBF kernel of directions",
        unit="random features",
    ),
    Candidate("acos", "Acos", kernel="acos", dense_directions=True, words="a kernel of angles"),
    Candidate(
        "acos_chi2",
        "Acos-chi2",
        kernel="acos_chi2",
        dense_directions=True,
        words="a chi-square kernel of angles",
    ),
    Candidate(
        "gmm_nystroem",
        "GMM, Nyström",
        kernel="gmm",
        method="nystroem",
        borrowed={"scale": "gmm"},
        words="a min-max kernel by Nyström's method",
        unit="landmarks",
    ),
    Candidate(
        "gaussian_nystroem",
        "Gaussian, Nyström",
        kernel="gaussian",
        method="nystroem",
        borrowed={"scale": "gaussian", "gamma": "gaussian"},
        words="a Gaussian kernel by Nyström's method",
        unit="landmarks",
    ),
    Candidate(
        "mm_acos",
        "Min-max × acos",
        kernel="mm_acos",
        dense_directions=True,
        words="a min-max kernel times one of angles",
    ),
    Candidate(
        "mm_acos_chi2",
        "Min-max × acos-chi2",
        kernel="mm_acos_chi2",
        dense_directions=True,
        words="a min-max kernel times a chi-square one of angles",
    ),
    Candidate(
        "gmm_power",
        "Tunable GMM (power p)",
        kernel="gmm",
        borrowed={"scale": "gmm"},
        searched=("p",),
        words="a min-max kernel with a tuned power",
    ),
    Candidate(
        "folded_rbf",
        "Folded RBF",
        kernel="folded_rbf",
        borrowed={"scale": "rbf"},
        searched=("gamma",),
        dense_directions=True,
        words="a folded RBF kernel",
        unit="random features",
    ),
    Candidate(
        "mm_rbf",
        "Min-max × RBF",
        kernel="mm_rbf",
        borrowed={"gamma": "rbf"},
        dense_directions=True,
        most_rows=5_000,
        words="a min-max kernel times an RBF one",
        unit="random features",
    ),
)
BOOSTED = Candidate("boosting", "Gradient boosting", BOOSTING)


def exact_twin(candidate: Candidate) -> Candidate:
    """The SVM of the exact kernel, with the settings of the candidate that approximates it."""
    own = dict.fromkeys(("scale", "gamma", "p"), candidate.name)
    return Candidate(
        f"exact_{candidate.name}",
        f"Exact SVM, {candidate.label.partition(',')[0]}",
        EXACT,
        candidate.kernel,
        EXACT,
        searched=(),
        borrowed=own,
    )


@dataclass(frozen=True)
class Round:
    """A stage of the study: every candidate that is left is measured at one size."""

    #: Training and held-out rows together.
    rows: int
    components: int
    #: How many of the five folds are held out, one after the other.
    folds: int
    #: The fraction of the candidates that go on to the next round.
    keep: float = 1.0


@dataclass(frozen=True)
class StudyPlan:
    """Candidates, rows and rounds of a study."""

    task: str
    candidates: tuple[Candidate, ...]
    #: Labels of candidates that cannot take the data, each with the reason.
    not_admitted: tuple[tuple[str, str], ...]
    #: Rows to train and to choose by; the first n of them are a stratified sample for every n.
    learn: RowIndices
    test: RowIndices
    #: How many of the five folds are held out on all rows.
    folds: int
    rounds: tuple[Round, ...]
    facts: dict[str, Any]

    def splits(self, y: NDArray[Any], folds: int) -> list[Split]:
        """Training and held-out rows for each of the first ``folds`` folds of these targets."""
        fold = fold_of_rows(y if self.task == "classification" else np.zeros(len(y)))
        return [(np.flatnonzero(fold != at), np.flatnonzero(fold == at)) for at in range(folds)]


def make_plan(
    X: Any,
    y: NDArray[Any],
    task: str,
    seed: int,
    repeats: int,
    components: tuple[int, ...],
    only: Any,
) -> StudyPlan:
    """The plan for checked rows and targets (labels are numbers from 0)."""
    rng = np.random.default_rng(seed)
    facts = facts_of(X, y, task)
    admitted, refused = admit(facts, only)
    learn, test = cut(y, task, rng)
    folds = N_FOLDS if len(learn) < FEW_ROWS else min(repeats, N_FOLDS)
    rounds = rounds_of(len(learn), folds, components)
    return StudyPlan(task, admitted, refused, learn, test, folds, rounds, facts)


def facts_of(X: Any, y: NDArray[Any], task: str) -> dict[str, Any]:
    """The shape of the data, and what decides which candidates can take them."""
    values = X.data if sp.issparse(X) else X
    return {
        "rows": int(X.shape[0]),
        "features": int(X.shape[1]),
        "sparse": bool(sp.issparse(X)),
        "nonnegative": bool(not values.size or values.min() >= 0),
        "filled": float(np.count_nonzero(values) / max(1, X.shape[0] * X.shape[1])),
        "classes": len(np.unique(y)) if task == "classification" else None,
    }


def admit(
    facts: dict[str, Any], only: Any
) -> tuple[tuple[Candidate, ...], tuple[tuple[str, str], ...]]:
    """Candidates that can take these data, and the labels of the others with the reason."""
    chosen, refused = [], []
    for candidate in named(only):
        if candidate.nonnegative and facts["sparse"] and not facts["nonnegative"]:
            reason = (
                "needs nonnegative values; sparse rows cannot be shifted without filling their "
                "zeros"
            )
        elif (
            candidate.kind == AVERAGE
            and facts["sparse"]
            and facts["features"] > MOST_SPARSE_COLUMNS
        ):
            reason = f"takes long with sparse rows of more than {MOST_SPARSE_COLUMNS:,} columns"
        elif candidate.dense_directions and facts["features"] > WIDE:
            columns = counted(facts["features"], "column")
            reason = f"needs a dense matrix of random directions, too large for {columns}"
        elif candidate.most_rows is not None and facts["rows"] > candidate.most_rows:
            reason = f"takes too long with more than {candidate.most_rows:,} rows"
        else:
            chosen.append(candidate)
            continue
        refused.append((candidate.label, reason))
    return tuple(chosen), tuple(refused)


def named(only: Any) -> tuple[Candidate, ...]:
    """The candidates of these names, all for None.

    Those whose settings they copy are among them, and always the linear model and the default fit.
    """
    if only is None:
        return CANDIDATES
    known = {candidate.name: candidate for candidate in CANDIDATES}
    unknown = [str(name) for name in only if name not in known]
    if unknown:
        raise ValueError(
            f"There is no candidate {', '.join(unknown)}; known are {', '.join(known)}."
        )
    wanted = {
        "linear",
        DEFAULT,
        *only,
        *(lender for name in only for lender in known[name].borrowed.values()),
    }
    return tuple(candidate for candidate in CANDIDATES if candidate.name in wanted)


def rounds_of(n_rows: int, folds: int, components: tuple[int, ...]) -> tuple[Round, ...]:
    """From few rows to all, then from few components to many.

    After an expensive round only the better candidates go on. All of them go on from the fewest
    components: random features need more of them than landmarks do, and would be judged too early.
    """
    some = min(components, key=lambda k: abs(k - COMPONENTS[1]))
    first = Round(
        min(n_rows, SCREEN_ROWS),
        SCREEN_COMPONENTS,
        # a first round on all rows is compared with later ones: the same rows must be held out
        folds if n_rows <= SCREEN_ROWS else 1,
        1.0 if n_rows <= MIDDLE_ROWS[0] else 0.5,
    )
    between = [Round(rows, some, 1, 0.6) for rows in MIDDLE_ROWS if 2 * rows <= n_rows]
    full = [Round(n_rows, k, folds, 1.0 if k < some else 0.5) for k in sorted(components)]
    return (first, *between, *full)


def cut(y: NDArray[Any], task: str, rng: np.random.Generator) -> tuple[RowIndices, RowIndices]:
    """Training and test rows, stratified by class, both in a random order.

    Row i of a class with c rows gets the position (i + u)/c, with one u for the whole class. Rows
    are sorted by it, so that the first n rows have the classes in proportion for every n. A class
    of fewer than five rows has no test rows.
    """
    labels = y if task == "classification" else np.zeros(len(y), dtype=np.intp)
    test = np.zeros(len(y), dtype=bool)
    position = np.empty(len(y))
    fraction = min(TEST_FRACTION, MOST_TEST_ROWS / len(y))
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        n_test = int(len(members) * fraction)
        n_learn = len(members) - n_test
        test[members[:n_test]] = True
        position[members[:n_test]] = (np.arange(n_test) + rng.random()) / max(1, n_test)
        position[members[n_test:]] = (np.arange(n_learn) + rng.random()) / n_learn
    order = np.argsort(position, kind="stable")
    learn = order[~test[order]]
    if test.sum() < 2:
        raise ValueError(
            "Too few rows to test on: every class has fewer than five. Give more rows, or merge "
            "classes."
        )
    return learn, order[test[order]]


def fold_of_rows(labels: NDArray[Any]) -> NDArray[np.int8]:
    """The fold (0 to 4) of each row, stratified by class.

    A class of one row is never held out: its fold is -1. Rows are in a random order already, so
    they are dealt like cards, one class after the other.
    """
    folds = np.full(len(labels), -1, dtype=np.int8)
    dealt = 0
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        if len(members) > 1:
            folds[members] = (dealt + np.arange(len(members))) % N_FOLDS
            dealt += len(members)
    return folds
