"""The average of kernel="auto" in a study: its cell, its card, and the time it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import some_cell

from kernelight import KernelClassifier
from kernelight.cli.compare import _command
from kernelight.study import Study, compare, forecast, print_study, run
from kernelight.study.plan import make_plan
from kernelight.study.recommend import in_words
from kernelight.study.report.page import render_report

QUICK: dict[str, Any] = {"components": [32], "kernels": ["auto"], "progress": False, "n_jobs": 1}


def thresholds(rows: int = 500) -> tuple[Any, Any]:
    """Classes of three thresholds among noise: a min-max kernel does not find them."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, 8))
    return X, np.where((X[:, 0] > 0.3) ^ (X[:, 1] > 0.6) ^ (X[:, 2] > 0.5), "a", "b")


@pytest.fixture(scope="module")
def study() -> Study:
    return compare(*thresholds(), budget=None, **QUICK)


def test_it_is_recommended_where_thresholds_matter(study: Study) -> None:
    first = study.recommendation
    assert first.candidate == "auto"
    assert first.k is None
    assert first.parameters == {"kernel": "auto"}
    assert "Use the average of a min-max kernel, ferns and forest leaves:" in first.headline
    assert first.test > next(line.test for line in study.lines if line.candidate == "gmm") + 0.03
    (cell,) = [cell for cell in study.cells if cell.candidate == "auto"]
    assert (cell.rows, cell.C, cell.settings) == (study.data["learned"], None, {})
    assert cell.n_bytes == first.n_bytes > 10_000
    assert not cell.reference
    assert not any("auto" in what for what, _ in study.left_out)


def test_its_score_is_that_of_the_model_on_the_rows_held_out(study: Study) -> None:
    """On the splits of the study, which other candidates are scored on as well."""
    X, y = thresholds()
    labels = np.unique(y, return_inverse=True)[1]
    plan = make_plan(X, labels, "classification", 0, 3, (32,), ["auto"])
    learn = X[plan.learn], labels[plan.learn]
    splits = plan.splits(learn[1], plan.folds)
    alone = KernelClassifier("auto", cv=splits, random_state=0, n_jobs=1).fit(*learn)
    cell = study.cell_of(study.recommendation)
    assert cell.score == alone.validation_score_
    assert cell.held_out == sum(len(held) for _, held in splits)
    assert cell.test == alone.score(X[plan.test], labels[plan.test])


def test_code_and_command_make_it(study: Study) -> None:
    names: dict[str, Any] = dict(zip("Xy", thresholds(), strict=True))
    exec(study.recommendation.python, names)
    assert names["model"].kernel == "auto"
    told = _command("t.csv", {"target": "y"}, study.recommendation.parameters)
    assert told == "kernelight fit t.csv --target y --kernel auto -o model.klt"
    # the command has another default than the estimators, so that their kernel is named
    told = _command("t.csv", {"target": "y"}, {"n_components": 256})
    assert told == "kernelight fit t.csv --target y --kernel gmm -k 256 -o model.klt"


def test_the_page_shows_it(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    page = render_report(study)
    assert "Average (auto)" in page
    assert "what kernelight fit makes" in page  # its tip
    assert "of the leaves of its forest that they fall into" in page
    assert study.effects is not None
    strongest = {name for name, _ in study.effects["columns"][:3]}
    assert strongest == {f"column_{at}" for at in (1, 2, 3)}
    print_study(study)
    assert "Average (auto)" in capsys.readouterr().out
    assert in_words("auto", None) == "the average of a min-max kernel, ferns and forest leaves"


def test_a_journal_has_it(tmp_path: Path) -> None:
    X, y = thresholds(120)
    journal = tmp_path / "cells.jsonl"
    first = compare(X, y, budget=None, resume=journal, **QUICK)
    again = compare(X, y, budget=None, resume=journal, **QUICK)
    assert [cell.to_plain() for cell in again.cells] == [cell.to_plain() for cell in first.cells]
    assert again.confusion == first.confusion  # trained again on the same splits


def test_wide_sparse_rows_do_without_it() -> None:
    X = sp.random(60, 3000, 0.01, format="csr", random_state=0)
    y = np.arange(60) % 2
    plan = make_plan(X, y, "classification", 0, 3, (32,), None)
    assert "auto" not in [candidate.name for candidate in plan.candidates]
    assert ("Average (auto)", "takes long with sparse rows of more than 1,000 columns") in (
        plan.not_admitted
    )


def test_without_time_it_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "average_seconds", lambda folds, default: 1e6)
    study = compare(*thresholds(120), budget="60s", **QUICK)
    assert ["Average (auto)", run.NO_TIME] in study.left_out
    assert study.recommendation.candidate != "auto"
    assert any(note.startswith("Time decided what was left out") for note in study.notes)


def test_its_time_is_foreseen_from_the_default_fit() -> None:
    cell = some_cell("gmm")
    one, three = (forecast.average_seconds(folds, cell) for folds in (1, 3))
    assert cell.seconds < one < three
    assert three - one == pytest.approx(2 * forecast.AVERAGE_FITS * cell.fit_seconds)
