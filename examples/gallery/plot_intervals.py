"""
How sure is a prediction? Intervals
===================================

A single number says nothing about how far off it may be.
:meth:`~kernelight.KernelRegressor.predict_interval` gives a lower and an upper end, between which a
new value lies as often as you ask for.
How often is it really?
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelight import KernelRegressor


def draw(n_rows, seed):
    """A wave with noise that grows from left to right."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n_rows)
    return x[:, None], np.sin(x) + 0.2 * x + (0.05 + 0.06 * x) * rng.normal(size=n_rows)


X, y = draw(600, seed=0)
X_new, y_new = draw(20_000, seed=1)
model = KernelRegressor("gaussian").fit(X, y)
low, high = model.predict_interval(X_new, coverage=0.9)
inside = (low <= y_new) & (y_new <= high)

order = np.argsort(X_new[:, 0])
line = X_new[order, 0]
fig, (above, below) = plt.subplots(
    2, 1, figsize=(5.4, 5.6), sharex=True, height_ratios=[3, 2], layout="constrained"
)
above.fill_between(line, low[order], high[order], color="C0", alpha=0.18, linewidth=0)
above.plot(line, model.predict(X_new)[order], color="C0")
some = slice(0, 400)
for which, marker, color in ((inside, "o", "0.5"), (~inside, "x", "C1")):
    above.plot(
        X_new[some][which[some]], y_new[some][which[some]], marker, color=color, markersize=4
    )
above.set(ylabel="target", title=f"{inside.mean():.1%} inside; 90 % were asked for")

edges = np.linspace(0, 10, 11)
part = np.digitize(X_new[:, 0], edges) - 1
fractions = [inside[part == at].mean() for at in range(10)]
below.stairs(fractions, edges, color="C0", linewidth=2, baseline=None)
below.axhline(0.9, color="0.5", linestyle=":")
below.text(0.1, 0.885, "asked for", color="0.5", va="top")
below.set(xlabel="x", ylabel="fraction inside", ylim=(0.6, 1.03))
plt.show()

# %%
# Crosses are new values outside the band.
# Over all rows the fraction is near what was asked for, because the width of the band comes from
# errors on rows that were left out.
# But the width is the same for all rows.
# Where the noise is small the band is wider than it had to be, and where the noise is large it is
# too narrow: the fraction is that of all rows together, and not of each kind of them.
#
# So it is for every coverage:

for coverage in (0.5, 0.8, 0.9, 0.95, 0.99):
    low, high = model.predict_interval(X_new, coverage=coverage)
    inside = (low <= y_new) & (y_new <= high)
    print(f"asked for {coverage:.0%}: {inside.mean():6.1%} inside, width {high[0] - low[0]:.2f}")
