"""The summary of a fitted estimator, as text."""

from __future__ import annotations

from typing import Any

from kernelight.base import bytes_text, counted
from kernelight.estimators.search_space import DEFAULT_COMPONENTS, SOURCES

# scorings that are 1 for some model of which not every prediction is right
_ONE_SIDED = ("precision", "recall", "top_k")
_OF_THE_MEAN = ("R^2", "r2", "explained_variance", "d2_absolute_error_score")  # 0: no better


def summarize(model: Any, other: tuple[str, float | None] | None = None) -> str:
    """A few aligned lines: kernel, map, each choice and where it comes from, sizes, and the score.

    ``other`` replaces the score on held-out rows: a text, and the accuracy or R^2 that it is about.
    """
    members = getattr(model.model_, "members", None)
    if members is None:
        lines = [f"{type(model).__name__}: {model.kernel_!r}"]
        lines += _aligned([("by", _map(model)), *_choices(model)])
    else:
        lines = [f"{type(model).__name__}: the average of {counted(len(members), 'model')}"]
        lines += _aligned([(member.name, _member(model, member)) for member in members])
    score, value = other or (_score(model), model.validation_score_)
    lines += _aligned([("rows", _rows(model)), ("model", _size(model)), ("score", score)])
    remark = _remark(_default_scoring(model) if other else _scoring_name(model), value)
    return "\n".join(lines + _aligned([("note", remark)] if remark else []))


def _remark(scoring: str | None, value: float | None) -> str | None:
    """What is to be said of a score that is too good, or worse than none; of a name or None."""
    if scoring is None or value is None:
        return None
    perfect = (
        value == 0
        if scoring.startswith("neg_")
        else f"{value:.3f}" == "1.000" and not scoring.startswith(_ONE_SIDED)
    )
    if perfect:
        return "a perfect score is rare: see whether a column comes of the target"
    if value < 0 and scoring in _OF_THE_MEAN:
        return (
            "below 0, so predicting the mean would be better: the columns may say nothing about "
            "the target"
        )
    return None


def _aligned(pairs: list[tuple[str, str]]) -> list[str]:
    return [f"  {name:<7} {text}" for name, text in pairs]


def _number(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _map(model: Any) -> str:
    if model.map_ is None:
        if model.model_.lesson is not None:
            return "the exact kernel, ridge regression"
        return "the exact kernel, " + ("SVC" if hasattr(model, "classes_") else "SVR")
    name, count = type(model.map_).__name__, model.n_components or DEFAULT_COMPONENTS
    if hasattr(model.map_, "encode"):
        bits = model.map_._code_bits()
        return f"{name}, {counted(count, 'code')} of {counted(bits, 'bit')}"
    return f"{name}, {counted(count, 'component')}"


def _member(model: Any, member: Any) -> str:
    """A model of an average: what it is made of, its C, and its own score."""
    feature_map = member.scaled_map.feature_map
    made = f"{model.kernel_!r}, "
    if feature_map is None:
        made += f"the exact kernel, scale {_scale(member)}"
    else:
        count, bits = feature_map.n_outputs, feature_map._code_bits()
        made += f"scale {_scale(member)}, {counted(count, 'code')}"
        if member.name != "gmm":
            made = f"{type(feature_map).__name__}, {counted(count, 'code')}"
        made += f" of {counted(bits, 'bit')}"
    scoring = _scoring_name(model) or "score"
    score = "" if member.score is None else f", {scoring} {member.score:.3f}"
    return f"{made}, C {member.C:g}{score}"


def _scale(member: Any) -> str:
    """The scaling of a member of an average, and whether its columns have weights."""
    scaling = member.scaled_map.scaling
    return str(scaling.name) + ("" if scaling.weights is None else " with weights")


def _choices(model: Any) -> list[tuple[str, str]]:
    values = {"scale": model.scale_, "gamma": model.gamma_, "p": model.p_, "C": model.C_}
    shown = [
        (name, _number(value), SOURCES[model.sources_[name]]) for name, value in values.items()
    ]
    tried = {name: len({entry[name] for entry in model.search_}) for name in values}
    if "weights" in model.sources_:
        weights = model.scaling_.weights
        text = "none" if weights is None else f"{weights.min():g} to {weights.max():g}"
        shown.insert(1, ("weights", text, SOURCES[model.sources_["weights"]]))
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
    members = getattr(model.model_, "members", None)
    if members is not None:
        return f"{counted(len(members), 'model')}, {bytes_text(model.model_.n_bytes)}"
    if model.map_ is None:
        rows, scores = model.model_.duals.coefficients.shape
        size = bytes_text(model.model_.n_bytes)
        return f"{counted(rows, 'support row')}, {counted(scores, 'score')}, {size}"
    return f"linear, loss {model.loss}, {model.model_.weights_.size:,} weights"


def _score(model: Any) -> str:
    if model.validation_score_ is None:
        return "not measured: nothing was tuned"
    chosen = model.search_ and not hasattr(model.model_, "members")  # nothing is best of averages
    tried = f", the best of {len(model.search_)} tries" if chosen else ""
    scoring = _scoring_name(model) or "score"
    return f"{scoring} {model.validation_score_:.3f} on {model.held_out_}{tried}"


def _scoring_name(model: Any) -> str | None:
    """The name of what the search maximised; None of a function."""
    if model.scoring is None:
        return _default_scoring(model)
    return str(model.scoring) if isinstance(model.scoring, str) else None


def _default_scoring(model: Any) -> str:
    return "accuracy" if hasattr(model, "classes_") else "R^2"
