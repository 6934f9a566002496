"""A network of small integers, as an embedded engineer writes it: what `devices` compares with.

One or two hidden layers of ReLU, weights of 8 bits (or 4, two in a byte), sums of 32 bits, no
floating point and no libm; flash is the weights, two bytes for each unit, and a loop.

Training is ours, in NumPy: Adam on the cross-entropy with decoupled weight decay (AdamW), a cosine
schedule, and noise on the rows. The weights are rounded in every step (straight-through), exactly
as they are stored, so that nothing is lost afterwards.

What is stored: rows x are whole numbers. Unit j of a layer computes

    a = sum_i q_ij x_i + B_j,    h_j = min(max(a, 0) >> shift, 32767),

with |q_ij| <= 127. The scale s_j of its weights (w_ij = s_j q_ij) is never applied: as ReLU is
positively homogeneous, s_j 2^shift goes into the weights of the next layer before these are
rounded. So each hidden unit uses all of its 8 bits, without a multiplier for each. Only the last
layer has one scale for all classes, whose sums are compared. Biases are 16 bits times a power of 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from _device_code import Code, table

Array = np.ndarray[Any, Any]
BATCH = 64
TOP = 32767


class Recipe(NamedTuple):
    """How a network is trained: chosen on held-out rows."""

    rate: float = 0.015
    decay: float = 0.02
    noise: float = 0.2  # of the standard deviation of the rows
    epochs: int = 100


@dataclass(frozen=True)
class IntegerMLP:
    """Integers of a trained network; `classes` is the twin of the C code."""

    weights: list[Array]  # int, (inputs, units) of each layer
    biases: list[Array]  # int, 16 bits
    bias_shifts: list[int]
    shifts: list[int]  # of hidden layers
    bits: int

    def classes(self, X: Array) -> Array:
        """The index of the class of each row."""
        h = X.astype(np.int64)
        for layer, (q, b, up) in enumerate(
            zip(self.weights, self.biases, self.bias_shifts, strict=True)
        ):
            a = h @ q + b * (1 << up)
            if layer < len(self.shifts):
                h = np.minimum(np.maximum(a, 0) >> self.shifts[layer], TOP)
        return np.asarray(a.argmax(axis=1))


_SUM = {
    8: "    do s += *x++ * *w++; while (--n);\n",
    4: """    do {
        const int8_t two = *w++;
        s += *x++ * ((int8_t)(two << 4) >> 4);
        s += *x++ * (two >> 4);
    } while (n -= 2);
""",
}


def c_code(net: IntegerMLP) -> Code:
    """The network in C: one table of weights, unit after unit, and one of biases."""
    rows = [q.T for q in net.weights]
    if net.bits == 4:
        rows = [(q[:, ::2] & 15) | (q[:, 1::2] << 4) for q in rows]
    text = "#include <stdint.h>\n"
    text += table("int8_t", "weights", np.concatenate([q.ravel() for q in rows]).astype(np.int8))
    text += table("int16_t", "biases", np.concatenate(net.biases))
    text += "static int32_t sum(const int16_t *x, const int8_t *w, int n, int32_t s) {\n"
    text += _SUM[net.bits] + "    return s;\n}\n"
    text += "int model_class(const int16_t *row) {\n"
    text += "    const int8_t *w = weights;\n    const int16_t *b = biases;\n"
    text += "    int32_t top = INT32_MIN;\n    int i, best = 0;\n"
    last = "row"
    for layer, (q, up) in enumerate(zip(net.weights, net.bias_shifts, strict=True)):
        inputs, units = q.shape
        step = inputs * net.bits // 8
        loop = f"for (i = 0; i < {units}; ++i, w += {step})"
        s = f"const int32_t s = sum({last}, w, {inputs}, *b++ * {1 << up})"
        if layer < len(net.shifts):
            text += f"    int16_t h{layer}[{units}];\n    {loop} {{\n        {s} >> "
            text += f"{net.shifts[layer]};\n        h{layer}[i] = "
            text += f"(int16_t)(s < 0 ? 0 : s > {TOP} ? {TOP} : s);\n    }}\n"
            last = f"h{layer}"
        else:
            text += f"    {loop} {{\n        {s};\n        if (s > top) {{\n"
            text += "            top = s;\n            best = i;\n        }\n    }\n"
    return Code(text + "    return best;\n}\n", len(net.weights[0]))


def rounded(W: Array, bits: int, one_scale: bool) -> tuple[Array, Array]:
    """Whole numbers of some bits, and the scale of each unit."""
    most = (1 << (bits - 1)) - 1
    largest = np.abs(W).max(axis=0)
    if one_scale:
        largest = np.full_like(largest, largest.max())
    scale = np.maximum(largest, 1e-12) / most
    return np.clip(np.rint(W / scale), -most, most), scale


def as_stored(weights: list[Array], bits: int) -> tuple[list[Array], list[Array], list[Array]]:
    """For each layer: whole numbers, what they stand for, and the scale of a unit's sum."""
    numbers, values, scales = [], [], []
    incoming = np.ones(len(weights[0]), dtype=weights[0].dtype)
    for layer, W in enumerate(weights):
        q, scale = rounded(W * incoming[:, None], bits, layer == len(weights) - 1)
        numbers.append(q)
        values.append(q * scale / incoming[:, None])
        scales.append(scale)
        incoming = scale
    return numbers, values, scales


class Trained(NamedTuple):
    """Floats: the network takes (rows - center) / spread."""

    weights: list[Array]
    biases: list[Array]
    center: Array
    spread: float


def train(
    X: Array, y: Array, hidden: tuple[int, ...], recipe: Recipe, *, bits: int = 0, seed: int = 0
) -> Trained:
    """A network for rows of whole numbers and classes 0, 1, ..., to be stored in 8 or 4 bits.

    0 bits: it stays a network of floats.
    """
    rng = np.random.default_rng(seed)
    center = X.mean(axis=0)
    spread = float(np.sqrt(((X - center) ** 2).mean()))  # one for all columns: they stay integers
    rows = ((X - center) / spread).astype(np.float32)
    sizes = (X.shape[1], *hidden, int(y.max()) + 1)
    weights = [
        (rng.standard_normal((a, b)) * np.sqrt(2 / a)).astype(np.float32)
        for a, b in pairwise(sizes)
    ]
    biases = [np.zeros(b, dtype=np.float32) for b in sizes[1:]]
    parameters = [*weights, *biases]
    first = [np.zeros_like(each) for each in parameters]
    second = [np.zeros_like(each) for each in parameters]
    steps = recipe.epochs * -(-len(rows) // BATCH)
    step = 0
    for _ in range(recipe.epochs):
        order = rng.permutation(len(rows))
        for at in range(0, len(rows), BATCH):
            some = order[at : at + BATCH]
            x = rows[some]
            if recipe.noise:
                x = x + recipe.noise * rng.standard_normal(x.shape, dtype=np.float32)
            values = as_stored(weights, bits)[1] if bits else weights
            gradients = _gradients(x, y[some], values, biases)
            rate = recipe.rate * 0.5 * (1 + np.cos(np.pi * step / steps))
            step += 1
            for at_, (value, g) in enumerate(zip(parameters, gradients, strict=True)):
                first[at_] += 0.1 * (g - first[at_])
                second[at_] += 0.001 * (g * g - second[at_])
                move = first[at_] / (1 - 0.9**step)
                move /= np.sqrt(second[at_] / (1 - 0.999**step)) + 1e-8
                if value.ndim == 2:
                    move += recipe.decay * value
                value -= np.float32(rate) * move
    return Trained(weights, biases, center, spread)


def _gradients(x: Array, y: Array, weights: list[Array], biases: list[Array]) -> list[Array]:
    """Of the mean cross-entropy, in the weights and then the biases."""
    inputs = [x]
    for W, b in zip(weights[:-1], biases, strict=False):
        inputs.append(np.maximum(inputs[-1] @ W + b, 0))
    scores = inputs[-1] @ weights[-1] + biases[-1]
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    scores[np.arange(len(y)), y] -= 1
    back = scores / np.float32(len(y))
    of_weights, of_biases = [], []
    for layer in range(len(weights) - 1, -1, -1):
        of_weights.append(inputs[layer].T @ back)
        of_biases.append(back.sum(axis=0))
        if layer:
            back = (back @ weights[layer].T) * (inputs[layer] > 0)
    return [*of_weights[::-1], *of_biases[::-1]]


def integers(trained: Trained, X: Array, bits: int) -> IntegerMLP:
    """The network on the rows as they come, with shifts that the training rows need."""
    weights, biases, center, spread = trained
    numbers, _, scales = as_stored([W.astype(np.float64) for W in weights], bits)
    h = X.astype(np.int64)
    unit = 1.0 / spread  # what 1 of the input stands for
    stored, ups, shifts = [], [], []
    for layer, q in enumerate(numbers):
        q = q.astype(np.int64)
        bias = biases[layer] / (scales[layer] * unit)
        if layer == 0:
            bias = bias - center @ q
        a = h @ q + np.rint(bias).astype(np.int64)
        shift = 0
        if layer < len(numbers) - 1:
            # twice the largest of the training rows fits
            shift = max(0, int(max(2 * a.max(), 1)).bit_length() - 15)
            bias = bias + ((1 << shift) >> 1)  # so that the shift rounds
            shifts.append(shift)
        up = max(0, int(np.abs(bias).max()).bit_length() - 15)
        b = np.clip(np.rint(bias / (1 << up)), -TOP, TOP).astype(np.int64)
        stored.append(b)
        ups.append(up)
        h = np.minimum(np.maximum(h @ q + b * (1 << up), 0) >> shift, TOP)
        unit *= 1 << shift
        numbers[layer] = q
    return IntegerMLP(numbers, stored, ups, shifts, bits)
