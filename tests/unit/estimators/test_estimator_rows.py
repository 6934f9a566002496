"""KernelClassifier and KernelRegressor on difficult rows, and on rows that come in batches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import circles

from kernelight import KernelClassifier, KernelRegressor, LinearClassifier

# -- What a search passes over, and what it must not mistake -----------------------


def clock(span, n_rows=300):
    """A table with a column of seconds since 1970, over ``span`` seconds.

    The class depends on this column and another one.
    """
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, 4))
    X[:, 0] = 1.7e9 + span * X[:, 0]
    return X, ((X[:, 0] - 1.7e9 > span / 2) ^ (X[:, 1] > 0.5)).astype(int)


def test_a_large_column_does_not_make_histograms():
    X, y = clock(10_800)
    model = KernelClassifier("gmm", 256).fit(X, y)
    assert model.sources_["scale"] == "tuned"
    assert model.score(X, y) > 0.9
    shares = np.random.default_rng(1).dirichlet(np.ones(4), 300)
    for rows in (shares, shares.astype(np.float32), sp.csr_matrix(shares)):
        assert KernelClassifier("gmm", 64).fit(rows, y).sources_["scale"] == "only"


@pytest.mark.parametrize("kernel", ["gaussian", "exp_gmm"])
def test_settings_that_are_refused_are_passed_over(kernel):
    """Unscaled times are too far from the origin for gaussian, too near each other for exp_gmm."""
    X, y = clock(86_400)
    model = KernelClassifier(kernel, 256).fit(X, y)
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match=r"too far|must be at most"):
        KernelClassifier(kernel, 256, scale=None, gamma=1e5).fit(X, y)


@pytest.mark.parametrize("method", [None, "exact"])
def test_a_large_mean_is_not_rounded(method):
    rng = np.random.default_rng(0)
    X = rng.random((300, 3))
    y = 1e8 + np.sin(6 * X[:, 0]) + X[:, 1]
    loss = "epsilon_insensitive" if method else "squared"
    model = KernelRegressor(n_components=256, method=method, loss=loss, C=10.0, scale="minmax").fit(
        X, y
    )
    assert model.score(X, y) > 0.9
    assert np.isfinite(
        KernelRegressor(n_components=64, C=1.0).fit(X, (y - 1e8) * 1e40).predict(X)
    ).all()


@pytest.mark.parametrize("method", ["gcws", "exact"])
def test_a_class_without_weight_is_never_predicted(method):
    X, y = circles(120, classes=3)
    model = KernelClassifier(method=method, n_components=64, C=1.0, scale=None, loss="hinge")
    predicted = model.fit(X, y, np.where(y == 1, 0.0, 1.0)).predict(X)
    assert 1 not in predicted
    assert (
        model.fit(X[y > 0], y[y > 0], np.where(y[y > 0] == 1, 0.0, 1.0)).predict(X).tolist()
        == [2] * 120
    )


def test_words_and_masks_are_refused_by_name():
    X, y = circles(120)
    frame = pd.DataFrame(X, columns=["left", "right"]).assign(town=["Bern", "Rome"] * 60)
    with pytest.raises(ValueError, match="Column 'town' of X holds 'Bern', which is not a number"):
        LinearClassifier().fit(frame, y)
    with pytest.raises(ValueError, match="y has masked entries"):
        KernelClassifier().fit(X, np.ma.masked_equal(y, 1))
    with pytest.raises(ValueError, match="sample_weight has masked entries"):
        KernelClassifier().fit(X, y, np.ma.masked_equal(y + 1, 1))
    with pytest.raises(ValueError, match="adds up to infinity"):
        KernelClassifier().fit(X, y, np.full(120, 1e307))
    for cv in ([], iter(())):
        with pytest.raises(ValueError, match="cv gave no splits"):
            KernelClassifier(cv=cv).fit(X, y)


def test_a_method_set_after_fit_does_not_change_what_is_stored(tmp_path):
    X, y = circles(120)
    model = (
        KernelClassifier(n_components=32, C=1.0, scale=None).fit(X, y).set_params(method="exact")
    )
    model.save(tmp_path / "model.kl")
    np.testing.assert_array_equal(
        KernelClassifier.load(tmp_path / "model.kl").predict(X), model.predict(X)
    )


# -- More rows -------------------------------------------------------------------------------------


def test_batches_go_on_from_a_fit_on_some_rows():
    X, y = circles(4000, classes=3)
    few = KernelClassifier(n_components=256, scale=None, C=10.0).fit(X[:200], y[:200])
    more = KernelClassifier(n_components=256, scale=None, C=10.0)
    for _ in range(2):
        for start in range(0, 3000, 500):
            more.partial_fit(X[start : start + 500], y[start : start + 500], classes=[0, 1, 2])
    everything = KernelClassifier(n_components=256, scale=None, C=10.0).fit(X[:3000], y[:3000])
    scores = [model.score(X[3000:], y[3000:]) for model in (few, more, everything)]
    assert scores[1] > scores[2] - 0.01
    assert scores[1] > scores[0] + 0.01
    assert more.n_rows_ == 6000
    assert len(more.model_._batch_state.buffer) == 3000  # rows of earlier batches are visited again
    by_class = np.argsort(y[:3000], kind="stable")
    again = KernelClassifier(n_components=256, scale=None, C=10.0).fit(X[:200], y[:200])
    for _ in range(3):
        for part in np.split(by_class, 10):
            again.partial_fit(X[part], y[part])
    assert again.score(X[3000:], y[3000:]) > scores[2] - 0.02
    regression = KernelRegressor(n_components=256, scale=None, C=10.0)
    values = np.hypot(*X.T)
    for start in range(0, 3000, 500):
        regression.partial_fit(X[start : start + 500], values[start : start + 500])
    assert regression.score(X[3000:], values[3000:]) > 0.9


def test_batches_that_do_not_fit():
    X, y = circles(300)
    with pytest.raises(ValueError, match="the first batch needs rows of every class"):
        KernelClassifier(n_components=32).partial_fit(X, y, classes=[0, 1, 2])
    model = KernelClassifier(n_components=32, C=1.0, scale=None).partial_fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="the label 7, which fit has not seen"):
        model.partial_fit(X, np.full(300, 7))
    with pytest.raises(ValueError, match="1 features"):
        model.partial_fit(X[:, :1], y)
    np.testing.assert_array_equal(model.predict(X), before)
    exactly = KernelClassifier(method="exact", C=1.0, scale=None).fit(X, y)
    assert not hasattr(exactly, "partial_fit")
    with pytest.raises(ValueError, match="learns from all rows at once"):
        exactly.set_params(method=None).partial_fit(X, y)
