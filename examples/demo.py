"""The whole idea on a data set that fits on a stamp: handwritten digits, 64 pixels each.

A linear model is quick to train but sees each pixel alone. A kernel model compares whole images, and needs every
training image to do so. GCWS turns images into short codes whose agreement estimates the kernel: the linear model
that is trained on them costs what linear models cost, and decides much like the kernel.

python examples/demo.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, LinearSVC

from kernelight import GCWS
from kernelight.kernels import GMM

COLUMNS = "{:<34} {:>9} {:>9} {:>9} {:>13}"


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and the seconds it took."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def main() -> None:
    """Train three models, show one line for each."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    print(f"Handwritten digits: {len(X_train)} images to learn from, {len(X_test)} to be tested on.\n")
    print(COLUMNS.format("model", "accuracy", "hashing", "training", "bytes a row"))

    linear = make_pipeline(MinMaxScaler(), LinearSVC(random_state=0))
    _, training = timed(lambda: linear.fit(X_train, y_train))
    accuracy_linear = linear.score(X_test, y_test)
    show("linear, on the pixels", accuracy_linear, None, training, X_train[0].nbytes)

    gcws = GCWS(n_components=1024, bits=8).fit(X_train)
    (codes_train, codes_test), hashing = timed(lambda: (gcws.encode(X_train), gcws.encode(X_test)))
    hashed, training = timed(lambda: LinearSVC(random_state=0).fit(codes_train.to_csr(), y_train))
    accuracy_hashed = hashed.score(codes_test.to_csr(), y_test)
    show("linear, on GCWS codes", accuracy_hashed, hashing, training, codes_train.nbytes // len(codes_train))

    exact, training = timed(lambda: SVC(kernel=GMM(), C=1.0).fit(X_train, y_train))
    show("exact GMM kernel, for reference", exact.score(X_test, y_test), None, training, X_train[0].nbytes)

    wrong = [round((1 - accuracy) * len(X_test)) for accuracy in (accuracy_linear, accuracy_hashed)]
    print(
        f"\nThe linear model gets {wrong[0]} of {len(X_test)} test images wrong on pixels and {wrong[1]} on codes: same "
        "learner, but on codes\nits inner products estimate the generalized min-max kernel."
    )


def show(model: str, accuracy: float, hashing: float | None, training: float, n_bytes: int) -> None:
    """One line of the table."""
    spent = "-" if hashing is None else f"{hashing:.3f} s"
    print(COLUMNS.format(model, f"{accuracy:.1%}", spent, f"{training:.3f} s", f"{n_bytes:,}"))


if __name__ == "__main__":
    main()
