"""Where the time of an exact GMM SVM goes: our Gram matrices, and scikit-learn's SVC on them over C."""

from __future__ import annotations

import time

import numpy as np
from sklearn.svm import SVC

from kernelight.kernels import GMM
from papers._cells import Cell, Result, cell, kind
from papers._data import split
from papers._exact import DECADES
from papers._page import Book, Plan, table
from papers._sets import SETS, lgmm_scaling, stage_of

TITLE = "Gram matrices in the time of an exact SVM"
NAMES, QUICK = ("Splice", "Satimage", "USPS", "Isolet", "Letter", "M-Noise1"), ("Splice",)
SHARE = 0.05


@kind("gram", version=1)
def gram(*, dataset: str, scaling: str, cs: list[float]) -> Result:
    """Seconds of the processor, on one thread: both Gram matrices, and fit and predict of all C."""
    data = split(dataset, scaling, 0)
    begun = time.process_time()
    K, K_test = GMM()(data.X), GMM()(data.X_test, data.X)
    between = time.process_time()
    K, K_test = K.astype(np.float64), K_test.astype(np.float64)  # what LIBSVM takes
    for C in cs:
        SVC(C=C, kernel="precomputed", cache_size=500).fit(K, data.y).predict(K_test)
    return {"gram": round(between - begun, 3), "svm": round(time.process_time() - between, 3)}


def _cells(plan: Plan) -> dict[str, Cell]:
    names = plan.of(NAMES, QUICK)
    weights = {name: (SETS[name].rows / 1000) ** 2 for name in names}
    return {
        name: cell(
            "gram",
            dataset=name,
            scaling=lgmm_scaling(name),
            cs=DECADES,
            stage=stage_of(name),
            weight=weights[name],
        )
        for name in names
    }


def cells(plan: Plan) -> list[Cell]:
    """One for each set."""
    return list(_cells(plan).values())


def shares(book: Book) -> dict[str, tuple[float, float]]:
    """Seconds of Gram matrices and of SVMs."""
    found = {name: book.get(wanted) for name, wanted in _cells(book.plan).items()}
    return {name: (result["gram"], result["svm"]) for name, result in found.items() if result is not None}


def report(book: Book) -> str:
    """The table."""
    text = (
        "Seconds of the processor on one thread; the SVMs are fit and predict for C = 0.01, 0.1, ... 1,000. LIBSVM is "
        "quick where classes are far apart, so that the share of the Gram matrices is large though they are short.\n\n"
    )
    lines = [
        (name, one, rest, f"{100 * one / (one + rest):.1f} %") for name, (one, rest) in shares(book).items()
    ]
    return text + table(("data set", "Gram, s", "SVMs, s", "share of Gram"), lines)


if __name__ == "__main__":
    from papers.run import main

    raise SystemExit(main(["lgmm/gram"]))
