"""Which rows stay: against slow twins, with equal rows, rows of zeros and another set of rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kernelight import _core
from kernelight.kernels import GMM
from kernelight.neighbors import Matches, deduplicate, equal_rows
from kernelight.neighbors.duplicates import Components, Leaders, by_components, clusters_of
from kernelight.neighbors.equal_rows import equal_pairs, first_equal_rows, row_fingerprints


def clustered_rows(seed: int, n: int = 120, width: int = 12) -> np.ndarray:
    """Rows around a few centres, some equal, some of zeros, in random order; small integers."""
    random = np.random.default_rng(seed)
    centres = random.integers(-4, 9, (n // 6, width))
    X = centres[random.integers(0, len(centres), n)] + random.integers(0, 2, (n, width)) * (
        random.random((n, width)) < 0.25
    )
    X[random.random(n) < 0.05] = 0
    return X.astype(float)


def twin(X, threshold, keep="first", against=None):
    """Rows one by one: survivors by the leader rule, written as plainly as possible."""
    n = len(X)
    K = GMM()(X)
    other = None if against is None else GMM()(X, against)
    survivor, similarity = np.full(n, -(10**9)), np.ones(n)
    kept: list[int] = []
    chosen: dict[bytes, int] = {}  # of equal rows the one that stands for them
    order = list(range(n)) if keep == "first" else list(range(n))[::-1]
    for row in order:
        key = (X[row] + 0.0).tobytes() if X[row].any() else f"zeros {row}".encode()
        same = chosen.setdefault(key, row)
        if same != row:
            survivor[row], similarity[row] = survivor[same], similarity[same]
            continue
        if other is not None and len(other[row]) and other[row].max() >= threshold:
            survivor[row], similarity[row] = -1 - int(other[row].argmax()), other[row].max()
            continue
        near = [k for k in kept if K[row, k] >= threshold]
        if near:
            best = max(near, key=lambda k: (K[row, k], -order.index(k)))
            survivor[row], similarity[row] = best, K[row, best]
        else:
            survivor[row] = row
            kept.append(row)
    mask = np.zeros(n, bool)
    mask[kept] = True
    return mask, survivor, similarity


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("threshold", [0.6, 0.8, 1.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_leaders_are_those_of_the_twin(seed, keep, threshold, sparse):
    X = clustered_rows(seed)
    given = sp.csr_matrix(X) if sparse else X
    found = deduplicate(given, threshold, keep=keep, method="exact")
    kept, survivor, similarity = twin(X, threshold, keep)
    np.testing.assert_array_equal(found.kept, kept)
    np.testing.assert_array_equal(found.survivor, survivor)
    np.testing.assert_allclose(found.similarity, similarity, rtol=1e-12)
    assert found.n_below == 0
    assert found.n_kept + found.n_removed == len(X)
    assert found.n_empty == int((~X.any(axis=1)).sum()) > 0
    assert found.kept[~X.any(axis=1)].all()


@pytest.mark.parametrize("keep", ["first", "last"])
def test_rows_within_the_threshold_of_another_set_go(keep):
    X, other = clustered_rows(3), clustered_rows(3)[::4] + 0.0
    other = np.concatenate([other, clustered_rows(9, 30)])
    found = deduplicate(X, 0.8, against=other, keep=keep, method="exact")
    kept, survivor, similarity = twin(X, 0.8, keep, other)
    np.testing.assert_array_equal(found.kept, kept)
    np.testing.assert_array_equal(found.survivor, survivor)
    np.testing.assert_allclose(found.similarity, similarity, rtol=1e-12)
    assert found.n_matched > 20
    assert int((survivor < 0).sum()) >= found.n_matched
    assert found.n_near + found.n_identical + found.n_matched == found.n_removed
    K = GMM()(X, other)
    assert (K[found.kept].max(axis=1) < 0.8).all()


@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("with_others", [False, True])
def test_components_are_chains_of_pairs(keep, with_others):
    X = clustered_rows(1)
    other = clustered_rows(1)[5:40:5] if with_others else None
    found = deduplicate(X, 0.7, linkage="components", keep=keep, against=other, method="exact")
    K = GMM()(X)
    empty = np.flatnonzero(~X.any(axis=1))
    K[empty, empty] = 1.0  # a row of zeros is similar to nothing else
    near = K >= 0.7
    label = np.arange(len(X))
    if other is not None:
        bridge = GMM()(X, other)
        best = np.where(bridge.max(axis=1) >= 0.7, bridge.argmax(axis=1), -1)
        near |= (best[:, None] == best[None, :]) & (best[:, None] >= 0)
    while True:  # labels flow along pairs until nothing moves
        spread = np.where(near, label[None, :], len(X)).min(axis=1)
        moved = np.minimum(label, spread)
        if (moved == label).all():
            break
        label = moved
    rows = np.arange(len(X))
    for mark in np.unique(label):
        members = rows[label == mark]
        matched = other is not None and (best[members] >= 0).any()
        survivors = np.unique(found.survivor[members])
        assert len(survivors) == 1
        if matched:
            assert survivors[0] < 0
            assert not found.kept[members].any()
        else:
            wanted = members[0] if keep == "first" else members[-1]
            assert survivors[0] == wanted
            assert found.kept[members].sum() == 1
    gone = np.flatnonzero(~found.kept)
    wanted = [
        K[r, s] if s >= 0 else GMM()(X[[r]], other[[-1 - s]])[0, 0]
        for r, s in zip(gone, found.survivor[gone], strict=True)
    ]
    np.testing.assert_allclose(found.similarity[gone], wanted, rtol=1e-12)
    assert found.n_below == int((np.array(wanted) < 0.7).sum()) > 0


def test_clusters_are_numbered_by_their_first_row():
    np.testing.assert_array_equal(clusters_of(np.array([5, 5, -3, 2, 5, -3])), [0, 0, 1, 2, 0, 1])
    found = deduplicate(clustered_rows(2), 0.8, method="exact")
    assert found.cluster_sizes.sum() == 120
    _, first = np.unique(found.cluster, return_index=True)
    assert (np.diff(first) > 0).all()


def test_a_pair_is_given_once_with_its_similarity():
    X = clustered_rows(4)
    found = deduplicate(X, 0.8, method="exact")
    K = GMM()(X)
    first = first_equal_rows(X)
    own = first == np.arange(len(X))
    wanted = np.argwhere(np.triu((K >= 0.8) & own[:, None] & own[None, :], 1))
    np.testing.assert_array_equal(np.stack([found.pairs.i, found.pairs.j], axis=1), wanted)
    np.testing.assert_allclose(found.pairs.similarity, K[tuple(wanted.T)], rtol=1e-12)


# -- The compiled loop


def slow_leaders(earlier, later, similarity, kept, survivor, best):
    for row in range(len(kept)):
        options = [
            (s, -e)
            for e, b, s in zip(earlier, later, similarity, strict=True)
            if b == row and kept[e]
        ]
        if options and kept[row]:
            most, other = max(options)
            kept[row], survivor[row], best[row] = 0, -other, most


@pytest.mark.parametrize("seed", range(8))
def test_the_compiled_loop_is_the_slow_one(seed):
    random = np.random.default_rng(seed)
    n, count = 60, 150
    earlier = random.integers(0, n - 1, count)
    later = earlier + 1 + random.integers(0, n - 1 - earlier)
    later = np.minimum(later, n - 1)
    order = np.argsort(later, kind="stable")
    similarity = random.integers(5, 8, count) / 8  # many are equal
    start = (random.random(n) > 0.1).astype(np.uint8)
    ours = start.copy(), np.arange(n), np.ones(n)
    theirs = start.copy(), np.arange(n), np.ones(n)
    _core.leaders(earlier[order], later[order], similarity[order], *ours)
    slow_leaders(earlier, later, similarity, *theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(6))
def test_components_are_those_of_a_slow_search(seed):
    """Whatever the order of pairs and calls; rows with one match are connected by it."""
    random = np.random.default_rng(seed)
    n = 60
    i, j = random.integers(0, n, (2, 25 + 5 * seed))
    matches = None
    near = np.eye(n, dtype=bool)
    near[i, j] = near[j, i] = True
    match = np.full(n, -1)
    if seed % 2:
        some = random.choice(n, 12, replace=False)
        match[some] = random.integers(0, 6, 12)
        matches = Matches(match, np.where(match >= 0, 0.9, 0.0))
        near |= (match[:, None] == match[None, :]) & (match[:, None] >= 0)
    reached = np.linalg.matrix_power(near.astype(float), n) > 0
    rule = Components(n, matches)
    for start in range(0, len(i), 7):
        rule.add(i[start : start + 7], j[start : start + 7])
    decided = rule.decided()
    for row in range(n):
        members = np.flatnonzero(reached[row])
        matched = members[match[members] >= 0]
        wanted = -1 - match[matched[0]] if len(matched) else members[0]
        assert decided.survivor[row] == wanted
        assert decided.kept[row] == (wanted == row)


def test_leaders_in_several_calls():
    random = np.random.default_rng(0)
    earlier, later = np.nonzero(np.triu(random.random((50, 50)) < 0.1, 1))
    order = np.lexsort((earlier, later))
    earlier, later, s = earlier[order], later[order], random.random(len(order))
    whole, parts = Leaders(50), Leaders(50)
    whole.add(earlier, later, s)
    for row in range(50):
        parts.add(earlier[later == row], later[later == row], s[later == row])
    for one, other in zip(whole.decided(), parts.decided(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_loop_refuses_what_would_leave_its_arrays():
    state = np.ones(3, np.uint8), np.arange(3), np.ones(3)
    pair = np.array([0]), np.array([1]), np.array([0.5])
    with pytest.raises(ValueError, match="outside"):
        _core.leaders(np.array([7]), *pair[1:], *state)
    with pytest.raises(ValueError, match="ordered"):
        _core.leaders(np.array([0, 0]), np.array([2, 1]), np.ones(2), *state)
    with pytest.raises(ValueError, match="must match"):
        _core.leaders(*pair, state[0], np.arange(2), np.ones(3))


def test_a_match_goes_before_everything():
    matches = Matches(np.array([2, -1, -1]), np.array([0.9, 0.0, 0.0]))
    rule = Leaders(3, matches)
    rule.add(np.array([0, 1]), np.array([1, 2]), np.array([0.95, 0.8]))
    decided = rule.decided()
    np.testing.assert_array_equal(decided.kept, [False, True, False])
    np.testing.assert_array_equal(decided.survivor, [-3, 1, 1])
    chained = by_components(3, np.array([0, 1]), np.array([1, 2]), matches)
    np.testing.assert_array_equal(chained.survivor, [-3, -3, -3])


# -- Equal rows


@pytest.mark.parametrize("seed", range(4))
def test_equal_rows_whatever_their_storage(seed):
    X = clustered_rows(seed)
    X[::7] *= -0.0
    wanted = [
        next(j for j in range(len(X)) if j == i or (X[j] == X[i]).all()) for i in range(len(X))
    ]
    wide = sp.csr_matrix(X)
    explicit = sp.csr_matrix(
        (
            np.append(wide.data, 0.0),
            np.append(wide.indices, 3),
            np.append(wide.indptr[:-1], wide.nnz + 1),
        ),
        shape=X.shape,
    )
    for given in (X, wide, explicit, X.astype(np.float32), sp.csr_array(X)):
        np.testing.assert_array_equal(first_equal_rows(given), wanted)
        np.testing.assert_array_equal(row_fingerprints(given), row_fingerprints(X))


def test_equal_fingerprints_of_different_rows(monkeypatch):
    X = np.array([[1.0, 2], [2, 1], [1, 2], [2, 1], [3, 3], [0, 0], [0, 0]])
    monkeypatch.setattr(
        equal_rows, "row_fingerprints", lambda X: np.zeros(X.shape[0], dtype=np.uint64)
    )
    for given in (X, sp.csr_matrix(X)):
        np.testing.assert_array_equal(first_equal_rows(given), [0, 1, 0, 1, 4, 5, 5])
        apart = first_equal_rows(given, unite_empty=False)
        np.testing.assert_array_equal(apart, [0, 1, 0, 1, 4, 5, 6])


def test_pairs_are_compared_in_blocks(monkeypatch):
    monkeypatch.setattr(equal_rows, "_BLOCK_VALUES", 20)
    X = clustered_rows(0)
    a, b = np.arange(119), np.arange(1, 120)
    for given in (X, sp.csr_matrix(X)):
        np.testing.assert_array_equal(equal_pairs(given, a, given, b), (X[a] == X[b]).all(axis=1))
        np.testing.assert_array_equal(first_equal_rows(given), first_equal_rows(X))


def test_a_huge_group_of_equal_rows_costs_nothing():
    X = sp.csr_matrix(np.tile([[1.0, 0, 2], [0, 3, 0]], (100_000, 1)))
    found = deduplicate(X, 0.5)
    assert found.n_kept == 2
    assert found.n_identical == 199_998
    assert len(found.pairs.i) == 0


# -- Borders


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("sparse", [False, True])
def test_hardly_any_rows(n, sparse):
    X = np.ones((n, 3))
    found = deduplicate(sp.csr_matrix(X) if sparse else X)
    assert found.kept.tolist() == [True, False][:n]
    assert found.survivor.tolist() == [0, 0][:n]
    empty = np.zeros((0, 3))
    if n:
        assert deduplicate(X, against=empty).kept.tolist() == found.kept.tolist()


def test_only_rows_of_zeros():
    found = deduplicate(np.zeros((4, 2)), against=np.zeros((3, 2)))
    assert found.kept.all()
    assert found.n_identical == 0
    assert found.n_empty == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": 0}, "threshold must be above 0"),
        ({"threshold": 1.5}, "threshold must be a finite number, between 0 and 1, got 1.5"),
        ({"threshold": float("nan")}, "threshold must be a finite number"),
        ({"keep": "best"}, "keep must be one of 'first', 'last', got 'best'"),
        ({"linkage": "leaders"}, "did you mean 'leader'"),
        ({"against": np.ones((2, 9))}, "X has 3 columns but against has 9"),
        ({"p": -1}, "p must be a finite number above 0"),
        ({"recall": 2}, "recall must be"),
    ],
)
def test_wrong_arguments_are_one_sentence(change, message):
    with pytest.raises(ValueError, match=message) as caught:
        deduplicate(np.ones((4, 3)), **change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
@pytest.mark.parametrize("sparse", [False, True])
def test_whole_numbers_that_would_be_rounded_are_refused(kind, sparse):
    X = np.array([[2**53 + 1, 1], [2**53, 1]], dtype=kind)
    X = sp.csr_matrix(X) if sparse else X
    with pytest.raises(
        ValueError, match=r"9007199254740993 .* become the same in double precision"
    ):
        deduplicate(X)
    with pytest.raises(ValueError, match="against has the whole number 9007199254740993"):
        deduplicate(np.ones((1, 2)), against=X)
    assert deduplicate(X[:, 1:]).n_kept == 1


def test_nothing_a_user_gave_is_changed():
    X = clustered_rows(0)
    given = sp.csr_matrix(X)
    before = given.copy()
    for array in (X, given.data, given.indices, given.indptr):
        array.setflags(write=False)
    deduplicate(X, 0.8)
    deduplicate(given, 0.8, against=given[:5])
    assert (given != before).nnz == 0
