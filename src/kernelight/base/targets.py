"""Whether y can be a target at all: one value of the right kind for each row.

NumPy and scikit-learn would refuse the same with words for programmers, and some only after a part
of the work. The first words of some sentences are those that scikit-learn's checks ask for.
"""

from __future__ import annotations

import datetime
import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.base.checks import refuse_masked

_NO_SEQUENCES = (str, bytes, dict, set, frozenset)


def check_target(y: Any, n_rows: int | None, *, classes: bool, owner: str) -> None:
    """Refuse what is no target of ``n_rows`` rows (None: unknown), with its place and what to do.

    Targets are labels of ``classes``, or quantities, of which a row may have several. ``owner`` is
    the class that learns from them.
    """
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    refuse_masked("y", y)
    array = _as_array(y)
    if array.ndim != 1 and not (array.ndim == 2 and (not classes or array.shape[1] == 1)):
        raise ValueError(_wrong_shape(array, n_rows))
    if n_rows is not None and len(array) != n_rows:
        flat = "; pass y.ravel()" if array.shape == (1, n_rows) else ", and each row needs one"
        raise ValueError(
            f"Found inconsistent numbers of samples: X has {counted(n_rows, 'row')} and y has "
            f"{counted(len(array), 'target')}{flat}."
        )
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported: y has dtype {array.dtype}.")
    if kind == "O":
        _check_objects(array, classes)
    elif kind in "fmM":
        _refuse_nonfinite(array)
    if kind == "M":
        raise ValueError(_DATES)
    if classes:
        _refuse_fractions(array)
    elif kind in "USO":
        _refuse_text(array)


def _as_array(y: Any) -> NDArray[Any]:
    if sp.issparse(y):
        raise TypeError(
            "Sparse data was passed for y, but dense data is required: pass y.toarray().ravel()."
        )
    sequence = hasattr(y, "__len__") or hasattr(y, "__array__")
    if isinstance(y, _NO_SEQUENCES) or not sequence:
        raise TypeError(
            f"y must be a list or an array with a target for each row, got {type(y).__name__}."
        )
    try:
        return np.asarray(y)
    except ValueError:
        raise ValueError(
            "y has entries of different lengths: it needs one target for each row."
        ) from None


def _wrong_shape(array: NDArray[Any], n_rows: int | None) -> str:
    shape = f"y has the shape {array.shape}"
    if array.ndim != 2:
        return f"{shape}: it needs one target for each row, in one dimension."
    if array.shape[0] == 1 and array.shape[1] == n_rows:
        return f"{shape}: pass y.ravel()."
    return (
        f"y should be a 1d array, got the shape {array.shape}: a classifier learns one target, so "
        f"pass one column, such as y[:, 0] (of a frame: y['name'])."
    )


_DATES = (
    "Input y contains dates, which are neither classes nor quantities: make numbers of them (such "
    "as days since a day), or text if each date is a class."
)


def _check_objects(array: NDArray[Any], classes: bool) -> None:
    """Refuse missing values, dates, and labels of several kinds."""
    first: dict[str, Any] = {}
    for at, value in enumerate(array.ravel().tolist()):
        if value is None or (isinstance(value, numbers.Number) and value != value):
            _refuse_missing(at // (array.size // len(array)))
        if isinstance(value, (datetime.date, np.datetime64)):
            raise ValueError(_DATES)
        kind = (
            "text"
            if isinstance(value, str)
            else "numbers"
            if isinstance(value, (numbers.Number, np.bool_))
            else type(value).__name__
        )
        first.setdefault(kind, value)
    if classes and "text" in first and "numbers" in first:
        raise ValueError(
            f"Unknown label type: y holds text such as {first['text']!r} and numbers such as "
            f"{first['numbers']!r}; make all labels text, for instance with y.astype(str)."
        )


def _refuse_missing(row: int) -> None:
    raise ValueError(
        f"Input y contains NaN or another missing value at row {row}: leave such rows out."
    )


def _refuse_nonfinite(array: NDArray[Any]) -> None:
    gone = np.isnat(array) if array.dtype.kind in "mM" else np.isnan(array)
    if gone.any():
        _refuse_missing(int(np.argwhere(gone)[0][0]))
    if array.dtype.kind == "f" and np.isinf(array).any():
        row = int(np.argwhere(np.isinf(array))[0][0])
        raise ValueError(
            f"Input y contains infinity at row {row}: replace it, or leave such rows out."
        )


def _refuse_fractions(array: NDArray[Any]) -> None:
    """Refuse numbers that are no labels."""
    values = array.ravel()
    if values.dtype.kind == "f":
        odd = values != np.floor(values)
    elif values.dtype.kind == "O":
        odd = np.array([isinstance(v, float) and not v.is_integer() for v in values.tolist()])
    else:
        return
    if odd.any():
        row = int(np.argmax(odd))
        raise ValueError(
            f"Unknown label type: continuous. y holds {values[row]} at row {row}, and a classifier "
            f"needs labels: use a regressor for quantities, or y.astype(str) if each number is a "
            f"class."
        )


def _refuse_text(array: NDArray[Any]) -> None:
    """Refuse text that is no number as a quantity."""
    for at, value in enumerate(array.ravel().tolist()):
        try:
            float(value)
        except OverflowError:  # a whole number beyond every float, which has its own sentence
            continue
        except (TypeError, ValueError):
            row = at // (array.size // len(array))
            raise ValueError(
                f"could not convert y to numbers: it holds {value!r} at row {row}; use a "
                f"classifier if y holds classes."
            ) from None
