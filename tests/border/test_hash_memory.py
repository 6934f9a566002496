"""Hashing needs at most 256 MB beyond its input and output, whatever the width.

Each case runs in a process of its own, because the peak of a process never falls.
"""

from __future__ import annotations

import pytest
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


X = rows({n}, {width})
for sampler in ({{}}, {{"sampler": "dart", "scale": 1.0}}):  # so that code and threads are there
    hashing.gcws(np.ones((2, 2)), 4, **sampler)
before = peak()
codes = {call}
print(peak() - before - codes.array.nbytes)
"""

CALLS = {
    "cws": "hashing.gcws(X, 1024)",
    "dart": 'hashing.gcws(X, 1024, sampler="dart", scale=2.0**-6)',
    "estimator": "GCWS(1024).fit(X).encode(X)",
    "dart estimator": 'GCWS(1024, sampler="dart").fit(X).encode(X)',
    "cws, gamma": "hashing.gcws(X, 256, gamma=4.0)",
    "dart, gamma": 'hashing.gcws(X, 256, sampler="dart", scale=2.0**-6, gamma=4.0)',
}


def beyond(call, n, width):
    program = PROGRAM.format(call=call, n=n, width=width)
    printed = started(program)
    return int(printed)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("width", [47_236, 1_000_000, 2_000_000])
def test_a_wide_sparse_matrix(call, width):
    assert 0 <= beyond(CALLS[call], 200, width) < LIMIT


def test_many_rows_of_a_wide_sparse_matrix():
    assert beyond(CALLS["cws"], 5000, 47_236) < LIMIT


@pytest.mark.parametrize(
    "call",
    [
        "hashing.gcws(X[:, :4], 1024, gamma=256.0)",  # 2 MB of words a row
        'hashing.gcws(X[:, :4], 1024, gamma=16.0, sampler="dart", scale=0.125)',
    ],
    ids=["cws", "dart"],
)
def test_words_of_many_rows_do_not_add_up(call):
    assert beyond(call, 4000 if "dart" in call else 400, 40) < LIMIT


def test_the_measure_sees_what_is_used():
    """A program that takes 400 MB fails: otherwise nothing above means anything."""
    call = "(np.ones(50_000_000), hashing.gcws(X, 1024))[1]"
    assert beyond(call, 2, 10) > LIMIT


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


@pytest.mark.parametrize(
    "sampler", ["{}", '{"sampler": "dart", "scale": 2.0**-20}'], ids=["cws", "dart"]
)
@pytest.mark.parametrize("rows", GIANTS.values(), ids=list(GIANTS))
def test_rows_and_widths_that_fit_no_table(rows, sampler):
    program = PROGRAM.replace("X = rows({n}, {width})", rows)
    call = f"hashing.gcws(X, 16, **{sampler})"
    printed = started(program.format(call=call))
    assert int(printed) < LIMIT


def test_tables_that_grow_row_by_row():
    """Old and new tables exist together for a moment."""
    program = PROGRAM.replace(
        "codes = {call}",
        "gcws = GCWS(1024, sampler='cws').fit(X)\nfor i in range(X.shape[0]):\n    codes = "
        "gcws.encode(X[i])",
    )
    program = program.format(n=300, width=47_236)
    printed = started(program)
    assert int(printed) < LIMIT
