"""The bindings of ternary models refuse shapes and numbers that would lead outside an array."""

from __future__ import annotations

import numpy as np
import pytest

from kernelight import _core


def sweep_arguments(n=70, p=5, classes=2):
    return {
        "columns": np.zeros((p, 2), dtype=np.uint64),
        "weights": np.full(n, 1 / n),
        "n_filled": n,
        "positive": np.zeros((classes, n), dtype=np.uint8),
        "losses": np.zeros((classes, 2, 2 * p + 5)),
        "penalties": np.zeros(classes),
        "least": np.zeros(classes),
        "orders": np.tile(np.arange(p, dtype=np.int32), (classes, 1)),
        "coefficients": np.zeros((classes, p), dtype=np.int8),
        "scores": np.zeros((classes, n), dtype=np.int32),
        "moves": np.zeros(classes, dtype=np.int64),
        "decrease": np.zeros(classes),
        "threads": 1,
        "simd": 0,
    }


def test_sweep_of_nothing_to_gain():
    arguments = sweep_arguments()
    _core.ternary_sweep(**arguments)
    assert not arguments["moves"].any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_filled": 71}, "n_filled"),
        ({"n_filled": 64}, "words"),
        ({"positive": np.zeros((2, 69), dtype=np.uint8)}, "positive and scores"),
        ({"scores": np.zeros((1, 70), dtype=np.int32)}, "positive and scores"),
        ({"losses": np.zeros((2, 2, 14))}, "losses"),
        ({"penalties": np.zeros(1)}, "one entry a class"),
        ({"moves": np.zeros(3, dtype=np.int64)}, "one entry a class"),
        ({"coefficients": np.zeros((2, 4), dtype=np.int8)}, "coefficients and orders"),
        ({"coefficients": np.full((2, 5), 2, dtype=np.int8)}, "-1, 0 or 1"),
        ({"coefficients": np.full((2, 5), -128, dtype=np.int8)}, "-1, 0 or 1"),
        ({"orders": np.full((2, 5), 5, dtype=np.int32)}, "numbers of slots"),
        ({"orders": np.full((2, 5), -1, dtype=np.int32)}, "numbers of slots"),
    ],
)
def test_sweep_refuses(changes, message):
    with pytest.raises(ValueError, match=message):
        _core.ternary_sweep(**{**sweep_arguments(), **changes})


def test_wrong_scores_lead_nowhere_outside():
    """Whatever scores and sides say, no access is outside a table."""
    arguments = sweep_arguments()
    arguments["scores"][:] = 2**31 - 100
    arguments["positive"][:] = 255
    arguments["losses"][:] = np.random.default_rng(0).random(arguments["losses"].shape)
    _core.ternary_sweep(**arguments)


def dense_arguments(n=70, p=5, classes=2):
    return {
        "columns": np.zeros((p, -(-n // 8) * 8), dtype=np.float32),
        "largest": np.zeros(p),
        "weights": np.full(n, 1 / n),
        "loss": 0,
        "positive": np.zeros((classes, n), dtype=np.uint8),
        "scales": np.ones(classes),
        "biases": np.zeros(classes),
        "penalties": np.zeros(classes),
        "least": np.zeros(classes),
        "orders": np.tile(np.arange(p, dtype=np.int32), (classes, 1)),
        "coefficients": np.zeros((classes, p), dtype=np.int8),
        "totals": np.zeros((classes, n)),
        "moves": np.zeros(classes, dtype=np.int64),
        "decrease": np.zeros(classes),
        "threads": 1,
        "simd": 0,
    }


@pytest.mark.parametrize("loss", [0, 2, 3])
def test_dense_sweep_of_nothing_to_gain(loss):
    arguments = dense_arguments() | {"loss": loss}
    _core.ternary_dense_sweep(**arguments)
    assert not arguments["moves"].any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": np.zeros((5, 70), dtype=np.float32)}, "up to a multiple of 8"),
        ({"columns": np.zeros((5, 80), dtype=np.float32)}, "up to a multiple of 8"),
        ({"largest": np.zeros(4)}, "largest"),
        ({"loss": 1}, "no such loss"),
        ({"loss": 4}, "no such loss"),
        ({"loss": -1}, "no such loss"),
        ({"positive": np.zeros((2, 69), dtype=np.uint8)}, "positive and totals"),
        ({"totals": np.zeros((1, 70))}, "positive and totals"),
        ({"totals": np.zeros((2, 72))}, "positive and totals"),
        ({"scales": np.zeros(1)}, "one entry a class"),
        ({"biases": np.zeros(3)}, "one entry a class"),
        ({"penalties": np.zeros(1)}, "one entry a class"),
        ({"moves": np.zeros(3, dtype=np.int64)}, "one entry a class"),
        ({"coefficients": np.zeros((2, 4), dtype=np.int8)}, "coefficients and orders"),
        ({"coefficients": np.full((2, 5), 2, dtype=np.int8)}, "-1, 0 or 1"),
        ({"orders": np.full((2, 5), 5, dtype=np.int32)}, "numbers of slots"),
        ({"orders": np.full((2, 5), -1, dtype=np.int32)}, "numbers of slots"),
    ],
)
def test_dense_sweep_refuses(changes, message):
    with pytest.raises(ValueError, match=message):
        _core.ternary_dense_sweep(**{**dense_arguments(), **changes})


@pytest.mark.parametrize("loss", [0, 2, 3])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1e308])
def test_dense_sweeps_of_wrong_numbers_end(loss, wrong):
    """Whatever numbers say, a sweep visits each slot once and stays inside its arrays."""
    arguments = dense_arguments() | {"loss": loss}
    arguments["totals"][:] = wrong
    arguments["columns"][:] = np.random.default_rng(0).standard_normal((5, 72))
    _core.ternary_dense_sweep(**arguments)
    assert (np.abs(arguments["coefficients"]) <= 1).all()


@pytest.mark.parametrize(
    ("coefficients", "totals", "message"),
    [((2, 4), (2, 70), "classes, slots"), ((2, 5), (1, 70), "rows"), ((2, 5), (2, 73), "rows")],
)
def test_dense_totals_refuse(coefficients, totals, message):
    columns = np.zeros((5, 72), dtype=np.float32)
    with pytest.raises(ValueError, match=message):
        _core.ternary_dense_totals(
            columns, np.zeros(coefficients, dtype=np.int8), np.zeros(totals), 1, 0
        )


def score_arguments(n=9, p=70, classes=2):
    words = -(-p // 64)
    return {
        "words": np.zeros((n, words), dtype=np.uint64),
        "plus": np.zeros((classes, words), dtype=np.uint64),
        "used": np.zeros((classes, words), dtype=np.uint64),
        "nonzeros": np.zeros(classes, dtype=np.int32),
        "scales": np.ones(classes),
        "biases": np.full(classes, 3.0),
        "out": np.zeros((n, classes)),
        "threads": 1,
        "simd": 0,
    }


def test_scores_without_coefficients_are_biases():
    arguments = score_arguments()
    _core.ternary_scores(**arguments)
    assert (arguments["out"] == 3.0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plus": np.zeros((2, 1), dtype=np.uint64)}, "both planes"),
        ({"used": np.zeros((3, 2), dtype=np.uint64)}, "both planes"),
        ({"nonzeros": np.zeros(1, dtype=np.int32)}, "one entry a class"),
        ({"scales": np.zeros(3)}, "one entry a class"),
        ({"out": np.zeros((8, 2))}, "out must be"),
        ({"out": np.zeros((9, 3))}, "out must be"),
    ],
)
def test_scores_refuse(changes, message):
    with pytest.raises(ValueError, match=message):
        _core.ternary_scores(**{**score_arguments(), **changes})


def test_other_dtypes_and_orders_are_refused():
    for changes in (
        {"words": np.zeros((9, 2), dtype=np.int64)},
        {"out": np.zeros((9, 2), order="F")},
    ):
        with pytest.raises(TypeError):
            _core.ternary_scores(**{**score_arguments(), **changes})
