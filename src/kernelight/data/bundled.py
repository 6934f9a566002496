"""Data sets by name: those that come with scikit-learn, and those of openml.org."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelight.base.sparse import sound_csr
from kernelight.data.errors import DataError, one_line
from kernelight.data.table_source import ArraySource, Categorical, words_of

BUNDLED = {
    "breast_cancer": "diagnosis",
    "diabetes": "progression",
    "digits": "digit",
    "iris": "species",
    "wine": "cultivar",
}


def bundled(name: str) -> ArraySource:
    """A small data set that comes with scikit-learn."""
    from sklearn import datasets

    loaded = getattr(datasets, f"load_{name}")()
    names = [str(feature) for feature in loaded.feature_names]
    target: Any = loaded.target
    if name in ("breast_cancer", "iris", "wine"):
        target = Categorical(target.astype(np.int32), tuple(map(str, loaded.target_names)))
    return ArraySource(name, names, loaded.data, {}, (BUNDLED[name], target))


def openml(name: str) -> ArraySource:
    """``NAME`` or ``NAME:VERSION`` of openml.org.

    Downloads are kept in the folder of scikit-learn's data.
    """
    from sklearn import datasets

    label = f"openml:{name}"
    title, _, version = name.partition(":")
    if not title or (version and not version.isdecimal()):
        raise DataError(
            f"{label} names no data set: openml:NAME or openml:NAME:VERSION is expected."
        )
    try:
        fetched = datasets.fetch_openml(
            title, version=int(version) if version else "active", as_frame=False, parser="liac-arff"
        )
    # no network, no such set, a set that cannot be parsed: each in its own way
    except Exception as error:
        reason = one_line(str(error))[:200].rstrip(". ") or type(error).__name__
        raise DataError(f"{label} could not be fetched: {reason}.") from error
    target = None
    if fetched.target is not None:
        if np.ndim(fetched.target) != 1:
            raise DataError(f"{label} has more than one target; download it and name one.")
        target = (str(fetched.target_names[0]), _target(fetched.target))
    if sp.issparse(fetched.data):
        return ArraySource(label, None, sound_csr(fetched.data, label), {}, target)
    return _table(label, fetched, target)


def _target(values: Any) -> Any:
    if values.dtype.kind in "OUS":
        return words_of([None if value is None else value for value in values.tolist()])
    return values


def _table(label: str, fetched: Any, target: Any) -> ArraySource:
    names = [str(name) for name in fetched.feature_names]
    categories = {
        str(name): tuple(map(str, values))
        for name, values in (getattr(fetched, "categories", None) or {}).items()
    }
    data = np.asarray(fetched.data, dtype=np.float64)
    words = {}
    for name, values in categories.items():
        if name in names:
            column = data[:, names.index(name)]
            words[name] = Categorical(
                np.where(np.isnan(column), -1, column).astype(np.int32), values
            )
    numbers = [at for at, name in enumerate(names) if name not in words]
    return ArraySource(label, names, data[:, numbers], words, target)
