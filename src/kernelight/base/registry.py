"""The names of the package: the one list of classes that can be stored, listed or tested.

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

    ``kind`` is what its states call it, where that is not its name: files outlive names.
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
# learns from the data and has no theory. AlignedFourier stands after it, as it needs labels: it is
# taken only where ``method=`` asks for it. Maps of partitions have no method: each makes a kernel
# of its own of the training rows.
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
    Entry("ColumnWeighter", "scaler", "kernelight.estimators.column_weighter"),
    Entry("GCWS", "map", "kernelight.maps.minmax.gcws", "gcws"),
    Entry("SignProjection", "map", "kernelight.maps.projections.sign_projection", "sign"),
    Entry("RandomFourier", "map", "kernelight.maps.projections.random_fourier", "fourier"),
    Entry("BinaryFourier", "map", "kernelight.maps.projections.binary_fourier", "binary"),
    Entry("IntegerFourier", "map", "kernelight.maps.projections.integer_fourier", "integer"),
    Entry(
        "ProductMap", "map", "kernelight.maps.combinations.product_map", "product", kind="Product"
    ),
    Entry("Concat", "map", "kernelight.maps.combinations.concat", "concat"),
    Entry("KernelNystroem", "map", "kernelight.maps.nystroem.kernel_nystroem", "nystroem"),
    Entry("AlignedFourier", "map", "kernelight.maps.projections.aligned_fourier", "aligned"),
    Entry("Ferns", "map", "kernelight.maps.partitions.ferns"),
    Entry("ForestLeaves", "map", "kernelight.maps.partitions.forest_leaves"),
    Entry("KernelClassifier", "model", "kernelight.estimators.classifier"),
    Entry("KernelRegressor", "model", "kernelight.estimators.regressor"),
    Entry("CompactClassifier", "model", "kernelight.estimators.compact_classifier"),
    Entry("LinearClassifier", "model", "kernelight.linear.classifier"),
    Entry("LinearRegressor", "model", "kernelight.linear.regressor"),
    Entry("TernaryClassifier", "model", "kernelight.linear.ternary"),
    Entry("TableMap", "table", "kernelight.tables.table_map"),
    Entry("TableModel", "table", "kernelight.tables.model"),
)
# Kernels are parameters of other objects, and have no states of their own.
STORED = tuple(entry for entry in ENTRIES if entry.family != "kernel")
FAMILIES = tuple(dict.fromkeys(entry.family for entry in ENTRIES))
#: The word of ``method=`` for each map, with the name of its class.
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
    """The kind of the states of a class.

    >>> from kernelight import ProductMap
    >>> from kernelight.base import registry
    >>> registry.kind_of(ProductMap)
    'Product'
    """
    name = cls.__name__
    return next((entry.stored_as for entry in STORED if entry.name == name), name)


def name_of(kind: str) -> str:
    """The name of the class whose states are of a kind; the kind itself if there is none."""
    return next((entry.name for entry in STORED if entry.stored_as == kind), kind)


def stored_class(kind: str, family: str | None = None) -> type[Any]:
    """The class whose states are of a kind.

    >>> from kernelight.base import registry
    >>> registry.stored_class("Product")
    <class 'kernelight.maps.combinations.product_map.ProductMap'>
    """
    known = _by_kind(family)
    if kind not in known:
        kinds = ", ".join(sorted(known))
        raise ValueError(f"No class has states of the kind {kind!r}: known kinds are {kinds}.")
    return _class_of(known[kind])


def _by_kind(family: str | None = None) -> dict[str, Entry]:
    return {entry.stored_as: entry for entry in STORED if family in (None, entry.family)}


def _class_of(entry: Entry) -> type[Any]:
    cls: type[Any] = getattr(import_module(entry.module), entry.name)
    return cls


def load(path: FilePath) -> Any:
    """Whatever a file holds, as an object of its class: a map, codes, a model.

    Loading runs no code.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    object
        What was saved, of its class.

    See Also
    --------
    State : What a file holds, as plain data.

    Examples
    --------
    >>> import os, tempfile
    >>> import kernelight
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.kl")
    >>> kernelight.Codes([[1, 2]], bits=2).save(path)
    >>> kernelight.load(path)
    Codes(1 row, 2 slots of 2 bits)
    """
    from kernelight.state import State  # here: the list of names must load without NumPy

    state, known = State.load(path), _by_kind()
    if state.kind not in known:
        raise ValueError(
            f"{path} holds a {state.kind!r}, which this version does not know: known kinds are "
            f"{', '.join(sorted(known))}."
        )
    return _class_of(known[state.kind]).from_state(state)
