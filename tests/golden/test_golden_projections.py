"""Vectors and files of the projections that must never change.

Whoever breaks this test breaks every stored code.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from golden import make_golden
from golden.make_golden import HERE, NARROW, SEEDS, SIGMA, WIDTHS, near, packed
from helpers import SIMD_NAMES
from oracles import projection_twin as twin

from kernelight import BinaryFourier, Codes, IntegerFourier, RandomFourier, SignProjection, _core
from kernelight.base import registry

GOLDEN = json.loads(make_golden.PROJECTION_VECTORS.read_text())


def name_of(case):
    return ",".join(
        str(case[name]) for name in ("width", "projection", "seed", "threshold") if name in case
    )


def rows_of(width):
    """The rows as they are stored: those of the script may not drift."""
    return np.array(
        [[float.fromhex(x) for x in row] for name, row in GOLDEN["rows"] if name == width]
    )


def test_the_twin_still_writes_the_same_vectors():
    text = make_golden.text(make_golden.projection_vectors())
    assert text == make_golden.PROJECTION_VECTORS.read_text()


def test_functions():
    assert [_core.sqrt(float.fromhex(x)).hex() for x, _ in GOLDEN["sqrt"]] == [
        y for _, y in GOLDEN["sqrt"]
    ]
    for y, *wanted in GOLDEN["circle"]:
        assert [part.hex() for part in _core.circle_of(float.fromhex(y))] == wanted


def test_laws():
    assert [[key, n, _core.normal(key, n).hex()] for key, n, _ in GOLDEN["normal"]] == GOLDEN[
        "normal"
    ]
    assert [[key, n, _core.sign(key, n)] for key, n, _ in GOLDEN["sign"]] == GOLDEN["sign"]
    assert [[word, _core.cauchy(word).hex()] for word, _ in GOLDEN["cauchy"]] == GOLDEN["cauchy"]
    assert [[key, n, _core.chi(key, n).hex()] for key, n, _ in GOLDEN["chi"]] == GOLDEN["chi"]


@pytest.mark.parametrize(("name", "seed", "sigma"), GOLDEN["median"])
def test_medians(name, seed, sigma):
    X = make_golden.many_rows() if name == "many" else near(rows_of(name))
    assert BinaryFourier(1, random_state=seed).fit(X).bandwidth_.hex() == sigma


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("case", GOLDEN["signs"], ids=name_of)
def test_signs(case, simd, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    X, law = rows_of(case["width"]), {"projection": case["projection"]}
    if case["projection"] == "cauchy":
        X, law = np.abs(X), {"distribution": "cauchy"}
    actual = (
        SignProjection(WIDTHS[case["width"]][1], random_state=case["seed"], **law).fit(X).encode(X)
    )
    assert packed(actual.array) == case["codes"]
    assert actual.empty.tolist() == case["empty"]


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("case", GOLDEN["binary"], ids=name_of)
def test_thresholded_cosines(case, simd, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    X = near(rows_of(case["width"]))
    options = {
        "projection": case["projection"],
        "threshold": case["threshold"],
        "random_state": case["seed"],
    }
    actual = BinaryFourier(WIDTHS[case["width"]][1], sigma=SIGMA, **options).fit(X).encode(X)
    assert packed(actual.array) == case["codes"]
    assert not actual.empty.any()


def features_of(case):
    turns = np.array([[float.fromhex(y) for y in row] for row in case["turns"]])
    return 0.5 * np.stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)], axis=2).reshape(
        2, -1
    )


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("case", GOLDEN["turns"], ids=name_of)
def test_features(case, simd, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    X = rows_of(case["width"])[:2]
    actual = (
        RandomFourier(8, projection=case["projection"], random_state=case["seed"])
        .fit(X)
        .transform(X)
    )
    np.testing.assert_allclose(actual, features_of(case), rtol=0, atol=2e-6)


# -- files


@pytest.mark.parametrize(
    ("cls", "name"), [(SignProjection, "sign_projection"), (BinaryFourier, "binary_fourier")]
)
def test_files_of_bits_keep_loading(cls, name):
    fitted, codes = cls.load(HERE / f"{name}.kl"), Codes.load(HERE / f"codes_{name}.kl")
    X = near(NARROW)
    assert isinstance(registry.load(HERE / f"{name}.kl"), cls)
    assert (fitted.seed_, fitted.n_features_in_, fitted.n_components) == (12345, 5, 70)
    assert fitted.encode(X) == codes  # provenance and empty rows included
    if cls is SignProjection:
        assert (fitted.projection_, fitted.projection, fitted.distribution) == (
            "sorf",
            "sorf",
            "gaussian",
        )
        bits, empty = twin.sign_codes(X, 70, projection="sorf", seed=12345)
        assert codes.empty.tolist() == empty.tolist()
        assert empty.any()
    else:
        assert (fitted.projection, fitted.threshold, fitted.sigma) == ("fastfood", True, "median")
        assert fitted.bandwidth_ == twin.median_sigma(X, 12345)
        bits = twin.binary_codes(X, 70, fitted.bandwidth_, seed=12345)
    assert codes.array.tolist() == bits.tolist()


def test_the_file_of_features_keeps_loading():
    fitted = RandomFourier.load(HERE / "random_fourier.kl")
    assert isinstance(registry.load(HERE / "random_fourier.kl"), RandomFourier)
    assert (fitted.seed_, fitted.n_features_in_, fitted.n_components) == (SEEDS[1], 5, 8)
    assert (fitted.projection_, fitted.features, fitted.metric, fitted.bandwidth_) == (
        "orthogonal",
        "paired",
        "cosine",
        1.0,
    )
    case = next(
        c for c in GOLDEN["turns"] if (c["width"], c["projection"]) == ("narrow", "orthogonal")
    )
    actual = fitted.transform(near(NARROW)[:2])
    np.testing.assert_allclose(actual, features_of(case), rtol=0, atol=2e-6)


def test_factors_of_whole_numbers():
    for sigma, width, *factor in GOLDEN["integer_factor"]:
        assert list(_core.integer_factor(float.fromhex(sigma), width)[:2]) == factor


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("case", GOLDEN["integers"], ids=name_of)
def test_integers(case, simd, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    X, m = near(rows_of(case["width"])), WIDTHS[case["width"]][1]
    fitted = IntegerFourier(m, sigma=SIGMA, random_state=case["seed"]).fit(X)
    assert fitted.integers(X).tolist() == case["numbers"]


def test_the_file_of_whole_numbers_keeps_loading():
    fitted, X = IntegerFourier.load(HERE / "integer_fourier.kl"), near(NARROW)
    assert isinstance(registry.load(HERE / "integer_fourier.kl"), IntegerFourier)
    assert (fitted.seed_, fitted.n_features_in_, fitted.n_components) == (12345, 5, 70)
    assert fitted.bandwidth_ == twin.median_sigma(X, 12345)
    q = twin.integers(X, 70, fitted.bandwidth_, 12345)
    assert fitted.integers(X).tolist() == q.tolist()
    assert fitted.transform(X).tolist() == twin.integer_features(q).tolist()
