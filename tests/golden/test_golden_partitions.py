"""Vectors and files of ferns and leaves that must never change.

Whoever breaks this test breaks every stored code.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from golden import make_golden
from golden.make_golden import FERN_WEIGHTS, HERE, fern_rows
from helpers import SIMD_NAMES

from kernelight import Codes, Ferns, ForestLeaves
from kernelight.base import registry

FORESTS = json.loads(make_golden.FOREST_VECTORS.read_text())
GOLDEN = json.loads(make_golden.FERN_VECTORS.read_text())


def stored_rows():
    """The rows as they are stored: those of the script may not drift."""
    return np.array([[float.fromhex(x) for x in row] for row in GOLDEN["rows"]])


def test_the_twin_still_writes_the_same_vectors():
    text = make_golden.text(make_golden.fern_vectors())
    assert text == make_golden.FERN_VECTORS.read_text()


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("case", GOLDEN["codes"], ids=lambda case: str(list(case.values())[:4]))
def test_ferns(case, simd, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    X = stored_rows()
    ferns = Ferns(
        case["n_slots"], depth=case["depth"], weights=case["weights"], random_state=case["seed"]
    ).fit(X)
    assert ferns.encode(X[::29]).array.tolist() == case["codes"]


def test_the_file_of_ferns_keeps_loading():
    fitted, codes = Ferns.load(HERE / "ferns.kl"), Codes.load(HERE / "codes_ferns.kl")
    assert isinstance(registry.load(HERE / "ferns.kl"), Ferns)
    assert (fitted.seed_, fitted.n_components, fitted.depth) == (12345, 20, 6)
    assert tuple(fitted.weights) == FERN_WEIGHTS[1]
    assert fitted.encode(stored_rows()[::29]) == codes  # provenance included


def test_the_file_of_leaves_keeps_loading():
    fitted = ForestLeaves.load(HERE / "forest_leaves.kl")
    codes = Codes.load(HERE / "codes_forest_leaves.kl")
    assert isinstance(registry.load(HERE / "forest_leaves.kl"), ForestLeaves)
    assert (fitted.seed_, fitted.n_estimators, fitted.max_leaf_nodes) == (12345, 7, 20)
    assert fitted.encode(fern_rows()[::29]) == codes
    assert codes.bits == 5


def test_the_twin_still_writes_the_same_trees():
    text = make_golden.text(make_golden.forest_vectors())
    assert text == make_golden.FOREST_VECTORS.read_text()


@pytest.mark.parametrize(
    "case", FORESTS["trees"], ids=lambda case: f"{case['case']} {case['seed']}"
)
def test_trees_of_binned_columns(case):
    X, y, weights = next(
        given[1:] for given in make_golden.forest_cases() if given[0] == case["case"]
    )
    size = make_golden.FOREST_SIZE
    made = ForestLeaves(
        size["n_trees"],
        forest="histogram",
        task="classification" if "classes" in case["case"] else "regression",
        max_features=size["n_looked"],
        max_leaf_nodes=size["max_leaves"],
        min_samples_leaf=size["min_rows"],
        max_samples=size["max_samples"],
        random_state=case["seed"],
    ).fit(X, y, sample_weight=weights)
    assert made.starts_.tolist() == case["starts"]
    assert made.left_.tolist() == case["left"]
    assert made.right_.tolist() == case["right"]
    assert made.split_columns_.tolist() == case["columns"]
    assert made.thresholds_.tolist() == [float.fromhex(x) for x in case["thresholds"]]
    assert made.missing_left_.tolist() == case["missing_left"]
