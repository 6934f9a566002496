"""The speed of random Fourier features: against scikit-learn, and SORF against dense projections.

Only `transform` of fitted maps is timed, on float32 rows, with all threads for every library; the
best of several repeats in one run counts.

    python benchmarks/fourier.py
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from _measure import CORES, Row, at_least, at_most, best_of_turns, memory_at_most, show, threads
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from kernelight import RandomFourier

WIDTHS = (16, 128, 784, 4096)


def rows(n: int, d: int) -> np.ndarray:
    """Normal rows of unit length; scikit-learn's sampler gets them, too."""
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    return np.asarray(X / np.linalg.norm(X, axis=1)[:, None])


def run() -> list[Row]:
    """One row for each claim."""
    claims = []
    for count in sorted({1, CORES}):
        with threads(count):
            claims.append(_against_scikit_learn(count))
    with threads(CORES):
        return [*claims, *_structured(), *_auto()]


def _against_scikit_learn(count: int) -> Row:
    X = rows(20_000, 100)
    ours = RandomFourier(2048).fit(X)
    theirs = make_pipeline(
        RBFSampler(gamma=0.5, n_components=2048, random_state=0), Normalizer(copy=False)
    ).fit(X)
    mine, other = best_of_turns(15, lambda: ours.transform(X), lambda: theirs.transform(X))
    claim = f"RandomFourier, 20,000 x 100, 2,048 columns, {count} thread{'s' * (count > 1)}"
    return at_least(claim, "RBFSampler + Normalizer", 3, other / mine)


def _structured() -> list[Row]:
    X = rows(20_000, 4096)
    sorf, gaussian = (RandomFourier(8192, projection=kind).fit(X) for kind in ("sorf", "gaussian"))
    fast, slow = best_of_turns(2, lambda: sorf.transform(X), lambda: gaussian.transform(X))
    claim = 'projection="sorf", 20,000 x 4,096, 8,192 columns'
    sparing, lavish = (_extra_memory(kind) for kind in ("sorf", "gaussian"))
    return [
        at_least(claim, 'projection="gaussian"', 15, slow / fast),
        memory_at_most(
            f"{claim}, memory beyond input and output", "a tenth of gaussian", lavish / 10, sparing
        ),
    ]


PROGRAM = """
import numpy as np
from kernelight import RandomFourier


def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


X = np.random.default_rng(0).standard_normal((2000, 4096), dtype=np.float32)
RandomFourier(64, projection="{kind}").fit(X[:100]).transform(X[:100])
before = peak()
Z = RandomFourier(8192, projection="{kind}").fit(X).transform(X)
print(peak() - before - Z.nbytes)
"""


def _extra_memory(kind: str) -> float:
    """Megabytes beyond input and output, in a process of its own.

    There are fewer rows here, because the memory does not depend on their number.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(kind=kind)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout) / 1e6


def _auto() -> list[Row]:
    """projection="auto" against the better of the two it chooses from, at the worst k."""
    claims = []
    for d in WIDTHS:
        worst, where = 0.0, ""
        for k in (256, 1024, 4096):
            X = rows(max(500, min(20_000, 40_000_000 // (d + k))), d)
            kinds = ("auto", "gaussian", "sorf")
            maps = [RandomFourier(k, projection=kind).fit(X) for kind in kinds]
            times = best_of_turns(5, *(lambda one=one, X=X: one.transform(X) for one in maps))
            ratio = times[0] / min(times[1:])
            if ratio > worst:
                worst, where = ratio, f"{k} columns, chose {maps[0].projection_}"
        claim = f'projection="auto", {d} features, worst of 256, 1,024 and 4,096 columns ({where})'
        claims.append(at_most(claim, "the better of gaussian and sorf", 1.3, worst))
    return claims


if __name__ == "__main__":
    show(run())
