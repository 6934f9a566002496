"""What every linearization promises, tried on every class of the registry in several configurations.

A new class is tested with its defaults as soon as it is registered; `CONFIGURATIONS` adds more.
"""

from __future__ import annotations

import pickle
import re
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import SIMD_NAMES, assert_same_codes, frozen, signed_rows, storages
from sklearn.base import clone

from kernelight import Codes, _registry
from kernelight.kernels.base import Kernel
from kernelight.state import State

SEEDS = 300
CENTER = (0.5, -0.25, 0.0, 1.0, 2.0, -3.0)
CONFIGURATIONS = {
    "GCWS": [
        {"sampler": "cws"},
        {"sampler": "cws", "bits": 1},
        {"sampler": "cws", "bits": 12, "p": 2.0},
        {"sampler": "cws", "bits": 4, "p": 0.25},
        {"sampler": "cws", "bits": 4, "normalize": "l1"},
        {"sampler": "cws", "bits": 4, "center": CENTER},
        {"sampler": "cws", "bits": 8, "t_bits": 0},
        {"sampler": "cws", "bits": 8, "t_bits": 1},
        {"sampler": "cws", "bits": 8, "t_bits": 2},
        {"sampler": "cws", "bits": 8, "t_bits": 0, "normalize": "l1"},
        {"sampler": "cws", "bits": 4, "t_bits": 0, "coding": "lowest"},
        {"sampler": "dart"},
        {"sampler": "dart", "bits": 1},
        {"sampler": "dart", "bits": 12},
        {"sampler": "dart", "bits": 4, "normalize": "l1"},
        {"sampler": "dart", "bits": 4, "center": CENTER},
        {"sampler": "cws", "gamma": 1.0},
        {"sampler": "cws", "bits": 1, "gamma": 0.1},
        {"sampler": "cws", "bits": 12, "gamma": 5.0, "p": 0.5},
        {"sampler": "cws", "bits": 4, "gamma": 2.0, "t_bits": 0},
        {"sampler": "dart", "gamma": 1.0},
        {"sampler": "dart", "bits": 4, "gamma": 6.0},
    ]
}
CASES = [
    pytest.param(_registry.lookup(name), options, id=f"{name}-{options}")
    for name in _registry.names("linearization")
    for options in [{}, *CONFIGURATIONS.get(name, [])]
]
every = pytest.mark.parametrize(("cls", "options"), CASES)


def rows():
    """Signs, zeros, a scaled copy, one element, two elements; float32-representable."""
    X = signed_rows(11, 6, 6, density=0.8, dtype=np.float32).astype(np.float64)
    X[2] = 4 * X[1]
    X[3] = [0, 0, 3, 0, 0, 0]
    X[4] = [0, 0, 2, 0, 0, -1]
    return frozen(X)


def many_rows():
    """Enough rows for several threads, batches and blocks, one of them zero."""
    X = signed_rows(12, 150, 6, density=0.6, dtype=np.float32).astype(np.float64)
    X[40] = 0.0
    return frozen(X)


def fitted(cls, options, *, n_components=48, random_state=7, X=None):
    made = cls(n_components=n_components, random_state=random_state, **options)
    return made.fit(rows() if X is None else X)


@cache
def _sample(cls, options):
    """The inner products of the features of `rows` for every seed: (SEEDS, n, n)."""
    found = []
    for seed in range(SEEDS):
        features = fitted(cls, dict(options), random_state=seed).transform(rows())
        found.append(
            np.asarray((features @ features.T).todense() if sp.issparse(features) else features @ features.T)
        )
    return np.array(found, dtype=np.float64)


def sample(cls, options):
    return _sample(cls, tuple(sorted(options.items())))


@every
def test_inner_products_average_to_what_is_expected(cls, options):
    made, products = fitted(cls, options), sample(cls, options)
    if made.theory_gap is not None:
        with pytest.raises(ValueError, match=r"^[^\n]+\.$") as caught:
            made.expected(rows())
        assert str(caught.value) == made.theory_gap
        return
    expected, variance = made.expected(rows()), made.variance(rows())
    error = np.abs(products.mean(axis=0) - expected)
    # plus the rounding of 48 float32 additions, all there is for pairs that cannot vary
    assert (error <= 5 * np.sqrt(variance / SEEDS) + 48 * np.finfo(np.float32).eps * expected).all()
    np.testing.assert_array_equal(made.expected(rows(), rows()[:2]), expected[:, :2])


@every
def test_inner_products_vary_as_theory_says(cls, options):
    made, products = fitted(cls, options), sample(cls, options)
    if made.theory_gap is not None:
        with pytest.raises(ValueError, match=re.escape(made.theory_gap)):
            made.variance(rows())
        return
    expected, variance = made.expected(rows()), made.variance(rows())
    some = variance > 0
    found = ((products - expected) ** 2).mean(axis=0)
    assert (found[~some] < 1e-10).all()
    # kurtosis of a mean of n_components independent zeros and ones
    single = variance[some] * made.n_components
    excess = (1 - 6 * single) / (single * made.n_components)
    assert (np.abs(found[some] / variance[some] - 1) < 5 * np.sqrt((2 + excess) / SEEDS)).all()


@every
def test_bounds_hold_where_no_expectation_is_known(cls, options):
    made = fitted(cls, options)
    if not hasattr(made, "expected_bounds"):
        return
    if options.get("coding") == "lowest" or options.get("p", 1.0) != 1.0:
        with pytest.raises(ValueError, match="are known for"):
            made.expected_bounds(rows())
        return
    lower, upper = made.expected_bounds(rows())
    mean = sample(cls, options).mean(axis=0)
    slack = 5 * np.sqrt(0.25 / (made.n_components * SEEDS))
    assert (lower <= upper).all()
    assert (lower - slack < mean).all()
    assert (mean < upper + slack).all()
    if made.theory_gap is None:
        np.testing.assert_allclose(lower, made.expected(rows()))
        np.testing.assert_allclose(upper, lower)


@every
def test_the_kernel_is_a_kernel(cls, options):
    made = fitted(cls, options)
    assert isinstance(made.kernel, Kernel)
    assert made.kernel(rows()).shape == (6, 6)
    if made.theory_gap is None and hasattr(made, "bits"):
        K = made.kernel(rows())
        np.testing.assert_allclose(made.expected(rows()), K + (1 - K) / 2.0**made.bits, rtol=1e-6)


@every
def test_first_components_of_a_longer_run(cls, options):
    short, long = (fitted(cls, options, n_components=k).encode(rows()) for k in (48, 130))
    equal = np.array_equal(long.array[:, :48], short.array)
    if fitted(cls, options).has_prefix:
        assert equal
        assert long.first(48) == short
    else:
        assert not equal, "has_prefix is False, but the prefix is there: declare it"


@every
def test_low_bits_of_a_longer_code(cls, options):
    made = fitted(cls, options)
    if not hasattr(made, "bits") or made.bits == 16:
        return
    long = fitted(cls, options | {"bits": 16}).encode(rows())
    assert_same_codes(long.low_bits(made.bits), made.encode(rows()))


@every
@pytest.mark.parametrize("n_jobs", [1, 2, 3, 7, -1])
def test_threads_do_not_matter(cls, options, n_jobs):
    X = many_rows()
    one = fitted(cls, options | {"n_jobs": 1}, X=X).encode(X)
    assert_same_codes(fitted(cls, options | {"n_jobs": n_jobs}, X=X).encode(X), one)


@every
def test_the_environment_does_not_matter(cls, options, monkeypatch):
    """Both switches are read at every call."""
    X = many_rows()
    made = fitted(cls, options, X=X)
    wanted = made.encode(X)
    for simd in SIMD_NAMES:
        for threads in ("1", "3"):
            monkeypatch.setenv("KERNELIGHT_SIMD", simd)
            monkeypatch.setenv("KERNELIGHT_NUM_THREADS", threads)
            assert_same_codes(made.encode(X), wanted, f"{simd}, {threads} threads, tables as they are")
            assert_same_codes(clone(made).fit(X).encode(X), wanted, f"{simd}, {threads} threads, fresh")
    monkeypatch.setenv("KERNELIGHT_SIMD", "mmx")
    with pytest.raises(ValueError, match="KERNELIGHT_SIMD must be one of"):
        made.encode(X)


@every
@pytest.mark.parametrize("batch", [1, 7, 64, 149])
def test_batches_and_order_do_not_matter(cls, options, batch):
    X = many_rows()
    made = fitted(cls, options, X=X)
    wanted = made.encode(X)
    parts = [made.encode(X[at : at + batch]) for at in range(0, len(X), batch)]
    assert_same_codes(Codes.concatenate(parts), wanted)
    order = np.random.default_rng(0).permutation(len(X))
    assert_same_codes(made.encode(X[order]), wanted[order])


@every
def test_storage_does_not_matter(cls, options):
    X = many_rows()
    made = fitted(cls, options, X=X)
    wanted = made.encode(X)
    for name, stored in storages(X).items():
        if sp.issparse(stored) and options.get("center") is not None:
            with pytest.raises(ValueError, match="center"):
                made.encode(stored)
            continue
        assert_same_codes(made.encode(stored), wanted, name)
        assert_same_codes(clone(made).fit(stored).encode(stored), wanted, f"fitted on {name}")


@every
def test_zero_rows_emit_nothing(cls, options):
    X = np.zeros((3, 6)) if options.get("center") is None else np.tile(CENTER, (3, 1))
    X[1, 2] += 1.0
    made = fitted(cls, options, X=X)
    codes, features = made.encode(X), made.transform(X)
    assert codes.empty.tolist() == [True, False, True]
    assert not codes.array[[0, 2]].any()
    assert np.diff(features.indptr).tolist() == [0, 48, 0]
    assert made.similarity(codes).tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    if made.theory_gap is None:
        assert made.expected(X).tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
        assert not made.variance(X).any()


@every
def test_features_are_what_scikit_learn_expects(cls, options):
    made = fitted(cls, options)
    features = made.transform(rows())
    assert (type(features), features.dtype, features.indices.dtype) == (sp.csr_matrix, np.float32, np.int32)
    assert features.shape == (6, 48 << made.bits)
    assert features.has_sorted_indices
    np.testing.assert_allclose(features.multiply(features).sum(axis=1), 1.0, rtol=1e-5)
    codes = made.encode(rows())
    assert features.indices.reshape(6, 48).tolist() == (codes.array + (np.arange(48) << made.bits)).tolist()
    assert not codes.array.flags.writeable
    assert (made.fit_transform(rows()) != features).nnz == 0
    assert len(made.get_feature_names_out()) == features.shape[1]


@every
def test_state_round_trip(cls, options, tmp_path):
    made = fitted(cls, options)
    codes = made.encode(rows())
    path = tmp_path / "fitted.kl"
    made.save(path)
    for again in (
        cls.from_state(made.to_state()),
        cls.load(path),
        _registry.load(path),
        pickle.loads(pickle.dumps(made)),
    ):
        assert again.provenance == made.provenance
        assert again.encode(rows()) == codes
        assert again.to_state() == made.to_state()
    assert State.load(path) == made.to_state()


@every
def test_similarity_undoes_the_bits(cls, options):
    made = fitted(cls, options)
    codes = made.encode(rows())
    P = codes.collisions(codes[:2]) / 48
    floor = 2.0**-made.bits
    np.testing.assert_allclose(made.similarity(codes, codes[:2]), (P - floor) / (1 - floor))


@every
def test_features_not_seen_at_fit_are_refused(cls, options):
    made = fitted(cls, options)
    for wide in (np.ones((1, 7)), sp.csr_matrix(np.ones((1, 7))), np.ones((1, 5))):
        with pytest.raises(ValueError, match="6 features"):
            made.encode(wide)
