"""``kernelight evaluate``: how good a model is on rows whose target is known."""

from __future__ import annotations

from typing import Any

from kernelight import TableModel
from kernelight.cli import show


def run(model: str, data: str, reading_options: dict[str, Any], *, as_json: bool) -> None:
    """Read, predict, compare, and print the scores."""
    fitted = TableModel.load(model)
    scores = fitted.evaluate(data, **reading_options)
    if as_json:
        show.as_json({"model": model, "data": data, **scores})
        return
    seen = fitted.trained_on_ == data and scores["rows"] == fitted.n_rows_
    if scores["task"] == "regression":
        r2 = "none: the target is constant" if scores["r2"] is None else f"{scores['r2']:.4f}"
        show.pairs(
            {
                **_rows(scores, seen),
                "R^2": r2,
                "root mean squared error": f"{scores['root_mean_squared_error']:.6g}",
                "mean absolute error": f"{scores['mean_absolute_error']:.6g}",
                "largest error": f"{scores['largest_error']:.6g}",
            }
        )
        return
    accuracy = (
        f"{_percent(scores['accuracy'])}, standard error {_percent(scores['standard_error'])}"
    )
    show.pairs(
        {
            **_rows(scores, seen),
            "accuracy": accuracy,
            "balanced accuracy": _percent(scores["balanced_accuracy"]),
            **_probability_scores(scores, len(fitted.classes_)),
        }
    )
    show.say()
    rows = [
        (
            entry["class"],
            f"{entry['rows']:,}",
            _percent(entry["precision"]),
            _percent(entry["recall"]),
        )
        for entry in scores["classes"]
    ]
    show.table(("class", "rows", "precision", "recall"), rows, right=(1, 2, 3))
    if "calibration" in scores:
        show.say()
        lines = [
            (_percent(entry["predicted"]), _percent(entry["observed"]), f"{entry['rows']:,}")
            for entry in scores["calibration"]
        ]
        positive = scores["positive_class"]
        of = "predicted class" if positive is None else show.plain(positive)
        show.table((f"P({of})", "observed", "rows"), lines, right=(0, 1, 2))


def _probability_scores(scores: dict[str, Any], n_classes: int) -> dict[str, str]:
    if "log_loss" not in scores:
        return {}
    return {
        "log loss": f"{scores['log_loss']:.4f}",
        "Brier score": f"{scores['brier_score']:.4f}",
        "AUC": _auc(scores, n_classes),
    }


def _auc(scores: dict[str, Any], n_classes: int) -> str:
    """The AUC, and for which class, or over which classes it is the mean."""
    if scores["roc_auc"] is None:
        return "none: all rows are of one class"
    if scores["positive_class"] is not None:
        positive = show.plain(scores["positive_class"])
        return f"{scores['roc_auc']:.4f}, of class {positive} against the other"
    occurring = len(scores["roc_auc_classes"])
    averaged = (
        f"{n_classes} classes"
        if occurring == n_classes
        else f"the {occurring} of {n_classes} classes that occur"
    )
    return f"{scores['roc_auc']:.4f}, mean over {averaged}, each against the rest"


def _rows(scores: dict[str, Any], seen: bool) -> dict[str, str]:
    """How many rows there are, and whether the model was trained on these."""
    remark = ", which the model was trained on: the scores of new rows are lower" * seen
    dropped = scores["rows_without_target"]
    without_target = {"rows left out, without a target": f"{dropped:,}"} if dropped else {}
    return {"rows": f"{scores['rows']:,}{remark}", **without_target}


def _percent(fraction: float | None) -> str:
    return "-" if fraction is None else f"{100 * fraction:.2f} %"
