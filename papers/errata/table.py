"""The errata as a table: what is printed, what is right, and a simulation that shows it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelight import theory
from kernelight.kernels import GMM, AcosChi2
from papers._cells import Cell, Result, cell
from papers._page import Book, Plan, prose, table
from papers.errata import simulations
from papers.errata.simulations import DENSE, GRADIENT, RADIUS, SIGNED, TINY, WIDTH

TITLE = "Errata: what the papers got wrong"
TEXT = (
    "Each line names a number that the print and the correction differ about, and what a "
    "simulation of that number gives: the mean of {estimates} independent estimates, ± its "
    "standard error. "
    "Simulations use neither formula; papers/errata/simulations.py has them. "
    "The code of this project follows the correction everywhere, but for the maps called "
    '"papers" and "as printed".'
)
ERRORS = 4.0  # standard errors, within which a simulation agrees
SLACK = 0.02  # and beyond them, of the value: formulas for large k or n are met at a finite one


@dataclass(frozen=True)
class Claim:
    """What a print says of a number: that it is a value, or above or below it."""

    value: float
    relation: str = ""

    def __str__(self) -> str:
        return f"{self.relation} {self.value:.4g}".strip()

    def disagrees(self, result: Result) -> bool:
        """Is a simulation clearly elsewhere?"""
        away, doubt = result["mean"] - self.value, ERRORS * result["error"] + 1e-9
        if not self.relation:
            return bool(abs(away) > doubt)
        return bool(away < -doubt if self.relation == "above" else away > doubt)


@dataclass(frozen=True)
class Erratum:
    """A line of the table; ``number`` says what is simulated, ``right`` is its corrected value."""

    where: str
    printed: str
    correct: str
    number: str
    claim: Claim
    right: float

    def is_shown(self, result: Result) -> bool:
        """Does the simulation agree with the correction, and not with the print?"""
        near = ERRORS * result["error"] + SLACK * abs(self.right) + 1e-6
        return abs(result["mean"] - self.right) <= near and self.claim.disagrees(result)


def _of_rows(function: Callable[..., object], u: list[float], v: list[float]) -> float:
    return float(np.asarray(function([u], [v]))[0, 0])


def _first_weight(scale: float) -> float:
    """BE (23): v / (scale lambda N) + tau, where all weights are positive.

    The constraint N |q - 1/N|^2 = rho gives lambda, by the right formula; tau makes the sum 1.
    """
    n, v = len(GRADIENT), GRADIENT
    smoothing = math.sqrt(((v - v.mean()) ** 2).sum() / (4 * n * RADIUS))
    weights = v / (scale * smoothing * n)
    return float(weights[0] + (1 - weights.sum()) / n)


E_NEAR = math.exp(-0.1)  # rho = 0.9 at gamma = 1
_GMM_DENSE = _of_rows(GMM(), *DENSE)

ERRATA: dict[str, Erratum] = {
    "mean of a product of cosines": Erratum(
        "CNK (11)",
        "cos(√γ x + w) cos(√γ y + w) has the mean exp(-γ (1 - ρ))",
        "half of it: features need a factor √2, as in LGMM (10) and NYS (5)",
        "the mean at γ = 1, ρ = 0.5",
        Claim(math.exp(-0.5)),
        math.exp(-0.5) / 2,
    ),
    "relative variance of RFF": Erratum(
        "LGMM section 2, before Figure 3",
        "Var / E² of RFF is [1/2 + (1 - E²) / 2] / E²",
        "(1 - E²) is squared, as in its own (13)",
        "Var / E² at E = 0.5",
        Claim((0.5 + 0.5 * (1 - 0.25)) / 0.25),
        float(theory.rff_variance(0.5)) / 0.25,
    ),
    "bias of NRFF": Erratum(
        "LGMM section 2",
        "NRFF is unbiased from k of about 10 on",
        "its bias is -E (1 - E⁴) / (8 k) and terms of k⁻²",
        "k times the bias at k = 20, E = 0.905",
        Claim(0.0),
        20 * float(theory.nrff_bias(E_NEAR, 20)),
    ),
    "NRFF against GCWS": Erratum(
        "LGMM Figure 3",
        "GCWS has the smaller relative variance, above all where E is large",
        f"NRFF has the smaller one for E above {theory.gcws_crossover():.4f}",
        "Var(NRFF) / Var(GCWS) at E = 0.905",
        Claim(1.0, "above"),
        float(theory.nrff_variance(E_NEAR) / theory.collision_variance(E_NEAR)),
    ),
    "NRFF against RBF through GCWS": Erratum(
        "LGMM Figure 4",
        "RBF through GCWS beats NRFF but for very high similarity",
        f"at γ = 1 it does so for ρ below {float(theory.rbf_through_gmm_crossover(1.0)):.3f} only",
        "Var(NRFF) / Var(RBF through GCWS) at γ = 1, ρ = 0.7",
        Claim(1.0, "above"),
        float(theory.nrff_variance(math.exp(-0.3)) / theory.rbf_through_gmm_variance(0.7, 1.0)),
    ),
    "RBF through GCWS, other data": Erratum(
        "LGMM (17), Theorem 4",
        "the GMM kernel of two rows is a function g of their correlation",
        "so it is for rows of elliptical distribution around 0 on one scale, and no others",
        "GMM of two rows of uniform values, whose correlation is 0.75",
        Claim(float(theory.gmm_limit(0.75))),
        0.5,
    ),
    "0-bit codes of one column": Erratum(
        "LGMM (8), NYS (3), TGMM (8), CNK 1.3",
        "i* agrees with a probability near GMM",
        "with one between GMM and 1: far from GMM for few columns, or rows of other scale",
        "agreement of i* for the rows (1) and (100)",
        Claim(0.01),
        1.0,
    ),
    "lowest bit of i*": Erratum(
        "LGMM, NYS, TGMM: b bits of i*",
        "b bits of i* agree by chance with probability 2⁻ᵇ",
        "for data without negative values the lowest bit is constant: b bits act as b - 1",
        "agreement of one bit for two rows of GMM = 0.429",
        Claim(float(theory.bbit_collision(_GMM_DENSE, 1))),
        1.0,
    ),
    "codes of four bits": Erratum(
        "LGMM, NYS, TGMM: b bits",
        "inner products of codes of b bits estimate GMM",
        "they estimate GMM + (1 - GMM) / 2ᵇ",
        "the mean for b = 4, GMM = 0.1",
        Claim(0.1),
        float(theory.bbit_collision(0.1, 4)),
    ),
    "sign Cauchy": Erratum(
        "CNK (6)",
        "signs of Cauchy projections agree with the probability acos-chi2",
        "with that of an integral, up to 0.03 larger (`theory.sign_cauchy_collision`)",
        "agreement for (1, 2, 3, 4) and (4, 3, 2, 1)",
        Claim(_of_rows(AcosChi2(), *DENSE)),
        _of_rows(theory.sign_cauchy_collision, *DENSE),
    ),
    "script of signed rows": Erratum(
        "NYS, the script",
        "sum(min) / sum(max) of the rows as they are",
        "signs are split first, as in its own (1)",
        "GMM of (2, -1, 3) and (1, -2, 3)",
        Claim(float(np.minimum(*SIGNED).sum() / np.maximum(*SIGNED).sum())),
        5 / 7,
    ),
    "script of small values": Erratum(
        "NYS, the script",
        "sum(max) + eps in the denominator",
        "0 / 0 alone is to be caught: eps is not small beside small values",
        "GMM of (1, 2, 3) · 10⁻¹⁶ with itself",
        Claim(sum(TINY) / (sum(TINY) + float(np.finfo(float).eps))),
        1.0,
    ),
    "variance of g_n": Erratum(
        "TGMM Theorem 2, σ = 1",
        "the variance has the factor 1 / (4π³)",
        "4 / π³, as in its own Corollary 2",
        "n Var(g_n) of normal pairs, ρ = 0, n = 1,000",
        Claim(float(theory.gmm_variance(0.0)) / 16),
        float(theory.gmm_variance(0.0)),
    ),
    "f_1 and f_inf": Erratum(
        "TGMM Figure 7",
        "f_1 is above f_∞",
        "below ρ = 1/2 only, where both are 1/3",
        "f_1 - f_∞ at ρ = 0.8",
        Claim(0.0, "above"),
        float(theory.gmm_single(0.8) - theory.gmm_limit(0.8)),
    ),
    "correlation of other scales": Erratum(
        "TGMM section 3, the estimate of ρ",
        "the estimate from g_n tends to ρ",
        "if both columns have one scale: rescale them first",
        "the estimate at ρ = 0.5, σ = 2",
        Claim(0.5),
        float(theory.rho_from_gmm(theory.gmm_limit(0.5, 2.0))),
    ),
    "correlation of t samples": Erratum(
        "TGMM section 3",
        "for ν < 8 the estimate from g_n is better than the cosine",
        f"the limit depends on ρ: {float(theory.rho_crossover(-0.9)):.1f} at ρ = -0.9, "
        f"{float(theory.rho_crossover(0.9)):.1f} at 0.9",
        "Var(from g_n) / Var(cosine) at ν = 7, ρ = -0.9, n = 2,000",
        Claim(1.0, "below"),
        float(theory.rho_variance_ratio(-0.9, 7.0)),
    ),
    "codes of unrelated rows": Erratum(
        "BE, after (6)",
        "z'z / p is near the kernel",
        "it is 1 - 2 h of it, and never below 0.189",
        "z'z / p where the kernel is 0",
        Claim(0.0),
        float(1 - 2 * theory.hamming_rate(0.0)),
    ),
    "codes without a threshold": Erratum(
        "BE, `rff_svm`",
        "sign(cos(w'x + b)), though the formula is sign(cos(w'x + b) + t)",
        "without t the codes estimate another kernel (`theory.sign_cosine_mean`)",
        "z'z / p of the script where the kernel is 1/2",
        Claim(float(1 - 2 * theory.hamming_rate(0.5))),
        float(theory.sign_cosine_mean(0.5)),
    ),
    "uniform scales": Erratum(
        "BE (9), Algorithm 1",
        "S uniform on (0, 1) gives the Gaussian kernel",
        "lengths of S are to be those of normal vectors, chi with d degrees of freedom",
        f"the kernel of the print at a distance of {WIDTH} σ",
        Claim(math.exp(-(WIDTH**2) / 2)),
        math.sqrt(math.pi / 2) / WIDTH * math.erf(WIDTH / math.sqrt(2)),
    ),
    "weights of least smoothness": Erratum(
        "BE (23)",
        "q = v / (λ N) + τ",
        "q = max(0, v / (2 λ N) + τ)",
        "the first weight for v = (1, 2, 3, 4, 10), ρ = 1/2",
        Claim(_first_weight(1.0)),
        _first_weight(2.0),
    ),
}


def estimates(plan: Plan) -> int:
    """Of each simulation."""
    return 20 if plan.quick else 100


def _cell(name: str, plan: Plan) -> Cell:
    return cell("erratum", name=name, estimates=estimates(plan), weight=2.0)


def cells(plan: Plan) -> list[Cell]:
    """One for each erratum."""
    return [_cell(name, plan) for name in ERRATA]


def results(book: Book) -> dict[str, Result]:
    """The simulations that are computed."""
    computed = {name: book.get(_cell(name, book.plan)) for name in ERRATA}
    return {name: result for name, result in computed.items() if result is not None}


def _spoken(result: Result) -> str:
    """The mean and its standard error, unless all estimates are equal but for rounding."""
    exact = result["error"] < 1e-6
    return f"{result['mean']:.4g}" + ("" if exact else f" ± {result['error']:.1g}")


def report(book: Book) -> str:
    """The table."""
    heads = (
        "where",
        "printed",
        "right",
        "simulated number",
        "by the print",
        "by the correction",
        "simulated",
        "",
    )
    lines = []
    for name, result in results(book).items():
        each = ERRATA[name]
        lines.append(
            (
                each.where,
                each.printed,
                each.correct,
                each.number,
                each.claim,
                f"{each.right:.4g}",
                _spoken(result),
                "" if each.is_shown(result) else "**not shown**",
            )
        )
    said = TEXT.format(estimates=estimates(book.plan))
    return f"{prose(said)}\n\n{table(heads, lines)}"


assert ERRATA.keys() == simulations.SIMULATIONS.keys()

if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("errata/table"))
