"""What every feature map promises, tried on every class of the registry in several configurations.

`cases.py` has the configurations; what only codes can promise is in test_code_maps.py.
"""

from __future__ import annotations

import pickle
import re
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from cases import (
    LONGER,
    SLOTS,
    assert_same,
    every,
    every_dense,
    having,
    inner_products,
    joined,
    output,
    with_parameter,
)
from helpers import SIMD_NAMES, few_and_many_seeds, storages
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from kernelight import Codes
from kernelight.base import registry
from kernelight.kernels.base import Kernel
from kernelight.state import State


@cache
def products_of_seed(case, seed):
    """The inner products of the features of `rows`: (n, n)."""
    return inner_products(case.fitted(random_state=seed).transform(case.rows()))


def sample(case, seeds):
    """The inner products for every seed: (seeds, n, n)."""
    return np.array([products_of_seed(case, seed) for seed in range(seeds)])


def rounding(expected):
    """The rounding of float32 additions, all there is for pairs that cannot vary."""
    sizes = np.sqrt(np.diag(expected))
    return SLOTS * np.finfo(np.float32).eps * np.multiply.outer(sizes, sizes)


def assert_refuses(ask, gap):
    assert re.fullmatch(r"[^\n]+\.", gap)
    with pytest.raises(ValueError, match=r"^" + re.escape(gap) + r"$"):
        ask()


@every
def test_a_map_knows_its_outputs(case):
    made, X = case.fitted(), case.rows()
    features = made.transform(X)
    most = int(np.diff(features.indptr).max()) if sp.issparse(features) else features.shape[1]
    assert made.n_outputs == most
    if hasattr(made, "encode"):
        assert made.encode(X).n_components == made.n_outputs


@every
@few_and_many_seeds
def test_inner_products_average_to_what_is_expected(case, seeds):
    made, X = case.fitted(), case.rows()
    if made.theory_gap is not None:
        assert_refuses(lambda: made.expected(X), made.theory_gap)
        return
    expected, products = made.expected(X), sample(case, seeds)
    # Where the variance is not known, that of the sample has to do.
    variance = made.variance(X) if made.variance_gap is None else products.var(axis=0, ddof=1)
    error = np.abs(products.mean(axis=0) - expected)
    assert (error <= 5 * np.sqrt(variance / seeds) + rounding(expected)).all()
    np.testing.assert_allclose(made.expected(X, X[:2]), expected[:, :2], rtol=1e-7, atol=1e-7)


@every
@few_and_many_seeds
def test_inner_products_vary_as_theory_says(case, seeds):
    made, X = case.fitted(), case.rows()
    if made.variance_gap is not None:
        assert_refuses(lambda: made.variance(X), made.variance_gap)
        return
    expected, variance = made.expected(X), made.variance(X)
    squares = (sample(case, seeds) - expected) ** 2
    if case.gives_codes:
        # A mean of k independent zeros and ones, whose kurtosis is known.
        k = made.encode(X).n_components
        single = variance * k
        spread = variance * np.sqrt(
            2 + np.divide(1 - 6 * single, variance * k * k, where=variance > 0, out=0 * single)
        )
    else:
        spread = squares.std(axis=0, ddof=1)  # from the fourth moment of the sample itself
    off = np.abs(squares.mean(axis=0) - variance)
    assert (off <= 5 * spread / np.sqrt(seeds) + rounding(expected) ** 2).all()


@having("expected_bounds")
@few_and_many_seeds
def test_bounds_hold_where_no_expectation_is_known(case, seeds):
    made, X = case.fitted(), case.rows()
    if case.options.get("coding") == "lowest" or case.options.get("p", 1.0) != 1.0:
        with pytest.raises(ValueError, match="are known for"):
            made.expected_bounds(X)
        return
    lower, upper = made.expected_bounds(X)
    mean = sample(case, seeds).mean(axis=0)
    slack = 5 * np.sqrt(0.25 / (SLOTS * seeds))
    assert (lower <= upper).all()
    assert (lower - slack < mean).all()
    assert (mean < upper + slack).all()
    if made.theory_gap is None:
        np.testing.assert_allclose(lower, made.expected(X))
        np.testing.assert_allclose(upper, lower)


@every
def test_the_kernel_is_a_kernel(case):
    kernel = case.fitted().kernel
    assert isinstance(kernel, Kernel) or callable(kernel)
    assert kernel(case.rows()).shape == (6, 6)


@every
def test_first_components_of_a_longer_run(case):
    short, long = (output(case.fitted(n_components=k), case.rows()) for k in (SLOTS, LONGER))
    if isinstance(short, Codes):
        equal = np.array_equal(long.array[:, : short.n_components], short.array)
    else:  # a feature of a run of k components carries the weight 1/sqrt(k)
        k_short, k_long = short.shape[1], long.shape[1]
        first = long[:, :k_short] * np.sqrt(k_long / k_short)
        equal = np.allclose(first, short, rtol=1e-5, atol=1e-6 * np.abs(short).max())
    assert equal == case.fitted().has_prefix, "declare has_prefix as it is"


@with_parameter("n_jobs")
@pytest.mark.parametrize("n_jobs", [1, 2, 3, 7, -1])
def test_threads_do_not_matter(case, n_jobs):
    X = case.many_rows()
    made = case.fitted(X, n_jobs=1)
    one = output(made, X)
    assert_same(output(made.set_params(n_jobs=n_jobs), X), one)
    if not case.learned:
        assert_same(output(case.fitted(X, n_jobs=n_jobs), X), one, "fitted with these threads")


@every
def test_the_environment_does_not_matter(case, monkeypatch):
    """Both switches are read at every call."""
    X = case.many_rows()
    made = case.fitted(X)
    wanted = output(made, X)
    for simd in SIMD_NAMES:
        for threads in ("1", "3"):
            monkeypatch.setenv("KERNELIGHT_SIMD", simd)
            monkeypatch.setenv("KERNELIGHT_NUM_THREADS", threads)
            assert_same(output(made, X), wanted, f"{simd}, {threads} threads, tables as they are")
            if not case.learned:
                assert_same(output(case.fitted(X), X), wanted, f"{simd}, {threads} threads, fresh")


@every
def test_batches_and_order_do_not_matter(case):
    X = case.many_rows()
    made = case.fitted(X)
    wanted = output(made, X)
    for batch in (7, 64, 149):
        parts = [output(made, X[at : at + batch]) for at in range(0, len(X), batch)]
        assert_same(joined(parts), wanted, f"batches of {batch}")
    singles = [output(made, X[at : at + 1]) for at in range(35, 50)]  # one of them zero
    assert_same(joined(singles), wanted[35:50], "batches of 1")
    order = np.random.default_rng(0).permutation(len(X))
    assert_same(output(made, X[order]), wanted[order])


@every
def test_storage_does_not_matter(case):
    X = case.many_rows()
    made = case.fitted(X)
    wanted = output(made, X)
    for name, stored in storages(X).items():
        if sp.issparse(stored) and case.center is not None:
            with pytest.raises(ValueError, match="center"):
                output(made, stored)
            continue
        assert_same(output(made, stored), wanted, name)
        if not case.learned:
            assert_same(output(case.fitted(stored), stored), wanted, f"fitted on {name}")


@every
def test_zero_rows_emit_nothing(case):
    X = case.zeros(3)
    X[1, 2] += 1.0
    made = case.fitted() if case.learned else case.fitted(X)
    filled = [case.zero_is_a_point, True, case.zero_is_a_point]
    products = inner_products(made.transform(X))
    assert (products.diagonal() > 0).tolist() == filled
    assert (products[~np.logical_and.outer(filled, filled)] == 0).all()
    if case.gives_codes:
        codes = made.encode(X)
        assert (~codes.empty).tolist() == filled
        assert not codes.array[codes.empty].any()
    nothing = ~np.logical_and.outer(filled, filled)
    if made.theory_gap is None:
        assert not made.expected(X)[nothing].any()
        assert made.expected(X)[1, 1] > 0
    if made.variance_gap is None:
        assert not made.variance(X)[nothing].any()


@every
def test_features_are_what_scikit_learn_expects(case):
    made, X = case.fitted(), case.rows()
    features = made.transform(X)
    assert features.shape[0] == 6
    names = made.get_feature_names_out()
    assert (len(names), names.dtype) == (features.shape[1], object)
    assert len(set(names)) == len(names)
    again = clone(made).fit_transform(case.training, np.arange(len(case.training)) % 2)
    np.testing.assert_allclose(
        inner_products(again), inner_products(made.transform(case.training)), rtol=1e-5, atol=1e-6
    )


@every_dense
def test_dense_features_are_plain_arrays(case):
    made, X = case.fitted(), case.rows()
    kept = made.__sklearn_tags__().transformer_tags.preserves_dtype
    for dtype in (np.float64, np.float32):
        features = made.transform(X.astype(dtype))
        assert type(features) is np.ndarray
        assert features.dtype == (dtype if np.dtype(dtype).name in kept else np.float32)
        assert features.flags.c_contiguous
        assert features.flags.writeable
        assert np.isfinite(features).all()


@every
def test_state_round_trip(case, tmp_path):
    made, X = case.fitted(), case.rows()
    wanted = output(made, X)
    few = made.transform(X).shape[1] < 1_000_000  # otherwise names take seconds
    names = made.get_feature_names_out().tolist() if few else None
    path = tmp_path / "fitted.kl"
    made.save(path)
    for again in (
        case.cls.from_state(made.to_state()),
        case.cls.load(path),
        registry.load(path),
        pickle.loads(pickle.dumps(made)),
    ):
        assert_same(output(again, X), wanted)
        assert again.to_state() == made.to_state()
        if few:
            assert again.get_feature_names_out().tolist() == names
    assert State.load(path) == made.to_state()


@every
def test_features_not_seen_at_fit_are_refused(case):
    made = case.fitted()
    for wide in (np.ones((1, 7)), sp.csr_matrix(np.ones((1, 7))), np.ones((1, 5))):
        with pytest.raises(ValueError, match="6 features"):
            output(made, wide)


@every
def test_a_fit_that_fails_changes_nothing(case):
    made, X = case.new(), case.many_rows()
    labels = np.arange(len(X)) % 2
    bad = np.full_like(X, np.nan)
    with pytest.raises(ValueError, match="NaN"):
        made.fit(bad, labels)
    with pytest.raises(NotFittedError):
        made.transform(X)
    made = case.fitted(X)
    wanted = output(made, X)
    with pytest.raises(ValueError, match="random_state"):
        made.set_params(**refused_by_fit(made)).fit(X[:, :5], labels)
    assert made.n_features_in_ == 6
    made.set_params(**{name: case.new().get_params()[name] for name in refused_by_fit(made)})
    assert_same(output(made, X), wanted)


def refused_by_fit(made):
    """A parameter that is refused only after the rows were checked."""
    names = made.get_params(deep=True)
    return {name: -1 for name in names if name.rpartition("__")[2] == "random_state"}
