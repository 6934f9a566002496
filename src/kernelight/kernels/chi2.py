"""The arc cosine of the chi-square similarity, for histograms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, check_nonnegative
from kernelight.kernels.base import Kernel, finish
from kernelight.kernels.pairs import CHI2, pair_sums
from kernelight.kernels.prepare import unit_rows


@dataclass(frozen=True)
class AcosChi2(Kernel):
    """K(u, v) = 1 - arccos(rho) / pi of nonnegative rows of sum 1, rho the chi-square similarity.

    rho = sum_i 2 u_i v_i / (u_i + v_i).

    See Also
    --------
    Acos : Of the cosine.
    kernelight.theory.sign_cauchy_collision : What signs of Cauchy projections agree by.

    Examples
    --------
    >>> from kernelight.kernels import AcosChi2
    >>> AcosChi2()([[1, 2, 3]], [[3, 0, 1]]).round(6)
    array([[0.707251]])
    """

    name = "acos_chi2"
    nonnegative = True

    def _rows(self, X: Matrix, name: str) -> Matrix:
        check_nonnegative(
            X, name=name, owner="AcosChi2", instead="use Acos or GMM, which take signs."
        )
        return unit_rows(X, order=1)

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        # With q = sum (u - v)^2 / (u + v), rho = 1 - q/2 and arccos(rho) = 2 arcsin(sqrt(q) / 2).
        # Nearly equal dense rows keep all their digits, where rho itself would have rounded to 1
        # (lists of sparse rows only have rho). q is at most 2.
        angle = pair_sums(CHI2, A, B)
        np.minimum(angle, 2, out=angle)
        np.sqrt(angle, out=angle)
        angle *= 0.5
        np.arcsin(angle, out=angle)
        angle *= -2 / math.pi
        angle += 1
        return finish(angle, self, A, B)
