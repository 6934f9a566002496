"""Claim: importing kernelight costs at most 60 ms beyond importing NumPy.

Each measurement is a fresh interpreter in which NumPy is already there; the least of several counts, because a busy
machine only ever adds. The second line loads what hashing needs, scikit-learn included, so it is compared with
importing scikit-learn's own LinearSVC.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

REPEATS = 5
LIMIT_MS = 60.0
SCRIPT = """
import numpy, time
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""


def milliseconds(statement: str) -> float:
    """The least time of a statement in fresh interpreters that have imported NumPy."""
    script = SCRIPT.format(statement=statement)
    runs = (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        for _ in range(REPEATS)
    )
    return 1000 * min(float(run.stdout) for run in runs)


def run() -> list[dict[str, Any]]:
    """One row for each claim: claim, peer, bar, measured, holds."""
    ours = milliseconds("import kernelight")
    hashing = milliseconds("from kernelight import GCWS") / milliseconds("from sklearn.svm import LinearSVC")
    return [
        {
            "claim": "import kernelight", "peer": "NumPy already imported", "bar": f"<= {LIMIT_MS:g} ms more",
            "measured": ours, "unit": "ms", "holds": ours <= LIMIT_MS,
        },
        {
            "claim": "from kernelight import GCWS", "peer": "importing scikit-learn's LinearSVC", "bar": "<= 1.5 times",
            "measured": hashing, "holds": hashing <= 1.5,
        },
    ]  # fmt: skip


if __name__ == "__main__":
    for row in run():
        print(row)
