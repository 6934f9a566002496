"""The study: splits, the rule of one standard error, budgets, interruption, resuming, odd data.

Long, because a few finished studies, which take seconds each, answer the questions of most tests.
"""

from __future__ import annotations

import io
import json
import re
import time
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import some_cell
from sklearn.datasets import load_iris, make_classification

from kernelight.data.tasks import infer_task
from kernelight.study import Cell, Study, compare, models, print_study, render_report
from kernelight.study.inputs import seconds_of
from kernelight.study.measure import r2_interval, wilson
from kernelight.study.models import Data, standard_error, train
from kernelight.study.plan import BOOSTED, CANDIDATES, cut, fold_of_rows, make_plan
from kernelight.study.recommend import code_of, parameters_of
from kernelight.study.report.charts import Charts
from kernelight.study.report.svg import symbol
from kernelight.study.report.terms import said_of_model
from kernelight.study.result import choose
from kernelight.study.text import held_together

real_default = models.default_model
QUICK: dict[str, Any] = {
    "budget": "60s",
    "components": [32],
    "kernels": ["gmm"],
    "progress": False,
    "n_jobs": 1,
}


@pytest.fixture(scope="module")
def rings() -> tuple[np.ndarray, np.ndarray]:
    """Two classes that no line separates."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.fixture(autouse=True)
def small_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default fit with fewer components, to be quick."""
    monkeypatch.setattr(models, "default_model", quick_default)


def quick_default(data: Data) -> Any:
    return real_default(data).set_params(n_components=32, scale="minmax")


@pytest.fixture(scope="module")
def study(rings: tuple[np.ndarray, np.ndarray]) -> Study:
    X, y = rings
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(models, "default_model", quick_default)
        return compare(
            X,
            y,
            budget="90s",
            components=[32, 128],
            kernels=["gmm", "gaussian"],
            n_jobs=1,
            name="rings",
        )


def cell(name: str, score: float, n_bytes: int, **more: Any) -> Cell:
    """A cell of which the rule looks at these values."""
    return replace(some_cell(name), score=score, n_bytes=n_bytes, **more)


def test_a_kernel_is_recommended_where_linear_fails(study: Study) -> None:
    lines = {line.candidate: line for line in study.lines}
    assert study.recommendation.candidate in {"gmm", "gaussian"}
    assert lines["linear"].test < 0.7 < 0.9 < study.recommendation.test
    assert study.recommendation.low <= study.recommendation.test <= study.recommendation.high
    assert "boosting" in lines
    assert any(name.startswith("exact_") for name in lines)


def test_code_of_the_recommendation_makes_the_model(
    study: Study, rings: tuple[np.ndarray, np.ndarray]
) -> None:
    from kernelight import KernelClassifier

    X, y = rings
    model = eval(study.recommendation.code, {"KernelClassifier": KernelClassifier, "X": X, "y": y})
    assert model.score(X, y) > 0.9
    for card in study.cards:
        pasted: dict[str, Any] = {"X": X, "y": y}
        exec(card.python, pasted)
        assert pasted["model"].score(X, y) > 0.9


@pytest.mark.parametrize("scale", ["minmax", "standard"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_code_of_a_linear_model_makes_the_same_model(task: str, scale: str) -> None:
    from sklearn.datasets import load_diabetes, load_digits
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    from kernelight import ColumnScaler

    X, y = (load_digits if task == "classification" else load_diabetes)(return_X_y=True)
    X, y = X[:400], y[:400]
    for C in (0.1, 10.0):
        model = train(CANDIDATES[0], Data(X, y, task), 1, {"scale": scale}, C)
        chosen = replace(
            some_cell("linear"), settings={"scale": scale}, C=C, row_length=model.row_length
        )
        names = {"LinearSVC": LinearSVC, "Ridge": Ridge, "make_pipeline": make_pipeline}
        names |= {"ColumnScaler": ColumnScaler}
        told = eval(code_of(chosen, task, None), names | {"X": X, "y": y}).predict(X)
        away = model.predict(X) - told
        if task == "classification":
            assert np.mean(away != 0) < 0.01
        else:
            assert np.sqrt(np.mean(away**2)) < 0.05 * y.std()


def test_quantities_far_from_zero_are_no_trouble_for_the_linear_model() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((300, 3))
    y = X @ [1.0, -2.0, 3.0]
    near, far = (
        train(CANDIDATES[0], Data(X, y + move, "regression"), 1, {"scale": "minmax"}, 1.0)
        for move in (0, 1e5)
    )
    np.testing.assert_allclose(far.predict(X) - 1e5, near.predict(X), atol=1e-3)


def test_linear_is_enough_where_it_is() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 5))
    found = compare(X, X[:, 0] - X[:, 1] > 0, **QUICK)
    (card,) = [card for card in found.cards if card.candidate == "linear"]
    assert "a linear model is enough" in card.headline.lower()


def names_of(cells: list[Cell]) -> tuple[str, str | None]:
    best, small = choose(cells)
    return best.candidate, small and small.candidate


def test_the_best_comes_first_and_the_smallest_within_one_standard_error_second() -> None:
    cells = [cell("gmm", 0.95, 900), cell("rbf", 0.945, 500), cell("acos", 0.93, 100)]
    assert names_of(cells) == ("gmm", "rbf")
    assert names_of([*cells, cell("boosting", 0.99, 10, reference=True)]) == ("gmm", "rbf")
    assert names_of([*cells, cell("gaussian", 0.99, 10, rows=50)]) == ("gmm", "rbf")
    # the simplest, whatever its size
    assert names_of([*cells, cell("linear", 0.941, 600)]) == ("gmm", "linear")
    assert names_of([*cells, cell("linear", 0.96, 1)]) == ("linear", None)
    alone = [cell("linear", 0.9, 1, rows=400), cell("acos", 0.9, 100, rows=400)]
    assert names_of([*cells, *alone]) == ("gmm", "rbf")  # two models on more rows are no comparison


def test_nothing_is_recommended_that_was_not_compared_with_the_default_fit() -> None:
    few = [cell("rbf", 0.99, 100), cell("acos", 0.98, 100), cell("gmm", 0.97, 100)]
    default = cell("gmm", 0.96, 900, rows=400, default=True)
    assert names_of([*few, default]) == ("gmm", None)
    assert names_of([*few, default, cell("rbf", 0.97, 500, rows=400)]) == ("rbf", None)


def test_a_score_of_fewer_rows_held_out_must_lead_clearly() -> None:
    sure = cell("gmm", 0.95, 900, held_out=300)
    assert names_of([sure, cell("rbf", 0.955, 950, held_out=100)])[0] == "gmm"
    assert names_of([sure, cell("rbf", 0.965, 950, held_out=100)])[0] == "rbf"


def test_cards_leave_c_and_unclear_settings_to_be_tuned() -> None:
    settings = {"scale": "standard", "gamma": 0.5}
    chosen = cell("gaussian", 0.9, 100, settings=settings, C=10.0)
    assert parameters_of(chosen, [chosen], 100) == {"kernel": "gaussian", "n_components": 64}
    # few rows: at least as many as by default
    more = {"kernel": "gaussian", "n_components": 1024}
    assert parameters_of(chosen, [chosen], 400) == more
    assert parameters_of(replace(chosen, clear=True), [chosen], 400) == more | settings
    default = cell(
        "gmm", 0.9, 100, k=1024, settings={"scale": "standard", "p": 1.0}, C=10.0, default=True
    )
    assert parameters_of(default, [default], 100) == {"n_components": 1024}
    power = cell("gmm_power", 0.9, 100, k=1024, settings={"scale": "minmax", "p": 0.5}, C=10.0)
    assert parameters_of(power, [power], 100) == {"n_components": 1024, "p": "tune"}


def test_all_rows_are_accounted_for(study: Study) -> None:
    """20,000 rows were once counted as 16,012 and 2,000."""
    told = study.data
    assert told["learned"] + told["set_aside"] == told["rows"]
    few = replace(
        study,
        data=told
        | {
            "rows": 20_000,
            "learned": 16_012,
            "set_aside": 3_988,
            "compared": 4_000,
            "tested": 2_000,
        },
    )
    page = render_report(few)
    assert "16,012 to learn from and choose by, 3,988 set aside for the test." in page.replace(
        "\xa0", " "
    )
    assert (
        "compared on 4,000 of the first and the scores here are of 2,000 of the second"
        in page.replace("\xa0", " ")
    )


def test_studies_of_the_first_format_can_be_read(study: Study) -> None:
    old = json.loads(study.to_json()) | {"format": 1}
    del old["small"]
    old["recommendation"] = {
        key: value
        for key, value in old["recommendation"].items()
        if key not in ("python", "command", "bytes")
    }
    for key in ("compared", "set_aside"):
        del old["data"][key]
    for each in old["cells"]:
        each.pop("default", None)
        each.pop("clear", None)
    assert "<html" in render_report(Study.from_json(json.dumps(old)))


def without_clock(cells: list[Cell]) -> list[Cell]:
    """Without boosting: how many trees it has depends on the time that is left."""
    return [cell for cell in cells if cell.candidate != BOOSTED.name]


def test_the_test_rows_choose_nothing() -> None:
    """Other targets in the test part change what is reported, and nothing else."""
    rng = np.random.default_rng(3)
    X = rng.random((200, 4))
    y = np.sin(6 * X[:, 0]) + X[:, 1]
    other = y.copy()
    test = make_plan(X, y, "regression", 0, 3, (32,), None).test
    other[test] = rng.standard_normal(len(test))
    found, fooled = compare(X, y, **QUICK), compare(X, other, **QUICK)
    validation = [
        [(c.candidate, c.C, c.score) for c in without_clock(one.cells)] for one in (found, fooled)
    ]
    assert validation[0] == validation[1]
    assert found.recommendation.candidate == fooled.recommendation.candidate
    assert fooled.recommendation.test < 0.5 < found.recommendation.test


def test_a_model_that_only_says_the_most_frequent_class_is_called_so() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((400, 3)), np.where(np.arange(400) % 40 == 0, "fraud", "ok")
    notes = " ".join(compare(X, y, **QUICK).notes)
    assert "No better than always saying 'ok', 97.5 % of the test rows" in notes
    assert "No better" not in " ".join(compare(X, np.where(X[:, 0] > 0.5, "a", "b"), **QUICK).notes)


def test_same_seed_same_choices(rings: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rings
    first, second = (compare(X[:200], y[:200], **QUICK) for _ in range(2))
    timed = {"seconds": 0.0, "fit_seconds": 0.0, "rows_per_second": 0.0}
    plain = [[replace(c, **timed) for c in without_clock(found.cells)] for found in (first, second)]
    assert plain[0] == plain[1]


def test_json_and_back(study: Study, tmp_path: Path) -> None:
    assert Study.from_json(study.to_json()) == study
    assert Study.load(study.save(tmp_path / "study.json")) == study
    with pytest.raises(ValueError, match="not the JSON of a study"):
        Study.from_json("{}")
    with pytest.raises(ValueError, match="format 99"):
        Study.from_json(json.dumps(json.loads(study.to_json()) | {"format": 99}))


def test_interrupted_run_reports_what_is_done(
    rings: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    X, y = rings
    calls: list[str] = []

    def stop(doing: str, fraction: float) -> None:
        calls.append(doing)
        assert 0 <= fraction <= 1
        if len(calls) == 4:
            raise KeyboardInterrupt

    journal = tmp_path / "cells.jsonl"
    settings = QUICK | {"progress": stop, "resume": journal}
    found = compare(X, y, **settings)
    assert found.interrupted
    assert len(found.cells) == 3
    assert any("Interrupted" in note for note in found.notes)
    assert "<html" in render_report(found)

    with journal.open("ab") as file:
        file.write(b'{"key": "cut o')  # the machine went down
    done: list[str] = []
    again = compare(
        X, y, **QUICK | {"resume": journal, "progress": lambda doing, fraction: done.append(doing)}
    )
    assert not again.interrupted
    assert again.cells[:3] == found.cells  # not measured a second time: times are equal too
    assert len(again.cells) > 3
    third = compare(X, y, **QUICK | {"resume": journal})
    assert third.cells == again.cells


def test_journal_of_other_data_is_refused(
    rings: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    X, y = rings
    journal = tmp_path / "cells.jsonl"
    compare(X[:100], y[:100], **QUICK | {"resume": journal})
    with pytest.raises(ValueError, match="other data or other settings"):
        compare(X[:99], y[:99], **QUICK | {"resume": journal})
    (tmp_path / "other").write_text("something\n")
    with pytest.raises(ValueError, match="not the journal of a study"):
        compare(X, y, **QUICK | {"resume": tmp_path / "other"})


def test_budget_is_kept_and_what_is_left_out_is_named() -> None:
    X, y = make_classification(3000, 20, random_state=0)
    start = time.perf_counter()
    found = compare(X, y, budget="1.5s", progress=False, n_jobs=1)
    assert time.perf_counter() - start < 15  # the machine may be busy; a full run takes minutes
    assert any("no time" in why for _, why in found.left_out)
    assert any("Time decided" in note for note in found.notes)


def test_the_default_fit_is_compared_in_however_little_time() -> None:
    """And with it the linear model; nothing below it is recommended."""
    X, y = load_iris(return_X_y=True)
    found = compare(X, y, budget=0.05, progress=False, n_jobs=1)
    (default,) = [each for each in found.cells if each.default]
    assert default.rows == found.data["learned"]
    assert {"linear", "gmm"} <= {line.candidate for line in found.lines}
    assert found.recommendation.score >= default.score
    assert "default fit" not in found.recommendation.headline
    assert any("more than its budget of 50 ms" in note for note in found.notes)


@pytest.mark.parametrize(
    "make", ["tiny", "many", "regression", "sparse", "constant", "signed sparse"]
)
def test_odd_data(make: str) -> None:
    rng = np.random.default_rng(2)
    X: Any = rng.random((120, 6))
    y: Any = (X[:, 0] > 0.5).astype(int)
    settings = QUICK
    if make == "tiny":
        X, y = X[:20], np.array(["no", "yes"])[y[:20]]
    elif make == "many":
        X, y = rng.random((300, 6)), np.repeat(np.arange(50), 6)
        settings = QUICK | {"budget": "3s"}
    elif make == "regression":
        y = np.sin(5 * X[:, 0]) + X[:, 1]
    elif make == "sparse":
        X = sp.random_array((120, 40), density=0.2, random_state=rng, format="csr")
    elif make == "signed sparse":
        X = sp.random_array((120, 40), density=0.2, random_state=rng, format="csc") * -1.0
        settings = QUICK | {"kernels": ["gmm", "mm_acos"]}
    else:
        X[:, 3] = 7.0
    found = compare(X, y, **settings)
    assert found.task == ("regression" if make == "regression" else "classification")
    page = render_report(found)
    assert held_together(found.recommendation.headline.split(":")[0]) in page
    assert Study.from_json(found.to_json()) == found
    if make == "signed sparse":
        assert any("nonnegative" in why for _, why in found.left_out)
    if make == "tiny":
        assert any("intervals are wide" in note for note in found.notes)


@pytest.mark.parametrize(
    ("X", "y", "more", "said"),
    [
        (np.ones((5, 2)), [0, 1, 0, 1, 0], {}, "minimum of 10"),
        (np.full((20, 2), np.inf), [0, 1] * 10, {}, "infinity"),
        (np.ones((20, 2)), [0] * 20, {}, "one class only"),
        (np.ones((20, 2)), [0.5] * 20, {}, "same value"),
        (np.ones((20, 2)), [0.5, np.nan] * 10, {}, "contains NaN"),
        (np.ones((20, 2)), [0, 1] * 9, {}, "inconsistent numbers"),
        (np.ones((20, 2)), [0, 1] * 10, {"budget": "soon"}, "budget must be a time"),
        (np.ones((20, 2)), [0, 1] * 10, {"task": "ranking"}, "task must be one of"),
        (np.ones((20, 2)), [0, 1] * 10, {"kernels": ["gnn"]}, "no candidate gnn"),
        (np.ones((20, 2)), ["a", "b"] * 10, {"task": "regression"}, "target of numbers"),
        (np.ones((20, 2)), np.arange(20), {"task": "classification"}, "Too few rows to test on"),
        (np.ones((20, 2)), [0, 1] * 10, {"repeats": 9}, "repeats must be"),
        (np.ones((20, 2)), [0, 1] * 10, {"components": [0]}, "components must be"),
    ],
)
def test_bad_input_is_one_sentence(X: Any, y: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        compare(X, y, **more)


def test_tasks_are_inferred() -> None:
    assert infer_task(np.array(["a", "b"]))[0] == "classification"
    assert infer_task(np.array([0.5, 1.5]))[0] == "regression"
    assert infer_task(np.repeat(np.arange(10.0), 5))[0] == "classification"
    assert infer_task(np.arange(100))[0] == "regression"


def test_budgets_are_read() -> None:
    assert [seconds_of(text) for text in ("90s", "2m", "1.5h", 7, None)] == [90, 120, 5400, 7, None]


def test_rows_are_cut_fairly() -> None:
    y = np.repeat([0, 1, 2], [500, 100, 3])
    learn, test = cut(y, "classification", np.random.default_rng(0))
    assert sorted([*learn, *test]) == list(range(len(y)))
    assert np.bincount(y[test], minlength=3).tolist() == [100, 20, 0]
    begun = np.bincount(y[learn[:120]], minlength=3)
    assert abs(int(begun[1]) - 20) <= 2
    folds = fold_of_rows(y[learn])
    sizes = np.bincount(folds[folds >= 0])
    assert sizes.max() - sizes.min() <= 1
    assert fold_of_rows(np.array([0, 0, 0, 1]))[-1] == -1


def test_intervals_cover() -> None:
    """Wilson's interval and the bootstrap, against what they promise."""
    rng = np.random.default_rng(0)
    low, high = np.transpose([wilson(count, 200) for count in rng.binomial(200, 0.9, 2000)])
    assert 0.93 < np.mean((low <= 0.9) & (high >= 0.9)) < 0.975
    covered = 0
    for _ in range(100):
        truth = rng.standard_normal(200)
        ends = r2_interval(truth + rng.standard_normal(200), truth)
        covered += ends[0] <= 0.5 <= ends[1]
    assert covered >= 85


def test_standard_error_is_the_spread_of_scores() -> None:
    rng = np.random.default_rng(0)
    accuracies = rng.binomial(300, 0.9, 4000) / 300
    assert standard_error(0.9, 300, "classification") == pytest.approx(accuracies.std(), rel=0.1)
    x, noise = rng.standard_normal((2, 4000, 300))
    y = x + noise
    scores = 1 - np.square(noise).sum(axis=1) / np.square(y - y.mean(axis=1, keepdims=True)).sum(
        axis=1
    )
    assert standard_error(0.5, 300, "regression") == pytest.approx(scores.std(), rel=0.25)
    assert standard_error(1.0, 10, "classification") > 0


def test_what_was_measured_is_not_left_out(study: Study) -> None:
    """And what is named says its rows only where they are not all there are."""
    left_out = [what for what, _ in study.left_out]
    assert "Linear" not in left_out
    assert not any(f"{study.data['learned']:,} rows" in what for what in left_out)


def test_the_page_has_both_models_with_what_makes_them(study: Study) -> None:
    told = replace(
        study,
        recommendation=replace(
            study.recommendation, command="kernelight fit rings.csv -o model.klt"
        ),
    )
    page = render_report(told)
    assert "kernelight fit rings.csv" in re.sub("<[^>]*>", "", page)
    for card in study.cards:
        assert escape(held_together(card.headline)) in page
        assert escape(card.python) in page
    boxes = 2 + len(study.cards)  # the command, the Python of each card, and how to do it again
    assert page.count('class="copy"') == boxes
    assert "Words used here" in page


def test_models_have_the_same_symbol_in_the_table_and_in_charts(study: Study) -> None:
    page = render_report(study)
    table = re.search("<tbody>.*?</tbody>", page)
    assert table is not None
    symbols = re.findall(r'<svg class="key"[^>]*><g class="mark (\w+)">', table[0])
    assert symbols == [Charts(study).styles[line.candidate] for line in study.lines]
    assert len(symbols) == len(study.lines)


def test_references_of_two_kinds_have_different_symbols() -> None:
    marks = {style: symbol(style).replace(style, "") for style in ("boosting", "exact")}
    assert marks["boosting"] != marks["exact"]


def test_references_share_a_name_in_the_legend(study: Study) -> None:
    exact = [name for name in study.labels.values() if name.startswith("Exact")]
    legends = re.findall(r'<div class="legend">.*?</div>', render_report(study))
    assert len(exact) == 2
    assert sum("Exact SVMs" in legend for legend in legends) == 1  # one legend for all charts
    assert not any(f"</svg>{name}<" in legend for legend in legends for name in exact)


def test_curves_that_coincide_are_told_apart_and_named(study: Study) -> None:
    line = next(cell for cell in study.lines if cell.candidate == "gmm")
    twins = replace(
        study,
        cells=[
            *study.cells,
            *(replace(each, candidate="rbf") for each in study.cells if each.candidate == "gmm"),
        ],
        labels=study.labels | {"rbf": "RBF of directions"},
    )
    assert len(line.curve) > 1
    pages = {name: render_report(one) for name, one in (("alone", study), ("twins", twins))}
    notes = {
        name: re.findall('<p class="together soft">([^<]*)</p>', page)
        for name, page in pages.items()
    }
    assert not any("RBF" in note for note in notes["alone"])
    # k and C
    assert (
        sum("GMM (min-max)" in note and "RBF of directions" in note for note in notes["twins"]) == 2
    )
    chart = Charts(twins).penalty()
    assert chart is not None
    drawn = chart.svg()
    styles = [Charts(twins).styles[name] for name in ("gmm", "rbf")]
    dashes = [re.search(f'class="line {style}" style="([^"]*)"', drawn) for style in styles]
    assert all(dashes)
    assert len({found[1] for found in dashes if found}) == 2
    marks = [set(re.findall(f'class="mark {style}".*?cx="([^"]*)"', drawn)) for style in styles]
    assert not marks[0] & marks[1]


def test_words_are_explained_where_they_stand(study: Study) -> None:
    page = render_report(study)
    heads = re.findall(r"<th [^>]*>(.*?)</th>", page)
    assert [bool(re.search('data-tip="[^"]', head)) for head in heads[:6]] == [False, *[True] * 5]
    legend = re.search('<div class="legend">.*?</div>', page)
    assert legend is not None
    assert legend[0].count("data-tip=") == legend[0].count('class="chip"')
    assert re.search(
        '<span class="term" data-tip="How far a score[^"]*">standard error</span>', page
    )
    assert all(said_of_model(candidate.name) for candidate in [*CANDIDATES, BOOSTED])


def test_a_linear_card_says_where_its_code_comes_from(study: Study) -> None:
    said = "scikit-learn trains the linear model"
    assert (said in render_report(study)) == any(card.candidate == "linear" for card in study.cards)
    told = replace(study, small=replace(study.recommendation, candidate="linear", k=None))
    assert said in render_report(told)


def test_probabilities_are_scored(study: Study) -> None:
    """By log loss, Brier score and AUC in the table, and a calibration curve of the best model."""
    for line in study.lines:
        if line.candidate in ("gmm", "gaussian", "boosting"):
            assert 0 < line.log_loss < 0.6931
            assert 0 < line.brier_score < 0.25
            assert 0.9 < line.roc_auc <= 1
        elif line.candidate == "linear":
            assert line.log_loss is None
            assert 0.3 < line.roc_auc <= 1  # of its scores
    names = study.data["class_names"]
    assert study.data["positive_class"] == names[1]
    assert study.calibration is not None
    assert sum(each["rows"] for each in study.calibration) == study.data["tested"]
    page = render_report(study)
    assert all(f">{title}</button>" in page for title in ("log loss", "Brier score", "AUC"))
    assert 'id="chart-calibration"' in page
    assert f"AUC and Brier score are those of the class {names[1]}." in page
    many = replace(study, data=study.data | {"class_names": ["a", "b", "c"]})
    assert "AUC is the mean over the classes, each against the rest." in render_report(many)
    plain = json.loads(study.to_json())
    del plain["calibration"]
    for each in plain["cells"]:
        for key in ("log_loss", "brier_score", "roc_auc"):
            each.pop(key, None)
    older = render_report(Study.from_json(json.dumps(plain)))
    assert ">log loss</button>" not in older
    assert "chart-calibration" not in older


@pytest.mark.parametrize(
    ("rare", "frequent", "positive"),
    [("fraud", "ok", "fraud"), ("fraud", "fine", "fraud"), (0, 1, "1")],
)
def test_the_positive_class_is_that_of_the_estimators(
    rings: tuple[np.ndarray, np.ndarray], rare: Any, frequent: Any, positive: str
) -> None:
    """The rarer of two names, and the second of two numbers; the calibration is about it."""
    X = rings[0]
    y = np.where(X[:, 0] * X[:, 1] > 0.25, rare, frequent)
    found = compare(X, y, **QUICK)
    assert found.data["positive_class"] == positive
    assert found.calibration is not None
    rows = sum(each["rows"] for each in found.calibration)
    observed = sum(each["rows"] * each["observed"] for each in found.calibration) / rows
    assert observed == pytest.approx(np.mean(y.astype(str) == positive), abs=0.05)
    assert found.cell_of(found.recommendation).roc_auc > 0.9
    page = render_report(found)
    assert f"AUC and Brier score are those of the class {positive}." in page
    assert f"predicted probability of {positive}" in page


def test_table_in_plain_text(study: Study) -> None:
    out = io.StringIO()
    print_study(study, out)
    text = out.getvalue()
    assert text.startswith("Task: classification into 2 classes")
    assert study.recommendation.headline in text
    assert "Gradient boosting *" in text
    assert "*: for reference." in text
    without = io.StringIO()
    print_study(replace(study, cells=[each for each in study.cells if not each.reference]), without)
    assert "*" not in without.getvalue()
    table = text[text.index("model  ") : text.index("Scores are")]
    assert max(map(len, table.splitlines())) <= 80


def test_the_model_of_iris_has_named_classes() -> None:
    X, y = load_iris(return_X_y=True)
    found = compare(X, np.array(["setosa", "versicolor", "virginica"])[y], **QUICK)
    assert found.confusion is not None
    assert found.confusion["classes"] == ["setosa", "versicolor", "virginica"]
