"""The time to import kernelight beyond NumPy, and to show the help of the command.

Each measurement is a new interpreter that has imported NumPy; the least of several counts, because
a busy machine can only add time. The second claim loads what hashing needs, scikit-learn included,
so it is compared with importing scikit-learn's LinearSVC. Help is timed as a whole process, from
its start to its end.
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


def run() -> list[dict[str, Any]]:
    """One row for each claim: claim, peer, bar, measured, holds."""
    ours = milliseconds("import kernelight")
    hashing = milliseconds("from kernelight import GCWS") / milliseconds(
        "from sklearn.svm import LinearSVC"
    )
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
