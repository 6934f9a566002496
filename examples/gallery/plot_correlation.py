"""
Can a kernel estimate a correlation, outliers and all?
======================================================

The more coordinates two rows have, the nearer the min-max kernel comes to a limit, and that limit
knows their correlation.
So the kernel can be turned into an estimate of the correlation.
Since it compares sums of absolute values, and not of squares, outliers disturb it less than they
disturb the cosine.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelight import theory
from kernelight.kernels import GMM

rng = np.random.default_rng(0)


def rows(rho, n, nu=np.inf):
    """Two rows of correlation rho, with coordinates of Student's t with nu degrees of freedom."""
    x, y = rng.normal(size=(2, n))
    y = rho * x + np.sqrt(1 - rho**2) * y
    stretch = 1.0 if np.isinf(nu) else np.sqrt(nu / rng.chisquare(nu, n))
    return x * stretch, y * stretch


def kernel(x, y):
    return GMM()([x], [y])[0, 0]


grid = np.linspace(-1, 1, 200)
fig, ax = plt.subplots(figsize=(5.4, 3.9), layout="constrained")
ax.plot(grid, theory.gmm_limit(grid), color="C0")
for n, color, marker in ((30, "0.5", "x"), (3000, "C1", "o")):
    rhos = rng.uniform(-1, 1, 60)
    values = [kernel(*rows(rho, n, nu=3)) for rho in rhos]
    ax.plot(rhos, values, marker, color=color, markersize=5, label=f"{n:,} coordinates")
ax.text(0.52, 0.2, "the limit", color="C0", weight="bold")
ax.legend(loc="upper left")
ax.set(xlabel="correlation of the rows", ylabel="min-max kernel", xticks=[-1, -0.5, 0, 0.5, 1])
ax.set_title("The kernel of long rows is a function of rho")
plt.show()

# %%
# The line is :math:`(1 - s) / (1 + s)` with :math:`s = \sqrt{(1 - \rho) / 2}`, whatever the law of
# the coordinates, as long as it is elliptical: here Student's t with three degrees of freedom,
# which has outliers by nature.
#
# :func:`~kernelight.theory.rho_from_gmm` turns a kernel back into a correlation.
# How good is that estimate, next to the cosine?

RHO, N, REPEATS = 0.6, 200, 400
LAWS = {"normal": np.inf, "t, 5 degrees": 5, "t, 3 degrees": 3}
fig, ax = plt.subplots(figsize=(5.4, 4.2), layout="constrained")
for place, (law, nu) in enumerate(LAWS.items()):
    pairs = [rows(RHO, N, nu) for _ in range(REPEATS)]
    estimates = {
        "min-max": theory.rho_from_gmm(np.array([kernel(x, y) for x, y in pairs])),
        "cosine": np.array([x @ y / np.sqrt((x @ x) * (y @ y)) for x, y in pairs]),
    }
    for method, color, shift in (("min-max", "C0", -0.25), ("cosine", "C1", 0.25)):
        found = estimates[method]
        jitter = place + shift + rng.uniform(-0.12, 0.12, REPEATS)
        ax.plot(jitter, found, ".", color=color, alpha=0.35, markersize=4)
        low, high = np.quantile(found, [0.05, 0.95])
        ax.vlines(place + shift, low, high, color=plt.rcParams["text.color"], linewidth=3)
        if place == 0:
            ax.text(place + shift, high + 0.06, method, color=color, ha="center", weight="bold")
        error = np.sqrt(np.mean((found - RHO) ** 2))
        print(f"{law:12} {method:7} root mean squared error {error:.3f}")
ax.axhline(RHO, color="0.5", linewidth=1, linestyle=":")
ax.set_xticks(range(len(LAWS)), LAWS)
ax.set(
    xlim=(-0.55, 2.55),
    ylim=(0.1, 1.05),
    ylabel="estimate of rho",
    title=f"{REPEATS} estimates of a correlation of {RHO}",
)
plt.show()

# %%
# A dot is an estimate from 200 coordinates, and a bar holds 90 % of them.
# For normal coordinates the cosine is a little better, which is the price of robustness.
# The heavier the tails, the more the cosine strays, while the estimate through the kernel hardly
# notices.
#
# Theory says where they cross: for this correlation the kernel wins below so many degrees of
# freedom, if rows are long.

print(f"{theory.rho_crossover(RHO):.1f}")

# %%
# Rows of different scale need their scales: pass ``sigma`` to ``rho_from_gmm``.
# Outliers that strike one of the two rows alone are no elliptical law, and spoil either estimate.
