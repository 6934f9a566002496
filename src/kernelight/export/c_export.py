"""`to_c`: a fitted model as one C header that predicts the same on a microcontroller."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.base.checks import as_matrix, check_choice
from kernelight.base.files import replacing
from kernelight.estimators.device_size import WIDEST
from kernelight.export.c_files import header_text, properties_text, sketch_text, test_text
from kernelight.export.c_text import check_name
from kernelight.export.column_names import refuse_other_names
from kernelight.export.model_parts import ModelParts, parts_of
from kernelight.export.predictors import Predictor, predictor_of
from kernelight.export.report import ExportReport
from kernelight.tables.model import TableModel

MOST_DIFFERENT = 0.001  # of the check rows may be predicted otherwise
TEST_ROWS = 32
FEWEST_ROWS = 16


@dataclass(frozen=True, eq=False)
class CExport:
    """A model in C, made by `to_c`: `save` writes it, `predict` is its twin in NumPy.

    ``header``, ``test`` and ``provenance`` are the texts of the three files, ``report`` says what
    they take and how the check rows fared.

    See Also
    --------
    to_c : Makes one.
    ExportReport : What it takes on the device.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> from kernelight import BinaryFourier, TernaryClassifier
    >>> from kernelight.export import to_c
    >>> X = np.random.default_rng(0).integers(0, 100, (300, 4)).astype(float)
    >>> y = X[:, 0] > X[:, 1]
    >>> bits = BinaryFourier(128, sigma=60.0, projection="sorf", threshold=False).fit(X)
    >>> model = TernaryClassifier().fit(bits.encode(X), y)
    >>> exported = to_c(bits, model, name="larger", check=X)
    >>> bool((exported.predict(X) == model.predict(bits.encode(X))).all())
    True
    >>> folder = tempfile.mkdtemp()
    >>> [os.path.basename(file) for file in exported.save(folder)]
    ['larger.h', 'larger_test.c', 'larger.json']
    """

    name: str
    rows: str
    header: str
    test: str
    report: ExportReport
    provenance: Mapping[str, Any]
    classes: NDArray[Any]
    _predictor: Predictor
    _first: NDArray[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of rows, as the C code gives them."""
        return np.asarray(self.classes[self.predict_index(X)])

    def predict_index(self, X: Any) -> NDArray[np.intp]:
        """The indices of the classes of rows: what ``NAME_predict`` returns."""
        refuse_other_names(X, self.provenance["column_names"], "X")
        rows = _as_rows(X, self.rows, self.n_columns, "X")
        return self._predictor.classes(rows)

    @property
    def n_columns(self) -> int:
        """Numbers of a row."""
        return int(self.provenance["columns"])

    def save(self, directory: Any, *, arduino: bool = False) -> list[str]:
        """Write NAME.h, NAME_test.c and NAME.json into a directory, which is made if needed.

        With ``arduino`` the layout is that of an Arduino library: the header in ``src/``, a sketch
        that blinks in ``examples/``, the test in ``extras/``, and ``library.properties``. Returns
        the paths of the files.
        """
        files = {
            f"{self.name}.h": self.header,
            f"{self.name}_test.c": self.test,
            f"{self.name}.json": json.dumps(self.provenance, indent=2) + "\n",
        }
        if arduino:
            files = {
                f"src/{self.name}.h": self.header,
                f"extras/{self.name}_test.c": self.test,
                f"extras/{self.name}.json": files[f"{self.name}.json"],
                f"examples/{self.name}_blink/{self.name}_blink.ino": sketch_text(
                    self.name, self.rows, self._first
                ),
                "library.properties": properties_text(self.name, self.n_columns),
            }
        written = []
        for file, text in files.items():
            path = os.path.join(os.fspath(directory), *file.split("/"))
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with replacing(path) as out:
                out.write(text.encode())
            written.append(path)
        return written


def to_c(
    model_or_map: Any,
    model: Any = None,
    *,
    name: str,
    check: Any,
    rows: str = "int16",
    phases: str = "seed",
) -> CExport:
    """A fitted model as one C header that predicts on a microcontroller.

    Parameters
    ----------
    model_or_map : CompactClassifier, KernelClassifier, TableModel, Pipeline or map
        A `CompactClassifier`, a KernelClassifier with ``method="integer"``, ``"binary"`` or
        ``"sign"``, a `TableModel` of one, a Pipeline of (`ColumnScaler`,) map and model, or a
        fitted `IntegerFourier`, `BinaryFourier` or `SignProjection`.
    model : TernaryClassifier or LinearClassifier, optional
        The model of the outputs, where the first argument is a map.
    name : str
        The prefix of all names in C, and the name of the files.
    check : array-like of shape (n, d)
        At least 16 rows, as the model takes them; for a `TableModel` a table. The header is tested
        with them, and ranges of numbers are chosen by them. More than 1 of 1,000 predicted
        otherwise than in Python refuse the export.
    rows : {"int16", "float32"}, default="int16"
        What a row holds in C. "int16" needs whole numbers (and for bits projection="sorf"), and
        computes with integers alone; predictions may differ from Python's in rare rows, and of bits
        of scaled columns where numbers are far beyond those of ``check``: these are cut. "float32"
        predicts exactly as Python does for rows of single precision.
    phases : {"seed", "table"}, default="seed"
        Whether phases of bits are made from the seed on the device, or stored: 2 bytes more for
        each bit ("float32": 4), and less time. `IntegerFourier` needs neither.

    Returns
    -------
    CExport

    See Also
    --------
    CExport : What it returns.
    to_onnx : Graphs for servers.
    kernelight.CompactClassifier : A model for a budget of bytes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelight import BinaryFourier, TernaryClassifier
    >>> from kernelight.export import to_c
    >>> X, y = load_digits(return_X_y=True)
    >>> bits = BinaryFourier(512, sigma=44.0, projection="sorf", threshold=False).fit(X)
    >>> model = TernaryClassifier().fit(bits.encode(X[:1200]), y[:1200])
    >>> exported = to_c(bits, model, name="digits", check=X)
    >>> exported.report.flash["planes"], exported.report.flash["lengths"]
    (1280, 1024)
    >>> bool((exported.predict(X[1200:]) == y[1200:]).mean() > 0.9)
    True
    """
    check_name(name)
    check_choice("rows", rows, ("int16", "float32"))
    check_choice("phases", phases, ("seed", "table"))
    parts = parts_of(model_or_map, model)
    if isinstance(model_or_map, TableModel):
        check = model_or_map.open(check).materialise()[0] if _is_table(check) else check
    seen = _check_rows(check, rows, parts)
    predictor = predictor_of(parts, seen, rows, phases)
    index = predictor.classes(seen)
    with warnings.catch_warnings():  # the model may know names, which rows of C have not
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        python = np.searchsorted(parts.classes, parts.predict(seen.astype(_PYTHON[rows])))
    different = int((index != python).sum())
    if different > MOST_DIFFERENT * len(seen):
        raise ValueError(
            f"{different:,} of {counted(len(seen), 'check row')} would be predicted otherwise in C "
            f"than in Python, more than 1 of 1,000: {_advice(rows)}"
        )
    report = ExportReport(predictor.flash, predictor.ram, len(seen), different)
    return _written(name, rows, parts, predictor, report, seen, index)


def _is_table(check: Any) -> bool:
    """Whether check rows are a table, which is to be encoded, and not features already."""
    return not isinstance(check, (np.ndarray, list, tuple))


_PYTHON = {"int16": np.float64, "float32": np.float32}


def _advice(rows: str) -> str:
    if rows == "int16":
        return "use rows='float32', or rows whose numbers take more of 16 bits."
    return "report this as a bug, with the model."


def _as_rows(X: Any, rows: str, n_columns: int, name: str) -> NDArray[Any]:
    """Rows as C has them; what it cannot hold is refused."""
    matrix = as_matrix(X, name=name)
    if not isinstance(matrix, np.ndarray):
        raise TypeError(f"{name} must be a dense array: C takes whole rows.")
    if matrix.shape[1] != n_columns:
        raise ValueError(f"{name} must have {counted(n_columns, 'column')}, got {matrix.shape[1]}.")
    if rows == "float32":
        with np.errstate(over="ignore"):
            singles = matrix.astype(np.float32)
        if not np.isfinite(singles).all():
            raise ValueError(
                f"{name} has numbers beyond single precision, which rows='float32' is."
            )
        return singles
    for wrong, why in (
        (matrix != np.rint(matrix), "not a whole number"),
        (np.abs(matrix) > 32767, "beyond 16 bits"),
    ):
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise ValueError(
                f"{name}[{row}, {column}] is {float(matrix[row, column]):g}, {why}, but "
                "rows='int16' takes whole numbers from -32767 to 32767: train on rows in other "
                "units (10 x, rounded), or use rows='float32'."
            )
    return matrix.astype(np.int16)


def _check_rows(check: Any, rows: str, parts: ModelParts) -> NDArray[Any]:
    refuse_other_names(check, parts.columns, "check")
    seen = _as_rows(check, rows, parts.scaling.n_features, "check")
    if len(seen) < FEWEST_ROWS:
        raise ValueError(
            f"check must have at least {FEWEST_ROWS} rows to test the C code with, got {len(seen)}."
        )
    if parts.scaling.n_features_out > WIDEST:
        raise ValueError(
            f"Rows of {parts.scaling.n_features_out:,} scaled columns are too wide for C (at most "
            f"{WIDEST:,}): train on fewer columns."
        )
    return seen


def _written(
    name: str,
    rows: str,
    parts: ModelParts,
    predictor: Predictor,
    report: ExportReport,
    seen: NDArray[Any],
    index: NDArray[np.intp],
) -> CExport:
    """The texts of the files."""
    header = header_text(name, rows, parts, predictor, report.ram)
    some = _test_rows(index)
    test = test_text(name, rows, seen[some], index[some])
    provenance = {
        "kernelight": version("kernelight"),
        "name": name,
        "rows": rows,
        "columns": int(seen.shape[1]),
        "column_names": None if parts.columns is None else list(parts.columns),
        "labels": parts.classes.tolist(),
        "scaling": parts.scaling.name,
        "map": type(parts.feature_map).__name__,
        "provenance": parts.provenance,
        "model": type(parts.model).__name__,
        "report": {
            "flash": report.flash,
            "flash_total": report.total,
            "ram": report.ram,
            "check_rows": report.n_rows,
            "different": report.n_different,
        },
    }
    return CExport(
        name, rows, header, test, report, provenance, parts.classes, predictor, seen[some[0]]
    )


def _test_rows(index: NDArray[np.intp]) -> NDArray[np.intp]:
    """Some rows, with every class that occurs."""
    order = np.argsort(index, kind="stable")
    spread = order[np.linspace(0, len(index) - 1, min(len(index), TEST_ROWS)).astype(np.intp)]
    return np.union1d(spread, np.unique(index, return_index=True)[1])
