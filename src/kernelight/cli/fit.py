"""``kernelight fit``: from a table to a model in a file."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from kernelight import KernelClassifier, KernelRegressor, TableModel
from kernelight.cli import show
from kernelight.data import CLASSIFICATION, REGRESSION
from kernelight.estimators import EXAMPLES, scored_kind

TUNED = ("C", "gamma", "p")
ESTIMATORS: dict[str, Any] = {CLASSIFICATION: KernelClassifier, REGRESSION: KernelRegressor}
KINDS = {CLASSIFICATION: "classes", REGRESSION: "quantities"}
LOSSES = {task: tuple(kind._losses) for task, kind in ESTIMATORS.items()}


def run(
    data: str,
    output: str,
    given: dict[str, Any],
    reading: dict[str, Any],
    memory: str | None,
    passes: int,
    half: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Read, train, write the model, and say what was chosen."""
    show.refuse_no_place(output, data)
    given = {name: _number(name, value) for name, value in given.items() if value is not None}
    tasks = _tasks_of(given, reading["task"])
    _refuse_conflict(tasks)
    ESTIMATORS[next(iter(tasks.values()), CLASSIFICATION)](**given).check_parameters()

    def made(task: str) -> Any:
        for said, wanted in tasks.items():
            if wanted != task:
                kind = "class" if task == CLASSIFICATION else "quantity"
                raise ValueError(
                    f"{said} is for {KINDS[wanted]}, but the target is a {kind}: leave it "
                    f"out{_instead(said, task)}."
                )
        return ESTIMATORS[task](**given)

    model = TableModel(made)
    with show.progress(quiet or as_json) as watch:
        model.fit(data, memory=memory, passes=passes, watch=watch, **reading)
    model.save(output, weights="float16" if half else None)
    if as_json:
        fitted = model.model_
        show.as_json(
            {
                "model": output,
                "data": model.trained_on_,
                "rows": model.n_rows_,
                "task": model.task,
                "features": fitted.n_features_in_,
                "kernel": fitted.kernel,
                "components": fitted.n_components,
                "scale": fitted.scale_,
                "gamma": fitted.gamma_,
                "p": fitted.p_,
                "C": fitted.C_,
                "sources": fitted.sources_,
                "validation_score": fitted.validation_score_,
                "scoring": fitted.scoring,
                "held_out": model.held_out_,
            }
        )
        return
    if not quiet:
        print(model.summary())
        print()
    print(f"The model is {output}.")


def _tasks_of(given: dict[str, Any], task: str | None) -> dict[str, str]:
    """The options that are for one task only, as they were written, and that task; names that do
    not exist are refused."""
    found = {}
    if task in KINDS:
        found[f"--task {task}"] = task
    if "loss" in given:
        _refuse_unknown_loss(given["loss"])
        found[f"--loss {given['loss']}"] = next(
            task for task in KINDS if given["loss"] in LOSSES[task]
        )
    if "class_weight" in given:
        found["--balanced"] = CLASSIFICATION
    if "epsilon" in given:
        found["--epsilon"] = REGRESSION
    kind = scored_kind(given["scoring"]) if "scoring" in given else None
    if kind is not None:
        found[f"--scoring {given['scoring']}"] = next(task for task in KINDS if KINDS[task] == kind)
    return found


def _refuse_unknown_loss(loss: str) -> None:
    """Refuse what is no loss of either task."""
    known = [loss for losses in LOSSES.values() for loss in losses]
    if loss not in known:
        close = get_close_matches(loss.lower(), known, n=1, cutoff=0.5)
        end = f": did you mean {close[0]}?" if close else "."
        raise ValueError(f"--loss must be one of {', '.join(known)}, got {loss!r}{end}")


def _refuse_conflict(tasks: dict[str, str]) -> None:
    """Refuse options for classes together with options for quantities."""
    first = {task: said for said, task in reversed(tasks.items())}
    if len(first) == 2:
        classes, quantities = first[CLASSIFICATION], first[REGRESSION]
        raise ValueError(
            f"{classes} is for classes and {quantities} for quantities: leave one of them out."
        )


def _instead(said: str, task: str) -> str:
    """What may be taken instead of an option that is for the other task."""
    name = said.partition(" ")[0]
    known = {"--loss": ", ".join(LOSSES[task]), "--scoring": EXAMPLES[task == CLASSIFICATION]}
    return f", or take one for {KINDS[task]}: {known[name]}" if name in known else ""


def _number(name: str, value: Any) -> Any:
    """A word or a number, of the parameters that may be either."""
    words = ("tune", "scale") if name == "gamma" else ("tune",)
    if name not in TUNED or not isinstance(value, str) or value in words:
        return value
    try:
        return float(value)
    except ValueError:
        known = ", ".join(["a number", *words[:-1]]) + f" or {words[-1]}"
        raise ValueError(f"--{name} must be {known}, got {value!r}.") from None
