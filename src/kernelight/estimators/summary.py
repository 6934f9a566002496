"""The summary of a fitted estimator, as text."""

from __future__ import annotations

from typing import Any

from kernelight.base import counted
from kernelight.estimators.search_space import SOURCES


def summarize(model: Any, score: str | None = None) -> str:
    """A few aligned lines: kernel, map, each choice and where it comes from, sizes, and the score.

    ``score`` replaces the line about the score on held-out rows.
    """
    lines = [f"{type(model).__name__}: {model.kernel_!r}"]
    lines += _aligned([("by", _map(model)), *_choices(model)])
    lines += _aligned(
        [("rows", _rows(model)), ("model", _size(model)), ("score", score or _score(model))]
    )
    return "\n".join(lines)


def _aligned(pairs: list[tuple[str, str]]) -> list[str]:
    return [f"  {name:<7} {text}" for name, text in pairs]


def _number(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _map(model: Any) -> str:
    if model.map_ is None:
        return "the exact kernel, " + ("SVC" if hasattr(model, "classes_") else "SVR")
    name = type(model.map_).__name__
    if hasattr(model.map_, "encode"):
        bits = model.map_._code_bits()
        return f"{name}, {counted(model.n_components, 'code')} of {counted(bits, 'bit')}"
    return f"{name}, {counted(model.n_components, 'component')}"


def _choices(model: Any) -> list[tuple[str, str]]:
    values = {"scale": model.scale_, "gamma": model.gamma_, "p": model.p_, "C": model.C_}
    shown = [
        (name, _number(value), SOURCES[model.sources_[name]]) for name, value in values.items()
    ]
    tried = {name: len({entry[name] for entry in model.search_}) for name in values}
    width = max(len(value) for _, value, _ in shown)
    return [
        (
            name,
            f"{value:<{width}}  ({origin}{f' among {tried[name]}' if origin == 'tuned' else ''})",
        )
        for name, value, origin in shown
    ]


def _rows(model: Any) -> str:
    rows = f"{model.n_rows_:,} of {counted(model.n_features_in_, 'feature')}"
    if getattr(model, "encoding_", None) is not None:
        rows += f" ({model.encoding_.width:,} after encoding)"
    return rows + (
        f", {counted(len(model.classes_), 'class', 'classes')}"
        if hasattr(model, "classes_")
        else ""
    )


def _size(model: Any) -> str:
    if model.map_ is None:
        rows, scores = model.model_.duals.coefficients.shape
        return f"{counted(rows, 'support row')}, {counted(scores, 'score')}"
    return f"linear, loss {model.loss}, {model.model_.weights_.size:,} weights"


def _score(model: Any) -> str:
    if model.validation_score_ is None:
        return "not measured: nothing was tuned"
    scoring = model.scoring if isinstance(model.scoring, str) else _scoring(model)
    tried = f", the best of {len(model.search_)} tries" if model.search_ else ""
    return f"{scoring} {model.validation_score_:.3f} on {model.held_out_}{tried}"


def _scoring(model: Any) -> str:
    if model.scoring is not None:
        return "score"
    return "accuracy" if hasattr(model, "classes_") else "R^2"
