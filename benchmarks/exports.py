"""Exported models in onnxruntime, one row at a time, against `predict` here and of an older commit.

    KERNELIGHT_DATA=folder python benchmarks/exports.py

Models are fitted to the training rows of Satimage (36 columns) with settings given, and exported by
`kernelight.export.to_onnx`. Times are medians over 300 single rows, which are in memory as float32,
on one thread; `session.run` and `predict` take turns. The commit is built beside this checkout, in
the folder of the benchmark of search, and fits the same parameters in a process of its own. Before
anything is timed, labels and scores of all test rows are compared with those of Python.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _data import arrays
from _measure import Row, at_least, best_of_turns, median_of_turns, show, threads
from _older import BEGIN, PeerMissingError, in_new_process, older
from _search_data import folder

from kernelight import BinaryFourier, KernelClassifier, TernaryClassifier
from kernelight.export import to_onnx

OLD = "2765cbb"
SINGLE, BATCH = 300, 2000
# what both commits understand
MODELS: dict[str, dict[str, Any]] = {
    "RandomFourier, k = 1,024": {"kernel": "gaussian", "method": "fourier", "n_components": 1024},
    "BinaryFourier, k = 1,024": {"kernel": "gaussian", "method": "binary", "n_components": 1024},
    "Nyström of gmm, 256 landmarks": {"method": "nystroem", "n_components": 256},
    "GCWS, k = 256": {"n_components": 256},
    # columns with signs and without zeros: no lists of likely samples
    "GCWS of standardized columns, k = 256": {"n_components": 256, "scale": "standard"},
}
FIXED: dict[str, Any] = {"scale": "minmax", "C": 1.0, "n_jobs": 1}


def run() -> list[Row]:
    """One row for each claim."""
    data = arrays("Satimage")
    if data is None:
        return []
    X, y, rows = (data[name] for name in ("X_train", "y_train", "X_test"))
    X, rows = X.astype(np.float64), np.ascontiguousarray(rows, dtype=np.float32)
    found: list[Row] = []
    with threads(1):
        for name, params in MODELS.items():
            model = KernelClassifier(**{**FIXED, **params}).fit(X, y)
            found += _compared(name, to_onnx(model), model.predict, model.decision_function, rows)
            found += _against_older(found[-2], name, params, X, y, rows)
        found += _ternary(X, y, rows)
    return found


def _ternary(X: Any, y: Any, rows: Any) -> list[Row]:
    bits = BinaryFourier(1024, projection="sorf", threshold=False, n_jobs=1).fit(X)
    model = TernaryClassifier(n_jobs=1).fit(bits.encode(X), y)
    return _compared(
        "BinaryFourier (sorf, no threshold), k = 1,024, ternary",
        to_onnx(bits, model),
        lambda some: model.predict(bits.encode(some)),
        lambda some: model.decision_function(bits.encode(some)),
        rows,
    )


def _session(exported: Any) -> Any:
    """A session on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        exported.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def _compared(
    name: str, exported: Any, predict: Callable[[Any], Any], scores: Callable[[Any], Any], rows: Any
) -> list[Row]:
    """Equality, one row, and a batch."""
    session = _session(exported)
    names = [each.name for each in session.get_outputs()]
    made = dict(zip(names, session.run(None, {"X": rows}), strict=True))
    expected = scores(rows)
    away = float(np.abs(made["scores"] - expected).max() / max(1, np.abs(expected).max()))
    differ = int((made["label"] != predict(rows)).sum())
    single = [rows[at : at + 1] for at in range(SINGLE)]
    graph, python = median_of_turns(single, lambda row: session.run(None, {"X": row}), predict)
    some = rows[:BATCH]
    many, python_many = best_of_turns(
        5, lambda: session.run(None, {"X": some}), lambda: predict(some)
    )
    size = exported.ByteSize() / 1000
    return [
        {
            "claim": f"{name}: {len(rows):,} rows, scores to {away:.0e}, {size:,.0f} KB",
            "peer": "Python",
            "bar": "0 labels differ, scores to 1e-5",
            "measured": differ,
            "unit": "labels",
            "holds": differ == 0 and away <= 1e-5,
        },
        at_least(
            f"{name}: one row, {1e6 * graph:.0f} us",
            f"predict, {1e6 * python:.0f} us",
            1,
            python / graph,
        )
        | {"seconds": graph},
        {
            "claim": f"{name}: {len(some):,} rows, {1e6 * many / len(some):.1f} us a row",
            "peer": f"predict, {1e6 * python_many / len(some):.1f} us a row",
            "bar": "none: a batch is for Python",
            "measured": python_many / many,
            "holds": True,
        },
    ]


PREDICT = f"""{BEGIN}
import json, os, time
os.environ["KERNELIGHT_NUM_THREADS"] = "1"
import numpy as np
from kernelight import KernelClassifier
data = np.load(sys.argv[1])
model = KernelClassifier(**json.loads(sys.argv[2])).fit(data["X"], data["y"])
rows = data["rows"]
model.predict(rows[:1])
times = []
for at in range({SINGLE}):
    row = rows[at : at + 1]
    start = time.perf_counter()
    model.predict(row)
    times.append(time.perf_counter() - start)
print(np.median(times), 0)
"""


def _against_older(
    single: Row, name: str, params: dict[str, Any], X: Any, y: Any, rows: Any
) -> list[Row]:
    """One row against `predict` of the older commit."""
    try:
        path = older(OLD, folder())
    except PeerMissingError as missing:
        print(f"{missing}.", flush=True)
        return []
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "data.npz"
        np.savez(data, X=X, y=y, rows=rows)
        given = json.dumps({**FIXED, **params})
        seconds = min(in_new_process(PREDICT, data, given, path)[0] for _ in range(2))
    return [
        at_least(
            f"{name}: one row, {1e6 * single['seconds']:.0f} us",
            f"KernelClassifier.predict of commit {OLD}, {1e6 * seconds:.0f} us",
            4,
            seconds / single["seconds"],
        )
    ]


if __name__ == "__main__":
    found = run()
    show(found)
    sys.exit(not all(row["holds"] for row in found))
