"""``kernelight fit``: from a table to a model in a file."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from typing import Any

from kernelight import CompactClassifier, KernelClassifier, KernelRegressor, TableModel
from kernelight.cli import show
from kernelight.cli.messages import option
from kernelight.cli.output import check_output
from kernelight.data import CLASSIFICATION, REGRESSION, DataWarning
from kernelight.estimators import SCORING_EXAMPLES, scoring_kind
from kernelight.tables.default_model import AUTO, GMM, DefaultModel

TUNED = ("C", "gamma", "p")
ESTIMATORS: dict[str, Any] = {CLASSIFICATION: KernelClassifier, REGRESSION: KernelRegressor}
KINDS = {CLASSIFICATION: "classes", REGRESSION: "quantities"}
EPSILON_LOSS = "epsilon_insensitive"
#: Parameters of one kernel and its feature map, with the values that they have if not given.
OF_ONE_KERNEL = {"n_components": None, "bits": 8, "method": None, "gamma": "tune", "p": 1.0}
LOSSES = {task: tuple(kind._losses) for task, kind in ESTIMATORS.items()}


def run(
    data: str,
    output: str,
    parameters: dict[str, Any],
    reading_options: dict[str, Any],
    *,
    memory: str | None,
    passes: int | None,
    half: bool,
    ternary: bool,
    max_bytes: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Read, train, write the model, and print what was chosen."""
    check_output(output, data)
    if ternary or max_bytes is not None:
        others = {"--memory": memory, "--passes": passes, "--half": half or None}
        compact = _compact(parameters, max_bytes, ternary, others)
        _run_compact(data, output, compact, reading_options, quiet=quiet, as_json=as_json)
        return
    given = {name: _number(name, value) for name, value in parameters.items() if value is not None}
    method = given.get("method")
    tasks = _tasks_of(given, reading_options.get("task"))
    _refuse_conflict(tasks)
    by_default = "kernel" not in given and not _of_one_kernel(given)
    note = None if by_default or "kernel" in given or memory else _note(_of_one_kernel(given))
    given.setdefault("kernel", AUTO if by_default else GMM)
    ESTIMATORS[next(iter(tasks.values()), CLASSIFICATION)](**given).check_parameters()

    def estimator(task: str, **chosen: Any) -> Any:
        for written, its_task in tasks.items():
            if its_task != task:
                kind = "class" if task == CLASSIFICATION else "quantity"
                raise ValueError(
                    f"{written} is for {KINDS[its_task]}, but the target is a {kind}: leave it "
                    f"out{_alternative(written, task)}."
                )
        if "epsilon" in given and given.get("loss") != EPSILON_LOSS and method != "exact":
            raise ValueError(
                f"--epsilon is of --loss {EPSILON_LOSS}: give that too, or leave --epsilon out."
            )
        return ESTIMATORS[task](**given | chosen)

    model = TableModel(DefaultModel(estimator) if by_default else estimator)
    with show.progress(quiet or as_json) as watch:
        model.fit(data, memory=memory, passes=passes, watch=watch, **reading_options)
    if note is not None:
        warnings.warn(DataWarning(model.trained_on_, [note]), stacklevel=2)
    model.save(output, weights="float16" if half else None)
    fitted, members = model.model_, _members(model.model_)
    facts = {
        "kernel": fitted.kernel,
        "components": None if fitted.map_ is None else fitted.scaled_map_.n_outputs,
        "scale": None if members else fitted.scale_,
        "gamma": fitted.gamma_,
        "p": fitted.p_,
        "C": None if members else fitted.C_,
        "sources": fitted.sources_,
        "validation_score": fitted.validation_score_,
        "scoring": fitted.scoring,
        "held_out": model.held_out_,
        "members": members,
    }
    _say(model, output, facts, quiet=quiet, as_json=as_json)


def _compact(
    parameters: dict[str, Any], max_bytes: int | None, ternary: bool, others: dict[str, Any]
) -> CompactClassifier:
    """The model of --ternary; options of other models are refused."""
    if not ternary:
        raise ValueError("--max-bytes is of --ternary: give that too, or leave --max-bytes out.")
    defaults = {"bits": 8, "C": "tune", "gamma": "tune", "p": "1", "scale": "tune"}
    given = [
        option(name)
        for name, value in parameters.items()
        if name not in ("scale", "random_state", "n_jobs")
        and value is not None
        and value != defaults.get(name)
    ]
    given += [name for name, value in others.items() if value is not None]
    if given:
        raise ValueError(
            f"--ternary chooses its own kernel, features and coefficients for --max-bytes: leave "
            f"{' and '.join(given)} out."
        )
    scale = parameters.get("scale")
    model = CompactClassifier(
        **({} if max_bytes is None else {"max_bytes": max_bytes}),
        scale="auto" if scale in (None, "tune") else scale,
        random_state=parameters.get("random_state"),
        n_jobs=parameters.get("n_jobs"),
    )
    model.check_parameters()
    return model


def _run_compact(
    data: str,
    output: str,
    compact: CompactClassifier,
    reading_options: dict[str, Any],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Read, train a model of few bytes, write it, and print what was chosen."""
    model = TableModel(compact)
    with show.progress(quiet or as_json) as watch:
        model.fit(data, watch=watch, **reading_options)
    model.save(output)
    fitted = model.model_
    facts = {
        "kernel": fitted.kernel,
        "components": fitted.n_components_,
        "scale": fitted.scale_,
        "sigma": fitted.sigma_,
        "C": fitted.C_,
        "flash": fitted.flash_,
        "flash_total": fitted.n_bytes_,
        "validation_score": fitted.validation_score_,
    }
    _say(model, output, facts, quiet=quiet, as_json=as_json)


def _say(
    model: TableModel, output: str, facts: dict[str, Any], *, quiet: bool, as_json: bool
) -> None:
    """Print what was chosen, and where the model is."""
    if as_json:
        common = {
            "model": output,
            "data": model.trained_on_,
            "rows": model.n_rows_,
            "task": model.task,
            "features": model.model_.n_features_in_,
        }
        show.as_json(common | facts)
        return
    if not quiet:
        show.say(model.summary())
        show.say()
    show.say(f"The model is {output}.")


def _members(fitted: Any) -> list[dict[str, Any]] | None:
    """The models of an average: name, scale, C and the score of each; None for other models."""
    members = getattr(fitted.model_, "members", None)
    if members is None:
        return None
    return [
        {
            "name": each.name,
            "scale": each.scaled_map.scaling.name,
            "C": each.C,
            "validation_score": each.score,
        }
        for each in members
    ]


def _of_one_kernel(given: dict[str, Any]) -> list[str]:
    """The options that are about one kernel; with these, no kernel means gmm."""
    return [
        option(name)
        for name, default in OF_ONE_KERNEL.items()
        if given.get(name, default) != default
    ]


def _note(options: list[str]) -> str:
    """Why the model is not the default one."""
    verb = "is" if len(options) == 1 else "are"
    return (
        f"{' and '.join(options)} {verb} of one kernel, so the model is that of --kernel gmm; the "
        f"default, --kernel auto, is an average of three models"
    )


def _tasks_of(given: dict[str, Any], task: str | None) -> dict[str, str]:
    """The options that are for one task only, as they were written, and that task.

    Unknown names of losses and scorings are refused.
    """
    tasks = {}
    if task in KINDS:
        tasks[f"--task {task}"] = task
    if "loss" in given:
        _refuse_unknown_loss(given["loss"])
        tasks[f"--loss {given['loss']}"] = next(
            task for task in KINDS if given["loss"] in LOSSES[task]
        )
    if "class_weight" in given:
        tasks["--balanced"] = CLASSIFICATION
    if "epsilon" in given:
        tasks["--epsilon"] = REGRESSION
    kind = scoring_kind(given["scoring"]) if "scoring" in given else None
    if kind is not None:
        tasks[f"--scoring {given['scoring']}"] = next(task for task in KINDS if KINDS[task] == kind)
    return tasks


def _refuse_unknown_loss(loss: str) -> None:
    """Refuse a loss that neither task has."""
    known = [loss for losses in LOSSES.values() for loss in losses]
    if loss not in known:
        close = get_close_matches(loss.lower(), known, n=1, cutoff=0.5)
        end = f": did you mean {close[0]}?" if close else "."
        raise ValueError(f"--loss must be one of {', '.join(known)}, got {loss!r}{end}")


def _refuse_conflict(tasks: dict[str, str]) -> None:
    """Refuse options for classes together with options for quantities."""
    first = {task: option for option, task in reversed(tasks.items())}
    if len(first) == 2:
        raise ValueError(
            f"{first[CLASSIFICATION]} is for classes and {first[REGRESSION]} for quantities: leave "
            f"one of them out."
        )


def _alternative(option: str, task: str) -> str:
    """What may be given instead of an option that is for the other task."""
    name = option.partition(" ")[0]
    known = {
        "--loss": ", ".join(LOSSES[task]),
        "--scoring": SCORING_EXAMPLES[task == CLASSIFICATION],
    }
    return f", or take one for {KINDS[task]}: {known[name]}" if name in known else ""


def _number(name: str, value: Any) -> Any:
    """The value of a parameter; of those that may be tuned, a number or a word."""
    words = ("tune", "scale") if name == "gamma" else ("tune",)
    if name not in TUNED or not isinstance(value, str) or value in words:
        return value
    try:
        return float(value)
    except ValueError:
        known = ", ".join(["a number", *words[:-1]]) + f" or {words[-1]}"
        raise ValueError(f"--{name} must be {known}, got {value!r}.") from None
