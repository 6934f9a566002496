"""The hash, written a second time from docs/hash-spec.md alone: plain NumPy, slow and obvious.

Nothing here is shared with the library; section numbers are those of the specification. Rows are
float64 arrays, or dictionaries {feature: value} for wide data. Keys and words are uint64 arrays,
which NumPy wraps modulo 2^64, as the specification asks.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

U64 = np.uint64
MASK = 2**64 - 1


# -- 1. random bits


def mix64(z):
    with np.errstate(over="ignore"):
        z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
        return z ^ (z >> U64(31))


def child(key, n):
    """The n-th output of SplitMix64 started at ``key``; both broadcast."""
    key, n = (np.asarray(value, dtype=U64) for value in (key, n))
    with np.errstate(over="ignore"):
        return mix64(key + U64(0x9E3779B97F4A7C15) * (n + U64(1)))


def stream(seed, number):
    return child(child(0, seed), number)


def high(word):
    return ((word >> U64(32)).astype(np.float64) + 0.5) * 2.0**-32


def low(word):
    return ((word & U64(0xFFFFFFFF)).astype(np.float64) + 0.5) * 2.0**-32


# -- 2. the row


def weights(row, *, center=None, l1=False):
    """Expanded coordinates (ascending, uint64) and their weights (float64)."""
    items = (
        row.items()
        if isinstance(row, dict)
        else enumerate(np.asarray(row, dtype=np.float64).tolist())
    )
    signed = [
        (f, float(x) - (0.0 if center is None else float(center[f]))) for f, x in sorted(items)
    ]
    if l1:
        shrink = 1.0
        if math.isinf(ordered_sum(abs(s) for _, s in signed)):
            shrink = 2.0**-64
        total = ordered_sum(abs(s) * shrink for _, s in signed)
        weight = [abs(s) * shrink / total if total else 0.0 for _, s in signed]
    else:
        weight = [abs(s) for _, s in signed]
    kept = [(2 * f + (s < 0), w) for (f, s), w in zip(signed, weight, strict=True) if w > 0]
    return np.array([i for i, _ in kept], dtype=U64), np.array(
        [w for _, w in kept], dtype=np.float64
    )


def ordered_sum(values):
    total = 0.0
    for value in values:
        total += value
    return total


# -- 3. the logarithm


def log_normal(x):
    x = np.asarray(x, dtype=np.float64)
    pivot = U64(0x3FE6A09E667F3BCD)
    with np.errstate(over="ignore"):
        moved = x.view(U64) - pivot + (U64(1023) << U64(52))
        e = (moved >> U64(52)).astype(np.float64) - 1023.0
        m = ((moved & U64(2**52 - 1)) + pivot).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = np.full_like(z, 1.0 / 23.0)
    for odd in range(21, 1, -2):
        p = p * z + 1.0 / odd
    p = p * z
    g = s + s
    hi, lo = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
    return e * hi + (g + (g * p + e * lo))


def log(x):
    x = np.asarray(x, dtype=np.float64)
    small = x < 2.0**-1022
    lifted = np.where(small, x, 1.0) * 2.0**54
    return np.where(
        small, log_normal(lifted) - 37.429947750237047899, log_normal(np.where(small, 1.0, x))
    )


# -- 4. consistent weighted sampling


def gamma2(word):
    return -log_normal(high(word) * low(word))


def cws_cells(seed, coordinates, slots):
    """inverse_r, beta, r, q (float32) of every (coordinate, slot)."""
    key = child(stream(seed, 1), np.asarray(coordinates, dtype=U64)[:, None])
    draw = np.asarray(slots, dtype=U64)[None, :] * U64(4)
    r = np.maximum(gamma2(child(key, draw)), 2.0**-40)
    log_c = log_normal(gamma2(child(key, draw + U64(1))))
    beta = high(child(key, draw + U64(2)))
    q = log_c - r * (1.0 - beta)
    return tuple(cell.astype(np.float32) for cell in (1.0 / r, beta, r, q))


def cws_samples(coordinates, weight, slots, *, seed=0, p=1.0):
    """(i*, t*) of one row that is not empty, in every slot."""
    inverse_r, beta, r, q = cws_cells(seed, coordinates, slots)
    level = (p * log(weight)).astype(np.float32)[:, None]
    t = np.floor(level * inverse_r + beta)
    a = q - r * t
    best = np.argmin(a, axis=0)  # coordinates ascend, so the first of equals is the smaller
    return np.asarray(coordinates, dtype=U64)[best], t[best, np.arange(len(slots))].astype(np.int64)


def cws_word(seed, slots, i_star, t_star, *, t_bits=None):
    kept = t_star.astype(U64)  # two's complement
    if t_bits is not None:
        kept = kept & U64(2**t_bits - 1)
    return child(child(child(stream(seed, 2), np.asarray(slots, dtype=U64)), i_star), kept)


def cws_codes(coordinates, weight, k, *, seed=0, bits=8, t_bits=None, coding="mixed", p=1.0):
    slots = np.arange(k)
    i_star, t_star = cws_samples(coordinates, weight, slots, seed=seed, p=p)
    word = i_star if coding == "lowest" else cws_word(seed, slots, i_star, t_star, t_bits=t_bits)
    return (word & U64(2**bits - 1)).astype(np.int64)


# -- 5. darts

POISSON_THRESHOLD_TEXT = """
    5E2D58D8B3BCDF1A BC5AB1B16779BE35 EB715E1DC1582DC2 FB23979734A252F1 FF1025F59174DC3D
    FFD90F3BA4055E19 FFFA8B71FC72C913 FFFF540C0914B3C9 FFFFED1F4AA8F120 FFFFFE216E641462
    FFFFFFD4D85D3183 FFFFFFFC6DA262B4 FFFFFFFFBA12D178 FFFFFFFFFB07C64C FFFFFFFFFFAB8EA5
    FFFFFFFFFFFABE22 FFFFFFFFFFFFB11A FFFFFFFFFFFFFBA1 FFFFFFFFFFFFFFC5 FFFFFFFFFFFFFFFD
"""
POISSON_THRESHOLDS = np.array([int(word, 16) for word in POISSON_THRESHOLD_TEXT.split()], dtype=U64)


def poisson1(word):
    return np.searchsorted(POISSON_THRESHOLDS, word, side="right")


def dart_rate(k):
    return math.ceil(float(k) * float(log(float(k))) + 2.0 * k)


def float_above(x):
    """The smallest float32 that is at least x."""
    single = np.asarray(x, dtype=np.float64).astype(np.float32)
    return np.where(single.astype(np.float64) < x, np.nextafter(single, np.float32(np.inf)), single)


def slices(base, step, count, end):
    """Numbers of the slices of one axis of a region whose lower edge lies below ``end``."""
    wanted = min(count, int((end - base) / step) + 2)
    numbers = np.arange(wanted, dtype=np.float64)
    return numbers[base + numbers * step < end]


def region_darts(key, nu, rho, rate, value, rank_end):
    """Weight, rank and identity of all darts in the cells of a region.

    Cells that start below value and rank_end.
    """
    weight_base, weight_step = (2.0**nu - 1.0) / rate, 2.0 ** (nu - rho) / rate
    rank_base, rank_step = 2.0**rho - 1.0, 2.0 ** (rho - nu)
    a = slices(weight_base, weight_step, 2**rho, value)[:, None]
    b = slices(rank_base, rank_step, 2**nu, rank_end)[None, :]
    cell = child(child(child(key, 256 * nu + rho), a.astype(U64)), b.astype(U64))
    a, b, cell = (part.ravel() for part in np.broadcast_arrays(a, b, cell))
    n = poisson1(cell)
    a, b, cell = (np.repeat(part, n) for part in (a, b, cell))
    q = (np.arange(len(cell)) - np.repeat(np.cumsum(n) - n, n)).astype(U64)
    place, identity = child(cell, U64(2) * q), child(cell, U64(2) * q + U64(1))
    weight = (weight_base + (a + high(place)) * weight_step).astype(np.float32)
    rank = (rank_base + (b + low(place)) * rank_step).astype(np.float32)
    return weight, rank, identity


def coordinate_darts(seed, i, rate, value, rank_end):
    """Rank and identity of all darts of coordinate i below ``value`` and ``rank_end``."""
    key = child(stream(seed, 3), U64(i))
    ranks, identities = [np.empty(0, np.float32)], [np.empty(0, U64)]
    nu = 0
    while (2.0**nu - 1.0) / rate < value:
        rho = 0
        while 2.0**rho - 1.0 < rank_end:
            weight, rank, identity = region_darts(key, nu, rho, rate, value, rank_end)
            owned = (weight < np.float32(value)) & (rank < np.float32(rank_end))
            ranks.append(rank[owned])
            identities.append(identity[owned])
            rho += 1
        nu += 1
    return np.concatenate(ranks), np.concatenate(identities)


def dart_keys(coordinates, weight, k, *, seed=0, scale=1.0):
    """The least key of every slot of one row that is not empty (uint64)."""
    return dart_samples(coordinates, weight, k, seed=seed, scale=scale)[0]


def dart_samples(coordinates, weight, k, *, seed=0, scale=1.0):
    """The least key of every slot of one row that is not empty, and the coordinate that has it."""
    rate = dart_rate(k)
    value = float_above(weight * scale).astype(np.float64)
    total = float(value.sum())
    if not 2.0**-100 <= total <= 2.0**101:
        raise ValueError("row sum out of range")
    rank_end = float(np.float32(1.25 / total))
    while True:
        darts = [
            coordinate_darts(seed, i, rate, v, rank_end)
            for i, v in zip(coordinates, value, strict=True)
        ]
        rank, identity = (np.concatenate(part) for part in zip(*darts, strict=True))
        slot = ((identity >> U64(32)) * U64(k)) >> U64(32)
        key = (rank.view(np.uint32).astype(U64) << U64(32)) | (identity & U64(0xFFFFFFFF))
        best = np.full(k, MASK, dtype=U64)
        np.minimum.at(best, slot.astype(np.int64), key)
        if (best != U64(MASK)).all():
            own = np.repeat(coordinates, [len(part) for part, _ in darts])
            least = key == best[slot.astype(np.int64)]
            winner = np.full(k, MASK, dtype=U64)
            np.minimum.at(winner, slot[least].astype(np.int64), own[least])
            return best, winner
        rank_end = float(np.float32(rank_end * 1.5))


def dart_codes(coordinates, weight, k, *, seed=0, bits=8, scale=1.0):
    return (dart_keys(coordinates, weight, k, seed=seed, scale=scale) & U64(2**bits - 1)).astype(
        np.int64
    )


# -- 8. the exponentiated kernel


def poisson(key, gamma):
    """Arrivals in [0, gamma] of gaps that are added up one by one."""
    n, arrival = 0, 0.0
    while True:
        arrival += float(-log_normal(high(child(key, n))))
        if arrival > gamma:
            return n
        n += 1


@cache
def base_counts(seed, k, gamma):
    return [poisson(child(stream(seed, 11), j), gamma) for j in range(k)]


def folded(words, counts, *, seed=0, bits=8):
    """Codes of one row from the words of its base slots, slot after slot."""
    left, out = iter(words), []
    for j, count in enumerate(counts):
        h = child(stream(seed, 12), j)
        for _ in range(count):
            h = child(h, next(left))
        out.append(int(h) & (2**bits - 1))
    assert next(left, None) is None
    return np.array(out, dtype=np.int64)


def exponentiated_codes(
    coordinates, weight, k, gamma, *, sampler="cws", scale=1.0, seed=0, bits=8, **options
):
    counts = base_counts(seed, k, gamma)
    slots = np.arange(sum(counts))
    if len(slots) == 0:
        words = []
    elif sampler == "dart":
        words = dart_keys(coordinates, weight, len(slots), seed=seed, scale=scale) & U64(0xFFFFFFFF)
    else:
        samples = cws_samples(coordinates, weight, slots, seed=seed, p=options.get("p", 1.0))
        words = cws_word(seed, slots, *samples, t_bits=options.get("t_bits"))
    return folded(words, counts, seed=seed, bits=bits)


# -- 9. winners


def winners(
    rows, k, *, sampler="cws", gamma=None, normalize=None, center=None, scale=1.0, seed=0, p=1.0
):
    """The features that won each base slot, -1 in empty rows, and where those of a slot begin."""
    counts = [1] * k if gamma is None else base_counts(seed, k, gamma)
    n_base = sum(counts)
    out = np.full((len(rows), n_base), -1, dtype=np.int64)
    for n, row in enumerate(rows):
        coordinates, weight = weights(row, center=center, l1=normalize == "l1")
        if len(weight) == 0 or n_base == 0:
            continue
        if sampler == "dart":
            _, i_star = dart_samples(coordinates, weight, n_base, seed=seed, scale=scale)
        else:
            i_star, _ = cws_samples(coordinates, weight, np.arange(n_base), seed=seed, p=p)
        out[n] = (i_star // U64(2)).astype(np.int64)
    return out, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


# -- the whole


def codes(
    rows,
    k,
    *,
    sampler="cws",
    gamma=None,
    normalize=None,
    center=None,
    scale=1.0,
    seed=0,
    bits=8,
    **cws_options,
):
    """Codes as int64 with 0 in empty rows, and the mask of empty rows, as of `hashing.gcws`."""
    out, empty = np.zeros((len(rows), k), dtype=np.int64), np.zeros(len(rows), dtype=bool)
    for n, row in enumerate(rows):
        coordinates, weight = weights(row, center=center, l1=normalize == "l1")
        empty[n] = len(weight) == 0
        if empty[n]:
            continue
        if gamma is not None:
            out[n] = exponentiated_codes(
                coordinates,
                weight,
                k,
                gamma,
                sampler=sampler,
                scale=scale,
                seed=seed,
                bits=bits,
                **cws_options,
            )
        elif sampler == "dart":
            out[n] = dart_codes(coordinates, weight, k, seed=seed, bits=bits, scale=scale)
        else:
            out[n] = cws_codes(coordinates, weight, k, seed=seed, bits=bits, **cws_options)
    return out, empty


# -- 6. what fit decides


def exponent(total):
    """floor(log2(total)), exactly."""
    return math.frexp(total)[1] - 1


def median_exponent(sums):
    """The lower of the two in the middle, if there are two."""
    return sorted(map(exponent, sums))[(len(sums) - 1) // 2]


def fitted_scale(rows, *, center=None, l1=False):
    sums = [
        ordered_sum(w) for _, w in (weights(row, center=center, l1=l1) for row in rows) if len(w)
    ]
    return 2.0 ** -max(-1000, min(1000, median_exponent(sums))) if sums else 1.0


def chosen_sampler(rows, k, *, center=None, l1=False):
    """Rules 1 (its part about the data), 2 and 3 of "auto"."""
    filled = [(i, w) for i, w in (weights(row, center=center, l1=l1) for row in rows) if len(w)]
    if not filled:
        return "cws"
    sums = np.array([ordered_sum(w) for _, w in filled])
    if max(abs(exponent(total) - median_exponent(sums)) for total in sums) > 100:
        return "cws"
    fraction: dict[int, float] = {}
    for (i, w), total in zip(filled, sums, strict=True):
        for coordinate, part in zip(i.tolist(), w / total, strict=True):
            fraction[coordinate] = max(fraction.get(coordinate, 0.0), part)
    G, c = math.fsum(fraction.values()), math.log(k) + 2
    exponents = [exponent(total) for total in sums]
    covered, room = 0, 128.0 * 2**20
    for e in sorted(set(exponents)):
        largest: dict[int, float] = {}
        for (i, w), own in zip(filled, exponents, strict=True):
            if own == e:
                for coordinate, weight in zip(i.tolist(), w.tolist(), strict=True):
                    largest[coordinate] = max(largest.get(coordinate, 0.0), weight * 2.0**-e)
        g = math.fsum(largest.values())
        T = 16 * dart_rate(k) * (1.5 if g < 2 * c else 1.25) * g
        if (64 if g < 2 * c else 128) * 2**20 >= T and room >= T:
            room -= T
            covered += exponents.count(e)
    f = covered / len(filled)
    mean_nonzeros = np.mean([len(w) for _, w in filled])
    if 16 * len(fraction) * k > 96 * 2**20:
        mean_nonzeros += 60 * len(fraction) / len(filled)
    t = 17 * G if 2 * c > G else 140 + 20 * (len(set(exponents)) - 1)
    return "dart" if mean_nonzeros > f * t + (1 - f) * (400 * c) else "cws"
