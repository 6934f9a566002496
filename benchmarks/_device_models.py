"""Our models for small devices, as the benchmark of devices takes them: `OURS`.

Like the peers, each function takes training rows of whole numbers and gives models of all its
sizes; sigma is chosen on a quarter of these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from _device_code import Code
from _integer_mlp import Array

from kernelight import BinaryFourier, SignProjection, TernaryClassifier
from kernelight.export import CExport, to_c

BITS = (128, 256, 512, 1024, 2048)
SIGNS = (128, 256, 512, 1024)
SIGMAS = (0.5, 0.7, 1.0)  # times the median distance
TRIED = 512  # the bits that sigma is chosen by
CHECKED = 5000  # training rows that an export is tried on


@dataclass(frozen=True)
class Exported:
    """A map with its model, and what becomes of it in C."""

    label: str
    feature_map: Any
    model: Any
    rows: Array

    def python(self, X: Array) -> Array:
        """Classes by Python."""
        return np.asarray(self.model.predict(self.feature_map.encode(X)))

    @cached_property
    def export(self) -> CExport:
        """The integer code, tried on training rows."""
        return self.exported("int16", self.rows[:CHECKED])

    def exported(self, rows: str, check: Array) -> CExport:
        """The code for rows of some kind."""
        return to_c(self.feature_map, self.model, name="ours", check=check, rows=rows)

    def classes(self, X: Array) -> Array:
        """Classes by the twin of the integer code."""
        return np.asarray(self.export.predict(X))

    def code(self) -> Code:
        """The header, as it is measured."""
        return code_of(self.export)


def code_of(export: CExport) -> Code:
    """An exported header, as it is measured."""
    row = {"int16": "int16_t", "float32": "float"}[export.rows]
    call = f"int model_class(const {row} *row) {{ return {export.name}_predict(row); }}\n"
    return Code(
        f"{export.header}\nint model_class(const {row} *row);\n{call}", export.n_columns, row
    )


def binary_fourier(X: Array, y: Array) -> Iterator[Exported]:
    """BinaryFourier without a threshold, ternary coefficients."""
    median = BinaryFourier(2, random_state=0, n_jobs=1).fit(X).bandwidth_
    order = np.random.RandomState(0).permutation(len(X))
    learn, check = np.split(order, [3 * len(X) // 4])

    def fitted(n_bits: int, sigma: float, rows: Array) -> tuple[Any, Any]:
        bits = BinaryFourier(
            n_bits, sigma=sigma, threshold=False, projection="sorf", random_state=0, n_jobs=1
        ).fit(X[rows])
        return bits, TernaryClassifier(n_jobs=1).fit(bits.encode(X[rows]), y[rows])

    def right(sigma: float) -> float:
        bits, model = fitted(TRIED, sigma, learn)
        return float(model.score(bits.encode(X[check]), y[check]))

    sigma = max((times * median for times in SIGMAS), key=right)
    for n_bits in BITS:
        yield Exported(f"{n_bits:,} bits", *fitted(n_bits, sigma, order), X)


def sign_projection(X: Array, y: Array) -> Iterator[Exported]:
    """Signs of projections, ternary coefficients."""
    for n_bits in SIGNS:
        bits = SignProjection(n_bits, projection="sorf", random_state=0, n_jobs=1).fit(X)
        model = TernaryClassifier(n_jobs=1).fit(bits.encode(X), y)
        yield Exported(f"{n_bits:,} bits", bits, model, X)


OURS: dict[str, Callable[[Array, Array], Iterator[Exported]]] = {
    "kernelight, BinaryFourier": binary_fourier,
    "kernelight, SignProjection": sign_projection,
}
