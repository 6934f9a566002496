"""KernelNystroem at its borders: wrong arguments, wrong data, states that hold anything."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import signed_rows
from sklearn.exceptions import NotFittedError

from kernelight import KernelNystroem
from kernelight.kernels import GMM, AcosChi2, MinMax
from kernelight.state import State

ROWS = signed_rows(0, 12, 4)
SQUARE = GMM()(ROWS)
SENTENCE = r"^[^\n]+\.$"


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"n_components": 0}, ValueError, "n_components must be at least 1, got 0"),
        ({"n_components": 2.0}, TypeError, "n_components must be a whole number"),
        ({"n_components": None}, TypeError, "n_components must be a whole number"),
        ({"random_state": "x"}, TypeError, "random_state must be"),
        ({"random_state": -1}, ValueError, "random_state must be"),
        ({"kernel": "gmn"}, ValueError, "did you mean 'gmm'?"),
        ({"kernel": None}, TypeError, "kernel must be a kernel such as GMM()"),
        ({"kernel": GMM}, TypeError, "kernel must be a kernel such as GMM()"),
        ({"kernel": 3}, TypeError, "kernel must be a kernel such as GMM()"),
        (
            {"landmarks": "kmeans"},
            ValueError,
            "landmarks must be one of None, 'random', 'kmeans++'",
        ),
        ({"landmarks": "given"}, ValueError, "landmarks must be one of"),
        ({"landmarks": ROWS[:3, :2]}, ValueError, "X has 4 columns but landmarks has 2"),
        ({"landmarks": ROWS[0]}, ValueError, "landmarks must have rows and columns"),
        ({"landmarks": ROWS[:0]}, ValueError, "landmarks must have at least one row"),
        (
            {"landmarks": [[np.nan] * 4]},
            ValueError,
            "Input landmarks contains NaN at row 0, column 0",
        ),
        ({"landmarks": 5}, ValueError, "landmarks must have rows and columns"),
        ({"kernel": MinMax()}, ValueError, "MinMax needs nonnegative values"),
        ({"kernel": GMM(center=(1.0, 2.0))}, ValueError, "center has 2 values"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(options, kind, words):
    with pytest.raises(kind, match=re.escape(words)) as caught:
        KernelNystroem(**{"n_components": 5} | options).fit(ROWS)
    assert re.match(r"^[^\n]+[.?]$", str(caught.value))


@pytest.mark.parametrize(
    ("landmarks", "words"),
    [
        ([0, 12], "landmarks must be between 0 and 11"),
        ([-1, 3], "landmarks must be between 0 and 11"),
        ([], "landmarks must be a list of indices"),
        ([0.5], "landmarks must be a list of indices"),
        ([[1, 2]], "landmarks must be a list of indices"),
        (np.ones(12, bool), "landmarks must be a list of indices"),
        (SQUARE, "got ndarray of dtype float64 and 2 dimension"),
        (sp.csr_matrix(SQUARE), "got csr_matrix of"),
        ([[1], [2, 3]], "landmarks must be a list of indices"),
    ],
)
def test_bad_landmarks_of_a_precomputed_kernel(landmarks, words):
    with pytest.raises(ValueError, match=words) as caught:
        KernelNystroem("precomputed", landmarks=landmarks).fit(SQUARE)
    assert re.match(SENTENCE, str(caught.value))


def test_a_precomputed_kernel_is_square_at_fit():
    with pytest.raises(ValueError, match=r"the square matrix .* got 12 rows and 5 columns\.$"):
        KernelNystroem("precomputed", 3).fit(SQUARE[:, :5])
    made = KernelNystroem("precomputed", 3).fit(SQUARE)
    with pytest.raises(ValueError, match="12 features"):
        made.transform(SQUARE[:, :5])


def test_a_fit_that_fails_leaves_no_half_of_a_map():
    made = KernelNystroem("precomputed", 3)
    with pytest.raises(ValueError, match="the square matrix"):
        made.fit(SQUARE[:, :5])
    for ask in (lambda: made.transform(SQUARE), made.to_state, made.get_feature_names_out):
        with pytest.raises(NotFittedError):
            ask()


@pytest.mark.parametrize("calls", range(3))
def test_an_interrupted_fit_leaves_the_map_as_it_was(calls):
    left = [99]

    def kernel(X, Y):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return X @ Y.T

    made = KernelNystroem(kernel, 3, landmarks="kmeans++").fit(ROWS)
    wanted = made.transform(ROWS)
    left[0] = calls
    with pytest.raises(KeyboardInterrupt):
        made.fit(signed_rows(1, 9, 3))
    left[0] = 99
    np.testing.assert_array_equal(made.transform(ROWS), wanted)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda X, Y: np.ones(len(X)), "kernel(X, Y) must have rows and columns"),
        (lambda X, Y: np.ones((len(X), len(Y) + 1)), "must return an array of shape (1, 5)"),
        (lambda X, Y: np.full((len(X), len(Y)), np.nan), "contains NaN"),
        (lambda X, Y: np.full((len(X), len(Y)), "a"), "not a number"),
        (lambda X, Y: None, "must return an array"),
        (lambda X, Y: np.ones((len(X), len(Y)), complex), "Complex data not supported"),
    ],
)
def test_what_a_callable_returns_is_checked(returned, words):
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        KernelNystroem(returned, 5).fit(ROWS)
    assert str(caught.value).startswith("The callable kernel must return")


@pytest.mark.parametrize("storage", [np.copy, sp.csr_matrix], ids=["dense", "sparse"])
def test_a_callable_cannot_change_what_it_is_given(storage):
    def changing(X, Y, side):
        given = (X, Y)[side]
        (given.data if sp.issparse(given) else given)[:] = 0
        return X @ Y.T

    for side in range(2):
        for landmarks in (None, "kmeans++", storage(ROWS[:3])):
            X = storage(ROWS)
            made = KernelNystroem(
                lambda X, Y, side=side: changing(X, Y, side), 3, landmarks=landmarks
            )
            with pytest.raises(ValueError, match="read-only"):
                made.fit(X)
            assert (storage(ROWS) != X).sum() == 0


def test_landmarks_have_the_columns_of_the_rows():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(ROWS, columns=list("abcd"))
    wanted = KernelNystroem(landmarks=ROWS[:3]).fit(ROWS).transform(ROWS)
    for landmarks, rows in (
        (X[:3], X),
        (X[:3], ROWS),
        (ROWS[:3], X),
        (X[:3][list("dcba")], X[list("dcba")]),
    ):
        np.testing.assert_allclose(
            KernelNystroem(landmarks=landmarks).fit_transform(rows), wanted, atol=1e-12
        )
    for names in (list("dcba"), list("abce")):
        with pytest.raises(
            ValueError, match=r"^The columns of landmarks must have the names [^\n]+\.$"
        ):
            KernelNystroem(landmarks=X[:3].set_axis(names, axis=1)).fit(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("K", "words"),
    [
        (-np.eye(12), "must be above 0, but none is"),
        (np.ones((12, 12)) - np.eye(12), "is it a distance?"),
        (np.linalg.norm(ROWS[:, None] - ROWS, axis=2), "is it a distance?"),
        (-np.linalg.norm(ROWS[:, None] - ROWS, axis=2), "is it a distance?"),
        (np.random.default_rng(0).random((12, 12)) + 5 * np.eye(12), "not symmetric"),
        (np.triu(np.ones((12, 12))), "not symmetric"),
        (np.triu(np.ones((12, 12))) - np.tril(np.ones((12, 12)), -1), "not symmetric"),
    ],
)
def test_what_is_no_kernel_is_refused(K, words, dtype):
    K = K.astype(dtype)
    for landmarks in ("random", "kmeans++"):
        made = KernelNystroem("precomputed", 12, landmarks=landmarks)
        for given in (K, sp.csr_matrix(K)):
            with pytest.raises(ValueError, match=re.escape(words)) as caught:
                made.fit(given)
            assert re.match(SENTENCE, str(caught.value))
        with pytest.raises(ValueError, match=re.escape(words)):
            made.set_params(kernel=lambda X, Y: K[X[:, 0].astype(int)][:, Y[:, 0].astype(int)]).fit(
                np.arange(12.0)[:, None]
            )


def test_a_callable_may_return_integers_lists_and_sparse_matrices():
    def overlap(X, Y):
        return ((X > 0).astype(int) @ (Y > 0).astype(int).T) + np.eye(len(X), len(Y), dtype=int) * 0

    wanted = KernelNystroem(overlap, 5).fit(ROWS).transform(ROWS)
    for form in (np.ndarray.tolist, sp.csr_matrix, np.float32):
        made = KernelNystroem(lambda X, Y, form=form: form(overlap(X, Y)), 5).fit(ROWS)
        np.testing.assert_allclose(
            made.transform(ROWS) @ made.transform(ROWS).T, wanted @ wanted.T, atol=1e-4
        )


def test_rows_that_the_kernel_refuses():
    made = KernelNystroem(MinMax(), 5).fit(np.abs(ROWS))
    with pytest.raises(ValueError, match="MinMax needs nonnegative values, but X has"):
        made.transform(ROWS)
    with pytest.raises(ValueError, match="A center cannot go with sparse input"):
        KernelNystroem(GMM(center=(0.0,) * 4), 5).fit(sp.csr_matrix(ROWS))


def test_one_row_one_column():
    with pytest.warns(UserWarning, match="all rows are landmarks"):
        made = KernelNystroem().fit([[2.0]])
    assert made.transform([[2.0], [1.0], [0.0], [-2.0]]).tolist() == [[1.0], [0.5], [0.0], [0.0]]


def dense_state():
    return KernelNystroem(AcosChi2(), 5).fit(np.abs(ROWS)).to_state()


def sparse_state():
    return KernelNystroem(n_components=5).fit(sp.csr_matrix(ROWS)).to_state()


def precomputed_state():
    return KernelNystroem("precomputed", 5).fit(SQUARE).to_state()


BROKEN_ARRAYS = [
    (dense_state, {"normalization_": None}),
    (dense_state, {"normalization_": np.ones((4, 4))}),
    (dense_state, {"normalization_": np.ones((5, 6))}),
    (dense_state, {"normalization_": np.ones(5)}),
    (dense_state, {"normalization_": np.full((5, 5), np.nan)}),
    (dense_state, {"normalization_": np.ones((5, 5), np.float32)}),
    (dense_state, {"_landmark_values": None}),
    (dense_state, {"_landmark_values": np.ones((5, 3))}),
    (dense_state, {"_landmark_values": np.ones((0, 4)), "normalization_": np.ones((0, 0))}),
    (dense_state, {"_landmark_values": np.full((5, 4), np.inf)}),
    (dense_state, {"_landmark_values": np.full((5, 4), -1.0)}),
    (dense_state, {"_landmark_values": np.ones((5, 4), np.int64)}),
    (dense_state, {"component_indices_": np.arange(4)}),
    (dense_state, {"component_indices_": np.ones(5)}),
    (sparse_state, {"_landmark_columns": None}),
    (sparse_state, {"_landmark_starts": None}),
    (sparse_state, {"_landmark_columns": np.full(20, 4, np.int32)}),
    (sparse_state, {"_landmark_columns": np.full(20, -1, np.int32)}),
    (sparse_state, {"_landmark_columns": np.zeros(3, np.int32)}),
    (sparse_state, {"_landmark_starts": np.array([0, 4, 8, 12, 16, 2**40])}),
    (sparse_state, {"_landmark_starts": np.array([0, 8, 4, 12, 16, 20])}),
    (sparse_state, {"_landmark_starts": np.array(7)}),
    (sparse_state, {"_landmark_starts": np.zeros(0, np.int32)}),
    (sparse_state, {"_landmark_values": np.ones((5, 4))}),
    (precomputed_state, {"component_indices_": None}),
    (precomputed_state, {"component_indices_": np.array([0, 1, 2, 3, 12])}),
    (precomputed_state, {"component_indices_": np.array([0, 1, 2, 3, -1])}),
]


@pytest.mark.parametrize(("made", "changed"), BROKEN_ARRAYS)
def test_a_state_may_hold_anything(made, changed):
    state = made()
    arrays = dict(state.arrays) | changed
    broken = State(state.meta, {name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(
        ValueError, match="This state does not describe a KernelNystroem: "
    ) as caught:
        KernelNystroem.from_state(broken)
    assert re.match(SENTENCE, str(caught.value))


@pytest.mark.parametrize(
    "changed",
    [
        {"kernel": "gmn"},
        {"kernel": None},
        {"kernel": {"kind": "GMM"}},
        {"kernel": "precomputed"},
        {"kernel": {"kind": "GMM", "p": 1.0, "center": [1.0]}},
        {"random_state": None, "more": 1},
    ],
)
def test_parameters_of_a_state_are_checked(changed):
    state = dense_state()
    meta = state.meta | {"params": state.meta["params"] | changed}
    if changed["kernel" if "kernel" in changed else "more"] == "precomputed":
        meta["n_features_in"] = 3  # fewer than the numbers of the landmarks
    with pytest.raises(ValueError, match="This state does not describe a KernelNystroem: "):
        KernelNystroem.from_state(State(meta, dict(state.arrays)))


@pytest.mark.parametrize("seed", ["1", -1, 2.5, None])
def test_decisions_of_a_state_are_checked(seed):
    state = dense_state()
    with pytest.raises(ValueError, match="This state does not describe a KernelNystroem: "):
        KernelNystroem.from_state(
            State(state.meta | {"decided": {"seed_": seed}}, dict(state.arrays))
        )


@pytest.mark.parametrize(
    "changed",
    [
        {"n_features_in": 2**63},
        {"n_features_in": 2**62 + 1},
        {"feature_names_in": ["a", "b", "c"]},
        {"feature_names_in": ["a", "b", "c", 4]},
        {"feature_names_in": "abcd"},
        {"feature_names_in": None},
        {"feature_names_in": {"a": 1}},
    ],
    ids=repr,
)
def test_features_of_a_state_are_checked(changed):
    state = sparse_state()
    with pytest.raises(
        ValueError, match=r"^This state does not describe a KernelNystroem: [^\n]+\.$"
    ):
        KernelNystroem.from_state(State(state.meta | changed, dict(state.arrays)))
