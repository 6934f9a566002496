"""Projections written a second time from docs/projection-spec.md alone: slow, obvious NumPy.

Only the random bits and the logarithm are shared, with the twin of docs/hash-spec.md; nothing is
shared with the library. Section numbers are those of the specification. An operation on float32
arrays is rounded to float32 by NumPy, one on float64 arrays to float64, so the types of the arrays
are the types that the specification names.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from oracles.hash_twin import U64, child, high, log_normal, low, stream

F32, F64 = np.float32, np.float64
TWO_PI = 6.283185307179586477
F = 1.0 / TWO_PI


# -- 1. functions


def sqrt(x):
    x = np.asarray(x, dtype=F64)
    y = ((x.view(U64) >> U64(1)) + U64(0x1FF7A3BEA91D9B1B)).view(F64)
    for _ in range(4):
        y = 0.5 * (y + x / y)
    return y


def quarter(n, first):
    """Entry n = 0, 1, 2, 3 of the four arrays ``first``, place by place."""
    return np.choose(n.astype(np.int64), first)


def circle(u):
    """Cosine and sine of u turns, in double precision."""
    u = np.asarray(u, dtype=F64)
    C = 6755399441055744.0
    v = 4.0 * u + C
    n = v.view(U64) % U64(4)
    x = TWO_PI * (u - 0.25 * (v - C))
    z = x * x
    c = np.full_like(z, 1.0 / math.factorial(16))
    for even, sign_of in ((14, -1), (12, 1), (10, -1), (8, 1), (6, -1), (4, 1), (2, -1), (0, 1)):
        c = c * z + sign_of * (1.0 / math.factorial(even))
    s = np.full_like(z, -1.0 / math.factorial(15))
    for odd, sign_of in ((13, 1), (11, -1), (9, 1), (7, -1), (5, 1), (3, -1)):
        s = s * z + sign_of * (1.0 / math.factorial(odd))
    s = s * z * x + x
    return quarter(n, [c, -s, -c, s]), quarter(n, [s, c, -s, -c])


def circle_of(y):
    """Cosine and sine of y turns, in single precision (section 5)."""
    y = np.asarray(y, dtype=F32)
    C = F32(12582912.0)
    v = F32(4.0) * y + C
    n = v.view(np.uint32) % np.uint32(4)
    f = y - F32(0.25) * (v - C)
    z = f * f
    c = np.full_like(z, F32(60.244641))
    for coefficient in (-85.456817, 64.939394, -19.739209, 1.0):
        c = c * z + F32(coefficient)
    s = np.full_like(z, F32(42.058693))
    for coefficient in (-76.705860, 81.605249, -41.341702, 6.2831853):
        s = s * z + F32(coefficient)
    s = s * f
    return quarter(n, [c, -s, -c, s]), quarter(n, [s, c, -s, -c])


# -- 2. laws


def normal_pair(word):
    length = sqrt(-2.0 * log_normal(high(word)))
    cosine, sine = circle(low(word))
    return length * cosine, length * sine


def normal(key, n):
    n = np.asarray(n, dtype=U64)
    first, second = normal_pair(child(key, n // U64(2)))
    return np.where(n % U64(2) == 0, first, second)


def cauchy(word):
    cosine, sine = circle(0.5 * high(word))
    return cosine / sine


def sign(key, n):
    n = np.asarray(n, dtype=U64)
    bit = (child(key, n // U64(64)) >> (n % U64(64))) & U64(1)
    return np.where(bit == 1, -1.0, 1.0)


def chi(key, n):
    """The length of a normal vector of n dimensions, for each of many keys."""
    key = np.atleast_1d(np.asarray(key, dtype=U64))
    if n == 1:
        return np.abs(normal(key, 0))
    m = 0.5 * n - 1.0 / 3.0
    c = 1.0 / (3.0 * sqrt(m))
    result, waiting, trial = np.zeros(len(key)), np.arange(len(key)), 0
    while len(waiting):
        z, _ = normal_pair(child(key[waiting], 2 * trial))
        b = 1.0 + c * z
        v = b * b * b
        u = log_normal(high(child(key[waiting], 2 * trial + 1)))
        bound = 0.5 * z * z + m - m * v + m * log_normal(np.where(b > 0, v, 1.0))
        taken = (b > 0) & (u < bound)
        result[waiting[taken]] = sqrt(2.0 * m * v[taken])
        waiting, trial = waiting[~taken], trial + 1
    return result


def permutation(key, n):
    P = list(range(n))
    word = [int(w) for w in child(key, np.arange(n))]
    for i in range(n - 1, 0, -1):
        j = ((word[i] >> 32) * (i + 1)) >> 32
        P[i], P[j] = P[j], P[i]
    return np.array(P)


# -- 3. the row


def exponent(x):
    """floor(log2(x)), exactly, of a positive double, subnormal or not."""
    return math.frexp(x)[1] - 1


def sixteen_sums(products):
    """Sums over the last axis as Q in section 3.

    Sixteen sums by i mod 16, then those from first to last.
    """
    lanes = np.zeros((*products.shape[:-1], 16))
    for begin in range(0, products.shape[-1], 16):
        part = products[..., begin : begin + 16]
        lanes[..., : part.shape[-1]] = lanes[..., : part.shape[-1]] + part
    total = np.zeros(products.shape[:-1])
    for lane in range(16):
        total = total + lanes[..., lane]
    return total


def scale_of_directions(row):
    """f of a row of which only the direction counts, None for a row of zeros."""
    largest = max(abs(float(x)) for x in row)
    return math.ldexp(1.0, min(1023, -exponent(largest))) if largest > 0 else None


def entered(row, f, g=1.0):
    """The row in double precision: (x_i * f) * g."""
    with np.errstate(under="ignore"):
        return (np.asarray(row, dtype=F64) * f) * g


def unit(row):
    """The row as it enters where only its direction counts, as float32; None if it is empty."""
    f = scale_of_directions(row)
    if f is None:
        return None
    scaled = entered(row, f)
    return entered(row, f, 1.0 / float(sqrt(sixteen_sums(scaled * scaled)))).astype(F32)


# -- 4. projections


def hadamard(x):
    x, h = x.copy(), 1
    while h < len(x):
        for i in range(0, len(x), 2 * h):
            a, b = x[i : i + h].copy(), x[i + h : i + 2 * h].copy()
            x[i : i + h], x[i + h : i + 2 * h] = a + b, a - b
        h *= 2
    return x


def power_of_two(least):
    D = 1
    while least > D:
        D *= 2
    return D


def gaussian_weights(seed, d, outputs):
    """(d, outputs) in double precision; ``outputs`` are their numbers j."""
    return normal(child(stream(seed, 4), np.arange(d))[:, None], np.asarray(outputs)[None, :])


def cauchy_weights(seed, d, m):
    return cauchy(
        child(child(stream(seed, 5), np.arange(d))[:, None], np.arange(m)[None, :])
    ).astype(F32)


def orthogonal_weights(seed, d, m):
    w = np.zeros((d, m), dtype=F32)
    for begin in range(0, m, d):
        outputs = np.arange(begin, min(m, begin + d))
        g = gaussian_weights(seed, d, outputs).T.copy()
        for b in range(len(g)):
            # All later vectors lose their part along g_b at once: each still meets g_0, g_1, ... in
            # order.
            g[b] = g[b] / sqrt(sixteen_sums(g[b] * g[b]))
            t = sixteen_sums(g[b + 1 :] * g[b])
            g[b + 1 :] = g[b + 1 :] - t[:, None] * g[b]
        w[:, outputs] = (g.T * chi(child(stream(seed, 7), outputs), d)).astype(F32)
    return w


def weights(kind, seed, d, m):
    """The matrix w of a dense projection, float32, (d, m)."""
    if kind == "gaussian":
        return gaussian_weights(seed, d, np.arange(m)).astype(F32)
    return {"cauchy": cauchy_weights, "orthogonal": orthogonal_weights}[kind](seed, d, m)


def weighted_sums(e, w):
    """Sums of e_i * w_ji in ascending order of i, in the type of e."""
    y = np.zeros(w.shape[1], dtype=e.dtype)
    for i in range(len(e)):
        y = y + e[i] * w[i].astype(e.dtype)
    return y


def width_of(kind, d):
    return power_of_two(max(d, 64) if kind == "sorf" else d)


def sorf_block(seed, block, D):
    """A function that applies a block to a row of D numbers."""
    keys = [child(child(stream(seed, 6), block), t) for t in range(3)]
    signs = [sign(key, np.arange(D)).astype(F32) for key in keys]

    def apply(e):
        y = e
        for s in signs:
            y = hadamard(s * y)
        return y

    return apply


def fastfood_keys(seed, block):
    return [child(child(stream(seed, 8), block), p) for p in range(4)]


def fastfood_gaussians(seed, block, D):
    return normal(fastfood_keys(seed, block)[2], np.arange(D)).astype(F32)


def fastfood_block(seed, block, D):
    """A function that applies a block to a row of D numbers."""
    K = fastfood_keys(seed, block)
    b, P, g = (
        sign(K[0], np.arange(D)).astype(F32),
        permutation(K[1], D),
        fastfood_gaussians(seed, block, D),
    )

    def apply(e):
        return hadamard(g * hadamard(b * e)[P])

    return apply


def fastfood_length(seed, block, D):
    """chi / G of the outputs of a block."""
    total = 0.0
    for g in fastfood_gaussians(seed, block, D).astype(F64).tolist():
        total += g * g
    return chi(child(fastfood_keys(seed, block)[3], np.arange(D)), D) / sqrt(total)


class Projection:
    """The projections y_j of rows, and the lengths L_j, of one seed."""

    def __init__(self, kind, seed, d, m):
        self.kind, self.seed, self.d, self.m = kind, seed, d, m
        self.D = width_of(kind, d)
        self.w = self.blocks = None
        if kind in ("sorf", "fastfood"):
            block_of = {"sorf": sorf_block, "fastfood": fastfood_block}[kind]
            self.blocks = [block_of(seed, block, self.D) for block in range(-(-m // self.D))]
        else:
            self.w = weights(kind, seed, d, m)

    def __call__(self, e):
        if self.blocks is None:
            return weighted_sums(e, self.w)
        padded = np.zeros(self.D, dtype=F32)
        padded[: self.d] = e
        return np.concatenate([apply(padded) for apply in self.blocks])[: self.m]

    def lengths(self, factor):
        """L_j for F = ``factor`` (section 5)."""
        root = math.sqrt(self.D)
        if self.kind == "sorf":
            key = child(stream(self.seed, 7), np.arange(self.m))
            return (chi(key, self.D) * (factor / (self.D * root))).astype(F32)
        if self.kind == "fastfood":
            part = [fastfood_length(self.seed, block, self.D) for block in range(len(self.blocks))]
            return (np.concatenate(part)[: self.m] * (factor / root)).astype(F32)
        return np.full(self.m, factor, dtype=F64).astype(F32)


# -- 5. bits


def phases(seed, m):
    return high(child(stream(seed, 9), np.arange(m))).astype(F32)


def thresholds(seed, m):
    return (2.0 * high(child(stream(seed, 10), np.arange(m))) - 1.0).astype(F32)


def sign_codes(rows, m, *, projection="gaussian", seed=0):
    """Bits of `SignProjection` (0 in empty rows) and the mask of the empty rows.

    "cauchy" is a projection here.
    """
    rows = np.asarray(rows, dtype=F64)
    project = Projection(projection, seed, rows.shape[1], m)
    bits, empty = np.zeros((len(rows), m), dtype=np.int64), np.zeros(len(rows), dtype=bool)
    for n, row in enumerate(rows):
        f = scale_of_directions(row)
        empty[n] = f is None
        if f is not None:
            e = entered(row, f)
            y = project(e if projection == "cauchy" else e.astype(F32))
            if projection == "sorf":
                turn = -1.0 if e[np.flatnonzero(e.astype(F32))[0]] < 0 else 1.0
                slack = min(width_of("sorf", rows.shape[1]) / 2**14, 1.0)
                y = np.where(np.abs(y) <= slack, turn * sign(stream(seed, 18), np.arange(m)), y)
            bits[n] = y >= 0
    return bits, empty


def binary_codes(rows, m, sigma, *, projection="fastfood", threshold=True, seed=0):
    """Bits of `BinaryFourier`."""
    rows = np.asarray(rows, dtype=F64)
    project = Projection(projection, seed, rows.shape[1], m)
    lengths, b = project.lengths(F), phases(seed, m)
    t = thresholds(seed, m) if threshold else np.zeros(m, dtype=F32)
    bits = np.zeros((len(rows), m), dtype=np.int64)
    for n, row in enumerate(rows):
        y = project(entered(row, 1.0 / sigma).astype(F32))
        bits[n] = circle_of(y * lengths + b)[0] + t >= F32(0.0)
    return bits


# -- 6. the median


def pairs_of_rows(N, seed):
    if N * (N - 1) // 2 <= 4095:
        return [(u, v) for u in range(N) for v in range(u + 1, N)]
    pairs = []
    for w in child(stream(seed, 13), np.arange(4095)).tolist():
        left, right = ((w >> 32) * N) >> 32, ((w % 2**32) * (N - 1)) >> 32
        pairs.append((left, right + (right >= left)))
    return pairs


def median_sigma(rows, seed=0):
    rows = np.asarray(rows, dtype=F64)
    largest = float(np.max(np.abs(rows)))
    if largest == 0:
        return 1.0
    unit_of = math.ldexp(1.0, max(exponent(largest), -1022))
    scaled = rows * (1.0 / unit_of)
    left, right = np.array(pairs_of_rows(len(rows), seed), dtype=np.int64).reshape(-1, 2).T
    Q = np.zeros(len(left))
    for i in range(rows.shape[1]):
        difference = scaled[left, i] - scaled[right, i]
        Q = Q + difference * difference
    Q = np.sort(Q[Q > 0])
    return unit_of * math.sqrt(Q[(len(Q) - 1) // 2]) if len(Q) else 1.0


# -- 8. features of whole numbers


def integer_width(d):
    return power_of_two(max(d, 64))


def integer_factor(sigma, d):
    """M and k of g = M 2^k, in exact fractions but for g0."""
    g0 = Fraction((65536.0 / TWO_PI) / (sigma * math.sqrt(integer_width(d))))
    k = 0
    while g0 / Fraction(2) ** k >= 2**16:
        k += 1
    while g0 / Fraction(2) ** k < 2**15:
        k -= 1
    M = math.floor(g0 / Fraction(2) ** k + Fraction(1, 2))
    return (M, k) if M < 2**16 else (2**15, k + 1)


def integer_signs(seed, block, D):
    return sign(child(stream(seed, 24), block), np.arange(D)).astype(np.int64)


def integer_phases(m):
    return 2**9 * np.arange(m) % 2**16


def integer_wave(angle):
    """q of angles that are whole numbers, 2^16 to a turn."""
    f = (np.asarray(angle) + 2**15) % 2**16 - 2**15
    a = 2**14 - np.abs(f)
    return (a * (2**15 - np.abs(a)) + 2**17) // 2**18


def integer_angles(rows, sigma, seed):
    """v, a column for each row."""
    rows = np.asarray(rows, dtype=F64)
    D, (M, k) = integer_width(rows.shape[1]), integer_factor(sigma, rows.shape[1])
    w = np.zeros((D, len(rows)), dtype=np.int64)
    w[: rows.shape[1]] = np.floor(rows * math.ldexp(M, k) + 0.5).T % 2**16
    return hadamard(integer_signs(seed, 0, D)[:, None] * w)


def integers(rows, m, sigma, seed=0):
    """q of `IntegerFourier`: Python's whole numbers, in matrices of 64 bits."""
    v = integer_angles(rows, sigma, seed)
    D = len(v)
    y = [hadamard(integer_signs(seed, block, D)[:, None] * v) for block in range(1, -(-m // D) + 1)]
    return integer_wave(np.concatenate(y)[:m].T + integer_phases(m))


def integer_features(q):
    p = q.shape[1]
    return (q * (1 / (1024 * math.sqrt(8 * p / 15)))).astype(F32)


def integer_kernel(theta):
    """What signs of blocks 1, 2, ... average to over the features of a block, of angles."""
    return sum(960 / (math.pi * n) ** 6 * np.cos(n * theta).prod(axis=0) for n in range(1, 60, 2))


def integer_theta(difference, sigma, seed):
    """The angles of a difference of two rows before any rounding."""
    D = integer_width(len(difference))
    padded = np.zeros(D)
    padded[: len(difference)] = difference
    return hadamard(integer_signs(seed, 0, D) * padded) / (sigma * math.sqrt(D))
