"""What happens to columns before a kernel sees them: small fitted values that a state can hold.

============================  ======================================================================================
name                          a value x of a column
============================  ======================================================================================
``"none"``                    as it is
``"minmax"``                  (x - min) / (max - min) of the training rows, 0 below the minimum
``"quantile"``                its rank among the training rows: the share of them below x, 0 at the minimum, 1 at the maximum
``"standard"``                (x - mean) / standard deviation
``"max"``                     x / max |x|: zeros stay zeros, so sparse rows stay sparse
``"minmax+complement"``       two columns, x and 1 - x of ``"minmax"``; what is below 0 is 0
``"quantile+complement"``     two columns, x and 1 - x of ``"quantile"``
============================  ======================================================================================

A column that is constant in training says nothing: it becomes 0 (both columns of a complement,
too), whatever it holds later. Only ``"none"`` and ``"max"`` leave it in place. Values beyond the
training range stay comparable: ``"minmax"`` goes above 1 there, but no scaled value leaves [-1e6,
1e6].

Weights of rows count as repetitions.

The complement lets a min-max kernel see that two rows share a *small* value: without it, sum min(u,
v) only rewards common large ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.base.checks import Matrix, check_learned

NAMES = (
    "none",
    "minmax",
    "quantile",
    "standard",
    "minmax+complement",
    "quantile+complement",
    "max",
)
SPARSE_NAMES = ("none", "max")
MAX_KNOTS = 257  # of a column
WIDEST = 1 << 24  # columns: a number for each of more would be larger than most models
QUANTILE_ROWS = 10_000  # ranks are learned from at most so many rows
_FARTHEST = 1e6
_COMPLEMENT = "+complement"
_BLOCK_VALUES = 1 << 20
_EQUAL_SUMS = 1e-5  # relative: rows of single precision divided by their sums
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Scaling:
    """A fitted scaling of ``n_features`` columns; ``arrays`` is what it learned."""

    name: str
    n_features: int
    arrays: Arrays

    _NEEDED: ClassVar[dict[str, tuple[str, ...]]] = {
        "none": (),
        "minmax": ("low", "span"),
        "standard": ("mean", "deviation"),
        "max": ("peak",),
        "quantile": ("knots", "ranks", "starts"),
    }

    def __post_init__(self) -> None:
        """Everything is checked: a state may hold anything."""
        if self.name not in NAMES:
            raise ValueError(f"There is no scaling {self.name!r}; known are {', '.join(NAMES)}.")
        if set(self.arrays) != set(self._NEEDED[self._base]):
            raise ValueError(
                f"A scaling {self.name!r} is not described by "
                f"{', '.join(self.arrays) or 'nothing'}."
            )
        for name, array in self.arrays.items():
            check_learned(
                f"{name} of the scaling", array, ("int64" if name == "starts" else "float64",), 1
            )
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

    def _check_knots(self) -> None:
        knots, ranks, starts = (self.arrays[name] for name in self._NEEDED["quantile"])
        if len(starts) != self.n_features + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
            raise ValueError(
                "starts of the scaling must ascend from 0, one for each column and one more."
            )
        if not len(knots) == len(ranks) == starts[-1]:
            raise ValueError("knots and ranks of the scaling must be as many as starts say.")
        steps = np.diff(knots) <= 0
        steps[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(knots))] - 1] = (
            False  # from column to column
        )
        if steps.any() or (ranks < 0).any() or (ranks > 1).any():
            raise ValueError("knots of a column must ascend, and ranks lie between 0 and 1.")

    @property
    def _base(self) -> str:
        return self.name.removesuffix(_COMPLEMENT)

    @property
    def n_features_out(self) -> int:
        """Columns of the result."""
        return self.n_features * (2 if self.name.endswith(_COMPLEMENT) else 1)

    def __call__(self, X: Matrix) -> Matrix:
        """Checked rows, scaled; of the same precision, never the caller's own array changed."""
        if self._base == "none":
            return X
        if sp.issparse(X):
            if self._base != "max":
                raise ValueError(
                    f"scale={self.name!r} would fill every zero of sparse rows: use 'max' or None, "
                    f"or pass a dense array."
                )
            end = X.indptr[-1]
            values = _units(X.data[:end], 0.0, self.arrays["peak"][X.indices[:end]]).astype(
                X.dtype, copy=False
            )
            return type(X)((values, X.indices[:end], X.indptr), shape=X.shape, copy=False)
        scaled = self._scaled(X)
        if not self.name.endswith(_COMPLEMENT):
            return np.ascontiguousarray(scaled, dtype=X.dtype)
        both = np.empty((X.shape[0], 2 * X.shape[1]), dtype=X.dtype)
        np.maximum(scaled, 0, out=both[:, : X.shape[1]], casting="same_kind")
        np.maximum(1 - scaled, 0, out=both[:, X.shape[1] :], casting="same_kind")
        both[:, X.shape[1] :][:, self._constant()] = 0
        return both

    def _scaled(self, X: NDArray[Any]) -> NDArray[np.float64]:
        if self._base == "minmax":
            scaled = _units(X, self.arrays["low"], self.arrays["span"])
            return scaled if self.name.endswith(_COMPLEMENT) else np.maximum(scaled, 0)
        if self._base == "standard":
            return _units(X, self.arrays["mean"], self.arrays["deviation"])
        if self._base == "max":
            return _units(X, 0.0, self.arrays["peak"])
        ranks = np.zeros(X.shape)
        for column, (start, end) in enumerate(
            zip(self.arrays["starts"], self.arrays["starts"][1:], strict=False)
        ):
            if end > start:
                knots, levels = self.arrays["knots"][start:end], self.arrays["ranks"][start:end]
                ranks[:, column] = np.interp(X[:, column], knots, levels)
        return ranks

    def _constant(self) -> NDArray[np.bool_]:
        if self._base == "minmax":
            return np.asarray(self.arrays["span"] == 0)
        return np.asarray(np.diff(self.arrays["starts"]) == 0)


def _units(values: NDArray[Any], origin: Any, unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """(values - origin) / unit, 0 where the unit is 0: such a column says nothing. Nothing
    overflows."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        away = _finite(values.astype(np.float64) - origin)
        away /= np.where(unit > 0, unit, np.inf)
    return np.clip(away, -_FARTHEST, _FARTHEST, out=away)


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """What overflowed, as the largest number there is."""
    largest = np.finfo(np.float64).max
    return np.clip(values, -largest, largest, out=values)


def fit_scaling(
    name: str, X: Matrix, rng: np.random.Generator, weight: NDArray[np.float64] | None = None
) -> Scaling:
    """The scaling of that name for checked rows; ``rng`` draws the rows that ranks are learned
    from.

    A ``weight`` above 0 counts as so many equal rows, so that only means, deviations and ranks ask
    for it.
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
        raise ValueError(
            f"scale={name!r} would fill every zero of sparse rows: use 'max' or None, or pass a "
            f"dense array."
        )
    if base == "standard":
        with np.errstate(over="ignore", invalid="ignore"):
            mean, deviation = _moments(X, weight)
            mean, deviation = _finite(mean), _finite(np.nan_to_num(deviation, nan=np.inf))
        deviation[X.min(axis=0) == X.max(axis=0)] = 0  # whatever rounding made of it
        return Scaling(name, X.shape[1], {"mean": mean, "deviation": deviation})
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    if base == "minmax":
        with np.errstate(over="ignore"):
            span = _finite(high - low)
        return Scaling(name, X.shape[1], {"low": low, "span": span})
    return Scaling(name, X.shape[1], _quantiles(X, low, high, rng, weight))


def _moments(
    X: NDArray[Any], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of the columns."""
    if weight is None:
        return X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    share = weight / weight.sum()
    mean, square = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    step = max(1, _BLOCK_VALUES // max(1, X.shape[1]))
    for begin in range(0, len(X), step):
        mean += share[begin : begin + step] @ X[begin : begin + step].astype(np.float64)
    for begin in range(0, len(X), step):
        square += share[begin : begin + step] @ np.square(X[begin : begin + step] - mean)
    return mean, np.sqrt(square)


def _quantiles(
    X: NDArray[Any],
    low: NDArray[Any],
    high: NDArray[Any],
    rng: np.random.Generator,
    weight: NDArray[np.float64] | None,
) -> Arrays:
    """For each column some of its values, ascending, and the share of training values below each.

    Ranks count values *below*, so that the smallest value has rank 0 however often it occurs:
    columns that are mostly zero stay so. They are divided by the rank of the largest value, which
    has rank 1 then.
    """
    if X.shape[0] > QUANTILE_ROWS:
        some = np.sort(rng.choice(X.shape[0], QUANTILE_ROWS, replace=False))
        X, weight = X[some], None if weight is None else weight[some]
    counts_of_rows = np.ones(len(X)) if weight is None else _as_counts(weight)
    knots, ranks, counts = [], [], []
    for column in range(X.shape[1]):
        order = np.argsort(X[:, column], kind="stable")
        values = X[order, column].astype(np.float64)
        # how many stand before each, and in all
        before = np.append(0.0, np.cumsum(counts_of_rows[order]))
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
    """Whole weights are counts of equal rows; others are brought to a mean of 1."""
    return weight if (weight == np.round(weight)).all() else weight * (len(weight) / weight.sum())


def are_histograms(X: Matrix) -> bool:
    """Whether rows are histograms: nonnegative, and all rows that are not zero have the same sum.

    The same also against how far values of a column are apart: one large column that hardly varies
    makes equal sums too.
    """
    values = X.data if sp.issparse(X) else X
    if X.shape[1] < 2 or not values.size or values.min() < 0:
        return False
    sums = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    counted = X[np.flatnonzero(sums > 0)]
    sums = sums[sums > 0]
    if len(sums) < 2 or sums.max() - sums.min() > _EQUAL_SUMS * sums.max():
        return False
    if sp.issparse(counted):
        counted = _only_columns_that_occur(counted)
    apart = float(_dense_row(counted.max(axis=0) - counted.min(axis=0)).max())
    return apart == 0 or bool(sums.max() - sums.min() <= 0.1 * apart)


def _only_columns_that_occur(X: Any) -> Any:
    """Sparse rows without their empty columns: what is found of each column must not cost as much
    as the width says."""
    columns, places = np.unique(X.indices, return_inverse=True)
    return sp.csr_matrix((X.data, places, X.indptr), shape=(X.shape[0], len(columns)))


def _dense_row(row: Any) -> NDArray[np.float64]:
    return np.asarray(row.todense() if sp.issparse(row) else row, dtype=np.float64)


def candidates(X: Matrix, *, nonnegative: bool, fixed_width: bool) -> tuple[str, ...]:
    """The scalings worth trying on checked rows; the first is the default.

    ``nonnegative``: the kernel takes nothing below 0. ``fixed_width``: it has a centre, which is
    meant for values as they are.
    """
    values = X.data if sp.issparse(X) else X
    as_is = ("none",) if not nonnegative or not values.size or values.min() >= 0 else ()
    if fixed_width or are_histograms(X):
        return ("none",)
    if sp.issparse(X):
        return ("max", *as_is) if X.shape[1] <= WIDEST else ("none",)
    signed = () if nonnegative else ("standard",)
    return ("minmax", *as_is, "quantile", *signed, "minmax+complement", "quantile+complement")
