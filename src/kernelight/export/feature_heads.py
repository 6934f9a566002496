"""What scores features that are whole numbers: coefficients -1, 0, 1, or a weight for each.

Five coefficients of a class are a byte (`device_size.packed_coefficients`). For each five features
a device makes the sums of three of them with all 27 coefficients, and of two with all 9, which
serve every class: a byte is then two look-ups.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.estimators.device_size import CLASS, packed_coefficients
from kernelight.export.c_text import double_text, filled, table
from kernelight.linear.classifier import LinearClassifier
from kernelight.linear.ternary import TernaryClassifier

PEAK = 1024  # of a feature
_TOP = 2**31 - 1

_SUMS = """\
/* s with all coefficients 0, 1 and -1 of two features: the digits 0, 1 and 2 of base 3. */
static inline void ${n}_nine(int16_t *sums, int32_t s, int32_t a, int32_t b) {
    const int32_t t = s + b, u = s - b;
    sums[0] = (int16_t)s;
    sums[1] = (int16_t)(s + a);
    sums[2] = (int16_t)(s - a);
    sums[3] = (int16_t)t;
    sums[4] = (int16_t)(t + a);
    sums[5] = (int16_t)(t - a);
    sums[6] = (int16_t)u;
    sums[7] = (int16_t)(u + a);
    sums[8] = (int16_t)(u - a);
}

"""

_TERNARY = """\
        /* a byte holds the coefficients of five features: 9 times those of the first three */
        for (at = 0; at < i; at += 5) {
            const int32_t p = (int16_t)x[at], q = (int16_t)x[at + 1], r = (int16_t)x[at + 2];
            ${n}_nine(sums, 0, p, q);
            ${n}_nine(sums + 9, r, p, q);
            ${n}_nine(sums + 18, -r, p, q);
            ${n}_nine(sums + 27, 0, (int16_t)x[at + 3], (int16_t)x[at + 4]);
            for (c = 0; c < ${outputs}u; ++c) {
                const uint32_t code = *next++, high = code * 57u >> 9; /* code / 9 */
                sum[c] += sums[high] + sums[27u + code - 9u * high];
            }
        }
"""

_LINEAR = """\
        for (c = 0; c < ${outputs}u; ++c) {
            const $weight *w = ${n}_weights + c * ${slots}u + (j - i);
            $type s = sum[c];
            for (at = 0; at < i; ++at) s += ($type)(int16_t)x[at] * w[at];
            sum[c] = s;
        }
"""

_BEGIN = """\
    $type sum[$outputs];
    uint32_t c, at;
    for (c = 0; c < ${outputs}u; ++c) sum[c] = $start;
"""

_BEST = """\
    {
        $type top = 0;
        int best = 0;
        for (c = 0; c < ${outputs}u; ++c) {
            const $type s = $score;
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
    def scores(self, values: NDArray[np.int64]) -> NDArray[Any]:
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

    def _begin(self, start: str, ctype: str = "int32_t") -> str:
        return filled(_BEGIN, start=start, outputs=self.n_outputs, type=ctype)

    def _last(self, score: str, ctype: str = "int32_t") -> str:
        template = _POSITIVE if self.n_outputs == 1 else _BEST
        return filled(template, outputs=self.n_outputs, score=score, type=ctype)


@dataclass(frozen=True, eq=False)
class TernaryFeatureHead(FeatureHead):
    """Coefficients -1, 0 and 1, a step for each class, and where its sum starts.

    The score of a class is its sum times its step. Doubles are those of Python; whole numbers have
    16 bits of each.
    """

    coefficients: NDArray[np.int8]  # (outputs, slots)
    step: NDArray[Any]  # above 0
    start: NDArray[Any]  # of whole numbers, what is multiplied by 2^shift
    whole: bool
    shift: int = 0

    @classmethod
    def of(
        cls, model: TernaryClassifier, n_slots: int, unit: float, *, whole: bool
    ) -> TernaryFeatureHead:
        """The head of a model of features that are ``unit`` times whole numbers."""
        coefficients = np.zeros((len(model.scale_), n_slots), dtype=np.int8)
        coefficients[:, model.slots_] = model.coef_
        scale = model.scale_.astype(np.float64) * unit
        bias = model.intercept_.astype(np.float64)
        if not whole:
            return cls(coefficients, scale, bias, False)
        # of a class without coefficients the scale is no matter: one that holds its bias
        least = np.abs(bias).max() / (_TOP / 4)
        scale = np.maximum(scale, max(float(scale.max()) * 2.0**-14, least, 1e-300))
        exponent = math.floor(math.log2(32767.0 / float(scale.max())))
        step = np.maximum(np.rint(np.ldexp(scale, exponent)), 1.0)
        start = np.ldexp(bias, exponent) / step
        shift = max(0, math.ceil(math.log2(max(float(np.abs(start).max()), 1.0) / 32767.0)))
        start = np.rint(np.ldexp(start, -shift)).astype(np.int64)
        return cls(coefficients, step.astype(np.int64), start, True, shift)

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.coefficients)

    @property
    def n_slots(self) -> int:  # type: ignore[override]
        return int(self.coefficients.shape[1])

    def scores(self, values: NDArray[np.int64]) -> NDArray[Any]:
        # whole numbers, which double precision adds exactly
        sums = values.astype(np.float64) @ self.coefficients.T.astype(np.float64)
        if not self.whole:
            return np.asarray(sums * self.step + self.start)
        return np.asarray(((self.start << self.shift) + sums.astype(np.int64)) * self.step)

    def tables(self, n: str, width: int) -> str:
        text = (
            "/* Coefficients, five to a byte; what the score of a class is its sum times of. */\n"
        )
        text += table("uint8_t", f"{n}_codes", packed_coefficients(self.coefficients, width))
        if self.whole:
            text += table("int16_t", f"{n}_start", self.start)
            text += table("int16_t", f"{n}_step", self.step)
        else:
            text += table("double", f"{n}_start", self.start, double_text)
            text += table("double", f"{n}_step", self.step, double_text)
        return text + "\n" + filled(_SUMS, n=n)

    def lines(self, n: str, width: int) -> tuple[str, str, str]:
        begin = f"    const uint8_t *next = {n}_codes;\n    int16_t sums[36];\n"
        weigh = filled(_TERNARY, n=n, outputs=self.n_outputs)
        if self.whole:
            last = self._last(f"(int64_t)sum[c] * {n}_step[c]", "int64_t")
            return begin + self._begin(f"(int32_t){n}_start[c] * {1 << self.shift}"), weigh, last
        last = self._last(f"(double)sum[c] * {n}_step[c] + {n}_start[c]", "double")
        return begin + self._begin("0"), weigh, last

    def flash(self, width: int) -> dict[str, int]:
        codes = packed_coefficients(self.coefficients, width)
        each = CLASS if self.whole else 16
        return {"coefficients": len(codes), "scores": each * self.n_outputs}

    @property
    def ram(self) -> int:
        return super().ram + 72


@dataclass(frozen=True, eq=False)
class LinearFeatureHead(FeatureHead):
    """A weight for each class and feature: of 16 bits and sums of 32, or of 32 and sums of 64."""

    weights: NDArray[np.int64]  # (outputs, slots)
    start: NDArray[np.int64]
    width: int  # bits of a weight

    @classmethod
    def of(cls, model: LinearClassifier, unit: float, width: int) -> LinearFeatureHead:
        """The head of a model of features that are ``unit`` times whole numbers."""
        weights = np.asarray(model.coef_, dtype=np.float64) * unit
        bias = np.asarray(model.intercept_, dtype=np.float64).reshape(-1)
        bias = bias if len(bias) == len(weights) else np.resize(bias, len(weights))
        largest = float((np.abs(weights).sum(axis=1) * PEAK + np.abs(bias)).max())
        most = 2.0 ** (2 * width - 1) - 1 - PEAK * weights.shape[1]
        room = math.log2(most / max(largest, 1e-300))
        widest = math.log2((2 ** (width - 1) - 1) / max(float(np.abs(weights).max()), 1e-300))
        exponent = math.floor(min(room, widest))
        whole = [np.rint(np.ldexp(each, exponent)).astype(np.int64) for each in (weights, bias)]
        return cls(whole[0], whole[1], width)

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.weights)

    @property
    def n_slots(self) -> int:  # type: ignore[override]
        return int(self.weights.shape[1])

    @property
    def _types(self) -> tuple[str, str]:
        return f"int{self.width}_t", f"int{2 * self.width}_t"

    def scores(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(values @ self.weights.T + self.start)

    def tables(self, n: str, width: int) -> str:
        weight, total = self._types
        long = (lambda value: f"INT64_C({value})") if self.width == 32 else str
        text = "/* For each class, a weight of each feature. */\n"
        text += table(weight, f"{n}_weights", self.weights.ravel())
        return text + table(total, f"{n}_start", self.start, long) + "\n"

    def lines(self, n: str, width: int) -> tuple[str, str, str]:
        weight, total = self._types
        parts = {"n": n, "outputs": self.n_outputs, "slots": self.n_slots}
        weigh = filled(_LINEAR, **parts, weight=weight, type=total)
        return self._begin(f"{n}_start[c]", total), weigh, self._last("sum[c]", total)

    def flash(self, width: int) -> dict[str, int]:
        size = self.width // 8
        return {"weights": size * self.weights.size, "scores": 2 * size * self.n_outputs}

    @property
    def ram(self) -> int:
        return self.width // 4 * self.n_outputs
