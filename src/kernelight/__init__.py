"""kernelight: nonlinear kernels at the price of a linear model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kernelight.base.registry import ENTRIES

if TYPE_CHECKING:
    from kernelight import (
        data,
        export,
        hashing,
        installation,
        kernels,
        metrics,
        neighbors,
        study,
        theory,
    )
    from kernelight.base.registry import load
    from kernelight.codes import Codes
    from kernelight.data.opening import open_dataset
    from kernelight.estimators.classifier import KernelClassifier
    from kernelight.estimators.column_weighter import ColumnWeighter
    from kernelight.estimators.compact_classifier import CompactClassifier
    from kernelight.estimators.contributions import Contributions
    from kernelight.estimators.contributions_display import ContributionsDisplay
    from kernelight.estimators.regressor import KernelRegressor
    from kernelight.linear.classifier import LinearClassifier
    from kernelight.linear.regressor import LinearRegressor
    from kernelight.linear.ternary import TernaryClassifier
    from kernelight.maps.combinations.concat import Concat
    from kernelight.maps.combinations.product_map import ProductMap
    from kernelight.maps.feature_map import feature_map
    from kernelight.maps.minmax.gcws import GCWS
    from kernelight.maps.nystroem.kernel_nystroem import KernelNystroem
    from kernelight.maps.partitions.ferns import Ferns
    from kernelight.maps.partitions.forest_leaves import ForestLeaves
    from kernelight.maps.projections.aligned_fourier import AlignedFourier
    from kernelight.maps.projections.binary_fourier import BinaryFourier
    from kernelight.maps.projections.integer_fourier import IntegerFourier
    from kernelight.maps.projections.random_fourier import RandomFourier
    from kernelight.maps.projections.sign_projection import SignProjection
    from kernelight.scaling.column_scaler import ColumnScaler
    from kernelight.state import State
    from kernelight.tables.model import TableModel
    from kernelight.tables.table_map import TableMap

__version__ = "0.1.0"
__all__ = [
    "GCWS",
    "AlignedFourier",
    "BinaryFourier",
    "Codes",
    "ColumnScaler",
    "ColumnWeighter",
    "CompactClassifier",
    "Concat",
    "Contributions",
    "ContributionsDisplay",
    "Ferns",
    "ForestLeaves",
    "IntegerFourier",
    "KernelClassifier",
    "KernelNystroem",
    "KernelRegressor",
    "LinearClassifier",
    "LinearRegressor",
    "ProductMap",
    "RandomFourier",
    "SignProjection",
    "State",
    "TableMap",
    "TableModel",
    "TernaryClassifier",
    "__version__",
    "data",
    "export",
    "feature_map",
    "hashing",
    "installation",
    "kernels",
    "load",
    "metrics",
    "neighbors",
    "open_dataset",
    "study",
    "theory",
]

# Importing stays fast: a name loads its module (and with it scipy and scikit-learn) when first
# used. The registry says where classes live; kernels are names of `kernelight.kernels`.
_HOMES = {entry.name: entry.module for entry in ENTRIES if entry.family != "kernel"} | {
    "State": "kernelight.state",
    "Contributions": "kernelight.estimators.contributions",
    "ContributionsDisplay": "kernelight.estimators.contributions_display",
    "feature_map": "kernelight.maps.feature_map",
    "load": "kernelight.base.registry",
    "open_dataset": "kernelight.data.opening",
    **{
        room: f"kernelight.{room}"
        for room in (
            "data",
            "export",
            "hashing",
            "installation",
            "kernels",
            "metrics",
            "neighbors",
            "study",
            "theory",
        )
    },
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kernelight' has no attribute {name!r}")
    module = import_module(_HOMES[name])
    return module if module.__name__ == f"kernelight.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
