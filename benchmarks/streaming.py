"""Learning from a file whose rows do not fit into a limit of memory: CPU time and accuracy.

    python benchmarks/streaming.py [rows]

A CSV of 50 columns is learned from within 1 GB, on one thread, in three ways: from stored codes, as
`fit(..., memory="1G")` does; in three passes that read the file again and learn batch by batch, as
it does where duals of all rows do not fit; and in memory, with the settings that the first one
chose. Accuracies are those on 100,000 other rows. The rows must be more than fit: 900,000 do.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _measure import Row, at_most, show
from serving import COMPONENTS, N_FEATURES, write_rows

from kernelight import KernelClassifier, TableModel
from kernelight.data import DataWarning
from kernelight.tables.memory_limit import Allowance

N_ROWS, N_TEST = 1_000_000, 100_000


def run(n_rows: int = N_ROWS) -> list[Row]:
    """One row for each claim."""
    with tempfile.TemporaryDirectory(prefix="kernelight-") as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        folder = Path(name)
        train = write_rows(folder / "train.csv", 0, n_rows)
        test = write_rows(folder / "test.csv", 10**9, N_TEST)
        stored, seconds = _fitted(train, memory="1G")
        if stored.held_out_ is None:
            raise ValueError(f"{n_rows:,} rows fit into the memory: measure more.")
        with _nothing_stored():
            again, again_seconds = _fitted(train, memory="1G")
        chosen = {name: getattr(stored.model_, f"{name}_") for name in ("C", "scale", "p")}
        whole, whole_seconds = _fitted(train, **chosen)
        accuracies = [100 * each.evaluate(test)["accuracy"] for each in (stored, again, whole)]
    size = f"{n_rows:,} x {N_FEATURES}, k={COMPONENTS}"
    claim = f"fit within 1 GB, CSV of {size}, CPU {seconds:.1f} s"
    below = accuracies[2] - accuracies[0]
    return [
        at_most(
            claim,
            f"three passes that read the file again, {again_seconds:.1f} s, "
            f"accuracy {accuracies[1]:.2f} %",
            1 / 3,
            seconds / again_seconds,
        ),
        at_most(
            claim, f"in memory, settings given, {whole_seconds:.1f} s", 2, seconds / whole_seconds
        ),
        {
            "claim": f"the same: accuracy {accuracies[0]:.2f} %",
            "peer": f"in memory, {accuracies[2]:.2f} %",
            "bar": "not below",
            "measured": below,
            "unit": "points below",
            "holds": below <= 0,
        },
    ]


def _fitted(path: str, memory: str | None = None, **settings: Any) -> tuple[TableModel, float]:
    model = TableModel(KernelClassifier(n_components=COMPONENTS, n_jobs=1, **settings))
    start = time.process_time()
    model.fit(path, memory=memory)
    return model, time.process_time() - start


@contextmanager
def _nothing_stored() -> Iterator[None]:
    """As if the duals of all rows did not fit into the memory."""
    block = Allowance.block
    Allowance.block = lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        Allowance.block = block  # type: ignore[method-assign]


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    show(run(*map(int, sys.argv[1:])))
