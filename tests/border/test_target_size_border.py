"""Targets so small or so large that their squares leave the range of floating-point numbers."""

from __future__ import annotations

import numpy as np
import pytest

from kernelight import KernelRegressor

RNG = np.random.default_rng(0)
X = RNG.random((200, 3))
Y = np.sin(5 * X[:, 0]) + X[:, 1]


@pytest.mark.parametrize("power", [-1000, -565, 0, 565, 1000])
def test_the_size_of_a_target_changes_no_digit_of_the_prediction(power: int) -> None:
    plain = KernelRegressor(n_components=64, scale="minmax").fit(X, Y)
    sized = KernelRegressor(n_components=64, scale="minmax").fit(X, np.ldexp(Y, power))
    assert sized.validation_score_ > 0.5
    np.testing.assert_array_equal(sized.predict(X), np.ldexp(plain.predict(X), power))


def test_each_of_several_targets_has_its_own_size() -> None:
    sizes = np.array([1e-170, 1.0, 1e170])
    model = KernelRegressor(n_components=64, scale="minmax").fit(X, Y[:, None] * sizes)
    np.testing.assert_allclose(model.target_scale_ / sizes, Y.std(), rtol=1e-12)
