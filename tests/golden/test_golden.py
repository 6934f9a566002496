"""Vectors and files that must never change.

Whoever breaks this test breaks every stored code and model.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from golden import make_golden
from helpers import SIMD_NAMES

from kernelight import GCWS, Codes, State, TernaryClassifier, _core, hashing
from kernelight.base import registry

GOLDEN = json.loads(make_golden.VECTORS.read_text())
HERE = Path(__file__).parent
ROWS = np.array([[float.fromhex(x) for x in row] for row in GOLDEN["rows"]])


def name_of(case):
    return (
        ",".join(f"{name}={value}" for name, value in case["scheme"].items())
        + f",seed={case['seed']}"
    )


def test_the_twin_still_writes_the_same_vectors():
    assert make_golden.text(make_golden.vectors()) == make_golden.VECTORS.read_text()


def test_words():
    assert [_core.child(key, n) for key, n, _ in GOLDEN["child"]] == [
        word for *_, word in GOLDEN["child"]
    ]
    assert [_core.stream(seed, s) for seed, s, _ in GOLDEN["stream"]] == [
        word for *_, word in GOLDEN["stream"]
    ]


def test_logarithms():
    assert [_core.log(float.fromhex(x)).hex() for x, _ in GOLDEN["log"]] == [
        log for _, log in GOLDEN["log"]
    ]


@pytest.mark.parametrize(("seed", "slot", "coordinate", "cell"), GOLDEN["cws_cell"])
def test_cells(seed, slot, coordinate, cell):
    assert [value.hex() for value in _core.cws_cell(seed, slot, coordinate)] == cell


@pytest.mark.parametrize(("seed", "slot", "coordinate", "t", "word"), GOLDEN["cws_code"])
def test_words_of_samples(seed, slot, coordinate, t, word):
    assert _core.cws_code(seed, slot, coordinate, t) == word


def test_poisson_quantiles_and_rates():
    assert [[word, _core.poisson1(word)] for word, _ in GOLDEN["poisson1"]] == GOLDEN["poisson1"]
    assert [[k, _core.dart_rate(k)] for k, _ in GOLDEN["dart_rate"]] == GOLDEN["dart_rate"]


@pytest.mark.parametrize(("seed", "gamma", "counts"), GOLDEN["poisson"])
def test_poisson_counts(seed, gamma, counts):
    actual = np.empty(len(counts), dtype=np.int64)
    _core.poisson_counts(seed, gamma, actual)
    assert actual.tolist() == counts


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("case", GOLDEN["codes"], ids=map(name_of, GOLDEN["codes"]))
def test_codes(case, simd, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    rows = ROWS[: len(case["codes"])]
    actual = hashing.gcws(rows, make_golden.K, random_state=case["seed"], **case["scheme"])
    assert actual.array.tolist() == case["codes"]
    assert actual.empty.tolist() == case["empty"]


@pytest.mark.parametrize("sampler", ["cws", "dart"])
def test_files_of_this_version_keep_loading(sampler):
    fitted = GCWS.load(HERE / f"gcws_{sampler}.kl")
    codes = Codes.load(HERE / f"codes_{sampler}.kl")
    rows = ROWS[:-1]
    assert isinstance(registry.load(HERE / f"gcws_{sampler}.kl"), GCWS)
    assert (fitted.sampler_, fitted.seed_, fitted.n_features_in_, fitted.bits) == (
        sampler,
        12345,
        5,
        4,
    )
    assert fitted.encode(rows) == codes  # provenance, width and empty rows included
    scheme = {"sampler": sampler} | ({"scale": fitted.scale_} if sampler == "dart" else {})
    assert (
        codes.array.tolist()
        == hashing.gcws(rows, 20, bits=4, random_state=12345, **scheme).array.tolist()
    )


@pytest.mark.parametrize("name", ["ternary_codes", "ternary_dense"])
def test_ternary_models_keep_loading(name):
    """The first was written before there were dense features."""
    made, rows, labels = make_golden.fitted_ternary()[name]
    model = TernaryClassifier.load(HERE / f"{name}.kl")
    assert model.predict(rows).tolist() == labels.tolist()
    assert model.provenance_ == made.provenance_
    assert (model.n_features_in_, model.get_params()) == (made.n_features_in_, made.get_params())


@pytest.mark.parametrize("path", sorted(HERE.glob("*.kl")), ids=lambda path: path.stem)
def test_files_are_written_as_they_were(path, tmp_path):
    State.load(path).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
