"""`Contributions`: what each column adds to the scores of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.base.checks import as_row_weights, check_int


@dataclass(frozen=True)
class Contributions:
    r"""What each column adds to the score of each row, in the units of the score.

    .. math:: score_i = base_i + \sum_f value_{if}

    to rounding, with the scores of ``decision_function`` or the predictions of a regression. Values
    of a column average 0 over the training rows, and the base value is the mean score there.

    The names are those of `shap.Explanation`, whose plots take ``shap.Explanation(c.values,
    c.base_values, c.data, feature_names=c.feature_names)``. These are no Shapley values: the model
    itself is a sum over columns, and these are its terms.

    Attributes
    ----------
    values : array, (n, d) or (n, d, m)
        The contribution of each column; of each of m scores where there are several.
    base_values : array, (n,) or (n, m)
        The score without the columns, the same for every row.
    data : array, (n, d)
        The values of the columns, as they were given.
    feature_names : list of str
        The names of the columns.
    output_names : list of str
        What each score is of: the classes, or the second one of two; targets are numbered.
    standard_errors : array like ``values``
        How far a value may be off for the hashes that were drawn, by the differences among slots.
        With other seeds values stray by about half of that, because training makes up for hashes in
        part. 0 for models of the exact kernel, NaN with one slot.

    See Also
    --------
    kernelight.ContributionsDisplay : Pictures of them.
    kernelight.KernelClassifier : Its method ``explain`` returns them.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import KernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 3))
    >>> model = KernelRegressor().fit(X, 5 * X[:, 1])
    >>> c = model.explain(X[:20])
    >>> c
    Contributions(20 rows, 3 columns)
    >>> bool(np.allclose(c.base_values + c.values.sum(axis=1), model.predict(X[:20])))
    True
    >>> c.feature_names[int(c.importances().argmax())]
    'column_2'
    >>> c[4].values.shape, c.strongest(4, top=1)[0][0]
    ((3,), 'column_2')
    """

    values: NDArray[np.float64]
    base_values: NDArray[np.float64]
    data: NDArray[Any]
    feature_names: list[str]
    output_names: list[str]
    standard_errors: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.values.shape != self.standard_errors.shape:
            raise ValueError("standard_errors must have the shape of values.")

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        parts = [counted(len(self), "row"), counted(len(self.feature_names), "column")]
        parts += [counted(self.n_outputs, "score")] * (self.n_outputs > 1)
        return f"Contributions({', '.join(parts)})"

    def __getitem__(self, rows: Any) -> Contributions:
        """Some rows, by number, slice or array; a single number gives arrays of one row."""
        return Contributions(
            self.values[rows],
            self.base_values[rows],
            self.data[rows],
            self.feature_names,
            self.output_names,
            self.standard_errors[rows],
        )

    @property
    def n_outputs(self) -> int:
        """How many scores a row has."""
        return len(self.output_names)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The scores that the values add up to, (n,) or (n, m)."""
        return np.asarray(self.base_values + self.values.sum(axis=1))

    def of_output(self, output: int | str) -> Contributions:
        """Those of a single score, by its number or its name."""
        at = self._output(output)
        if self.values.ndim == 2:
            return self
        return Contributions(
            self.values[:, :, at],
            self.base_values[:, at],
            self.data,
            self.feature_names,
            [self.output_names[at]],
            self.standard_errors[:, :, at],
        )

    def _output(self, output: int | str) -> int:
        if isinstance(output, str):
            if output not in self.output_names:
                raise ValueError(
                    f"There is no score of {output!r}: there are those of "
                    f"{', '.join(self.output_names)}."
                )
            return self.output_names.index(output)
        return check_int("output", output, 0, self.n_outputs - 1)

    def importances(self, sample_weight: Any = None) -> NDArray[np.float64]:
        """The spread of the contributions of each column over these rows.

        Their standard deviation, in the units of the score; of several scores, the root of the mean
        variance. A row of weight 2 counts as two.
        """
        if not len(self):
            raise ValueError("Importances need at least one row.")
        weight = None if sample_weight is None else as_row_weights(sample_weight, len(self))
        mean = np.average(self.values, axis=0, weights=weight)
        variance = np.average(np.square(self.values - mean), axis=0, weights=weight)
        return np.asarray(np.sqrt(variance if variance.ndim == 1 else variance.mean(axis=1)))

    def strongest(
        self, row: int, *, output: int | str | None = None, top: int | None = None
    ) -> list[tuple[str, Any, float]]:
        """Name, value and contribution of the columns of a row, the largest contribution first.

        ``output`` is the score; None is that of the highest score of the row.
        """
        row = check_int("row", row, 0, len(self) - 1)
        if output is None:
            output = 0 if self.n_outputs == 1 else int(self.scores[row].argmax())
        values = self.of_output(output).values[row]
        order = np.argsort(-np.abs(values), kind="stable")[: self._top(top)]
        return [(self.feature_names[at], self.data[row, at], float(values[at])) for at in order]

    def _top(self, top: int | None) -> int:
        return len(self.feature_names) if top is None else check_int("top", top, 1)


def joined(parts: Sequence[Contributions]) -> Contributions:
    """Rows of several results of one model, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Contributions(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.base_values for part in parts]),
        np.concatenate([part.data for part in parts]),
        parts[0].feature_names,
        parts[0].output_names,
        np.concatenate([part.standard_errors for part in parts]),
    )
