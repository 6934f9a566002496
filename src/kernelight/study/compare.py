"""compare: the study of one data set, from arrays to a `Study`."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kernelight
from kernelight.base import counted
from kernelight.study.cells import Cell
from kernelight.study.clock import Clock, Watch
from kernelight.study.details import fitted_of, picture_of
from kernelight.study.effects import effects_of
from kernelight.study.inputs import (
    TableColumns,
    Target,
    check_seed,
    components_of,
    given_by,
    seconds_of,
    taken,
)
from kernelight.study.journal import Journal, fingerprint
from kernelight.study.measure import probability_scores
from kernelight.study.models import Data, Model, average_model, model_of_average, train
from kernelight.study.plan import AVERAGE, CANDIDATES, COMPONENTS, StudyPlan, make_plan
from kernelight.study.progress import terminal_progress
from kernelight.study.recommend import Given, recommend
from kernelight.study.result import Study, choose
from kernelight.study.run import NO_TIME, Run
from kernelight.study.text import seconds_text
from kernelight.study.threads import threads_that_pay

OVERTIME_FRACTION = 0.05  # of the budget: if it is exceeded by more, a note says so


def compare(
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    task: str | None = None,
    budget: str | float | None = "2m",
    seed: int = 0,
    repeats: int = 3,
    components: Sequence[int] = COMPONENTS,
    kernels: Sequence[str] | None = None,
    resume: str | Path | None = None,
    progress: Watch | bool | None = None,
    name: str = "data",
    command: str | None = None,
    n_jobs: int | None = None,
) -> Study:
    """Compare kernels on your data: which is worth its price, or is linear enough?

    A fifth of the rows is set aside for the test, and has no part in any choice. Cross-validation
    on the others (five folds, `repeats` of which are held out) chooses scaling, gamma, p, C, the
    number of components and the kernel. Rounds go from few rows and components to many; the better
    half of the candidates goes on. The default fit, KernelClassifier() or KernelRegressor(), is
    always compared. Ctrl-C ends the run; the result is then that of the models so far.

    Parameters
    ----------
    X : array-like, frame, sparse matrix of shape (n, d) or Dataset
        Frames of pandas, polars and Arrow may hold words and missing values. A data set has its
        target itself.
    y : array-like of shape (n,) or None
        Classes or quantities.
    target : str or None, default=None
        The column of a frame to predict, instead of y.
    task : "classification", "regression" or None, default=None
        None infers it from the target, and says so in ``notes``.
    budget : str, float or None, default="2m"
        Time for the whole study: "90s", "2m", "1h", or seconds; None is no limit. A model that
        would take too long is not begun; what was left out is listed. Only the default fit always
        runs to its end: if that takes longer than the budget, a note says by how much.
    seed : int, default=0
        Seed of the splits and the feature maps. Unless time was short, the same seed makes the
        same choices.
    repeats : int, default=3
        How many of the five folds are held out, one after the other, 1 to 5; with fewer than
        500 rows all are.
    components : sequence of int, default=(64, 256, 1024, 4096)
        The grid of k.
    kernels : sequence of str or None, default=None
        Candidates by name (linear, gmm, auto, gaussian, rbf, acos, acos_chi2, gmm_nystroem,
        gaussian_nystroem, mm_acos, mm_acos_chi2, gmm_power, folded_rbf, mm_rbf); None is all that
        the data admit. The linear model and gmm, the default, are always there.
    resume : path or None, default=None
        A journal of finished models: read if it exists, and appended to.
    progress : bool, callable or None, default=None
        A callable gets what is being done and the fraction of the work that is done. None is a
        bar if standard error is a terminal.
    name, command : str
        For the report: the name of the data, and the command that runs the study again.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Returns
    -------
    Study

    See Also
    --------
    Study : What it returns.
    write_report : The report in HTML.
    kernelight.KernelClassifier : The estimator of most candidates.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelight.study import compare
    >>> study = compare(*load_iris(return_X_y=True), kernels=["gmm"], components=[64], budget="20s")
    >>> study.task, study.recommendation.candidate in {"linear", "gmm"}
    ('classification', True)
    """
    seconds = seconds_of(budget)
    check_seed(seed)
    clock = Clock(seconds)
    if not 1 <= repeats <= 5:
        raise ValueError(f"repeats must be between 1 and 5, got {repeats}.")
    given = given_by(X, target, task)
    X, checked, columns = taken(X, y, target, task, seed)
    values, task = checked.values, checked.task
    grid = components_of(components)
    plan = make_plan(X, values, task, seed, repeats, grid, kernels)
    # the settings that decide what a cell is
    deciding = {
        "seed": seed,
        "repeats": repeats,
        "components": list(grid),
        "task": task,
        "version": kernelight.__version__,
    }
    journal = Journal(resume, fingerprint(X, values, deciding) if resume is not None else "")
    data = Data(X, values, task, seed, n_jobs, checked.positive)
    with (
        nullcontext(progress) if callable(progress) else terminal_progress(progress, clock) as watch
    ):
        run = Run(plan, data, journal, clock, watch)
        interrupted = False
        try:
            run.run()
        except KeyboardInterrupt:
            interrupted = True
            if not run.cells:
                raise
        settings = deciding | {
            "budget": seconds,
            "kernels": None if kernels is None else list(kernels),
        }
        settings |= {"command": command or _call(name, settings)}
        return _finished(run, plan, data, checked, columns, name, settings, interrupted, given)


def _finished(
    run: Run,
    plan: StudyPlan,
    data: Data,
    target: Target,
    columns: TableColumns,
    name: str,
    settings: dict[str, Any],
    interrupted: bool,
    given: Given,
) -> Study:
    """The recommendation, and a closer look at the model that is recommended."""
    recommendation, small = recommend(run.cells, run.labels, target.task, len(plan.learn), given)
    chosen, _ = choose(run.cells)
    test = run.test_for(chosen.rows)
    with threads_that_pay():
        model = (
            run.kept[1]
            if run.kept is not None and run.kept[0] is chosen
            else _trained(chosen, plan, data)
        )
        predicted = model.predict(test.X)
        calibration = probability_scores(model, test).get("calibration")
    in_time = not interrupted and run.clock.to_the_end > 0
    effects = effects_of(model, test, *columns) if in_time else None
    picture = picture_of(model, test, data.seed, run.clock.to_the_end) if in_time else None
    if not interrupted and not in_time:
        run.left_out.append(["Picture of the codes", NO_TIME])
    notes = [target.note]
    if interrupted:
        notes.append("Interrupted: this is what was found until then.")
    if run.short_of_time:
        notes.append(
            "Time decided what was left out (the report lists it): a longer budget may change the "
            "recommendation."
        )
    over = -run.clock.to_the_end
    if run.clock.budget and over > OVERTIME_FRACTION * run.clock.budget and not interrupted:
        notes.append(_overtime(run, over))
    if chosen.rows < len(plan.learn):
        notes.append(
            f"There was time for {chosen.rows:,} of {len(plan.learn):,} rows: all models below "
            "learned from that many."
        )
    if target.classes:
        notes += _no_better_than_one_class(chosen.test, test.y, target.classes)
    if len(plan.test) < 100:
        notes.append(f"Only {counted(len(plan.test), 'row')} to test on: intervals are wide.")
    two = target.classes is not None and len(target.classes) == 2
    facts = plan.facts | {
        "name": name,
        "learned": len(plan.learn),
        "compared": chosen.rows,
        "set_aside": len(plan.test),
        "tested": len(test.y),
        "class_names": target.classes,
        "positive_class": target.classes[target.positive] if target.classes and two else None,
    }
    return Study(
        task=target.task,
        data=facts,
        labels=run.labels,
        cells=run.cells,
        recommendation=recommendation,
        small=small,
        left_out=run.left_out,
        notes=notes,
        settings=settings,
        versions=_versions(),
        seconds=run.clock.elapsed,
        interrupted=interrupted,
        picture=picture,
        effects=effects,
        calibration=calibration,
        **fitted_of(test, predicted, target.classes),
    )


def _overtime(run: Run, over: float) -> str:
    """By how much the budget was exceeded, and what took that long."""
    budget = run.clock.budget or 0.0
    why = (
        f": the default fit, which always runs to its end, took "
        f"{seconds_text(run.spent_on_default)}"
        if run.spent_on_default > 0.5 * budget
        else ""
    )
    return (
        f"The study took {seconds_text(over)} more than its budget of {seconds_text(budget)}{why}."
    )


def _trained(chosen: Cell, plan: StudyPlan, data: Data) -> Model:
    """The model of a cell that was read from the journal, trained again."""
    candidate = next(each for each in CANDIDATES if each.name == chosen.candidate)
    learned = data.at(plan.learn[: chosen.rows])
    if candidate.kind == AVERAGE:
        return model_of_average(average_model(learned, plan.splits(learned.y, chosen.folds)))
    assert chosen.C is not None  # only references have none, and they are not chosen
    return train(candidate, learned, chosen.k or 1, chosen.settings, chosen.C)


def _call(name: str, settings: dict[str, Any]) -> str:
    """The call that runs the same study."""
    more = [
        f"{key}={settings[key]!r}"
        for key in ("task", "budget", "seed", "repeats", "components", "kernels")
        if settings[key] is not None
    ]
    return f"compare(X, y, {', '.join(more)}, name={name!r})"


def _versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "kernelight": kernelight.__version__,
        **{package: version(package) for package in ("numpy", "scipy", "scikit-learn")},
    }


def _no_better_than_one_class(
    accuracy: float, y: NDArray[Any], classes: Sequence[Any]
) -> list[str]:
    """A note if the recommended model is no better than always predicting one class."""
    counts = np.bincount(np.asarray(y, dtype=np.intp), minlength=len(classes))
    most = int(np.argmax(counts))
    fraction = counts[most] / len(y)
    if accuracy > fraction:
        return []
    return [
        f"No better than always saying {classes[most]!r}, {100 * fraction:.1f} % of the test rows: "
        "if the others matter, fit with scoring='average_precision' or 'balanced_accuracy', or "
        "class_weight='balanced'."
    ]
