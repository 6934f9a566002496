"""What a state must satisfy to be that of a fitted estimator; a state may hold anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelight.base import checks, counted
from kernelight.estimators import preprocessing
from kernelight.estimators.search_space import SOURCES
from kernelight.scaling import SPARSE_SCALING_NAMES

_TUNED = {"scale", "gamma", "p", "C"}


def check_restored(model: Any) -> None:
    """Check what `KernelModel` decides and learns in ``fit``."""
    checks.check_class_weight(getattr(model, "class_weight", None))
    checks.check_int("n_rows_", model.n_rows_, 1)
    _check_preprocessing(model)
    checks.check_positive("C_", model.C_)
    for name in ("gamma_", "p_"):
        if getattr(model, name) is not None:
            checks.check_positive(name, getattr(model, name))
    _check_search(model)
    if model.map_ is not None:
        _check_scores(model)
    model._check_background()


def _check_preprocessing(model: Any) -> None:
    """Encoding and medians must be of the columns that the model takes."""
    if model.medians_ is not None:
        checks.check_learned("medians_", model.medians_, ("float64",), 1)
        if len(model.medians_) != model.n_features_in_:
            raise ValueError(
                f"medians_ must be {counted(model.n_features_in_, 'number')}, one for each feature."
            )
    if model.encoding_ is None:
        return
    names = preprocessing.column_names(
        model.n_features_in_, getattr(model, "feature_names_in_", None)
    )
    encoded_names = [column.name for column in model.encoding_.columns or ()]
    if (
        not encoded_names
        or model.encoding_.target is not None
        or not set(encoded_names) <= set(names)
    ):
        raise ValueError("its encoding is not of the columns that it takes.")


def _check_search(model: Any) -> None:
    """What is said of the search must be plain data."""
    # weights are named where they were asked for
    if not isinstance(model.sources_, dict) or set(model.sources_) - {"weights"} != _TUNED:
        raise ValueError("sources_ must say where scale, gamma, p and C come from.")
    for source in model.sources_.values():
        checks.check_choice("A source", source, tuple(SOURCES))
    if not isinstance(model.search_, list) or not all(map(_is_entry, model.search_)):
        raise ValueError(
            "search_ must be a list of what was tried, each a table of numbers and names."
        )
    checks.check_choice("held_out_", type(model.held_out_).__name__, ("str",))
    has_score = isinstance(model.validation_score_, float)
    if not has_score and (model.search_ or model.validation_score_ is not None):
        raise ValueError("validation_score_ must be a number where something was tried.")


def _is_entry(entry: Any) -> bool:
    """Whether it is an entry of ``search_``."""
    return (
        isinstance(entry, dict)
        and _TUNED | {"score"} <= set(entry)
        and all(
            value is None or isinstance(value, (bool, int, float, str)) for value in entry.values()
        )
    )


def _check_scores(model: Any) -> None:
    """Map and model must fit together: one row of zeros goes through both."""
    shape = (1, model._width)
    row = sp.csr_matrix(shape) if model.scale_ in SPARSE_SCALING_NAMES else np.zeros(shape)
    try:
        model._scores_of(row)
    except (TypeError, IndexError) as error:
        raise ValueError(f"its map and its model do not belong together: {error}") from error
