"""The search of kernel="auto": a min-max kernel, ferns and forest leaves, each tuned by itself.

The three models are averaged with equal weights. Choosing one of them on held-out rows, or weights
of them, is worse: the choice has more noise than there is to gain.

* gmm is the fit of kernel="gmm", with a shorter race in its search (`search`).
* leaves is a linear model on the leaves of a random forest.
* ferns is a linear model on ferns whose columns are drawn by the square root of the importances of
  that forest: columns that matter come often, and others still come.

Forest and ferns learn from labels, so that each split has its own. They choose C on held-out rows,
which the model of the min-max kernel has scored as well: the averages of these scores make the
validation score, probabilities and intervals.

Scores of classes are divided by their mean size on held-out rows before they are averaged, because
models with a small C have small scores. Predictions of quantities have their unit already.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from kernelight.base.checks import Matrix
from kernelight.estimators.average_model import FERNS, GMM, LEAVES, AverageModel, Member
from kernelight.estimators.folds import N_FOLDS, Relearn, Split
from kernelight.estimators.kernel_choice import TUNE
from kernelight.estimators.left_out import can_learn
from kernelight.estimators.progress import Progress, Step
from kernelight.estimators.routes import LinearRoute, Prepared, RidgeRoute, Route, Task
from kernelight.estimators.search import Round, Search
from kernelight.estimators.search_result import HeldOut, SearchResult, in_words
from kernelight.estimators.search_space import DEFAULT_C, SearchSpace
from kernelight.maps.partitions.ferns import Ferns
from kernelight.maps.partitions.forest_leaves import ForestLeaves
from kernelight.maps.scaled_map import ScaledMap
from kernelight.scaling import Scaling, fit_scaling

N_TREES, MAX_LEAVES, DEPTH = 128, 256, 8
LEAST_UNIT = 0.25  # of the scores of a member, relative to the largest
LEAST_WEIGHT = 1e-3  # of a column in ferns, relative to the largest
ENOUGH_HELD_OUT = 400  # rows: as many folds are held out as it takes, one at least
#: The values of C that are tried. More trees agree less often than ferns: their C is smaller.
C_VALUES = {FERNS: (0.3, 1.0, 3.0, 10.0), LEAVES: (0.1, 0.3, 1.0, 3.0, 10.0)}

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Tuned:
    """A model of partitions on held-out rows: its C, and what came of it."""

    C: float
    held: HeldOut | None
    score: float | None


class AverageSearch:
    """The search on one data set; it does for an average what `Search` does for one kernel."""

    def __init__(
        self,
        space: SearchSpace,
        route: Route,
        X: Matrix,
        task: Task,
        seed: int,
        splits: list[Split] | None = None,
        relearn: Relearn | None = None,
        n_jobs: int | None = None,
    ) -> None:
        """``space`` and ``route`` are those of the min-max kernel."""
        self._search = Search(space, route, X, task, seed, splits, relearn, short_race=True)
        self._space, self._route, self._X, self._task = space, route, X, task
        self._seed, self._own_splits, self._relearn, self._n_jobs = seed, splits, relearn, n_jobs
        self._linear = LinearRoute(None, DEPTH, seed, n_jobs)

    # -- What will be done

    @property
    def searches(self) -> bool:
        """Whether there is anything to choose."""
        return self._search.searches

    @property
    def steps(self) -> list[Step]:
        """Those of the min-max kernel, and one for each split of forest and ferns."""
        step = self._partition_step(len(self._stage.rows), len(self._stage.splits) or 1)
        return [*self._search.steps, *([step] if self._stage.splits else [])]

    @property
    def final_step(self) -> Step:
        """The training of the final models, on all rows."""
        step = self._search.final_step
        return step._replace(work=step.work + self._partition_step(self._X.shape[0], 1).work)

    def _partition_step(self, n_rows: int, n_fits: int) -> Step:
        work = self._linear.work(n_rows, self._space.n_components, 4)
        return Step("forest and ferns", n_fits * work, tries=1)

    @cached_property
    def _stage(self) -> Round:
        """The rows and splits on which forest and ferns are scored."""
        if not isinstance(self._route, RidgeRoute):
            stage = self._search.last_round  # whose rows the min-max kernel scores
        else:
            n_folds = min(max(math.ceil(5 * ENOUGH_HELD_OUT / self._X.shape[0]), 1), N_FOLDS)
            stage = self._search.round_of(self._X.shape[0], n_folds)
        splits = [
            (train, held)
            for train, held in stage.splits
            if len(held) and can_learn(self._task, stage.rows[train])
        ]
        return replace(stage, splits=splits)

    # -- The search

    def run(self, progress: Progress) -> SearchResult:
        """What the search of the min-max kernel found, with the held-out scores of the average."""
        result = self._search.run(progress)
        table = [{**entry, "member": GMM} for entry in result.table]
        self._tuned: dict[str, _Tuned] = {}
        if self._stage.splits:
            step = self._partition_step(len(self._stage.rows), len(self._stage.splits))
            with progress.task(f"forest and ferns, {len(self._stage.rows):,} rows", step):
                self._tuned = self._tune(table)
        else:
            self._tuned = {name: _Tuned(self._c_values(name)[0], None, None) for name in C_VALUES}
        self._tuned[GMM] = _Tuned(result.C, result.held, result.score)
        held = self._average_of_held()
        score, words = None, ""
        if held is not None:
            score = self._score(held)
            words = in_words(self._stage.splits) if score is not None else ""
        sources = result.sources | {"scale": "members", "C": "members"}
        return replace(result, sources=sources, table=table, score=score, held_out=words, held=held)

    def train(self, result: SearchResult) -> tuple[AverageModel, ScaledMap]:
        """The final models, trained on all rows; the map of the average leaves rows as they are."""
        model, scaled_map = self._search.train(result)
        maps = self._maps(self._X, self._task)
        models = {GMM: (scaled_map, model)}
        for name, each in maps.items():
            prepared = self._prepared(each, self._X)
            models[name] = each, self._linear.fit(prepared, self._task, self._tuned[name].C)
        members = tuple(
            Member(
                name, *models[name], self._tuned[name].C, self._unit(name), self._tuned[name].score
            )
            for name in (GMM, FERNS, LEAVES)
        )
        return AverageModel(members), ScaledMap(self._identity, None)

    @property
    def _identity(self) -> Scaling:
        return Scaling("none", self._X.shape[1], {})

    def _maps(self, X: Matrix, task: Task) -> dict[str, ScaledMap]:
        """Leaves and ferns, learned from these rows.

        They look at the order of numbers only, but in single precision: columns are scaled first,
        because large ones that differ by little would be rounded to one number.
        """
        scaling = self._identity
        if not sp.issparse(X):
            scaling = fit_scaling("minmax", X, np.random.default_rng(self._seed))
        X = scaling(X)
        leaves = ForestLeaves(
            N_TREES,
            max_leaf_nodes=MAX_LEAVES,
            forest="histogram",
            task="regression" if task.classes is None else "classification",
            random_state=self._seed,
            n_jobs=self._n_jobs,
        ).fit(X, task.y, sample_weight=task.balanced_weight)
        weights = np.sqrt(leaves.importances_)
        largest = float(weights.max())
        ferns = Ferns(
            self._space.n_components,
            depth=DEPTH,
            weights=np.maximum(weights, LEAST_WEIGHT * largest) if largest > 0 else None,
            random_state=self._seed,
            n_jobs=self._n_jobs,
        ).fit(X)
        return {FERNS: ScaledMap(scaling, ferns), LEAVES: ScaledMap(scaling, leaves)}

    def _prepared(self, scaled_map: ScaledMap, X: Matrix) -> Prepared:
        kernel = self._space.choice.make(None, None)  # a linear model does not look at it
        return Prepared(kernel, scaled_map, scaled_map.encode(X))

    def _c_values(self, name: str) -> Sequence[float]:
        if self._space.C != TUNE:
            return (float(self._space.C),)
        return C_VALUES[name] if self._search.tunes else (DEFAULT_C,)

    def _tune(self, table: list[dict[str, Any]]) -> dict[str, _Tuned]:
        """C of each model of partitions by held-out rows; each C adds an entry to ``table``."""
        by_split: dict[str, list[list[Array]]] = {name: [] for name in C_VALUES}
        stage = self._stage
        for train, held in stage.splits:
            both = stage.rows[np.concatenate([train, held])]
            X = self._X[both]
            if self._relearn is not None:
                X = self._relearn(self._X, both, stage.rows[held])
            task, places = self._task.at(both), np.arange(len(both))
            parts = places[: len(train)], places[len(train) :]
            for name, scaled_map in self._maps(X[: len(train)], task.at(parts[0])).items():
                prepared = self._prepared(scaled_map, X)
                Cs = self._c_values(name)
                by_split[name].append(self._linear.held_out_scores(prepared, task, *parts, Cs))
        rows = np.concatenate([stage.rows[held] for _, held in stage.splits])
        tuned = {}
        for name, splits in by_split.items():
            Cs = self._c_values(name)
            outcomes = []
            for at, C in enumerate(Cs):
                scores = np.concatenate([scores_by_C[at] for scores_by_C in splits])
                scored = HeldOut(self._task.at(rows), scores, rows)
                outcomes.append(_Tuned(C, scored, self._score(scored)))
                table.append(self._entry(name, outcomes[-1]))
            tuned[name] = min(outcomes, key=self._badness)
        return tuned

    def _badness(self, outcome: _Tuned) -> float:
        """What the best C has least of: by default the loss, which has less noise than accuracy."""
        assert outcome.held is not None
        if self._space.scoring.is_default or outcome.score is None:
            return outcome.held.loss
        return -outcome.score

    def _entry(self, name: str, outcome: _Tuned) -> dict[str, Any]:
        return {
            "member": name,
            "scale": "none",
            "gamma": None,
            "p": None,
            "n_rows": len(self._stage.rows),
            "n_components": N_TREES if name == LEAVES else self._space.n_components,
            "C": outcome.C,
            "score": outcome.score,
        }

    def _score(self, held: HeldOut) -> float | None:
        """The scoring of held-out rows; None where it is not defined for them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            score = float(self._space.scoring.score(held.task, held.scores))
        return score if math.isfinite(score) else None

    # -- The average

    def _unit(self, name: str) -> float:
        """What the scores of a member are divided by; 1 for quantities, and without held-out rows.

        It is the mean size of the scores of held-out rows, but no small fraction of the largest:
        the scores of a member that has learned nothing are small, and must stay so.
        """
        sizes = {each: self._size(tuned.held) for each, tuned in self._tuned.items()}
        unit = max(sizes[name], LEAST_UNIT * max(sizes.values()))
        return unit if 0 < unit < math.inf else 1.0

    def _size(self, held: HeldOut | None) -> float:
        if self._task.classes is None or held is None or not len(held.scores):
            return 1.0
        return float(np.abs(held.scores).mean())

    def _average_of_held(self) -> HeldOut | None:
        """The average on the rows that every member has scored; None if there are none."""
        known = {name: each.held for name, each in self._tuned.items() if each.held is not None}
        if len(known) < len(self._tuned):
            return None
        places = {
            name: dict(zip(held.rows.tolist(), range(len(held.rows)), strict=True))
            for name, held in known.items()
        }
        rows = [row for row in places[LEAVES] if all(row in each for each in places.values())]
        if not rows:
            return None
        scores = [
            held.scores[[places[name][row] for row in rows]] / self._unit(name)
            for name, held in known.items()
        ]
        indices = np.asarray(rows, dtype=np.intp)
        return HeldOut(self._task.at(indices), np.mean(scores, axis=0), indices)
