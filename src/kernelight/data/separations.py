"""Single columns that tell every class, exactly or nearly: found in a sample of rows.

A column tells the classes in one of three ways:

* "missing": of two classes, one is where the column is missing and the other where it is not;
* "zero": the same with the rows that are zero;
* "thresholds": the values of each class are in an interval of their own.

Rows where that is wrong are allowed, one for a hundred rows of the rarest class ("nearly"). What
might well be chance is no finding. Of n rows with classes of n_1, ..., n_k rows there are
n! / (n_1! ... n_k!) orders, of which k! are intervals and at most k! C(n, e) k^e are intervals but
for e rows; their ratio, times the number of columns, must be below `CHANCE`.
"""

from __future__ import annotations

from math import comb, inf, lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FEW_ROWS = 50
FEW_OF_CLASS = 5  # rows that each class must have
MOST_CLASSES = 50
WRONG = 0.01  # of the rows of the rarest class may be wrong
CHANCE = 1e-6
SCREEN_ROWS = 256  # show of most columns that they do not tell the classes
MISSING, ZERO, THRESHOLDS = "missing", "zero", "thresholds"


class Separation(NamedTuple):
    """How a column tells the classes, and in how many rows it does not."""

    how: str
    n_wrong: int


def separations(
    values: NDArray[np.float64], classes: NDArray[np.int64], n_classes: int
) -> dict[int, Separation]:
    """The columns that tell every class, by their places.

    ``values`` are (n, d), NaN where one is missing, in an order that does not matter for the first
    ones to be typical; ``classes`` are numbers below ``n_classes``.
    """
    n_rows, n_columns = values.shape
    counts = np.bincount(classes, minlength=n_classes)
    if (
        n_rows < FEW_ROWS
        or not 2 <= n_classes <= MOST_CLASSES
        or counts.min() < FEW_OF_CLASS
        or not n_columns
    ):
        return {}
    allowed = int(WRONG * counts.min())
    while allowed > 0 and not _unlikely(counts, allowed, n_columns):
        allowed -= 1
    if not _unlikely(counts, allowed, n_columns):
        return {}
    places = _possible(values[:SCREEN_ROWS], classes[:SCREEN_ROWS], n_classes)
    found: dict[int, Separation] = {}
    for place in places.tolist():
        best = _best(values[:, place], classes, n_classes, n_columns)
        if best is not None and best.n_wrong <= allowed:
            found[place] = best
    return found


def _unlikely(counts: NDArray[np.int64], n_wrong: int, n_columns: int) -> bool:
    """Whether a column that tells these classes but for ``n_wrong`` rows is hardly chance."""
    n_rows, n_classes = int(counts.sum()), len(counts)
    orders = lgamma(n_rows + 1) - sum(lgamma(count + 1) for count in counts.tolist())
    fitting = lgamma(n_classes + 1) + log(comb(n_rows, n_wrong)) + n_wrong * log(n_classes)
    return fitting - orders + log(n_columns) < log(CHANCE)


def _possible(
    values: NDArray[np.float64], classes: NDArray[np.int64], n_classes: int
) -> NDArray[np.intp]:
    """The columns that are not ruled out by a few rows.

    In the order of a column the class changes between intervals, and twice at a row that is wrong.
    """
    n_wrong = 3 + len(values) // 32
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    classes_in_order = classes[order]
    # a change at a missing value, which comes last, is none
    changes = (classes_in_order[1:] != classes_in_order[:-1]) & ~np.isnan(ordered[1:])
    possible = changes.sum(axis=0) <= n_classes + 2 * n_wrong
    if n_classes == 2:
        for group in (np.isnan(values), values == 0):
            possible |= _wrong_of_groups(group, classes) <= n_wrong
    return np.flatnonzero(possible)


def _wrong_of_groups(group: NDArray[np.bool_], classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows in which being in a group or not does not tell which of two classes it is."""
    disagree = (group != (classes == 1)[:, None]).sum(axis=0)
    return np.asarray(np.minimum(disagree, len(classes) - disagree))


def _best(
    column: NDArray[np.float64], classes: NDArray[np.int64], n_classes: int, n_columns: int
) -> Separation | None:
    """The way in which a column tells the classes with the fewest rows that are wrong."""
    ways = []
    gone = np.isnan(column)
    if n_classes == 2:
        for how, group in ((MISSING, gone), (ZERO, column == 0)):
            if group.any():
                ways.append(Separation(how, int(_wrong_of_groups(group[:, None], classes)[0])))
    there = ~gone
    counts = np.bincount(classes[there], minlength=n_classes)
    if (
        2 * int(there.sum()) >= len(column)
        and counts.min() >= FEW_OF_CLASS
        and _unlikely(counts, 0, n_columns)
    ):
        n_wrong = _wrong_of_intervals(column[there], classes[there], n_classes)
        ways.append(Separation(THRESHOLDS, n_wrong))
    # the first of equals: that a value is missing or zero says more than a threshold
    return min(ways, key=lambda way: way.n_wrong, default=None)


def _wrong_of_intervals(
    column: NDArray[np.float64], classes: NDArray[np.int64], n_classes: int
) -> int:
    """Rows that are wrong if each class has the best interval, in the order of their medians.

    With S_j(i) rows of the j-th class among the first i, the most rows that are right are
    R_j(i) = S_j(i) + max over cuts c <= i of (R_{j-1}(c) - S_j(c)); a cut is between two values
    that differ.
    """
    order = np.argsort(column, kind="stable")
    ordered, classes = column[order], classes[order]
    cuts = np.concatenate([[True], ordered[1:] != ordered[:-1], [True]])
    ranks = [np.median(np.flatnonzero(classes == number)) for number in range(n_classes)]
    right = np.where(cuts, 0.0, -inf)
    for number in np.argsort(ranks).tolist():
        upto = np.concatenate([[0], np.cumsum(classes == number)])
        right = np.maximum.accumulate(np.where(cuts, right - upto, -inf)) + upto
    return len(column) - int(right[-1])
