"""
How small can a classifier be? Weights of -1, 0 and 1
=====================================================

A linear model on random Fourier features stands for a kernel machine.
:class:`~kernelight.TernaryClassifier` gives it weights that take two bits each, and needs additions
only to score a row.
How many bytes does it take to tell ten handwritten digits apart?
"""

import matplotlib.pyplot as plt
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from kernelight import LinearClassifier, RandomFourier, TernaryClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=600, random_state=0)


def on_features(n_components, model):
    """A model of Fourier features of the Gaussian kernel, fitted, and its accuracy."""
    fourier = RandomFourier(n_components, features="phase", metric="euclidean", sigma=34.0)
    fitted = make_pipeline(fourier, model).fit(X_train, y_train)
    return fitted, fitted.score(X_test, y_test)


shown, accuracy = on_features(256, TernaryClassifier())
report = shown[-1].memory_report()
fig, axes = plt.subplots(2, 5, figsize=(5.4, 2.9), layout="constrained")
signs = ListedColormap([("C0", 0.5), ("0.5", 0.12), "C1"])
for digit, (ax, weights) in enumerate(zip(axes.flat, shown[-1].coef_, strict=True)):
    ax.imshow(weights.reshape(16, 16), cmap=signs, vmin=-1, vmax=1)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title(digit, loc="center", pad=4)
fig.suptitle(f"A whole model: {report.total:,} bytes, {accuracy:.1%} right", x=0.02, ha="left")
plt.show()
print(report)

# %%
# Each square is the weights of a digit: an orange cell adds a feature, a blue one subtracts it, and
# a pale one drops it.
# The features themselves come from a seed of 8 bytes.
#
# More features, more bytes, more digits that are right:

sizes = [2**power for power in range(5, 11)]
ternary = [on_features(k, TernaryClassifier()) for k in sizes]
full = [on_features(k, LinearClassifier(C=1.0)) for k in sizes]
plain = LinearClassifier(C=1.0).fit(X_train / 16, y_train)
lines = {
    "weights of -1, 0, 1": [(m[-1].memory_report().total, right) for m, right in ternary],
    "weights of 32 bits": [(4 * m[-1].weights_.size, right) for m, right in full],
}

fig, ax = plt.subplots(figsize=(5.4, 3.9), layout="constrained")
beside = {"xytext": (10, -4), "textcoords": "offset points"}
for (name, points), marker in zip(lines.items(), "os", strict=True):
    (line,) = ax.plot(*zip(*points, strict=True), f"{marker}-")
    ax.annotate(name, points[0], color=line.get_color(), weight="bold", **beside)
there = (4 * plain.weights_.size, plain.score(X_test / 16, y_test))
ax.plot(*there, "D", color="0.5")
left = {"xytext": (-9, -4), "textcoords": "offset points", "ha": "right"}
ax.annotate("of pixels", there, color="0.5", **left)
ax.set(xscale="log", xlabel="bytes of the model", ylabel="accuracy on new digits")
ax.set_xticks([300, 1000, 3000, 10_000, 30_000], ["300", "1,000", "3,000", "10,000", "30,000"])
ax.minorticks_off()
GOAL = 0.975
small, large = (next(size for size, right in each if right >= GOAL) for each in lines.values())
ax.set_title(f"{GOAL:.1%} right: {small:,} bytes instead of {large:,}")
plt.show()

for name, points in lines.items():
    print(name, ", ".join(f"{size:,} B: {right:.1%}" for size, right in points))

# %%
# There are 600 test digits, so that a difference of half a percent is chance.
# The diamond is a linear model of the 64 pixels themselves.
# Both lines have the same features, and models of equally many differ little in accuracy and by a
# factor in size.
# :class:`~kernelight.CompactClassifier` chooses features and weights for a budget of bytes, and
# :func:`~kernelight.export.to_c` writes the model as C for microcontrollers.
