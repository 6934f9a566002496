"""ForestLeaves: the leaves of a forest that was learned from labels, as codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.utils.validation import check_is_fitted

from kernelight import _core
from kernelight.base import checks
from kernelight.base.checks import Matrix, Resources
from kernelight.base.targets import check_target
from kernelight.codes import Codes
from kernelight.codes.slots import MAX_BITS
from kernelight.kernels.base import Kernel
from kernelight.maps.partitions.histogram_forest import (
    MAX_SAMPLES,
    Growth,
    bin_columns,
    columns_looked_at,
    grow_forest,
    importances,
    whole_values,
    whole_weights,
)
from kernelight.maps.partitions.leaf_paths import PathSteps, path_steps
from kernelight.maps.partitions.partition_map import CoreRows, PartitionMap
from kernelight.maps.partitions.trees import Trees, trees_of

FORESTS: dict[tuple[str, bool], Any] = {
    ("random", True): RandomForestClassifier,
    ("random", False): RandomForestRegressor,
    ("extra", True): ExtraTreesClassifier,
    ("extra", False): ExtraTreesRegressor,
}
Self = TypeVar("Self", bound="ForestLeaves")
TASKS = ("auto", "classification", "regression")
MAX_TREES = 1 << 16
MOST_SAMPLES = (1 << 31) - 1  # whose numbers are of 32 bits
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class LeafKernel(Kernel):
    """The fraction of the trees of one forest in which two rows fall into the same leaf."""

    leaves: ForestLeaves
    name = "leaves"
    zero_is_a_point = True

    def _rows(self, X: Matrix, name: str) -> Codes:
        return self.leaves.encode(X)

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        return np.asarray(A.collisions(A if B is None else B) / A.n_components)

    def _diagonal(self, A: Any) -> NDArray[Any]:
        return np.ones(len(A))


class ForestLeaves(PartitionMap):
    r"""Codes of the leaves of a forest: a slot is a tree, its code the leaf that a row falls into.

    Inner products are the kernel of random forests, the fraction of trees in which two rows share a
    leaf. The trees are learned from ``y``; a linear model of the leaves gives each a weight of its
    own, where the forest itself would average. What is learned from labels must be learned again
    for each fold of a validation.

    Parameters
    ----------
    n_estimators : int, default=128
        Trees, so slots of a code.
    max_leaf_nodes : int, default=256
        Leaves of a tree at most, 2 to 65,536; 256 fit into 8 bits.
    forest : {"random", "histogram", "extra"}, default="random"
        "random" is the random forest of scikit-learn: trees of bootstrap samples, with the best
        thresholds of some columns. "histogram" is the same on columns of at most 255 bins, many
        times faster. "extra" are scikit-learn's extremely randomised trees: random thresholds, on
        all rows.
    task : {"auto", "classification", "regression"}, default="auto"
        What ``y`` is: classes, or quantities, of which a row may have several. "auto" takes numbers
        with fractions for quantities, everything else for classes.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Columns that a split chooses among, as in scikit-learn. None is "sqrt" for classes and a
        third for quantities.
    min_samples_leaf : int, default=1
        Training rows of a leaf at least.
    max_samples : int or None, default=None
        Rows that a tree draws at most, with replacement. None is 20,000 for "histogram", all for
        "random"; "extra" takes every row once.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the forest; another number of trees makes another forest.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Attributes
    ----------
    starts_, left_, right_, split_columns_, thresholds_, missing_left_ : arrays
        The trees, node after node: those of tree t are ``starts_[t]`` to ``starts_[t + 1]``.
    importances_ : (n_features,) array of float64
        How much the splits of each column lessen the impurity, scikit-learn's
        ``feature_importances_``; their square roots are good ``weights`` of `Ferns`.
    seed_ : int
        The seed that ``random_state`` stood for.

    Notes
    -----
    Codes are the leaves of scikit-learn's ``apply``, numbered from 0 in each tree in the order of
    their nodes, and need as many bits as the largest tree. As there, numbers are rounded to single
    precision. The state holds the trees as plain arrays.

    Bins of "histogram" are the different values of a column, or ranges between 254 evenly spaced
    ranks of its rows, where there are more. It needs a byte for each row and column, also of sparse
    rows. The same seed grows the same trees on every machine.

    A number that is missing (NaN) goes to the side that its split has for it: what ``fit`` learned
    where some were missing, else the side with more training rows. Sparse rows of ``fit`` must not
    have missing numbers, but for "histogram". A row of zeros is a row like any other.

    See Also
    --------
    Ferns : Random partitions.
    KernelClassifier : ``kernel="auto"`` uses both.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kernelight import ForestLeaves, LinearClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> leaves = ForestLeaves(32, max_leaf_nodes=16).fit(X[::2], y[::2])
    >>> codes = leaves.encode(X)
    >>> codes.shape, codes.bits
    ((569, 32), 4)
    >>> model = LinearClassifier(C=0.1).fit(codes[::2], y[::2])
    >>> model.score(codes[1::2], y[1::2]) > 0.94
    True
    """

    _decided: ClassVar[tuple[str, ...]] = ("seed_",)
    _learned: ClassVar[tuple[str, ...]] = (
        "starts_",
        "left_",
        "right_",
        "split_columns_",
        "thresholds_",
        "missing_left_",
        "importances_",
    )

    def __init__(
        self,
        n_estimators: int = 128,
        *,
        max_leaf_nodes: int = 256,
        forest: str = "random",
        task: str = "auto",
        max_features: Any = None,
        min_samples_leaf: int = 1,
        max_samples: int | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.forest = forest
        self.task = task
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.max_samples = max_samples
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self: Self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn a forest from ``y``, and keep its trees.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,), or (n, m) for m quantities
        sample_weight : array-like of shape (n,) or None, default=None
            What each row counts in the trees.

        Returns
        -------
        self
        """
        with self._trial() as trial:
            trial._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        X = self._read_training(X)
        self._check_parameters()
        classes, target = self._target(y, X.shape[0])
        self.seed_ = checks.seed_of(self.random_state)
        weight = sample_weight
        if weight is not None:
            weight = checks.as_row_weights(weight, X.shape[0])
        learn = self._grown if self.forest == "histogram" else self._of_scikit_learn
        trees, self.importances_ = learn(X, target, weight, classes)
        self.starts_, self.left_, self.right_ = trees.starts, trees.left, trees.right
        self.split_columns_, self.thresholds_ = trees.columns, trees.thresholds
        self.missing_left_ = trees.missing_left
        self._settle()

    def _grown(
        self, X: Matrix, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: bool
    ) -> tuple[Trees, NDArray[np.float64]]:
        """Trees of the core, and the importances of columns."""
        _check_single_precision(X)
        X = X.astype(np.float32, copy=False)
        if weight is not None and not weight.all():
            X, target, weight = X[weight > 0], target[weight > 0], weight[weight > 0]
        n_rows, use = X.shape[0], checks.resources(self.n_jobs)
        most = MAX_SAMPLES if self.max_samples is None else int(self.max_samples)
        growth = Growth(
            self.seed_,
            int(self.n_estimators),
            min(n_rows, most),
            columns_looked_at(self._columns_of_a_split(classes), X.shape[1]),
            int(self.max_leaf_nodes),
            min(int(self.min_samples_leaf), n_rows),
        )
        weights = whole_weights(weight, n_rows, growth.n_draws, classes)
        labels = target.astype(np.int32) if classes else None
        values = None if classes else whole_values(target, weights, growth.n_draws)
        trees, gains = grow_forest(bin_columns(X, use), weights, labels, values, growth, use)
        return trees, importances(trees, gains, X.shape[1])

    def _of_scikit_learn(
        self, X: Matrix, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: bool
    ) -> tuple[Trees, NDArray[np.float64]]:
        forest = self._unfitted(classes, X.shape[0]).fit(_single_precision(X), target, weight)
        return trees_of(forest), np.asarray(forest.feature_importances_, dtype=np.float64)

    def _target(self, y: Any, n_rows: int) -> tuple[bool, NDArray[Any]]:
        """Whether ``y`` holds classes, and their numbers or the quantities."""
        classes = self.task == "classification" or (self.task == "auto" and not _has_fractions(y))
        check_target(y, n_rows, classes=classes, owner=type(self).__name__)
        if classes:
            return True, np.unique(np.ravel(np.asarray(y)), return_inverse=True)[1]
        target = np.asarray(y, dtype=np.float64)
        return False, target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target

    def _columns_of_a_split(self, classes: bool) -> Any:
        default = "sqrt" if classes else 1 / 3
        return default if self.max_features is None else self.max_features

    def _unfitted(self, classes: bool, n_rows: int | None = None) -> Any:
        """The forest of scikit-learn that `fit` learns; ``seed_`` must be known."""
        most = None if self.forest == "extra" or n_rows is None else self.max_samples
        words = np.random.SeedSequence([self.seed_, int(self.n_estimators)]).generate_state(1)
        return FORESTS[self.forest, classes](
            int(self.n_estimators),
            max_leaf_nodes=int(self.max_leaf_nodes),
            min_samples_leaf=int(self.min_samples_leaf),
            max_features=self._columns_of_a_split(classes),
            max_samples=None if most is None or n_rows is None else min(int(most), n_rows),
            random_state=int(words[0]),
            n_jobs=checks.resources(self.n_jobs).threads,
        )

    def _check_parameters(self) -> None:
        checks.check_int("n_estimators", self.n_estimators, 1, MAX_TREES)
        checks.check_int("max_leaf_nodes", self.max_leaf_nodes, 2, 1 << MAX_BITS)
        checks.check_choice("forest", self.forest, ("random", "histogram", "extra"))
        checks.check_choice("task", self.task, TASKS)
        checks.check_int("min_samples_leaf", self.min_samples_leaf, 1)
        if self.max_samples is not None:
            checks.check_int("max_samples", self.max_samples, 1, MOST_SAMPLES)
        given = self.max_features
        if isinstance(given, str):
            checks.check_choice("max_features", given, ("sqrt", "log2"))
        elif isinstance(given, (float, np.floating)):
            checks.check_number("max_features", given, np.finfo(np.float64).tiny, 1.0)
        elif given is not None:
            checks.check_int("max_features", given, 1)

    def _settle(self) -> None:
        self._check_parameters()
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        checks.resources(self.n_jobs)
        dtypes = ("int64", "int32", "int32", "int64", "float32", "bool", "float64")
        for name, dtype in zip(self._learned, dtypes, strict=True):
            # a split of present from missing numbers has the threshold infinity
            checks.check_learned(name, getattr(self, name), (dtype,), 1, finite=dtype != "float32")
        if len(self.starts_) != int(self.n_estimators) + 1:
            raise ValueError(
                f"there are {len(self.starts_) - 1} trees, but n_estimators is {self.n_estimators}."
            )
        if self.importances_.shape != (self.n_features_in_,) or not (self.importances_ >= 0).all():
            raise ValueError("importances_ must be a number of at least 0 for each column.")
        trees = self._trees()
        self._tables = trees.tables(self.n_features_in_)
        most = int(trees.n_leaves().max())
        if most > 1 << MAX_BITS:
            raise ValueError(f"a tree has {most} leaves, more than fit into {MAX_BITS} bits.")
        self._bits = max(1, (most - 1).bit_length())
        self._learned_digest = self._digest()
        self._work = int(len(trees.starts) * (1 + trees.n_splits_of_paths()))

    def _follow_parameters(self) -> None:
        if len(self.starts_) != self.n_estimators + 1:
            raise ValueError("n_estimators was changed after fit: fit again.")

    def _trees(self) -> Trees:
        return Trees(
            self.starts_,
            self.left_,
            self.right_,
            self.split_columns_,
            self.thresholds_,
            self.missing_left_,
        )

    def path_steps(self, weights: NDArray[Any]) -> PathSteps:
        """What the tests above each leaf add to its weight; see `leaf_paths`.

        ``weights`` are (trees, 2^bits, m); leaves are counted as places in the first two.
        """
        trees = self._trees()
        n_leaves, n_codes = trees.n_leaves(), weights.shape[1]
        places = np.repeat(np.arange(len(n_leaves)) * n_codes, n_leaves) + np.concatenate(
            [np.arange(count) for count in n_leaves]
        )
        steps = path_steps(trees, weights.reshape(-1, weights.shape[2])[places])
        return steps._replace(leaves=places[steps.leaves])

    def _fill_codes(self, rows: CoreRows, codes: NDArray[Any], use: Resources) -> None:
        _core.encode_leaves(self._tables, *rows, codes, use.threads)

    def _tests_of_a_row(self) -> int:
        return self._work

    def _n_slots(self) -> int:
        return int(self.n_estimators)

    @property
    def n_winners(self) -> int:
        """The splits of the longest path of each tree, together."""
        return int(self._trees().path_widths().sum())

    def _code_bits(self) -> int:
        return self._bits

    @property
    def kernel(self) -> Kernel:
        """The kernel of this forest: the fraction of trees in which two rows share a leaf."""
        check_is_fitted(self)
        return LeafKernel(self)

    @property
    def theory_gap(self) -> str | None:
        """Why ``expected`` is not known: the partitions are learned."""
        return (
            "ForestLeaves learns its partitions from labels: what its inner products average to "
            "over seeds has no closed form; kernel is that of the trees of this fit."
        )

    def column_fractions(self) -> sp.csr_matrix:
        """The fraction of each leaf that belongs to each column: that of the splits of its path.

        Each split from the root to the leaf counts the same, and a column as often as it is asked
        for. The leaf of a tree without splits belongs to none.
        """
        check_is_fitted(self)
        return self._trees().column_fractions(self._bits, self.n_features_in_)

    def columns_of_slots(self, codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The columns of the splits above each leaf: ``features, starts``."""
        self._refuse_foreign(codes)
        return self._trees().columns_above(codes.array)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _has_fractions(y: Any) -> bool:
    """Whether numbers are no class labels; anything else is left to `check_target`."""
    try:
        array = np.asarray(y)
        if array.dtype.kind == "O":
            array = np.asarray(array.tolist())
    except (TypeError, ValueError):
        return False
    if array.dtype.kind != "f":
        return False
    known = array[np.isfinite(array)]
    return bool((known != np.floor(known)).any())


def _check_single_precision(X: Matrix) -> None:
    """Refuse numbers that single precision cannot hold."""
    values = X.data if sp.issparse(X) else X
    too_large = np.abs(values) > _LARGEST
    if too_large.any():
        row, column = checks.position(X, too_large)
        raise ValueError(
            f"X has {checks.value_at(X, row, column):g} at row {row}, column {column}: forests "
            f"hold numbers up to {_LARGEST:.1e}, so scale it down."
        )


def _single_precision(X: Matrix) -> Matrix:
    """Rows as scikit-learn's forests take them."""
    _check_single_precision(X)
    if not sp.issparse(X):
        return X.astype(np.float32, copy=False)
    X = checks.as_matrix(X)  # scikit-learn's trees take no missing numbers in sparse rows
    single = sp.csc_matrix(X.astype(np.float32))
    if single.nnz > np.iinfo(np.int32).max:
        raise ValueError("X has more than 2,147,483,647 numbers, too many for a forest: use fewer.")
    single.indices, single.indptr = single.indices.astype(np.int32), single.indptr.astype(np.int32)
    return single
