"""
What does a kernel cost? Accuracy and time against SVC
======================================================

A kernel SVM compares every row with every other.
A linear model does not, and neither does a linear model on the codes of a kernel.
How much accuracy does the short cut lose, and how much time does it save?

The table is made up: ten columns, of which five matter, by waves, a product and a threshold.
One answer in ten is flipped, so that no model can be right on many more than 90 % of new rows.
The exact SVM and the codes have the same kernel, the generalized min-max kernel.
Times are those of the processor, all cores added up.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from kernelight import GCWS, LinearClassifier
from kernelight.kernels import GMM

rng = np.random.default_rng(0)
X = rng.uniform(size=(20_000, 10))
waves = np.sin(6 * X[:, 0]) + 2 * np.sin(6 * X[:, 1])
y = (waves + 3 * X[:, 2] * X[:, 3] + (X[:, 4] > 0.5) > 1.6) ^ (rng.random(len(X)) < 0.1)
X, X_test, y, y_test = X[:16_000], X[16_000:], y[:16_000], y[16_000:]


def on_codes(n_components):
    """A linear model on codes."""
    return make_pipeline(GCWS(n_components, n_jobs=1), LinearClassifier(n_jobs=1))


def measure(model, n_rows):
    """The fitted model, and what its fit to so many rows took."""
    start = process_time()
    return model.fit(X[:n_rows], y[:n_rows]), process_time() - start


components = [2**power for power in range(4, 12)]
models = [measure(on_codes(k), 4000) for k in components]
exact, exact_seconds = measure(SVC(kernel=GMM()), 4000)
linear, linear_seconds = measure(LinearSVC(), 4000)
accuracy = [model.score(X_test, y_test) for model, _ in models]

fig, ax = plt.subplots(figsize=(5.4, 3.8), layout="constrained")
ax.plot(components, accuracy, "o-")
others = (("exact SVC", exact, exact_seconds, "--"), ("linear", linear, linear_seconds, ":"))
for name, model, seconds, style in others:
    level = model.score(X_test, y_test)
    ax.axhline(level, color="C1", linestyle=style)
    ax.text(16, level + 0.003, name, color="C1", weight="bold")
    print(f"{name:10} {level:.1%} right, {seconds:.2f} s")
ax.text(300, accuracy[4] - 0.016, "codes", color="C0", weight="bold")
ax.set(xscale="log", xlabel="slots of a code", ylabel="accuracy on new rows")
ax.set_xticks([16, 64, 256, 1024], ["16", "64", "256", "1,024"])
ax.minorticks_off()
ax.set_title("The more slots, the nearer to the kernel")
plt.show()
for k, (_, seconds), right in zip(components, models, accuracy, strict=True):
    print(f"{k:4} slots {right:.1%} right, {seconds:.2f} s")

# %%
# That is for 4,000 rows, which are few enough for an SVC.
# A code of few slots is a coarse picture of the kernel, worse than none at all; some hundred slots
# are enough for most of what the kernel has to give.
#
# The price of an SVC grows much faster than the number of rows, that of codes in step with it.

sizes = [1000, 2000, 4000, 8000, 16_000]
seconds = {
    "exact SVC": [measure(SVC(kernel=GMM()), n)[1] for n in sizes[:-1]],
    "1,024 slots": [measure(on_codes(1024), n)[1] for n in sizes],
    "256 slots": [measure(on_codes(256), n)[1] for n in sizes],
}
fig, ax = plt.subplots(figsize=(5.4, 3.8), layout="constrained")
for (name, times), style in zip(seconds.items(), ("s--", "o-", "o-"), strict=True):
    color = "C1" if name == "exact SVC" else "C0"
    ax.plot(sizes[: len(times)], times, style, color=color)
    slope = np.polyfit(np.log(sizes[: len(times)]), np.log(times), 1)[0]
    end = (sizes[len(times) - 1], times[-1])
    beside = {"xytext": (-9, 4) if color == "C1" else (9, -4), "textcoords": "offset points"}
    ha = "right" if color == "C1" else "left"
    ax.annotate(name, end, color=color, weight="bold", ha=ha, **beside)
    print(f"{name:11} {times[-1]:5.2f} s for {end[0]:,} rows; grows as rows to the {slope:.1f}")
ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds to fit")
ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
ax.xaxis.set_minor_locator(plt.NullLocator())
ax.set_title("How the time grows with the table")
plt.show()
