"""Name <-> class of everything that can be stored, listed or tested; a class loads when first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kernelight._files import Path
from kernelight.state import State

_KERNELS = (
    "Linear", "RBF", "FoldedRBF", "Gaussian", "Acos", "AcosChi2", "MinMax", "GMM", "ExpGMM", "NGMM",
    "Intersection", "Product", "Sum",
)  # fmt: skip

# family -> name -> "module:class"
FAMILIES: dict[str, dict[str, str]] = {
    "container": {"Codes": "kernelight.codes:Codes"},
    "kernel": {name: f"kernelight.kernels:{name}" for name in _KERNELS},
    "map": {
        "AlignedFourier": "kernelight.maps.projections.aligned_fourier:AlignedFourier",
        "BinaryFourier": "kernelight.maps.projections.binary_fourier:BinaryFourier",
        "Concat": "kernelight.maps.combinations.concat:Concat",
        "GCWS": "kernelight.maps.minmax.gcws:GCWS",
        "KernelNystroem": "kernelight.maps.nystroem.kernel_nystroem:KernelNystroem",
        "Product": "kernelight.maps.combinations.product:Product",
        "RandomFourier": "kernelight.maps.projections.random_fourier:RandomFourier",
        "SignProjection": "kernelight.maps.projections.sign_projection:SignProjection",
    },
    "model": {
        "KernelClassifier": "kernelight.compose.estimators:KernelClassifier",
        "KernelRegressor": "kernelight.compose.estimators:KernelRegressor",
        "LinearClassifier": "kernelight.linear.classifier:LinearClassifier",
        "LinearRegressor": "kernelight.linear.regressor:LinearRegressor",
        "TernaryClassifier": "kernelight.linear.ternary:TernaryClassifier",
    },
    "table": {
        "TableMap": "kernelight.tables.table_map:TableMap",
        "TableModel": "kernelight.tables.model:TableModel",
    },
}


def names(family: str | None = None) -> list[str]:
    """The names of one family, or of all.

    >>> from kernelight import _registry
    >>> _registry.names("container")
    ['Codes']
    """
    if family is not None and family not in FAMILIES:
        raise ValueError(f"No family {family!r}: known families are {', '.join(sorted(FAMILIES))}.")
    families = FAMILIES.values() if family is None else [FAMILIES[family]]
    return sorted(name for members in families for name in members)


def lookup(name: str, family: str | None = None) -> type[Any]:
    """The class of a name; a name that a kernel shares with something else means the kernel only if its family is asked for.

    >>> from kernelight import _registry
    >>> _registry.lookup("Codes")
    <class 'kernelight.codes.Codes'>
    """
    order = [family] if family is not None else sorted(FAMILIES, key="kernel".__eq__)
    for members in map(FAMILIES.__getitem__, order):
        if name in members:
            module, _, attribute = members[name].partition(":")
            found: type[Any] = getattr(import_module(module), attribute)
            return found
    raise ValueError(f"Nothing is called {name!r}: known names are {', '.join(names())}.")


def load(path: Path) -> Any:
    """Whatever a file holds, as an object of its class: a map, codes or a model. Loading runs no code.

    >>> import os, tempfile
    >>> import kernelight
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.kl")
    >>> kernelight.Codes([[1, 2]], bits=2).save(path)
    >>> kernelight.load(path)
    Codes(1 row, 2 slots of 2 bits)
    """
    state = State.load(path)
    try:
        cls = lookup(state.kind)
    except ValueError as error:
        raise ValueError(
            f"{path} holds a {state.kind!r}, which this version does not know: {error}"
        ) from None
    return cls.from_state(state)
