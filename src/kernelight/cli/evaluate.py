"""``kernelight evaluate``: how good a model is on rows whose target is known."""

from __future__ import annotations

from typing import Any

from kernelight import TableModel
from kernelight.cli import show


def run(model: str, data: str, reading: dict[str, Any], as_json: bool) -> None:
    """Read, predict, compare."""
    fitted = TableModel.load(model)
    found = fitted.evaluate(data, **{**reading, "target": "auto"})
    if as_json:
        show.as_json({"model": model, "data": data, **found})
        return
    if found["task"] == "regression":
        r2 = "none: the target is constant" if found["r2"] is None else f"{found['r2']:.4f}"
        show.pairs(
            {
                **_rows(found),
                "R^2": r2,
                "root mean squared error": f"{found['root_mean_squared_error']:.6g}",
                "mean absolute error": f"{found['mean_absolute_error']:.6g}",
                "largest error": f"{found['largest_error']:.6g}",
            }
        )
        return
    accuracy = f"{_percent(found['accuracy'])}, standard error {_percent(found['standard_error'])}"
    show.pairs(
        {
            **_rows(found),
            "accuracy": accuracy,
            "balanced accuracy": _percent(found["balanced_accuracy"]),
            **_of_probabilities(found, len(fitted.classes_)),
        }
    )
    print()
    rows = [
        (
            entry["class"],
            f"{entry['rows']:,}",
            _percent(entry["precision"]),
            _percent(entry["recall"]),
        )
        for entry in found["classes"]
    ]
    show.table(("class", "rows", "precision", "recall"), rows, right=(1, 2, 3))
    if "calibration" in found:
        print()
        lines = [
            (_percent(entry["predicted"]), _percent(entry["observed"]), f"{entry['rows']:,}")
            for entry in found["calibration"]
        ]
        positive = found["positive_class"]
        of = "predicted class" if positive is None else show.plain(positive)
        show.table((f"P({of})", "was so", "rows"), lines, right=(0, 1, 2))


def _of_probabilities(found: dict[str, Any], n_classes: int) -> dict[str, str]:
    if "log_loss" not in found:
        return {}
    return {
        "log loss": f"{found['log_loss']:.4f}",
        "Brier score": f"{found['brier_score']:.4f}",
        "AUC": _area(found, n_classes),
    }


def _area(found: dict[str, Any], n_classes: int) -> str:
    """The AUC, and for which class, or over which classes it is the mean."""
    if found["roc_auc"] is None:
        return "none: all rows are of one class"
    if found["positive_class"] is not None:
        return f"{found['roc_auc']:.4f}, of class {show.plain(found['positive_class'])} against the other"
    occurring = len(found["roc_auc_classes"])
    some = (
        f"{n_classes} classes"
        if occurring == n_classes
        else f"the {occurring} of {n_classes} classes that occur"
    )
    return f"{found['roc_auc']:.4f}, mean over {some}, each against the rest"


def _rows(found: dict[str, Any]) -> dict[str, str]:
    gone = found["rows_without_target"]
    left_out = {"rows left out, without a target": f"{gone:,}"} if gone else {}
    return {"rows": f"{found['rows']:,}", **left_out}


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"
