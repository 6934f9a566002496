"""What maps made of maps promise, products and sums: means, variances, seeds, states."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import few_and_many_seeds, frozen, signed_rows
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from kernelight import (
    GCWS,
    BinaryFourier,
    Concat,
    KernelNystroem,
    ProductMap,
    RandomFourier,
    SignProjection,
)
from kernelight.base import registry
from kernelight.maps.combinations.combination import MAX_DEPTH
from kernelight.state import State

K = 16


def rows():
    """Nonnegative, so that every map takes them; one scaled copy and a pair that shares nothing."""
    X = np.abs(signed_rows(3, 6, 5, density=0.8))
    X[2] = 3 * X[1]
    X[3], X[4] = [0, 0, 2, 0, 0], [1, 0, 0, 1, 0]
    return frozen(X)


def signs(k=K, **options):
    return SignProjection(k, projection="gaussian", **options)


MAPS = {
    "MM-acos": lambda: ProductMap(GCWS(K, bits=4), signs()),
    "acos-MM": lambda: ProductMap(signs(), GCWS(K, bits=4)),
    "MM-acos-chi2": lambda: ProductMap(GCWS(K), SignProjection(K, distribution="cauchy")),
    "GMM squared": lambda: ProductMap(GCWS(K), GCWS(K)),
    "GMM squared, darts": lambda: ProductMap(GCWS(K, sampler="dart"), GCWS(K, sampler="dart")),
    "acos squared": lambda: ProductMap(signs(), signs()),
    "MM-binary": lambda: ProductMap(GCWS(K), BinaryFourier(K, sigma=2.0, projection="gaussian")),
    "mixed to 3 bits": lambda: ProductMap(GCWS(K), signs(), bits=3),
    "mixed from 20 bits": lambda: ProductMap(GCWS(K, bits=12), GCWS(K, normalize="l1"), bits=6),
    "three": lambda: ProductMap(ProductMap(GCWS(K, bits=5), signs()), signs()),
    "three, mixed twice": lambda: ProductMap(
        GCWS(K), ProductMap(GCWS(K), GCWS(K), bits=10), bits=12
    ),
    "MM-RBF": lambda: ProductMap(GCWS(K), RandomFourier(2 * K)),
    "RBF-MM": lambda: ProductMap(RandomFourier(2 * K, gamma=2.0), GCWS(K, bits=2)),
    "MM-RBF phase": lambda: ProductMap(
        GCWS(K), RandomFourier(K, features="phase", normalize=False)
    ),
    "RBF phase-acos": lambda: ProductMap(
        RandomFourier(K, features="phase", normalize=False), signs()
    ),
    "MM-folded": lambda: ProductMap(GCWS(K), RandomFourier(K, features="folded", gamma=0.7)),
    "folded-MM": lambda: ProductMap(RandomFourier(K, features="folded"), GCWS(K)),
    "MM-Gaussian": lambda: ProductMap(GCWS(K), RandomFourier(2 * K, metric="euclidean", sigma=2.0)),
    "mixed MM-RBF": lambda: ProductMap(GCWS(K), RandomFourier(2 * K), bits=2),
    "sum": lambda: Concat([GCWS(K, bits=4), signs()]),
    "weighted sum": lambda: Concat([GCWS(K), RandomFourier(2 * K)], weights=[0.5, 2.0]),
    "dense sum": lambda: Concat(
        [("wide", RandomFourier(K, gamma=0.5)), ("narrow", RandomFourier(K, features="folded"))],
        weights=(0.3, 0.7),
    ),
    "twice the same": lambda: Concat([GCWS(K), GCWS(K)]),
    "sum of products": lambda: Concat(
        [ProductMap(GCWS(K), signs()), ProductMap(GCWS(K), RandomFourier(2 * K))]
    ),
    "sum of sums": lambda: Concat([Concat([GCWS(K), signs()], weights=[2.0, 0.5]), GCWS(K)]),
    "three with RBF": lambda: ProductMap(ProductMap(signs(), RandomFourier(2 * K)), GCWS(K)),
}
every = pytest.mark.parametrize("name", MAPS)


def reseeded(made, seed):
    """Every part with the same seed."""
    given = clone(made)
    return given.set_params(
        **{name: seed for name in given.get_params() if name.endswith("random_state")}
    )


def dense(features):
    return features.toarray() if sp.issparse(features) else features


def inner(features):
    return dense(features @ features.T).astype(np.float64)


@cache
def products_of_seed(name, seed):
    return inner(reseeded(MAPS[name](), seed).fit_transform(rows()))


def sample(name, seeds):
    return np.array([products_of_seed(name, seed) for seed in range(seeds)])


@every
@few_and_many_seeds
def test_inner_products_average_to_what_is_expected(name, seeds):
    made, products = MAPS[name]().fit(rows()), sample(name, seeds)
    expected, variance = made.expected(rows()), made.variance(rows())
    error = np.abs(products.mean(axis=0) - expected)
    assert (error <= 5 * np.sqrt(variance / seeds) + 1e-5).all()
    np.testing.assert_allclose(made.expected(rows(), rows()[:2]), expected[:, :2], rtol=1e-7)


@every
@few_and_many_seeds
def test_inner_products_vary_as_theory_says(name, seeds):
    made = MAPS[name]().fit(rows())
    squares = (sample(name, seeds) - made.expected(rows())) ** 2
    off = np.abs(squares.mean(axis=0) - made.variance(rows()))
    # A pair that agrees once in a while has a variance that few samples see: add what one agreement
    # more would change.
    assert (off <= 5 * squares.std(axis=0, ddof=1) / np.sqrt(seeds) + 2 / (seeds * K**2)).all()


def test_nested_parts_have_seeds_of_their_own():
    inside = ProductMap(GCWS(4, bits=2), GCWS(4, bits=2))
    made = ProductMap(inside, inside).fit(rows())
    four = [part.seed_ for half in (made.left_, made.right_) for part in (half.left_, half.right_)]
    assert len(set(four)) == 4
    default = ProductMap(ProductMap(), ProductMap(), bits=8).fit(rows())
    assert default.left_.left_.seed_ != default.right_.left_.seed_, (
        "defaults that nobody wrote down have seeds too"
    )
    alone = ProductMap(GCWS(4, bits=2), GCWS(4, bits=2)).fit(rows())
    assert alone.left_.seed_ not in four


def test_generators_are_left_alone():
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    made = ProductMap(GCWS(4, random_state=generator), SignProjection(4, random_state=generator))
    first, second = made.fit(rows()).encode(rows()), clone(made).fit(rows()).encode(rows())
    assert generator.bit_generator.state == before
    assert first == second
    assert ProductMap(GCWS(4, random_state=None), signs(4)).fit(rows()).encode(rows()) != first


@pytest.mark.parametrize(
    ("good", "change"),
    [
        (
            ProductMap(GCWS(8), signs(8)),
            {"right": RandomFourier(8)},
        ),  # refused once both are fitted
        (ProductMap(GCWS(8), signs(8)), {"right__projection": "nonsense"}),
        (Concat([GCWS(8), signs(8)]), {"map1__n_components": 0}),
        (Concat([GCWS(8), signs(8)]), {"weights": [1]}),
    ],
    ids=str,
)
def test_a_fit_that_fails_changes_nothing(good, change):
    X, other = rows(), rows()[:, :3]
    bad = clone(good).set_params(**change)
    with pytest.raises(ValueError):  # noqa: PT011  # which one is for other tests
        bad.fit(X)
    for ask in (
        lambda: bad.transform(X),
        lambda: bad.to_state(),
        lambda: bad.get_feature_names_out(),
    ):
        with pytest.raises(NotFittedError):
            ask()
    assert not [name for name in vars(bad) if name.endswith("_")]
    made = clone(good).fit(X)
    before = vars(made).copy()
    made.set_params(**change)
    with pytest.raises(ValueError):  # noqa: PT011
        made.fit(other)
    assert {name: vars(made)[name] for name in before if name.endswith("_")} == {
        name: value for name, value in before.items() if name.endswith("_")
    }
    made.set_params(**{name: good.get_params()[name] for name in change})
    np.testing.assert_array_equal(
        dense(made.transform(X)), dense(clone(good).fit_transform(X)), err_msg="still the first fit"
    )


def test_a_map_inside_itself_is_refused():
    for made, inside in ((ProductMap(), "left"), (Concat([GCWS(8), signs(8)]), "map1")):
        made.set_params(**{inside: made})
        with pytest.raises(ValueError, match="cannot be a part of itself"):
            made.fit(rows())


@every
def test_sparse_rows_are_rows(name):
    X = rows()
    made = MAPS[name]().fit(X)
    wanted = dense(made.transform(X))
    for stored in (sp.csr_matrix(X), sp.csc_array(X)):
        np.testing.assert_allclose(dense(made.transform(stored)), wanted, atol=1e-6)
        np.testing.assert_allclose(dense(clone(made).fit_transform(stored)), wanted, atol=1e-6)


@every
def test_state_round_trip(name, tmp_path):
    X = rows()
    made = MAPS[name]().fit(X)
    features = dense(made.transform(X))
    few = features.shape[1] < 50_000  # otherwise names take long
    names = made.get_feature_names_out().tolist() if few else None
    path = tmp_path / "fitted.kl"
    made.save(path)
    for again in (
        type(made).from_state(made.to_state()),
        type(made).load(path),
        registry.load(path),
        pickle.loads(pickle.dumps(made)),
    ):
        assert type(again) is type(made)
        np.testing.assert_array_equal(dense(again.transform(X)), features)
        assert again.to_state() == made.to_state()
        if few:
            assert again.get_feature_names_out().tolist() == names
        refitted = clone(again).fit_transform(X)  # with the seeds before fit
        np.testing.assert_array_equal(dense(refitted), features)
        if hasattr(made, "encode"):
            assert again.encode(X) == made.encode(X)


def damaged(state, change):
    meta = state.meta
    change(meta)
    return State(meta, state.arrays)


def put(*path_and_value):
    *path, last, value = path_and_value

    def change(meta):
        for key in path:
            meta = meta[key]
        if value is None:
            del meta[last]
        else:
            meta[last] = value

    return change


DAMAGE = {
    "no parts": put("parts", None),
    "parts are a list": put("parts", []),
    "a part is a number": put("parts", "left", 3),
    "no right": put("parts", "right", None),
    "one more": put("parts", "middle", {"kind": "GCWS"}),
    "unknown kind": put("parts", "left", "kind", "Nothing"),
    "a kernel": put("parts", "left", "kind", "RBF"),
    "no kind": put("parts", "left", "kind", None),
    "other width": put("parts", "left", "n_features_in", 7),
    "other slots": put("parts", "left", "params", "n_components", 8),
    "wide bits": put("parts", "left", "params", "bits", 16),
    "bad parameter": put("parts", "right", "params", "projection", "nonsense"),
    "unknown parameter": put("parts", "right", "params", "colour", "red"),
    "bits": put("params", "bits", 99),
    "no bits": put("params", None),
    "no seeds": put("decided", "seeds_", None),
    "seeds are a list": put("decided", "seeds_", [1, 2]),
    "seeds of another": put("decided", "seeds_", "left", {"random_state": 1, "colour": 2}),
    "a seed is a word": put("decided", "seeds_", "left", {"random_state": "one"}),
    "a seed is negative": put("decided", "seeds_", "left", {"random_state": -1}),
    "seeds are none": put("decided", "seeds_", "right", 4),
}


DAMAGE_OF_SUM = {
    "weights": put("params", "weights", [1.0]),
    "a weight": put("params", "weights", [1.0, -1.0]),
    "names": put("decided", "names_", ["one"]),
    "no names": put("decided", "names_", None),
    "names are numbers": put("decided", "names_", [1, 2]),
    "names are equal": put("decided", "names_", ["a", "a"]),
    "names are a word": put("decided", "names_", "ab"),
    "a number too high": put("parts", "2", {"kind": "GCWS"}),
    "a part less": put("parts", "1", None),
    "not numbered": put("parts", "left", {"kind": "GCWS"}),
}


@pytest.mark.parametrize("change", DAMAGE_OF_SUM.values(), ids=DAMAGE_OF_SUM)
def test_damaged_states_of_sums_are_refused(change):
    state = Concat([("a", GCWS(K)), ("b", signs())], weights=[1, 2]).fit(rows()).to_state()
    with pytest.raises(ValueError, match=r"^This state does not describe a Concat: .*\.$"):
        Concat.from_state(damaged(state, change))


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_damaged_states_are_refused(change):
    state = ProductMap(GCWS(K), signs()).fit(rows()).to_state()
    with pytest.raises(ValueError, match=r"^This state does not describe a ProductMap: .*\.$"):
        ProductMap.from_state(damaged(state, change))


def test_refusals_of_parts_are_one_sentence():
    made = Concat([Concat([GCWS(K), ProductMap(GCWS(K), signs())])]).fit(rows())
    inside = ("parts", "0", "parts", "1", "parts", "left")

    def refused(*path_and_value):
        with pytest.raises(ValueError, match=r"^This state does not describe a Concat: ") as caught:
            Concat.from_state(damaged(made.to_state(), put(*path_and_value)))
        said = str(caught.value).removeprefix("This state does not describe a Concat: ")
        assert "This state" not in said
        return said

    assert refused(*inside, "params", "bits", 99) == (
        "in its part 0, Concat, in its part 1, ProductMap, in its part left, GCWS, bits must be "
        "between 1 and 16, got 99."
    )
    for kind in ("Codes", "RBF", "Nothing"):
        assert refused(*inside, "kind", kind).endswith(f"{kind!r}, its part left, is not a map.")


def test_a_sum_of_nothing_is_refused():
    def emptied(meta):
        meta["parts"], meta["params"] = {}, {"weights": None}
        meta["decided"] = {"seeds_": {}, "names_": []}

    made = Concat([Concat([GCWS(K)])]).fit(rows()).to_state()
    for change in (emptied, lambda meta: emptied(meta["parts"]["0"])):
        with pytest.raises(ValueError, match=r"it has no parts\.$"):
            Concat.from_state(damaged(made, change))


def test_states_nested_without_end_are_refused():
    state = ProductMap(GCWS(4), signs(4), bits=1).fit(rows()).to_state()
    meta = state.meta
    for _ in range(40):
        meta = {**state.meta, "parts": {"left": meta, "right": state.meta["parts"]["right"]}}
    with pytest.raises(ValueError, match=f"nested more than {MAX_DEPTH} deep"):
        ProductMap.from_state(State(meta))
    deep = GCWS(4)
    for _ in range(MAX_DEPTH - 1):
        deep = ProductMap(deep, signs(4), bits=2)
    made = deep.fit(rows())
    assert ProductMap.from_state(made.to_state()).encode(rows()) == made.encode(rows())
    with pytest.raises(ValueError, match="nested 8 deep, got 9 levels"):
        ProductMap(deep, signs(4), bits=2).fit(rows())


@pytest.mark.filterwarnings(
    "ignore:The kernel is not positive:UserWarning"
)  # the checks' idea of a kernel matrix
@pytest.mark.parametrize(
    "made",
    [
        ProductMap(),
        ProductMap(GCWS(16), RandomFourier(32)),
        ProductMap(RandomFourier(16, features="phase", normalize=False), GCWS(16)),
        ProductMap(GCWS(16), SignProjection(16), bits=5),
        ProductMap(ProductMap(GCWS(16), BinaryFourier(16)), SignProjection(16)),
        Concat(),
        Concat([SignProjection(8), GCWS(8, bits=2)], weights=[0.5, 2]),
        Concat([("a", RandomFourier(8)), ("b", RandomFourier(8, metric="euclidean"))]),
        Concat([ProductMap(GCWS(8), RandomFourier(16)), GCWS(8)]),
        Concat([KernelNystroem("precomputed", 5)]),
    ],
    ids=repr,
)
def test_scikit_learn(made):
    check_estimator(made, on_skip=None)
