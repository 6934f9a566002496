"""KernelNystroem against the kernel on its landmarks, scikit-learn, and itself by another way."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import frozen, signed_rows
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kernelight import KernelNystroem, kernels
from kernelight.kernels import GMM, RBF, Acos, Gaussian, Intersection, MinMax, pairs
from kernelight.maps.nystroem import kernel_nystroem
from kernelight.maps.nystroem.landmarks import spread_rows

ROWS = signed_rows(0, 60, 9)
KERNELS = [
    GMM(),
    GMM(p=0.5, center=(0.5,) * 9),
    Intersection(),
    kernels.ExpGMM(gamma=3.0),
    kernels.NGMM(),
    RBF(gamma=2.0),
    Gaussian(sigma=2.0),
    kernels.FoldedRBF(),
    kernels.Linear(),
    GMM() * RBF(gamma=3.0),
]


def products(made, X, Y=None):
    features = made.transform(X)
    return features @ (features if Y is None else made.transform(Y)).T


def projection(K, landmarks):
    """K(x, L) K(L, L)^+ K(L, y), once more and slowly."""
    return (
        K[:, landmarks]
        @ np.linalg.pinv(K[np.ix_(landmarks, landmarks)], hermitian=True)
        @ K[landmarks]
    )


def laplacian(X, Y):
    return laplacian_kernel(X, Y, gamma=0.1)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("landmarks", ["random", "kmeans++"])
def test_exact_on_landmarks_and_a_projection_elsewhere(kernel, landmarks):
    made = KernelNystroem(kernel, 20, landmarks=landmarks).fit(ROWS)
    L, K = made.component_indices_, kernel(ROWS)
    assert (made.components_ == ROWS[L]).all()
    actual = products(made, ROWS)
    np.testing.assert_allclose(actual[L][:, L], K[np.ix_(L, L)], rtol=0, atol=1e-10)
    # a landmark is exact with every row
    np.testing.assert_allclose(actual[L], K[L], rtol=0, atol=1e-10)
    np.testing.assert_allclose(actual, projection(K, L), rtol=0, atol=1e-9)
    assert (actual.diagonal() <= K.diagonal() + 1e-10).all()


def test_all_rows_as_landmarks_are_the_kernel_itself():
    made = KernelNystroem(n_components=60).fit(ROWS)
    np.testing.assert_allclose(products(made, ROWS), GMM()(ROWS), rtol=0, atol=1e-10)


def test_arc_cosines_are_as_exact_as_their_own_rounding():
    """Near 1 the arc cosine makes 1e-8 of 1e-16."""
    X = np.abs(ROWS)
    made = KernelNystroem(MinMax() * Acos(), 20).fit(X)
    np.testing.assert_allclose(
        products(made, made.components_), made.kernel_(made.components_), rtol=0, atol=1e-6
    )


def test_duplicated_landmarks():
    X = np.repeat(ROWS[:7], 4, axis=0)
    for kernel in KERNELS:
        made = KernelNystroem(kernel, 28).fit(X)
        assert made.normalization_.shape[1] <= 7
        assert not made.transform(X)[:, 7:].any()
        np.testing.assert_allclose(
            products(made, X), kernel(X), rtol=0, atol=1e-10, err_msg=repr(kernel)
        )


@pytest.mark.parametrize("landmarks", ["random", "kmeans++"])
def test_rows_of_zeros(landmarks):
    X = np.vstack([ROWS[:6], np.zeros((6, 9))])
    made = KernelNystroem(n_components=12, landmarks=landmarks).fit(X)
    features = made.transform(X)
    assert features.shape == (12, 12)
    assert not features[6:].any()
    np.testing.assert_allclose(features @ features.T, GMM()(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("landmarks", ["random", "kmeans++"])
def test_nothing_but_zeros(landmarks):
    made = KernelNystroem(n_components=3, landmarks=landmarks).fit(np.zeros((5, 4)))
    assert made.transform(np.eye(4)).tolist() == np.zeros((4, 3)).tolist()
    assert made.normalization_.shape == (3, 0)
    again = KernelNystroem.from_state(made.to_state())
    assert again.transform(np.eye(4)).tolist() == np.zeros((4, 3)).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [0.0, 1e-12, 1e-7, 1e-3])
def test_nearly_singular(step, dtype):
    """Smooth kernels of close points: most eigenvalues are rounding."""
    X = (1 + step * np.arange(200.0)[:, None] * np.ones(3) + np.array([0, 0.1, 0.5])).astype(dtype)
    for kernel in (Gaussian(), GMM(), kernels.Linear()):
        made = KernelNystroem(kernel, 100).fit(X)
        features = made.transform(X)
        assert features.dtype == dtype
        assert np.isfinite(features).all()
        L, K = made.component_indices_, kernel(X.astype(np.float64))
        # the largest eigenvalue that may have been dropped
        tolerance = 100**2 * np.finfo(dtype).eps
        np.testing.assert_allclose(
            (features @ features.T)[L][:, L], K[L][:, L], rtol=0, atol=tolerance
        )


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_kernels_of_any_size(scale):
    K = GMM()(ROWS) * scale
    made = KernelNystroem("precomputed", 60).fit(K)
    features = made.transform(K) / np.sqrt(scale)
    np.testing.assert_allclose(features @ features.T, K / scale, rtol=0, atol=1e-9)


@pytest.mark.parametrize("peak", [1e308, 1.7e308])
@pytest.mark.parametrize("landmarks", [None, "kmeans++"])
@pytest.mark.parametrize(
    "shape", [np.eye(20), np.ones((20, 20)), GMM()(ROWS[:20])], ids=["eye", "ones", "gmm"]
)
def test_the_largest_kernels(shape, landmarks, peak):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = KernelNystroem("precomputed", 20, landmarks=landmarks).fit_transform(
            peak * shape
        )
    features /= np.sqrt(peak)
    np.testing.assert_allclose(features @ features.T, shape, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_not_taken_for_indefinite(dtype):
    """Kernels in single precision of close rows, where most eigenvalues are rounding.

    As a matrix and as a callable.
    """
    X = np.repeat(np.abs(ROWS), 3, axis=0).astype(dtype)
    X *= 1 + 1e-6 * np.random.default_rng(0).standard_normal(X.shape).astype(dtype)
    for kernel in (
        *KERNELS,
        Acos(),
        kernels.AcosChi2(),
        MinMax() * Acos(),
        GMM(p=2.0),
        1e4 * np.eye(180) + 1,
    ):
        K = kernel if isinstance(kernel, np.ndarray) else kernel(X)
        for given in (K.astype(np.float32), K):
            made = KernelNystroem("precomputed", 180).fit(given)
            np.testing.assert_allclose(products(made, given), K, rtol=0, atol=1e-2 * K.max())
        if callable(kernel):
            KernelNystroem(kernel.__call__, 180).fit(X)
            KernelNystroem(kernel, 180).fit(X)


def test_indefinite_kernels_lose_what_is_negative_and_say_so():
    def tanh(X, Y):
        return np.tanh(X @ Y.T - 1)

    shifted = GMM()(ROWS) - 0.5
    for kernel, X in (
        (tanh, ROWS),
        ("precomputed", shifted),
        ("precomputed", shifted.astype(np.float32)),
    ):
        with pytest.warns(
            UserWarning, match=r"^The kernel is not positive semidefinite [^\n]+\.$"
        ) as caught:
            made = KernelNystroem(kernel, 30).fit(X)
        assert [each.filename for each in caught] == [__file__]
        assert np.isfinite(made.transform(X)).all()
        assert 0 < made.normalization_.shape[1] < 30


def test_both_roots_have_the_same_products(monkeypatch):
    made = KernelNystroem(n_components=20).fit(ROWS)
    assert made._triangular
    monkeypatch.setattr(kernel_nystroem, "_triangular_root", lambda K, eps: None)
    spectral = KernelNystroem(n_components=20).fit(ROWS)
    assert not spectral._triangular
    np.testing.assert_allclose(products(made, ROWS), products(spectral, ROWS), rtol=0, atol=1e-12)
    squares = (spectral.transform(spectral.components_) ** 2).sum(axis=0)
    assert (np.diff(squares) <= 0).all()  # columns by falling eigenvalue


def test_random_landmarks_are_distinct_and_seeded():
    one, again, other = (
        KernelNystroem(n_components=30, random_state=seed).fit(ROWS) for seed in (3, 3, 4)
    )
    assert len(set(one.component_indices_)) == 30
    np.testing.assert_array_equal(one.component_indices_, again.component_indices_)
    assert set(one.component_indices_) != set(other.component_indices_)
    long = KernelNystroem(n_components=50, random_state=3).fit(ROWS)
    np.testing.assert_array_equal(long.component_indices_[:30], one.component_indices_)


@pytest.mark.parametrize("kernel", [GMM(), Gaussian(), laplacian, "precomputed"])
def test_spread_landmarks_are_distinct_rows(kernel):
    X = np.repeat(signed_rows(5, 12, 4), 5, axis=0)
    X = GMM()(X) if kernel == "precomputed" else X
    for seed in range(5):
        made = KernelNystroem(kernel, 12, landmarks="kmeans++", random_state=seed).fit(X)
        assert sorted(made.component_indices_ // 5) == list(range(12)), "every distinct row once"
    fuller = KernelNystroem(kernel, 40, landmarks="kmeans++").fit(X)
    assert len(set(fuller.component_indices_)) == 40


def test_spread_landmarks_follow_the_squared_distance():
    """Of rows at squared distances 1 and 4 the second is drawn four times as often."""
    X = np.array([[0.0], [1.0], [-2.0]])
    linear = KernelNystroem(lambda X, Y: 1 + X @ Y.T, 2, landmarks="kmeans++")
    drawn = [linear.set_params(random_state=seed).fit(X).component_indices_ for seed in range(600)]
    second = np.array([row[1] for row in drawn if row[0] == 0])
    assert abs((second == 2).mean() - 0.8) < 5 * np.sqrt(0.8 * 0.2 / len(second))


def test_spread_landmarks_approximate_clusters_better():
    rng = np.random.default_rng(0)
    X = np.vstack(
        [
            rng.standard_normal((990, 4)) * 0.05,
            10 * np.eye(4)[np.arange(10) % 4] + np.arange(40).reshape(10, 4),
        ]
    )
    errors = {}
    for landmarks in ("random", "kmeans++"):
        made = KernelNystroem(Gaussian(sigma=1.0), 20, landmarks=landmarks).fit(X)
        errors[landmarks] = np.abs(products(made, X) - Gaussian()(X)).max()
    assert errors["kmeans++"] < 0.2 < errors["random"]


@pytest.mark.parametrize("width", [3_000, 10**9])
def test_spread_landmarks_do_not_renumber_all_entries_each_time(width, monkeypatch):
    X = sp.random_array(
        (200, width), density=10 / width, format="csr", random_state=np.random.default_rng(0)
    )
    used, places = np.unique(X.indices, return_inverse=True)
    narrow = sp.csr_array((X.data, places, X.indptr), shape=(200, len(used))).toarray()
    wanted = KernelNystroem(n_components=20, landmarks="kmeans++").fit(narrow)
    renumber, seen = np.searchsorted, []
    monkeypatch.setattr(
        pairs.np,
        "searchsorted",
        lambda a, v, **more: seen.append(np.size(v)) or renumber(a, v, **more),
    )
    chosen = spread_rows(GMM(), X, 20, np.random.default_rng(0))
    assert max(seen) == 1  # where a random number falls
    np.testing.assert_array_equal(chosen, wanted.component_indices_)


def test_given_landmarks():
    L = signed_rows(3, 5, 9)
    wanted = KernelNystroem(landmarks=L).fit(ROWS)
    assert (wanted.n_components_, wanted.component_indices_) == (5, None)
    assert wanted.get_feature_names_out().tolist() == [f"kernelnystroem{at}" for at in range(5)]
    for given in (L.tolist(), np.asfortranarray(L), sp.csr_matrix(L), sp.coo_array(L)):
        made = KernelNystroem(landmarks=given).fit(ROWS)
        np.testing.assert_allclose(made.transform(ROWS), wanted.transform(ROWS), rtol=0, atol=1e-12)
    changing = L.copy()
    made = KernelNystroem(landmarks=changing).fit(ROWS)
    changing[:] = 0  # a fitted map does not follow its user
    np.testing.assert_array_equal(made.transform(ROWS), wanted.transform(ROWS))


def test_sparse_rows():
    X = signed_rows(1, 80, 40, density=0.1)
    for landmarks in ("random", "kmeans++"):
        dense = KernelNystroem(n_components=20, landmarks=landmarks).fit(X)
        sparse = KernelNystroem(n_components=20, landmarks=landmarks).fit(sp.csr_array(X))
        assert sp.issparse(sparse.components_)
        np.testing.assert_array_equal(sparse.component_indices_, dense.component_indices_)
        for rows in (X, sp.csr_matrix(X), sp.csc_array(X)):
            np.testing.assert_allclose(
                products(sparse, rows), products(dense, X), rtol=0, atol=1e-12
            )


def test_very_wide_sparse_rows():
    X = sp.random_array(
        (50, 10**9), density=2e-8, format="csr", random_state=np.random.default_rng(0)
    )
    made = KernelNystroem(n_components=50).fit(X)
    np.testing.assert_allclose(products(made, X), GMM()(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("landmarks", [None, "kmeans++"])
def test_precomputed_is_the_kernel_itself(landmarks, storage):
    X, new = ROWS[:40], ROWS[40:]
    direct = KernelNystroem(GMM(), 15, landmarks=landmarks).fit(X)
    made = KernelNystroem("precomputed", 15, landmarks=landmarks).fit(storage(GMM()(X)))
    np.testing.assert_array_equal(made.component_indices_, direct.component_indices_)
    assert made.components_ is None
    np.testing.assert_allclose(
        made.transform(storage(GMM()(new, X))), direct.transform(new), rtol=0, atol=1e-12
    )
    chosen = KernelNystroem("precomputed", landmarks=made.component_indices_.tolist()).fit(
        storage(GMM()(X))
    )
    np.testing.assert_array_equal(chosen.transform(GMM()(new, X)), made.transform(GMM()(new, X)))


def test_precomputed_is_cut_in_both_directions_by_scikit_learn():
    y = (np.abs(ROWS).sum(axis=1) > np.median(np.abs(ROWS).sum(axis=1))).astype(int)
    model = make_pipeline(KernelNystroem("precomputed", 20), LogisticRegression())
    assert cross_val_score(model, GMM()(ROWS), y, cv=3).min() > 0.5


@pytest.mark.parametrize("landmarks", [None, "kmeans++"])
def test_a_callable_is_as_good_as_a_kernel(landmarks):
    own = KernelNystroem(GMM(), 15, landmarks=landmarks).fit(ROWS)
    made = KernelNystroem(lambda X, Y: GMM()(X, Y), 15, landmarks=landmarks).fit(ROWS)
    np.testing.assert_array_equal(made.component_indices_, own.component_indices_)
    np.testing.assert_allclose(made.transform(ROWS), own.transform(ROWS), rtol=0, atol=1e-12)


def test_what_a_callable_returned_is_left_alone():
    K = frozen(GMM()(ROWS, ROWS[:4]))
    made = KernelNystroem(lambda X, Y: K[: len(X)], landmarks=ROWS[:4]).fit(ROWS)
    assert made._triangular
    np.testing.assert_allclose(products(made, ROWS[:4]), K[:4], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(K, GMM()(ROWS, ROWS[:4]))


def test_a_name_is_the_kernel_of_that_name():
    made = KernelNystroem("rbf", 15).fit(ROWS)
    assert (made.kernel, made.kernel_) == ("rbf", RBF())
    np.testing.assert_array_equal(
        made.transform(ROWS), KernelNystroem(RBF(), 15).fit(ROWS).transform(ROWS)
    )


@pytest.mark.parametrize("gamma", [0.5, 4.0])
def test_scikit_learn_has_the_same_approximation(gamma):
    units = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    peer = Nystroem(kernel="rbf", gamma=gamma / 2, n_components=20, random_state=0).fit(units)
    made = KernelNystroem(RBF(gamma=gamma), landmarks=peer.components_).fit(ROWS)
    features = peer.transform(units)
    np.testing.assert_allclose(products(made, ROWS), features @ features.T, rtol=0, atol=1e-9)


def test_more_landmarks_than_rows():
    with pytest.warns(
        UserWarning, match="n_components=100 is more than the 60 rows: all rows are landmarks."
    ):
        made = KernelNystroem(n_components=100).fit(ROWS)
    assert (made.n_components, made.n_components_) == (100, 60)
    assert made.transform(ROWS).shape == (60, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelNystroem(n_components=60).fit(ROWS)
        KernelNystroem(n_components=100, landmarks=ROWS[:3]).fit(ROWS)


@pytest.mark.parametrize("fitted_on", [np.float32, np.float64])
def test_precision_follows_the_rows(fitted_on):
    made = KernelNystroem(n_components=20).fit(ROWS.astype(fitted_on))
    assert made.components_.dtype == fitted_on
    assert made.normalization_.dtype == np.float64
    K = projection(GMM()(ROWS), made.component_indices_)
    for dtype, tolerance in (
        (np.float32, 1e-5),
        (np.float64, 1e-12 if fitted_on == np.float64 else 1e-5),
    ):
        features = made.transform(ROWS.astype(dtype))
        assert features.dtype == dtype
        np.testing.assert_allclose(features @ features.T, K, rtol=0, atol=tolerance)


def test_batches_are_bounded(monkeypatch):
    made = KernelNystroem(n_components=20).fit(ROWS)
    wanted, seen = made.transform(ROWS), []
    monkeypatch.setattr(kernel_nystroem, "_BATCH_BYTES", 7 * 8 * 29)
    pairwise = GMM.pairwise
    monkeypatch.setattr(
        GMM, "pairwise", lambda self, A, B=None: seen.append(len(A)) or pairwise(self, A, B)
    )
    np.testing.assert_allclose(made.transform(ROWS), wanted, rtol=0, atol=1e-12)
    assert seen == [7] * 8 + [4]


def test_no_rows_to_transform():
    made = KernelNystroem(n_components=20).fit(ROWS)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        made.transform(np.empty((0, 9)))


def test_a_linear_model_becomes_a_kernel_machine():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = (np.abs(X).sum(axis=1) > 1.5).astype(int)
    search = GridSearchCV(
        make_pipeline(KernelNystroem(n_components=64), LogisticRegression(C=100.0)),
        {"kernelnystroem__kernel": [GMM(), RBF(), Gaussian()]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.9
    assert SVC(kernel=search.best_params_["kernelnystroem__kernel"]).fit(X, y).score(X, y) > 0.9


def test_a_map_with_a_callable_is_pickled_but_not_stored():
    made = KernelNystroem(laplacian, 20).fit(ROWS)
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_allclose(again.transform(ROWS), made.transform(ROWS), rtol=0, atol=1e-12)
    with pytest.raises(
        ValueError, match=r"^A map with a callable for a kernel cannot be stored: [^\n]+\.$"
    ):
        made.to_state()


def test_expectations_are_refused_with_the_reason():
    made = KernelNystroem(n_components=20).fit(ROWS)
    for ask in (made.expected, made.variance):
        with pytest.raises(ValueError, match="exact on the landmarks"):
            ask(ROWS)


def test_the_state_holds_what_fit_used():
    made = KernelNystroem(GMM(), 20).fit(ROWS).set_params(random_state=99, n_components=20)
    again = KernelNystroem.from_state(made.to_state())
    np.testing.assert_allclose(again.transform(ROWS), made.transform(ROWS), rtol=0, atol=1e-12)
    assert again.random_state == 0
    refitted = again.fit(ROWS)
    np.testing.assert_array_equal(refitted.component_indices_, made.component_indices_)


@pytest.mark.parametrize(
    "made",
    [
        KernelNystroem(landmarks=ROWS[:5].tolist()),
        KernelNystroem(landmarks=sp.csr_matrix(ROWS[:5])),
        KernelNystroem("acos", 7),
        KernelNystroem(GMM(p=2, center=np.arange(9)), 7),
        KernelNystroem(GMM() * RBF(gamma=2), 7, landmarks="kmeans++"),
    ],
    ids=repr,
)
def test_states_of_every_kind_of_landmarks_and_kernels(made, tmp_path):
    made.fit(ROWS).save(tmp_path / "map.kl")
    again = KernelNystroem.load(tmp_path / "map.kl")
    assert again.to_state() == made.to_state()
    np.testing.assert_allclose(again.transform(ROWS), made.transform(ROWS), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        again.fit(ROWS).transform(ROWS), made.transform(ROWS), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("landmarks", [None, [3, 1, 4]])
def test_states_of_precomputed_kernels(landmarks):
    K = GMM()(ROWS)
    made = KernelNystroem("precomputed", 7, landmarks=landmarks).fit(K)
    again = KernelNystroem.from_state(made.to_state())
    np.testing.assert_array_equal(again.transform(K), made.transform(K))
    np.testing.assert_array_equal(again.fit(K).transform(K), made.transform(K))
