"""Errors of the kernels are sentences for people: what is wrong, where, and what to do."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kernelight.kernels import GMM, RBF, AcosChi2, ExpGMM, Gaussian, Linear, MinMax

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])


@FORMS
def test_negative_value_is_named(form):
    X = np.ones((3, 4))
    bad = X.copy()
    bad[2, 1] = -0.5
    with pytest.raises(
        ValueError, match=r"^MinMax .* X has -0\.5 at row 2, column 1; use GMM, which splits"
    ):
        MinMax()(form(bad))
    with pytest.raises(
        ValueError, match=r"^AcosChi2 .* Y has -0\.5 at row 2, column 1; use Acos or GMM"
    ):
        AcosChi2()(form(X), form(bad))
    with pytest.raises(ValueError, match="MinMax needs nonnegative"):
        (RBF() * MinMax())(form(bad))


@FORMS
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_nonfinite_value_is_named(form, value, word):
    bad = np.ones((3, 4))
    bad[1, 3] = value
    for kernel in (Linear(), GMM(), Gaussian()):
        with pytest.raises(ValueError, match=f"Input Y contains {word} at row 1, column 3"):
            kernel(form(np.ones((2, 4))), form(bad))
        with pytest.raises(ValueError, match=f"Input X contains {word} at row 1, column 3"):
            kernel.diag(form(bad))


@FORMS
def test_widths_are_both_said(form):
    with pytest.raises(
        ValueError, match="X has 3 columns but Y has 4: both must have the same features"
    ):
        GMM()(form(np.ones((2, 3))), form(np.ones((2, 4))))


def test_other_shapes_and_types():
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        GMM()([1.0, 2.0])
    with pytest.raises(ValueError, match="Complex data not supported"):
        GMM()(np.ones((2, 2), complex))


def test_center():
    K = GMM(center=np.array([1, 2], dtype=np.float32))
    assert K.center == (1.0, 2.0)
    assert all(type(value) is float for value in K.center)
    with pytest.raises(
        ValueError, match="center cannot go with sparse input: it would fill every zero of X"
    ):
        K(sp.csr_array(np.ones((2, 2))))
    with pytest.raises(ValueError, match="X has 3 columns but center has 2 values"):
        K(np.ones((2, 3)))
    for bad in (3.0, [[1.0, 2.0]], "abc", ["a"], [None]):
        with pytest.raises(TypeError, match="center must be one number for each column"):
            GMM(center=bad)
    with pytest.raises(ValueError, match="center must hold finite numbers"):
        GMM(center=[1.0, np.nan])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda v: RBF(gamma=v), "gamma"),
        (lambda v: Gaussian(sigma=v), "sigma"),
        (lambda v: GMM(p=v), "p"),
        (lambda v: ExpGMM(gamma=v), "gamma"),
        (lambda v: ExpGMM(p=v), "p"),
    ],
)
def test_parameters(make, name):
    for bad in (0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match=f"^{name} must be a finite number above 0, got"):
            make(bad)
    for bad in ("1", None, True):
        with pytest.raises(TypeError, match=f"^{name} must be a number, got"):
            make(bad)


def test_a_centre_beyond_single_precision():
    with pytest.raises(ValueError, match="would overflow"):
        GMM(center=[1e300, 0.0])(np.ones((2, 2), dtype=np.float32))


@pytest.mark.parametrize("value", [1e308, 1.7e308, 5e-324, 0.0])
def test_gaussian_at_the_edges_of_the_range(value):
    K = Gaussian()([[value], [value], [0.0]])
    assert K[0, 1] == 1
    assert K[0, 2] == (0 if value > 1 else 1)
