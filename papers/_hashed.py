"""Cells of feature maps, which several papers share, and their means over repetitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers import _linear  # noqa: F401  # registers the cells
from papers._cells import Cell, Result, cell
from papers._figures import Line, Panel
from papers._page import Book, Plan, mean_curve
from papers._sets import set_of, stage_of

CS = [round(10.0 ** (e / 2), 6) for e in range(-4, 5)]  # half-decades from 0.01 to 100
ALL_KS = (128, 256, 1024, 4096, 64, 32, 16, 512)  # in the order of their colours
COARSE = [0.01, 0.1, 1.0, 10.0, 100.0]
# features of 4 bytes; the other maps make codes
DENSE = {"NRFF", "paired", "RFF", "folded RFF", "GMM-NYS", "RBF-NYS"}
BEST = (
    "The table has the accuracy at the C that is best on the test part; (n) is a mean of n "
    "repetitions, other figures are of one."
)
CODED = {"GCWS", "GCWS papers"}  # their codes can be cut to fewer bits
# A promise compares these; they are nearer to each other than one repetition to the next.
PROMISED_MEANS = {
    ("Letter", "GCWS", 128, 8),
    ("Letter", "GCWS, b = 12", 128, 0),
    ("Letter", "NRFF", 1024, 0),
}


def repetitions(dataset: str, method: str, k: int, bits: int, quick: bool) -> int:
    """How many: ten where a promise compares means, one where a fit is long, else three.

    Where fits are long, repetitions also differ least.
    """
    if quick:
        return 1
    if (dataset, method, k, bits) in PROMISED_MEANS:
        return 10
    return 3 if set_of(dataset).rows * k <= 5e6 else 1


def hashed_cell(
    dataset: str,
    scaling: str,
    method: str,
    k: int,
    bits: int | None,
    gamma: float | None,
    repetition: int,
) -> Cell:
    """The cell of one map; first repetitions come before all others."""
    known = set_of(dataset)
    big = known.rows * k > 2e7
    weight = 0.1 + known.rows * k * max(2, known.classes) / (1e7 if method in DENSE else 4e7)
    return cell(
        "hashed",
        dataset=dataset,
        scaling=scaling,
        method=method,
        k=k,
        bits=bits if method in CODED else None,
        gamma=gamma if method in DENSE else None,
        repetition=repetition,
        cs=COARSE if big else CS,
        max_test=known.max_test,
        stage=stage_of(dataset) + (2 if repetition else 0),
        weight=weight,
    )


def hashed_cells(
    dataset: str,
    scaling: str,
    methods: Iterable[str],
    ks: Iterable[int],
    bits: Iterable[int],
    gamma: float | None,
    plan: Plan,
) -> list[Cell]:
    """All repetitions of all combinations; bits are for the methods that have them."""
    return [
        hashed_cell(dataset, scaling, method, k, b, gamma, repetition)
        for k in ks
        for method in methods
        for b in (bits if method in CODED else [0])
        for repetition in range(repetitions(dataset, method, k, b, plan.quick))
    ]


def _results(
    book: Book, dataset: str, scaling: str, method: str, k: int, bits: int, gamma: float | None
) -> list[Result]:
    """The results of the repetitions that are computed."""
    coded_bits = bits if method in CODED else 0
    count = repetitions(dataset, method, k, coded_bits, book.plan.quick)
    cells = [
        hashed_cell(dataset, scaling, method, k, bits, gamma, repetition)
        for repetition in range(count)
    ]
    return [result for result in map(book.get, cells) if result is not None]


def curve(
    book: Book, dataset: str, scaling: str, method: str, k: int, bits: int, gamma: float | None
) -> tuple[list[float], np.ndarray] | None:
    """C and mean accuracies over the repetitions that are computed."""
    results = _results(book, dataset, scaling, method, k, bits, gamma)
    return (results[0]["cs"], mean_curve(results)) if results else None


@dataclass(frozen=True)
class Mean:
    """The mean accuracy at the C that is best on the test part, and its standard error."""

    value: float
    error: float | None
    repetitions: int

    def __str__(self) -> str:
        return f"{self.value:.2f}" + (f" ({self.repetitions})" if self.repetitions > 1 else "")


def best_mean(
    book: Book, dataset: str, scaling: str, method: str, k: int, bits: int, gamma: float | None
) -> Mean | None:
    """The mean over repetitions, None if not computed; one repetition has no standard error."""
    results = _results(book, dataset, scaling, method, k, bits, gamma)
    if not results:
        return None
    at = int(mean_curve(results).argmax())
    values = [result["test"][at] for result in results]
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return Mean(float(np.mean(values)), error, len(values))


def best(
    book: Book, dataset: str, scaling: str, method: str, k: int, bits: int, gamma: float | None
) -> float | None:
    """The mean accuracy at the C that is best on the test part, None if not computed."""
    mean = best_mean(book, dataset, scaling, method, k, bits, gamma)
    return None if mean is None else mean.value


def c_panel(
    book: Book,
    title: str,
    dataset: str,
    scaling: str,
    methods: dict[str, Any],
    ks: Iterable[int],
    bits: int,
    gamma: float | None,
) -> Panel:
    """Accuracy against C: a colour for each k, a dash for each method."""
    panel = Panel(title)
    for k in ks:
        for method, dash in methods.items():
            against_c = curve(book, dataset, scaling, method, k, bits, gamma)
            if against_c is not None:
                panel.lines.append(
                    Line(*against_c, f"k = {k}", ALL_KS.index(k), dash, style=method)
                )
    return panel
