"""The searches of the core against their slow twins: the same pairs, rows and keys."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import SIMD_NAMES
from oracles import neighbors_twin as twin

from kernelight import Codes, _core
from kernelight.neighbors import (
    BandPlan,
    ExactRows,
    band_keys,
    equal_slots,
    scan_codes,
    short_band_keys,
)
from kernelight.neighbors.banded import BandSearch
from kernelight.neighbors.exact import ExactSearch
from kernelight.neighbors.exact_rows import similarities_of_any_size

N, D = 90, 23


def sample(seed, *, signed=True, empty=True):
    """Rows with equal, near and empty ones among them, some features rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < rng.uniform(0.05, 0.6, D))
    X[40:60] = X[:20] * (1 + 0.05 * rng.normal(size=(20, D)))
    X[60] = X[61] = X[3]
    X[62] = X[3] * 2
    if empty:
        X[5] = X[77] = 0
    return X if signed else np.abs(X)


def storages(X):
    csr = sp.csr_matrix(X)
    wide = sp.csr_matrix((csr.data, csr.indices * 100_003, csr.indptr), shape=(len(X), 3_000_000))
    longer = sp.csr_matrix(X)
    longer.indices, longer.indptr = (a.astype(np.int64) for a in (longer.indices, longer.indptr))
    return {
        "float64": X,
        "float32": X.astype(np.float32),
        "csr": csr,
        "csr_float32": sp.csr_array(X.astype(np.float32)),
        "csr_int64": longer,
        "csr_wide": wide,
    }


@pytest.fixture(params=SIMD_NAMES)
def level(request, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_SIMD", request.param)
    return request.param


def exact_values(rows, others):
    """What the core says of all pairs; compared with the twin once, then taken for the truth."""
    i, j = (a.reshape(-1) for a in np.indices((rows.n_rows, others.n_rows)))
    return rows.similarities(i, others, j).reshape(rows.n_rows, others.n_rows)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("storage", storages(np.eye(2)))
def test_similarities_of_pairs(storage, signed, level):
    X = sample(0, signed=signed)
    M = storages(X)[storage]
    rows = ExactRows.of(M)
    found = exact_values(rows, rows)
    tolerance = 3e-6 if M.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(found, twin.similarities(X, X), rtol=0, atol=tolerance)
    filled = np.flatnonzero(X.any(axis=1))
    assert (found[filled, filled] == 1).all()  # equal rows, exactly
    assert found[3, 60] == 1
    np.testing.assert_array_equal(found, found.T)


def test_levels_and_threads_give_the_same_bits(monkeypatch):
    X = np.random.default_rng(1).normal(size=(20, 1203)).astype(np.float32)
    results = []
    for level in SIMD_NAMES:
        monkeypatch.setenv("KERNELIGHT_SIMD", level)
        for threads in ("1", "3"):
            monkeypatch.setenv("KERNELIGHT_NUM_THREADS", threads)
            rows = ExactRows.of(X)
            results.append(exact_values(rows, rows.like(X.astype(np.float64))))
            results.append(exact_values(rows, rows))
    for first, second in zip(results[::2], results[1::2], strict=True):
        np.testing.assert_array_equal(first, results[0])
        np.testing.assert_array_equal(second, results[1])


@pytest.mark.parametrize("width", [1, 7, 15, 16, 17, 31, 33, 511, 512, 513, 1025])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_widths_around_those_of_vectors(width, dtype):
    X = np.random.default_rng(width).normal(size=(4, width)).astype(dtype)
    rows = ExactRows.of(X)
    np.testing.assert_allclose(exact_values(rows, rows), twin.similarities(X, X), rtol=0, atol=3e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("storage", storages(np.eye(2)))
@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.8, 1.0])
def test_exact_join(storage, seed, threshold):
    rows = ExactRows.of(storages(sample(seed))[storage])
    K = exact_values(rows, rows)
    found = ExactSearch(rows).pairs(threshold)
    assert list(zip(found.i.tolist(), found.j.tolist(), strict=True)) == twin.pairs_above(
        K, threshold
    )
    np.testing.assert_array_equal(found.similarity, K[found.i, found.j])


def test_exact_join_of_values_beyond_single_precision():
    X = sample(0) * np.where(np.arange(N) % 2, 1e-200, 1e200)[:, None]
    rows = ExactRows.of(sp.csr_matrix(X))
    found = ExactSearch(rows).pairs(0.7)
    truth = twin.pairs_above(exact_values(rows, rows), 0.7)
    assert list(zip(found.i.tolist(), found.j.tolist(), strict=True)) == truth


@pytest.mark.parametrize("storage", storages(np.eye(2)))
def test_exact_search(storage):
    M = storages(sample(2))[storage]
    queries = storages(sample(3))[storage]
    rows = ExactRows.of(M)
    some = rows.like(queries)
    K = exact_values(some, rows)
    found, similarities = ExactSearch(rows).best(some, 7)
    truth = twin.nearest(K, 7)
    np.testing.assert_array_equal(found, truth)
    for query, row in enumerate(truth):
        kept = row >= 0
        np.testing.assert_array_equal(similarities[query][kept], K[query, row[kept]])
        assert (similarities[query][~kept] == -1).all()
    above = ExactSearch(rows).above(some, 0.3)
    assert list(zip(above.i, above.j, strict=True)) == [*zip(*np.nonzero(K >= 0.3), strict=True)]


def test_best_of_candidates():
    rows = ExactRows.of(sample(4))
    queries = rows.like(sample(5)[:6])
    K = exact_values(queries, rows)
    rng = np.random.default_rng(0)
    candidates = np.array([rng.choice(N, 20, replace=False) for _ in range(6)])
    candidates[0, 3:] = -1
    found, values = rows.best(queries, candidates, 5)
    for query in range(6):
        own = [c for c in candidates[query] if c >= 0]
        order = sorted(own, key=lambda c: (-K[query, c], c))[:5]
        assert found[query].tolist() == order + [-1] * (5 - len(order))
        np.testing.assert_array_equal(values[query, : len(order)], K[query, order])


# -- Bands


def random_codes(seed, *, bits=8, n=120, k=96, values=3):
    rng = np.random.default_rng(seed)
    array = rng.integers(0, values, (n, k))
    array[n // 2 :] = np.where(
        rng.random((n - n // 2, k)) < 0.1, array[n // 2 :], array[: n - n // 2]
    )
    empty = rng.random(n) < 0.05
    return Codes(array, bits, empty=empty)


@pytest.mark.parametrize("bits", [2, 8, 16])
def test_band_keys(bits):
    codes = random_codes(0, bits=bits)
    keys = band_keys(codes, 5, 7)
    assert keys.tolist() == twin.band_keys(codes.array.tolist(), 5, 7)
    np.testing.assert_array_equal(short_band_keys(codes, 5, 7), keys >> np.uint64(32))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cap", [1, 3, 1000])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_band_join(seed, cap, threads, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_NUM_THREADS", threads)
    codes = random_codes(seed)
    rows = ExactRows.of(np.abs(np.random.default_rng(seed).normal(size=(len(codes), 3))))
    plan = BandPlan(96, 8, 0.55, bands=12, rows=2)
    search = BandSearch(rows, codes, plan, cap=cap)
    met = twin.band_pairs(twin.band_keys(codes.array.tolist(), 12, 2), codes.empty, cap)
    K = exact_values(rows, rows)
    sketch = codes.array[:, -plan.sketch_slots :]
    truth = [
        (i, j)
        for i, j in sorted(met)
        if K[i, j] >= 0.55 and twin.equal_slots(sketch[i], sketch[j]) >= plan.least_equal
    ]
    found = search.pairs()
    assert len(truth) > 5
    assert list(zip(found.i.tolist(), found.j.tolist(), strict=True)) == truth
    assert (search.counts.capped > 0) == (cap < 1000)
    # each pair comes once, also where buckets are above the cap
    emitted = [len(i) for i, *_ in search._join.pairs(plan.least_equal, rows, 0.55)]
    assert sum(emitted) == len(truth)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [256, 300, 16_500])
@pytest.mark.parametrize("simd", range(len(SIMD_NAMES)))
def test_group_sums_stop_no_pair_that_counts(dtype, width, simd):
    random = np.random.default_rng(width)
    X = np.repeat(random.gamma(0.5, size=(20, width)), 6, axis=0)
    X *= random.uniform(0.5, 1.5, X.shape)
    rows = ExactRows.of(X.astype(dtype))
    groups = rows.group_bounds
    assert groups is not None
    assert groups.sums.shape[1] % 64 == 0
    K = exact_values(rows, rows)
    total = rows.sums[:, None] + rows.sums
    bound = np.minimum(groups.sums[:, None], groups.sums).sum(axis=2) * groups.unit
    assert (bound >= K / (1 + K) * total * (1 - 1e-5)).all()
    keys = np.zeros((len(X), 2), np.uint32)  # all rows meet
    joined = [
        _core.band_join(
            keys, None, 0, 2, None, 1000, None, 0, rows.view, some, groups.unit, 0.6, 1, simd
        )
        for some in (None, groups.sums)
    ]
    (plain, *_, all_verified), (stopped, *_, verified) = joined
    assert len(plain[0]) == (np.triu(K, 1) >= 0.6).sum() > 100
    for one, other in zip(plain, stopped, strict=True):
        np.testing.assert_array_equal(one, other)
    reached = bound >= 0.6 / 1.6 * total * (1 - 1e-5)
    assert verified == np.triu(reached, 1).sum() < all_verified / 2
    for other in (-X, X[:, :255], sp.csr_matrix(X), X * 1e31, X * 1e-24):
        assert ExactRows.of(other).group_bounds is None


def test_band_queries():
    codes, others = random_codes(0), random_codes(1)
    rows = ExactRows.of(np.abs(np.random.default_rng(0).normal(size=(len(codes), 3))))
    queries = rows.like(np.abs(np.random.default_rng(1).normal(size=(len(others), 3))))
    plan = BandPlan(96, 8, 0.55, bands=12, rows=2)
    search = BandSearch(rows, codes, plan)
    one = twin.band_keys(codes.array.tolist(), 12, 2)
    two = twin.band_keys(others.array.tolist(), 12, 2)
    K = exact_values(queries, rows)
    truth = [
        (i, j)
        for i in range(len(others))
        for j in range(len(codes))
        if not (others.empty[i] or codes.empty[j])
        and any(a == b for a, b in zip(two[i], one[j], strict=True))
        and twin.equal_slots(others.array[i, -64:], codes.array[j, -64:]) >= plan.least_equal
        and K[i, j] >= 0.55
    ]
    found = search.above(queries, others)
    assert len(truth) > 5
    assert list(zip(found.i.tolist(), found.j.tolist(), strict=True)) == truth


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("count", [1, 10, 500])
def test_scan_and_equal_slots(bits, count, level):
    codes, queries = random_codes(0, bits=bits), random_codes(1, bits=bits)[:37]
    equal = np.array(
        [
            [0 if a.has_empty or b.has_empty else twin.equal_slots(a.array, b.array) for b in codes]
            for a in queries
        ]
    )
    np.testing.assert_array_equal(
        scan_codes(codes, queries, count), twin.nearest(equal.astype(float), count)
    )
    i, j = (a.reshape(-1) for a in np.indices(equal.shape))
    np.testing.assert_array_equal(equal_slots(queries, i, codes, j), equal.reshape(-1))


def twin_of_any_size(u, v, p):
    """The kernel of two rows by logarithms, at the scale of this pair."""
    u, v = ([*np.maximum(row, 0), *np.maximum(-row, 0)] for row in (u, v))
    scale = math.log(max(*u, *v, 5e-324))

    def power(value):
        return math.exp(p * (math.log(value) - scale)) if value else 0.0

    low = math.fsum(power(min(pair)) for pair in zip(u, v, strict=True))
    high = math.fsum(power(max(pair)) for pair in zip(u, v, strict=True))
    return low / high if any(u) or any(v) else 0.0


@pytest.mark.parametrize("p", [0.05, 0.5, 1.0, 3.0, 20.0, 300.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_similarities_of_rows_of_any_size(form, p):
    rng = np.random.default_rng(0)
    sizes = 10.0 ** np.array([0, 0, 0.01, -0.1, 30, 30.1, 301, 301, 307, -30, -290, -307, 80, 81])
    X = rng.normal(size=(len(sizes), 6)) * (rng.random((len(sizes), 6)) < 0.8)
    X[::2] = X[1::2] * rng.lognormal(0, 0.1, X[1::2].shape)
    X *= sizes[:, None]
    X[3] = 0
    i, j = (each.reshape(-1) for each in np.indices((len(X), len(X))))
    order = rng.permutation(len(i))
    i, j = i[order], j[order]
    for other in (form(X), X):
        found = similarities_of_any_size(form(X), i, other, j, p=p)
        wanted = [twin_of_any_size(X[a], X[b], p) for a, b in zip(i, j, strict=True)]
        np.testing.assert_allclose(found, wanted, rtol=1e-14 * max(30, 3 * p), atol=1e-100)
        if p == 1.0:
            assert found[(i == j) & (i != 3)].tolist() == [1.0] * (len(X) - 1)
