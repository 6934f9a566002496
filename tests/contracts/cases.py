"""The feature maps of the contract tests: every class of the registry, in several configurations.

A new class is tested with its defaults as soon as it is registered. `OPTIONS` adds configurations,
`CHECKED` those for the checks of scikit-learn, and `MAKERS` says how to build a class that has no
``n_components`` of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from helpers import assert_same_codes, frozen, signed_rows

from kernelight import Codes, kernels
from kernelight.base import registry

SLOTS = 48
LONGER = 130  # another number of components, for prefixes
CENTER = (0.5, -0.25, 0.0, 1.0, 2.0, -3.0)

#: Class -> options beside the defaults.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "GCWS": [
        {"sampler": "cws"},
        {"sampler": "cws", "bits": 1},
        {"sampler": "cws", "bits": 12, "p": 2.0},
        {"sampler": "cws", "bits": 4, "p": 0.25},
        {"sampler": "cws", "bits": 4, "normalize": "l1"},
        {"sampler": "cws", "bits": 4, "center": CENTER},
        {"sampler": "cws", "bits": 8, "t_bits": 0},
        {"sampler": "cws", "bits": 8, "t_bits": 1},
        {"sampler": "cws", "bits": 8, "t_bits": 2},
        {"sampler": "cws", "bits": 8, "t_bits": 0, "normalize": "l1"},
        {"sampler": "cws", "bits": 4, "t_bits": 0, "coding": "lowest"},
        {"sampler": "dart"},
        {"sampler": "dart", "bits": 1},
        {"sampler": "dart", "bits": 12},
        {"sampler": "dart", "bits": 4, "normalize": "l1"},
        {"sampler": "dart", "bits": 4, "center": CENTER},
        {"sampler": "cws", "gamma": 1.0},
        {"sampler": "cws", "bits": 1, "gamma": 0.1},
        {"sampler": "cws", "bits": 12, "gamma": 5.0, "p": 0.5},
        {"sampler": "cws", "bits": 4, "gamma": 2.0, "t_bits": 0},
        {"sampler": "dart", "gamma": 1.0},
        {"sampler": "dart", "bits": 4, "gamma": 6.0},
    ],
    "AlignedFourier": [
        {"weighting": "sample"},
        {"n_candidates": 100, "n_effective": 20.0},
        {"rho": 0.5, "sigma": 4.0},
        {"metric": "cosine", "gamma": "median"},
        {"binary": True},
        {"binary": True, "metric": "cosine", "gamma": 2.0, "n_candidates": 300},
    ],
    "Ferns": [
        {"depth": 1},
        {"depth": 12},
        {"depth": 3, "weights": (0.5, 0.0, 2.0, 1.0, 1e-3, 7.0)},
    ],
    "ForestLeaves": [
        {"forest": "extra", "max_leaf_nodes": 6},
        {"forest": "histogram", "max_leaf_nodes": 6},
        {"forest": "histogram", "max_samples": 25, "min_samples_leaf": 2, "task": "regression"},
        {"max_leaf_nodes": 300, "max_features": 2, "task": "regression"},
    ],
    "RandomFourier": [
        {"gamma": "median"},
        {"projection": "orthogonal"},
        {"projection": "fastfood"},
        {"projection": "sorf"},
        {"projection": "sobol", "gamma": 3.0},
        {"features": "phase"},
        {"features": "phase", "normalize": False, "gamma": 2.0},
        {"features": "folded"},
        {"features": "folded", "projection": "fastfood"},
        {"metric": "euclidean"},
        {"metric": "euclidean", "sigma": 4.0, "projection": "auto"},
        {
            "metric": "euclidean",
            "sigma": 4.0,
            "features": "phase",
            "normalize": False,
            "projection": "fastfood",
        },
    ],
    "SignProjection": [
        {"distribution": "cauchy"},
        {"projection": "orthogonal"},
        {"projection": "sorf"},
        {"projection": "fastfood"},
    ],
    "BinaryFourier": [
        {"sigma": 4.0, "threshold": False},
        {"projection": "gaussian"},
        {"projection": "gaussian", "sigma": 4.0, "threshold": False},
        {"projection": "orthogonal"},
        {"projection": "sorf"},
    ],
    "IntegerFourier": [{"sigma": 4.0}],
    "KernelNystroem": [
        {"landmarks": "kmeans++"},
        {"kernel": kernels.GMM(p=0.5, center=CENTER)},
        {"kernel": kernels.Intersection()},
        {"kernel": kernels.RBF(gamma=2.0), "landmarks": "kmeans++"},
        {"kernel": kernels.Gaussian(sigma=3.0)},
        {"kernel": kernels.MinMax() * kernels.Acos()},
    ],
}
#: Class -> options worth a second pass of scikit-learn's checks, beside the defaults.
CHECKED: dict[str, list[dict[str, Any]]] = {
    "GCWS": [
        {"sampler": "cws"},
        {"sampler": "dart"},
        {"normalize": "l1", "bits": 4},
        {"t_bits": 0, "coding": "lowest"},
        {"p": 0.5, "bits": 12},
        {"gamma": 2.0, "sampler": "cws"},
        {"gamma": 2.0, "sampler": "dart"},
    ],
    "AlignedFourier": [{"binary": True}, {"weighting": "sample", "metric": "cosine"}],
    "Ferns": [{"depth": 2}, {"depth": 12}],
    "ForestLeaves": [
        {"forest": "extra", "task": "regression"},
        {"max_leaf_nodes": 3},
        {"forest": "histogram"},
    ],
    "RandomFourier": [
        {"features": "phase", "gamma": "median"},
        {"features": "folded", "projection": "orthogonal"},
        {"metric": "euclidean", "projection": "sorf"},
        {"projection": "fastfood"},
        {"projection": "sobol"},
    ],
    "SignProjection": [
        {"projection": "sorf"},
        {"projection": "fastfood"},
        {"projection": "orthogonal"},
    ],
    "BinaryFourier": [
        {"projection": "gaussian", "sigma": 1.0},
        {"projection": "sorf", "threshold": False},
    ],
    "IntegerFourier": [{"sigma": 1.0}],
    "KernelNystroem": [
        {"kernel": kernels.RBF(gamma=2.0), "landmarks": "kmeans++"},
        {"kernel": kernels.Intersection()},
        {"kernel": "gaussian"},
        {"kernel": "precomputed"},
        {"kernel": "precomputed", "landmarks": "kmeans++"},
        {"kernel": kernels.Gaussian().__call__},  # a callable of someone else, for all it knows
    ],
}
#: Class -> a function ``(cls, n_components, random_state, **options)``, where the constructor takes
#: something else.
MAKERS: dict[str, Callable[..., Any]] = {}


def _product(cls, n_components, random_state, *, left=None, right=None, **options):
    """Sides by name and options, with as many slots each.

    Paired Fourier features have two columns for each slot.
    """
    sides = [("GCWS", {"sampler": "cws"}) if left is None else left]
    sides.append(("SignProjection", {}) if right is None else right)
    made = []
    for name, of_side in sides:
        columns = (
            2 if name == "RandomFourier" and of_side.get("features", "paired") == "paired" else 1
        )
        made.append(
            registry.lookup(name, "map")(
                columns * n_components, random_state=random_state, **of_side
            )
        )
    return cls(*made, **options)


def _concat(
    cls, n_components, random_state, *, maps=(("GCWS", {}), ("RandomFourier", {})), **options
):
    return cls(
        [
            registry.lookup(name, "map")(n_components, random_state=random_state, **of_map)
            for name, of_map in maps
        ],
        **options,
    )


def _leaves(cls, n_components, random_state, **options):
    return cls(n_components, random_state=random_state, **options)


MAKERS |= {"ProductMap": _product, "Concat": _concat, "ForestLeaves": _leaves}
OPTIONS |= {
    "ProductMap": [
        {"bits": 4},
        {"left": ("SignProjection", {}), "right": ("GCWS", {"sampler": "dart"})},
        {"right": ("SignProjection", {"distribution": "cauchy"})},
        {"right": ("GCWS", {"sampler": "cws"})},
        {"right": ("BinaryFourier", {"projection": "gaussian"})},
        {"right": ("RandomFourier", {})},
        {"left": ("RandomFourier", {"features": "folded"}), "right": ("GCWS", {})},
        {"right": ("RandomFourier", {"features": "phase", "normalize": False}), "bits": 3},
    ],
    "Concat": [
        {"maps": (("GCWS", {}), ("SignProjection", {})), "weights": (0.5, 2.0)},
        {
            "maps": (("RandomFourier", {}), ("RandomFourier", {"features": "folded"})),
            "weights": (0.3, 0.7),
        },
    ],
}
CHECKED |= {
    "ProductMap": [{"bits": 4}, {"right": ("RandomFourier", {})}],
    "Concat": [{"weights": (0.5, 2.0)}],
}


def _construct(cls, n_components, random_state, **options):
    return cls(n_components=n_components, random_state=random_state, **options)


@dataclass(frozen=True, eq=False)  # hashed by identity: samples of a case can be cached
class Case:
    """A class with options."""

    cls: type[Any]
    options: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.cls.__name__}-{self.options}"

    def new(self, *, n_components=SLOTS, random_state=7, **changed):
        make = MAKERS.get(self.cls.__name__, _construct)
        return make(
            self.cls,
            n_components=n_components,
            random_state=random_state,
            **(self.options | changed),
        )

    def fitted(self, X=None, **changed):
        """Fitted on ``X``, or on data that suit the class, with labels for maps that learn."""
        X = self.training if X is None else X
        labels = np.arange(X.shape[0] if hasattr(X, "shape") else len(X)) % 2
        return self.new(**changed).fit(X, labels)

    @property
    def learned(self) -> bool:
        """Whether ``fit`` learns from the data.

        Then two fits agree only up to their amplified rounding.
        """
        return bool(self.cls._learned)

    @cached_property
    def gives_codes(self) -> bool:
        return hasattr(self.new(), "encode")

    @cached_property
    def gives_arrays(self) -> bool:
        return isinstance(self.fitted().transform(self.rows()), np.ndarray)

    @cached_property
    def signed(self) -> bool:
        """Whether negative values are welcome."""
        try:
            self.fitted(_many_rows()).transform(_many_rows())
        except ValueError as error:
            if "nonnegative" not in str(error):
                raise
            return False
        return True

    @cached_property
    def kernel(self) -> Any:
        return self.fitted().kernel

    @cached_property
    def zero_is_a_point(self) -> bool:
        """Whether a row of zeros is a row like any other, as it is for the Gaussian kernel."""
        return bool(self.kernel.zero_is_a_point)

    def rows(self):
        """Signs, zeros, a scaled copy, one element, two elements; float32-representable."""
        return self._of_right_sign(_few_rows())

    def many_rows(self):
        """Enough rows for several threads, batches and blocks, one of them zero."""
        return self._of_right_sign(_many_rows())

    @property
    def training(self):
        return self.many_rows() if self.learned else self.rows()

    def zeros(self, n):
        """Rows that are zero once they are centred."""
        return np.tile(self.center or np.zeros(6), (n, 1))

    @property
    def center(self):
        return getattr(self.kernel, "center", None)

    def _of_right_sign(self, X):
        return X if self.signed else frozen(np.abs(X))


def _few_rows():
    X = signed_rows(11, 6, 6, density=0.8, dtype=np.float32).astype(np.float64)
    X[2] = 4 * X[1]
    X[3] = [0, 0, 3, 0, 0, 0]
    X[4] = [0, 0, 2, 0, 0, -1]
    return frozen(X)


def _many_rows():
    X = signed_rows(12, 150, 6, density=0.6, dtype=np.float32).astype(np.float64)
    X[40] = 0.0
    return frozen(X)


CASES = [
    Case(registry.lookup(name), options)
    for name in registry.names("map")
    for options in [{}, *OPTIONS.get(name, [])]
]


def cases(wanted=lambda case: True):
    """A parametrization over the cases that a contract is about."""
    return pytest.mark.parametrize("case", [case for case in CASES if wanted(case)], ids=repr)


every = cases()
every_code = cases(lambda case: case.gives_codes)
every_dense = cases(lambda case: case.gives_arrays)


def having(name):
    """Those with this attribute, which may depend on the options."""
    return cases(lambda case: hasattr(case.new(), name))


def with_parameter(name):
    return cases(lambda case: name in case.new().get_params(deep=False))


def output(made, X):
    """What a fitted map makes of rows, in its native form; sparse features as an array."""
    if hasattr(made, "encode"):
        return made.encode(X)
    features = made.transform(X)
    return features.toarray() if hasattr(features, "toarray") else features


def joined(parts):
    return Codes.concatenate(parts) if isinstance(parts[0], Codes) else np.concatenate(parts)


def assert_same(actual, wanted, message=""):
    """Codes are equal to the bit, dense features to rounding.

    Features are sums whose order BLAS may choose.
    """
    if isinstance(wanted, Codes):
        assert_same_codes(actual, wanted, message)
    else:
        assert isinstance(actual, np.ndarray), message
        scale = np.abs(wanted).max(initial=0.0)
        np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-6 * scale, err_msg=message)


def inner_products(features):
    products = features @ features.T
    return np.asarray(
        products.todense() if hasattr(products, "todense") else products, dtype=np.float64
    )
