"""How well random cosines agree with labels: sums of each cosine over the rows of each class.

Candidate l is the frequency w_l of the Gaussian projection of a seed. As a pair it stands for
cos(w_l . x) and sin(w_l . x) and scores |sum_i t_i e^{i w_l . x_i}|^2, which no phase changes;
alone it is cos(w_l . x + b_l), and its score belongs to the frequency together with its phase b_l.
The targets t are class indicators minus their means, summed over classes, or centred numbers.

Memory beyond the rows: tables of 1,024 candidates, 16 MB of cosines, 16 bytes for each class and
candidate of a block.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from kernelight import _core
from kernelight.base import counted
from kernelight.base.checks import Matrix, Resources
from kernelight.kernels.prepare import is_sparse
from kernelight.maps.projections.chi2_ball import centred_scores
from kernelight.maps.projections.projection import (
    KEPT_BYTES,
    PROJECTED_BYTES,
    Selected,
    only_used_columns,
)
from kernelight.maps.projections.readouts import FourierReadout, RowRule

_SUM_BYTES = 8 << 20
_MOST_CANDIDATES = 1024  # of a block
_KINDS = ("binary", "multiclass", "continuous")


class Target(NamedTuple):
    """What features are to agree with.

    Class indicators for each row, or a centred number.
    """

    rows: Any
    counts: NDArray[np.int64] | None

    def scores(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores from the sums of each feature, weighted with each column of ``rows``.

        Numbers are centred already.
        """
        return np.square(sums[0]) if self.counts is None else centred_scores(sums, self.counts)


def target_of(y: Any, n_rows: int, owner: str) -> Target:
    """Class labels of any type, or numbers with fractions, as a target."""
    if y is None:
        raise ValueError(
            f"{owner} requires y to be passed, but the target y is None: its features are chosen "
            "by labels; RandomFourier needs none."
        )
    if isinstance(y, np.ma.MaskedArray) and np.ma.getmaskarray(y).any():
        raise ValueError("y has masked entries: drop their rows first.")
    if np.asarray(y).dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers.")
    if getattr(getattr(y, "dtype", None), "kind", "") == "O":
        y = np.asarray(list(np.ravel(y)))  # whole numbers in a column of objects are whole numbers
    kind = _kind_of(y)
    if kind not in _KINDS:
        raise ValueError(
            f"Unknown label type: {owner} takes one class label or number a row, and y is "
            f"{kind!r}; pass one column of numbers, or of text."
        )
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(
            f"X has {counted(n_rows, 'row')} but y has {counted(len(y), 'label')}: each row needs "
            "one."
        )
    if kind == "continuous":
        return Target(_indicators(np.zeros(n_rows, np.int64), 1, _centred(y)), None)
    classes, codes = np.unique(y, return_inverse=True)
    return Target(_indicators(codes, len(classes), np.ones(n_rows)), np.bincount(codes))


def _kind_of(y: Any) -> str:
    """scikit-learn's word for a target."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # NaN is cast before it is refused
            return str(type_of_target(y, input_name="y"))
    except TypeError as error:
        why = str(error).rstrip(".")
        raise ValueError(
            f"The labels y cannot be sorted into classes ({why}): use numbers or text throughout."
        ) from error


def _centred(y: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers minus their mean, the largest of size 1: scores are only compared."""
    y = y / max(float(np.abs(y).max()), np.finfo(np.float64).tiny)
    y = y.astype(np.float64) - y.mean(dtype=np.float64)
    return np.asarray(y / (np.abs(y).max() or 1.0))


def _indicators(codes: NDArray[np.int64], n_classes: int, values: NDArray[np.float64]) -> Any:
    """One value a row, in the column of its class."""
    rows = np.arange(len(codes) + 1)
    return sp.csr_array((values.astype(np.float32), codes, rows), shape=(len(codes), n_classes))


@dataclass(frozen=True)
class Candidates:
    """The cosines among which labels choose; candidate l is a function of the seed and of l."""

    n_features: int
    seed: int
    factor: float
    pairs: bool

    def projection(
        self, chosen: NDArray[np.int64], columns: NDArray[np.uint64] | None = None
    ) -> Selected:
        """The projection of the chosen candidates; ``columns`` if rows hold only some columns."""
        n_features = self.n_features if columns is None else len(columns)
        return Selected("gaussian", n_features, chosen, self.seed, self.factor, columns)

    def phases(self, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """b_l in turns."""
        phases = np.empty(int(chosen.max()) + 1, dtype=np.float32)
        _core.fill_phases(self.seed, phases)
        return phases[chosen]

    def scores(
        self, X: Matrix, rule: RowRule, target: Target, n_candidates: int, resources: Resources
    ) -> NDArray[np.float64]:
        """How well each of the first candidates agrees with the target."""
        columns = None
        if is_sparse(X) and X.nnz:
            # Narrow the rows once: entries of other columns would be drawn for nothing.
            X, columns = only_used_columns(X)
        width = min(
            _MOST_CANDIDATES,
            KEPT_BYTES // (4 * X.shape[1]),
            _SUM_BYTES // (16 * target.rows.shape[1]),
        )
        width = max(1, width // _core.TILE) * _core.TILE
        blocks = [
            np.arange(at, min(at + width, n_candidates)) for at in range(0, n_candidates, width)
        ]
        return np.concatenate(
            [
                self._block_scores(
                    X, rule, target, block, self.projection(block, columns), resources
                )
                for block in blocks
            ]
        )

    def _block_scores(
        self,
        X: Matrix,
        rule: RowRule,
        target: Target,
        block: NDArray[np.int64],
        projection: Selected,
        resources: Resources,
    ) -> NDArray[np.float64]:
        shift = np.zeros(0, dtype=np.float32) if self.pairs else self.phases(block)
        readout = FourierReadout(self.pairs, 1.0, shift, exact=True)
        sums = np.zeros((target.rows.shape[1], len(block) * (2 if self.pairs else 1)))
        step = max(1, PROJECTED_BYTES // (8 * len(block)))
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, begin + step)
            sums += target.rows[rows].T @ projection.read(X[rows], rule, readout, resources)[0]
        scores = target.scores(sums)
        return scores[0::2] + scores[1::2] if self.pairs else scores
