"""IntegerFourier: what `transform` and `integers` have in common, and models on its features."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kernelight import IntegerFourier, KernelClassifier, KernelRegressor
from kernelight.kernels import Gaussian

X = np.random.default_rng(0).standard_normal((30, 70))


def test_features_are_the_integers_times_one_factor():
    made = IntegerFourier(300).fit(X)
    factor = 1 / (1024 * math.sqrt(8 * 300 / 15))
    wanted = (made.integers(X) * factor).astype(np.float32)
    np.testing.assert_array_equal(made.transform(X), wanted)


def test_the_first_integers_of_a_longer_run_are_those_of_a_shorter():
    longer = IntegerFourier(1000, sigma=9.0).fit(X).integers(X)
    for k in (1, 127, 128, 129, 999):
        shorter = IntegerFourier(k, sigma=9.0).fit(X).integers(X)
        np.testing.assert_array_equal(shorter, longer[:, :k])


def test_padding_changes_nothing():
    """Columns of zeros up to the padded width, which is what rows are padded with."""
    padded = np.hstack([X, np.zeros((30, 58))])
    narrow, wide = (IntegerFourier(300, sigma=9.0).fit(rows).integers(rows) for rows in (X, padded))
    np.testing.assert_array_equal(narrow, wide)


def test_rows_have_nearly_length_one():
    Z = IntegerFourier(4096).fit(X).transform(X)
    assert np.abs((Z**2).sum(axis=1) - 1).max() < 0.1


def test_a_row_alone_has_the_same_integers():
    made = IntegerFourier(300).fit(X)
    together = made.integers(X)
    for row in (0, 7, 29):
        np.testing.assert_array_equal(made.integers(X[row : row + 1])[0], together[row])


def test_other_parameters_after_fit_are_taken_up():
    made = IntegerFourier(64, sigma=9.0).fit(X).set_params(n_components=300, n_jobs=1)
    wanted = IntegerFourier(300, sigma=9.0).fit(X)
    np.testing.assert_array_equal(made.integers(X), wanted.integers(X))
    assert made.memory() == wanted.memory()


def test_the_kernel_is_that_of_the_bandwidth():
    made = IntegerFourier(64).fit(X)
    assert made.kernel == Gaussian(made.bandwidth_)
    assert made.theory_gap == made.variance_gap


@pytest.mark.parametrize("model", [KernelClassifier, KernelRegressor])
def test_models_by_method(model):
    """As good as random Fourier features of equally many columns, up to a few of 597 rows."""
    digits, y = load_digits(return_X_y=True)
    scores = []
    for method in ("integer", "fourier"):
        made = model("gaussian", method=method, n_components=512, C=1.0, gamma="scale")
        scores.append(made.fit(digits[:1200], y[:1200]).score(digits[1200:], y[1200:]))
    assert scores[0] > scores[1] - 0.03
    with pytest.raises(ValueError, match="IntegerFourier has no features of GMM"):
        model("gmm", method="integer").fit(digits, y)


def test_another_process_has_the_same_integers(tmp_path):
    made = IntegerFourier(100).fit(X)
    made.save(tmp_path / "map.kl")
    program = (
        "import json, sys, numpy as np; from kernelight import load; "
        "X = np.random.default_rng(0).standard_normal((30, 70)); "
        "print(json.dumps(load(sys.argv[1]).integers(X).tolist()))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "map.kl")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == made.integers(X).tolist()
