"""Fitting a model in two steps: everything but the weights from a fair sample, these from all rows.

The sample chooses scale, gamma, p and C, and what the map needs to know. How all rows are then
learned from is another matter: in passes within a memory limit (`fitting`), or in rounds over
blocks in several places (`block_training`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelight.estimators import DEFAULT_COMPONENTS
from kernelight.estimators.additive import MOST_ROWS as MOST_BACKGROUND_ROWS
from kernelight.estimators.classifier import warn_of_single_rows
from kernelight.estimators.kernel_choice import EXACT, RIDGE
from kernelight.estimators.progress import Job, watched_by
from kernelight.estimators.routes import spread


def with_map(model: Any) -> None:
    """Make a model have a feature map: no Gram matrix holds all rows."""
    if model.n_components is None:
        model.n_components = DEFAULT_COMPONENTS


def refuse_all_at_once(model: Any, n_rows: int, why: str) -> None:
    """Refuse a method that learns from all rows at once."""
    if model.method in (EXACT, RIDGE):
        raise ValueError(
            f"method={model.method!r} learns from all rows at once, and {n_rows:,} rows are {why}: "
            f"use another method."
        )


def fit_to_sample(
    model: Any, X: Any, y: Any, counts: Mapping[Any, int], learned: Mapping[Any, int], job: Job
) -> Any:
    """Fit to a sample of the rows that will be learned from; returns rows to explain against.

    ``counts`` are the rows of each class, ``learned`` those of them that will be learned from; both
    are empty for quantities.
    """
    warn_of_single_rows([label for label, count in counts.items() if count == 1])
    # balanced weights follow from the counts of all rows, not of a part
    if getattr(model, "class_weight", None) == "balanced":
        total = sum(learned.values())
        model.class_weight = {
            label: total / (len(learned) * count) for label, count in learned.items()
        }
    with watched_by(job):
        model.fit_features(X, y, part=True)
    # a random sample, which explanations are centred on
    return X[spread(X.shape[0], MOST_BACKGROUND_ROWS)]
