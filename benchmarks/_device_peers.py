"""What the benchmark of devices compares with: forests and networks of emlearn, integer networks.

Every function takes training rows of whole numbers with classes 0, 1, ..., and gives models of all
its sizes; what has to be chosen beyond the size is chosen on quarters of these rows.

emlearn is given every advantage that is not ours to refuse. Its trees compare whole numbers with
thresholds cut to whole numbers, which shifts them: here thresholds are rounded up first, so that
nothing changes. Its networks are trained like ours, and get rows that are floats already. Their
weights are printed with six decimals: the scale of the hidden layer is chosen so that all are large
enough. What its C predicts is compared with scikit-learn's trees, or with NumPy.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from _device_code import Code
from _integer_mlp import Array, Recipe, Trained, c_code, integers, train
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

STEPS = 9_400  # of a training, about
EPOCHS = (40, 120)
RECIPES = [
    Recipe(decay=decay, noise=noise) for noise in (0.1, 0.25, 0.5) for decay in (0.003, 0.05)
]
TRIED = (24,)  # the network that recipes are chosen by
HELD_OUT = 1500  # rows that a recipe is scored on, at least
HIDDEN: dict[int, tuple[tuple[int, ...], ...]] = {
    8: (
        *((), (4,), (8,), (12,), (16,), (24,), (32,), (40,), (48,), (64,), (96,)),
        *((16, 16), (32, 32)),
    ),
    4: ((8,), (16,), (24,), (32,), (48,), (64,), (96,)),
    0: ((8,), (16,), (24,), (32,), (48,), (64,)),
}
TREES = (2, 3, 5, 7, 10, 15, 20, 30, 50)
MOST_WORK = 300_000  # trees times rows: more trees are far beyond the targets
FORESTS: tuple[tuple[type, dict[str, Any]], ...] = tuple(
    (kind, options)
    for kind in (ExtraTreesClassifier, RandomForestClassifier)
    for options in (
        {},
        {"max_features": 0.5},
        {"max_leaf_nodes": 30},
        {"max_leaf_nodes": 100},
        {"max_leaf_nodes": 300},
        {"max_leaf_nodes": 1000},
    )
)


class Fitted(NamedTuple):
    """A model of some size: its twin in Python, its C, and about how many bytes it will take."""

    label: str
    classes: Callable[[Array], Array]
    code: Callable[[], Code]
    bytes: int
    inline: Callable[[], Code] | None = None  # the same in more bytes and less time


class PeerMissingError(Exception):
    """A peer that is not here; says what to do."""


# -- Networks


def networks_of_8_bits(X: Array, y: Array) -> Iterator[Fitted]:
    """Networks of integers, from a linear model to two hidden layers."""
    yield from _integer_networks(X, y, 8)


def networks_of_4_bits(X: Array, y: Array) -> Iterator[Fitted]:
    """The same with two weights in a byte."""
    yield from _integer_networks(X, y, 4)


def _integer_networks(X: Array, y: Array, bits: int) -> Iterator[Fitted]:
    recipe = _recipe(X, y, bits)
    for hidden in HIDDEN[bits]:
        net = integers(train(X, y, hidden, recipe, bits=bits), X, bits)
        label = f"{'-'.join(map(str, hidden))} hidden" if hidden else "linear"
        size = sum(q.size for q in net.weights) * bits // 8
        yield Fitted(label, net.classes, partial(c_code, net), size)


def _recipe(X: Array, y: Array, bits: int) -> Recipe:
    """The recipe that is best on a quarter of the rows, on several quarters where rows are few."""
    epochs = int(np.clip(STEPS * 64 / len(X), *EPOCHS))
    held_out = len(X) // 4
    turns = [
        np.split(np.random.RandomState(seed).permutation(len(X)), [len(X) - held_out])
        for seed in range(-(-HELD_OUT // held_out))
    ]

    def right(recipe: Recipe) -> int:
        count = 0
        for learn, check in turns:
            short = recipe._replace(epochs=epochs // 2)
            trained = train(X[learn], y[learn], TRIED, short, bits=bits)
            net = integers(trained, X[learn], bits) if bits else FloatNetwork(trained)
            count += int((net.classes(X[check]) == y[check]).sum())
        return count

    return max(RECIPES, key=right)._replace(epochs=epochs)


# -- emlearn


def emlearn_forests(X: Array, y: Array) -> Iterator[Fitted]:
    """Forests in nodes of 8 bytes; where rows are too wide for those, as nested conditions."""
    narrow = X.shape[1] <= 127
    counts = [count for count in TREES if count * len(X) <= MOST_WORK]
    for kind, options in FORESTS:
        whole = kind(max(counts), random_state=0, n_jobs=1, **options).fit(X, y)
        for count in counts:  # trees do not depend on how many follow
            forest = copy.copy(whole)
            forest.estimators_, forest.n_estimators = whole.estimators_[:count], count
            name = "extra trees" if kind is ExtraTreesClassifier else "random forest"
            words = ", ".join(f"{key} {value:g}" for key, value in options.items())
            inline = partial(forest_code, forest, "inline")
            yield Fitted(
                f"{name} {count}{', ' * bool(words)}{words.replace('_', ' ')}",
                partial(_hard_votes, forest),
                partial(forest_code, forest, "loadable") if narrow else inline,
                8 * sum(int((t.tree_.children_left >= 0).sum()) for t in forest.estimators_),
                inline if narrow else None,
            )


def emlearn_networks(X: Array, y: Array) -> Iterator[Fitted]:
    """Networks of floats."""
    recipe = _recipe(X, y, 0)
    for hidden in HIDDEN[0]:
        net = FloatNetwork(train(X, y, hidden, recipe))
        size = 4 * sum(W.size for W in net.weights)
        yield Fitted(f"{hidden[0]} hidden", net.classes, net.code, size)


class FloatNetwork:
    """A network as emlearn prints it: with six decimals, on the rows as they come."""

    def __init__(self, trained: Trained) -> None:
        weights = [W.astype(np.float64) for W in trained.weights]
        biases = [b.astype(np.float64) for b in trained.biases]
        weights[0] /= trained.spread
        biases[0] -= trained.center @ weights[0]
        if len(weights) == 2:
            even = np.sqrt(np.abs(weights[1]).mean() / np.abs(weights[0]).mean())
            weights = [weights[0] * even, weights[1] / even]
            biases[0] *= even
        self.weights = [W.round(6) for W in weights]
        self.biases = [b.round(6) for b in biases]

    def classes(self, X: Array) -> Array:
        """The index of the class of each row."""
        h = X.astype(np.float64)
        for W, b in zip(self.weights[:-1], self.biases, strict=False):
            h = np.maximum(h @ W + b, 0)
        return np.asarray((h @ self.weights[-1] + self.biases[-1]).argmax(axis=1))

    def code(self) -> Code:
        """What emlearn makes of it."""
        emlearn = _emlearn()
        activations = ["relu"] * (len(self.weights) - 1) + ["softmax"]
        text = emlearn.net.c_generate_net_loadable(activations, self.weights, self.biases, "m")
        columns = len(self.weights[0])
        text += f"\nint model_class(const float *row) {{ return m_predict(row, {columns}); }}\n"
        return Code(text, columns, "float", (emlearn.includedir,))


def _hard_votes(forest: Any, X: Array) -> Array:
    """The class that most trees vote for, the first of several: what emlearn computes."""
    votes = np.zeros((len(X), forest.n_classes_), dtype=np.intp)
    rows = X.astype(np.float32)
    for tree in forest.estimators_:
        of_leaf = tree.tree_.value[:, 0].argmax(axis=1)
        votes[np.arange(len(X)), of_leaf[tree.tree_.apply(rows)]] += 1
    return np.asarray(votes.argmax(axis=1))


def forest_code(forest: Any, method: str) -> Code:
    """What emlearn makes of a forest, by one of its methods."""
    emlearn = _emlearn()
    forest = copy.deepcopy(forest)
    for tree in forest.estimators_:
        threshold = tree.tree_.threshold
        threshold[:] = np.floor(threshold) + 1  # x <= t is x < floor(t) + 1 for whole x
    model = emlearn.convert(forest, method=method, dtype="int16_t")
    text = model.save(name="m", include_proba=False)
    columns = forest.n_features_in_
    text += f"\nint model_class(const int16_t *row) {{ return m_predict(row, {columns}); }}\n"
    return Code(text, columns, "int16_t", (emlearn.includedir,))


def _emlearn() -> Any:
    settings = np.geterr()
    try:
        import emlearn
    except ImportError:
        raise PeerMissingError("emlearn is not installed: pip install emlearn") from None
    finally:
        np.seterr(**settings)  # importing it makes every rounding an exception
    return emlearn


PEERS: dict[str, Callable[[Array, Array], Iterator[Fitted]]] = {
    "integer MLP, 8 bits": networks_of_8_bits,
    "integer MLP, 4 bits": networks_of_4_bits,
    "emlearn, MLP": emlearn_networks,
    "emlearn, forest": emlearn_forests,
}
