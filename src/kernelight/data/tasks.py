"""Classification or regression, by the values of a target.

Text is classes, and so are booleans. Whole numbers are classes if they have at most 50 different
values. All other numbers are quantities.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.encoding import CLASSIFICATION, REGRESSION
from kernelight.data.exact_integers import Targets, are_whole, label_dtype, targets_of

MOST_CLASSES = 50  # whole numbers with more different values are quantities


def may_be_classes(values: Targets, known: Iterable[Any] = ()) -> bool:
    """Whether numbers may be classes: they are whole, 64 bits hold them, and they are few.

    ``values`` are finite and different, and ``known`` are those of earlier rows.
    """
    if len(values) > MOST_CLASSES or not are_whole(values):
        return False
    labels = {*known, *values.tolist()}
    return len(labels) <= MOST_CLASSES and label_dtype(labels) is not None


def infer_task(values: NDArray[Any], rows_per_class: int = 0) -> tuple[str, str]:
    """The task that a target suggests, and why.

    Whole numbers with fewer than ``rows_per_class`` rows for each value, on average, are
    quantities; of two values they are classes in any case.

    >>> import numpy as np
    >>> from kernelight.data.tasks import infer_task
    >>> infer_task(np.array([0, 1, 2, 1]))
    ('classification', 'the target holds 3 whole numbers')
    >>> infer_task(np.array([0, 1, 2, 1]), rows_per_class=3)
    ('regression', 'the target holds 3 different numbers')
    """
    if values.dtype.kind not in "iuf":
        return CLASSIFICATION, "the target holds names"
    distinct = targets_of(np.unique(values))
    if not are_whole(distinct):
        return REGRESSION, "the target holds fractions"
    enough = len(distinct) <= max(2, len(values) // rows_per_class) if rows_per_class else True
    if enough and may_be_classes(distinct):
        return CLASSIFICATION, f"the target holds {len(distinct)} whole numbers"
    return REGRESSION, f"the target holds {len(distinct):,} different numbers"
