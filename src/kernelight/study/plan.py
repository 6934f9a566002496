"""What is compared, and in which order: decided by the data alone, before anything is timed.

Rows are cut once: a fifth is the test part, which chooses nothing. The others are cut into fifths
again; some of those are held out in turn to choose by (validation). Rounds go from few rows and
components upward, so that a model that will not do is found out cheaply (successive halving).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.estimators import KernelClassifier

RowIndices = NDArray[np.intp]
Split = tuple[RowIndices, RowIndices]  # places learned from, places held out

COMPONENTS = (64, 256, 1024, 4096)
TEST_SHARE, MOST_TEST_ROWS = 0.2, 20_000
FOLDS = 5
MIN_ROWS = 10
FEW_ROWS = 500  # below, each fifth is held out in turn: fewer would be too few rows to choose by
SCREEN_ROWS, SCREEN_COMPONENTS = 1_000, 128
MIDDLE_ROWS = (4_000, 16_000, 64_000)  # of the rounds between the first one and all rows
MOST_EXACT_ROWS = 5_000
MOST_BOOSTED_VALUES = 50_000_000  # rows x columns: boosting takes dense rows only
WIDE = 200_000  # columns beyond which a dense matrix of directions is out of the question

# what KernelClassifier() and `kernelight fit` do if told nothing
_DEFAULTS = KernelClassifier().get_params()
DEFAULT: str = _DEFAULTS["kernel"]
DEFAULT_COMPONENTS: int = _DEFAULTS["n_components"]
LINEAR, MAP, BOOSTING, EXACT = "linear", "map", "boosting", "exact"


@dataclass(frozen=True)
class Candidate:
    """A model to be compared.

    References (boosting, exact machines) are shown, and never recommended.
    """

    name: str
    label: str
    kind: str = MAP
    kernel: str = ""
    method: str | None = None
    #: Parameters of the front door that are searched in the first round.
    searched: tuple[str, ...] = ("scale",)
    #: Parameters taken over from another candidate that was searched before: name -> candidate.
    borrowed: dict[str, str] = field(default_factory=dict, hash=False)
    nonnegative: bool = False
    dense_directions: bool = False
    most_rows: int | None = None  # beyond, it takes too long to be worth a try
    words: str = ""  # what a reader who has not met the kernel is told
    unit: str = "codes"  # what k counts

    @property
    def is_reference(self) -> bool:
        """Whether it is there to compare with, and not to be recommended."""
        return self.kind in (BOOSTING, EXACT)


# Cheap ones first: if time runs out in the first round, the others are left out, and named.
CANDIDATES = (
    Candidate("linear", "Linear", LINEAR, words="a linear model"),
    Candidate("gmm", "GMM (min-max)", kernel="gmm", words="a min-max kernel"),
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
        nonnegative=True,
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
        nonnegative=True,
        dense_directions=True,
        words="a min-max kernel times one of angles",
    ),
    Candidate(
        "mm_acos_chi2",
        "Min-max × acos-chi2",
        kernel="mm_acos_chi2",
        nonnegative=True,
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
        nonnegative=True,
        dense_directions=True,
        most_rows=5_000,
        words="a min-max kernel times an RBF one",
        unit="random features",
    ),
)
BOOSTED = Candidate("boosting", "Gradient boosting", BOOSTING)


def exact_twin(candidate: Candidate) -> Candidate:
    """The kernel machine without approximation, with the settings of its linearized twin."""
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
    """Rows learned from and held out in all, components, how many fifths are held out in turn, and
    how many go on."""

    rows: int
    components: int
    turns: int
    keep: float = 1.0


@dataclass(frozen=True)
class StudyPlan:
    """Candidates that the data admit, those they do not (with the reason), rows and rounds."""

    task: str
    candidates: tuple[Candidate, ...]
    not_admitted: tuple[tuple[str, str], ...]
    learn: RowIndices  # in an order of which every beginning is a fair sample
    test: RowIndices
    turns: int
    rounds: tuple[Round, ...]
    facts: dict[str, Any]

    def splits(self, y: NDArray[Any], turns: int) -> list[Split]:
        """For these targets, in this order: which are learned from and which held out, a pair for
        each turn."""
        fifth = fifths(y if self.task == "classification" else np.zeros(len(y)))
        return [
            (np.flatnonzero(fifth != turn), np.flatnonzero(fifth == turn)) for turn in range(turns)
        ]


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
    turns = FOLDS if len(learn) < FEW_ROWS else min(repeats, FOLDS)
    return StudyPlan(
        task, admitted, refused, learn, test, turns, rounds_of(len(learn), turns, components), facts
    )


def facts_of(X: Any, y: NDArray[Any], task: str) -> dict[str, Any]:
    """What there is to say about the data in numbers."""
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
    """Candidates that these data admit, and the others with the reason."""
    chosen, refused = [], []
    for candidate in named(only):
        if candidate.nonnegative and facts["sparse"] and not facts["nonnegative"]:
            reason = "needs nonnegative values; sparse rows cannot be shifted without filling their zeros"
        elif candidate.dense_directions and facts["features"] > WIDE:
            reason = f"needs a direction for each of {counted(facts['features'], 'column')} and component"
        elif candidate.most_rows is not None and facts["rows"] > candidate.most_rows:
            reason = f"its features are long; here it is for up to {candidate.most_rows:,} rows"
        else:
            chosen.append(candidate)
            continue
        refused.append((candidate.label, reason))
    return tuple(chosen), tuple(refused)


def named(only: Any) -> tuple[Candidate, ...]:
    """The candidates of these names (all for None), with those that they borrow from; linear and
    the default in any case."""
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


def rounds_of(n_rows: int, turns: int, components: tuple[int, ...]) -> tuple[Round, ...]:
    """From few rows to all, then from few components to many; a share goes on after each round that
    is dear.

    All go on from the fewest components: cosines need more of them than landmarks do, and would be
    judged too early.
    """
    some = min(components, key=lambda k: abs(k - COMPONENTS[1]))
    first = Round(
        min(n_rows, SCREEN_ROWS),
        SCREEN_COMPONENTS,
        # scores on all rows are compared: they must be of the same rows held out
        turns if n_rows <= SCREEN_ROWS else 1,
        1.0 if n_rows <= MIDDLE_ROWS[0] else 0.5,
    )
    between = [Round(rows, some, 1, 0.6) for rows in MIDDLE_ROWS if 2 * rows <= n_rows]
    full = [Round(n_rows, k, turns, 1.0 if k < some else 0.5) for k in sorted(components)]
    return (first, *between, *full)


def cut(y: NDArray[Any], task: str, rng: np.random.Generator) -> tuple[RowIndices, RowIndices]:
    """Rows to learn from and rows to test on, classes in proportion; both in a fair random order.

    Row i of a class with c rows gets the place (i + u)/c, with one u for all: every beginning of
    the order of places has the classes in proportion. A class of fewer than five rows has none in
    the test part.
    """
    labels = y if task == "classification" else np.zeros(len(y), dtype=np.intp)
    test = np.zeros(len(y), dtype=bool)
    place = np.empty(len(y))
    share = min(TEST_SHARE, MOST_TEST_ROWS / len(y))
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        held = int(len(members) * share)
        test[members[:held]] = True
        place[members[:held]] = (np.arange(held) + rng.random()) / max(1, held)
        place[members[held:]] = (np.arange(len(members) - held) + rng.random()) / (
            len(members) - held
        )
    order = np.argsort(place, kind="stable")
    learn = order[~test[order]]
    if test.sum() < 2:
        raise ValueError(
            "Too few rows to test on: every class has fewer than five. Give more rows, or merge "
            "classes."
        )
    return learn, order[test[order]]


def fifths(labels: NDArray[Any]) -> NDArray[np.int8]:
    """The fifth (0 to 4) of each row, classes in proportion; -1, never held out, for a class of one
    row.

    Rows are in a random order already, so they are dealt like cards, one class after the other.
    """
    found = np.full(len(labels), -1, dtype=np.int8)
    dealt = 0
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        if len(members) > 1:
            found[members] = (dealt + np.arange(len(members))) % FOLDS
            dealt += len(members)
    return found
