"""`ExplainedModel`: `explain` and `feature_importances_` of a fitted estimator."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelight.base.checks import Matrix
from kernelight.data.encoding import Encoding
from kernelight.estimators import preprocessing
from kernelight.estimators.additive import (
    MOST_KEPT,
    Additive,
    Background,
    additive,
    background_of,
    columns_of,
    n_background_rows,
    refuse_many_values,
)
from kernelight.estimators.contributions import Contributions
from kernelight.estimators.routes import spread
from kernelight.estimators.support_model import SupportModel
from kernelight.maps.scaled_map import ScaledMap


class ExplainedModel(ABC):
    """What `KernelModel` has for explanations; it has all of its attributes."""

    #: What `explain` centres on; None where it is not kept (see `_known_background`).
    background_: Background | None
    scaled_map_: ScaledMap
    model_: Any
    n_features_in_: int

    @property
    @abstractmethod
    def _encoding(self) -> Encoding | None: ...

    @property
    @abstractmethod
    def _column_names(self) -> list[str]: ...

    @abstractmethod
    def _validated(self, X: Any, *, reset: bool) -> Matrix: ...

    @abstractmethod
    def _score_units(self) -> tuple[Any, Any]:
        """Unit and zero of the scores that a user sees, in those of the model."""

    @property
    @abstractmethod
    def output_names_(self) -> list[str]:
        """What each score is of: classes (of two, the second one), or targets."""

    def explain(self, X: Any, *, background: Any = None) -> Contributions:
        """What each column of X adds to the score of each row; see `Contributions`.

        A slot of a min-max code is won by one column of a row, so that the terms of a linear model
        on codes belong to columns; an exact min-max kernel is itself a sum over columns. Values and
        base value of a row add up to its score. A column has everything that came of it: its
        complement and both signs, the features of its words, the parts of a date. Where a slot has
        several winners (a kernel with gamma) they share it equally.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, d)
            As for `predict`.
        background : as X, or None, default=None
            Rows over which contributions average 0. None means training rows, up to 500 of them,
            and of an exact SVM its support rows. Models that have learned from later batches,
            and files of earlier versions, do not know theirs.

        Returns
        -------
        Contributions
        """
        check_is_fitted(self)
        given = preprocessing.as_table_or_array(X)
        matrix = self._validated(given, reset=False)
        model = self._own_additive()
        refuse_many_values(matrix.shape[0], model.columns.total, model.n_scores)
        if background is None:
            known = self._required_background()
        else:
            rows = self._validated_background(background)
            known = background_of(model, self.scaled_map_.scaling(rows))
        return self._explained(
            model, matrix, known, self._column_names, preprocessing.cells_of(given)
        )

    def _validated_background(self, background: Any) -> Matrix:
        """Checked rows; an error is about ``background``, not about X."""
        try:
            return self._validated(background, reset=False)
        except (TypeError, ValueError) as error:
            said = re.sub(r"\bX\b", "background", str(error))
            said = said if "background" in said else f"background: {said}"
            raise type(error)(said) from error

    def explain_features(
        self,
        X: Matrix,
        names: list[str],
        column_of: NDArray[np.int64] | None,
        background: Matrix | None = None,
        *,
        data: NDArray[Any],
    ) -> Contributions:
        """`explain` of features of a table, to which this model was fitted.

        ``column_of[f]`` is the column of feature f, of ``names``; None: a feature is a column.
        ``data`` are the cells of the columns.
        """
        model = self._additive(column_of, len(names))
        if background is not None:
            known = background_of(model, self.scaled_map_.scaling(background))
        else:
            known = self._required_background()
            if column_of is not None:
                known = known.folded(column_of, len(names))
        return self._explained(model, X, known, names, data)

    def _explained(
        self, model: Additive, X: Matrix, known: Background, names: list[str], data: NDArray[Any]
    ) -> Contributions:
        shape, scaling = (X.shape[0], len(names), model.n_scores), self.scaled_map_.scaling
        values, errors = np.empty(shape), np.empty(shape)
        for some, rows in model.blocks(X):
            values[some], errors[some] = model.parts(scaling(rows))
        means = known.means.astype(np.float64)
        values -= means
        unit, zero = self._score_units()
        base = (model.intercept + means.sum(axis=0)) * unit + zero
        base = np.repeat(base[None], X.shape[0], axis=0)
        values *= unit
        errors *= unit
        if model.n_scores == 1:
            values, base, errors = values[..., 0], base[..., 0], errors[..., 0]
        return Contributions(values, base, data, list(names), self.output_names_, errors)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The importance of each column: how far its contributions are spread over training rows.

        Standard deviations over up to 500 rows (of several scores, the root of the mean square),
        divided by their sum. Only where there is `explain`.
        """
        check_is_fitted(self)
        try:
            known = self._required_background()
        except ValueError as error:  # as scikit-learn asks for what is not there
            raise AttributeError(str(error)) from error
        spreads = known.spreads.astype(np.float64)
        total = spreads.sum()
        return np.asarray(spreads / total if total > 0 else spreads)

    def learn_background(
        self, X: Matrix, weight: NDArray[np.float64] | None = None, *, scaled: bool = False
    ) -> None:
        """Keep what `explain` centres on, of some of these features, where there is a use for it.

        A model of the exact kernel has its support rows, and needs nothing more.
        """
        self.background_ = None
        if isinstance(self.model_, SupportModel):
            return
        try:
            model = self._own_additive()
        except ValueError:
            return
        if model.columns.total * model.n_scores <= MOST_KEPT:
            rows = spread(X.shape[0], n_background_rows(model))
            some = X[rows] if scaled else self.scaled_map_.scaling(X[rows])
            weight = None if weight is None else weight[rows]
            self.background_ = background_of(model, some, weight).rounded()

    def _column_of_feature(self) -> NDArray[np.int64] | None:
        encoding = self._encoding
        return None if encoding is None else encoding.column_of_feature(self._column_names)

    def _own_additive(self) -> Additive:
        """The model as a sum over the columns of X."""
        return self._additive(self._column_of_feature(), self.n_features_in_)

    def _additive(self, column_of: NDArray[np.int64] | None, n_columns: int) -> Additive:
        scaling = self.scaled_map_.scaling
        columns = columns_of(scaling.n_features_out, scaling.n_features, column_of, n_columns)
        return additive(self.scaled_map_, self.model_, columns)

    def _required_background(self) -> Background:
        known = self._known_background()
        if known is None:
            wide = self.n_features_in_ > MOST_KEPT
            why = (
                "has too many columns to keep"
                if wide
                else "has learned from later batches, or comes from a file of an earlier version, "
                "and does not know"
            )
            raise ValueError(
                f"This model {why} the rows that contributions are centred on: pass some, as in "
                f"explain(X, background=rows){'' if wide else ', or fit it again'}."
            )
        return known

    def _known_background(self) -> Background | None:
        """The background of ``fit``; None if it is not known.

        That of an exact kernel is made of its support rows when it is first asked for; for kernel
        ridge regression these are all training rows.
        """
        model = self._own_additive()  # refuses a model that is no sum over columns
        if not isinstance(self.model_, SupportModel):
            return getattr(self, "background_", None)  # older pickles have none
        made: tuple[Any, Background] | None = self.__dict__.get("_made_background")
        if made is None or made[0] is not self.model_:
            rows = spread(self.model_.rows.shape[0], n_background_rows(model))
            lesson = self.model_.lesson
            weight = None if lesson is None or lesson.weight is None else lesson.weight[rows]
            made = self.model_, background_of(model, self.model_.rows[rows], weight)
            self._made_background = made
        return made[1]

    def _background_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of a state; none where there is no background."""
        stored: Background | None = getattr(self, "background_", None)
        arrays = {} if stored is None else stored.arrays()
        return {f"background.{name}": array for name, array in arrays.items()}

    def _check_background(self) -> None:
        """Refuse a background that is not of this model: a state may hold anything."""
        if self.background_ is not None:
            model = self._own_additive()
            self.background_.check(model.columns.total, model.n_scores)
