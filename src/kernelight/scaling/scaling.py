"""Fitted scalings as plain data, and how they are learned; `ColumnScaler` lists the formulas.

Three of the four scalings are (x - origin) / unit with two numbers for each column: the minimum and
the span, the mean and the standard deviation, or 0 and the largest size. The fourth, "quantile",
interpolates between values of a column and their ranks. A complement appends 1 - x for each column,
which lets a min-max kernel see that two rows share a *small* value: without it, sum min(u, v)
rewards common large values only.

A column that is constant in training becomes 0 (both columns of a complement, too), whatever it
holds later. "none" leaves it in place, and so does "max", unless the constant is 0. Values beyond
the training range stay comparable ("minmax" goes above 1 there), but no value scaled by a unit
leaves [-1e6, 1e6].

Weights of rows count as repetitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base import counted
from kernelight.base.checks import Matrix, check_learned, resources

SCALING_NAMES = (
    "none",
    "minmax",
    "quantile",
    "standard",
    "minmax+complement",
    "quantile+complement",
    "max",
)
SPARSE_SCALING_NAMES = ("none", "max")  # those that leave zeros zero
MAX_KNOTS = 257  # values of a column between which "quantile" interpolates
# columns of sparse rows up to which "max" is offered: its numbers would outgrow most models
WIDEST = 1 << 24
QUANTILE_ROWS = 10_000  # ranks are learned from at most so many rows
_FARTHEST = 1e6  # scaled values are clipped to this size
_COMPLEMENT = "+complement"
_WEIGHTS = "weights"
_COMPLEMENTED_COLUMNS = "complements"
_AS_IT_IS, _FLOORED, _COMPLEMENTED = range(3)  # the forms of core/scaling.h
_FEW = 1 << 14  # numbers that one thread scales at once
_WORK = 8  # operations to scale one number
_BLOCK_VALUES = 1 << 20  # numbers that are taken into double precision at once
_EQUAL_SUMS = 1e-5  # relative: sums of single-precision rows that were divided by their sums
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Scaling:
    """A fitted scaling, made by `fit_scaling`; calling it scales checked rows.

    Attributes
    ----------
    name : str
        One of `SCALING_NAMES`.
    n_features : int
        Columns of the rows it takes.
    arrays : dict of arrays
        What it learned: "low" and "span" of each column for "minmax", "mean" and "deviation" for
        "standard", "peak" for "max". For "quantile" the "knots" of all columns one after another,
        their "ranks", and where those of a column start ("starts"). Nothing for "none". Any of them
        may also have "weights", by which scaled columns and their complements are multiplied, and
        those with complements "complements": 1 for a column that has one, and 0 for a column of
        words, whose complement stays 0.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight.scaling import fit_scaling
    >>> X = np.array([[0.0, 5.0], [4.0, 7.0]])
    >>> scaling = fit_scaling("minmax", X, np.random.default_rng(0))
    >>> scaling(np.array([[1.0, 8.0]]))
    array([[0.25, 1.5 ]])
    >>> scaling.arrays["span"], scaling.n_bytes
    (array([4., 2.]), 32)
    """

    name: str
    n_features: int
    arrays: Arrays

    _LEARNED: ClassVar[dict[str, tuple[str, ...]]] = {
        "none": (),
        "minmax": ("low", "span"),
        "standard": ("mean", "deviation"),
        "max": ("peak",),
        "quantile": ("knots", "ranks", "starts"),
    }

    def __post_init__(self) -> None:
        """Check everything, because a state may hold anything."""
        if self.name not in SCALING_NAMES:
            raise ValueError(
                f"There is no scaling {self.name!r}; known are {', '.join(SCALING_NAMES)}."
            )
        optional = {_WEIGHTS, *([_COMPLEMENTED_COLUMNS] if self._complemented else [])}
        if set(self.arrays) - optional != set(self._LEARNED[self._base]):
            raise ValueError(
                f"A scaling {self.name!r} is not described by "
                f"{', '.join(self.arrays) or 'nothing'}."
            )
        for name, array in self.arrays.items():
            check_learned(
                f"{name} of the scaling", array, ("int64" if name == "starts" else "float64",), 1
            )
        if self.weights is not None:
            self._check_weights(self.weights)
        complements = self.arrays.get(_COMPLEMENTED_COLUMNS)
        if complements is not None and (
            len(complements) != self.n_features or not np.isin(complements, (0.0, 1.0)).all()
        ):
            raise ValueError("complements of the scaling must be 0 or 1, one for each column.")
        if self._base == "quantile":
            self._check_knots()
        elif any(len(array) != self.n_features for array in self.arrays.values()):
            raise ValueError(
                f"A scaling of {counted(self.n_features, 'column')} needs as many numbers of each "
                f"kind."
            )
        elif any(
            (self.arrays[name] < 0).any()
            for name in ("span", "deviation", "peak")
            if name in self.arrays
        ):
            raise ValueError("A scaling must not divide by negative numbers.")

    def _check_weights(self, weights: NDArray[np.float64]) -> None:
        if len(weights) != self.n_features:
            raise ValueError(
                f"weights must be {counted(self.n_features, 'number')}, one for each column, got "
                f"{len(weights)}."
            )
        if not ((weights >= 0) & (weights <= _FARTHEST)).all():
            raise ValueError(
                f"weights of columns must lie between 0 and {_FARTHEST:,.0f}, got "
                f"{weights.min():g} to {weights.max():g}."
            )
        if len(weights) and not weights.any():
            raise ValueError("weights of columns must not all be 0: no column would be left.")

    def _check_knots(self) -> None:
        """Knots must ascend within each column, and ranks lie between 0 and 1."""
        knots, ranks, starts = (self.arrays[name] for name in self._LEARNED["quantile"])
        if len(starts) != self.n_features + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
            raise ValueError(
                "starts of the scaling must ascend from 0, one for each column and one more."
            )
        if not len(knots) == len(ranks) == starts[-1]:
            raise ValueError("knots and ranks of the scaling must be as many as starts say.")
        descends = np.diff(knots) <= 0
        inner = starts[1:-1]
        # from the last knot of a column to the first of the next, they may do so
        descends[inner[(inner > 0) & (inner < len(knots))] - 1] = False
        if descends.any() or (ranks < 0).any() or (ranks > 1).any():
            raise ValueError("knots of a column must ascend, and ranks lie between 0 and 1.")

    @property
    def _base(self) -> str:
        """The name without "+complement"."""
        return self.name.removesuffix(_COMPLEMENT)

    @property
    def _complemented(self) -> bool:
        return self.name.endswith(_COMPLEMENT)

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """What each column is multiplied by after it was scaled; None for all 1."""
        return self.arrays.get(_WEIGHTS)

    def weighted(self, weights: Any) -> Scaling:
        """The same scaling with these weights of columns instead of its own; None for none.

        >>> import numpy as np
        >>> from kernelight.scaling import fit_scaling
        >>> X = np.array([[0.0, 5.0], [4.0, 7.0]])
        >>> scaling = fit_scaling("minmax", X, np.random.default_rng(0)).weighted([1.0, 0.5])
        >>> scaling(np.array([[1.0, 8.0]]))
        array([[0.25, 0.75]])
        """
        arrays = {name: array for name, array in self.arrays.items() if name != _WEIGHTS}
        if weights is not None:
            arrays[_WEIGHTS] = np.array(weights, dtype=np.float64)
        return replace(self, arrays=arrays)

    @property
    def n_features_out(self) -> int:
        """Columns of scaled rows."""
        return self.n_features * (2 if self._complemented else 1)

    @property
    def n_bytes(self) -> int:
        """Bytes of what it learned."""
        return sum(array.nbytes for array in self.arrays.values())

    def __call__(self, X: Matrix) -> Matrix:
        """Scaled rows of the same precision, dense or CSR as ``X`` is; ``X`` is not changed.

        Only the scalings of `SPARSE_SCALING_NAMES` take sparse rows. ``X`` itself is returned by
        "none" without weights.
        """
        if self._base == "none":
            return X if self.weights is None else self._only_weighted(X, self.weights)
        if sp.issparse(X):
            if self._base != "max":
                raise _fills_zeros(self.name)
            end = X.indptr[-1]
            columns = X.indices[:end]
            values = _units(X.data[:end], 0.0, self.arrays["peak"][columns])
            if self.weights is not None:
                values *= self.weights[columns]
            return _with_values(X, values)
        out = np.empty((X.shape[0], self.n_features_out), dtype=X.dtype)
        self._compiled(X, out, resources().for_work(_WORK * X.size).threads if X.size > _FEW else 1)
        if _COMPLEMENTED_COLUMNS in self.arrays:
            out[:, self.n_features :] *= self.arrays[_COMPLEMENTED_COLUMNS].astype(X.dtype)
        return out

    def _only_weighted(self, X: Matrix, weights: NDArray[np.float64]) -> Matrix:
        """What "none" makes of rows."""
        largest = float(np.finfo(X.dtype).max)
        with np.errstate(over="ignore"):
            if sp.issparse(X):
                end = X.indptr[-1]
                values = X.data[:end] * weights[X.indices[:end]]
                return _with_values(X, np.clip(values, -largest, largest))
            return np.asarray(np.clip(X * weights, -largest, largest), dtype=X.dtype)

    @cached_property
    def _compiled(self) -> _core.ColumnScaling:
        """What scales dense rows; it looks at the arrays, and is neither stored nor pickled."""
        form = _COMPLEMENTED if self._complemented else _AS_IT_IS
        learned = [np.ascontiguousarray(self.arrays[name]) for name in self._LEARNED[self._base]]
        weights = None if self.weights is None else np.ascontiguousarray(self.weights)
        if self._base == "quantile":
            knots, ranks, starts = learned
            return _core.ColumnScaling.ranks(form, knots, ranks, starts, weights)
        if self._base == "max":
            return _core.ColumnScaling.units(form, None, learned[0], weights)
        if self._base == "minmax" and form == _AS_IT_IS:
            form = _FLOORED
        origin, unit = learned
        return _core.ColumnScaling.units(form, origin, unit, weights)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled"}


def _with_values(X: Any, values: NDArray[np.float64]) -> Any:
    """Sparse rows with other values at the same places."""
    end = X.indptr[-1]
    values = values.astype(X.dtype, copy=False)
    return type(X)((values, X.indices[:end], X.indptr), shape=X.shape, copy=False)


def _units(values: NDArray[Any], origin: Any, unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """(values - origin) / unit, clipped; 0 where the unit is 0, which is a constant column."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scaled = _finite(values.astype(np.float64) - origin)
        scaled /= np.where(unit > 0, unit, np.inf)
    return np.clip(scaled, -_FARTHEST, _FARTHEST, out=scaled)


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Infinities as the largest number there is."""
    largest = np.finfo(np.float64).max
    return np.clip(values, -largest, largest, out=values)


def _fills_zeros(name: str) -> ValueError:
    return ValueError(
        f"scale={name!r} would fill every zero of sparse rows: use 'max' or None, or pass a dense "
        f"array."
    )


def fit_scaling(
    name: str, X: Matrix, rng: np.random.Generator, weight: NDArray[np.float64] | None = None
) -> Scaling:
    """Learn a scaling from rows.

    Parameters
    ----------
    name : str
        One of `SCALING_NAMES`; of sparse rows, of `SPARSE_SCALING_NAMES`.
    X : array or CSR matrix of shape (n, d)
        Rows that were checked (`kernelight.base.checks.as_matrix`): finite, n at least 1.
    rng : Generator
        Draws the rows that ranks are learned from where there are more than 10,000.
    weight : array of shape (n,) or None
        Weights above 0; each counts as so many equal rows. Means, deviations and ranks depend on
        them.
    """
    base = name.removesuffix(_COMPLEMENT)
    if base == "none":
        return Scaling(name, X.shape[1], {})
    if base == "max":
        if sp.issparse(X) and X.shape[1] > WIDEST:
            raise ValueError(
                f"scale='max' keeps a number for each of {X.shape[1]:,} columns, more than "
                f"{WIDEST:,}: use scale='none'."
            )
        peak = abs(X).max(axis=0)
        peak = peak.toarray().ravel() if sp.issparse(peak) else peak
        return Scaling(name, X.shape[1], {"peak": np.asarray(peak, dtype=np.float64)})
    if sp.issparse(X):
        raise _fills_zeros(name)
    if base == "standard":
        with np.errstate(over="ignore", invalid="ignore"):
            mean, deviation = _moments(X, weight)
            mean, deviation = _finite(mean), _finite(np.nan_to_num(deviation, nan=np.inf))
        deviation[X.min(axis=0) == X.max(axis=0)] = 0  # rounding may have made it positive
        return Scaling(name, X.shape[1], {"mean": mean, "deviation": deviation})
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    if base == "minmax":
        with np.errstate(over="ignore"):
            span = _finite(high - low)
        return Scaling(name, X.shape[1], {"low": low, "span": span})
    return Scaling(name, X.shape[1], _quantiles(X, low, high, rng, weight))


def fit_scalings(
    names: Sequence[str],
    X: Matrix,
    rng: np.random.Generator,
    weight: NDArray[np.float64] | None = None,
) -> list[Scaling]:
    """Learn several scalings from rows: what a scaling and its complement share is learned once."""
    learned: dict[str, Scaling] = {}
    for name in names:
        base = name.removesuffix(_COMPLEMENT)
        if base not in learned:
            learned[base] = fit_scaling(base, X, rng, weight)
    return [replace(learned[name.removesuffix(_COMPLEMENT)], name=name) for name in names]


def _moments(
    X: NDArray[Any], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of the columns."""
    if weight is None:
        return X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    fraction = weight / weight.sum()
    mean, variance = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    step = max(1, _BLOCK_VALUES // max(1, X.shape[1]))
    for begin in range(0, len(X), step):
        mean += fraction[begin : begin + step] @ X[begin : begin + step].astype(np.float64)
    for begin in range(0, len(X), step):
        variance += fraction[begin : begin + step] @ np.square(X[begin : begin + step] - mean)
    return mean, np.sqrt(variance)


def _quantiles(
    X: NDArray[Any],
    low: NDArray[Any],
    high: NDArray[Any],
    rng: np.random.Generator,
    weight: NDArray[np.float64] | None,
) -> Arrays:
    """Knots of each column, ascending, and the rank of each: the fraction of values below it.

    Ranks count values *below*, so that the smallest value has rank 0 however often it occurs:
    columns that are mostly zero stay so. They are divided by that of the largest value, which then
    has rank 1.
    """
    if X.shape[0] > QUANTILE_ROWS:
        some = np.sort(rng.choice(X.shape[0], QUANTILE_ROWS, replace=False))
        X, weight = X[some], None if weight is None else weight[some]
    repeats = np.ones(len(X)) if weight is None else _as_counts(weight)
    knots, ranks, counts = [], [], []
    for column in range(X.shape[1]):
        order = np.argsort(X[:, column], kind="stable")
        values = X[order, column].astype(np.float64)
        # how many rows stand before each value, and the number of all at the end
        before = np.append(0.0, np.cumsum(repeats[order]))
        places = np.linspace(0, before[-1] - 1, min(MAX_KNOTS, round(before[-1]))).round()
        at = np.minimum(np.searchsorted(before, places, side="right") - 1, len(values) - 1)
        chosen = np.unique(np.concatenate([[low[column]], values[at], [high[column]]]))
        if len(chosen) < 2:
            counts.append(0)
            continue
        below = before[np.searchsorted(values, chosen, side="left")]
        knots.append(chosen)
        ranks.append(below / below[-1] if below[-1] else np.linspace(0, 1, len(chosen)))
        counts.append(len(chosen))
    empty = np.zeros(0)
    return {
        "knots": np.concatenate([empty, *knots]),
        "ranks": np.concatenate([empty, *ranks]),
        "starts": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
    }


def _as_counts(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights as counts of equal rows: whole ones as they are, others divided by their mean."""
    return weight if (weight == np.round(weight)).all() else weight * (len(weight) / weight.sum())


def are_histograms(X: Matrix) -> bool:
    """Whether rows are histograms: nonnegative, and all that are not zero have the same sum.

    Sums must be close also in comparison with how far the values of a column are apart: one large
    column that hardly varies makes sums close, too.
    """
    values = X.data if sp.issparse(X) else X
    if X.shape[1] < 2 or not values.size or values.min() < 0:
        return False
    sums = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    rows = X[np.flatnonzero(sums > 0)]
    sums = sums[sums > 0]
    if len(sums) < 2 or sums.max() - sums.min() > _EQUAL_SUMS * sums.max():
        return False
    if sp.issparse(rows):
        rows = _without_empty_columns(rows)
    span = float(_dense_row(rows.max(axis=0) - rows.min(axis=0)).max())
    return span == 0 or bool(sums.max() - sums.min() <= 0.1 * span)


def _without_empty_columns(X: Any) -> Any:
    """Sparse rows without their empty columns, because rows may be far wider than their values."""
    columns, indices = np.unique(X.indices, return_inverse=True)
    return sp.csr_matrix((X.data, indices, X.indptr), shape=(X.shape[0], len(columns)))


def _dense_row(row: Any) -> NDArray[np.float64]:
    return np.asarray(row.todense() if sp.issparse(row) else row, dtype=np.float64)


def suitable_scalings(X: Matrix, *, nonnegative: bool, fixed_width: bool) -> tuple[str, ...]:
    """The names of the scalings worth trying on checked rows; the first is the default.

    ``nonnegative``: the kernel takes nothing below 0. ``fixed_width``: the kernel has a centre, one
    number for each column as it is, so that rows must not be scaled.

    >>> import numpy as np
    >>> from kernelight.scaling import suitable_scalings
    >>> suitable_scalings(np.array([[0.2, 0.8], [0.7, 0.3]]), nonnegative=True, fixed_width=False)
    ('none',)
    """
    values = X.data if sp.issparse(X) else X
    as_is = ("none",) if not nonnegative or not values.size or values.min() >= 0 else ()
    if fixed_width or are_histograms(X):
        return ("none",)
    if sp.issparse(X):
        return ("max", *as_is) if X.shape[1] <= WIDEST else ("none",)
    signed = () if nonnegative else ("standard",)
    return ("minmax", *as_is, "quantile", *signed, "minmax+complement", "quantile+complement")
