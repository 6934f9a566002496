"""How much is needed and which method wins: the answers hold for simulations and real codes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from kernelight import Codes, theory


def fourier_estimates(method, E, k, runs, seed=1):
    """The kernel E (gamma = 1, so 1 - rho = -log E) from k Fourier features, many times."""
    rho, rng = 1 + np.log(E), np.random.default_rng(seed)
    columns = k // 2 if method == "paired" else k
    a, noise = rng.standard_normal((2, runs, columns))
    b = rho * a + np.sqrt(1 - rho**2) * noise
    if method == "paired":
        return np.cos(a - b).mean(axis=1)
    w = rng.uniform(0, 2 * np.pi, (runs, columns))
    x, y = np.cos(a + w), np.cos(b + w)
    if method == "rff":
        return 2 * (x * y).mean(axis=1)
    return (x * y).sum(axis=1) / np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))


def code_estimates(method, E, k, runs, bits):
    """From the number of slots that agree, which is binomial."""
    rng = np.random.default_rng(2)
    if method == "binary":
        return theory.kernel_from_hamming(rng.binomial(k, theory.hamming_rate(E), runs) / k)
    if method == "sign_cosine":
        agree = rng.binomial(k, (1 + theory.sign_cosine_mean(E)) / 2, runs) / k
        return theory.kernel_from_sign_cosine(2 * agree - 1)
    P = E if bits is None else theory.bbit_collision(E, bits)
    fraction = rng.binomial(k, P, runs) / k
    return fraction if bits is None else theory.kernel_from_bbit(fraction, bits)


CASES = [
    ("rff", None),
    ("nrff", None),
    ("paired", None),
    ("gcws", None),
    ("gcws", 1),
    ("gcws", 4),
    ("binary", None),
    ("sign_cosine", None),
]


@pytest.mark.parametrize(("method", "bits"), CASES)
@pytest.mark.parametrize("E", [0.3, 0.8])
def test_components_keep_the_promise(method, bits, E):
    """Errors exceed the goal as often as allowed.

    But for the steps of binomial fractions and what is not yet normal.
    """
    error, confidence = 0.04, 0.9
    k = theory.components_needed(error, confidence, method, kernel=E, bits=bits)
    if method in ("rff", "nrff", "paired"):
        runs = 4000
        estimates = fourier_estimates(method, E, k, runs)
        step = 0.0
    else:
        runs = 40_000
        estimates = code_estimates(method, E, k, runs, bits)
        step = stats.norm.pdf(1.645) * 2 * 1.645 / error / k  # of one slot more or less
    inside = np.mean(np.abs(estimates - E) <= error)
    assert inside == pytest.approx(
        confidence, abs=5 * np.sqrt(confidence * (1 - confidence) / runs) + step + 0.005
    )


@pytest.mark.parametrize(
    ("method", "bits"), [case for case in CASES if case[0] in ("rff", "paired", "gcws")]
)
def test_guaranteed_components(method, bits):
    """Hoeffding's inequality asks for more than the normal law.

    For the worst kernel by no more than a few times.
    """
    error, confidence = 0.05, 0.9
    sure = theory.components_needed(error, confidence, method, bits=bits, bound="hoeffding")
    likely = theory.components_needed(error, confidence, method, bits=bits)
    assert likely < sure < 20 * likely
    if method == "gcws":
        estimates = code_estimates(method, 0.5, sure, 20_000, bits)
    else:
        estimates = fourier_estimates(method, 0.3, sure, 500)
    assert np.mean(np.abs(estimates - (0.5 if method == "gcws" else 0.3)) <= error) > confidence


def test_known_answers():
    assert theory.components_needed(0.02) == np.ceil((stats.norm.ppf(0.975) / 0.02) ** 2 / 4)
    assert theory.components_needed(0.02, bound="hoeffding") == np.ceil(np.log(40) / (2 * 0.02**2))
    assert theory.components_needed(0.1, method="paired", bound="hoeffding") == 2 * np.ceil(
        np.log(40) * 8 / (4 * 0.01)
    )
    rff = theory.components_needed(0.1, method="rff", bound="hoeffding")
    assert rff == np.ceil(2 * np.log(40) * 4**2 / (4 * 0.1**2))  # 2 cos cos has a range of 4
    for bits in (1, 2, 5):  # the correction for chance widens the range
        wanted = np.ceil(np.log(40) / (2 * 0.1**2) / (1 - 2.0**-bits) ** 2)
        assert theory.components_needed(0.1, bits=bits, bound="hoeffding") == wanted
    assert theory.components_needed(0.1, method="paired", kernel=1.0) == 2
    assert theory.components_needed(0.1, kernel=[0.0, 1.0]).tolist() == [1, 1]
    many = theory.components_needed(0.02, 0.95, n_pairs=[1, 10**6])
    assert many[1] / many[0] == pytest.approx(
        (stats.norm.ppf(1 - 0.025e-6) / stats.norm.ppf(0.975)) ** 2, rel=1e-3
    )
    assert np.all(theory.components_needed([0.1, 0.01, 0.001]) == [97, 9604, 960365])
    assert isinstance(theory.components_needed(0.02), int)
    assert theory.components_needed([0.1], method="paired").dtype == np.int64


@pytest.mark.parametrize("bound", ["normal", "hoeffding"])
@pytest.mark.parametrize("kernel", [None, 0.4, [[0.1], [0.2]]])
def test_components_of_many_bits_at_once(bound, kernel):
    bits = np.array([1, 2, 8])
    given = {"bound": bound, "kernel": kernel}
    needed = theory.components_needed(0.1, bits=bits, **given)
    assert needed.shape == ((2, 3) if np.ndim(kernel) else (3,))
    for at, each in enumerate(bits):
        np.testing.assert_array_equal(
            needed[..., [at]], theory.components_needed(0.1, bits=int(each), **given)
        )
    assert theory.components_needed(0.1, bits=bits[:0], **given).size == 0


@pytest.mark.filterwarnings("error")
def test_what_does_not_vary_needs_one():
    """However small the error; columns of pairs come in twos."""
    for error in (0.1, 1e-200, 5e-324):
        assert theory.components_needed(error, method="paired", kernel=1.0) == 2
        assert theory.components_needed(error, kernel=[0.0, 1.0]).tolist() == [1, 1]


def test_failures_smaller_than_any_double():
    """1e308 pairs share 1e-15.

    By the leading term of the tail of the normal law, 2 phi(z) / z, and by its logarithm.
    """
    confidence, n = 1 - 1e-15, 1e308
    log_failure = np.log1p(-confidence) - np.log(n)
    z = 0.01 * np.sqrt(theory.components_needed(0.01, confidence, n_pairs=n) / 0.25)
    assert -z * z / 2 - np.log(z * np.sqrt(np.pi / 2)) == pytest.approx(log_failure, rel=1e-5)
    sure = theory.components_needed(0.01, confidence, n_pairs=n, bound="hoeffding")
    assert sure == np.ceil((np.log(2) - log_failure) / (2 * 0.01**2))


@pytest.mark.parametrize("method", ["rff", "nrff", "paired", "gcws", "binary", "sign_cosine"])
def test_the_worst_kernel_is_the_worst(method):
    kernels = np.random.default_rng(1).random(200)
    assert (
        theory.components_needed(0.03, method=method)
        >= theory.components_needed(0.03, method=method, kernel=kernels).max()
    )


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("bits", [1, 2, 3, 4, 7, 8, 9, 16])
def test_memory_is_that_of_codes(bits, packed):
    rng = np.random.default_rng(bits)
    for n, k in ((3, 1), (2, 64), (5, 100)):
        codes = Codes(rng.integers(1 << bits, size=(n, k)), bits=bits)
        wanted = codes.packed.nbytes if packed else codes.nbytes
        assert theory.memory_needed(n, k, bits, packed=packed) == wanted
    assert theory.memory_needed(0, 10, bits) == 0


def test_memory_of_features():
    for dtype, bits in ((np.float32, 32), (np.float64, 64)):
        assert theory.memory_needed(7, 11, bits) == np.zeros((7, 11), dtype).nbytes
    for bits in (17, 33, 65, 0):
        with pytest.raises(ValueError, match="bits must"):
            theory.memory_needed(1, 1, bits)


def test_relative_variances():
    E = np.linspace(0.01, 1, 100)
    np.testing.assert_allclose(theory.relative_variance(E, "gcws"), (1 - E) / E)
    for method, variance in (("nrff", theory.nrff_variance), ("paired", theory.paired_variance)):
        np.testing.assert_allclose(theory.relative_variance(E, method), variance(E) / E**2)
        assert np.isinf(theory.relative_variance(0.0, method))
        gain = theory.relative_variance(E, method) - theory.relative_variance(E, "gcws")
        assert int(np.argmax(gain)) == 0  # samples gain most where E is small
        np.testing.assert_array_equal(gain[:-1] > 0, E[:-1] < theory.gcws_crossover(method))
    assert np.all(theory.relative_variance(E, "rff") > theory.relative_variance(E, "gcws"))


def test_crossover_of_features_and_samples():
    root = optimize.brentq(
        lambda E: 1 - 7 / 4 * E**2 + E**4 / 2 + E**6 / 4 - E * (1 - E), 0.5, 0.95
    )
    assert theory.gcws_crossover("nrff") == pytest.approx(root, abs=1e-12)
    assert root == pytest.approx(0.78658, abs=0.51e-5)
    E = theory.gcws_crossover("paired")
    assert pytest.approx(1, abs=1e-12) == E**3 + E**2


def test_crossover_of_rbf_kernels():
    printed = {0.1: 0.565, 1: 0.535, 2: 0.600, 5: 0.750, 10: 0.845, 20: 0.909, 100: 0.976}
    gamma = np.array(list(printed))
    rho = theory.rbf_through_gmm_crossover(gamma)
    np.testing.assert_allclose(rho, list(printed.values()), atol=0.00051)
    gamma = np.array([1e-5, 1e-3, *gamma])
    assert theory.rbf_through_gmm_crossover([[1.0, 2.0]]).shape == (1, 2)
    for method, variance in (("nrff", theory.nrff_variance), ("paired", theory.paired_variance)):
        at = theory.rbf_through_gmm_crossover(gamma, method)
        ratio = variance(np.exp(-gamma * (1 - at))) / theory.rbf_through_gmm_variance(at, gamma)
        np.testing.assert_allclose(ratio, 1, rtol=1e-9)
        for beyond in (
            (at + (1 - at) * np.array([[0.1], [0.9], [0.999]])).T.ravel().reshape(-1, 3).T
        ):
            assert np.all(
                variance(np.exp(-gamma * (1 - beyond)))
                < theory.rbf_through_gmm_variance(beyond, gamma)
            )
    ends = theory.rbf_through_gmm_crossover([1e-300, 1e-6, 1e7])
    assert ends[0] == ends[1]
    assert 0.999999 < ends[2] < 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.components_needed(0.0), "error must be positive, got 0"),
        (lambda: theory.components_needed(-1), "error must not be negative, got -1"),
        (
            lambda: theory.components_needed(0.1, 1.0),
            "confidence must lie strictly between 0 and 1, got 1",
        ),
        (
            lambda: theory.components_needed(0.1, method="rbf"),
            "method must be one of 'rff', .*, got 'rbf'",
        ),
        (
            lambda: theory.components_needed(0.1, method="rff", bits=4),
            "bits belong to method='gcws'",
        ),
        (
            lambda: theory.components_needed(0.1, method="nrff", bound="hoeffding"),
            "use bound='normal' for 'nrff'",
        ),
        (
            lambda: theory.components_needed(0.1, bound="x"),
            "bound must be one of 'normal', 'hoeffding', got 'x'",
        ),
        (
            lambda: theory.components_needed(0.1, kernel=1.2),
            "kernel must lie between 0 and 1, got 1.2",
        ),
        (lambda: theory.components_needed(0.1, n_pairs=0), "n_pairs must be at least 1, got 0"),
        (lambda: theory.components_needed(1e-12), "ask for less"),
        (lambda: theory.memory_needed(-1, 1, 1), "n_rows must not be negative, got -1"),
        (lambda: theory.memory_needed(1, 1.5, 1), "n_components must be a whole number, got 1.5"),
        (lambda: theory.relative_variance(0.5, "fast"), "method must be one of"),
        (lambda: theory.gcws_crossover("rff"), "method must be one of 'nrff', 'paired', got 'rff'"),
        (lambda: theory.rbf_through_gmm_crossover(0.0), "gamma must be positive"),
        (lambda: theory.rbf_through_gmm_crossover(1e9), "gamma must lie between 0 and 1e\\+07"),
        (lambda: theory.bits_needed(10, 0), "deviation must be positive"),
        (lambda: theory.uniform_bound(0.1, 10, 3, -1), "diameter must not be negative"),
        (
            lambda: theory.uniform_bound(0.1, 10, 3, 1, features="x"),
            "features must be one of 'paired', 'phase'",
        ),
        (
            lambda: theory.uniform_components(0.1, 0, 3, 1),
            "confidence must lie strictly between 0 and 1, got 0",
        ),
    ],
)
def test_wrong_wishes(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.parametrize("features", ["paired", "phase"])
@pytest.mark.parametrize(
    ("d", "diameter", "error"), [(1, 2.0, 0.2), (10, 5.0, 0.1), (3, 0.01, 0.5)]
)
def test_uniform_bound_is_what_its_proof_says(features, d, diameter, error):
    """Balls of the radius where both failures are equal: the bound is twice either."""
    kernel = np.sqrt(np.exp(-1))  # the steepest slope of exp(-t^2 / 2)
    if features == "paired":
        m, slope, exponent = d, np.sqrt(d) + kernel, 1 / 16
    else:
        m, slope, exponent = 2 * d, 2 * np.sqrt(d) + np.sqrt(2) * kernel, 1 / 32
    k = theory.uniform_components(error, 0.5, d, diameter, features=features)
    tail, slopes = 2 * np.exp(-exponent * k * error**2), (2 * slope / error) ** 2
    r = optimize.brentq(
        lambda log_r: (
            m * np.log(4 * diameter) - m * log_r + np.log(tail) - np.log(slopes) - 2 * log_r
        ),
        -200,
        200,
    )
    wanted = 2 * slopes * np.exp(2 * r)
    bound = theory.uniform_bound(error, k, d, diameter, features=features)
    assert bound == pytest.approx(min(wanted, 1), rel=1e-8)
    step = 2 if features == "paired" else 1
    assert k % step == 0
    assert bound <= 0.5 < theory.uniform_bound(error, k - step, d, diameter, features=features)


def test_uniform_bound_and_the_published_one():
    """Below it, with frequencies for p and s D for what is printed.

    Points and sigma may be scaled together.
    """
    error, k, d, diameter = 0.1, np.arange(50_000, 400_000, 10_000), 8, 3.0
    ours = theory.uniform_bound(error, k, d, diameter)
    published = (
        2.0**8 * (np.sqrt(d) * diameter / error) ** 2 * np.exp(-(k / 2) * error**2 / (4 * (d + 2)))
    )
    assert np.all(ours <= published)
    assert np.all(ours > published * 1e-4)
    np.testing.assert_allclose(
        theory.uniform_bound(error, k, d, 7 * diameter, 7.0), ours, rtol=1e-12
    )
    assert np.all(theory.uniform_bound(error, k, d, diameter, features="phase") >= ours)
    assert theory.uniform_bound(0.1, 1, 8, 3.0) == 1


@pytest.mark.filterwarnings("error")
def test_uniform_bound_at_infinity():
    """An infinite sigma makes the kernel 1 everywhere, an infinite error is never missed.

    Two infinities say nothing.
    """
    inf = np.inf
    assert theory.uniform_bound(0.1, 100, 10, 5.0, sigma=inf) == 0
    assert theory.uniform_components(0.1, 0.9, 10, 5.0, sigma=inf) == 2
    assert theory.uniform_bound(inf, 100, 10, 5.0) == 0
    assert theory.uniform_components(inf, 0.9, 10, 5.0, features="phase") == 1
    for error, diameter, sigma in [
        (0.1, inf, 1.0),
        (0.1, inf, inf),
        (inf, inf, 1.0),
        (5e-324, 1e300, 5e-324),
    ]:
        assert theory.uniform_bound(error, 100, 10, diameter, sigma) == 1
    # a quotient beyond every double has a logarithm
    far, farther = (
        theory.uniform_components(0.1, 0.9, 10, 1e200, sigma) for sigma in (1e-100, 1e-200)
    )
    assert farther / far == pytest.approx((400 + 3) / (300 + 3), rel=0.01)


@pytest.mark.parametrize("features", ["paired", "phase"])
def test_uniform_bound_holds(features):
    """Points on a line: the largest error, with the columns that promise 0.25 half of the time."""
    error, points = 0.25, np.linspace(0, 1, 21)
    k, rng = (
        theory.uniform_components(error, 0.5, 1, 1.0, features=features),
        np.random.default_rng(3),
    )
    assert k < 10**5
    exact = np.exp(-(np.subtract.outer(points, points) ** 2) / 2)
    missed = 0
    for _ in range(20):
        if features == "paired":
            z = np.exp(1j * np.outer(points, rng.standard_normal(k // 2)))
            K = (z @ z.conj().T).real / (k // 2)
        else:
            z = np.cos(np.outer(points, rng.standard_normal(k)) + rng.uniform(0, 2 * np.pi, k))
            K = 2 * z @ z.T / k
        missed += np.abs(K - exact).max() >= error
    assert missed / 20 <= 0.5
