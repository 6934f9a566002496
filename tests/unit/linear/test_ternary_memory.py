"""The memory of ternary models and their maps, where the figures are known."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelight import BinaryFourier, SignProjection, TernaryClassifier


def test_memory_is_that_of_the_paper():
    """p = 2,048, 10 classes: 5 KB of coefficients, 16 to 18 p bytes of Fastfood projections."""
    X = np.random.default_rng(0).standard_normal((100, 256))
    y = np.arange(100) % 10
    binary = BinaryFourier(2048).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        report = TernaryClassifier(max_iter=2).fit(binary.encode(X), y).memory_report(binary)
    assert report.model["coefficients, 2 bits each"] == 5120
    assert report.model["scales and biases"] == 80
    assert 16 * 2048 < sum(report.stored.values()) < 18 * 2048


@pytest.mark.parametrize("projection", ["gaussian", "orthogonal", "sorf"])
def test_memory_of_maps(projection):
    X = np.random.default_rng(0).standard_normal((10, 100))
    signs = SignProjection(256, projection=projection).fit(X)
    stored = signs.memory()["stored"]
    if projection == "sorf":
        assert stored == {"signs": 3 * 256 // 8, "lengths": 1024, "ties": 32}
        assert signs.keep([0, 130]).memory()["stored"] == {"signs": 96, "lengths": 8, "ties": 1}
        assert signs.keep([0, 1]).memory()["stored"]["signs"] == 48
    else:
        assert stored == {"directions": 4 * 256 * 100}
        assert signs.keep([5]).memory()["stored"] == {"directions": 400}
    assert signs.keep([5, 7]).memory()["regenerated"] == {"seed": 8, "numbers of slots": 8}
    assert signs.keep(range(99)).memory()["regenerated"] == {"seed": 8, "numbers of slots": 32}
