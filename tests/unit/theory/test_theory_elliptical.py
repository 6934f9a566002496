"""The min-max kernel of elliptical rows: reference values, publications, quadrature, simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate, special, stats

from kernelight import theory

# rho, sigma, f_1, f_inf, H, V, V / H^4, by quadratures that share nothing with any formula
REFERENCE = np.array(
    [
        (-0.5, 1, 0.1361816831, 0.0717967697, 1.1879486678, 0.0411429684, 0.0206587920),
        (-0.5, 2, 0.1254265498, 0.0627460668, 1.7970984572, 0.1646619617, 0.0157872250),
        (0, 1, 0.2206356002, 0.1715728753, 1.0867779304, 0.0854691962, 0.0612697880),
        (0, 2, 0.1991037981, 0.1458980338, 1.6666922020, 0.3436011049, 0.0445279743),
        (0, 5, 0.1349192857, 0.0811765837, 3.5329276381, 2.1693626399, 0.0139249354),
        (0.5, 1, 0.3333333333, 0.3333333333, 0.9549296586, 0.0857190703, 0.1030841571),
        (0.5, 2, 0.2880750345, 0.2679491924, 1.5062585540, 0.3502179504, 0.0680362388),
        (0.5, 5, 0.1756810129, 0.1339394440, 3.3685384650, 2.2569692089, 0.0175290989),
        (0.8, 1, 0.4611351491, 0.5194938533, 0.8379366208, 0.0477969321, 0.0969516797),
        (0.8, 2, 0.3707282449, 0.3819660113, 1.3819871846, 0.2030745340, 0.0556723306),
        (0.95, 1, 0.6251124397, 0.7269458810, 0.7372781966, 0.0139656112, 0.0472644256),
        (0.95, 2, 0.4429621864, 0.4650422192, 1.3036206684, 0.0644618528, 0.0223201873),
    ]
)
# n Var(g_n) of t with nu degrees of freedom: nu, E T, E T^2, E T^2 / E^2 T, then (rho, sigma) as in
# the header
PAIRS = [(0, 1), (0.5, 1), (0.8, 1), (0.9, 1), (0.5, 2), (-0.5, 1)]
VARIANCES = [
    (3, 1.73205081, 6, 2, 0.12253958, 0.20616831, 0.19390336, 0.14404599, 0.13607248, 0.04131758),
    (5, 1.49071198, 3.33333333, 1.5, 0.09190468, 0.15462624, 0.14542752, 0.10803449, 0.10205436,
     0.03098819),
    (10, 1.35824449, 2.5, 1.35513981, 0.08302913, 0.13969345, 0.13138308, 0.09760123, 0.09219862,
     0.02799555),
    (np.inf, 1.25331414, 2, 1.27323954, 0.07801112, 0.13125083, 0.12344271, 0.09170253, 0.08662643,
     0.02630359),
]  # fmt: skip
LAWS = (theory.gmm_single, theory.gmm_limit, theory.elliptical_h, theory.elliptical_v)


def test_reference_values():
    rho, sigma, *printed, shape = REFERENCE.T
    ours = [law(rho, sigma) for law in LAWS]
    np.testing.assert_allclose(ours, printed, rtol=0, atol=0.51e-10)
    np.testing.assert_allclose(ours[3] / ours[2] ** 4, shape, rtol=0, atol=0.51e-10)


def test_reference_variances():
    for nu, first, second, ratio, *printed in VARIANCES:
        assert theory.t_moment(nu, 1) == pytest.approx(first, abs=0.51e-8)
        assert theory.t_moment(nu, 2) == pytest.approx(second, abs=0.51e-8)
        assert theory.t_moment(nu, 2) / theory.t_moment(nu, 1) ** 2 == pytest.approx(
            ratio, abs=0.51e-8
        )
        rho, sigma = np.array(PAIRS).T
        np.testing.assert_allclose(
            theory.gmm_variance(rho, nu, sigma), printed, rtol=0, atol=0.51e-8
        )
    assert theory.t_moment(5, 4) == pytest.approx(66.6667, abs=0.51e-4)
    assert theory.t_moment(10, 4) == pytest.approx(16.6667, abs=0.51e-4)


def printed_v(rho, sigma):
    """V as TGMM's theorem 2 has it for any sigma (repeated factors left out)."""
    alpha = np.arcsin(np.sqrt((1 - rho) / 2))
    tau = np.arctan(sigma / np.sin(2 * alpha) - 1 / np.tan(2 * alpha))
    more = sigma * (1 + np.sin(tau)) + 1 + np.sin(2 * alpha - tau)
    less = 1 - np.sin(2 * alpha - tau) + sigma * (1 - np.sin(tau))
    first = 2 * tau + np.pi - 4 * alpha + np.sin(2 * tau - 4 * alpha)
    first += sigma**2 * (np.pi - 2 * tau - np.sin(2 * tau))
    second = sigma**2 * (2 * tau + np.sin(2 * tau) + np.pi)
    second += 4 * sigma * (np.sin(2 * alpha) - 2 * alpha * np.cos(2 * alpha))
    second += np.pi + 4 * alpha - 2 * tau - np.sin(2 * tau - 4 * alpha)
    third = sigma * ((np.pi - 2 * alpha) * np.cos(2 * alpha) + np.sin(2 * alpha))
    return (first * more**2 / 4 + second * less**2 / 4 - third * less * more) / np.pi**3


def test_published_formulas():
    """All agree but V for sigma = 1 in theorem 2, which is 16 times too small.

    Corollary 2 has it right.
    """
    rho, sigma = np.meshgrid(np.linspace(-0.99, 0.99, 67), [0.1, 0.5, 1.0, 1.7, 6.0])
    np.testing.assert_allclose(
        theory.elliptical_v(rho, sigma), printed_v(rho, sigma), atol=1e-13 * sigma.max() ** 4
    )
    a = np.arcsin(np.sqrt((1 - rho[0]) / 2))
    bracket = 3 * np.pi - 8 * np.cos(a) + 2 * np.sin(2 * a) + np.pi * np.cos(2 * a)
    bracket -= 8 * a * np.sin(a) + 4 * a * np.cos(2 * a)
    ours = theory.elliptical_v(rho[0])
    np.testing.assert_allclose(ours, 4 / np.pi**3 * np.sin(a) ** 2 * bracket, atol=1e-14)
    np.testing.assert_allclose(ours / 16, np.sin(a) ** 2 * bracket / (4 * np.pi**3), atol=1e-14)
    np.testing.assert_allclose(theory.elliptical_h(rho[0]), 2 / np.pi * (1 + np.sin(a)), atol=1e-14)
    f_1 = rho[0] + (np.sqrt(1 - rho[0] ** 2) * np.log(2 - 2 * rho[0]) - 2 * rho[0] * a) / np.pi
    np.testing.assert_allclose(theory.gmm_single(rho[0]), f_1, atol=1e-14)
    assert theory.gmm_variance(0.5, 5) == pytest.approx(
        0.1030841571 * 8 / np.pi / 3 * (special.gamma(2.5) / special.gamma(2)) ** 2, abs=1e-9
    )


@pytest.mark.parametrize("sigma", [0.02, 0.4, 1.0])
@pytest.mark.parametrize("rho", [-0.999, -0.3, 0.97])
def test_quadrature_over_the_circle(rho, sigma):
    """Means over U as integrals over its angle.

    f_1 of a single ratio, H and V of moments of minima and maxima.
    """

    def parts(angle):
        x, y = np.cos(angle), sigma * np.cos(angle - np.arccos(rho))
        total, apart = abs(x) + abs(y), abs(x - y)
        return (total - apart) / 2, (total + apart) / 2

    w = np.arccos(rho)
    equal = np.arctan2(sigma * np.cos(w) - 1, -sigma * np.sin(w))  # x = y
    kinks = np.array([np.pi / 2, w + np.pi / 2, equal])
    ends = np.unique(np.concatenate([[0, np.pi], kinks % np.pi]))

    def mean(function):
        pieces = itertools.pairwise(ends)
        return (
            sum(integrate.quad(lambda t: function(*parts(t)), *p, epsabs=1e-13)[0] for p in pieces)
            / np.pi
        )

    assert theory.gmm_single(rho, sigma) == pytest.approx(
        mean(lambda less, more: less / more), abs=1e-10
    )
    H, f = mean(lambda _, more: more), theory.gmm_limit(rho, sigma)
    assert theory.elliptical_h(rho, sigma) == pytest.approx(H, rel=1e-10)
    assert f == pytest.approx(mean(lambda less, _: less) / H, rel=1e-9)
    # n Var(g_n) = E (min - f max)^2 E T^2 / (H E T)^2, so V = H^2 E(...)^2
    V = H**2 * mean(lambda less, more: (less - f * more) ** 2)
    assert theory.elliptical_v(rho, sigma) == pytest.approx(V, rel=1e-8)


def test_swapping_rows_changes_nothing():
    rho, sigma = REFERENCE.T[:2]
    for law in (theory.gmm_single, theory.gmm_limit):
        np.testing.assert_allclose(law(rho, 1 / sigma), law(rho, sigma), rtol=1e-14)
    np.testing.assert_allclose(
        theory.elliptical_h(rho, 1 / sigma) * sigma, theory.elliptical_h(rho, sigma)
    )
    np.testing.assert_allclose(
        theory.elliptical_v(rho, 1 / sigma) * sigma**4, theory.elliptical_v(rho, sigma)
    )


def test_mean_and_limit_cross_at_one_half():
    """The mean of one coordinate is above the limit for rho < 1/2 only."""
    rho = np.linspace(-0.99, 0.99, 199)
    above = theory.gmm_single(rho) > theory.gmm_limit(rho)
    np.testing.assert_array_equal(above[abs(rho - 0.5) > 1e-9], (rho < 0.5)[abs(rho - 0.5) > 1e-9])
    assert theory.gmm_single(0.5) == pytest.approx(theory.gmm_limit(0.5), abs=1e-15)


def test_moments_by_quadrature():
    """T^2 / 2 has an F law with 2 and nu degrees of freedom."""
    for nu in (3.0, 5.0, 10.0, 77.0):
        for order in (1, 2, 4):
            if order < nu:
                wanted = integrate.quad(
                    lambda z, nu=nu, order=order: (2 * z) ** (order / 2) * stats.f.pdf(z, 2, nu),
                    0,
                    np.inf,
                )[0]
                assert theory.t_moment(nu, order) == pytest.approx(wanted, rel=1e-6)
    np.testing.assert_array_equal(
        theory.t_moment([[3.0], [5.0]], [1, 2]),
        [[theory.t_moment(nu, r) for r in (1, 2)] for nu in (3.0, 5.0)],
    )
    # of the normal law, 2^(r/2) Gamma(1 + r/2), where powers of nu have long overflowed
    orders = np.array([1, 2, 4, 40, 100])
    np.testing.assert_allclose(
        theory.t_moment(np.inf, orders),
        2 ** (orders / 2) * special.gamma(1 + orders / 2),
        rtol=1e-10,
    )
    assert np.isinf(theory.t_moment([0.5, 1.0], 1)).all()
    large = theory.t_moment([1e6, 1e12, 1e16, 1e300, np.inf], 1)
    np.testing.assert_allclose(large, np.sqrt(np.pi / 2), rtol=2e-6)
    np.testing.assert_allclose(large[1:], np.sqrt(np.pi / 2), rtol=1e-11)


def coordinates(rng, shape, rho, sigma, nu):
    x, noise = rng.standard_normal((2, *shape))
    y = sigma * (rho * x + np.sqrt(1 - rho**2) * noise)
    scale = 1.0 if np.isinf(nu) else np.sqrt(nu / rng.chisquare(nu, shape))
    return x * scale, y * scale


def gmm(x, y):
    total, apart = (np.abs(x) + np.abs(y)).sum(axis=-1), np.abs(x - y).sum(axis=-1)
    return (total - apart) / (total + apart)


def cosine(x, y):
    return (x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))


def variance_and_error(values):
    """Variance and its standard error, from the fourth moment."""
    squares = (values - values.mean()) ** 2
    return squares.mean(), squares.std() / np.sqrt(len(values))


@pytest.mark.parametrize(
    ("rho", "sigma", "nu"), [(0.5, 2.0, np.inf), (-0.4, 1.0, 0.7), (0.9, 0.5, 3.0)]
)
def test_single_coordinate_simulated(rho, sigma, nu):
    """Its kernel is random with the mean f_1, whatever the tails."""
    g = gmm(
        *(z[..., None] for z in coordinates(np.random.default_rng(2), (200_000,), rho, sigma, nu))
    )
    assert g.mean() == pytest.approx(
        theory.gmm_single(rho, sigma), abs=5 * g.std() / np.sqrt(len(g))
    )
    assert g.std() > 0.1


@pytest.mark.parametrize(
    ("rho", "sigma", "nu"),
    [(0.5, 1.0, np.inf), (0.5, 2.0, np.inf), (-0.7, 1.0, 10.0), (0.9, 0.3, 10.0), (0.0, 1.0, 5.0)],
)
def test_limit_and_variance_simulated(rho, sigma, nu):
    """At n = 1000, where the mean is off by about 1/n and the variance by a few per cent.

    The formulas are limits.
    """
    n, runs = 1000, 4000
    g = gmm(*coordinates(np.random.default_rng(5), (runs, n), rho, sigma, nu))
    V = float(theory.gmm_variance(rho, nu, sigma))
    assert g.mean() == pytest.approx(
        theory.gmm_limit(rho, sigma), abs=5 * np.sqrt(V / n / runs) + 1 / n
    )
    variance, error = variance_and_error(g)
    assert n * variance == pytest.approx(V, abs=5 * n * error + 0.02 * V)
    assert n * variance > 2 * V / 16 + 5 * n * error  # what theorem 2 prints for sigma = 1


# nu, n, n Var(g_n) for rho = 0.5 and its standard error, by an older simulation (errata, R4)
SIMULATED = [
    (3, 100, 0.1941, 0.0014),
    (3, 1000, 0.2093, 0.0030),
    (3, 10_000, 0.2047, 0.0053),
    (5, 100, 0.1517, 0.0011),
    (5, 1000, 0.1534, 0.0022),
]


@pytest.mark.parametrize(("nu", "n", "wanted", "error"), SIMULATED)
def test_simulated_reference(nu, n, wanted, error):
    """Below the limit at n = 100, and there from n = 1000 on; both simulations have errors."""
    variance, ours = variance_and_error(
        gmm(*coordinates(np.random.default_rng(8), (2_000_000 // n, n), 0.5, 1.0, nu))
    )
    assert n * variance == pytest.approx(wanted, abs=5 * np.hypot(n * ours, error))
    limit = theory.gmm_variance(0.5, nu)
    if n == 100:
        assert n * variance < limit
        assert wanted + 2 * error < limit
    else:
        assert wanted == pytest.approx(limit, abs=5 * error)


@pytest.mark.parametrize("nu", [10.0, np.inf])
@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.8])
def test_correlations_simulated(rho, nu):
    """Both estimators of rho at n = 2000.

    For nu = 10 the cosine's variance lacks some per cent: 8th moments hardly exist.
    """
    n, runs = 2000, 2500
    x, y = coordinates(np.random.default_rng(11), (runs, n), rho, 1.0, nu)
    for estimates, V, slack in (
        (theory.rho_from_gmm(gmm(x, y)), theory.rho_from_gmm_variance(rho, nu), 0.03),
        (cosine(x, y), theory.cosine_variance(rho, nu), 0.01 if np.isinf(nu) else 0.06),
    ):
        assert estimates.mean() == pytest.approx(rho, abs=5 * np.sqrt(V / n / runs) + 2 / n)
        variance, error = variance_and_error(estimates)
        assert n * variance == pytest.approx(V, abs=5 * n * error + slack * V)


def test_correlation_of_other_scales_simulated():
    """With sigma it is rho; the published estimator without it tends to 1/3 instead of 1/2."""
    n, runs = 2000, 2500
    g = gmm(*coordinates(np.random.default_rng(13), (runs, n), 0.5, 2.0, 10.0))
    estimates, V = theory.rho_from_gmm(g, 2.0), float(theory.rho_from_gmm_variance(0.5, 10.0, 2.0))
    sigma = np.sqrt(V / n / runs)
    assert estimates.mean() == pytest.approx(0.5, abs=5 * sigma + 2 / n)
    variance, error = variance_and_error(estimates)
    assert n * variance == pytest.approx(V, abs=5 * n * error + 0.03 * V)
    assert theory.rho_from_gmm(g).mean() == pytest.approx(1 / 3, abs=0.01)


def test_reference_correlations():
    nu = np.array([[3], [5], [np.inf]])
    printed = [
        (2.08136918, 1.04372709, 0.06458010),
        (1.56102688, 0.78279532, 0.04843507),
        (1.32504077, 0.66445730, 0.04111297),
    ]
    np.testing.assert_allclose(
        theory.rho_from_gmm_variance([0, 0.5, 0.9], nu), printed, rtol=0, atol=0.51e-8
    )
    assert theory.cosine_variance(0.5, 5) == 1.6875
    with_tails = theory.t_moment(7, 4) / (2 * theory.t_moment(7, 2) ** 2)
    assert theory.cosine_variance(0.0, 7) == pytest.approx(with_tails, rel=1e-12)


def test_correlation_there_and_back():
    rho, sigma = np.meshgrid(np.linspace(-1, 1, 201), [1e-6, 0.3, 1.0, 4.0, 1e6])
    back = theory.rho_from_gmm(theory.gmm_limit(rho, sigma), sigma)
    np.testing.assert_allclose(back, rho, atol=1e-14)
    np.testing.assert_allclose(
        theory.rho_from_gmm(theory.gmm_limit(rho[2])),
        1 - 2 * ((1 - theory.gmm_limit(rho[2])) / (1 + theory.gmm_limit(rho[2]))) ** 2,
        atol=1e-14,
    )
    # 0.5 is the most it can be
    np.testing.assert_array_equal(theory.rho_from_gmm([0.6, 1.0], 2.0), [1.0, 1.0])


def test_where_the_kernel_beats_the_cosine():
    rho = np.array([-0.9, -0.5, 0, 0.2, 0.5, 0.8, 0.9])
    nu = theory.rho_crossover(rho)
    np.testing.assert_allclose(nu, [4.7, 6.2, 8.7, 10.0, 12.3, 14.5, 14.9], atol=0.051)
    for side, better in ((0.99, True), (1.01, False)):
        ratio = theory.rho_from_gmm_variance(rho, side * nu) / theory.cosine_variance(
            rho, side * nu
        )
        np.testing.assert_array_equal(ratio < 1, better)
        np.testing.assert_allclose(theory.rho_variance_ratio(rho, side * nu), ratio, rtol=1e-12)
    loss = theory.rho_variance_ratio([-0.9, 0, 0.5, 0.9])
    np.testing.assert_allclose(loss, [3.35, 1.33, 1.18, 1.14], atol=0.0051)
    assert theory.rho_crossover(-1.0) == pytest.approx(4, abs=1e-14)
    assert theory.rho_variance_ratio(1.0) == pytest.approx(
        theory.rho_variance_ratio(1 - 1e-12), abs=1e-5
    )
    assert theory.rho_variance_ratio(1.0) == pytest.approx(np.pi - 2, abs=1e-14)
    assert np.isinf(theory.rho_variance_ratio(-1.0))
    np.testing.assert_array_equal(theory.rho_variance_ratio(0.3, [0.5, 2, 4]), 0)


def test_two_degrees_of_freedom():
    """The limit law alone; it is not simulated, since it is approached like a logarithm."""
    rho, sigma = REFERENCE.T[:2]
    np.testing.assert_allclose(
        theory.gmm_variance_two(rho, sigma), 4 / np.pi**2 * REFERENCE.T[6], rtol=0, atol=1e-10
    )
    assert theory.t_moment(2, 1) ** 2 == pytest.approx(np.pi**2 / 2, rel=1e-12)
    assert np.isinf(theory.gmm_variance(0.3, 2.0))


def test_edges():
    """Equal and opposite rows do not vary, whatever the tails; nothing is NaN for any scale."""
    sigma = np.array(
        [1e-300, 1e-8, *np.random.default_rng(1).random(50), 0.5, 1.0, 2.0, 1e8, 1e300]
    )
    ratio = np.minimum(sigma, 1 / sigma)
    for law in (theory.gmm_single, theory.gmm_limit):
        np.testing.assert_allclose(law(1.0, sigma), ratio, rtol=1e-12, atol=1e-149)
        np.testing.assert_array_equal(law(-1.0, sigma), 0)
    for rho in (-1.0, 1.0):
        for nu in (0.5, 2.0, 3.0, np.inf):
            np.testing.assert_array_equal(theory.gmm_variance(rho, nu, sigma), 0)
            np.testing.assert_array_equal(theory.cosine_variance(rho, nu), 0)
            np.testing.assert_array_equal(theory.rho_from_gmm_variance(rho, nu, sigma), 0)
    for rho in np.concatenate([[0.0], 1 - np.logspace(-16, -1, 16), np.logspace(-16, -1, 16) - 1]):
        values = [
            law(rho, sigma)
            for law in (theory.gmm_single, theory.gmm_limit, theory.gmm_variance_two)
        ]
        assert np.isfinite(values).all()
        assert np.all(np.array(values) >= 0)


def test_small_values_keep_their_digits():
    """Close to rho = 1 and to rho = -1.

    There the variance is 2 (1 - rho) (2 pi - 4) / (2 pi^3) (pi / 2)^4, and the limit (1 + rho) / 8.
    """
    near = 2.0**-40
    shape = 2 * near * (2 / np.pi**3) * (2 * np.pi - 4) * (np.pi / 2) ** 4
    assert theory.gmm_variance_two(1 - near) == pytest.approx(4 / np.pi**2 * shape, rel=1e-4)
    assert theory.gmm_limit(near - 1) == pytest.approx(near / 8, rel=1e-9)
    # V grows like phi^3 there, phi = sqrt(2 near): 4 q^2 / pi^3 phi^3 / 12 with q = 2
    phi = np.sqrt(2 * near)
    assert theory.elliptical_v(near - 1) == pytest.approx(8 / np.pi**3 * phi**3 / 6, rel=1e-5)
    # rows of very different scales: V / H^4 is a multiple of sigma^-2
    far = theory.gmm_variance_two(0.3, [1e3, 1e6, 1e9, 1e12]) * np.array([1e6, 1e12, 1e18, 1e24])
    np.testing.assert_allclose(far, far[-1], rtol=5e-3)
    np.testing.assert_allclose(far[1:], far[-1], rtol=1e-5)
