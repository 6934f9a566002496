"""KernelClassifier("gmm") with its defaults on all of MNIST, against an RBF SVM on 10,000 rows.

Both are timed from the table to the predictions of the 10,000 test rows, tuning included. The rows
come from MNIST.npz (X_train, y_train, X_test, y_test) in the folder that KERNELIGHT_DATA names;
without it the benchmark is left out.

    KERNELIGHT_DATA=folder python benchmarks/frontdoor.py
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _data import arrays
from _measure import Row, show
from sklearn.svm import SVC

from kernelight import KernelClassifier

SVC_ROWS = 10_000
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def run() -> list[Row]:
    """Time and accuracy, one row each."""
    data = mnist()
    if data is None:
        return []
    X, y, X_test, y_test = data
    some = np.random.default_rng(0).permutation(len(X))[:SVC_ROWS]
    ours, our_time, our_score = fitted(KernelClassifier("gmm"), X, y, X_test, y_test)
    _, svc_time, svc_score = fitted(
        SVC(C=10, kernel="rbf"), X[some] / 255, y[some], X_test / 255, y_test
    )
    print(ours.summary())
    claim = f'KernelClassifier("gmm"), MNIST {len(X):,}/{len(X_test):,}'
    peer = f'SVC(kernel="rbf", C=10) on {SVC_ROWS:,} rows'
    return [
        {
            "claim": f"{claim}: fit and predict, {our_time:.1f} s",
            "peer": f"{peer}, {svc_time:.1f} s",
            "bar": "faster",
            "measured": svc_time / our_time,
            "holds": our_time < svc_time,
        },
        {
            "claim": f"{claim}: test accuracy {our_score:.2%}",
            "peer": f"{peer}, {svc_score:.2%}",
            "bar": "higher",
            "measured": 100 * (our_score - svc_score),
            "unit": "points",
            "holds": our_score > svc_score,
        },
    ]


def mnist() -> Split | None:
    """Training rows, their labels, test rows, their labels."""
    file = arrays("MNIST")
    if file is None:
        return None
    X, y, X_test, y_test = (file[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    return X.astype(np.float32), y, X_test.astype(np.float32), y_test


def fitted(
    model: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray
) -> tuple[Any, float, float]:
    """The model, the seconds of fit and predict, and its accuracy."""
    start = time.perf_counter()
    predicted = model.fit(X, y).predict(X_test)
    return model, time.perf_counter() - start, float(np.mean(predicted == y_test))


if __name__ == "__main__":
    show(run())
