"""Models whose scores are sums over columns, and the rows that these sums are centred on.

The score of a row is the intercept and a sum of parts of columns. On codes with winners each slot
has a term, which belongs to the columns that won it (`CodeParts`), or is divided among the tests on
the way to the leaf of a tree (`LeafParts`); an exact min-max kernel is itself a sum over columns
(`SupportParts`). The first is on average what the last is. An average has the parts of its members
(`AverageParts`).

From the parts of a column their mean over some rows is subtracted, the background, and added to the
intercept: so the values of a column average 0 there, and the constant becomes the mean score.
Whatever is subtracted, values and constant add up to the score.

Nothing is subtracted from the terms of single slots. To centre them first, by the mean of each slot
or by one for all, was measured to be worse: winners and weights of a slot depend on each other, and
so does what would be taken from a column on its value. On Friedman 1, with four scalings and two
sizes, contributions followed the true effects of columns less closely in all cases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import checks, counted
from kernelight.base.checks import Matrix
from kernelight.estimators.average_model import AverageModel, Member
from kernelight.estimators.support_model import SupportModel
from kernelight.kernels.base import MinMaxForm
from kernelight.kernels.column_parts import column_parts
from kernelight.linear.code_scores import Attributed, CodeScorer, Columns
from kernelight.maps.base import CodeMap
from kernelight.maps.partitions.forest_leaves import ForestLeaves
from kernelight.maps.scaled_map import ScaledMap

MOST_ROWS = 500  # of a background: spreads are then known to some percent
FEWEST_ROWS = 50
MOST_KEPT = 1 << 20  # columns times scores of a background that a model keeps
MOST_VALUES = 1 << 26  # of contributions that are returned at once: half a gigabyte
_WORK = 1 << 21  # winners, or pairs of rows, or values, of all background rows
_BLOCK_VALUES = 1 << 20  # of results that exist at once


class Parts(NamedTuple):
    """What each column adds to each score, and its standard error: (n, columns, m) both."""

    values: NDArray[np.float64]
    errors: NDArray[np.float64]


@dataclass(frozen=True)
class Background:
    """What is subtracted from the parts of columns, and how far they are spread.

    In the units of the model's scores, which has m of them.
    """

    means: NDArray[Any]  # (columns, m)
    spreads: NDArray[Any]  # (columns,) standard deviations; of several scores, the root mean square

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a state holds."""
        return {"means": self.means, "spreads": self.spreads}

    def rounded(self) -> Background:
        """The same in half precision, as a model keeps it, which is its weights and little more.

        What is subtracted is also added to the constant, so that rounding moves no sum.
        """
        most = float(np.finfo(np.float16).max)
        means, spreads = (
            np.clip(each, -most, most).astype(np.float16) for each in (self.means, self.spreads)
        )
        return Background(means, spreads)

    def check(self, n_columns: int, n_scores: int) -> None:
        """Refuse arrays that are not of such a model: a state may hold anything."""
        wanted = {"means": (n_columns, n_scores), "spreads": (n_columns,)}
        for name, array in self.arrays().items():
            shape = wanted[name]
            checks.check_learned(f"{name} of the background", array, ("float16",), len(shape))
            if array.shape != shape:
                raise ValueError(
                    f"{name} of the background must have the shape {shape}, got {array.shape}."
                )
        if (self.spreads < 0).any():
            raise ValueError("spreads of the background must not be negative.")

    def folded(self, columns: NDArray[np.int64], count: int) -> Background:
        """The same for columns that each of these columns is a part of; without spreads."""
        sums = np.zeros((count, self.means.shape[1]))
        np.add.at(sums, columns, self.means.astype(np.float64))
        return Background(sums, np.zeros(count))


class Additive(ABC):
    """A model of scaled rows whose scores are sums over columns."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    @property
    @abstractmethod
    def intercept(self) -> NDArray[np.float64]:
        """The score without the parts of columns, (m,)."""

    @property
    @abstractmethod
    def row_work(self) -> int:
        """Winners of a row, or its pairs with support rows."""

    @abstractmethod
    def parts(self, rows: Matrix) -> Parts:
        """The parts of columns in the scores of scaled rows."""

    def values(self, rows: Matrix) -> NDArray[np.float64]:
        """`parts` without standard errors."""
        return self.parts(rows).values

    @property
    def n_scores(self) -> int:
        """How many scores a row has."""
        return len(self.intercept)

    def blocks(self, rows: Matrix) -> Iterator[tuple[slice, Matrix]]:
        """Rows in blocks whose results fit into memory."""
        width = max(1, self.columns.total * self.n_scores, self.row_work // 4)
        step = max(1, _BLOCK_VALUES // width)
        for start in range(0, rows.shape[0], step):
            some = slice(start, min(start + step, rows.shape[0]))
            yield some, rows[some]


class CodeParts(Additive):
    """A linear model on codes that have winners."""

    def __init__(self, feature_map: CodeMap, model: Any, columns: Columns) -> None:
        super().__init__(columns)
        self._map, self._model = feature_map, model

    @property
    def intercept(self) -> NDArray[np.float64]:
        return np.asarray(self._model.intercept_)

    @property
    def row_work(self) -> int:
        return self._map.n_winners

    def values(self, rows: Matrix) -> NDArray[np.float64]:
        return self._attribute(rows, squares=False).values

    def parts(self, rows: Matrix) -> Parts:
        values, squares = self._attribute(rows, squares=True)
        assert squares is not None
        k = int(self._model.n_slots_)
        # terms of slots are independent: the variance of their sum is k times that of one
        variance = np.maximum(squares - np.square(values) / k, 0.0)
        return Parts(values, np.sqrt(variance * (k / (k - 1) if k > 1 else np.nan)))

    def _attribute(self, rows: Matrix, *, squares: bool) -> Attributed:
        codes, winners = self._map.encode_with_winners(rows)
        scorer: CodeScorer = self._model.code_scorer()
        resources = checks.resources(self._model.n_jobs)
        return scorer.attribute(codes, winners, self.columns, resources, squares=squares)


class LeafParts(CodeParts):
    """A linear model on the leaves of a forest: each test on the way to a leaf has its part.

    To share the weight of a leaf evenly among the tests above it, as `CodeParts` does, is worse: on
    Friedman 1 such parts have correlations below 0.75 with the true effects of columns, and these
    have more than 0.9 (tests/unit/estimators/test_leaf_parts.py).
    """

    def __init__(self, feature_map: ForestLeaves, model: Any, columns: Columns) -> None:
        super().__init__(feature_map, model, columns)
        k = int(model.n_slots_)
        coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64)).T / np.sqrt(k)
        steps = feature_map.path_steps(coef.reshape(k, -1, coef.shape[1]))
        of_column = steps.columns
        if columns.of_feature is not None:
            of_column = np.asarray(columns.of_feature)[of_column]
        self._roots = steps.roots.sum(axis=0)
        # a column that is tested several times above a leaf has one part in it
        places, which = np.unique(steps.leaves * columns.total + of_column, return_inverse=True)
        rows, indices = np.divmod(places, columns.total)
        starts = np.searchsorted(rows, np.arange(len(coef) + 1))
        self._parts_of_leaves = [
            sp.csr_array(
                (np.bincount(which, step, len(places)), indices, starts),
                shape=(len(coef), columns.total),
            )
            for step in steps.steps.T
        ]

    @property
    def intercept(self) -> NDArray[np.float64]:
        """That of the model, and the worths of the roots, from which all paths begin."""
        return np.asarray(self._model.intercept_ + self._roots)

    def _attribute(self, rows: Matrix, *, squares: bool) -> Attributed:
        codes = self._map.encode(rows).array.astype(np.int64)
        n, k = codes.shape
        places = codes + np.arange(k) * (self._parts_of_leaves[0].shape[0] // k)
        fallen = sp.csr_array(
            (np.ones(n * k), places.ravel(), np.arange(0, n * k + 1, k)),
            shape=(n, self._parts_of_leaves[0].shape[0]),
        )
        values = [(fallen @ part).toarray() for part in self._parts_of_leaves]
        of_squares = None
        if squares:
            each = [(fallen @ part.power(2)).toarray() for part in self._parts_of_leaves]
            of_squares = np.stack(each, axis=2)
        return Attributed(np.stack(values, axis=2), of_squares)


class SupportParts(Additive):
    """A model of the exact min-max kernel."""

    def __init__(self, model: SupportModel, form: MinMaxForm, columns: Columns) -> None:
        super().__init__(columns)
        self._model, self._form = model, form

    @property
    def intercept(self) -> NDArray[np.float64]:
        return self._model.duals.intercept

    @property
    def row_work(self) -> int:
        return int(self._model.rows.shape[0])

    def parts(self, rows: Matrix) -> Parts:
        prepared, duals = self._model.kernel.prepare(rows), self._model.duals.coefficients
        values, rest = column_parts(self._form, prepared, self._model.prepared, duals)
        values = self._folded(values) + rest[:, :, None] / self.columns.total
        values = np.ascontiguousarray(values.transpose(0, 2, 1))
        return Parts(values, np.zeros_like(values))

    def _folded(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, m, features) as (n, m, columns)."""
        of_feature, n_features, count = self.columns
        if of_feature is None:
            return values
        ones = (np.ones(n_features), (np.arange(n_features), of_feature))
        fold = sp.csr_array(ones, shape=(n_features, count))
        n, m, _ = values.shape
        return np.asarray(values.reshape(n * m, n_features) @ fold).reshape(n, m, count)


class AverageParts(Additive):
    """An average of models that are sums over columns; ``parts`` has one for each member."""

    def __init__(self, members: Sequence[Member], parts: Sequence[Additive]) -> None:
        super().__init__(parts[0].columns)
        self._members, self._parts = members, parts
        self._factors = [1 / (len(parts) * member.unit) for member in members]

    @property
    def intercept(self) -> NDArray[np.float64]:
        each = [part.intercept for part in self._parts]
        return np.asarray(sum(map(np.multiply, self._factors, each)))

    @property
    def row_work(self) -> int:
        return sum(part.row_work for part in self._parts)

    def values(self, rows: Matrix) -> NDArray[np.float64]:
        each = [part.values(own) for part, own in self._scaled(rows)]
        return np.asarray(sum(map(np.multiply, self._factors, each)))

    def parts(self, rows: Matrix) -> Parts:
        each = [part.parts(own) for part, own in self._scaled(rows)]
        values = sum(factor * one.values for factor, one in zip(self._factors, each, strict=True))
        # members have random numbers of their own
        squares = (
            np.square(factor * one.errors) for factor, one in zip(self._factors, each, strict=True)
        )
        return Parts(np.asarray(values), np.sqrt(sum(squares)))

    def _scaled(self, rows: Matrix) -> Iterator[tuple[Additive, Matrix]]:
        """Each member with the rows as it scales them."""
        for member, part in zip(self._members, self._parts, strict=True):
            yield part, member.scaled_map.scaling(rows)


def additive(scaled_map: ScaledMap, model: Any, columns: Columns) -> Additive:
    """The model as a sum over columns; a ValueError says why it is none."""
    feature_map = scaled_map.feature_map
    if isinstance(model, AverageModel):
        # rows come as they are, so that a feature of the average is one before any scaling
        scalings = [member.scaled_map.scaling for member in model.members]
        of_members = [
            columns_of(
                scaling.n_features_out, scaling.n_features, columns.of_feature, columns.total
            )
            for scaling in scalings
        ]
        parts = [
            additive(member.scaled_map, member.model, own)
            for member, own in zip(model.members, of_members, strict=True)
        ]
        return AverageParts(model.members, parts)
    if isinstance(model, SupportModel):
        form = model.kernel.minmax_form
        if form is not None:
            return SupportParts(model, form, columns)
        what = f"the kernel {model.kernel!r}"
    else:
        if isinstance(feature_map, ForestLeaves):
            return LeafParts(feature_map, model, columns)
        if isinstance(feature_map, CodeMap) and feature_map.has_winners:
            return CodeParts(feature_map, model, columns)
        what = f"a {type(feature_map).__name__}"
    raise ValueError(
        f"A score by {what} is no sum over columns, so that there is nothing to explain it by: use "
        "scikit-learn's permutation_importance for the importance of columns, or fit a model of a "
        'min-max kernel, such as kernel="gmm".'
    )


def n_background_rows(model: Additive) -> int:
    """How many background rows are enough, and not too expensive."""
    of_row = max(1, model.row_work, model.columns.total * model.n_scores)
    return int(min(MOST_ROWS, max(FEWEST_ROWS, _WORK // of_row)))


def background_of(
    model: Additive, rows: Matrix, weight: NDArray[np.float64] | None = None
) -> Background:
    """Means and spreads over scaled rows; a row of weight 2 counts as two."""
    fractions = np.ones(rows.shape[0]) if weight is None else weight
    fractions = fractions / fractions.sum()
    shape = (model.columns.total, model.n_scores)
    mean, square = np.zeros(shape), np.zeros(shape)
    for some, block in model.blocks(rows):
        values = model.values(block)
        mean += np.tensordot(fractions[some], values, axes=1)
        square += np.tensordot(fractions[some], np.square(values, out=values), axes=1)
    variance = np.maximum(square - np.square(mean), 0.0)
    return Background(mean, np.sqrt(variance.mean(axis=1)))


def columns_of(
    scaling_features: int, n_features: int, column_of: NDArray[np.int64] | None, count: int
) -> Columns:
    """The columns of scaled features: a complement belongs to the column that it is one of.

    ``column_of`` is the column of each feature before the scaling; None is the feature itself.
    """
    if column_of is None and scaling_features == n_features:
        return Columns(None, n_features, count)
    unscaled = np.arange(scaling_features, dtype=np.int64) % n_features
    return Columns(unscaled if column_of is None else column_of[unscaled], scaling_features, count)


def refuse_many_values(n_rows: int, n_columns: int, n_scores: int) -> None:
    """Refuse rows whose contributions and standard errors would take more than a gigabyte."""
    if n_rows * n_columns * n_scores > MOST_VALUES:
        raise ValueError(
            f"The contributions of {counted(n_columns, 'column')} to {counted(n_scores, 'score')} "
            f"of {counted(n_rows, 'row')} are more than {MOST_VALUES:,} numbers: explain at most "
            f"{counted(max(1, MOST_VALUES // (n_columns * n_scores)), 'row')} at a time."
        )
