"""The budget of a study, on a simulated clock: forecasts, what is left out, and the end in time."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from kernelight.study import Study, clock, forecast, run, threads
from kernelight.study.cells import ScoresOfTest
from kernelight.study.details import picture_of
from kernelight.study.models import Data, Model, Tuned
from kernelight.study.text import seconds_text

# the name `compare` of the package is the function
compare_module = import_module("kernelight.study.compare")
ROWS = 3000


class Workshop:
    """Replaces models and the clock: tuning and training take simulated time, nothing else does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tuning: float, training: float) -> None:
        self.now, self.tuning, self.training, self.last = 0.0, tuning, training, 0.0
        self.defaults: list[int] = []  # rows of the default fits
        for module in (run, clock):
            monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: self.now))
        monkeypatch.setattr(run, "tune", self.tune)
        monkeypatch.setattr(run, "fit_default", self.fit_default)
        monkeypatch.setattr(run, "fit_average", self.fit_average)
        monkeypatch.setattr(run, "boost", lambda data, seconds: self.model(data))
        monkeypatch.setattr(run, "kernel_error", lambda model, X: None)
        tested = ScoresOfTest(test=0.9, low=0.85, high=0.95, rows_per_second=1e5)
        monkeypatch.setattr(run, "test_report", lambda model, test: tested)
        for module in (run, compare_module):
            monkeypatch.setattr(module, "train", self.train)
        monkeypatch.setattr(compare_module, "picture_of", lambda *_: None)

    def tune(self, candidate: Any, data: Data, k: int, splits: Any, settings: Any) -> Tuned:
        scalings = 1 if settings else forecast.N_SCALINGS
        self.now += self.tuning * self.size(data, k) * len(splits) * scalings
        score = self.score(k, len(data.y))
        return Tuned({"scale": "minmax"}, 1.0, score, [(1.0, score)])

    def fit_default(self, data: Data, splits: Any) -> tuple[Tuned, Model, float]:
        self.defaults.append(len(data.y))
        rough = 6 * self.size(Data(data.X[:3000], data.y[:3000], data.task), 256)
        fine = 3 * self.size(Data(data.X[:12000], data.y[:12000], data.task), 1024)
        whole = self.training * self.size(data, 1024)
        self.now += self.tuning * (rough + fine) + whole * (1 + 0.8 * len(splits))
        score = self.score(1024, len(data.y))
        return (
            Tuned({"scale": "minmax"}, 1.0, score, [(1.0, score)]),
            self.model(data, 1000 * 1024),
            whole,
        )

    def fit_average(self, data: Data, splits: Any) -> tuple[Tuned, Model, float]:
        """A search, and forest, ferns and codes for each fold and for all rows, which is timed."""
        whole = 3 * self.training * self.size(data, 1024)
        fine = 3 * self.size(Data(data.X[:12000], data.y[:12000], data.task), 1024)
        self.now += self.tuning * fine + whole * (2 + 0.8 * len(splits))
        return Tuned({}, 1.0, self.score(32, len(data.y)), []), self.model(data), whole

    @staticmethod
    def score(k: int, rows: int) -> float:
        """More components and rows are better: the most expensive model is to be recommended."""
        return float(0.5 + 0.05 * np.log10(k) + 0.05 * np.log10(rows))

    def train(self, candidate: Any, data: Data, k: int, settings: Any, C: float) -> Model:
        self.last = self.training * self.size(data, k)
        self.now += self.last
        return self.model(data, n_bytes=1000 * k)

    def model(self, data: Data, n_bytes: int = 1) -> Model:
        return Model(lambda rows: np.resize(data.y, rows.shape[0]), n_bytes)

    @staticmethod
    def size(data: Data, k: int) -> float:
        return len(data.y) / ROWS * (k + 64) ** forecast.COMPONENTS_POWER / 100


def study_of(budget: float, rows: int = ROWS) -> Study:
    rng = np.random.default_rng(0)
    X = rng.random((rows, 3))
    return compare_module.compare(X, (X[:, 0] > 0.5).astype(int), budget=budget, progress=False)


@pytest.mark.parametrize(
    ("tuning", "training", "budget"),
    [
        (1.0, 0.2, 40),
        (1.0, 0.2, 120),
        (0.2, 4.0, 180),
        (0.2, 4.0, 220),
        (0.1, 20.0, 140),
        (0.1, 20.0, 420),
    ],
)
def test_the_end_comes_in_time(
    monkeypatch: pytest.MonkeyPatch, tuning: float, training: float, budget: float
) -> None:
    """Also where training takes longest, and the chosen model is trained again at the end."""
    shop = Workshop(monkeypatch, tuning, training)
    study = study_of(budget)
    assert study.seconds == shop.now
    assert shop.now <= budget
    assert shop.now > 0.5 * budget  # nor is time thrown away
    assert any(why == run.NO_TIME for _, why in study.left_out)


@pytest.mark.parametrize("slow", [0.5, 1.0, 2.0, 4.0])
def test_a_busy_machine_does_not_recommend_less_than_the_default_fit(
    monkeypatch: pytest.MonkeyPatch, slow: float
) -> None:
    """20,000 rows and two minutes once ended after 74 seconds, with a model of 4,000 rows."""
    shop = Workshop(monkeypatch, 0.4 * slow, 0.1 * slow)
    study = study_of(120, 20_000)
    assert 0.75 * 120 < shop.now <= 120
    first, rows = study.recommendation, study.data["learned"]
    assert shop.defaults == [rows]
    assert first.rows == rows
    assert first.score >= shop.score(1024, rows)
    assert (first.parameters or {}).get("n_components", 1024) >= 1024
    assert "C" not in first.parameters


@pytest.mark.parametrize(
    ("budget", "rows"), [(60, 20_000), (1, 20_000), (0.01, 20_000), (0.01, 800)]
)
def test_the_default_fit_runs_to_its_end_however_little_time_there_is(
    monkeypatch: pytest.MonkeyPatch, budget: float, rows: int
) -> None:
    """On all rows, with the linear model beside it; what that takes beyond the budget is said."""
    shop = Workshop(monkeypatch, 4.0, 1.0)
    study = study_of(budget, rows)
    learned = study.data["learned"]
    assert shop.defaults == [learned]
    assert study.recommendation.rows == learned
    assert study.recommendation.score >= shop.score(1024, learned)
    assert {"linear", "gmm"} <= {line.candidate for line in study.lines}
    over, of = seconds_text(shop.now - budget), seconds_text(budget)
    told = f"The study took {over} more than its budget of {of}: "
    assert any(note.startswith(told) for note in study.notes)
    assert "rows;" not in study.recommendation.headline
    if rows > 1_000:  # scored on one fold, not on three
        assert study.cell_of(study.recommendation).folds == 1


def test_work_for_one_thread_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, t-SNE with all threads took longer than the rest of a study."""
    seen: list[int] = []

    def features(rows: Any) -> Any:
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return rows

    model = Model(lambda rows: rows, 1, SimpleNamespace(transform=features), lambda rows: rows)
    rng = np.random.default_rng(0)
    picture = picture_of(model, Data(rng.random((80, 5)), np.zeros(80), "classification"), 0, 60.0)
    assert picture is not None
    assert picture["method"] == "t-SNE"
    assert seen
    assert set(seen) == {1}


def test_a_busy_machine_is_one_with_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 4)
    for load, busy in ((0.0, False), (4.2, False), (5.0, True)):
        monkeypatch.setattr(threads.os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert threads.is_busy() == busy
