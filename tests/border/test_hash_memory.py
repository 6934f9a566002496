"""Hashing needs at most 256 MB beyond its input and output, whatever the width.

The peak of a process never falls, so calls whose limits are the same share one, and each case of
rows has a process of its own.
"""

from __future__ import annotations

import pytest
from helpers import nightly, sampled
from peak import started

LIMIT = 256e6

PROGRAM = """
import numpy as np
import scipy.sparse as sp
from peak import peak
from kernelight import GCWS, hashing

def rows(n, width, nonzeros=75):
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(0, width, (n, nonzeros)), axis=1).ravel()
    values, starts = rng.exponential(size=n * nonzeros), np.arange(n + 1) * nonzeros
    X = sp.csr_matrix((values, indices, starts), shape=(n, width))
    X.sum_duplicates()
    return X


{rows}
for sampler in ({{}}, {{"sampler": "dart", "scale": 1.0}}):  # so that code and threads are there
    hashing.gcws(np.ones((2, 2)), 4, **sampler)
before = peak()
for call in {calls}:
    codes = eval(call)
    print(peak() - before - codes.array.nbytes)
    del codes
"""

CALLS = {
    "cws": "hashing.gcws(X, 1024)",
    "dart": 'hashing.gcws(X, 1024, sampler="dart", scale=2.0**-6)',
    "estimator": "GCWS(1024).fit(X).encode(X)",
    "dart estimator": 'GCWS(1024, sampler="dart").fit(X).encode(X)',
    "cws, gamma": "hashing.gcws(X, 256, gamma=4.0)",
    "dart, gamma": 'hashing.gcws(X, 256, sampler="dart", scale=2.0**-6, gamma=4.0)',
}


def beyond(calls, rows):
    """The bytes that the process held at most after each call, beyond its start and the codes."""
    printed = started(PROGRAM.format(calls=calls, rows=rows))
    return [int(line) for line in printed.splitlines()]


def assert_within_the_limit(calls, rows):
    assert max(beyond(calls, rows)) < LIMIT


@pytest.mark.parametrize("width", sampled([47_236, 1_000_000, 2_000_000], 47_236, 2_000_000))
def test_a_wide_sparse_matrix(width):
    assert_within_the_limit(list(CALLS.values()), f"X = rows(200, {width})")


@nightly
@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
@pytest.mark.parametrize("width", [47_236, 2_000_000])
def test_a_wide_sparse_matrix_hashed_once(call, width):
    """In a process of its own: no call before it has left memory that it uses again."""
    assert_within_the_limit([call], f"X = rows(200, {width})")


@nightly
def test_many_rows_of_a_wide_sparse_matrix():
    assert_within_the_limit([CALLS["cws"]], "X = rows(5000, 47_236)")


@pytest.mark.parametrize(
    ("call", "n"),
    [
        # 2 MB of words a row
        pytest.param("hashing.gcws(X[:, :4], 1024, gamma=256.0)", 200, id="cws"),
        pytest.param(
            'hashing.gcws(X[:, :4], 1024, gamma=16.0, sampler="dart", scale=0.125)',
            4000,
            id="dart",
            marks=nightly,
        ),
    ],
)
def test_words_of_many_rows_do_not_add_up(call, n):
    assert_within_the_limit([call], f"X = rows({n}, 40)")


def test_the_measure_sees_what_is_used():
    """A program that takes 400 MB fails: otherwise nothing above means anything."""
    call = "(np.ones(50_000_000), hashing.gcws(X, 1024))[1]"
    assert beyond([call], "X = rows(2, 10)")[0] > LIMIT


GIANTS = {
    "one long dense row": "X = np.ones((1, 10**7), dtype=np.float32)",
    "one long sparse row": """
size = 10**7
starts = np.array([0, size], dtype=np.int32)
X = sp.csr_matrix((np.ones(size, np.float32), np.arange(size, dtype=np.int32), starts), (1, size))
""",
    "one long row of a very wide matrix": """
size = 10**7
starts = np.array([0, size], dtype=np.int64)
columns = np.arange(size, dtype=np.int64) * 10**6
X = sp.csr_array((np.ones(size, np.float32), columns, starts), (1, 10**14))
""",
    "rows of many sizes, wide": """
rng = np.random.default_rng(0)
values = rng.exponential(size=(1000, 20)) * 2.0 ** rng.integers(-40, 40, (1000, 1))
columns = np.sort(rng.permuted(np.tile(np.arange(200), (1000, 1)), axis=1)[:, :20], axis=1) * 5000
X = sp.csr_matrix((values.ravel(), columns.ravel(), np.arange(1001) * 20), (1000, 2**20))
""",
}


@pytest.mark.parametrize("name", sampled(GIANTS, "one long sparse row", "rows of many sizes, wide"))
def test_rows_and_widths_that_fit_no_table(name):
    samplers = ("", ', sampler="dart", scale=2.0**-20')
    calls = [f"hashing.gcws(X, 16{sampler})" for sampler in samplers]
    assert_within_the_limit(calls, GIANTS[name])


def test_tables_that_grow_row_by_row():
    """Old and new tables exist together for a moment."""
    fit = "GCWS(1024, sampler='cws').fit(X)"
    call = f"[gcws.encode(row) for gcws in [{fit}] for row in X][-1]"
    assert_within_the_limit([call], "X = rows(300, 47_236)")
