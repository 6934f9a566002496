"""Checks of input that several packages share.

A check either returns the input in the one form the rest of the package works on, or raises an
error whose single sentence says what is wrong, where, and what to do. What only one family of
kernels or maps needs is checked there. `resources` has the threads and the instruction set of a
compiled call.
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base import counted
from kernelight.base.sparse import sound_csr

SIMD_LEVELS = ("baseline", "avx2", "avx512")
MAX_THREADS = 1024
# A C-contiguous float32 or float64 array, or a canonical CSR matrix or array of the same.
Matrix = Any


class Resources(NamedTuple):
    """What a compiled call may use: threads, and the instruction set (index of SIMD_LEVELS)."""

    threads: int
    simd: int

    def for_work(self, operations: int) -> Resources:
        """The same with no more threads than the work is worth.

        Starting a thread costs as much as a million operations.
        """
        return Resources(max(1, min(self.threads, operations >> 20)), self.simd)


def resources(n_jobs: int | None = None) -> Resources:
    """Threads and instruction set for one compiled call.

    ``n_jobs=None`` means every core this process may use, or ``OMP_NUM_THREADS`` when set; negative
    numbers count back from all cores as in joblib; ``KERNELIGHT_NUM_THREADS`` overrides.
    ``KERNELIGHT_SIMD`` may name a level below the machine's best (results are the same).
    """
    forced, foreign, name = _core.settings()  # of os.environ, in one cheap call
    count = _forced_count(forced)
    if count is not None:
        threads = count
    elif n_jobs is None:
        threads = _foreign_count(foreign) or _cores()
    else:
        check_int("n_jobs", n_jobs)
        if n_jobs == 0:
            raise ValueError("n_jobs must not be 0: 1 is one thread, -1 all cores.")
        threads = n_jobs if n_jobs > 0 else max(1, _cores() + 1 + n_jobs)
    threads = min(threads, MAX_THREADS)
    best = _core.best_simd_level()
    if not name:
        return Resources(threads, best)
    if name not in SIMD_LEVELS:
        raise ValueError(f"KERNELIGHT_SIMD must be one of {', '.join(SIMD_LEVELS)}, got {name!r}.")
    return Resources(threads, min(SIMD_LEVELS.index(name), best))


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _foreign_count(value: str | None) -> int | None:
    """A count in a variable of other software, which also complains if it cannot be read."""
    text = (value or "").split(",")[0].strip()  # one count per nesting level
    return int(text) if text.isdecimal() and int(text) > 0 else None


def _forced_count(value: str | None) -> int | None:
    text = (value or "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"KERNELIGHT_NUM_THREADS must be a positive whole number, got {text!r}.")
    return int(text)


def check_int(name: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """``value`` as an int inside [low, high]; bools and floats are refused."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        limits = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name} must be {limits}, got {number}.")
    return number


def check_bool(name: str, value: Any) -> bool:
    """``value`` if it is True or False: a word such as "no" would count as true."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def _as_float(name: str, value: Any) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    try:
        return float(value)
    except OverflowError:  # a whole number beyond every float
        return math.inf


def check_positive(name: str, value: Any) -> float:
    """``value`` as a finite float above 0."""
    number = _as_float(name, value)
    if not math.isfinite(number) or number <= 0:
        raise ValueError(f"{name} must be a finite number above 0, got {value}.")
    return number


def check_number(name: str, value: Any, low: float, high: float = math.inf) -> float:
    """``value`` as a finite float inside [low, high]."""
    number = _as_float(name, value)
    if not math.isfinite(number) or not low <= number <= high:
        limits = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise ValueError(f"{name} must be a finite number, {limits}, got {value}.")
    return number


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """The one of ``choices`` that ``value`` is.

    NumPy's strings and booleans, which a search over an array gives, count too.
    """
    given = (
        str.__str__(value)
        if isinstance(value, str)
        else bool(value)
        if isinstance(value, np.bool_)
        else value
    )
    for choice in choices:
        if given is choice or (type(given) is type(choice) and given == choice):
            return choice
    known = [choice for choice in choices if isinstance(choice, str)]
    close = (
        get_close_matches(given.lower(), known, n=1, cutoff=0.5) if isinstance(given, str) else []
    )
    end = f": did you mean {close[0]!r}?" if close else "."
    raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {given!r}{end}")


def check_positive_or(name: str, value: Any, words: tuple[str, ...]) -> None:
    """Refuse what is neither a finite number above 0 nor one of ``words``."""
    if not isinstance(value, str):
        check_positive(name, value)
    elif value not in words:
        known = ", ".join(map(repr, words[:-1])) + (" or " if words[1:] else "") + repr(words[-1])
        given = str.__str__(value)
        raise ValueError(
            f"{name} must be a number above 0{',' if words[1:] else ' or'} {known}, got {given!r}."
        )


def check_class_weight(class_weight: Any) -> None:
    """Refuse what is not None, "balanced" or a dict of finite weights of at least 0."""
    if not isinstance(class_weight, dict):
        check_choice("class_weight", class_weight, (None, "balanced"))
        return
    for label, weight in class_weight.items():
        check_number(f"The weight of class {label!r}", weight, 0.0)


def is_plain(X: Any, n_cols: int) -> bool:
    """Whether `as_matrix` would return ``X`` itself, and it has rows of this width.

    This is the cheap question that predictions ask first: a row in the form of the core needs no
    other check.
    """
    return type(X) is np.ndarray and _core.is_plain(X, n_cols)


def as_matrix(X: Any, *, name: str = "X", missing: bool = False) -> Matrix:
    """``X`` as the core needs it: float32 or float64, C-contiguous or canonical CSR, finite.

    Anything convertible is converted (lists, frames, integers, booleans, float16, any order, CSC,
    COO); the caller's object is never changed. NaN and infinity are refused with their position;
    NaN is not where numbers may be ``missing``.
    """
    if sp.issparse(X):
        return _as_csr(X, name, missing)
    check_numbers(X, name=name)
    array = np.asarray(X)
    if array.dtype not in (np.float32, np.float64):
        # infinity is refused below, with its position
        with within_floats(name), np.errstate(over="ignore"):
            array = _as_floats(array, name)
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: {name} must have rows and "
            "columns; reshape one row with X.reshape(1, -1), one column with X.reshape(-1, 1)."
        )
    array = np.ascontiguousarray(array)
    _refuse_nonfinite(array, array, name, missing)
    return array


def _as_floats(array: NDArray[Any], name: str) -> NDArray[Any]:
    try:
        return array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} holds something that is not a number: {error}.") from error


@contextmanager
def within_floats(name: str) -> Iterator[None]:
    """One sentence for Python's whole numbers that no float can hold."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(
            f"{name} holds a whole number beyond the range of floating-point numbers (1.8e308): "
            "scale it down."
        ) from error


def check_numbers(X: Any, *, name: str = "X") -> None:
    """Refuse dates, text and masks.

    NumPy would convert them to numbers without a word, or lose something on the way.
    """
    refuse_masked(name, X)
    dtypes = X.dtypes if hasattr(X, "dtypes") else [getattr(X, "dtype", None)]
    for dtype in dtypes if np.iterable(dtypes) else [dtypes]:
        kind = getattr(dtype, "kind", None)
        if kind == "c":
            raise ValueError(f"Complex data not supported: {name} has dtype {dtype}.")
        if kind in ("m", "M", "U", "S", "V"):
            raise ValueError(
                f"{name} has dtype {dtype}, which is not a number: convert it to numbers first."
            )
    # a frame: name the column that is not numbers
    if hasattr(X, "items") and hasattr(X, "dtypes"):
        for column, values in X.items():
            if getattr(values.dtype, "kind", None) == "O":
                _refuse_words(f"Column {column!r} of {name}", values)


def _refuse_words(where: str, values: Any) -> None:
    """Refuse a column of objects with the first of them that is not a number."""
    for value in values:
        try:
            float(value)
        except OverflowError:  # refused later, once for every kind of input
            continue
        except (TypeError, ValueError):
            raise ValueError(
                f"{where} holds {value!r}, which is not a number: encode it (for instance with "
                "scikit-learn's OneHotEncoder), leave it out, or use KernelClassifier or "
                "KernelRegressor, which take words."
            ) from None


def refuse_masked(name: str, values: Any) -> None:
    """Refuse masked entries, which NumPy would count like all others."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        what = {
            "y": "leave these rows out of X and y",
            "sample_weight": "give these rows a weight; one of weight 0 does not count",
        }
        fill = (
            f"{name}.astype(float).filled(numpy.nan) makes missing values of them, which "
            f"KernelClassifier and KernelRegressor take; others need numbers there"
        )
        raise ValueError(f"{name} has masked entries: {what.get(name, fill)}.")


def _as_csr(X: Any, name: str, missing: bool) -> Matrix:
    check_numbers(X, name=name)
    if X.ndim != 2:
        raise ValueError(
            f"{name} must have rows and columns, got a sparse array of "
            f"{counted(X.ndim, 'dimension')}."
        )
    csr = sound_csr(X, name)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if csr.indices.dtype != csr.indptr.dtype or csr.indices.dtype not in (np.int32, np.int64):
        csr = type(csr)(
            (csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)),
            shape=csr.shape,
            copy=False,
        )
    _refuse_nonfinite(csr, csr.data, name, missing)
    return csr


def core_args(X: Matrix) -> tuple[Any, Any, Any, int]:
    """A checked matrix as ``values, indices, indptr, n_cols``: arguments of compiled functions."""
    if sp.issparse(X):
        end = X.indptr[-1]  # arrays longer than the matrix are legal in scipy
        return (
            np.ascontiguousarray(X.data[:end]),
            np.ascontiguousarray(X.indices[:end]),
            np.ascontiguousarray(X.indptr),
            X.shape[1],
        )
    return X, None, None, X.shape[1]


def _refuse_nonfinite(X: Matrix, values: NDArray[Any], name: str, missing: bool) -> None:
    # The sum may overflow although all values are finite: then look at each value.
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(values.sum())
    if math.isfinite(total):
        return
    wrong = np.isinf(values) if missing else ~np.isfinite(values)
    if not wrong.any():
        return
    row, col = position(X, wrong)
    what = "NaN" if np.isnan(value_at(X, row, col)) else "infinity"
    raise ValueError(
        f"Input {name} contains {what} at row {row}, column {col}: replace or drop it before this "
        "step."
    )


def position(X: Matrix, mask: NDArray[np.bool_]) -> tuple[int, int]:
    """Row and column of the first True of ``mask``.

    ``mask`` has the shape of the stored values of ``X``.
    """
    if sp.issparse(X):
        at = int(np.flatnonzero(mask)[0])
        return int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
    row, col = np.unravel_index(int(np.argmax(mask)), mask.shape)
    return int(row), int(col)


def value_at(X: Matrix, row: int, col: int) -> float:
    """The entry of a checked matrix."""
    return float(X[[row], [col]].item()) if sp.issparse(X) else float(X[row, col])


def check_nonnegative(X: Matrix, *, name: str = "X", owner: str, instead: str) -> None:
    """Refuse negative entries, naming the first one and what accepts them."""
    values = X.data if sp.issparse(X) else X
    if values.size == 0 or values.min() >= 0:
        return
    row, col = position(X, values < 0)
    raise ValueError(
        f"{owner} needs nonnegative values, but {name} has {value_at(X, row, col):g} at row {row}, "
        f"column {col}; {instead}"
    )


def check_same_width(X: Matrix, Y: Matrix, *, name: str = "Y") -> None:
    """Refuse two matrices of different widths."""
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X has {counted(X.shape[1], 'column')} but {name} has {Y.shape[1]}: both must have "
            "the same features."
        )


def as_row_indices(rows: Any, count: int, *, name: str) -> NDArray[np.int64]:
    """A new array of row indices below ``count``, at least one."""
    return _as_numbers(rows, count, name, "training rows")


def as_slot_numbers(slots: Any, count: int) -> NDArray[np.int64]:
    """A new array of numbers of slots below ``count``: at least one, ascending, each once."""
    numbers = _as_numbers(slots, count, "slots", "slots")
    if (np.diff(numbers) <= 0).any():
        raise ValueError(
            "slots must ascend, each number once: sort them, for instance with numpy.unique."
        )
    return numbers


def _as_numbers(given: Any, count: int, name: str, of: str) -> NDArray[np.int64]:
    try:
        indices = np.asarray(given)
    except ValueError:  # lists of several lengths
        indices = np.asarray(None)
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or not indices.size:
        raise ValueError(
            f"{name} must be a list of indices of {of}, got {type(given).__name__} of dtype "
            f"{indices.dtype} and {counted(indices.ndim, 'dimension')}."
        )
    if indices.min() < 0 or indices.max() >= count:
        raise ValueError(
            f"{name} must be between 0 and {count - 1}, got {indices.min()} to {indices.max()}: "
            f"there are {count} {of}."
        )
    return np.array(indices, dtype=np.int64)


def as_row_weights(weights: Any, count: int) -> NDArray[np.float64]:
    """One finite weight of at least 0 for each of ``count`` rows, not all 0.

    None means 1 each, a number means that number each.
    """
    if weights is None:
        return np.ones(count)
    refuse_masked("sample_weight", weights)
    checked = np.asarray(weights)
    checked = np.full(count, checked) if checked.ndim == 0 else checked
    if checked.shape != (count,) or checked.dtype.kind not in "biuf":
        raise ValueError(
            f"sample_weight must be {counted(count, 'number')}, one for each row, got "
            f"{checked.dtype} of the shape {checked.shape}."
        )
    checked = checked.astype(np.float64)
    wrong = ~(np.isfinite(checked) & (checked >= 0.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"sample_weight must be finite and at least 0, got {checked[row]} at row {row}."
        )
    with np.errstate(over="ignore"):
        if not math.isfinite(float(checked.sum())):
            raise ValueError("sample_weight adds up to infinity: divide it by its largest value.")
    if count and not checked.any():
        raise ValueError("sample_weight is zero for every row: at least one row must count.")
    return checked


def as_names(names: Any, count: int) -> NDArray[np.object_]:
    """The names of ``count`` features, from a list."""
    if (
        not isinstance(names, list)
        or len(names) != count
        or not all(isinstance(name, str) for name in names)
    ):
        raise ValueError(
            f"feature_names_in must be a list of {counted(count, 'name')}, one for each feature."
        )
    return np.asarray(names, dtype=object)


def check_learned(
    name: str, array: Any, dtypes: tuple[str, ...], ndim: int, *, finite: bool = True
) -> None:
    """Refuse a learned array that is missing, of another dtype or dimension, or not finite."""
    if not isinstance(array, np.ndarray) or array.dtype.name not in dtypes or array.ndim != ndim:
        actual = (
            f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else repr(array)
        )
        raise ValueError(
            f"{name} must be {' or '.join(dtypes)} of {counted(ndim, 'dimension')}, got {actual}."
        )
    if finite and not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers.")


def is_generator(random_state: Any) -> bool:
    """Whether to take a seed from it would change it."""
    return isinstance(random_state, (np.random.RandomState, np.random.Generator))


def seed_of(random_state: Any) -> int:
    """The 64-bit seed that a ``random_state`` stands for.

    An int is itself, a generator gives its next number.
    """
    if random_state is None:
        return int.from_bytes(os.urandom(8), "little") >> 1
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**63 - 1, dtype=np.int64))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**63 - 1, dtype=np.int64))
    try:
        return check_int("random_state", random_state, 0, 2**64 - 1)
    except TypeError:
        raise TypeError(
            "random_state must be a whole number, a RandomState, a Generator or None, got "
            f"{random_state!r}."
        ) from None
