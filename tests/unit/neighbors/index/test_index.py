"""`Index` against its slow twin, through random lives; snapshots, scores, plans, versions."""

from __future__ import annotations

import os
import shutil
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import frozen, sampled
from index_twin import Twin
from scipy.stats import binom

from kernelight import GCWS, Codes, SignProjection, State
from kernelight.kernels import GMM, NGMM
from kernelight.neighbors import Index
from kernelight.neighbors.index import contents as contents_module
from kernelight.neighbors.index import join as join_module
from kernelight.neighbors.index.files import Files
from kernelight.neighbors.index.plan import plan_bands

WIDTH = 12


def rows_like(rng, n):
    """Rows in clusters of near duplicates; some are zero."""
    centers = rng.lognormal(0.0, 1.0, (8, WIDTH)) * (rng.random((8, WIDTH)) < 0.7)
    rows = centers[rng.integers(8, size=n)] * rng.lognormal(0.0, 0.08, (n, WIDTH))
    rows[:, 0] *= rng.choice([-1.0, 1.0], n)
    rows[rng.random(n) < 0.05] = 0.0
    return frozen(rows)


KINDS = {
    "dense": {},
    "sparse": {},
    "strings": {},
    "power": {"p": 0.5},
    "codes": {"store_rows": False},
    "signs": {"store_rows": False},
}


def create(path, kind, **more):
    settings = dict(KINDS[kind])
    fitted = (
        SignProjection(256).fit(np.ones((2, WIDTH)))
        if kind == "signs"
        else GCWS(64, p=settings.pop("p", 1.0)).fit(np.ones((2, WIDTH)))
    )
    return Index.create(path, fitted, **{"threshold": 0.8, "recall": 0.9, **settings, **more})


def given(kind, X):
    return sp.csr_matrix(X) if kind == "sparse" else X


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", sampled(range(6), 0))
def test_random_lives(tmp_path, kind, seed, monkeypatch):
    rng = np.random.default_rng([seed, sorted(KINDS).index(kind)])
    monkeypatch.setattr(contents_module, "_ADDED", 16)
    monkeypatch.setattr(contents_module, "_SPILLED", 1 << 15)
    index = create(tmp_path / "i", kind)
    twin, committed = Twin(index), {}
    name = (lambda n: f"r{n}é") if kind == "strings" else (lambda n: int(n) - 20)
    for _ in range(25):
        act = rng.choice(["add", "add", "replace", "remove", "commit", "compact", "reopen", "drop"])
        if act in ("add", "replace"):
            names = [name(n) for n in rng.choice(200, rng.integers(1, 40), replace=False)]
            if act == "add":
                names = [each for each in names if each not in twin.rows]
            X = rows_like(rng, len(names))
            index.add(names, given(kind, X), replace=act == "replace")
            twin.rows.update(zip(names, X, strict=True))
        elif act == "remove" and twin.rows:
            gone = [name for name in twin.rows if rng.random() < 0.3]
            assert index.remove([*gone, name(500)], missing="ignore") == len(gone)
            for each in gone:
                del twin.rows[each]
        elif act in ("commit", "compact"):
            getattr(index, act)()
            committed = dict(twin.rows)
        elif act in ("reopen", "drop"):
            if act == "reopen":
                index.commit()
                committed = dict(twin.rows)
            index.close()
            index, twin.rows = Index.open(tmp_path / "i", "a"), dict(committed)
        assert len(index) == len(twin.rows)
        Q = (
            rows_like(rng, 3)
            if rng.random() < 0.5 or not twin.rows
            else np.array([*twin.rows.values()])[:3]
        )
        ids, scores = index.search(given(kind, Q), threshold=0.85)
        for q, found in enumerate(twin.above(Q, 0.85)):
            assert ids[q].tolist() == [each for each, _ in found]
            np.testing.assert_allclose(scores[q], [score for _, score in found], rtol=1e-12)
    a, b, scores = index.pairs(0.8)
    found = twin.pairs(0.8)
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == [(a, b) for a, b, _ in found]
    np.testing.assert_allclose(scores, [score for *_, score in found], rtol=1e-12)
    index.commit()
    index.verify()
    with Index.open(tmp_path / "i") as reader:
        assert len(reader) == len(twin.rows)
    index.close()


def test_the_lives_meet_something(tmp_path):
    """The rows of the lives have similar pairs, of which bands miss some."""
    index = create(tmp_path / "i", "dense")
    X = rows_like(np.random.default_rng(1), 150)
    index.add(range(150), X)
    K = np.triu(GMM()(X), 1)
    found = len(index.pairs()[0])
    assert 0.9 < found / (K >= 0.8).sum() < 1.0
    index.close()


def test_the_nearest_are_those_of_the_kernel(tmp_path):
    rng = np.random.default_rng(0)
    X = frozen(rng.lognormal(size=(400, 30)))
    with Index.create(tmp_path / "i", GCWS(256).fit(X)) as index:
        index.add(np.arange(400)[::-1], X[::-1])
        ids, scores = index.search(X[:50], k=5)
        K = GMM()(X[:50], X)
        best = np.argsort(-K, axis=1, kind="stable")[:, :5]
        # codes say which rows are compared: the nearest is there, and nearly all others
        assert (ids[:, 0] == np.arange(50)).all()
        assert (ids == best).mean() > 0.9
        np.testing.assert_allclose(scores, np.take_along_axis(K, ids, axis=1), rtol=1e-12)
        assert (np.diff(scores, axis=1) <= 0).all()


def test_below_the_threshold_every_code_is_looked_at(tmp_path):
    rng = np.random.default_rng(0)
    X = frozen(rng.lognormal(size=(300, 20)))
    with Index.create(tmp_path / "i", GCWS(512).fit(X), threshold=0.95) as index:
        index.add(range(300), X)
        ids, scores = index.search(X[:40], threshold=0.4)
        K = GMM()(X[:40], X)
        truth = int((K >= 0.4).sum())
        assert truth > 400
        assert sum(map(len, ids)) > 0.99 * truth
        assert all((each >= 0.4).all() for each in scores)


def test_scores_of_codes_have_standard_errors(tmp_path):
    rng = np.random.default_rng(0)
    X = frozen(rng.lognormal(size=(60, 20)))
    with Index.create(tmp_path / "i", GCWS(256).fit(X), store_rows=False) as index:
        index.add(range(60), X)
        ids, scores, errors = index.search(X, k=60, return_std=True)
        found = ids >= 0
        truth = np.where(found, np.take_along_axis(GMM()(X), np.maximum(ids, 0), axis=1), np.nan)
        others = found & (errors > 0)
        z = (scores - truth)[others] / errors[others]
        assert others.sum() > 2000
        assert np.abs(z).max() < 6
        assert 0.8 < z.std() < 1.2
        with Index.create(tmp_path / "exact", GCWS(256).fit(X)) as exact:
            exact.add(range(60), X)
            assert exact.search(X, k=2, return_std=True)[2].max() == 0
        assert index.search(index.map.encode(X[:1]), k=1)[0][0, 0] == 0


@pytest.mark.parametrize(
    "fitted",
    [
        GCWS(256, normalize="l1").fit(np.ones((2, WIDTH))),
        GCWS(256, center=np.full(WIDTH, 0.5)).fit(np.ones((2, WIDTH))),
        GCWS(256, p=3.0).fit(np.ones((2, WIDTH))),
    ],
)
def test_exact_scores_of_other_kernels(tmp_path, fitted):
    X = rows_like(np.random.default_rng(3), 80)
    with Index.create(tmp_path / "i", fitted) as index:
        index.add(range(80), X)
        ids, scores = index.search(X, k=3)
        assert index.info()["scores"] == "exact"
    found = ids >= 0
    K = np.take_along_axis(fitted.kernel(X), np.maximum(ids, 0), axis=1)
    np.testing.assert_allclose(scores[found], K[found], rtol=1e-9)
    assert isinstance(fitted.kernel, (GMM, NGMM))


@pytest.mark.parametrize(("p", "size"), [(1.0, 1e301), (20.0, 1e-30), (20.0, 1e30)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_rows_of_any_size_are_found(tmp_path, p, size, form):
    """One row far from the others in size must not be in the way of a search for them."""
    X = np.random.default_rng(0).lognormal(size=(60, 10))
    far = X[:2] * [[size], [size * 1.001]]
    with Index.create(tmp_path / "i", GCWS(128, p=p).fit(X), threshold=0.8) as index:
        index.add(range(60), form(X))
        alone = index.search(form(X[:5]), k=2)
        index.add([1000, 1001], form(far))
        index.commit()
        found = index.search(form(X[:5]), k=2)
        assert found[0][:, 0].tolist() == [0, 1, 2, 3, 4]
        assert (found[1] >= alone[1] - 1e-12).all()
        found = index.search(form(far), k=1)
        assert found[0].tolist() == [[1000], [1001]]
        assert found[1].tolist() == [[1.0], [1.0]]
        assert 0 in index.search(form(X[:1]), threshold=0.9)[0][0].tolist()
        np.testing.assert_array_equal(index.pairs()[2] >= 0.8, True)


def test_a_reader_keeps_what_it_has_open(tmp_path):
    X = rows_like(np.random.default_rng(0), 90)
    with create(tmp_path / "i", "dense") as index:
        index.add(range(30), X[:30])
    reader = Index.open(tmp_path / "i")
    before = reader.search(X[:5], threshold=0.8)
    with Index.open(tmp_path / "i", "a") as writer:
        writer.add(range(30, 90), X[30:])
        writer.commit()
        writer.remove(range(0, 90, 2))
        writer.compact()
        writer.remove(range(1, 90, 2))
        writer.compact()
        assert len(writer) == 0
    assert len(reader) == 30
    reader.verify()
    for was, now in zip(before, reader.search(X[:5], threshold=0.8), strict=True):
        assert all((a == b).all() for a, b in zip(was, now, strict=True))
    assert len(Index.open(tmp_path / "i")) == 0


def test_a_reader_that_is_overtaken_opens_the_next_generation(tmp_path, monkeypatch):
    X = rows_like(np.random.default_rng(0), 20)
    with create(tmp_path / "i", "dense") as index:
        index.add(range(10), X[:10])
    real, turns = contents_module.open_segment, []

    def overtaken(*arguments):
        if not turns:
            turns.append(1)
            with Index.open(tmp_path / "i", "a") as writer:
                writer.add(range(10, 20), X[10:])
                writer.compact()
        return real(*arguments)

    monkeypatch.setattr(contents_module, "open_segment", overtaken)
    assert len(Index.open(tmp_path / "i")) == 20


def test_to_open_reads_no_array(tmp_path):
    X = rows_like(np.random.default_rng(0), 50)
    with create(tmp_path / "i", "dense") as index:
        index.add(range(50), X)
    (segment,) = (tmp_path / "i").glob("segment-*")
    content = bytearray(segment.read_bytes())
    header = 24 + int.from_bytes(content[16:24], "little")
    content[header:] = bytes(len(content) - header)
    segment.write_bytes(content)
    index = Index.open(tmp_path / "i")
    assert len(index) == 50
    with pytest.raises(ValueError, match="do not match their digest"):
        index.verify()


def test_many_commits_leave_few_segments(tmp_path):
    X = rows_like(np.random.default_rng(0), 60)
    with create(tmp_path / "i", "dense") as index:
        index._store.files = QuickFiles()
        for number in range(60):
            index.add([number], X[[number]])
            index.commit()
            assert index.info()["segments"] <= 8
        assert len(index) == 60


class QuickFiles(Files):
    """They do not wait for the disk."""

    def sync(self, handle):
        pass

    def sync_directory(self, path):
        pass


def test_the_recall_is_the_planned_one(tmp_path):
    """Pairs at the threshold, each with a seed of its own."""
    u = np.ones((1, 10))
    v = u.copy()
    v[0, :2] = 0.0  # similarity 0.8

    class Quick(Index):
        _files = QuickFiles

    found, n = 0, 300
    for seed in range(n):
        path = tmp_path / str(seed)
        with Quick.create(path, GCWS(128, random_state=seed), n_features=10, recall=0.8) as index:
            index.add([0], u)
            found += len(index.search(v, threshold=0.8)[0][0])
            expected = float(index.expected_recall(0.8))
    assert expected >= 0.8
    assert abs(found - n * expected) < 5 * np.sqrt(n * expected * (1 - expected))


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("recall", [0.5, 0.9, 0.95, 0.999])
def test_plans(threshold, recall):
    plan = plan_bands(256, 8, 1, threshold, recall)
    s = threshold + (1 - threshold) / 256
    bands = 1 - (1 - s**plan.rows) ** plan.bands
    passing = binom.sf(plan.least(threshold) - 1, plan.sketch, s)
    assert passing >= 0.999
    assert (
        binom.sf(plan.least(threshold), plan.sketch, s) < 1 - plan.lost
        or plan.least(threshold) == 64
    )
    np.testing.assert_allclose(plan.expected_recall(threshold), bands * passing, rtol=1e-9)
    assert bands * passing >= recall
    assert plan.bands * plan.rows <= 192
    assert plan.bands <= (16 if threshold > 0.3 else 32)


def test_an_index_without_stored_rows_takes_at_most_400_bytes_a_row(tmp_path):
    X = np.random.default_rng(0).lognormal(size=(20_000, 4))
    with Index.create(
        tmp_path / "i", GCWS(256).fit(X), threshold=0.5, recall=0.95, store_rows=False
    ) as index:
        index.add(range(20_000), X)
    info = Index.open(tmp_path / "i").info()
    assert info["bands"] >= 10
    assert info["bytes_a_row"] <= 400
    assert info["bytes"] == sum(file.stat().st_size for file in (tmp_path / "i").glob("*.kli"))


def test_what_is_attached_comes_back(tmp_path):
    state = State({"kind": "Example", "a": [1]}, {"w": np.arange(3.0)})
    create(tmp_path / "i", "dense", attached=state).close()
    assert Index.open(tmp_path / "i").attached == state
    assert create(tmp_path / "j", "dense").attached is None


def test_codes_of_16_bits_and_wide_rows(tmp_path):
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(3_000_000_000, size=(40, 30)), axis=1).ravel()
    starts = np.arange(0, 1201, 30)
    X = sp.csr_array((rng.lognormal(size=1200), columns, starts), shape=(40, 3_000_000_000))
    with Index.create(tmp_path / "i", GCWS(64, bits=16), n_features=X.shape[1]) as index:
        index.add(range(40), X)
        ids, scores = index.search(X, k=1)
        assert ids[:, 0].tolist() == list(range(40))
        assert (scores == 1).all()


def test_popular_buckets_are_reported(tmp_path):
    X = np.tile(np.arange(1.0, 5.0), (30, 1))
    with Index.create(tmp_path / "i", n_features=4) as index:
        for begin in (20, 0, 10):
            index.add(range(begin, begin + 10), X[:10])
            index.commit()
        assert len(index.pairs()[0]) == 30 * 29 // 2
        with pytest.warns(UserWarning, match="had more than 4 rows"):
            a, b, _ = index.pairs(cap=4)
        # each row meets the first four of all, in the order of ids
        wanted = [(a, b) for a in range(4) for b in range(a + 1, 30)]
        assert list(zip(a.tolist(), b.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("kind", ["dense", "strings", "codes", "16 bits"])
@pytest.mark.parametrize("cap", [1, 3, 20])
def test_pairs_of_popular_buckets(tmp_path, kind, cap):
    rng = np.random.default_rng(cap)
    X = np.concatenate([rows_like(rng, 60), np.repeat(rows_like(rng, 3), 15, axis=0)])
    rng.shuffle(X)
    names = [f"r{n}" if kind == "strings" else n for n in rng.permutation(len(X)).tolist()]
    if kind == "16 bits":
        fitted = GCWS(64, bits=16).fit(X)
        index = Index.create(tmp_path / "i", fitted, threshold=0.8, recall=0.9)
    else:
        index = create(tmp_path / "i", kind)
    twin = Twin(index)
    twin.rows.update(zip(names, X, strict=True))
    for begin in range(0, len(X), 35):
        index.add(names[begin : begin + 35], X[begin : begin + 35])
        index.commit()
    gone = names[::9]
    index.remove(gone)
    for name in gone:
        del twin.rows[name]
    with pytest.warns(UserWarning, match="had more than") if cap < 20 else nullcontext():
        a, b, scores = index.pairs(0.85, cap=cap)
    found = twin.pairs(0.85, cap)
    assert len(found) > 50
    assert (len(found) < len(twin.pairs(0.85))) == (cap < 20)
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == [(a, b) for a, b, _ in found]
    np.testing.assert_allclose(scores, [score for *_, score in found], rtol=1e-12)
    index.close()


def test_wide_rows_are_compared_in_parts(tmp_path, monkeypatch):
    """Rows that do not fit into memory together: the same pairs in smaller parts."""
    X = rows_like(np.random.default_rng(5), 400)
    results = []
    for gathered, pairs in ((1 << 26, 1 << 21), (1, 300)):
        monkeypatch.setattr(join_module, "_GATHERED", gathered)
        monkeypatch.setattr(join_module, "_PAIRS", pairs)
        for kind in ("dense", "sparse", "codes"):
            with create(tmp_path / f"{kind}{pairs}", kind) as index:
                index.add(range(400), given(kind, X))
                results.append([column.tolist() for column in index.pairs()])
    assert len(results[0][0]) > 1000
    assert results[:3] == results[3:]


# -- Files of older versions

GOLDEN = Path(__file__).parents[3] / "golden" / "index_1"


def golden_index(path):
    """What `GOLDEN` holds; to be run once for a format version, then never again."""
    X = np.arange(1.0, 25.0).reshape(6, 4) % 7
    fitted = GCWS(64, sampler="cws").fit(X)
    with Index.create(path, fitted, threshold=0.7) as index:
        index.add([f"row {n}" for n in range(6)], X)
        index.commit()
        index.remove(["row 2"])
        index.add(["row 9"], X[[2]])


def test_an_index_of_format_version_1_loads(tmp_path):
    shutil.copytree(GOLDEN, tmp_path / "i")
    X = np.arange(1.0, 25.0).reshape(6, 4) % 7
    with Index.open(tmp_path / "i", "a") as index:
        index.verify()
        assert len(index) == 6
        ids, scores = index.search(X, k=1)
        assert ids[:, 0].tolist() == ["row 0", "row 1", "row 9", "row 3", "row 4", "row 5"]
        assert (scores[:, 0] == 1).all()
        index.compact()


def test_the_golden_index_is_still_written_so(tmp_path):
    golden_index(tmp_path / "i")
    for file in sorted(GOLDEN.iterdir()):
        assert (tmp_path / "i" / file.name).read_bytes() == file.read_bytes(), file.name
    assert set(os.listdir(tmp_path / "i")) - set(os.listdir(GOLDEN)) == {"LOCK"}


def test_codes_can_be_added_where_rows_are_not_stored(tmp_path):
    X = rows_like(np.random.default_rng(0), 30)
    with create(tmp_path / "a", "codes") as one, create(tmp_path / "b", "codes") as other:
        one.add(range(30), X)
        other.add(range(30), one.map.encode(X))
        assert one.pairs()[2].tolist() == other.pairs()[2].tolist()
        assert isinstance(one.map.encode(X), Codes)
