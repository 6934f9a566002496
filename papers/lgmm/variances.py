"""Figures 1 to 4: the variances of RFF, NRFF and GCWS, formulas and a simulation."""

from __future__ import annotations

import numpy as np

from kernelight.theory import (
    collision_variance,
    nrff_variance,
    paired_variance,
    rbf_through_gmm_variance,
    rff_variance,
)
from papers._cells import Cell, Result, cell, kind
from papers._figures import Line, Panel
from papers._page import Book, Plan

TITLE = "LGMM Figures 1-4: variances"
GAMMAS = (0.1, 1.0, 2.0, 5.0, 10.0, 20.0, 100.0)
# (rho, gamma), each with another value of the kernel
SIMULATED = ((0.0, 1.0), (0.5, 1.0), (0.9, 1.0), (0.99, 1.0), (0.5, 5.0), (0.7, 5.0))
KS = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100]


@kind("fourier errors", version=1)
def fourier_errors(*, rho: float, gamma: float, ks: list[int], repetitions: int) -> Result:
    """Mean squared errors of RFF and NRFF for each k.

    RFF = (2/k) sum X Y and NRFF = sum X Y / sqrt(sum X^2 sum Y^2), where X = cos(sqrt(gamma) x +
    w), Y the same of y, and x, y are normal with correlation rho. The estimate for k takes the
    first k samples.
    """
    rng = np.random.default_rng(0)
    E, most, batch = np.exp(-gamma * (1 - rho)), max(ks), 10_000
    at = np.array(ks) - 1
    squares = np.zeros((2, len(ks)))
    for _ in range(repetitions // batch):
        x, z = rng.standard_normal((2, batch, most))
        w = rng.uniform(0, 2 * np.pi, (batch, most))
        X = np.cos(np.sqrt(gamma) * x + w)
        Y = np.cos(np.sqrt(gamma) * (rho * x + np.sqrt(1 - rho**2) * z) + w)
        products, xs, ys = (np.cumsum(values, axis=1)[:, at] for values in (X * Y, X * X, Y * Y))
        squares[0] += ((2 * products / ks - E) ** 2).sum(axis=0)
        squares[1] += ((products / np.sqrt(xs * ys) - E) ** 2).sum(axis=0)
    return {"errors": (squares / (repetitions // batch * batch)).tolist()}


def _cells(plan: Plan) -> dict[tuple[float, float], Cell]:
    repetitions = 20_000 if plan.quick else 100_000
    return {
        (rho, gamma): cell(
            "fourier errors",
            rho=rho,
            gamma=gamma,
            ks=KS,
            repetitions=repetitions,
            weight=repetitions / 2e4,
        )
        for rho, gamma in SIMULATED
    }


def cells(plan: Plan) -> list[Cell]:
    """The simulations of Figure 2."""
    return list(_cells(plan).values())


def report(book: Book) -> str:
    """Four figures."""
    # denser near the ends, where curves are steep
    rho = np.sin(np.linspace(-1, 1, 401) * np.arcsin(0.999))
    E = np.linspace(0.02, 0.999, 80)
    first, fourth = Panel("V(NRFF) / V(RFF)"), Panel("V(NRFF) / V(GCWS through g)")
    for colour, gamma in enumerate(GAMMAS):
        kernel, label = np.exp(-gamma * (1 - rho)), f"gamma = {gamma:g}"
        first.lines.append(Line(rho, nrff_variance(kernel) / rff_variance(kernel), label, colour))
        ratio = nrff_variance(kernel) / rbf_through_gmm_variance(rho, gamma)
        fourth.lines.append(Line(rho, np.where(ratio <= 100, ratio, np.nan), label, colour))
    third = Panel("Var / E^2")
    for colour, (label, variance) in enumerate(
        {
            "RFF": rff_variance(E),
            "NRFF": nrff_variance(E),
            "GCWS": collision_variance(E),
            "paired (ours)": paired_variance(E),
        }.items()
    ):
        third.lines.append(Line(E, variance / E**2, label, colour))
    second = []
    for (r, gamma), wanted in _cells(book.plan).items():
        result = book.get(wanted)
        if result is None:
            continue
        kernel, k = np.exp(-gamma * (1 - r)), np.array(KS)
        rff, nrff = result["errors"]
        second.append(
            Panel(
                f"rho = {r:g}, gamma = {gamma:g}",
                [
                    Line(k, rff, "RFF, simulated", 1),
                    Line(k, rff_variance(kernel) / k, "RFF, V / k", 1, "--"),
                    Line(k, nrff, "NRFF, simulated", 0),
                    Line(k, nrff_variance(kernel) / k, "NRFF, V_n / k", 0, "--"),
                ],
            )
        )
    style = {"x_label": "rho", "y_label": "ratio", "log_x": False}
    return "\n".join(
        [
            book.figure(
                "lgmm-figure-1",
                "LGMM Figure 1: what normalising RFF does to its variance.",
                [first],
                **style,
            ),
            book.figure(
                "lgmm-figure-2",
                "LGMM Figure 2: mean squared errors, simulated (solid) and by formula (dashed).",
                second,
                x_label="k",
                y_label="MSE",
                log_y=True,
                columns=3,
            ),
            book.figure(
                "lgmm-figure-3",
                "LGMM Figure 3: variance over squared mean. NRFF falls below GCWS where E is "
                "large; paired features, which the paper does not have, are below NRFF everywhere.",
                [third],
                x_label="E",
                y_label="Var / E^2",
                log_x=False,
                log_y=True,
            ),
            book.figure(
                "lgmm-figure-4",
                "LGMM Figure 4: NRFF against RBF estimated through GCWS, up to 100; above 1 GCWS "
                "is better.",
                [fourth],
                **style | {"log_y": True},
            ),
        ]
    )


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("lgmm/variances"))
