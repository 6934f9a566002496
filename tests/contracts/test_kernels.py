"""What every exact kernel promises, for all of them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.svm import SVC

from kernelight import kernels
from kernelight.base import registry
from kernelight.kernels import (  # names that eval(repr(kernel)) needs
    GMM,
    NGMM,
    RBF,
    Acos,
    AcosChi2,
    ExpGMM,
    FoldedRBF,
    Gaussian,
    Intersection,
    Kernel,
    Linear,
    MinMax,
    Product,
    Sum,
    pairs,
)

CENTER = (0.5, 0.0, -0.25, 1.0, 0.1, 0.0)
ALL = (
    Linear(),
    RBF(gamma=2.0),
    FoldedRBF(gamma=0.5),
    Gaussian(sigma=2.0),
    Acos(),
    AcosChi2(),
    MinMax(),
    GMM(),
    GMM(p=2.5),
    GMM(p=0.4, center=CENTER),
    ExpGMM(gamma=3.0),
    ExpGMM(gamma=3.0, p=0.5),
    NGMM(),
    Intersection(),
    MinMax() * Acos(),
    MinMax() * AcosChi2(),
    MinMax() * RBF(gamma=5.0),
    Sum((GMM(), Acos()), weights=(0.25, 0.75)),
    Sum((MinMax() * Acos(), RBF(gamma=2.0)), weights=(0.5, 0.5)),
    Sum((MinMax(), Linear()), weights=(0.5, 0.5)) * Acos(),
)
SPARSE = tuple(kernel for kernel in ALL if getattr(kernel, "center", None) is None)
ROW_SCALE_FREE = (Linear, RBF, FoldedRBF, Acos, AcosChi2, NGMM, Intersection)
# Under a common scale; a kernel of distances is not, and its rows of zeros are points.
SCALE_FREE = tuple(kernel for kernel in SPARSE if not kernel.zero_is_a_point)
WITH_GAMMA = tuple(kernel for kernel in ALL if hasattr(kernel, "gamma") or hasattr(kernel, "sigma"))
every = pytest.mark.parametrize("kernel", ALL, ids=repr)
every_sparse = pytest.mark.parametrize("kernel", SPARSE, ids=repr)


@pytest.fixture(params=["lists", "blocks"])
def sparse_way(request, monkeypatch):
    """Sparse rows are compared through lists of features or dense blocks; here through either."""
    monkeypatch.setattr(pairs, "_FULL", np.inf if request.param == "lists" else 0)
    monkeypatch.setattr(pairs, "_BLOCK_BYTES", 200)


def sample(kernel, n=12, seed=0, d=6, dtype=np.float64):
    """Read-only rows with zeros in them, none of them all zero (also after centring)."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, d)), 3) * (rng.random((n, d)) < 0.8)
    X[:, 0] = 2 + rng.random(n)
    X = (np.abs(X) if kernel.nonnegative else X).astype(dtype)
    X.flags.writeable = False
    return X


def close(actual, desired, atol=1e-12):
    np.testing.assert_allclose(actual, desired, rtol=0, atol=atol)


def of_itself(kernel):
    return (1 + np.exp(-2 * kernel.gamma)) / 2 if isinstance(kernel, FoldedRBF) else 1.0


@every
def test_symmetric_positive_semidefinite_with_exact_diagonal(kernel):
    X = sample(kernel, 40)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), of_itself(kernel))
    np.testing.assert_array_equal(kernel.diag(X), np.diag(K))
    assert np.linalg.eigvalsh(K).min() > -1e-10
    close(np.diag(kernel(X, X.copy())), of_itself(kernel), atol=2e-8)
    close(kernel(X, X.copy()), K, atol=2e-8)


@every
def test_two_matrices_and_their_exchange(kernel):
    X, Y = sample(kernel, 7), sample(kernel, 4, seed=1)
    K = kernel(X, Y)
    assert K.shape == (7, 4)
    assert K.flags.c_contiguous
    close(kernel(Y, X), K.T)
    close(kernel(np.vstack([X, Y]))[:7, 7:], K)
    close(kernel.pairwise(kernel.prepare(X), kernel.prepare(Y)), K, atol=0)
    assert (np.abs(K) <= 1).all()


@every
def test_every_dense_form_of_input(kernel):
    X, Y = sample(kernel), sample(kernel, 5, seed=1)
    K = kernel(X, Y)
    for form in (np.asfortranarray, np.ndarray.tolist, pd.DataFrame):
        np.testing.assert_array_equal(kernel(form(X), form(Y)), K)
    every_other = np.repeat(X, 2, axis=0)[::2]
    assert not every_other.flags.c_contiguous
    np.testing.assert_array_equal(kernel(every_other, Y), K)


@every_sparse
@pytest.mark.usefixtures("sparse_way")
def test_every_sparse_form_of_input(kernel):
    X, Y = sample(kernel), sample(kernel, 5, seed=1)
    K = kernel(X, Y)
    for form in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array, sp.coo_array):
        close(kernel(form(X), form(Y)), K)
        close(kernel(form(X), Y), K)
        close(kernel(X, form(Y)), K)
        gram = kernel(form(X))
        close(gram, kernel(X))
        np.testing.assert_array_equal(gram, gram.T)
        np.testing.assert_array_equal(kernel.diag(form(X)), kernel.diag(X))


@every_sparse
@pytest.mark.usefixtures("sparse_way")
def test_untidy_sparse_input(kernel):
    """Explicit zeros, unsorted indices, duplicates, 64-bit indices, read-only arrays."""
    X = sample(kernel)
    tidy = sp.csr_array(X)
    order = np.concatenate(
        [np.arange(a, b)[::-1] for a, b in zip(tidy.indptr, tidy.indptr[1:], strict=False)]
    )
    halves = np.repeat(tidy.data[order] / 2, 2)
    untidy = sp.csr_matrix(
        (halves, np.repeat(tidy.indices[order], 2), tidy.indptr * 2), shape=X.shape
    )
    untidy.data.flags.writeable = False
    close(kernel(untidy), kernel(X))
    assert untidy.nnz == 2 * tidy.nnz
    explicit = sp.csr_array(
        (X.ravel(), np.tile(np.arange(6), 12), np.arange(0, 73, 6)), shape=X.shape
    )
    close(kernel(explicit), kernel(X))
    wide = sp.csr_array(
        (tidy.data, tidy.indices.astype(np.int64), tidy.indptr.astype(np.int64)), shape=X.shape
    )
    close(kernel(wide, tidy), kernel(X), atol=2e-8)


@every
def test_types(kernel):
    X, Y = sample(kernel), sample(kernel, 5, seed=1)
    X32, Y32 = X.astype("f4"), Y.astype("f4")
    assert kernel(X32, Y32).dtype == np.float32
    assert kernel(X32).dtype == kernel.diag(X32).dtype == np.float32
    assert kernel(X32, Y).dtype == kernel(X, Y32).dtype == kernel(X, Y).dtype == np.float64
    close(kernel(X32, Y32), kernel(X, Y), atol=3e-6)
    whole = np.random.default_rng(0).integers(0, 4, (8, 6)) + np.eye(8, 6, dtype=int)
    for dtype in (np.int8, np.uint16, np.int64):
        np.testing.assert_array_equal(kernel(whole.astype(dtype)), kernel(whole.astype(float)))
    np.testing.assert_array_equal(kernel(whole > 1), kernel((whole > 1).astype(float)))
    np.testing.assert_array_equal(kernel(whole.astype("f2")), kernel(whole.astype("f4")))


@every
def test_order_of_columns_is_free(kernel):
    X, Y = sample(kernel), sample(kernel, 5, seed=1)
    order = np.random.default_rng(3).permutation(6)
    moved = GMM(kernel.p, np.array(CENTER)[order]) if getattr(kernel, "center", None) else kernel
    close(moved(X[:, order], Y[:, order]), kernel(X, Y))


@every
def test_scale_laws(kernel):
    X, Y = sample(kernel), sample(kernel, 5, seed=1)
    each = 10.0 ** np.random.default_rng(2).uniform(-3, 3, (12, 1))
    per_row = np.abs(kernel(each * X, Y) - kernel(X, Y)).max()
    common = np.abs(kernel(100 * X, 100 * Y) - kernel(X, Y)).max()
    if isinstance(kernel, ROW_SCALE_FREE):
        assert per_row < 1e-12
    else:
        assert per_row > 1e-3
    if kernel in SCALE_FREE:
        assert common < 1e-12
    else:
        assert common > 1e-3


@pytest.mark.parametrize("kernel", SCALE_FREE, ids=repr)
@pytest.mark.parametrize(("scale", "single"), [(1e-300, 1e-35), (1e200, 1e30), (1e307, 3e37)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_enormous_and_tiny_values(kernel, scale, single, form):
    """Scale-free kernels stay so at the edges of the floating-point range.

    There row sums overflow.
    """
    X = sample(kernel)
    close(kernel(form(X * scale)), kernel(X), atol=1e-11)
    close(kernel(form((X * single).astype("f4"))), kernel(X), atol=3e-6)


@every
@pytest.mark.usefixtures("sparse_way")
def test_rows_of_zeros(kernel):
    X = np.array(sample(kernel))
    X[3] = 0 if getattr(kernel, "center", None) is None else CENTER
    K = kernel(X)
    if kernel.zero_is_a_point:
        assert K[3, 3] == of_itself(kernel)
        assert (K[3] > 0).all()
        return
    assert not K[3].any()
    assert not K[:, 3].any()
    assert kernel.diag(X)[3] == 0
    assert kernel.diag(X)[2] == of_itself(kernel)
    assert not kernel(X, X.copy())[3].any()
    if kernel in SPARSE:
        np.testing.assert_array_equal(kernel(sp.csr_array(X))[3], 0)
        np.testing.assert_array_equal(kernel(X, sp.csr_array(X))[:, 3], 0)


@every
def test_negative_values_are_refused_where_the_kernel_says_so(kernel):
    X = -np.abs(sample(kernel))
    if kernel.nonnegative:
        with pytest.raises(ValueError, match="needs nonnegative values, but X has -"):
            kernel(X)
    else:
        assert np.isfinite(kernel(X)).all()


@pytest.mark.parametrize("kernel", WITH_GAMMA, ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_gamma_multiplies_the_dissimilarity(kernel, form):
    """Estimators choose gamma by it; of a folded kernel it is that of the larger term."""
    X = np.abs(sample(kernel))
    d = kernel.dissimilarity(form(X))
    assert d.dtype == np.float64
    gamma = 1 / (2 * kernel.sigma**2) if isinstance(kernel, Gaussian) else kernel.gamma
    expected = np.exp(-gamma * d)
    if isinstance(kernel, FoldedRBF):
        expected = (expected + np.exp(-gamma * (2 - d))) / 2
    close(expected, kernel(X))
    if kernel.square_factor is not None:
        A = kernel.prepare(X)
        close(d, kernel.square_factor * ((A[:, None] - A[None]) ** 2).sum(axis=2))
    close(kernel.dissimilarity(form(X.astype("f4"))), d, atol=1e-5)


def test_of_what_products_and_sums_take():
    assert (MinMax() * Acos()).nonnegative
    assert (Acos() + MinMax()).nonnegative
    assert not (Acos() + GMM()).nonnegative
    points, mixed = (Gaussian(), Gaussian(sigma=2.0)), (Gaussian(), Acos())
    zeros = np.zeros((2, 3))
    for kernel in (Product(points), Product(mixed), Sum(points), Sum(mixed)):
        assert kernel.zero_is_a_point == kernel(zeros).all() == kernel.diag(zeros).all()


@every
@pytest.mark.usefixtures("sparse_way")
def test_odd_shapes(kernel):
    X = sample(kernel)
    assert kernel(X[:0], X).shape == (0, 12)
    assert kernel(X, X[:0]).shape == (12, 0)
    assert kernel(X[:0]).shape == (0, 0)
    assert kernel.diag(X[:0]).shape == (0,)
    close(kernel(X[:1], X), kernel(X)[:1], atol=2e-8)
    if getattr(kernel, "center", None) is None:
        assert kernel(X[:, :1]).shape == (12, 12)
        np.testing.assert_array_equal(np.diag(kernel(X[:, :1])), of_itself(kernel))
        empty = sp.csr_array(X[:0])
        assert kernel(empty, sp.csr_array(X)).shape == (0, 12)
        assert kernel(empty).shape == (0, 0)
        expected = np.full((2, 2), of_itself(kernel) if kernel.zero_is_a_point else 0.0)
        np.testing.assert_array_equal(kernel(np.zeros((2, 0))), expected)
        np.testing.assert_array_equal(kernel(sp.csr_array((2, 0))), expected)


@every
def test_input_is_left_alone(kernel):
    X = sample(kernel)
    before = X.copy()
    kernel(X), kernel(X, X.copy()), kernel.diag(X), kernel.prepare(X)
    np.testing.assert_array_equal(X, before)
    if kernel in SPARSE:
        matrix = sp.csr_matrix(X)
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.flags.writeable = False
        kernel(matrix), kernel(matrix, matrix.copy()), kernel.diag(matrix)
        np.testing.assert_array_equal(matrix.toarray(), before)


@every
def test_a_kernel_is_a_value(kernel):
    namespace = {name: getattr(kernels, name) for name in kernels.__all__}
    for twin in (
        pickle.loads(pickle.dumps(kernel)),
        copy.deepcopy(kernel),
        eval(repr(kernel), namespace),
    ):
        assert twin == kernel
        assert hash(twin) == hash(kernel)
        assert repr(twin) == repr(kernel)
    assert sum(kernel == other for other in ALL) == 1
    assert kernel != "a kernel"
    with pytest.raises(AttributeError):
        kernel.gamma = 3.0
    assert isinstance(kernel.name, str)


@every
def test_support_vector_machine_takes_it(kernel):
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((60, 6)))
    y = (X[:, 0] > X[:, 1]).astype(int)
    model = clone(SVC(kernel=kernel, C=100)).fit(X, y)
    by_hand = SVC(kernel="precomputed", C=100).fit(kernel(X), y)
    np.testing.assert_array_equal(model.predict(X), by_hand.predict(kernel(X)))
    assert model.score(X, y) > 0.7


@every
@pytest.mark.usefixtures("sparse_way")
def test_threads_and_instruction_sets_agree(kernel, monkeypatch):
    X, Y = sample(kernel, 70), sample(kernel, 300, seed=1)
    results = []
    for level in ("baseline", "avx2", "avx512"):
        for threads in ("1", "3"):
            monkeypatch.setenv("KERNELIGHT_SIMD", level)
            monkeypatch.setenv("KERNELIGHT_NUM_THREADS", threads)
            results.append([kernel(X, Y), kernel(Y), kernel(X.astype("f4"), Y.astype("f4"))])
            if kernel in SPARSE:
                results[-1].append(kernel(sp.csr_array(X), sp.csr_array(Y)))
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_product_is_flat_and_multiplies():
    X = sample(MinMax())
    K = MinMax() * (Acos() * RBF(gamma=2.0))
    assert Product((MinMax(), Acos(), RBF(gamma=2.0))) == K
    assert K.name == "minmax*acos*rbf"
    close(K(X), MinMax()(X) * Acos()(X) * RBF(gamma=2.0)(X))
    with pytest.raises(TypeError):
        MinMax() * 2
    with pytest.raises(TypeError, match="tuple of kernels"):
        Product((MinMax(), 2))
    with pytest.raises(ValueError, match="at least one"):
        Product(())


def test_sum_is_flat_and_adds():
    X = sample(MinMax())
    K = MinMax() + (Acos() + RBF(gamma=2.0))
    assert Sum((MinMax(), Acos(), RBF(gamma=2.0))) == K
    assert K.name == "minmax+acos+rbf"
    close(K(X), MinMax()(X) + Acos()(X) + RBF(gamma=2.0)(X))
    weighted = Sum((K, Linear()), weights=[2, 0.5])
    assert weighted.weights == (2.0, 2.0, 2.0, 0.5)
    close(weighted(X, X[:3]), 2 * K(X, X[:3]) + Linear()(X, X[:3]) / 2)
    close(weighted.diag(X), np.diag(weighted(X)), atol=0)
    with pytest.raises(TypeError):
        MinMax() + 2
    for terms in ((MinMax(), 2), [MinMax()], MinMax()):
        with pytest.raises(TypeError, match="tuple of kernels"):
            Sum(terms)
    with pytest.raises(ValueError, match="at least one"):
        Sum(())
    for weights in ((1.0,), 3.0, ((1.0, 2.0),)):
        with pytest.raises(ValueError, match="weights must be 2 numbers, one for each part"):
            Sum((MinMax(), Acos()), weights)
    with pytest.raises(ValueError, match=r"A weight must be a finite number above 0, got -1\.0\."):
        Sum((MinMax(), Acos()), (1.0, -1.0))


def test_kernels_by_name():
    for class_name in set(registry.names("kernel")) - {"Product", "Sum"}:
        kind = registry.lookup(class_name, "kernel")
        assert getattr(kernels, class_name) is kind
        assert class_name in kernels.__all__
        assert kernels.get(kind.name) == kind()
        assert isinstance(kernels.get(kind.name), Kernel)
        assert any(isinstance(kernel, kind) for kernel in ALL)
    assert kernels.get("rbf", gamma=5) == RBF(gamma=5.0)
    assert kernels.get("frbf", gamma=2) == FoldedRBF(gamma=2.0)
    assert kernels.get("exp_gmm", gamma=2, p=3) == ExpGMM(2.0, 3.0)
    assert kernels.get("mm_acos") == MinMax() * Acos()
    assert kernels.get("mm_acos_chi2") == MinMax() * AcosChi2()
    assert kernels.get("mm_rbf", gamma=5) == MinMax() * RBF(gamma=5.0)
    with pytest.raises(ValueError, match=r"no kernel named 'gausian'; did you mean 'gaussian'\?"):
        kernels.get("gausian")
    with pytest.raises(ValueError, match="known names are linear, rbf"):
        kernels.get("?")
    with pytest.raises(TypeError, match=r"'rbf' has no parameter sigma: it takes gamma\."):
        kernels.get("rbf", sigma=1)
    with pytest.raises(TypeError, match=r"gamma must be a number, got '5'\."):
        kernels.get("rbf", gamma="5")


def test_many_rows_are_compared_in_several_calls(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((1100, 5)), rng.standard_normal((7, 5))
    whole = GMM()(X, Y)
    monkeypatch.setattr(pairs, "_CALL_TERMS", 1)
    np.testing.assert_array_equal(GMM()(X, Y), whole)
