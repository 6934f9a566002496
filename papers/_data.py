"""Data sets by the names of the papers, from a folder that the user names.

None of them is in the repository. The folder holds a ``loader.py`` with ``names()`` and
``load(name, seed) -> (X_train, y_train, X_test, y_test)``, and its files.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit

from kernelight.data import replacing

WHAT_TO_DO = (
    "Give the folder of the data sets, the one with loader.py: make papers DATA=<folder> "
    "(or set KERNELIGHT_DATA)."
)
FOLDS_BELOW = 1000  # up to this many rows there are five folds, beyond it one split 4:1


class NoDataError(Exception):
    """There is no folder to load from; the message is what to do."""


@dataclass(frozen=True)
class Split:
    """Training and test part of a data set."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


@lru_cache(maxsize=1)
def loader() -> ModuleType:
    """The ``loader.py`` of the folder that KERNELIGHT_DATA names."""
    folder = os.environ.get("KERNELIGHT_DATA")
    path = Path(folder or ".") / "loader.py"
    if not folder or not path.is_file():
        raise NoDataError(WHAT_TO_DO if not folder else f"{path} is missing. {WHAT_TO_DO}")
    sys.path.append(str(path.parent.resolve()))  # it may import files beside it
    spec = importlib.util.spec_from_file_location("papers_data_loader", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise NoDataError(
            f"{path} cannot be used ({type(error).__name__}: {error}). {WHAT_TO_DO}"
        ) from error
    if not callable(getattr(module, "names", None)) or not callable(getattr(module, "load", None)):
        raise NoDataError(f"{path} has no names() or no load(name, seed). {WHAT_TO_DO}")
    return module


def present() -> frozenset[str]:
    """The names that can be loaded."""
    path = loader().__file__
    try:
        names = frozenset(loader().names())
    except Exception as error:
        raise NoDataError(
            f"names() of {path} fails ({type(error).__name__}: {error}). {WHAT_TO_DO}"
        ) from error
    if not names:
        raise NoDataError(f"{path} names no data set. {WHAT_TO_DO}")
    return names


def check_same_data(results: Path, instead: str) -> None:
    """Refuse results in a folder that were computed from other data.

    The data have changed if a file has another size, or the loader another text. New files are
    allowed. ``instead`` says how to compute anew.
    """
    record = results / "data.json"
    now, before = _fingerprint(), _recorded(record, instead)
    changed = [name for name, print_ in before.items() if now.get(name, print_) != print_]
    if changed:
        raise NoDataError(
            f"{results} has results of other data ({', '.join(changed)} differ): {instead} to "
            f"compute them anew, or remove {record} to take them as they are."
        )


def record_data(results: Path) -> None:
    """Record of which data the results in a folder are."""
    record = results / "data.json"
    before, after = _recorded(record, "remove it"), _fingerprint()
    if before | after != before:
        results.mkdir(parents=True, exist_ok=True)
        with replacing(record) as file:
            file.write((json.dumps(before | after, indent=1, sort_keys=True) + "\n").encode())


def _fingerprint() -> dict[str, int]:
    """Of each file its size; of a program, a checksum."""
    here = Path(str(loader().__file__)).parent
    return {
        path.name: zlib.crc32(path.read_bytes()) if path.suffix == ".py" else path.stat().st_size
        for path in sorted(here.iterdir())
        if path.is_file()
    }


def _recorded(record: Path, instead: str) -> dict[str, int]:
    try:
        known: dict[str, int] = json.loads(record.read_text()) if record.exists() else {}
    except ValueError:
        raise NoDataError(
            f"{record} is damaged: remove it, or {instead} to compute everything anew."
        ) from None
    return known


@lru_cache(maxsize=1)
def split(dataset: str, scaling: str, seed: int, max_test: int | None = None) -> Split:
    """A data set as one of the papers had it.

    ``scaling``: "raw", the values of the file; "unit", each column to [0, 1] on the training part,
    smaller test values cut off at 0; "signed", each column to [-1, 1] on the training part, as the
    LIBSVM site serves its files. ``max_test`` keeps that many test rows, drawn with a fixed seed.
    """
    X, y, X_test, y_test = loader().load(dataset, seed=seed)
    if max_test is not None and X_test.shape[0] > max_test:
        kept = np.sort(np.random.default_rng(0).permutation(X_test.shape[0])[:max_test])
        X_test, y_test = X_test[kept], y_test[kept]
    if scaling != "raw":
        low, high = X.min(axis=0), X.max(axis=0)
        span = np.where(high > low, high - low, 1)
        X, X_test = (X - low) / span, (X_test - low) / span
        if scaling == "unit":
            X_test = np.maximum(X_test, 0)
        elif scaling == "signed":
            X, X_test = 2 * X - 1, 2 * X_test - 1
        else:
            raise ValueError(f"scaling must be raw, unit or signed, got {scaling!r}.")
        X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    return Split(X, y, X_test, y_test)


def validation_parts(n_rows: int, most: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Ascending row indices to fit and to validate on.

    There are five folds of few rows, else one split 4:1 of at most ``most`` rows.
    """
    if n_rows <= FOLDS_BELOW:
        yield from KFold(5, shuffle=True, random_state=0).split(np.zeros(n_rows))
        return
    rows = min(n_rows, most)
    parts = ShuffleSplit(1, train_size=rows * 4 // 5, test_size=rows // 5, random_state=0)
    for fit, check in parts.split(np.zeros(n_rows)):
        yield np.sort(fit), np.sort(check)
