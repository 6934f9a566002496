"""The time of an exact GMM SVM: our Gram matrices, and scikit-learn's SVC on them over C."""

from __future__ import annotations

import os
import time

import numpy as np
from sklearn.svm import SVC

from kernelight.kernels import GMM
from papers._cells import Cell, Result, cell, kind
from papers._data import split
from papers._exact import HALF_DECADES
from papers._page import Book, Plan, prose, table
from papers._sets import lgmm_scaling, set_of, stage_of

TITLE = "Gram matrices in the time of an exact SVM"
NAMES, QUICK = ("Splice", "Satimage", "USPS", "Isolet", "Letter", "M-Noise1"), ("Splice",)
LIMIT = 0.05  # the fraction of Gram matrices that is promised
TEXT = (
    "Seconds of wall-clock time; for Gram matrices the best of five. "
    "The SVMs have one thread: fit and predict for C in half-decades from 0.01 to 1,000. "
    "LIBSVM is quick where classes are far apart, so the fraction of the Gram matrices is largest "
    "there."
)


@kind("gram", version=4)
def gram(*, dataset: str, scaling: str, cs: list[float]) -> Result:
    """Seconds of wall-clock time: both Gram matrices on all cores, and all SVMs on one thread.

    The best of five counts, as in benchmarks/: on a virtual machine the first use of memory takes
    longer than the computation. The SVMs, too, get memory that has been used before.
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
    results = {name: book.get(wanted) for name, wanted in _cells(book.plan).items()}
    return {name: result for name, result in results.items() if result is not None}


def gram_fraction(result: Result) -> float:
    """The fraction of the time that the Gram matrices took."""
    return float(result["gram"] / (result["gram"] + result["svm"]))


def report(book: Book) -> str:
    """The table."""
    heads = ("data set", "cores of Gram", "Gram, s", "SVMs, s", "fraction of Gram")
    lines = [
        (
            name,
            result["cores"],
            result["gram"],
            result["svm"],
            f"{100 * gram_fraction(result):.1f} %",
        )
        for name, result in times(book).items()
    ]
    return f"{prose(TEXT)}\n\n{table(heads, lines)}"


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("lgmm/gram"))
