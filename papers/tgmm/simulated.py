"""Figures 7 to 9: mean and variance of the min-max kernel g_n of bivariate t samples.

Figure 9 compares two estimates of the correlation, one of them from g_n.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from kernelight.theory import (
    gmm_limit,
    gmm_single,
    gmm_variance,
    rho_from_gmm,
    rho_from_gmm_variance,
)
from papers._cells import Cell, Result, cell, kind
from papers._figures import Line, Panel
from papers._page import Book, Plan, prose

TITLE = "TGMM Figures 7-9: simulations"
TEXT = (
    "The curves f_1 and f_inf cross at rho = 1/2, and f_1 is above f_inf only below that; the text "
    "of the paper says that it is above everywhere."
)
NU_MEANS = (0.5, 1.0, 2.0, 3.0)
NU_VARIANCES = (2.5, 3.0, 4.0, 5.0)
NU_ESTIMATES = (2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, math.inf)
NS = (1, 10, 100, 1000)
N_ESTIMATES = (100, 1000)
_ENDS = np.arange(0.91, 1.005, 0.01)  # where the curves bend
RHOS = np.round(np.concatenate([-_ENDS[::-1], np.linspace(-0.9, 0.9, 37), _ENDS]), 3).tolist()


@kind("t samples", version=1)
def t_samples(*, nu: float | None, n: int, rhos: list[float], repetitions: int) -> Result:
    """For each rho the mean and n Var of g_n, and the mean squared errors of two estimates of rho.

    The estimates are that from g_n and the cosine c_n. The n pairs are

        (x, y) = T (z_1, rho z_1 + sqrt(1 - rho^2) z_2),   T = sqrt(nu / chi^2_nu),
        g_n = (S - d) / (S + d),   S = sum |x| + |y|,   d = sum |x - y|.

    The same z and T serve all rho. ``nu`` None is the normal distribution.
    """
    rng = np.random.default_rng(0)
    batch = max(1, min(repetitions, 2_000_000 // n))
    moments = np.zeros((4, len(rhos)))
    done = 0
    while done < repetitions:
        size = min(batch, repetitions - done)
        x, z = rng.standard_normal((2, size, n))
        if nu is not None:
            scale = np.sqrt(nu / rng.chisquare(nu, (size, n)))
            x *= scale
            z *= scale
        x_sum, x_square = np.abs(x).sum(axis=1), np.einsum("ij,ij->i", x, x)
        for at, rho in enumerate(rhos):
            y = rho * x + math.sqrt(1 - rho**2) * z
            total, distance = x_sum + np.abs(y).sum(axis=1), np.abs(x - y).sum(axis=1)
            g = (total - distance) / (total + distance)
            c = np.einsum("ij,ij->i", x, y) / np.sqrt(x_square * np.einsum("ij,ij->i", y, y))
            errors = (rho_from_gmm(g) - rho) ** 2, (c - rho) ** 2
            moments[:, at] += [g.sum(), (g * g).sum(), errors[0].sum(), errors[1].sum()]
        done += size
    mean, square, gmm_error, cosine_error = moments / repetitions
    return {
        "mean": mean.tolist(),
        "variance": (n * np.maximum(square - mean**2, 0)).tolist(),
        "gmm_error": gmm_error.tolist(),
        "cosine_error": cosine_error.tolist(),
    }


def _cell(nu: float, n: int, plan: Plan) -> Cell:
    repetitions = 1000 if plan.quick else 10_000
    return cell(
        "t samples",
        nu=None if math.isinf(nu) else nu,
        n=n,
        rhos=RHOS,
        repetitions=repetitions,
        weight=repetitions * n / 1e6,
    )


def _pairs(plan: Plan) -> list[tuple[float, int]]:
    ns = NS[:-1] if plan.quick else NS
    pairs = [(nu, n) for nu in (*NU_MEANS, *NU_VARIANCES) for n in ns]
    pairs += [(nu, n) for nu in NU_ESTIMATES for n in N_ESTIMATES if n in ns]
    return list(dict.fromkeys(pairs))


def cells(plan: Plan) -> list[Cell]:
    """All (nu, n)."""
    return [_cell(nu, n, plan) for nu, n in _pairs(plan)]


def report(book: Book) -> str:
    """Three figures."""
    rho = np.array(RHOS)
    results = {pair: book.get(_cell(*pair, book.plan)) for pair in _pairs(book.plan)}
    means, variances, errors = [], [], []
    for nu in NU_MEANS:
        lines = [
            Line(rho, result["mean"], f"g_n, n = {n}", NS.index(n))
            for n in NS
            if (result := results.get((nu, n))) is not None
        ]
        bounds = [
            Line(rho, gmm_single(rho), "f_1", 6, "--"),
            Line(rho, gmm_limit(rho), "f_inf", 6, ":"),
        ]
        means.append(Panel(f"nu = {nu:g}", lines + bounds if lines else []))
    below = rho <= 0
    means += [
        Panel(
            f"{panel.title}, enlarged",
            [replace(line, x=rho[below], y=np.asarray(line.y)[below]) for line in panel.lines],
        )
        for panel in means
    ]
    for nu in NU_VARIANCES:
        lines = [
            Line(rho, result["variance"], f"n = {n}", NS.index(n))
            for n in NS
            if (result := results.get((nu, n))) is not None
        ]
        limit = [Line(rho, gmm_variance(rho, nu), "n to infinity, formula", 6, "--")]
        variances.append(Panel(f"nu = {nu:g}", lines + limit if lines else []))
    for n in N_ESTIMATES:
        for nu in NU_ESTIMATES:
            result = results.get((nu, n))
            if result is not None:
                inner = rho[1:-1]  # at -1 and 1 there is no error
                lines = [
                    Line(inner, result["gmm_error"][1:-1], "rho from g_n, simulated", 0),
                    Line(
                        inner,
                        rho_from_gmm_variance(inner, nu) / n,
                        "rho from g_n, formula",
                        0,
                        "--",
                    ),
                    Line(inner, result["cosine_error"][1:-1], "cosine, simulated", 1),
                ]
                errors.append(Panel(f"nu = {nu:g}, n = {n}", lines))
    style = {"x_label": "rho", "log_x": False}
    return "\n".join(
        [
            f"{prose(TEXT)}\n",
            book.figure(
                "tgmm-figure-7",
                "TGMM Figure 7: means of g_n of bivariate t samples.",
                means,
                y_label="mean",
                **style,
            ),
            book.figure(
                "tgmm-figure-8",
                "TGMM Figure 8: n Var(g_n), and its limit.",
                variances,
                y_label="n Var",
                **style,
            ),
            book.figure(
                "tgmm-figure-9",
                "TGMM Figure 9: mean squared errors of two estimates of rho.",
                errors,
                y_label="MSE",
                log_y=True,
                **style,
            ),
        ]
    )


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("tgmm/simulated"))
