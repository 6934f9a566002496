"""The time to import kernelight beyond NumPy, and to show the help of the command.

Each measurement is a new interpreter that has imported NumPy; the least of several counts, because
a busy machine can only add time. What loads scikit-learn is compared with importing an estimator of
it. The first fit of a process is timed against the second: it loads what only a fit needs. Help is
timed as a whole process, from its start to its end.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

REPEATS = 5
LIMIT_MS = 60.0
HELP_MS = 350.0
SCRIPT = """
import numpy, time
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""


FITS = """
import numpy, time
from kernelight import KernelClassifier
X = numpy.random.default_rng(0).normal(size=(5000, 20))
y = X[:, 0] * X[:, 1] > 0
for _ in range(2):
    start = time.perf_counter()
    KernelClassifier(C=1.0, scale="minmax").fit(X, y)
    print(time.perf_counter() - start)
"""


def milliseconds(statement: str) -> float:
    """The least time of a statement in new interpreters that have imported NumPy."""
    script = SCRIPT.format(statement=statement)
    runs = (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        for _ in range(REPEATS)
    )
    return 1000 * min(float(run.stdout) for run in runs)


def help_milliseconds() -> float:
    """The least time of ``kernelight --help``."""
    spent = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "kernelight", "--help"], capture_output=True, check=True
        )
        spent.append(time.perf_counter() - start)
    return 1000 * min(spent)


def first_fit() -> float:
    """The time of the first fit of a process over that of the second, each the least of several."""
    runs = (
        subprocess.run([sys.executable, "-c", FITS], capture_output=True, text=True, check=True)
        for _ in range(REPEATS)
    )
    times = [tuple(map(float, run.stdout.split())) for run in runs]
    return min(first for first, _ in times) / min(second for _, second in times)


def run() -> list[dict[str, Any]]:
    """One row for each claim: claim, peer, bar, measured, holds."""
    ours = milliseconds("import kernelight")
    hashing = milliseconds("from kernelight import GCWS") / milliseconds(
        "from sklearn.svm import LinearSVC"
    )
    classifier = milliseconds("from kernelight import KernelClassifier") / milliseconds(
        "from sklearn.linear_model import LogisticRegression"
    )
    fits = first_fit()
    helped = help_milliseconds()
    return [
        {
            "claim": "import kernelight",
            "peer": "NumPy already imported",
            "bar": f"<= {LIMIT_MS:g} ms more",
            "measured": ours,
            "unit": "ms",
            "holds": ours <= LIMIT_MS,
        },
        {
            "claim": "from kernelight import GCWS",
            "peer": "importing scikit-learn's LinearSVC",
            "bar": "<= 1.5 times",
            "measured": hashing,
            "holds": hashing <= 1.5,
        },
        {
            "claim": "from kernelight import KernelClassifier",
            "peer": "importing scikit-learn's LogisticRegression",
            "bar": "<= 1.5 times",
            "measured": classifier,
            "holds": classifier <= 1.5,
        },
        {
            "claim": "the first fit of a process, 5,000 x 20, nothing tuned",
            "peer": "the second",
            "bar": "<= 2 times",
            "measured": fits,
            "holds": fits <= 2,
        },
        {
            "claim": "kernelight --help",
            "peer": "the whole process",
            "bar": f"<= {HELP_MS:g} ms",
            "measured": helped,
            "unit": "ms",
            "holds": helped <= HELP_MS,
        },
    ]


if __name__ == "__main__":
    for row in run():
        print(row)
