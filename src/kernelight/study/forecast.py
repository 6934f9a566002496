"""How long a model will take, foreseen from those that were measured before.

Seconds grow in proportion to rows and folds, and with components to the power 0.8.
"""

from __future__ import annotations

from kernelight.estimators import DEFAULT_COMPONENTS
from kernelight.study.cells import Cell
from kernelight.study.plan import Round
from kernelight.study.threads import is_busy

COMPONENTS_POWER = 0.8
N_SCALINGS = 6  # that the first search of a kernel tries
# What the default fit takes of the time foreseen from a small one: small fits have overheads.
LARGE_FIT_FRACTION = 0.4
AVERAGE_FITS = 3.0  # forest, ferns and codes of an average take as long as so many fits of codes


def work_of(stage: Round) -> float:
    """The work of one candidate in a round, in rows x folds x components to their power."""
    return float(stage.rows * stage.folds * (stage.components + 64) ** COMPONENTS_POWER)


def cell_seconds(stage: Round, before: list[Cell]) -> float:
    """Seconds of a candidate in a round, from its cells so far; 0 if it has none."""
    if not before:
        return 0.0
    last = before[-1]
    seconds = last.seconds
    # The first cell searched settings too: count a fit for each C and fold, from warm starts.
    if len(before) == 1:
        seconds = min(seconds, last.fit_seconds * (2 + 3 * last.folds))
    growth = stage.rows / last.rows
    if last.k:
        growth *= (stage.components / last.k) ** COMPONENTS_POWER
    return float(seconds * growth * stage.folds / last.folds)


def default_fit_seconds(n_rows: int, folds: int, small: Cell) -> float:
    """Seconds of the default fit, scored on ``folds`` folds; from a small cell of its kernel.

    Foreseen on the safe side, so that it ends in time on a busy machine: as if each of six scalings
    were fitted to 3,000 rows with 256 components, and three of them to 12,000 rows with all
    components. Then it is fitted to all rows, and once more for each fold. What a fit and a search
    over C take is known from the small cell.
    """
    search = max(1.0, (small.seconds / small.fit_seconds - 1) / N_SCALINGS)
    first = N_SCALINGS * min(n_rows, 3_000) * (256 / DEFAULT_COMPONENTS) ** COMPONENTS_POWER
    second = 3 * min(n_rows, 12_000)
    work = search * (first + second) + n_rows * (1 + 0.8 * folds)
    growth = (DEFAULT_COMPONENTS / (small.k or 1)) ** COMPONENTS_POWER / small.rows
    return float(LARGE_FIT_FRACTION * small.fit_seconds * growth * work)


def average_seconds(folds: int, default: Cell) -> float:
    """Seconds of the average of models (kernel="auto"), from the cell of the default fit.

    It has the work of the default fit, and for each fold and for all rows that of a forest and
    ferns, each about as much as a fit of codes; and it is trained once more to time that.
    """
    return float(default.seconds + AVERAGE_FITS * default.fit_seconds * (folds + 2))


def exact_svm_seconds(n_rows: int, n_classes: int | None, before: list[Cell]) -> float:
    """Seconds of an exact SVM: as the slowest so far, or else by the pairs of rows.

    A pair takes tens of nanoseconds for each binary problem; of a regression (no classes) ten times
    as much.
    """
    if before:
        return max(cell.seconds for cell in before)
    n_problems = 1 if n_classes == 2 else n_classes
    seconds = n_rows**2 * (4e-7 if n_problems is None else 4e-8 * n_problems)
    return 2 * seconds if is_busy() else seconds
