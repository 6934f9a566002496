"""What every exact kernel is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, as_matrix, check_same_width
from kernelight.kernels.prepare import row_peaks

if TYPE_CHECKING:
    from kernelight.kernels.product import Product
    from kernelight.kernels.sum import Sum


class MinMaxForm(NamedTuple):
    """min-max of rows to the power ``p``, or exp(-gamma (1 - it)) where there is a ``gamma``."""

    p: float = 1.0
    gamma: float | None = None


@dataclass(frozen=True)
class Kernel(ABC):
    """An immutable similarity of rows: ``K(X, Y) = K.pairwise(K.prepare(X), K.prepare(Y))``.

    Rows may be dense or sparse, float32 or float64; anything else is converted. The result is a
    dense (n, m) array, float32 when both matrices are float32 and float64 otherwise. A kernel is a
    plain callable on two matrices, so ``sklearn.svm.SVC(kernel=K)`` takes it as it is. ``K1 * K2``
    is the product kernel, ``K1 + K2`` the sum.

    A row of zeros has similarity 0 to everything, itself included, unless ``zero_is_a_point``.

    See Also
    --------
    get : A kernel by its name.
    kernelight.feature_map : The map of a kernel.

    Examples
    --------
    >>> from kernelight.kernels import GMM
    >>> K = GMM()
    >>> X = [[1, 2], [2, 1]]
    >>> bool((K(X) == K.pairwise(K.prepare(X), K.prepare(X))).all())
    True
    """

    name: ClassVar[str]
    #: Whether rows must not hold negative values; `prepare` refuses them.
    nonnegative: ClassVar[bool] = False
    #: Whether a row of zeros is a row like any other, as for kernels of distances.
    zero_is_a_point: ClassVar[bool] = False
    #: The c of a `dissimilarity` c |a - b|^2 of prepared rows a and b; None if it is another one.
    #: The rule ``gamma="scale"`` is for squared distances; elsewhere the median pair decides.
    square_factor: ClassVar[float | None] = None

    def prepare(self, X: Any, *, name: str = "X") -> Any:
        """The checked rows as `pairwise` compares them; errors call the matrix ``name``."""
        return self._rows(as_matrix(X, name=name), name)

    @abstractmethod
    def _rows(self, X: Matrix, name: str) -> Any:
        """`prepare` for a matrix that is already in the form of ``as_matrix``."""

    @abstractmethod
    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        """The kernel of each prepared row of ``A`` with each of ``B`` (of ``A`` if None)."""

    def __call__(self, X: Any, Y: Any = None) -> NDArray[Any]:
        """The kernel of each row of ``X`` with each of ``Y``; exactly symmetric without ``Y``."""
        rows = as_matrix(X)
        if Y is None or Y is X:
            return self.pairwise(self._rows(rows, "X"))
        others = as_matrix(Y, name="Y")
        check_same_width(rows, others)
        return self.pairwise(self._rows(rows, "X"), self._rows(others, "Y"))

    def diag(self, X: Any) -> NDArray[Any]:
        """The kernel of each row of ``X`` with itself, without the other pairs."""
        return self._diagonal(self.prepare(X))

    def dissimilarity(self, X: Any) -> NDArray[np.float64]:
        """d(u, v) of each pair of rows of ``X``, where the kernel is exp(-gamma d(u, v)).

        Estimators choose gamma by it (``gamma="tune"`` and ``"scale"``). A kernel that has a gamma
        but no such d leaves it undefined: users then give gamma as a number.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define dissimilarity.")

    @property
    def minmax_form(self) -> MinMaxForm | None:
        """How the kernel is made of the min-max of prepared rows; None if it is another kernel.

        Such kernels are sums over columns: see `column_parts`.
        """
        return None

    def _diagonal(self, A: Any) -> NDArray[Any]:
        """The kernel of each prepared row with itself."""
        if self.zero_is_a_point:
            return np.full(A.shape[0], self._of_itself(), A.dtype)
        return np.asarray(self._of_itself() * (row_peaks(A) != 0), dtype=A.dtype)

    def _of_itself(self) -> float:
        """The kernel of a row that is not zero with itself."""
        return 1.0

    def __mul__(self, other: Any) -> Product:
        from kernelight.kernels.product import Product

        if not isinstance(other, Kernel):
            return NotImplemented
        return Product((self, other))

    def __add__(self, other: Any) -> Sum:
        from kernelight.kernels.sum import Sum

        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum((self, other))


# 1 - s of a similarity s is 0 or at least 2^-54, so a gamma above this one changes no result: exp
# is 0 there in any case. In single precision a larger gamma would be infinite, and 0 times infinity
# is NaN.
_DECISIVE = 1e30


def decayed(similarity: NDArray[Any], gamma: float) -> NDArray[Any]:
    """exp(-gamma (1 - s)) of similarities of at most 1, in place."""
    similarity -= 1
    similarity *= min(gamma, _DECISIVE)
    return np.asarray(np.exp(similarity, out=similarity))


def finish(K: NDArray[Any], kernel: Kernel, A: Matrix, B: Matrix | None) -> NDArray[Any]:
    """``K`` with rows of zeros similar to nothing and, when ``B`` is None, the exact diagonal.

    Rows of zeros are left alone where they are points.
    """
    if not kernel.zero_is_a_point:
        zero_rows = row_peaks(A) == 0
        K[zero_rows] = 0
        K[:, zero_rows if B is None else row_peaks(B) == 0] = 0
    return with_diagonal(K, kernel, A, B)


def with_diagonal(K: NDArray[Any], kernel: Kernel, A: Matrix, B: Matrix | None) -> NDArray[Any]:
    """``K`` with the exact diagonal when ``B`` is None.

    Enough where rows of zeros give 0 anyway.
    """
    if B is None:
        np.fill_diagonal(K, kernel._diagonal(A))
    return K
