"""The recommendation in words and in code, with the numbers that carry it."""

from __future__ import annotations

from typing import Any

from kernelight.study.plan import CANDIDATES
from kernelight.study.result import best_of, by_candidate, choose, comparable
from kernelight.study.text import bytes_text, label_of, score_text, seconds_text

_CANDIDATE = {candidate.name: candidate for candidate in CANDIDATES}


def recommend(cells: list[dict[str, Any]], labels: dict[str, str], task: str) -> dict[str, Any]:
    """The cell chosen by validation, with a headline, a reason and a line of code."""
    chosen, best = choose(cells)
    final = comparable(cells)
    lines = {name: best_of(some) for name, some in by_candidate(final).items()}
    return {
        "candidate": chosen["candidate"], "k": chosen["k"], "rows": chosen["rows"],
        "score": chosen["score"], "test": chosen["test"],
        "low": chosen["low"], "high": chosen["high"],
        "headline": _headline(chosen, labels, task),
        "reason": " ".join([_reason(chosen, best, labels, task), *_against(chosen, lines, labels, task)]),
        "code": code_of(chosen, task), "parameters": parameters_of(chosen),
    }  # fmt: skip


def _headline(chosen: dict[str, Any], labels: dict[str, str], task: str) -> str:
    right = (
        f"{score_text(chosen['test'], task)} of the test rows right"
        if task == "classification"
        else f"R² {score_text(chosen['test'], task)} on the test rows"
    )
    if chosen["candidate"] == "linear":
        return f"A linear model is enough: {right}, in {bytes_text(chosen['bytes'])}."
    return (
        f"Use {label_of(chosen, labels)}: {right}, trained in {seconds_text(chosen['fit_seconds'])}, "
        f"{bytes_text(chosen['bytes'])}."
    )


def _reason(chosen: dict[str, Any], best: dict[str, Any], labels: dict[str, str], task: str) -> str:
    doubt = score_text(best["doubt"], task)
    if chosen is best:
        others = "no smaller model comes within one standard error of it"
        return f"It is the best on rows held out ({score_text(chosen['score'], task)}, standard error {doubt}), and {others}."
    return (
        f"On rows held out it scores {score_text(chosen['score'], task)}, within one standard error ({doubt}) of the best, "
        f"{label_of(best, labels)} ({score_text(best['score'], task)}), and it is the smallest model that does."
    )


def _against(
    chosen: dict[str, Any], lines: dict[str, dict[str, Any]], labels: dict[str, str], task: str
) -> list[str]:
    """The linear model and the references, on the same test rows."""
    said = []
    linear = lines.get("linear")
    if linear is not None and linear is not chosen:
        said.append(f"The linear model reaches {score_text(linear['test'], task)} on the test rows.")
    for cell in lines.values():
        if cell["reference"]:
            ahead = cell["test"] > chosen["high"]
            remark = ": clearly more, so look at it too" if ahead else ""
            said.append(f"{label_of(cell, labels)}, for reference, {score_text(cell['test'], task)}{remark}.")
    return said


def parameters_of(chosen: dict[str, Any]) -> dict[str, Any] | None:
    """What KernelClassifier or KernelRegressor is to be given; None for the linear model."""
    candidate = _CANDIDATE[chosen["candidate"]]
    if candidate.name == "linear":
        return None
    found = {"kernel": candidate.kernel, "n_components": chosen["k"], "method": candidate.method}
    settings = {name: value for name, value in chosen["settings"].items() if (name, value) != ("p", 1)}
    return {
        name: value for name, value in (found | settings | {"C": chosen["C"]}).items() if value is not None
    }


def code_of(chosen: dict[str, Any], task: str) -> str:
    """The line that makes the model."""
    parameters = parameters_of(chosen)
    if parameters is None:
        return _linear_code(chosen["settings"]["scale"], chosen["C"], chosen["row_length"], task)
    kind = "Classifier" if task == "classification" else "Regressor"
    kernel = parameters.pop("kernel")
    arguments = [
        f"{name}={value!r}" if isinstance(value, str) else f"{name}={value:g}"
        for name, value in parameters.items()
    ]
    return f"Kernel{kind}({', '.join([repr(kernel), *arguments])}).fit(X, y)"


def _linear_code(scale: str, C: float, length: float, task: str) -> str:
    """The linear model in scikit-learn's words.

    Those do not divide rows by their length, so that |w|^2 weighs length^2 times as much; the intercept, which is penalised in
    a classification, weighs what it did.
    """
    scaler = {
        "minmax": "MinMaxScaler()",
        "standard": "StandardScaler()",
        "max": "MaxAbsScaler()",
        "none": "",
    }[scale]
    if task == "classification":
        machine = f"LinearSVC(C={C / length**2:.3g}, intercept_scaling={length:.3g})"
    else:
        machine = f"Ridge(alpha={length**2 / (2 * C):.3g})"
    return f"make_pipeline({scaler}, {machine}).fit(X, y)" if scaler else f"{machine}.fit(X, y)"
