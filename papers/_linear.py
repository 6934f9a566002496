"""Linear models on feature maps: a cell is one map, one k, one repetition, and all C."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from kernelight import (
    GCWS,
    KernelNystroem,
    LinearClassifier,
    ProductMap,
    RandomFourier,
    SignProjection,
)
from kernelight.kernels import GMM, RBF
from papers._cells import Result, kind
from papers._data import split
from papers._svm import AS_LIBLINEAR, path_accuracies

PAPERS_CODING: dict[str, Any] = {"t_bits": 0, "coding": "lowest"}
EXP_GAMMA = 3.0  # of exp(-gamma (1 - GMM)), which is ours
CWS_BITS = 8  # codes of fewer bits are the low bits of these


def map_named(method: str, k: int, gamma: float | None, repetition: int) -> Any:
    """The feature map of a name on the page.

    "papers" in a name means the papers' coding: the lowest bits of i* alone.
    """
    bandwidth: Any = gamma  # not None for the maps that need it
    coding = PAPERS_CODING if "papers" in method else {}
    common: dict[str, Any] = {"random_state": repetition}
    cws = GCWS(k, bits=CWS_BITS, sampler="cws", **coding, **common)
    makers: dict[str, Callable[[], Any]] = {
        "GCWS": lambda: cws,
        "GCWS, b = 12": lambda: GCWS(k, bits=12, sampler="cws", **common),
        "exp GCWS": lambda: GCWS(k, bits=CWS_BITS, gamma=EXP_GAMMA, **common),
        "NRFF": lambda: RandomFourier(k, gamma=bandwidth, features="phase", **common),
        "paired": lambda: RandomFourier(k, gamma=bandwidth, **common),
        "RFF": lambda: RandomFourier(
            k, gamma=bandwidth, features="phase", normalize=False, **common
        ),
        "folded RFF": lambda: RandomFourier(k, gamma=bandwidth, features="folded", **common),
        "sign Gauss": lambda: SignProjection(k, projection="gaussian", **common),
        "sign Cauchy": lambda: SignProjection(k, distribution="cauchy", **common),
        "MM-acos": lambda: ProductMap(cws, SignProjection(k, projection="gaussian", **common)),
        "MM-acos-chi2": lambda: ProductMap(cws, SignProjection(k, distribution="cauchy", **common)),
        "GMM-NYS": lambda: KernelNystroem(GMM(), k, **common),
        "RBF-NYS": lambda: KernelNystroem(RBF(bandwidth), k, **common),
    }
    return makers[method.removesuffix(" papers")]()


@kind("hashed", version=1)
def hashed(
    *,
    dataset: str,
    scaling: str,
    method: str,
    k: int,
    bits: int | None,
    gamma: float | None,
    repetition: int,
    cs: list[float],
    max_test: int | None,
) -> Result:
    """Test accuracies in percent for each C.

    Sets that are split at random are split anew for each repetition.
    """
    data = split(dataset, scaling, repetition, max_test)
    rows, test_rows = _rows(dataset, scaling, method, k, gamma, repetition, max_test)
    if bits is not None:
        rows, test_rows = rows.low_bits(bits), test_rows.low_bits(bits)
    accuracies = path_accuracies(rows, data.y, test_rows, data.y_test, cs)
    return {"cs": cs, "test": accuracies.round(3).tolist()}


@lru_cache(maxsize=1)
def _rows(
    dataset: str,
    scaling: str,
    method: str,
    k: int,
    gamma: float | None,
    repetition: int,
    max_test: int | None,
) -> Any:
    """Codes (or features) of both parts."""
    data = split(dataset, scaling, repetition, max_test)
    fitted = map_named(method, k, gamma, repetition).fit(data.X)
    apply = fitted.encode if hasattr(fitted, "encode") else fitted.transform
    return apply(data.X), apply(data.X_test)


@kind("times", version=2)
def times(
    *, dataset: str, method: str, k: int, bits: int | None, gamma: float | None, cs: list[float]
) -> Result:
    """Seconds to train for each C, each from zero, on one thread."""
    data = split(dataset, "raw", 0)
    rows = _rows(dataset, "raw", method, k, gamma, 0, None)[0]
    rows = rows if bits is None else rows.low_bits(bits)
    seconds = []
    for C in cs:
        begun = time.perf_counter()
        LinearClassifier(C=C, n_jobs=1, **AS_LIBLINEAR).fit(rows, data.y)
        seconds.append(round(time.perf_counter() - begun, 3))
    return {"cs": cs, "seconds": seconds}
