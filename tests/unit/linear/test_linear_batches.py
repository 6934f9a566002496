"""partial_fit reaches the solution of fit; second-order methods solve slow problems."""

from __future__ import annotations

import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import sampled
from sklearn.datasets import load_digits, make_regression
from threadpoolctl import threadpool_info, threadpool_limits

import kernelight
from kernelight import GCWS, LinearClassifier, LinearRegressor
from kernelight.linear import active_set_newton, batches, replay, second_order

DIGITS, LABELS = load_digits(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(LABELS))
DIGITS, LABELS = DIGITS[ORDER] / 16, LABELS[ORDER]
# A quarter of the labels is wrong: one visit to each row underfits them, counting rows twice
# overfits them.
NOISY = np.where(np.random.default_rng(1).random(len(LABELS)) < 0.25, (LABELS + 3) % 10, LABELS)
TRAIN, TEST = slice(0, 1200), slice(1200, None)
CODES = GCWS(128).fit(DIGITS).encode(DIGITS)


def in_batches(model, X, y, size, passes=3, **first):
    for _ in range(passes):
        for start in range(0, X.shape[0], size):
            model.partial_fit(X[start : start + size], y[start : start + size], **first)
    return model


@pytest.mark.parametrize("size", [60, 400])
@pytest.mark.parametrize("C", sampled([1.0, 10.0], 10.0))
@pytest.mark.parametrize("y", [LABELS, NOISY], ids=["clean", "noisy"])
@pytest.mark.parametrize("kind", ["codes", "dense", "sparse"])
def test_three_passes_reach_the_batch_solution(kind, y, C, size):
    X = {"codes": CODES, "dense": DIGITS, "sparse": sp.csr_matrix(DIGITS)}[kind]
    whole = LinearClassifier(C=C).fit(X[TRAIN], y[TRAIN]).score(X[TEST], y[TEST])
    parts = in_batches(LinearClassifier(C=C), X[TRAIN], y[TRAIN], size, classes=range(10))
    # half a point, and two of the 597 rows, as a few lie at the border of two classes
    assert parts.score(X[TEST], y[TEST]) >= whole - 0.005 - 2 / 597
    assert parts.n_seen_ == 3 * 1200


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_other_losses_learn_from_batches(loss):
    whole = LinearClassifier(loss).fit(CODES[TRAIN], LABELS[TRAIN]).score(CODES[TEST], LABELS[TEST])
    parts = in_batches(LinearClassifier(loss), CODES[TRAIN], LABELS[TRAIN], 200, classes=range(10))
    assert parts.score(CODES[TEST], LABELS[TEST]) >= whole - 0.005 - 2 / 597


def test_regression_in_batches():
    X, y = make_regression(600, 8, noise=5.0, random_state=0)
    y = y / y.std()
    whole = LinearRegressor().fit(X[:400], y[:400]).score(X[400:], y[400:])
    parts = in_batches(LinearRegressor(), X[:400], y[:400], 100)
    assert parts.score(X[400:], y[400:]) >= whole - 0.005
    with pytest.raises(ValueError, match="on the first call"):
        parts.partial_fit(X[:5], np.zeros((5, 2)))


def test_the_replay_buffer_is_bounded(monkeypatch):
    monkeypatch.setattr(batches, "BUFFER_BYTES", 300 * 128)
    model = in_batches(
        LinearClassifier(), CODES[TRAIN], LABELS[TRAIN], 200, passes=1, classes=range(10)
    )
    assert len(model._batch_state.buffer) == 300
    kept, gone = model._batch_state.buffer.within(100 * 128)
    assert len(kept) == 100
    assert np.abs(kept.dual).sum(axis=1).min() >= np.abs(gone.dual).sum(axis=1).max()


@pytest.mark.parametrize("kind", ["codes", "dense", "sparse"])
def test_rows_that_come_again_are_recognised(monkeypatch, kind):
    monkeypatch.setattr(batches, "BUFFER_BYTES", 100 * 128)
    # of most rows only the duals are kept
    X = {"codes": CODES, "dense": DIGITS, "sparse": sp.csr_matrix(DIGITS)}[kind][:300]
    model = in_batches(LinearClassifier(), X, LABELS[:300], 75, passes=3, classes=range(10))
    again = np.random.default_rng(0).permutation(300)  # other batches
    in_batches(model, X[again], LABELS[:300][again], 60, passes=1)
    total = (
        np.abs(model._batch_state.buffer.dual).sum() + np.abs(model._batch_state.ledger.dual).sum()
    )
    whole = LinearClassifier(warm_start=True).fit(X, LABELS[:300])
    assert len(model._batch_state.buffer) + len(model._batch_state.ledger) <= 300
    assert total < 1.1 * np.abs(whole._duals).sum()


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_equal_rows_count_as_often_as_they_come(loss):
    """Every batch repeats two kinds of rows, of which 9 in 10 and 2 in 3 are of class 1."""
    X = np.tile([[1.0, 0.0]] * 10 + [[0.0, 1.0]] * 6, (100, 1))
    y = np.tile([1] * 9 + [0] + [1] * 4 + [0] * 2, 100)
    mixed = np.random.default_rng(0).permutation(1600)
    whole = LinearClassifier(loss=loss).fit(X, y)
    parts = in_batches(
        LinearClassifier(loss=loss), X[mixed], y[mixed], 100, passes=3, classes=[0, 1]
    )
    assert parts._batch_state.data_pass.n_rows == 1600
    assert len(parts._batch_state.buffer) == 1600
    kinds = np.eye(2)
    np.testing.assert_allclose(
        parts.decision_function(kinds), whole.decision_function(kinds), atol=0.02
    )


def test_a_pass_begins_with_a_known_batch_or_known_rows(monkeypatch):
    monkeypatch.setattr(batches, "BUFFER_BYTES", 100 * 128)
    X, y = CODES[:300], LABELS[:300]
    model = in_batches(LinearClassifier(), X, y, 50, passes=1, classes=range(10))
    assert (model._batch_state.data_pass.n_rows, model._batch_state.data_pass.n_equal) == (300, 0)
    for start in (100, 0, 250):  # in another order
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    assert model._batch_state.data_pass.n_rows == 150
    again = np.random.default_rng(0).permutation(300)
    in_batches(model, X[again], y[again], 60, passes=1)
    # half of the rows had come in this pass already, and count again
    assert len(model._batch_state.buffer) + len(model._batch_state.ledger) <= 450
    in_batches(model, X[again], y[again], 60, passes=1)
    assert model._batch_state.data_pass.n_rows == 300


def test_the_ledger_is_bounded(monkeypatch):
    monkeypatch.setattr(batches, "BUFFER_BYTES", 10 * 128)
    monkeypatch.setattr(replay, "LEDGER_BYTES", 100 * (8 + 4 * 10 + 1))
    model = in_batches(
        LinearClassifier(), CODES[:300], LABELS[:300], 50, passes=2, classes=range(10)
    )
    assert 50 <= len(model._batch_state.ledger) <= 100
    assert (np.diff(model._batch_state.ledger.fingerprints.astype(object)) >= 0).all()
    assert model.score(CODES[TEST], LABELS[TEST]) > 0.85


def test_equal_keys_are_matched_once():
    stored = np.array([5, 3, 5, 9, 5], dtype=np.uint64)
    keys = np.array([5, 4, 5, 9, 5, 5, 3], dtype=np.uint64)
    assert replay.match_once(keys, stored).tolist() == [0, -1, 2, 3, 4, -1, 1]
    assert replay.match_once(keys, np.sort(stored), ascending=True).tolist() == [
        1,
        -1,
        2,
        4,
        3,
        -1,
        0,
    ]
    assert replay.match_once(keys[:0], stored).tolist() == []
    assert replay.match_once(keys, stored[:0]).tolist() == [-1] * 7


def test_wrong_batches_are_refused():
    model = LinearClassifier()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(CODES[:10], LABELS[:10])
    assert not hasattr(model, "classes_")
    model.partial_fit(CODES[:10], LABELS[:10], classes=range(10))
    before = model.decision_function(CODES)
    for y, classes, message in (
        (LABELS[:10], range(9), "not the same as on the first call"),
        (LABELS[:10] + 5, None, "not one of classes"),
        (LABELS[:9], None, "inconsistent numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(CODES[:10], y, classes=classes)
    with pytest.raises(ValueError, match="provenance"):
        model.partial_fit(GCWS(128, random_state=1).fit(DIGITS).encode(DIGITS[:10]), LABELS[:10])
    with pytest.raises(ValueError, match="balanced"):
        LinearClassifier(class_weight="balanced").partial_fit(
            CODES[:10], LABELS[:10], classes=range(10)
        )
    np.testing.assert_array_equal(model.decision_function(CODES), before)


def test_a_model_goes_on_from_a_fit_a_file_or_a_pickle(tmp_path):
    model = LinearClassifier().fit(CODES[:600], LABELS[:600])
    model.save(tmp_path / "m.kl")
    before = model.score(CODES[TEST], LABELS[TEST])
    for each in (model, kernelight.load(tmp_path / "m.kl"), pickle.loads(pickle.dumps(model))):
        in_batches(each, CODES[600:1200], LABELS[600:1200], 200, passes=1)
        assert each.score(CODES[TEST], LABELS[TEST]) >= before
        assert np.isnan(each.objective_).all()
        assert not {"_batch_state", "_duals", "_tables"} & set(each.__getstate__())
        each.save(tmp_path / "after.kl")
        after = kernelight.load(tmp_path / "after.kl")
        np.testing.assert_array_equal(after.decision_function(CODES), each.decision_function(CODES))


def test_codes_first_seen_in_a_later_batch_count():
    first, second = CODES[LABELS < 5], CODES[LABELS >= 5]
    model = LinearClassifier().partial_fit(first, LABELS[LABELS < 5], classes=range(10))
    known = model._seen().sum()
    model.partial_fit(second, LABELS[LABELS >= 5])
    assert model._seen().sum() > known
    assert model.score(second, LABELS[LABELS >= 5]) > 0.9


def test_the_number_of_threads_does_not_matter():
    one, two = (
        in_batches(
            LinearClassifier(n_jobs=jobs), CODES[TRAIN], LABELS[TRAIN], 300, classes=range(10)
        )
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.weights_, two.weights_)


@pytest.mark.parametrize("kind", ["codes", "dense", "sparse"])
def test_newton_solves_slow_problems(monkeypatch, kind):
    X = {"codes": CODES.first(8), "dense": DIGITS, "sparse": sp.csr_matrix(DIGITS)}[kind][:500]
    y = LABELS[:500]
    options = {"C": 1000.0, "tol": 1e-6, "max_iter": 20_000}
    with_newton = LinearClassifier(**options).fit(X, y)
    monkeypatch.setattr(second_order, "improve", lambda group, expected: False)
    without = LinearClassifier(**options).fit(X, y)
    assert (with_newton.dual_gap_ <= 1e-6 * with_newton.objective_).all()
    assert with_newton.n_iter_ < without.n_iter_ / 2
    np.testing.assert_allclose(with_newton.objective_, without.objective_, rtol=2e-6)


@pytest.mark.parametrize("hinge", [True, False])
def test_newton_solves_the_problem_of_its_rows(hinge):
    random = np.random.default_rng(0)
    Z = random.normal(size=(60, 5))
    K = Z @ Z.T
    y = np.sign(random.normal(size=60)) if hinge else random.normal(size=60)
    cost = random.uniform(0.5, 50.0, 60)
    dual = active_set_newton.solve(K, y, cost, np.zeros(60), hinge, tol=0.0)
    margin = K @ dual
    error = np.maximum(0, 1 - y * margin) * y if hinge else y - margin
    # where the gradient is 0
    np.testing.assert_allclose(dual, 2 * cost * error, rtol=1e-6, atol=1e-6)


def test_newton_stays_within_its_memory():
    used, most = [0], [0]
    lock = threading.Lock()

    def work(n_rows):
        with active_set_newton.reserved_memory(n_rows):
            with lock:
                used[0] += n_rows**2
                most[0] = max(most[0], used[0])
            time.sleep(0.001)
            with lock:
                used[0] -= n_rows**2

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [1000, 1700, 1200, 10, 1300, 900] * 5))
    assert 0 < most[0] <= active_set_newton.MAX_ROWS**2


@pytest.mark.parametrize("outer", [None, 2])
def test_newton_has_one_thread_of_blas_and_gives_the_others_back(monkeypatch, outer):
    """Also if the fit has threads of its own, and if a limit was set outside."""

    def blas():
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    threads, solve = [], active_set_newton.solve
    monkeypatch.setattr(
        active_set_newton, "solve", lambda *args: threads.append(blas()) or solve(*args)
    )
    y = np.concatenate([np.arange(20), np.random.default_rng(0).integers(0, 20, 480)])
    with threadpool_limits(outer):
        before = blas()
        LinearClassifier(C=1000.0, tol=1e-6, max_iter=200, n_jobs=2).fit(CODES[:500], y)
        assert blas() == before
    assert threads
    assert all(each == {1} for each in threads)


def test_a_path_goes_on_where_newton_ended():
    """Once coordinate descent is slow for some C, larger C need no epochs."""
    options = {"tol": 1e-4, "max_iter": 20_000}
    path = LinearClassifier(**options).fit_path(
        CODES.first(8)[:500], LABELS[:500], [100.0, 300.0, 1000.0]
    )
    assert path.models[0].n_iter_ > 0
    assert path.models[-1].n_iter_ == 0
    cold = LinearClassifier(C=1000.0, **options).fit(CODES.first(8)[:500], LABELS[:500])
    np.testing.assert_allclose(path.models[-1].objective_, cold.objective_, rtol=2e-4)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_arrays_of_a_batch_may_be_filled_again(kind):
    fresh = in_batches(
        LinearClassifier("hinge"), DIGITS[TRAIN], LABELS[TRAIN], 400, classes=range(10)
    )
    model = LinearClassifier("hinge")
    array = np.empty((400, DIGITS.shape[1]))
    for _ in range(3):
        for start in range(0, 1200, 400):
            array[:] = DIGITS[start : start + 400]
            rows = sp.csr_matrix(array) if kind == "sparse" else array
            model.partial_fit(rows, LABELS[start : start + 400], classes=range(10))
            if kind == "sparse":
                rows.data[:] = 0
    np.testing.assert_allclose(model.coef_, fresh.coef_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
@pytest.mark.parametrize("less", ["C", "weight"])
def test_smaller_costs_are_followed(loss, less):
    """With a smaller C, or smaller sample weights, passes approach the solution for these."""
    y = (LABELS[TRAIN] > 4).astype(int)
    model = LinearClassifier(loss, C=100.0)
    for _ in range(3):
        model.partial_fit(DIGITS[TRAIN], y, classes=[0, 1])
    small = LinearClassifier(loss, C=0.01).fit(DIGITS[TRAIN], y)
    weights = np.full(len(y), 1e-4 if less == "weight" else 1.0)
    if less == "C":
        model.C = 0.01
    for _ in range(30):
        model.partial_fit(DIGITS[TRAIN], y, sample_weight=weights)

    def objective(of):
        margins = np.where(y == 1, 1, -1) * of.decision_function(DIGITS[TRAIN])
        error = np.logaddexp(0, -margins) if loss == "logistic" else np.maximum(0, 1 - margins)
        error = error**2 if loss == "squared_hinge" else error
        return 0.5 * (of.coef_**2).sum() + 0.5 * of.intercept_[0] ** 2 + 0.01 * error.sum()

    assert objective(model) < 1.05 * objective(small)


def test_a_batch_without_rows_is_refused():
    model = LinearClassifier().partial_fit(CODES[:100], LABELS[:100], classes=range(10))
    with pytest.raises(ValueError, match="X has no rows: a batch needs at least 1"):
        model.partial_fit(CODES[:0], LABELS[:0])
    with pytest.raises(ValueError, match="contains NaN"):
        LinearClassifier().partial_fit(CODES[:100], LABELS[:100], classes=[*range(10), np.nan])
