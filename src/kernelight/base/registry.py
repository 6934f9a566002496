"""The names of the package, once: everything that can be stored, listed or tested, with its class
and where it lives.

`kernelight.__init__`, the methods of `feature_map` and of the estimators, and the help of the
command are derived from this list. A class loads when first used, so that reading the list imports
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from kernelight.base.files import FilePath


class Entry(NamedTuple):
    """A class: its name, its family, its module, and for maps the word of ``method=``.

    ``kind`` is what states call it, where that is not its name: files outlive names.
    """

    name: str
    family: str
    module: str
    method: str | None = None
    kind: str | None = None

    @property
    def stored_as(self) -> str:
        """The kind of its states."""
        return self.name if self.kind is None else self.kind


# Maps stand in the order in which `feature_map` tries them. KernelNystroem takes any kernel, but
# learns from the data and has no theory; AlignedFourier needs labels, so that no kernel asks for it
# by itself.
ENTRIES = (
    Entry("Codes", "container", "kernelight.codes"),
    *(
        Entry(name, "kernel", "kernelight.kernels")
        for name in (
            "Linear",
            "RBF",
            "FoldedRBF",
            "Gaussian",
            "Acos",
            "AcosChi2",
            "MinMax",
            "GMM",
            "ExpGMM",
            "NGMM",
            "Intersection",
            "Product",
            "Sum",
        )
    ),
    Entry("ColumnScaler", "scaler", "kernelight.scaling.column_scaler"),
    Entry("GCWS", "map", "kernelight.maps.minmax.gcws", "gcws"),
    Entry("SignProjection", "map", "kernelight.maps.projections.sign_projection", "sign"),
    Entry("RandomFourier", "map", "kernelight.maps.projections.random_fourier", "fourier"),
    Entry("BinaryFourier", "map", "kernelight.maps.projections.binary_fourier", "binary"),
    Entry(
        "ProductMap", "map", "kernelight.maps.combinations.product_map", "product", kind="Product"
    ),
    Entry("Concat", "map", "kernelight.maps.combinations.concat", "concat"),
    Entry("KernelNystroem", "map", "kernelight.maps.nystroem.kernel_nystroem", "nystroem"),
    Entry("AlignedFourier", "map", "kernelight.maps.projections.aligned_fourier", "aligned"),
    Entry("KernelClassifier", "model", "kernelight.estimators.classifier"),
    Entry("KernelRegressor", "model", "kernelight.estimators.regressor"),
    Entry("LinearClassifier", "model", "kernelight.linear.classifier"),
    Entry("LinearRegressor", "model", "kernelight.linear.regressor"),
    Entry("TernaryClassifier", "model", "kernelight.linear.ternary"),
    Entry("TableMap", "table", "kernelight.tables.table_map"),
    Entry("TableModel", "table", "kernelight.tables.model"),
)
# Kernels are parameters of other objects, and have no states of their own.
STORED = tuple(entry for entry in ENTRIES if entry.family != "kernel")
FAMILIES = ("container", "kernel", "scaler", "map", "model", "table")
METHODS = {entry.method: entry.name for entry in ENTRIES if entry.method is not None}


def names(family: str | None = None) -> list[str]:
    """The names of one family, or of all.

    >>> from kernelight.base import registry
    >>> registry.names("container")
    ['Codes']
    """
    if family is not None and family not in FAMILIES:
        raise ValueError(f"No family {family!r}: known families are {', '.join(FAMILIES)}.")
    return sorted(entry.name for entry in ENTRIES if family in (None, entry.family))


def lookup(name: str, family: str | None = None) -> type[Any]:
    """The class of a name.

    >>> from kernelight.base import registry
    >>> registry.lookup("Codes")
    <class 'kernelight.codes.codes.Codes'>
    """
    known = [entry for entry in ENTRIES if entry.name == name and family in (None, entry.family)]
    if not known:
        raise ValueError(f"Nothing is called {name!r}: known names are {', '.join(names())}.")
    return _class_of(known[0])


def kind_of(cls: type[Any]) -> str:
    """What states of a class are called.

    >>> from kernelight import ProductMap
    >>> from kernelight.base import registry
    >>> registry.kind_of(ProductMap)
    'Product'
    """
    name = cls.__name__
    return next((entry.stored_as for entry in STORED if entry.name == name), name)


def stored_class(kind: str, family: str | None = None) -> type[Any]:
    """The class whose states are called so."""
    known = [
        entry for entry in STORED if entry.stored_as == kind and family in (None, entry.family)
    ]
    if not known:
        kinds = sorted(entry.stored_as for entry in STORED if family in (None, entry.family))
        raise ValueError(f"Nothing is called {kind!r}: known names are {', '.join(kinds)}.")
    return _class_of(known[0])


def _class_of(entry: Entry) -> type[Any]:
    cls: type[Any] = getattr(import_module(entry.module), entry.name)
    return cls


def load(path: FilePath) -> Any:
    """Whatever a file holds, as an object of its class: a map, codes or a model. Loading runs no
    code.

    >>> import os, tempfile
    >>> import kernelight
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.kl")
    >>> kernelight.Codes([[1, 2]], bits=2).save(path)
    >>> kernelight.load(path)
    Codes(1 row, 2 slots of 2 bits)
    """
    from kernelight.state import State  # here: the list of names must load without NumPy

    state = State.load(path)
    try:
        cls = stored_class(state.kind)
    except ValueError as error:
        raise ValueError(
            f"{path} holds a {state.kind!r}, which this version does not know: {error}"
        ) from None
    return cls.from_state(state)
