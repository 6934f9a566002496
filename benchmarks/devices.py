"""Models in C on Cortex-M0+, M3 and M4: bytes, instructions and accuracy against peers.

    KERNELIGHT_DATA=folder python benchmarks/devices.py [--quick] [--data NAME] [--only METHOD]
    python benchmarks/_devices_page.py

The folder has Letter.npz, Satimage.npz and USPS.npz; handwritten digits come with scikit-learn.
Fixed random splits: ten of digits (1,200 rows to learn from), three of the others (all rows pooled,
the published sizes). Rows are whole numbers of 16 bits, the same for all models: as they are, of
USPS 1,000 times the values. Everything is chosen on training rows; an accuracy is the mean over the
splits, of what the C code predicts (of its twin in Python, which is compared with the C on all test
rows of the first split).

Bytes are those of the model of the first split alone, by arm-none-eabi-gcc -Os, with what it takes
of libgcc and libm, without start-up and rows; RAM is its variables and the deepest stack.
Instructions are counted by qemu. The network of integers is `_integer_mlp.py`, emlearn's models are
described in `_device_peers.py`, ours in `_device_models.py`.

A peer is compared at no lower accuracy: with its smallest model that is at least as accurate as
ours, or where none is, with its most accurate one. Ours is the smallest one that reaches the target
of the data set. What `CompactClassifier` makes is measured on all three devices in all splits, as
its budget must hold there, and is held against the best of a grid by hand, chosen on test rows.

All points go into devices_points.json, data set after data set; `_devices_page.py` makes of them
the table of the fronts in docs/devices.md and the picture docs/images/devices-front.png. It takes
hours on one core, so that file is kept with the sources: ``--data`` takes some data sets,
``--only`` some methods, and what the file has of the others stays.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from _data import arrays
from _device_bars import (
    BY_HAND,
    HAND_SPLITS,
    Differences,
    Point,
    Study,
    front,
    peer_of,
    reference,
    rows_of,
)
from _device_code import ARM, DEVICES, QEMU, Code, measured, on_host
from _device_models import COMPACT, OURS, Exported, by_hand, code_of, label_of
from _device_peers import PEERS, Fitted, PeerMissingError
from _integer_mlp import Array
from _measure import Row, show, threads
from sklearn.datasets import load_digits

HERE = Path(__file__).resolve().parent
POINTS = HERE / "devices_points.json"
SPLITS = {"digits": 10, "Letter": 3, "Satimage": 3, "USPS": 3}
DIGITS_TRAIN = 1200
COUNTED, EQUAL_ROWS, DEVICE_ROWS = 20, 10_000, 100


class DataSet:
    """Rows of whole numbers with classes 0, 1, ..., and fixed splits of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        if name == "digits":
            X, y = load_digits(return_X_y=True)
            self.n_train = DIGITS_TRAIN
        else:
            file = arrays(name)
            if file is None:
                raise FileNotFoundError(name)
            X = np.concatenate([file["X_train"], file["X_test"]]).astype(np.float64)
            y = np.concatenate([file["y_train"], file["y_test"]])
            self.n_train = len(file["X_train"])
        self.X = np.rint(1000 * X) if name == "USPS" else X
        self.y = np.unique(y, return_inverse=True)[1]

    def split(self, seed: int) -> tuple[Array, Array, Array, Array]:
        """Training rows, their classes, and those to score on."""
        order = np.random.RandomState(seed).permutation(len(self.X))
        train, test = order[: self.n_train], order[self.n_train :]
        return self.X[train], self.y[train], self.X[test], self.y[test]


def run(quick: bool = False, data: Sequence[str] = (), only: Sequence[str] = ()) -> list[Row]:
    """The bars; the points go into devices_points.json."""
    for tool in (ARM, QEMU, "gcc"):
        if shutil.which(tool) is None:
            print(f"devices is left out: {tool} is not installed.", flush=True)
            return []
    studies = {study.data: study for study in read()} if data or only else {}
    with threads(1), tempfile.TemporaryDirectory() as folder:
        for name in data or (("digits",) if quick else SPLITS):
            try:
                rows = DataSet(name)
            except FileNotFoundError:
                continue
            study = Study(name)
            known = studies.get(name)
            if known is not None and only:
                study.points = [point for point in known.points if point.method not in only]
                study.peers = known.peers
            _learn_and_measure(rows, 2 if quick else SPLITS[name], study, Path(folder), only)
            studies[name] = study
            if not quick:  # two splits are no measurement
                facts = [asdict(studies[each]) for each in SPLITS if each in studies]
                POINTS.write_text(json.dumps(facts, indent=1) + "\n")
    return rows_of([studies[name] for name in SPLITS if name in studies])


def read() -> list[Study]:
    """What devices_points.json has."""
    studies = []
    for facts in json.loads(POINTS.read_text()) if POINTS.exists() else []:
        study = Study(**facts)
        study.points = [Point(**point) for point in facts["points"]]
        for name in ("host", "device", "integer", "floating", "peers"):
            setattr(study, name, Differences(**facts[name]))
        studies.append(study)
    return studies


# -- Learning and measuring


def _learn_and_measure(
    data: DataSet, splits: int, study: Study, folder: Path, only: Sequence[str]
) -> None:
    """All points of a data set, and the comparisons of C with Python."""
    right: dict[tuple[str, str], list[float]] = {}
    first: dict[tuple[str, str], Any] = {}
    methods: dict[str, Callable[[Array, Array], Iterator[Exported | Fitted]]]
    methods = {**OURS, **PEERS}
    methods = {name: make for name, make in methods.items() if not only or name in only}
    for seed in range(splits):
        X, y, X_test, y_test = data.split(seed)
        for method, models in methods.items():
            for model in models(X, y):
                classes = model.classes(X_test)
                if isinstance(model, Exported):
                    study.integer.add(classes, model.python(X_test))
                    _measure_sizes(model, X_test, study, folder)
                key = method, model.label
                right.setdefault(key, []).append(100 * float((classes == y_test).mean()))
                if seed == 0:
                    first[key] = model
                print(
                    f"{data.name}, split {seed}, {', '.join(key)}: {right[key][-1]:.2f}", flush=True
                )
    X, _, X_test, _ = data.split(0)
    mine = []
    for key, model in _worth_measuring(first, right):
        point = Point(data.name, *key, float(np.mean(right[key])))
        try:
            code = model.code()
        except PeerMissingError as error:
            print(error)
            continue
        result = measured(code, X_test[:COUNTED], "M3", folder)
        point.flash, point.ram = result.flash, result.ram
        point.instructions["M3"] = result.instructions
        mine.append((point, model, code))
    study.points += [point for point, _, _ in mine]
    for point, model, code in mine:
        point.on_front = point in front(
            other for other, _, _ in mine if other.method == point.method
        )
        if point.on_front:
            for device in set(DEVICES) - {"M3"}:
                result = measured(code, X_test[:COUNTED], device, folder)
                point.instructions[device] = result.instructions
            if isinstance(model, Fitted):
                study.peers.add(*_twin_and_c(model, code, X_test, folder))
    new = [point for point, _, _ in mine if point.method in OURS]
    if new:
        ours = reference(data.name, new)
        model = next(model for point, model, _ in mine if point is ours)
        _compare_ours(model, X, X_test, study, folder)
        _measure_inline(ours, mine, X_test, study, folder)
    budget = BY_HAND.get(data.name)
    if budget is not None and (COMPACT, label_of(budget)) in right:
        taken = min(HAND_SPLITS, splits)
        found = float(np.mean(right[COMPACT, label_of(budget)][:taken]))
        n_features = first[COMPACT, label_of(budget)].parts[0].n_components_
        best, words = _best_by_hand(data, budget, n_features, taken, folder)
        study.hand = best, found, words


def _measure_sizes(model: Exported, X: Array, study: Study, folder: Path) -> None:
    """What a model with a budget takes on all devices."""
    if model.max_bytes is not None:
        for device in DEVICES:
            size = measured(model.code(), X[:1], device, folder).flash
            study.sizes.append((model.max_bytes, device, size))


def _best_by_hand(
    data: DataSet, budget: int, n_features: int, splits: int, folder: Path
) -> tuple[float, str]:
    """The most accurate setting of a grid, on the test rows of some splits, of those that fit."""
    right: dict[str, list[float]] = {}
    models: dict[str, Exported] = {}
    for seed in range(splits):
        X, y, X_test, y_test = data.split(seed)
        for model in by_hand(X, y, n_features):
            right.setdefault(model.label, []).append(
                100 * float((model.python(X_test) == y_test).mean())
            )
            models.setdefault(model.label, model)
    for label in sorted(right, key=lambda label: -float(np.mean(right[label]))):
        code = models[label].code()
        if max(measured(code, X_test[:1], device, folder).flash for device in DEVICES) <= budget:
            return float(np.mean(right[label])), label
    raise ValueError(f"Nothing of the grid fits into {budget:,} bytes.")


def _worth_measuring(
    models: dict[tuple[str, str], Any], right: dict[tuple[str, str], list[float]]
) -> list[tuple[tuple[str, str], Any]]:
    """All models but forests that are neither small nor accurate, of which there are many."""
    forests = {
        key: model
        for key, model in models.items()
        if isinstance(model, Fitted) and "forest" in key[0]
    }
    rough = {
        key: Point("", *key, float(np.mean(right[key])), model.bytes)
        for key, model in forests.items()
    }
    kept = {(point.method, point.label) for point in front(rough.values())}
    return [(key, model) for key, model in models.items() if key not in forests or key in kept]


def _twin_and_c(model: Any, code: Code, X: Array, folder: Path) -> tuple[Array, Array]:
    return model.classes(X), on_host(code, X, folder)


def _compare_ours(model: Exported, X: Array, X_test: Array, study: Study, folder: Path) -> None:
    """The integer code against its twin, the code of floats against Python."""
    rng = np.random.default_rng(0)
    some = X_test[rng.integers(0, len(X_test), EQUAL_ROWS)]
    noise = rng.standard_normal(some.shape) * 0.5 * X.std()
    rows = np.clip(np.rint(some + noise), -32767, 32767)
    export = model.export
    study.host.add(on_host(model.code(), rows, folder), export.predict(rows))
    for device in DEVICES:
        result = measured(model.code(), rows[:DEVICE_ROWS], device, folder)
        study.device.add(result.classes, export.predict(rows[:DEVICE_ROWS]))
    singles = X_test.astype(np.float32)
    floating = model.exported("float32", singles)
    study.floating.add(on_host(code_of(floating), singles, folder), model.python(singles))


def _measure_inline(
    ours: Point, mine: list[tuple[Point, Any, Code]], X_test: Array, study: Study, folder: Path
) -> None:
    """The forest that ours is compared with, by emlearn's other method."""
    peer = peer_of(ours, "emlearn, forest", study.points)
    model = next((model for point, model, _ in mine if point is peer), None)
    if peer is None or model is None or model.inline is None:
        return
    point = Point(ours.data, "emlearn, forest inline", peer.label, peer.accuracy)
    for device in DEVICES:
        result = measured(model.inline(), X_test[:COUNTED], device, folder)
        point.instructions[device] = result.instructions
        if device == "M3":
            point.flash, point.ram = result.flash, result.ram
    study.points.append(point)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure models on small devices.")
    parser.add_argument("--quick", action="store_true", help="two splits of digits")
    parser.add_argument("--data", action="append", choices=list(SPLITS), default=[])
    parser.add_argument("--only", action="append", choices=[*OURS, *PEERS], default=[])
    asked = parser.parse_args()
    show(run(asked.quick, asked.data, asked.only))
