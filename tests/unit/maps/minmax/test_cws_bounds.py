"""Sampling by bounds: they are bounds, and what they leave in doubt is sampled as defined."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import SIMD_NAMES, nightly
from oracles import hash_twin

from kernelight import GCWS, _core, hashing
from kernelight.maps.minmax import cws_sampler, scheme

K = 100  # more than one block of slots, the last one not full
LEVELS = range(len(SIMD_NAMES))
BLOCK = _core.SLOT_BLOCK
SCHEMES = [
    {},
    {"p": 0.25},
    {"p": 2.0, "bits": 16},
    {"t_bits": 0},
    {"t_bits": 2, "bits": 1},
    {"normalize": "l1"},
    {"t_bits": 0, "coding": "lowest"},
    {"gamma": 1.5},
    {"gamma": 0.3, "p": 2.0},
]


class Doubts:
    """Counts the codes that `_core.cws_encode_bounds` left to the definition, and its calls."""

    def __init__(self, monkeypatch):
        self.count, self.calls, inner = 0, 0, _core.cws_encode_bounds

        def counted(*args):
            doubts = inner(*args)
            self.count, self.calls = self.count + doubts, self.calls + 1
            return doubts

        monkeypatch.setattr(_core, "cws_encode_bounds", counted)


@pytest.fixture
def by_bounds(monkeypatch):
    """No tables: every batch is sampled by bounds."""
    monkeypatch.setattr(cws_sampler, "KEPT_BYTES", 0)
    monkeypatch.setattr(cws_sampler, "CALL_BYTES", 0)
    return Doubts(monkeypatch)


def bounds(seed, coordinate, log_value, reach, level, first_slot=0):
    out = np.empty(BLOCK, dtype=np.float32)
    _core.cws_bounds(seed, coordinate, first_slot, log_value, reach, out, level)
    return out


def defined(seed, coordinates, log_values, first_slot=0):
    """The values a of section 4 of the specification, one logarithm a coordinate."""
    slots = np.arange(first_slot, first_slot + BLOCK)
    inverse_r, beta, r, q = hash_twin.cws_cells(seed, coordinates, slots)
    return q - r * np.floor(log_values[:, None] * inverse_r + beta)


# Logarithms of weights: their size, and the reach of the batch that they are in.
SIZES = [
    (0.0, 0.0),
    (1e-6, 1e-6),
    (1.0, 1.0),
    (1.0, 12.0),
    (12.0, 12.0),
    (745.0, 745.0),
    (1e4, 1e4),
]


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_they_are_bounds_and_close(sizes, seed):
    (size, reach), n = sizes, 1500
    rng = np.random.default_rng(seed)
    coordinates = rng.integers(0, 2**63, n, dtype=np.uint64)
    logs = rng.uniform(-size, size, n).astype(np.float32)
    logs[: n // 10] = np.float32(-size)
    wanted = defined(seed, coordinates, logs)
    given = [
        [
            bounds(seed, int(i), float(log), reach, level)
            for i, log in zip(coordinates, logs, strict=True)
        ]
        for level in LEVELS
    ]
    for other in given[1:]:
        np.testing.assert_array_equal(other, given[0])
    below = wanted - np.array(given[0])
    assert below.min() >= 0
    # What is given away: the slack; where a value of t hardly is not reached, a whole r.
    assert np.median(below) < 2.0**-17 * (reach + 12)


@nightly
def test_extreme_cells_have_bounds():
    """The smallest and largest r and c of many millions of cells."""
    ids = np.arange(1 << 20, dtype=np.uint64)
    cells = np.empty((1, len(ids) * _core.CELL_BLOCK), dtype=np.float32)
    _core.cws_fill(cells, ids, 0, len(ids), 7, 0, BLOCK, 1, LEVELS[-1])
    _, beta, r, q = cells.reshape(len(ids), 4, BLOCK).transpose(1, 0, 2)
    log_c = (q + r * (1 - beta)).ravel()
    extreme = [
        order[part]
        for order in (np.argsort(r.ravel()), np.argsort(log_c))
        for part in (slice(0, 200), slice(-200, None))
    ]
    assert r.min() < 1e-3
    assert log_c.min() < -8
    for place in np.unique(np.concatenate(extreme)).tolist():
        coordinate, slot = divmod(place, BLOCK)
        for log in (-12.0, -3.7, 0.0, 5.5):
            wanted = defined(7, np.array([coordinate]), np.float32([log]))[0, slot]
            for level in LEVELS:
                assert bounds(7, coordinate, log, 12.0, level)[slot] <= wanted


def wide_rows(width=5000):
    """Sparse rows as they are met.

    A coordinate in every row, coordinates that occur once, both signs of one column, empty rows,
    one nonzero, equal, tiny, subnormal and huge weights.
    """
    rng = np.random.default_rng(4)
    rows = []
    for n in range(40):
        columns = rng.choice(np.arange(1, width - 45), size=rng.integers(3, 40), replace=False)
        row = dict(zip(columns.tolist(), rng.lognormal(0, 2, len(columns)).tolist(), strict=True))
        row[0] = -1.0 if n % 3 else 2.0
        row[width - 1 - n] = 5.0
        rows.append(row)
    rows[3] = rows[-1] = {}
    rows[5] = {width - 1: -3.0}
    rows[6] = dict.fromkeys(range(0, 60, 2), 1.0)
    rows[7] = {1: 5e-324, 2: 1e-310, 3: 2.3e-308, 9: 1e-300}
    rows[8] = {1: 1e308, 2: 1.7e308, 3: 1e300}
    rows[9] = {1: 1e-320, 2: 1e-20, 3: 1e20, 4: 1e308}
    rows[10] = {0: 1e30}
    return rows, matrix(rows, width)


def matrix(rows, width, index=np.int32):
    columns = [sorted(row) for row in rows]
    return sp.csr_array(
        (
            np.array([row[c] for row, own in zip(rows, columns, strict=True) for c in own]),
            np.array([c for own in columns for c in own], dtype=index),
            np.cumsum([0, *map(len, rows)], dtype=index),
        ),
        shape=(len(rows), width),
    )


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_codes_are_the_twins(scheme, simd, by_bounds, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    rows, X = wide_rows()
    wanted, empty = hash_twin.codes(rows, K, seed=5, **scheme)
    for stored in (X, matrix(rows, 5000, np.int64), X.toarray()):
        actual = hashing.gcws(stored, K, random_state=5, **scheme)
        np.testing.assert_array_equal(actual.array, wanted)
        np.testing.assert_array_equal(actual.empty, empty)
    assert by_bounds.calls >= 3


@pytest.mark.parametrize("width", [scheme.WIDE, scheme.WIDE + 1, 2**40])
def test_widths_beyond_every_array(width, by_bounds):
    rows, X = wide_rows(width) if width < 2**40 else ([], None)
    if X is None:
        rows, _ = wide_rows()
        rows = [{column * 2**27 + 1: value for column, value in row.items()} for row in rows]
        X = matrix(rows, width, np.int64)
    made = GCWS(K, sampler="cws").fit(X)
    codes, winners = made.encode_with_winners(X)
    np.testing.assert_array_equal(codes.array, hash_twin.codes(rows, K)[0])
    np.testing.assert_array_equal(winners.features, hash_twin.winners(rows, K)[0])
    assert by_bounds.calls == 1


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("together", [1, 7, 1000])
def test_blocks_of_rows_and_threads(together, n_jobs, by_bounds, monkeypatch):
    X = sp.random_array(
        (900, 4000), density=0.005, random_state=np.random.default_rng(9), format="csr"
    )
    wanted = np.vstack([hashing.gcws(X[at : at + 1], 40).array for at in range(X.shape[0])])
    monkeypatch.setattr(cws_sampler, "RIVALS_BYTES", 0)
    monkeypatch.setattr(cws_sampler, "FEWEST_RIVALS", together)
    np.testing.assert_array_equal(hashing.gcws(X, 40, n_jobs=n_jobs).array, wanted)


def test_doubts_are_settled_by_the_definition(by_bounds, monkeypatch):
    """Equal rows of large logarithms: bounds are loose, and many minima are shared."""
    monkeypatch.setattr(cws_sampler, "MOST_REACH", np.inf)
    rows = [dict.fromkeys(range(25), 1e300), dict.fromkeys(range(0, 25, 2), -1e300)]
    X = matrix(rows, 30)
    for options in ({"p": 5.0}, {"p": 1000.0}, {"p": 1000.0, "t_bits": 0, "coding": "lowest"}):
        before = by_bounds.count
        actual = hashing.gcws(X, 500, bits=16, **options)
        wanted, _ = hash_twin.codes(rows, 500, bits=16, **options)
        np.testing.assert_array_equal(actual.array, wanted)
        assert by_bounds.count > before
    features = GCWS(500, sampler="cws", p=1000.0).fit(X).encode_with_winners(X)[1].features
    np.testing.assert_array_equal(features, hash_twin.winners(rows, 500, p=1000.0)[0])


def test_doubts_are_few():
    """Else the way of bounds would be a slow one."""
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 200_000), density=0.0005, random_state=rng, format="csr")
    X.data = rng.lognormal(0, 1, len(X.data))
    with pytest.MonkeyPatch.context() as patch:
        doubts = Doubts(patch)
        hashing.gcws(X, 2048)
    assert doubts.calls > 0
    assert doubts.count < 300 * 2048 / 1000


def test_values_too_large_for_bounds_are_sent_elsewhere(by_bounds):
    rows = [{1: 1e300, 2: 2e300}, {1: 1e-300, 3: 1.0}]
    X = matrix(rows, 30)
    actual = hashing.gcws(X, K, p=1000.0)
    np.testing.assert_array_equal(actual.array, hash_twin.codes(rows, K, p=1000.0)[0])
    assert by_bounds.calls == 0
    hashing.gcws(X, K)
    assert by_bounds.calls == 1


def test_many_coordinates_are_drawn_for_no_table(monkeypatch):
    """A batch of more coordinates than tables may have: neither tables nor row by row."""
    n = cws_sampler.CALL_BYTES // cws_sampler.BYTES_PER_CELL_BLOCK // 100 + 1
    columns = np.arange(n * 101, dtype=np.int32)
    X = sp.csr_array(
        (np.ones(len(columns)), columns, np.arange(n + 1) * 101), shape=(n, len(columns))
    )
    for name in ("cws_fill", "cws_stream"):
        monkeypatch.setattr(_core, name, None)
    codes = hashing.gcws(X, 40)
    some = [0, n // 2, n - 1]
    rows = [dict.fromkeys(range(101 * at, 101 * at + 101), 1.0) for at in some]
    np.testing.assert_array_equal(codes.array[some], hash_twin.codes(rows, 40)[0])


def test_a_row_of_a_wide_matrix_makes_nothing_as_long_as_the_width(monkeypatch):
    """Rows come one by one in a search: what they cost must not depend on the width."""
    rows, X = wide_rows(width=400_000)
    wanted, empty = hash_twin.codes(rows, K)
    lengths, survey = [], _core.cws_survey

    def surveyed(weighted, counts, used, *args):
        lengths.append(len(used))
        return survey(weighted, counts, used, *args)

    monkeypatch.setattr(_core, "cws_survey", surveyed)
    made = GCWS(K, sampler="cws").fit(X)
    for at, row in enumerate(rows):
        codes = made.encode(X[[at]])
        np.testing.assert_array_equal(codes.array[0], wanted[at])
        assert codes.empty[0] == empty[at]
        assert lengths[-1] == 2 * len(row)
    assert made._sampler._kept is None
