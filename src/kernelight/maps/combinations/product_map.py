"""ProductMap: the map of a product of kernels, made of a map of each."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.metaestimators import available_if

from kernelight import _core, kernels
from kernelight.base import checks
from kernelight.base.checks import Matrix
from kernelight.codes.slots import MAX_BITS, one_hot
from kernelight.kernels.base import Kernel
from kernelight.maps.base import CodeMap, FeatureMap, UnsupportedKernel, exact_rows, refuse_gap
from kernelight.maps.combinations.combination import Combination, Parts, give_all
from kernelight.maps.combinations.slot_features import (
    SlotFeatures,
    SlotMoments,
    SlotShape,
    checked_slots,
    features_of,
    gives_codes,
    mixed_codes,
    moments_of,
    pair_bits,
    pair_codes,
    shape_of,
)
from kernelight.maps.minmax.gcws import GCWS
from kernelight.maps.projections.random_fourier import RandomFourier
from kernelight.maps.projections.sign_projection import SignProjection


class ProductMap(Combination, CodeMap):
    r"""The product of two kernels, from a map of each with independent random numbers.

    In each slot the two maps are multiplied. Two maps with codes give pairs of codes, which agree
    where both do:

    .. math:: P = P_{left} P_{right}, \qquad Var = P (1 - P) / k.

    A map with codes and `RandomFourier` give values: slot j with code c is column j 2^bits + c and
    holds sqrt(2/k) cos(...) for ``features="phase"``, cos(...) / sqrt(k) for "folded"; "paired" has
    two columns for each, cos(...) / sqrt(k) and sin(...) / sqrt(k). With F the product of the
    values of two rows in a slot,

    .. math:: E = P \, E[F], \qquad Var = (P \, E[F^2] - P^2 E[F]^2) / k.

    `GCWS` with `SignProjection` is the kernel MM-acos of the papers, with Cauchy signs
    MM-acos-chi2, and with `RandomFourier` MM-RBF.

    Parameters
    ----------
    left : map, default=None
        None means ``GCWS()``. A product is welcome, so there may be more than two factors.
    right : map, default=None
        None means ``SignProjection()``. The two must have equally many slots;
        ``RandomFourier(features="paired")`` has a slot for each two of its ``n_components``. At
        most one of them may have values.
    bits : int or None, default=None
        None keeps pairs of codes as they are: the bits of both sides add, to at most 16. A number
        hashes each pair to that many bits, so that pairs agree with probability P + (1 - P) /
        2^bits.

    Attributes
    ----------
    left_, right_ : maps
        Fitted copies. Their seeds are those of ``left`` and ``right`` mixed with the side: maps
        with the same ``random_state`` draw independently all the same.
    seeds_ : dict
        The seeds that each ``random_state`` stood for.

    Notes
    -----
    A generator that is the ``random_state`` of a side is copied, not advanced: fitting twice gives
    the same map.

    See Also
    --------
    Concat : Sums of kernels.
    kernelight.kernels.Product : The kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import GCWS, ProductMap, RandomFourier, SignProjection
    >>> X = np.array([[1.0, 2.0, 3.0], [3.0, 0.0, 1.0]])
    >>> mm_acos = ProductMap(GCWS(4096), SignProjection(4096)).fit(X)
    >>> mm_acos.kernel
    GMM(p=1.0, center=None) * Acos()
    >>> codes = mm_acos.encode(X)
    >>> codes.bits, codes.shape
    (9, (2, 4096))
    >>> Z = mm_acos.transform(X)
    >>> float(mm_acos.expected(X)[0, 1].round(3)), round(float((Z @ Z.T)[0, 1]), 2)
    (0.169, 0.17)

    With Fourier features, two columns for each code:

    >>> mm_rbf = ProductMap(GCWS(4096), RandomFourier(8192)).fit(X)
    >>> Z = mm_rbf.transform(X)
    >>> Z.shape, Z.nnz
    ((2, 2097152), 16384)
    >>> float(mm_rbf.expected(X)[0, 1].round(3)), round(float((Z @ Z.T)[0, 1]), 2)
    (0.155, 0.15)
    """

    def __init__(self, left: Any = None, right: Any = None, *, bits: int | None = None) -> None:
        self.left = left
        self.right = right
        self.bits = bits

    @classmethod
    def for_kernel(cls, kernel: Kernel, n_components: int = 1024, **options: Any) -> ProductMap:
        """For products of kernels: the maps of the factors, slot by slot, nested to the left.

        At most one factor may have Fourier features.

        Pairs of more than 16 bits are hashed to 16. ``random_state`` and ``n_jobs`` go to every
        map.
        """
        if not isinstance(kernel, kernels.Product):
            return super().for_kernel(kernel, n_components, **options)
        maps = sorted(
            (slot_map(factor, n_components) for factor in kernel.factors), key=_last_if_dense
        )
        if len(maps) < 2 or len([part for part in maps if dense_part(part)]) > 1:
            raise UnsupportedKernel(
                f"ProductMap needs two factors, all but one of them with codes, got {kernel!r}."
            )
        give_all(maps, options)
        left, right = reduce(_joined, maps[:-1]), maps[-1]
        made = cls._configured(kernel, {"left": left, "right": right}, options)
        if made.bits is None:
            made.bits = _bits_that_fit(left, right)
        return made

    def set_params(self, **params: Any) -> ProductMap:
        """Set parameters of this map, or of its sides, as ``left__bits``.

        A side that is None first becomes its default.
        """
        for side, default in (("left", GCWS), ("right", SignProjection)):
            asked = any(name.startswith(f"{side}__") for name in params)
            if asked and params.get(side, getattr(self, side)) is None:
                params[side] = default()
        super().set_params(**params)
        return self

    def _given_parts(self) -> Parts:
        return {
            "left": GCWS() if self.left is None else self.left,
            "right": SignProjection() if self.right is None else self.right,
        }

    def _give_parts(self, parts: Parts) -> None:
        self.left, self.right = parts["left"], parts["right"]

    def _fitted_parts(self) -> Parts:
        return {"left": self.left_, "right": self.right_}

    def _hold_parts(self, parts: Parts) -> None:
        if set(parts) != {"left", "right"}:
            raise ValueError("its parts are not left and right.")
        self.left_, self.right_ = parts["left"], parts["right"]

    def _check_parts(self, parts: Parts) -> None:
        self._refuse_bits()
        dense = [dense_part(part) for part in parts.values()]
        if all(dense):
            raise ValueError(
                f"ProductMap needs codes on at least one side; {dense[0]} gives dense features. "
                "Use SignProjection or GCWS."
            )
        for part in parts.values():
            if not isinstance(part, ProductMap):
                checked_slots(part)

    def _settle(self) -> None:
        parts = self._fitted_parts()
        self._check_parts(parts)
        left, right = map(_shape, parts.values())
        if left.n_slots != right.n_slots:
            raise ValueError(
                f"ProductMap needs equally many slots on both sides, got {left.n_slots} "
                f"({type(parts['left']).__name__}) and "
                f"{right.n_slots} ({type(parts['right']).__name__}): {_advice(left, right)}"
            )
        self._slot_shape()

    def _refuse_bits(self) -> None:
        if self.bits is not None:
            checks.check_int("bits", self.bits, 1, MAX_BITS)

    def _slot_shape(self) -> SlotShape:
        left, right = map(_shape, self._parts_in_use().values())
        bits = pair_bits(left.bits, right.bits) if self.bits is None else int(self.bits)
        return SlotShape(left.n_slots, bits, left.n_values + right.n_values)

    def _gives_codes(self) -> bool:
        return not any(map(dense_part, self._parts_in_use().values()))

    def _n_slots(self) -> int:
        return self._slot_shape().n_slots

    def _code_bits(self) -> int:
        return self._slot_shape().bits

    @property
    def n_outputs(self) -> int:
        """Slots, times the values in a slot where one side has values."""
        shape = self._slot_shape()
        return shape.n_slots * max(1, shape.n_values)

    def _slot_features(self, X: Matrix) -> SlotFeatures:
        self._refuse_bits()
        left, right = (_features(part, X) for part in self._fitted_parts().values())
        if self.bits is None:
            codes, bits = pair_codes(left, right), left.bits + right.bits
        else:
            codes, bits = mixed_codes(left, right, self._own_seed(), self.bits), self.bits
        empty = left.empty | right.empty
        codes[empty] = 0
        return SlotFeatures(
            codes, bits, empty, right.values if left.values is None else left.values
        )

    def _own_seed(self) -> int:
        """The seed with which pairs are hashed, made of those of both sides."""
        seeds = [
            part._own_seed() if isinstance(part, ProductMap) else part.seed_
            for part in self._fitted_parts().values()
        ]
        return int(_core.child(*seeds))

    def _encode(self, X: Matrix) -> tuple[NDArray[Any], NDArray[np.bool_], int]:
        codes, bits, empty, _ = self._slot_features(X)
        assert codes is not None
        return codes, empty, bits

    @available_if(_gives_codes)  # type: ignore[untyped-decorator]
    def encode(self, X: Any) -> Any:
        """The codes of each row of ``X``; only where neither side has values."""
        return super().encode(X)

    def transform(self, X: Any) -> Any:
        """The features of each row: a sparse float32 matrix.

        A row has k entries, or 2k with paired Fourier features.
        """
        if self._gives_codes():
            return super().transform(X)
        X = self._validated(X, reset=False)
        codes, bits, empty, values = self._slot_features(X)
        assert codes is not None
        assert values is not None
        return one_hot(
            codes, bits, empty, values, array=get_config().get("sparse_interface") == "sparray"
        )

    def _identity(self) -> dict[str, Any]:
        """Plain data that defines a code.

        Bits and slots that can be cut later with the same result are left out. Bits of hashed pairs
        cannot be cut.
        """
        left, right = self._fitted_parts().values()
        if not self._gives_codes():
            raise ValueError("Features with values have no provenance: only codes do.")
        whole = [left.provenance, right.provenance, _shape(right).bits]
        return {"pair": whole} if self.bits is None else {"mixed": [*whole, _shape(left).bits]}

    @property
    def kernel(self) -> Kernel:
        """The product of the kernels of both sides."""
        left, right = self._parts_in_use().values()
        return left.kernel * right.kernel

    def expected(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """What the inner products of the features average to, over seeds.

        It is the product of what both sides expect.
        """
        refuse_gap(self.theory_gap)
        agree, mean, _ = self._slot_moments(X, Y, squares=False)
        return np.asarray(agree * mean)

    def variance(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """The variance of those inner products over seeds.

        It is known where the slots of both sides are independent.
        """
        refuse_gap(self.variance_gap)
        agree, mean, square = self._slot_moments(X, Y, squares=True)
        # In this form nothing cancels where both sides have codes only.
        of_values = np.maximum(square - np.square(mean), 0.0)
        return np.asarray(
            (agree * of_values + agree * (1.0 - agree) * np.square(mean)) / self._n_slots()
        )

    def _slot_moments(self, X: Any, Y: Any, *, squares: bool) -> SlotMoments:
        left, right = (
            _moments(part, X, Y, squares=squares) for part in self._parts_in_use().values()
        )
        agree = left.agree * right.agree
        if self.bits is not None:
            filled = self._filled_pairs(*exact_rows(X, Y))
            agree = np.asarray(filled * (agree + (1.0 - agree) / 2.0**self.bits), dtype=np.float64)
        return SlotMoments(agree, left.mean * right.mean, left.square * right.square)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """A name for each column: ``productmap3_17`` is value 17 of slot 3.

        Pairs of values add ``_cos`` and ``_sin``.
        """
        names = super().get_feature_names_out(input_features)
        if self._slot_shape().n_values < 2:
            return names
        return np.asarray(
            [f"{name}_{part}" for name in names for part in ("cos", "sin")], dtype=object
        )

    def _plain_params(self) -> dict[str, Any]:
        return {"bits": self.bits}


def dense_part(part: Any) -> str | None:
    """The name of the map in ``part`` that gives more than codes; None if there is none."""
    if isinstance(part, ProductMap):
        return next(filter(None, map(dense_part, part._parts_in_use().values())), None)
    return None if gives_codes(part) else type(part).__name__


def _shape(part: FeatureMap) -> SlotShape:
    return part._slot_shape() if isinstance(part, ProductMap) else shape_of(part)


def _features(part: FeatureMap, X: Matrix) -> SlotFeatures:
    return part._slot_features(X) if isinstance(part, ProductMap) else features_of(part, X)


def _moments(part: FeatureMap, X: Any, Y: Any, *, squares: bool) -> SlotMoments:
    if isinstance(part, ProductMap):
        return part._slot_moments(X, Y, squares=squares)
    return moments_of(part, X, Y, squares=squares)


def _advice(left: SlotShape, right: SlotShape) -> str:
    """What to do about different numbers of slots."""
    if 2 not in (left.n_values, right.n_values):
        return "give both the same n_components."
    other = right if left.n_values == 2 else left
    return (
        "paired features have a slot for each two of their n_components, so that "
        f"RandomFourier(n_components={2 * other.n_slots}) has {other.n_slots}."
    )


def slot_map(kernel: Kernel, n_slots: int) -> FeatureMap:
    """The map of a kernel that has slots, with ``n_slots`` of them."""
    for cls in (GCWS, SignProjection, RandomFourier):
        try:
            made: FeatureMap = cls.for_kernel(kernel, n_slots)
        except UnsupportedKernel:
            continue
        if isinstance(made, RandomFourier) and made.features == "paired":
            made.n_components = 2 * n_slots
        return made
    raise UnsupportedKernel(f"ProductMap has no slots for the factor {kernel!r}.")


def _last_if_dense(part: FeatureMap) -> bool:
    return dense_part(part) is not None


def _joined(left: FeatureMap, right: FeatureMap) -> ProductMap:
    """A product inside another, hashed where its bits would be too many."""
    return ProductMap(left, right, bits=_bits_that_fit(left, right))


def _bits_that_fit(left: FeatureMap, right: FeatureMap) -> int | None:
    return None if _shape(left).bits + _shape(right).bits <= MAX_BITS else MAX_BITS
