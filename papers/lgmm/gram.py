"""Where the time of an exact GMM SVM goes: our Gram matrices, and scikit-learn's SVC on them over
C."""

from __future__ import annotations

import os
import time

import numpy as np
from sklearn.svm import SVC

from kernelight.kernels import GMM
from papers._cells import Cell, Result, cell, kind
from papers._data import split
from papers._exact import HALF_DECADES
from papers._page import Book, Plan, table
from papers._sets import lgmm_scaling, set_of, stage_of

TITLE = "Gram matrices in the time of an exact SVM"
NAMES, QUICK = ("Splice", "Satimage", "USPS", "Isolet", "Letter", "M-Noise1"), ("Splice",)
SHARE = 0.05


@kind("gram", version=4)
def gram(*, dataset: str, scaling: str, cs: list[float]) -> Result:
    """Seconds by the clock: both Gram matrices on every core, and fit and predict of all C, which
    have one thread.

    The best of five counts, as in benchmarks/: where memory is new to a virtual machine, the first
    touch of it takes longer than the numbers that are written there. The SVMs, too, find theirs
    touched.
    """
    data = split(dataset, scaling, 0)
    takes = []
    for _ in range(5):
        begun = time.perf_counter()
        K, K_test = GMM()(data.X), GMM()(data.X_test, data.X)
        takes.append(time.perf_counter() - begun)
    K, K_test = K.astype(np.float64), K_test.astype(np.float64)  # what LIBSVM takes
    begun = time.perf_counter()
    for C in cs:
        SVC(C=C, kernel="precomputed", cache_size=500).fit(K, data.y).predict(K_test)
    svm = time.perf_counter() - begun
    return {"gram": round(min(takes), 3), "svm": round(svm, 3), "cores": os.cpu_count() or 1}


def _cells(plan: Plan) -> dict[str, Cell]:
    names = plan.of(NAMES, QUICK)
    weights = {name: (set_of(name).rows / 1000) ** 2 for name in names}
    return {
        name: cell(
            "gram",
            dataset=name,
            scaling=lgmm_scaling(name),
            cs=HALF_DECADES,
            stage=stage_of(name),
            weight=weights[name],
            timed=True,
        )
        for name in names
    }


def cells(plan: Plan) -> list[Cell]:
    """One for each set."""
    return list(_cells(plan).values())


def times(book: Book) -> dict[str, Result]:
    """Seconds of Gram matrices and of SVMs, where they are computed."""
    found = {name: book.get(wanted) for name, wanted in _cells(book.plan).items()}
    return {name: result for name, result in found.items() if result is not None}


def share(result: Result) -> float:
    """Of the Gram matrices in the time of both."""
    return float(result["gram"] / (result["gram"] + result["svm"]))


def report(book: Book) -> str:
    """The table."""
    text = (
        "Seconds by the clock, the best of five for Gram matrices; the SVMs, which have one "
        "thread, are fit and predict for C "
        "in half-decades from 0.01 to 1,000. LIBSVM is quick where classes are far apart, so that "
        "the share of the Gram "
        "matrices is largest there.\n\n"
    )
    lines = [
        (name, result["cores"], result["gram"], result["svm"], f"{100 * share(result):.1f} %")
        for name, result in times(book).items()
    ]
    return text + table(("data set", "cores of Gram", "Gram, s", "SVMs, s", "share of Gram"), lines)


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("lgmm/gram"))
