"""Our models for small devices, as the benchmark of devices takes them: `OURS`.

Like the peers, each function takes training rows of whole numbers and gives models of all its
sizes. `CompactClassifier` chooses for itself; for bits, sigma is chosen on a quarter of these rows.
`by_hand` is a search that looks at test rows: what `CompactClassifier` is held against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from _device_code import Code
from _integer_mlp import Array

from kernelight import BinaryFourier, CompactClassifier, IntegerFourier, TernaryClassifier
from kernelight.export import CExport, to_c

COMPACT = "kernelight, CompactClassifier"
BUDGETS = (1200, 1600, 2560, 3200)  # bytes
MANY_CLASSES, BUDGETS_OF_MANY = 20, (2500, 3500, 5000)
BITS = (512, 1024, 2048)
SIGMAS = (0.5, 0.7, 1.0)  # times the median distance
TRIED = 512  # the bits that sigma is chosen by
CHECKED = 5000  # training rows that an export is tried on
# by hand: times the root of the mean squared distance from the mean; C; times the features that fit
HAND = (0.5, 0.7, 0.95, 1.3), (3.0, 10.0, 30.0), (1.04, 1.0, 0.8)


@dataclass(frozen=True)
class Exported:
    """A model in Python, and what becomes of it in C."""

    label: str
    parts: tuple[Any, ...]  # what `to_c` takes: a model, or a map and a model
    python: Callable[[Array], Array]  # classes by Python
    rows: Array
    max_bytes: int | None = None

    @cached_property
    def export(self) -> CExport:
        """The integer code, tried on training rows."""
        return self.exported("int16", self.rows[:CHECKED])

    def exported(self, rows: str, check: Array) -> CExport:
        """The code for rows of some kind."""
        return to_c(*self.parts, name="ours", check=check, rows=rows)

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


def label_of(max_bytes: int) -> str:
    """What a `CompactClassifier` with a budget of bytes is called."""
    return f"max_bytes {max_bytes:,}"


def compact(X: Array, y: Array) -> Iterator[Exported]:
    """CompactClassifier, for budgets."""
    for budget in BUDGETS_OF_MANY if y.max() >= MANY_CLASSES else BUDGETS:
        model = CompactClassifier(budget, n_jobs=1).fit(X, y)
        yield Exported(label_of(budget), (model,), model.predict, X, budget)


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
        yield _of_bits(f"{n_bits:,} bits", *fitted(n_bits, sigma, order), X)


def _of_bits(label: str, bits: Any, model: Any, rows: Array) -> Exported:
    def python(X: Array) -> Array:
        return np.asarray(model.predict(bits.encode(X)))

    return Exported(label, (bits, model), python, rows)


def by_hand(X: Array, y: Array, n_features: int) -> Iterator[Exported]:
    """The parts of a CompactClassifier without a search: settings that somebody may try by hand.

    There are about as many features as given, and no scaling.
    """
    spread = float(np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()))
    for sigma, times in product(HAND[0], HAND[2]):
        features = IntegerFourier(
            round(times * n_features), sigma=sigma * spread, random_state=0, n_jobs=1
        ).fit(X)
        Z = features.transform(X)
        for C in HAND[1]:
            model = TernaryClassifier(C=C, n_jobs=1).fit(Z, y)
            yield _of_features(f"sigma {sigma:g}, {times:g}, C {C:g}", features, model, X)


def _of_features(label: str, features: Any, model: Any, rows: Array) -> Exported:
    def python(X: Array) -> Array:
        return np.asarray(model.predict(features.transform(X)))

    return Exported(label, (features, model), python, rows)


OURS: dict[str, Callable[[Array, Array], Iterator[Exported]]] = {
    COMPACT: compact,
    "kernelight, BinaryFourier": binary_fourier,
}
