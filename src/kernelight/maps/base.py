"""What every feature map is: a scikit-learn transformer whose inner products estimate a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from inspect import signature
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernelight.base import registry
from kernelight.base.checks import Matrix, as_matrix
from kernelight.base.estimator import StoredEstimator
from kernelight.codes import Codes, Winners, provenance_of
from kernelight.kernels.base import Kernel
from kernelight.theory import collision_variance

Self = TypeVar("Self", bound="FeatureMap")


class UnsupportedKernel(ValueError):  # noqa: N818  # a question may be answered so; it is no accident
    """A map has no features of a kernel; the sentence says which kernel, or what is in the way.

    ``may_be_overcome``: the map is of the right kind, and other parameters might do.
    """

    def __init__(self, sentence: str, *, may_be_overcome: bool = True) -> None:
        super().__init__(sentence)
        self.may_be_overcome = may_be_overcome


class FeatureMap(TransformerMixin, StoredEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A map of rows to features whose inner products estimate a kernel.

    ``kernel`` is what it aims at. ``expected(X, Y)`` is what the inner products of its features
    truly average to over seeds, ``variance(X, Y)`` their variance; each raises a ValueError that
    says why where theory does not know it exactly (``theory_gap`` and ``variance_gap`` are then
    that sentence, otherwise None).
    """

    @property
    @abstractmethod
    def kernel(self) -> Kernel:
        """The kernel this map aims at."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Numbers that a row becomes.

        Slots of a code, columns of dense features, or entries of a sparse row.
        """

    @classmethod
    def for_kernel(
        cls: type[Self], kernel: Kernel, n_components: int = 1024, **options: Any
    ) -> Self:
        """An unfitted map of this class that aims at ``kernel``; otherwise `UnsupportedKernel`.

        ``options`` are parameters that the kernel does not decide.
        """
        raise UnsupportedKernel(
            f"{cls.__name__} has no features of {kernel!r}.", may_be_overcome=False
        )

    @classmethod
    def _configured(
        cls: type[Self], kernel: Kernel, decided: dict[str, Any], options: dict[str, Any]
    ) -> Self:
        """A map with the parameters that ``kernel`` decides, and ``options`` for the others."""
        known = signature(cls).parameters
        for name in options:
            if name in decided:
                raise TypeError(f"{kernel!r} decides {name} of {cls.__name__}: leave {name} out.")
            if name not in known:
                raise TypeError(
                    f"{cls.__name__} has no parameter {name}: it takes {', '.join(known)}."
                )
        return cls(**decided, **options)

    @property
    def has_prefix(self) -> bool:
        """Whether the first k components of a larger run are the run of k components."""
        return False

    @property
    def theory_gap(self) -> str | None:
        """Why ``expected`` is not known exactly, or None if it is."""
        return None

    @property
    def variance_gap(self) -> str | None:
        """Why ``variance`` is not known exactly, or None if it is."""
        return self.theory_gap

    def fit(self: Self, X: Any, y: Any = None) -> Self:
        """Check the parameters and ``X``; decide and learn what the class needs.

        ``y`` is for maps that learn from labels.

        A fit that fails or is interrupted leaves the map as it was.
        """
        with self._trial() as trial:
            trial._fit(X, y)
        return self

    @abstractmethod
    def _fit(self, X: Any, y: Any) -> None:
        """`fit`, on an object that may be left half done."""

    def expected(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """What the inner products of the features average to, over seeds: an (n, m) array."""
        refuse_gap(self.theory_gap)
        return self._expected(*self._exact_pairs(X, Y))

    def variance(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """The variance of those inner products over seeds: an (n, m) array."""
        refuse_gap(self.variance_gap)
        return self._variance(*self._exact_pairs(X, Y))

    def _expected(self, K: NDArray[np.float64], filled: NDArray[np.bool_]) -> NDArray[np.float64]:
        raise ValueError(f"{type(self).__name__} declares no expectation.")

    def _variance(self, K: NDArray[np.float64], filled: NDArray[np.bool_]) -> NDArray[np.float64]:
        raise ValueError(f"{type(self).__name__} declares no variance.")

    def _exact_pairs(self, X: Any, Y: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The exact kernel in double precision, and which pairs have no empty row.

        An empty row has no features at all.
        """
        X, Y = exact_rows(X, Y)
        self._refuse_other_width(X)
        return np.asarray(self.kernel(X, Y), dtype=np.float64), self._filled_pairs(X, Y)

    def _refuse_other_width(self, X: Matrix) -> None:
        wanted = getattr(self, "n_features_in_", X.shape[1])
        if X.shape[1] != wanted:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {wanted} "
                "features as input."
            )

    def _filled_pairs(self, X: Matrix, Y: Matrix) -> NDArray[np.bool_]:
        return np.logical_and.outer(self.kernel.diag(X) > 0, self.kernel.diag(Y) > 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def refuse_gap(gap: str | None) -> None:
    """Raise the sentence that says why theory has no answer, if there is one."""
    if gap is not None:
        raise ValueError(gap)


def exact_rows(X: Any, Y: Any) -> tuple[Matrix, Matrix]:
    """Two matrices in double precision; the second is the first if None."""
    X = as_matrix(X).astype(np.float64)
    return X, X if Y is None else as_matrix(Y, name="Y").astype(np.float64)


class DenseMap(FeatureMap):
    """A map into dense features.

    They are float32 where their sampling error is thousands of times their rounding.
    """

    @abstractmethod
    def _features(self, X: Matrix) -> NDArray[Any]:
        """The features of checked rows."""

    def transform(self, X: Any) -> NDArray[Any]:
        """The features of each row: a dense (n, n_components) float32 array."""
        return self._features(self._validated(X, reset=False))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)

    @property
    def n_outputs(self) -> int:
        """Columns of the features."""
        return self._n_features_out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """A name for each column, such as ``randomfourier7``."""
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        return np.asarray([f"{prefix}{at}" for at in range(self._n_features_out)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


class CodeMap(FeatureMap):
    """A map into codes: ``encode`` gives the codes, ``transform`` their one-hot matrix."""

    @abstractmethod
    def _encode(self, X: Matrix) -> tuple[NDArray[Any], NDArray[np.bool_], int]:
        """Codes of checked rows, which rows are empty, and the bits of a code."""

    @abstractmethod
    def _identity(self) -> dict[str, Any]:
        """Plain data that defines a code.

        Codes can be compared only if theirs is equal: see `Codes.provenance`.
        """

    @property
    def provenance(self) -> str:
        """A digest of everything that defines a code.

        That is the class, parameters, seed, decisions of ``fit`` and the algorithm version.
        """
        self._check_fitted()
        return provenance_of(registry.kind_of(type(self)), self._identity())

    def encode(self, X: Any) -> Codes:
        """The codes of each row of ``X``."""
        return self._codes(*self._encode(self._validated(X, reset=False)))

    def _codes(self, array: NDArray[Any], empty: NDArray[np.bool_], bits: int) -> Codes:
        return Codes._adopt(
            array, bits, empty=empty, provenance=self.provenance, n_features=self.n_features_in_
        )

    @property
    def has_winners(self) -> bool:
        """Whether each slot belongs to some features of a row, which then won it."""
        return False

    @property
    def n_winners(self) -> int:
        """How many winners a row has in all slots together."""
        return self._n_slots()

    def encode_with_winners(self, X: Any) -> tuple[Codes, Winners]:
        """The codes of each row, the same as `encode` gives, and which features won each slot.

        Only for maps that have winners; see `Winners`.
        """
        if not self.has_winners:
            raise ValueError(
                f"{type(self).__name__} mixes all features of a row into each slot of its code, so "
                "that no slot belongs to some of them: only maps such as GCWS have winners."
            )
        X = self._validated(X, reset=False)
        array, empty, bits, winners = self._encode_with_winners(X)
        return self._codes(array, empty, bits), winners

    def _encode_with_winners(
        self, X: Matrix
    ) -> tuple[NDArray[Any], NDArray[np.bool_], int, Winners]:
        """`_encode`, and the winners; for maps that have them."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """The one-hot features of each row: a sparse (n, k 2^bits) float32 matrix.

        Each row has k entries, 1/sqrt(k) each.
        """
        return self.encode(X).to_csr(array=get_config().get("sparse_interface") == "sparray")

    def _variance(self, K: NDArray[np.float64], filled: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The variance of a mean of independent slots, each equal with the expected probability."""
        return np.asarray(collision_variance(self._expected(K, filled)) / float(self._n_slots()))

    def _refuse_foreign(self, *codes: Any) -> None:
        """Refuse codes that another map made."""
        if not all(isinstance(each, Codes) for each in codes):
            raise TypeError("similarity compares Codes: pass what encode returns.")
        if codes[0].provenance != self.provenance:
            raise ValueError(
                f"These codes were not made by this {type(self).__name__}: their provenance "
                "differs; encode again with it."
            )

    def _n_slots(self) -> int:
        return int(self.n_components)

    @property
    def n_outputs(self) -> int:
        """Slots of a code."""
        return self._n_slots()

    def _code_bits(self) -> int:
        """Bits of a slot: it has 2^bits one-hot columns."""
        return int(getattr(self, "bits", 1))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """A name for each one-hot column: ``gcws3_17`` is value 17 of slot 3.

        There are k 2^bits names, made at each call.
        """
        check_is_fitted(self)
        prefix, width = type(self).__name__.lower(), 1 << self._code_bits()
        columns = range(self._n_slots() * width)
        return np.asarray([f"{prefix}{at // width}_{at % width}" for at in columns], dtype=object)
