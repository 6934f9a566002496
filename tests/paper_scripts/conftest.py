"""Put the repository on the path, as papers/ is not installed, and make up a folder of data."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

LOADER = """
import numpy as np


def names():
    return ["Vowel", "Sonar", "M-Noise1"]


def load(name, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 120)
    X = (rng.random((120, 6)) + np.eye(6)[y]).astype(np.float32)
    return X[:80], y[:80], X[80:], y[80:]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a loader of generated data."""
    from papers import _data

    path = tmp_path / "data"
    path.mkdir()
    (path / "loader.py").write_text(LOADER)
    monkeypatch.setenv("KERNELIGHT_DATA", str(path))
    _data.loader.cache_clear()
    _data.split.cache_clear()
    yield path
    _data.loader.cache_clear()
    _data.split.cache_clear()


@pytest.fixture
def home(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository with generated data, which runs take for their own."""
    from papers import run

    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "PAGE", tmp_path / "docs" / "papers.md")
    return tmp_path
