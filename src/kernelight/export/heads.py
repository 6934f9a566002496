"""What scores the bits of a row: coefficients -1, 0, 1 by popcount, or a weight for each bit.

A head has two forms, C and NumPy, made of the same integers. Scores of the integer path are whole
numbers that fit 32 bits: those of Python times a power of two, rounded.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.export.c_text import double_text, filled, hex_text, table
from kernelight.linear.classifier import LinearClassifier
from kernelight.linear.ternary import TernaryClassifier

_TOP = 2**31 - 1


class Head(ABC):
    """The last step of an exported model: bits of a row in, the index of its class out."""

    n_slots: int
    n_outputs: int

    @abstractmethod
    def scores(self, bits: NDArray[np.uint8]) -> NDArray[Any]:
        """The scores of rows of bits, (rows, outputs): of C, to the last bit."""

    @property
    @abstractmethod
    def empty_scores(self) -> NDArray[Any]:
        """The scores of a row without bits."""

    @abstractmethod
    def source(self, n: str) -> str:
        """Tables, and the function ``n_class(const uint32_t *z)``."""

    @property
    @abstractmethod
    def flash(self) -> dict[str, int]:
        """Bytes of the tables, part by part."""

    def classes(self, bits: NDArray[np.uint8], empty: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The index of the class of each row."""
        scores = self.scores(bits)
        scores[empty] = self.empty_scores
        return best(scores)


def best(scores: NDArray[Any]) -> NDArray[np.intp]:
    """The first of the largest scores; of a single one, whether it is positive."""
    return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)


_COUNT = """\
static inline uint32_t ${n}_popcount(uint32_t v) {
    v -= (v >> 1) & 0x55555555u;
    v = (v & 0x33333333u) + ((v >> 2) & 0x33333333u);
    v = (v + (v >> 4)) & 0x0F0F0F0Fu;
    return (v * 0x01010101u) >> 24;
}

/* The score of class c is base + step * the number of used bits that differ from its plane. */
static inline $score ${n}_score(const uint32_t *z, int c) {
    const uint32_t *plane = ${n}_planes + (uint32_t)c * ${words}u * 2u;
    uint32_t i, differ = 0;
    for (i = 0; i < ${words}u; ++i, plane += 2)
        differ += ${n}_popcount((z[i] ^ plane[0]) & plane[1]);
    return $result;
}

"""

_WEIGH = """\
/* The score of class c is its base and the weights of the bits that are set. */
static inline $score ${n}_score(const uint32_t *z, int c) {
    const $weight *w = ${n}_weights + (uint32_t)c * ${slots}u;
    $score sum = ${n}_base[c];
    uint32_t j;
    for (j = 0; j < ${slots}u; ++j)
        if (z[j >> 5] >> (j & 31u) & 1u) sum += w[j];
    return sum;
}

"""

_BEST = """\
static inline int ${n}_class(const uint32_t *z) {
    int c, best = 0;
    $score top = ${n}_score(z, 0);
    for (c = 1; c < $outputs; ++c) {
        const $score score = ${n}_score(z, c);
        if (score > top) {
            top = score;
            best = c;
        }
    }
    return best;
}

"""

_POSITIVE = "static inline int ${n}_class(const uint32_t *z) { return ${n}_score(z, 0) > 0; }\n\n"


def _chosen(n: str, score: str, outputs: int) -> str:
    return filled(_POSITIVE if outputs == 1 else _BEST, n=n, score=score, outputs=outputs)


@dataclass(frozen=True, eq=False)
class TernaryHead(Head):
    """Two planes of bits for each class, and its scale and bias."""

    coefficients: NDArray[np.int8]  # (outputs, slots)
    scale: NDArray[np.float64]
    bias: NDArray[np.float64]
    whole: bool  # scores are whole numbers of 32 bits, else doubles as in Python

    @classmethod
    def of(cls, model: TernaryClassifier, n_slots: int, whole: bool) -> TernaryHead:
        """The head of a model, also of a pruned one: slots it left out have the coefficient 0."""
        coefficients = np.zeros((len(model.scale_), n_slots), dtype=np.int8)
        coefficients[:, model.slots_] = model.coef_
        return cls(
            coefficients,
            model.scale_.astype(np.float64),
            model.intercept_.astype(np.float64),
            whole,
        )

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.coefficients)

    @property
    def n_slots(self) -> int:  # type: ignore[override]
        return int(self.coefficients.shape[1])

    @property
    def _used(self) -> NDArray[np.int64]:
        return np.asarray((self.coefficients != 0).sum(axis=1), dtype=np.int64)

    def _rounded(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """base, step and bias as whole numbers: the largest power of two that keeps 32 bits."""
        largest = float((np.abs(self.scale) * self._used + np.abs(self.bias)).max())
        exponent = math.floor(math.log2(_TOP / 4 / largest)) if largest > 0 else 0
        step = np.rint(np.ldexp(self.scale, exponent)).astype(np.int64)
        bias = np.rint(np.ldexp(self.bias, exponent)).astype(np.int64)
        return bias + step * self._used, -2 * step, bias

    def _differ(self, bits: NDArray[np.uint8]) -> NDArray[np.int64]:
        """How many used bits of each row differ from the plane of each class."""
        signed = self.coefficients.astype(np.float64)  # sums of at most 2^24 ones are exact
        dots = (2.0 * bits - 1.0) @ signed.T
        return np.asarray((self._used - dots) / 2, dtype=np.int64)

    def scores(self, bits: NDArray[np.uint8]) -> NDArray[Any]:
        differ = self._differ(bits)
        if self.whole:
            base, step, _ = self._rounded()
            return np.asarray(base + step * differ)
        return np.asarray(self.scale * (self._used - 2 * differ) + self.bias)

    @property
    def empty_scores(self) -> NDArray[Any]:
        return self._rounded()[2] if self.whole else self.bias

    def source(self, n: str) -> str:
        words = -(-self.n_slots // 32)
        bits = np.zeros((2, self.n_outputs, words * 32), dtype=np.uint8)
        bits[0, :, : self.n_slots] = self.coefficients > 0
        bits[1, :, : self.n_slots] = self.coefficients != 0
        planes = np.packbits(bits, axis=2, bitorder="little").view("<u4").transpose(1, 2, 0)
        text = "/* For each class and 32 slots: which coefficients are 1, which are not 0. */\n"
        text += table("uint32_t", f"{n}_planes", planes.ravel(), hex_text)
        if self.whole:
            base, step, _ = self._rounded()
            text += table("int32_t", f"{n}_base", base) + table("int32_t", f"{n}_step", step)
            score, result = "int32_t", f"{n}_base[c] + {n}_step[c] * (int32_t)differ"
        else:
            text += table("double", f"{n}_alpha", self.scale, double_text)
            text += table("double", f"{n}_bias", self.bias, double_text)
            text += table("int32_t", f"{n}_used", self._used)
            score = "double"
            # a product of 24 and at most 25 bits is exact, so that a fused sum is no other
            result = f"{n}_alpha[c] * (double)({n}_used[c] - 2 * (int32_t)differ) + {n}_bias[c]"
        text += "\n" + filled(_COUNT, n=n, words=words, score=score, result=result)
        return text + _chosen(n, score, self.n_outputs)

    @property
    def flash(self) -> dict[str, int]:
        planes = 8 * self.n_outputs * -(-self.n_slots // 32)
        return {"planes": planes, "scores": (8 if self.whole else 20) * self.n_outputs}


@dataclass(frozen=True, eq=False)
class LinearHead(Head):
    """A weight for each class and bit, as a whole number."""

    weights: NDArray[np.int64]  # (outputs, slots)
    base: NDArray[np.int64]
    bias: NDArray[np.int64]
    width: int  # bits of a weight: 16, with sums of 32, or 32, with sums of 64

    @classmethod
    def of(cls, model: LinearClassifier, n_slots: int, width: int) -> LinearHead:
        """The head of a model of codes or of their one-hot features, which are 1 / sqrt(slots)."""
        coef = np.asarray(model.coef_, dtype=np.float64) / math.sqrt(n_slots)
        off, on = coef[:, 0::2], coef[:, 1::2]
        steps, bias = on - off, np.asarray(model.intercept_, dtype=np.float64).reshape(-1)
        bias = bias if len(bias) == len(coef) else np.resize(bias, len(coef))
        base = bias + off.sum(axis=1)
        widest = max(float(np.abs(steps).max()), 1e-300)
        largest = float((np.abs(base) + np.abs(steps).sum(axis=1)).max())
        exponent = min(
            math.floor(math.log2((2 ** (width - 1) - 1) / widest)),
            math.floor(math.log2((2.0 ** (2 * width - 2)) / max(largest, 1e-300))),
        )
        whole = [np.rint(np.ldexp(each, exponent)).astype(np.int64) for each in (steps, base, bias)]
        return cls(whole[0], whole[1], whole[2], width)

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.weights)

    @property
    def n_slots(self) -> int:  # type: ignore[override]
        return int(self.weights.shape[1])

    def scores(self, bits: NDArray[np.uint8]) -> NDArray[Any]:
        return np.asarray(self.base + bits.astype(np.int64) @ self.weights.T)

    @property
    def empty_scores(self) -> NDArray[Any]:
        return self.bias

    def source(self, n: str) -> str:
        weight, score = f"int{self.width}_t", f"int{2 * self.width}_t"
        long = (lambda value: f"INT64_C({value})") if self.width == 32 else str
        text = "/* For each class, a weight of each slot. */\n"
        text += table(weight, f"{n}_weights", self.weights.ravel())
        text += table(score, f"{n}_base", self.base, long) + "\n"
        text += filled(_WEIGH, n=n, weight=weight, score=score, slots=self.n_slots)
        return text + _chosen(n, score, self.n_outputs)

    @property
    def flash(self) -> dict[str, int]:
        size = self.width // 8
        return {"weights": size * self.weights.size, "scores": 2 * size * self.n_outputs}
