"""What a study measures and recommends, as typed values: `Cell` and `Recommendation`.

Both are written to JSON with the keys of `to_plain` and read by `from_plain`. These keys are a file
format: studies and journals written before must load, so a field that is added later has a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar

_KINDS: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "bool": bool,
    "int": int,
    "float": (int, float),
    "None": type(None),
}
T = TypeVar("T", bound="Plain")


def _stored_as(key: str, **more: Any) -> Any:
    """A field whose key in JSON is not its name."""
    return field(metadata={"key": key}, **more)


class Plain:
    """A dataclass that becomes a dictionary for JSON, and is made from one."""

    def to_plain(self) -> dict[str, Any]:
        """Keys and plain values. Scores that were not measured have no key."""
        values = {_key(one): getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return {
            key: value for key, value in values.items() if value is not None or key not in _SCORES
        }

    @classmethod
    def from_plain(cls: type[T], plain: Any) -> T:
        """The object that `to_plain` wrote, in this version or before; else a ValueError."""
        if not isinstance(plain, Mapping):
            raise ValueError(
                f"a {cls.__name__.lower()} should be a JSON object, not {type(plain).__name__}"
            )
        given: dict[str, Any] = {}
        for one in fields(cls):  # type: ignore[arg-type]
            key = _key(one)
            if key in plain:
                given[one.name] = _checked(cls.__name__.lower(), one, plain[key])
            elif one.default is MISSING and one.default_factory is MISSING:
                raise ValueError(f"a {cls.__name__.lower()} has no {key!r}")
        return cls(**given)


def _key(one: Field[Any]) -> str:
    return str(one.metadata.get("key", one.name))


def _checked(what: str, one: Field[Any], value: Any) -> Any:
    """The value, if it has the type of its field; only types in `_KINDS` are checked."""
    names = str(one.type).split(" | ")
    if any(name not in _KINDS for name in names):
        return value
    is_right = any(isinstance(value, _KINDS[name]) for name in names)
    if not is_right or (isinstance(value, bool) and "bool" not in names):
        raise ValueError(f"{_key(one)!r} of a {what} is {value!r}, which is not {one.type}")
    return value


# Scores that some models do not have.
_SCORES = frozenset({"log_loss", "brier_score", "roc_auc"})


@dataclass(frozen=True)
class KernelError(Plain):
    """Root mean square difference of inner products and the kernel, over pairs of rows."""

    measured: float
    #: By theory; None where it has no formula.
    predicted: float | None


@dataclass(frozen=True, kw_only=True)
class ScoresOfTest(Plain):
    """Scores of a model on the test rows."""

    #: Accuracy or R^2, with the ends of its 95 % interval.
    test: float
    low: float
    high: float
    #: Predictions per second.
    rows_per_second: float = _stored_as("rows_a_second")
    #: Of a classifier with probabilities.
    log_loss: float | None = None
    brier_score: float | None = None
    #: Of a classifier: of the positive one of two classes, else the mean over the classes, each
    #: against the rest.
    roc_auc: float | None = None


@dataclass(frozen=True, kw_only=True)
class Cell(ScoresOfTest):
    """One model of a study: a candidate at one size, tuned, trained and tested.

    The names of the fields are also the keys in JSON, except for ``standard_error`` ("doubt"),
    ``folds`` ("turns"), ``n_bytes`` ("bytes") and ``rows_per_second`` ("rows_a_second").

    See Also
    --------
    Study : Says what the fields are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelight.study import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> study = compare(X, y, kernels=["gmm"], components=[32], progress=False)
    >>> cell = next(cell for cell in study.cells if cell.k == 32)
    >>> cell.candidate, cell.rows > 50, cell.score > 0.8
    ('gmm', True, True)
    """

    candidate: str
    #: Components; None for models without a feature map.
    k: int | None
    #: Rows that it was trained on.
    rows: int
    #: Shown for reference only, and never recommended.
    reference: bool
    #: Scale, gamma and p, where it has them.
    settings: dict[str, Any]
    C: float | None
    #: On held-out rows (validation), with its standard error.
    score: float
    standard_error: float = _stored_as("doubt")
    #: Pairs of C and validation score at the chosen settings.
    curve: tuple[tuple[float, float], ...] = ()
    fit_seconds: float
    n_bytes: int = _stored_as("bytes")
    #: How many folds were held out, one after the other, and how many rows in all.
    folds: int = _stored_as("turns")
    held_out: int = 0
    #: Of tuning, training and testing together.
    seconds: float
    #: What the scaled rows of the linear model are divided by.
    row_length: float = 1.0
    kernel_error: KernelError | None = None
    #: For instance that time ran out.
    note: str = ""
    #: Whether the settings lead by more than one standard error.
    clear: bool = False
    #: Whether this is KernelClassifier() or KernelRegressor() without arguments.
    default: bool = False

    def to_plain(self) -> dict[str, Any]:
        """Keys and plain values. Scores that were not measured have no key."""
        error = None if self.kernel_error is None else self.kernel_error.to_plain()
        return super().to_plain() | {
            "curve": [list(point) for point in self.curve],
            "kernel_error": error,
        }

    @classmethod
    def from_plain(cls, plain: Any) -> Cell:
        """The cell that `to_plain` wrote, in this version or before; else a ValueError."""
        if isinstance(plain, Mapping):
            error = plain.get("kernel_error")
            plain = dict(plain) | {
                "curve": _points(plain.get("curve", ())),
                "kernel_error": None if error is None else KernelError.from_plain(error),
            }
            if not isinstance(plain.get("settings", {}), dict):
                raise ValueError(
                    f"'settings' of a cell is {plain['settings']!r}, which is not a JSON object"
                )
        return super().from_plain(plain)


def _points(curve: Any) -> tuple[tuple[float, float], ...]:
    try:
        return tuple((float(C), float(score)) for C, score in curve)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"'curve' of a cell is {curve!r}, which is not a list of pairs of numbers"
        ) from error


@dataclass(frozen=True, kw_only=True)
class Recommendation(Plain):
    """A model that the study recommends: in words, in code, and the numbers of its cell.

    See Also
    --------
    Study : Says what the fields are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelight.study import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> study = compare(X, y, kernels=["gmm"], components=[32], progress=False)
    >>> study.recommendation.test > 0.8, study.recommendation.headline.startswith("Use")
    (True, True)
    """

    candidate: str
    k: int | None
    rows: int
    score: float
    test: float
    low: float
    high: float
    n_bytes: int = _stored_as("bytes", default=0)
    fit_seconds: float
    headline: str
    reason: str
    #: An expression that makes the model and fits it to X and y.
    code: str
    #: The same as a program with its imports; "" in studies of the first format.
    python: str = ""
    #: Arguments of KernelClassifier or KernelRegressor; None for the linear model.
    parameters: dict[str, Any] | None = None
    #: The command that trains it, if the data are a file.
    command: str | None = None
