"""Ferns: a few random tests of columns together are one slot of a code."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelight import _core
from kernelight.base import checks, counted
from kernelight.base.checks import Resources
from kernelight.codes import Codes
from kernelight.kernels.base import Kernel
from kernelight.maps.partitions.fern_cuts import Cuts, learn_cuts
from kernelight.maps.partitions.fern_kernel import FernKernel
from kernelight.maps.partitions.fern_tests import MAX_DEPTH, MAX_FERNS, FernTests, draw_tests
from kernelight.maps.partitions.partition_map import CoreRows, PartitionMap


class Ferns(PartitionMap):
    r"""Codes of random ferns: a slot is ``depth`` tests "column > value", one bit each.

    A test draws a column, by weight, and compares it with the value that a random training row has
    there. Two rows agree in a slot if no test separates them, with probability

    .. math:: K(u, v) = \Big(1 - \sum_f w_f \, |F_f(u_f) - F_f(v_f)|\Big)^{depth},

    F_f(x) the fraction of training rows below x in column f. Only the order of the values of a
    column matters: no scaling is needed, and thresholds are where rows are. Labels are not looked
    at; weights, such as the importances of a forest, are the place for what is known of them.

    Parameters
    ----------
    n_components : int, default=1024
        Ferns, so slots of a code.
    depth : int, default=8
        Tests of a fern, so bits of a slot, 1 to 16. The low bits of deeper ferns are the shallower
        ones.
    weights : array of n_features numbers or None, default=None
        How often each column is drawn, relative to the others; None draws all alike. Columns that
        do not vary in the training rows are never drawn.
    random_state : int, RandomState, Generator or None, default=0
        An int, together with the training rows, defines the codes.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Attributes
    ----------
    columns_ : (m,) array of int64
        The columns that vary.
    starts_, cuts_, counts_ : arrays
        Column ``columns_[p]`` is compared with ``cuts_[starts_[p]:starts_[p + 1]]``, each drawn as
        often as ``counts_`` says.
    medians_ : (m,) array of float64
        The lower median of each of them.
    seed_ : int
        The seed that ``random_state`` stood for.

    Notes
    -----
    ``expected`` is exact, over seeds, for the rows that ``fit`` has seen; precisely: F_f(x) is the
    probability that the drawn value is below x. It is drawn from the training rows that do not have
    the largest value of their column, of which there are at most 255 different ones: a column with
    more is represented by the rows of 255 evenly spaced ranks. Of more than 65,536 rows so many are
    looked at, evenly spread. Slots are independent, so that ``variance`` is K (1 - K) /
    n_components.

    A number that is missing (NaN) goes to the side on which most training rows are, which is that
    of the lower median. ``fit`` leaves missing numbers out. A row of zeros is a row like any other.

    See Also
    --------
    ForestLeaves : Partitions that labels have taught.
    KernelClassifier : ``kernel="auto"`` uses both.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import Ferns
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> ferns = Ferns(n_components=4096, depth=4).fit(X)
    >>> codes = ferns.encode(X[:2])
    >>> codes.shape, codes.bits
    ((2, 4096), 4)
    >>> float(ferns.kernel(X[:2])[0, 1].round(2)), round(int(codes.collisions()[0, 1]) / 4096, 2)
    (0.7, 0.71)
    """

    _decided: ClassVar[tuple[str, ...]] = ("seed_",)
    _learned: ClassVar[tuple[str, ...]] = ("columns_", "starts_", "cuts_", "counts_", "medians_")

    def __init__(
        self,
        n_components: int = 1024,
        *,
        depth: int = 8,
        weights: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.depth = depth
        self.weights = weights
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Any) -> None:
        """Learn the values of each column that tests compare with. ``y`` is ignored."""
        X = self._read_training(X)
        self.seed_ = checks.seed_of(self.random_state)
        self._check_parameters()
        learned = learn_cuts(X)
        self.columns_, self.starts_ = learned.columns, learned.starts
        self.cuts_, self.counts_, self.medians_ = learned.values, learned.counts, learned.medians
        self._settle()

    def _check_parameters(self) -> None:
        checks.check_int("n_components", self.n_components, 1, MAX_FERNS)
        checks.check_int("depth", self.depth, 1, MAX_DEPTH)
        checked_weights(self.weights, self.n_features_in_)

    def _settle(self) -> None:
        self._check_parameters()
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        checks.resources(self.n_jobs)
        self._check_learned()
        self._weights = self._column_weights()
        self._tests, self._tables = None, None
        if len(self.columns_):
            self._tests = draw_tests(
                self._cuts(), self._weights, int(self.n_components), int(self.depth), self.seed_
            )
            self._tables = self._tests.tables(self._cuts())
        self._learned_digest = self._digest(self._weights)
        self._fitted_params = self._parameters()

    def _check_learned(self) -> None:
        """Refuse learned arrays that do not fit, as a state may hold anything."""
        for name, dtype in zip(
            self._learned, ("int64", "int64", "float64", "uint16", "float64"), strict=True
        ):
            checks.check_learned(name, getattr(self, name), (dtype,), 1)
        columns, starts = self.columns_, self.starts_
        if len(starts) != len(columns) + 1 or len(self.medians_) != len(columns):
            raise ValueError("starts_ must be one number more than columns_, medians_ as many.")
        if starts[0] != 0 or starts[-1] != len(self.cuts_) or len(self.counts_) != len(self.cuts_):
            raise ValueError("starts_ must end at the number of cuts_, and counts_ be as many.")
        sizes = np.diff(starts)
        if len(sizes) and (sizes.min() < 1 or sizes.max() > _core.MOST_CUTS):
            raise ValueError(f"each column must have between 1 and {_core.MOST_CUTS} cuts_.")
        if len(columns) and (
            columns[0] < 0 or columns[-1] >= self.n_features_in_ or (np.diff(columns) <= 0).any()
        ):
            raise ValueError("columns_ must ascend, and be columns of the rows.")
        rising = np.diff(self.cuts_) > 0
        rising[starts[1:-1] - 1] = True  # from one column to the next
        if not rising.all():
            raise ValueError("the cuts_ of a column must ascend.")
        if len(columns) and not (self.counts_ >= 1).all():
            raise ValueError("counts_ must be at least 1.")

    def _cuts(self) -> Cuts:
        return Cuts(self.columns_, self.starts_, self.cuts_, self.counts_, self.medians_)

    def _column_weights(self) -> NDArray[np.float64]:
        """How often each column that varies is drawn, relative to the most frequent."""
        weights = checked_weights(self.weights, self.n_features_in_)
        own = np.ones(len(self.columns_)) if weights is None else weights[self.columns_]
        if len(own) and not own.any():
            raise ValueError(
                "weights are 0 for every column that varies: give one of them a weight above 0."
            )
        return np.asarray(own / (own.max(initial=0.0) or 1.0))  # whose sum cannot overflow

    def _parameters(self) -> tuple[Any, ...]:
        weights = None if self.weights is None else np.asarray(self.weights, np.float64).tobytes()
        return self.n_components, self.depth, weights

    def _follow_parameters(self) -> None:
        if self._fitted_params != self._parameters():
            self._settle()

    def _fill_codes(self, rows: CoreRows, codes: NDArray[Any], use: Resources) -> None:
        _core.encode_ferns(self._tables, *rows, codes, *use)

    def _tests_of_a_row(self) -> int:
        return int(self.n_components) * int(self.depth)

    @property
    def n_winners(self) -> int:
        """The tests of all ferns."""
        return self._tests_of_a_row()

    def _code_bits(self) -> int:
        return int(self.depth)

    @property
    def has_prefix(self) -> bool:
        """True: a fern is a function of its number and of the training rows."""
        return True

    @property
    def kernel(self) -> Kernel:
        """The kernel above, with the columns, weights and cuts of this fit."""
        check_is_fitted(self)
        self._follow_parameters()
        chances = self._weights / (self._weights.sum() or 1.0)
        return FernKernel(self._cuts(), chances, int(self.depth))

    def _exact_pairs(self, X: Any, Y: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        check_is_fitted(self)
        return super()._exact_pairs(X, Y)

    def _expected(self, K: NDArray[np.float64], filled: NDArray[np.bool_]) -> NDArray[np.float64]:
        return K

    def tests(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Column and value of each test, two (n_components, depth) arrays.

        Test i of a fern is bit i of its code: whether the column is above the value. Where no
        column varies there is no test: the columns are -1.
        """
        check_is_fitted(self)
        self._follow_parameters()
        tests: FernTests | None = self._tests
        if tests is None:
            shape = int(self.n_components), int(self.depth)
            return np.full(shape, -1, dtype=np.int64), np.zeros(shape)
        return self.columns_[tests.places], self.cuts_[tests.cuts]

    def column_fractions(self) -> sp.csr_matrix:
        """The fraction of each cell that belongs to each column: that of the tests of its fern.

        A (n_components 2^depth, n_features) matrix; all cells of a fern are alike.
        """
        columns, _ = self.tests()
        n_slots, depth = columns.shape
        if self._tests is None:
            return sp.csr_matrix((n_slots << depth, self.n_features_in_), dtype=np.float32)
        slots = np.repeat(np.arange(n_slots), depth)
        fractions = sp.csr_array(
            (np.full(columns.size, 1.0 / depth), (slots, columns.ravel())),
            shape=(n_slots, self.n_features_in_),
            dtype=np.float32,
        )
        fractions.sum_duplicates()
        return sp.csr_matrix(fractions[np.repeat(np.arange(n_slots), 1 << depth)])

    def columns_of_slots(self, codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The columns of the tests of each fern, the same for all rows: ``features, starts``."""
        self._refuse_foreign(codes)
        columns, _ = self.tests()
        starts = np.arange(columns.shape[0] + 1, dtype=np.int64) * columns.shape[1]
        return columns.reshape(1, -1), starts


def checked_weights(weights: Any, n_features: int) -> NDArray[np.float64] | None:
    """Weights of columns: None, or a finite number of at least 0 for each, not all 0."""
    if weights is None:
        return None
    try:
        array = np.asarray(weights)
    except ValueError:
        array = np.asarray(None)
    if array.shape != (n_features,) or array.dtype.kind not in "biuf":
        raise ValueError(
            f"weights must be {counted(n_features, 'number')}, one for each column, got "
            f"{array.dtype} of the shape {array.shape}."
        )
    array = array.astype(np.float64)
    wrong = ~(np.isfinite(array) & (array >= 0.0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"weights must be finite and at least 0, got {array[at]} for column {at}.")
    return array
