"""What scores features that are whole numbers: coefficients -1, 0, 1, or a weight for each.

Coefficients take a bit each that says whether it is 0, and another one for its sign if it is not,
in the order in which a device meets them: block by block, class by class.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelight.estimators.device_size import CLASS, packed_coefficients
from kernelight.export.c_text import filled, hex_text, table
from kernelight.linear.classifier import LinearClassifier
from kernelight.linear.ternary import TernaryClassifier

PEAK = 1024  # of a feature
_TOP = 2**31 - 1
_ROUNDED = 8  # bits that products of sums and steps lose

_BEGIN = """\
    const uint32_t *used = ${n}_used;
    const uint16_t *minus = ${n}_minus;
    uint32_t signs = 1; /* what is left of 16 signs, below a bit that is set */
"""

_TERNARY = """\
        /* each class: a bit of used for each feature, a bit of minus for each that is used */
        for (c = 0; c < ${outputs}u; ++c) {
            int32_t s = j > ${width}u ? sum[c] : 0;
            uint32_t at;
            for (at = 0; at < i; at += 32) {
                const uint16_t *value = x + at;
                uint32_t mask = *used++;
                if (!mask) continue;
                do {
                    const int32_t q = (int16_t)*value++;
                    if (mask & 1u) {
                        if (signs == 1u) signs = *minus++ | 65536u;
                        s += signs & 1u ? -q : q;
                        signs >>= 1;
                    }
                } while (mask >>= 1);
            }
            sum[c] = s;
        }
"""

_LINEAR = """\
        for (c = 0; c < ${outputs}u; ++c) {
            const int16_t *w = ${n}_weights + c * ${slots}u + (j - i);
            int32_t s = j > ${width}u ? sum[c] : ${n}_base[c];
            uint32_t at;
            for (at = 0; at < i; ++at) s += (int16_t)x[at] * w[at];
            sum[c] = s;
        }
"""

_BEST = """\
    {
        int32_t top = 0;
        int best = 0;
        for (c = 0; c < ${outputs}u; ++c) {
            const int32_t s = $score;
            if (c == 0u || s > top) {
                top = s;
                best = (int)c;
            }
        }
        return best;
    }
"""

_POSITIVE = "    c = 0;\n    return $score > 0;\n"


class FeatureHead(ABC):
    """The last step of an exported model: whole numbers in, the index of its class out."""

    n_slots: int
    n_outputs: int

    @abstractmethod
    def scores(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The scores of rows of features, (rows, outputs), as in C."""

    @abstractmethod
    def tables(self, n: str, width: int) -> str:
        """The tables, for blocks of ``width`` features."""

    @abstractmethod
    def lines(self, n: str, width: int) -> tuple[str, str, str]:
        """The lines before all blocks, after each and at the end (`FourierMap.source`)."""

    @abstractmethod
    def flash(self, width: int) -> dict[str, int]:
        """Bytes of the tables, part by part."""

    @property
    def ram(self) -> int:
        """Bytes of the sums."""
        return 4 * self.n_outputs

    def classes(self, values: NDArray[np.int64], empty: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The index of the class of each row; no row is empty."""
        scores = self.scores(values)
        if scores.shape[1] == 1:
            return np.asarray(scores[:, 0] > 0, dtype=np.intp)
        return np.asarray(scores.argmax(axis=1))

    def _last(self, score: str) -> str:
        return filled(_POSITIVE if self.n_outputs == 1 else _BEST, outputs=self.n_outputs, score=score)


@dataclass(frozen=True, eq=False)
class TernaryFeatureHead(FeatureHead):
    """Coefficients -1, 0 and 1, a step and a base for each class.

    With the sum s of a class its score is ((s step) >> 8) + base, in 32 bits.
    """

    coefficients: NDArray[np.int8]  # (outputs, slots)
    step: NDArray[np.int64]  # 16 bits
    base: NDArray[np.int64]

    @classmethod
    def of(cls, model: TernaryClassifier, n_slots: int, unit: float) -> TernaryFeatureHead:
        """The head of a model of features that are ``unit`` times whole numbers."""
        coefficients = np.zeros((len(model.scale_), n_slots), dtype=np.int8)
        coefficients[:, model.slots_] = model.coef_
        scale = model.scale_.astype(np.float64) * unit
        bias = model.intercept_.astype(np.float64)
        used = (coefficients != 0).sum(axis=1)
        largest = float((np.abs(scale) * used * PEAK + np.abs(bias)).max())
        exponent = math.floor(math.log2(32767.0 / max(float(np.abs(scale).max()), 1e-300)))
        room = math.log2(_TOP / 2) + _ROUNDED - math.log2(max(largest, 1e-300))
        exponent = min(exponent, math.floor(room))
        step = np.rint(np.ldexp(scale, exponent)).astype(np.int64)
        base = np.rint(np.ldexp(bias, exponent - _ROUNDED)).astype(np.int64)
        return cls(coefficients, step, base)

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.coefficients)

    @property
    def n_slots(self) -> int:  # type: ignore[override]
        return int(self.coefficients.shape[1])

    def scores(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.rint(values.astype(np.float64) @ self.coefficients.T.astype(np.float64))
        return np.asarray((sums.astype(np.int64) * self.step >> _ROUNDED) + self.base)

    def tables(self, n: str, width: int) -> str:
        used, minus = packed_coefficients(self.coefficients, width)
        text = "/* Which coefficients are not 0, and which of these are -1. */\n"
        text += table("uint32_t", f"{n}_used", used, hex_text)
        text += table("uint16_t", f"{n}_minus", minus)
        step = table("int16_t", f"{n}_step", self.step)
        return text + step + table("int32_t", f"{n}_base", self.base) + "\n"

    def lines(self, n: str, width: int) -> tuple[str, str, str]:
        begin = f"    int32_t sum[{self.n_outputs}];\n    uint32_t c;\n" + filled(_BEGIN, n=n)
        weigh = filled(_TERNARY, n=n, outputs=self.n_outputs, width=width)
        score = f"(int32_t)((int64_t)sum[c] * {n}_step[c] >> {_ROUNDED}) + {n}_base[c]"
        return begin, weigh, self._last(score)

    def flash(self, width: int) -> dict[str, int]:
        packed = packed_coefficients(self.coefficients, width)
        return {"coefficients": packed.n_bytes, "scores": CLASS * self.n_outputs}


@dataclass(frozen=True, eq=False)
class LinearFeatureHead(FeatureHead):
    """A weight of at most 16 bits for each class and feature, so that sums fit 32 bits."""

    weights: NDArray[np.int64]  # (outputs, slots)
    base: NDArray[np.int64]

    @classmethod
    def of(cls, model: LinearClassifier, unit: float) -> LinearFeatureHead:
        """The head of a model of features that are ``unit`` times whole numbers."""
        weights = np.asarray(model.coef_, dtype=np.float64) * unit
        bias = np.asarray(model.intercept_, dtype=np.float64).reshape(-1)
        bias = bias if len(bias) == len(weights) else np.resize(bias, len(weights))
        largest = float((np.abs(weights).sum(axis=1) * PEAK + np.abs(bias)).max())
        slots = weights.shape[1]
        room = math.log2((_TOP - PEAK * slots) / max(largest, 1e-300))
        widest = math.log2(32767.0 / max(float(np.abs(weights).max()), 1e-300))
        exponent = math.floor(min(room, widest))
        whole = [np.rint(np.ldexp(each, exponent)).astype(np.int64) for each in (weights, bias)]
        return cls(whole[0], whole[1])

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.weights)

    @property
    def n_slots(self) -> int:  # type: ignore[override]
        return int(self.weights.shape[1])

    def scores(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(values @ self.weights.T + self.base)

    def tables(self, n: str, width: int) -> str:
        text = "/* For each class, a weight of each feature. */\n"
        text += table("int16_t", f"{n}_weights", self.weights.ravel())
        return text + table("int32_t", f"{n}_base", self.base) + "\n"

    def lines(self, n: str, width: int) -> tuple[str, str, str]:
        begin = f"    int32_t sum[{self.n_outputs}];\n    uint32_t c;\n"
        weigh = filled(_LINEAR, n=n, outputs=self.n_outputs, slots=self.n_slots, width=width)
        return begin, weigh, self._last("sum[c]")

    def flash(self, width: int) -> dict[str, int]:
        return {"weights": 2 * self.weights.size, "scores": 4 * self.n_outputs}
