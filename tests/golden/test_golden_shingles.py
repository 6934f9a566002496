"""Columns of shingles are stored with indexes and compared across files: they never change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelight.data.texts import TextShingles

GOLDEN = json.loads(Path(__file__).with_name("shingles_v1.json").read_text("utf-8"))


@pytest.mark.parametrize(
    "case", GOLDEN["cases"], ids=lambda case: f"{case['kind']} {case['lengths']}"
)
def test_columns_and_counts(case):
    shingles = TextShingles(case["kind"], tuple(case["lengths"]), n_features=case["n_features"])
    X = shingles.transform(GOLDEN["texts"])
    for row, wanted in zip(X, case["rows"], strict=True):
        found = [[int(c), float(v)] for c, v in zip(row.indices, row.data, strict=True)]
        assert found == wanted
