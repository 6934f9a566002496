"""One simulation for each erratum: a number that the print and its correction differ about.

A simulation draws one estimate of the number from a generator; a cell has the mean of many
independent ones and its standard error. None of them uses the formula that it is to decide on.
Correlated normal pairs are

    x,   y = sigma (rho x + sqrt(1 - rho^2) z),   x and z independent normal.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from kernelight import GCWS, BinaryFourier, SignProjection
from kernelight.kernels import GMM
from kernelight.theory import gmm_limit, rho_from_gmm
from papers._cells import Result, kind

# Rows of which some errata speak.
DENSE = ([1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0])  # histograms, for the sign Cauchy projection
SIGNED = ([2.0, -1.0, 3.0], [1.0, -2.0, 3.0])
TINY = [1e-16, 2e-16, 3e-16]
FAR = 12.0  # distance over bandwidth, where the Gaussian kernel is 0
GRADIENT = np.array([1.0, 2.0, 3.0, 4.0, 10.0])  # v of BE (23)
RADIUS = 0.5  # rho there
WIDTH = 2.14  # distance over bandwidth, where the kernel of uniform scales is furthest off

Simulation = Callable[[np.random.Generator], float]
SIMULATIONS: dict[str, Simulation] = {}


def _simulation(name: str) -> Callable[[Simulation], Simulation]:
    def register(function: Simulation) -> Simulation:
        SIMULATIONS[name] = function
        return function

    return register


@kind("erratum", version=1)
def erratum(*, name: str, estimates: int) -> Result:
    """The mean of independent estimates and its standard error."""
    number = zlib.crc32(name.encode())
    values = [SIMULATIONS[name](np.random.default_rng([number, at])) for at in range(estimates)]
    return {
        "mean": float(np.mean(values)),
        "error": float(np.std(values, ddof=1) / math.sqrt(estimates)),
    }


def _pairs(
    rng: np.random.Generator, shape: tuple[int, ...], rho: float, sigma: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    x, z = rng.standard_normal((2, *shape))
    return x, sigma * (rho * x + math.sqrt(1 - rho**2) * z)


def _cosines(
    rng: np.random.Generator, shape: tuple[int, ...], gamma: float, rho: float
) -> tuple[np.ndarray, np.ndarray]:
    """Samples of random Fourier features: cos(sqrt(gamma) x + w) and the same of y."""
    x, y = _pairs(rng, shape, rho)
    w = rng.uniform(0, 2 * np.pi, shape)
    return np.cos(math.sqrt(gamma) * x + w), np.cos(math.sqrt(gamma) * y + w)


def _nrff(
    rng: np.random.Generator, repetitions: int, k: int, gamma: float, rho: float
) -> np.ndarray:
    """Estimates by normalised random Fourier features of k samples."""
    X, Y = _cosines(rng, (repetitions, k), gamma, rho)
    return np.asarray((X * Y).sum(1) / np.sqrt((X * X).sum(1) * (Y * Y).sum(1)))


def _gmm_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The kernel of rows, from S = sum |x| + |y| and d = sum |x - y|: (S - d) / (S + d)."""
    total, distance = (np.abs(x) + np.abs(y)).sum(axis=-1), np.abs(x - y).sum(axis=-1)
    return np.asarray((total - distance) / (total + distance))


def _agreement(made: object, u: list[float], v: list[float]) -> float:
    """The fraction of slots in which the codes of two rows agree."""
    codes = made.fit([u, v]).encode([u, v]).array  # type: ignore[attr-defined]
    return float(np.mean(codes[0] == codes[1]))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


@_simulation("mean of a product of cosines")
def mean_of_cosines(rng: np.random.Generator) -> float:
    """gamma = 1, rho = 1/2."""
    X, Y = _cosines(rng, (40_000,), 1.0, 0.5)
    return float((X * Y).mean())


@_simulation("relative variance of RFF")
def rff_relative_variance(rng: np.random.Generator) -> float:
    """At E = 1/2."""
    X, Y = _cosines(rng, (40_000,), 1.0, 1 - math.log(2))
    return float((2 * X * Y).var() / 0.5**2)


@_simulation("bias of NRFF")
def nrff_bias(rng: np.random.Generator) -> float:
    """k times it, for k = 20, gamma = 1, rho = 0.9."""
    return 20 * float((_nrff(rng, 10_000, 20, 1.0, 0.9) - math.exp(-0.1)).mean())


@_simulation("NRFF against GCWS")
def nrff_against_gcws(rng: np.random.Generator) -> float:
    """The ratio of variances at E = exp(-0.1), for k = 200."""
    E, k, size = math.exp(-0.1), 200, 1000
    return float(_nrff(rng, size, k, 1.0, 0.9).var() / (rng.binomial(k, E, 100 * size) / k).var())


@_simulation("NRFF against RBF through GCWS")
def nrff_against_rbf_through_gmm(rng: np.random.Generator) -> float:
    """The ratio of variances times k at gamma = 1, rho = 0.7."""
    rho, k, many = 0.7, 200, 100_000
    g = rng.binomial(many, float(gmm_limit(rho)), 20_000) / many
    through = np.exp(-(1 - rho_from_gmm(g)))
    return float(k * _nrff(rng, 1000, k, 1.0, rho).var() / (many * through.var()))


@_simulation("RBF through GCWS, other data")
def gmm_of_uniform_rows(rng: np.random.Generator) -> float:
    """The kernel of two independent rows of uniform values."""
    return float(_gmm_of(*rng.random((2, 10_000))))


@_simulation("0-bit codes of one column")
def zero_bits(rng: np.random.Generator) -> float:
    """Agreement of i* alone for the rows (1) and (100)."""
    return _agreement(GCWS(256, bits=16, t_bits=0, random_state=_seed(rng)), [1.0], [100.0])


@_simulation("lowest bit of i*")
def lowest_bit(rng: np.random.Generator) -> float:
    """Agreement of codes of one bit, the lowest of i*, for the rows of DENSE."""
    coded = GCWS(256, bits=1, t_bits=0, coding="lowest", random_state=_seed(rng))
    return _agreement(coded, *DENSE)


@_simulation("codes of four bits")
def four_bits(rng: np.random.Generator) -> float:
    """Agreement for the rows (1) and (10)."""
    return _agreement(GCWS(4096, bits=4, random_state=_seed(rng)), [1.0], [10.0])


@_simulation("sign Cauchy")
def sign_cauchy(rng: np.random.Generator) -> float:
    """Agreement of signs of Cauchy projections for the rows of DENSE."""
    signs = SignProjection(16_384, distribution="cauchy", random_state=_seed(rng))
    return _agreement(signs, *DENSE)


@_simulation("script of signed rows")
def signed_rows(rng: np.random.Generator) -> float:
    """The kernel of two signed rows, by sums over the positive and negative parts."""
    u, v = (np.concatenate([np.maximum(row, 0), np.maximum(-np.array(row), 0)]) for row in SIGNED)
    return float(np.minimum(u, v).sum() / np.maximum(u, v).sum())


@_simulation("script of small values")
def small_values(rng: np.random.Generator) -> float:
    """The kernel of a row of small values with itself."""
    return float(GMM()([TINY])[0, 0])


@_simulation("variance of g_n")
def gmm_variance(rng: np.random.Generator) -> float:
    """n Var for normal pairs without correlation, n = 1,000."""
    return 1000 * float(_gmm_of(*_pairs(rng, (1000, 1000), 0.0)).var(ddof=1))


@_simulation("f_1 and f_inf")
def first_and_limit(rng: np.random.Generator) -> float:
    """E g_1 - E g_1000 at rho = 0.8."""
    first = _gmm_of(*_pairs(rng, (100_000, 1), 0.8)).mean()
    return float(first - _gmm_of(*_pairs(rng, (100, 1000), 0.8)).mean())


@_simulation("correlation of other scales")
def correlation_of_scales(rng: np.random.Generator) -> float:
    """The estimate of rho = 1/2 from g_n where y is on twice the scale of x."""
    return float(rho_from_gmm(_gmm_of(*_pairs(rng, (100_000,), 0.5, 2.0))))


@_simulation("correlation of t samples")
def correlation_of_t(rng: np.random.Generator) -> float:
    """Var of rho from g_n over that of the cosine: nu = 7, rho = -0.9, n = 2,000."""
    x, y = _pairs(rng, (500, 2000), -0.9)
    scale = np.sqrt(7 / rng.chisquare(7, x.shape))
    x, y = x * scale, y * scale
    cosine = (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))
    return float(np.asarray(rho_from_gmm(_gmm_of(x, y))).var() / cosine.var())


def _sign_product(rng: np.random.Generator, distance: float, threshold: bool) -> float:
    """The mean of z z' for binary codes of two points, sigma = 1."""
    bits = BinaryFourier(
        16_384, sigma=1.0, projection="gaussian", threshold=threshold, random_state=_seed(rng)
    )
    return 2 * _agreement(bits, [0.0, 0.0], [distance, 0.0]) - 1


@_simulation("codes of unrelated rows")
def unrelated(rng: np.random.Generator) -> float:
    """At a distance where the kernel is 0."""
    return _sign_product(rng, FAR, threshold=True)


@_simulation("codes without a threshold")
def without_threshold(rng: np.random.Generator) -> float:
    """Where the kernel is 1/2."""
    return _sign_product(rng, math.sqrt(2 * math.log(2)), threshold=False)


@_simulation("uniform scales")
def uniform_scales(rng: np.random.Generator) -> float:
    """The mean of cos(s delta x) at delta = WIDTH, s uniform and x normal."""
    s, x = rng.random(40_000), rng.standard_normal(40_000)
    return float(np.cos(s * WIDTH * x).mean())


@_simulation("weights of least smoothness")
def optimal_weight(rng: np.random.Generator) -> float:
    """The first weight of the q that maximises q'v, by a solver for any constraints.

    q is a distribution with N |q - 1/N|^2 <= rho. The solver begins at a random place.
    """
    n = len(GRADIENT)
    start = rng.dirichlet(np.ones(n))
    found = minimize(
        lambda q: -float(GRADIENT @ q),
        start,
        bounds=[(0, 1)] * n,
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1},
            {"type": "ineq", "fun": lambda q: RADIUS - n * ((q - 1 / n) ** 2).sum()},
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    return float(found.x[0])
