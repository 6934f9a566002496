"""The gamma that estimators choose by themselves, for kernels known and unknown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

from kernelight import KernelClassifier, kernels
from kernelight.estimators.kernel_choice import KernelChoice
from kernelight.kernels import Kernel
from kernelight.kernels.base import finish


@dataclass(frozen=True)
class Silent(Kernel):
    """exp(-gamma |u - v|_1), which does not say what gamma multiplies."""

    gamma: float = 1.0
    name = "silent"
    zero_is_a_point = True

    def _rows(self, X, name):
        return X

    def pairwise(self, A, B=None):
        K = np.exp(-self.gamma * manhattan_distances(A, B)).astype(A.dtype)
        return finish(K, self, A, B)


@dataclass(frozen=True)
class Laplacian(Silent):
    """The same, which says it."""

    name = "laplacian"

    def dissimilarity(self, X):
        return manhattan_distances(X)


@pytest.fixture(autouse=True)
def named(monkeypatch):
    """Both kernels as if they were of the package."""
    for cls in (Silent, Laplacian):
        monkeypatch.setitem(kernels._MAKERS, cls.name, cls)


def rows(n=200, d=64):
    """Rows whose lengths and directions both differ, with values of 0 to 16."""
    X = np.random.default_rng(0).integers(0, 17, (n, d)).astype(float)
    X.flags.writeable = False
    return X


def median(distances):
    return np.median(distances[np.triu_indices(distances.shape[0], 1)])


def two_digits(value):
    return float(f"{value:.1e}")


@pytest.mark.parametrize("rule", ["median_gamma", "scale_gamma"])
def test_a_new_kernel_has_the_gamma_of_its_own_distances(rule):
    X = rows()
    gamma = getattr(KernelChoice("laplacian", "tune", 1.0), rule)(X, None)
    assert gamma == two_digits(1 / median(manhattan_distances(X)))
    assert 0.001 < gamma < 0.01  # by cosines it would be above 1


def test_known_kernels_have_the_gammas_they_had():
    X = rows()
    squares = np.square(euclidean_distances(X))
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    cosines = 1 - unit @ unit.T
    minmax = 1 - kernels.GMM(p=2.0)(X)
    for name, p, distances, scale in (
        ("gaussian", None, squares, 1 / (64 * X.var())),
        ("rbf", None, cosines, 2 / (64 * unit.var())),
        ("folded_rbf", None, cosines, 2 / (64 * unit.var())),
        ("mm_rbf", None, cosines, 2 / (64 * unit.var())),
        ("exp_gmm", 2.0, minmax, two_digits(1 / median(minmax))),
    ):
        choice = KernelChoice(name, "tune", 1.0)
        assert choice.median_gamma(X, p) == two_digits(1 / median(distances))
        assert choice.scale_gamma(X, p) == float(f"{scale:.6g}")


def test_equal_rows_have_no_say_in_the_median():
    X = np.repeat(rows(4), 50, axis=0)
    gamma = KernelChoice("gaussian", "tune", 1.0).median_gamma(X[:: len(X) // 8], None)
    assert 1e-5 < gamma < 1e-2


@pytest.mark.parametrize("gamma", ["tune", "scale"])
def test_without_a_rule_gamma_must_be_a_number(gamma):
    X = rows(60)
    y = X[:, 0] > 8
    with pytest.raises(
        ValueError,
        match=r"There is no rule for the gamma of the kernel 'silent', because Silent does not "
        r"define dissimilarity: give gamma as a number\.$",
    ):
        KernelClassifier("silent", n_components=16, gamma=gamma).fit(X, y)
    model = KernelClassifier("silent", n_components=16, gamma=0.004).fit(X, y)
    assert model.gamma_ == 0.004


def test_a_model_of_a_new_kernel_is_good_without_being_told_gamma():
    X = rows(300, 8)
    y = X[:, 0] > X[:, 1]
    model = KernelClassifier("laplacian", n_components=64, random_state=0).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.85


@pytest.mark.parametrize(
    ("name", "nonnegative"), [("minmax", True), ("mm_rbf", True), ("rbf", False), ("gmm", False)]
)
def test_the_kernel_says_whether_rows_must_be_nonnegative(name, nonnegative):
    assert KernelChoice(name, "tune", 1.0).nonnegative is nonnegative
    assert KernelChoice(kernels.get(name), "tune", 1.0).nonnegative is nonnegative


@pytest.mark.parametrize("name", ["Auto", "AUTO", "auto ", "atuo"])
def test_what_is_nearly_auto_is_called_so(name):
    """It was taken for acos."""
    with pytest.raises(ValueError, match=r"did you mean 'auto'\?$"):
        KernelClassifier(name).check_parameters()
    with pytest.raises(ValueError, match=r"did you mean 'acos'\?$"):
        KernelClassifier("Acos").check_parameters()
