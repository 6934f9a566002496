"""AlignedFourier: what labels choose, what is made of it, and what is stored.

Long, because both of its forms, cosines and bits, are held to the same questions on the same data.
"""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import assert_same_codes, frozen, storages
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.utils.estimator_checks import check_estimator

from kernelight import AlignedFourier, BinaryFourier, RandomFourier, State
from kernelight.base import checks, registry
from kernelight.maps.projections import alignment, projection, readouts
from kernelight.maps.projections.aligned_fourier import drawn_from, largest
from kernelight.maps.projections.alignment import Candidates, target_of
from kernelight.maps.projections.random_fourier import row_rule

USE = checks.resources(None)


def radius(n, seed, d=10):
    """Two classes that differ in length alone (Sinha and Duchi's example)."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    return frozen(X), (np.linalg.norm(X, axis=1) > np.sqrt(d)).astype(int)


def sectors(n, seed, n_classes=8, d=6):
    """Classes by the angle in the first two columns; the others say nothing."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    turn = np.arctan2(X[:, 0], X[:, 1]) / (2 * np.pi) + 0.5
    return frozen(X), np.minimum((turn * n_classes).astype(int), n_classes - 1)


def accuracy(model, train, test):
    (X, y), (X_test, y_test) = train, test
    made = model.fit(X, y)
    ridges = (RidgeClassifier(alpha=alpha).fit(made.transform(X), y) for alpha in (0.1, 1.0))
    return max(ridge.score(made.transform(X_test), y_test) for ridge in ridges)


def small(n=300, seed=5):
    X, y = sectors(n, seed)
    return frozen(X.astype(np.float32).astype(np.float64)), y


# -- What is learned


def test_aligned_features_beat_plain_ones_of_the_same_number():
    train, test = radius(3000, 0), radius(3000, 1)
    plain = accuracy(RandomFourier(256, metric="euclidean", sigma=1.0), train, test)
    for weighting in ("sqrt", "sample"):
        aligned = accuracy(AlignedFourier(256, sigma=1.0, weighting=weighting), train, test)
        assert aligned > plain + 0.07
    assert accuracy(AlignedFourier(256, sigma=1.0, n_candidates=2048), train, test) > plain + 0.14


def test_aligned_bits_beat_plain_ones_of_the_same_number():
    train, test = radius(3000, 0), radius(3000, 1)
    plain = accuracy(BinaryFourier(256, sigma=1.0, projection="gaussian"), train, test)
    assert accuracy(AlignedFourier(256, sigma=1.0, binary=True), train, test) > plain + 0.05


def test_more_than_four_classes():
    train, test = sectors(3000, 0, d=20), sectors(3000, 1, d=20)
    plain = accuracy(RandomFourier(128, metric="euclidean"), train, test)
    assert accuracy(AlignedFourier(128, n_candidates=1024), train, test) > plain + 0.08


def test_rows_of_different_classes_are_not_asked_to_agree():
    """Labels of +-1 would reward a cosine that is large everywhere.

    Of more than four classes, its frequency is near zero.
    """
    X = np.random.default_rng(0).standard_normal((2000, 10))
    y = np.random.default_rng(1).integers(0, 12, 2000)
    for binary in (False, True):
        made = AlignedFourier(256, binary=binary, n_candidates=2048, sigma=2.0).fit(X, y)
        kept = np.linalg.norm(made.frequencies_, axis=0)
        everyone = np.linalg.norm(
            made.set_params(rho=0.0, n_components=4096).fit(X, y).frequencies_, axis=0
        )
        assert kept.mean() > everyone.mean()


def test_numbers_as_a_target():
    (X, _), (X_test, _) = radius(2000, 0), radius(2000, 1)
    y, y_test = np.linalg.norm(X, axis=1), np.linalg.norm(X_test, axis=1)

    def fit(model):
        made = model.fit(X, y)
        return Ridge(alpha=0.1).fit(made.transform(X), y).score(made.transform(X_test), y_test)

    plain = fit(RandomFourier(256, metric="euclidean", sigma=1.0))
    assert fit(AlignedFourier(256, sigma=1.0, n_candidates=1024)) > plain + 0.2
    one, other = AlignedFourier(64).fit(X, y), AlignedFourier(64).fit(X, 1e300 * (y - 3))
    np.testing.assert_array_equal(one.indices_, other.indices_)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-4)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("kind", ["two", "seven", "numbers"])
def test_scores_are_those_of_the_definition(metric, binary, kind):
    X = np.random.default_rng(3).standard_normal((200, 5))
    X[17] = 0.0
    y = {
        "two": np.arange(200) % 3 == 0,
        "seven": np.array(list("abcdefg"))[np.arange(200) ** 2 % 7],
        "numbers": X[:, 0] ** 2 + 0.1,
    }[kind]
    made = AlignedFourier(192, n_candidates=192, rho=0.0, metric=metric, binary=binary).fit(X, y)
    candidates = Candidates(5, made.seed_, made._spread() / projection.TURN, pairs=not binary)
    actual = candidates.scores(X, row_rule(made, X), target_of(y, 200, "me"), 192, USE)

    every = np.arange(192)
    rows = (
        X
        if metric == "euclidean"
        else X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    )
    scale = 1 / made.bandwidth_ if metric == "euclidean" else np.sqrt(made.bandwidth_)
    angles = rows @ candidates.projection(every).directions(USE).astype(np.float64) * scale
    empty = 0 if metric == "euclidean" else (X == 0).all(axis=1)[:, None]
    features = (
        [np.cos(angles + 2 * np.pi * candidates.phases(every))]
        if binary
        else [np.cos(angles), np.sin(angles)]
    )
    if kind == "numbers":
        targets = [(y - y.mean()) / np.abs(y - y.mean()).max()]
    else:
        targets = [(y == label) - (y == label).mean() for label in np.unique(y)]
    wanted = sum(
        (target @ (feature * (1 - empty))) ** 2 for target in targets for feature in features
    )
    np.testing.assert_allclose(actual, wanted, rtol=1e-3, atol=1e-4 * wanted.mean())


def test_scores_do_not_depend_on_the_blocks(monkeypatch):
    X, y = small()
    target, candidates = target_of(y, len(X), "me"), Candidates(6, 3, 0.1, pairs=True)
    rule = readouts.RowRule(readouts.FIXED, 1.0)
    wanted = candidates.scores(X, rule, target, 300, USE)
    monkeypatch.setattr(alignment, "_SUM_BYTES", 1)
    monkeypatch.setattr(alignment, "PROJECTED_BYTES", 8 * 64 * 11)
    np.testing.assert_allclose(candidates.scores(X, rule, target, 300, USE), wanted, rtol=1e-4)


def test_names_of_classes_do_not_matter():
    X, y = small()
    wanted = AlignedFourier(64).fit(X, y)
    names = [
        np.array(list("hbcadgfe"))[y],
        7 - y,
        (y * 10.0).astype(np.float32),
        y.astype(str).astype(object),
        y.tolist(),
    ]
    for named in names:
        actual = AlignedFourier(64).fit(X, named)
        np.testing.assert_array_equal(actual.indices_, wanted.indices_)
        np.testing.assert_allclose(actual.weights_, wanted.weights_, rtol=1e-4)


def test_a_phase_stays_with_its_frequency():
    X, y = radius(2000, 0)
    made = AlignedFourier(256, sigma=1.0, binary=True, n_candidates=2048).fit(X, y)
    phases = 2 * np.pi * made._candidates().phases(made.indices_)
    signs = y - y.mean()

    def alignment(phases):
        return ((signs @ np.cos(X @ made.frequencies_ + phases)) ** 2).mean()

    redrawn = alignment(np.random.default_rng(0).uniform(0, 2 * np.pi, 256))
    plain = AlignedFourier(2048, sigma=1.0, binary=True, rho=0.0).fit(X, y)
    everyone = (
        (
            signs
            @ np.cos(
                X @ plain.frequencies_ + 2 * np.pi * plain._candidates().phases(plain.indices_)
            )
        )
        ** 2
    ).mean()
    assert alignment(phases) > 1.3 * redrawn > 1.3 * 1.3 * everyone


@pytest.mark.parametrize(
    "y", [np.zeros(50), ["only"] * 50, np.full(50, 0.25)], ids=["zeros", "text", "number"]
)
@pytest.mark.parametrize("binary", [False, True])
def test_nothing_to_align_with_means_plain_features(y, binary):
    X = np.random.default_rng(0).standard_normal((50, 4))
    made = AlignedFourier(32, binary=binary).fit(X, y)
    assert made.transform(X).shape[0] == 50
    if not binary:
        plain = RandomFourier(32, metric="euclidean").fit(X)
        np.testing.assert_allclose(made.transform(X), plain.transform(X), atol=1e-6)


def test_no_freedom_means_plain_features():
    X, y = small()
    plain = RandomFourier(64, gamma=3.0).fit(X).transform(X)
    for freedom in ({"rho": 0.0}, {"n_effective": 128}):
        made = AlignedFourier(64, metric="cosine", gamma=3.0, **freedom).fit(X, y)
        np.testing.assert_allclose(made.transform(X), plain, atol=1e-6)


def test_the_two_names_of_the_freedom():
    X, y = small()
    by_rho = AlignedFourier(64, n_candidates=200, rho=4.0).fit(X, y)
    by_number = AlignedFourier(64, n_candidates=200, n_effective=40).fit(X, y)
    np.testing.assert_array_equal(by_rho.indices_, by_number.indices_)
    np.testing.assert_array_equal(by_rho.weights_, by_number.weights_)
    few = AlignedFourier(200, n_candidates=100, n_effective=10).fit(X, y)
    assert 1 / (few.weights_**2).sum() == pytest.approx(10)


# -- What is made of it


@pytest.mark.parametrize(
    "options", [{}, {"weighting": "sample"}, {"metric": "cosine", "gamma": 5.0}], ids=str
)
def test_inner_products_are_the_learned_kernel(options):
    X, y = small(60)
    made = AlignedFourier(64, **options).fit(X, y)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if options.get("metric") == "cosine" else X
    angles = (rows[:, None, :] - rows) @ made.frequencies_
    Z = made.transform(X)
    np.testing.assert_allclose(Z @ Z.T, np.cos(angles) @ made.weights_, atol=1e-5)
    np.testing.assert_allclose((Z**2).sum(axis=1), 1.0, rtol=1e-5)


def test_bits_are_signs_of_thresholded_cosines():
    X, y = small(60)
    made = AlignedFourier(64, binary=True).fit(X, y)
    threshold = np.empty(64, dtype=np.float32)
    projection._core.fill_thresholds(made.seed_, threshold)
    values = (
        np.cos(X @ made.frequencies_ + 2 * np.pi * made._candidates().phases(made.indices_))
        + threshold
    )
    clear = np.abs(values) > 1e-5
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(made.encode(X).array[clear], (values > 0)[clear])
    features = made.transform(X)
    assert (sp.issparse(features), features.shape, features.dtype) == (True, (60, 128), np.float32)


def test_draws_follow_the_weights():
    q = np.random.default_rng(0).random(40) ** 3
    q[[3, 11, 39]] = 0.0
    q /= q.sum()
    for seed in range(3):
        drawn = drawn_from(q, 20_000, seed)
        counts = np.bincount(drawn, minlength=40)
        assert (np.diff(drawn) >= 0).all()
        assert not counts[q == 0].any()
        some = q > 0
        statistic = ((counts - 20_000 * q)[some] ** 2 / (20_000 * q)[some]).sum()
        freedom = some.sum() - 1
        assert abs(statistic - freedom) < 5 * np.sqrt(2 * freedom)


def test_the_largest_weights_are_kept():
    assert largest(np.array([0.1, 0.4, 0.0, 0.1, 0.4]), 3).tolist() == [0, 1, 4]
    assert largest(np.array([0.0, 0.5, 0.0, 0.5]), 3).tolist() == [1, 3]
    X, y = small()
    made = AlignedFourier(64, n_effective=3).fit(X, y)
    m = len(made.indices_)
    assert 3 <= m < 32
    assert made.transform(X).shape == (len(X), 2 * m)
    assert len(made.get_feature_names_out()) == 2 * m
    assert made.get_feature_names_out()[-1] == f"alignedfourier{2 * m - 1}"


@pytest.mark.parametrize(("n_components", "columns"), [(1, 2), (2, 2), (3, 2), (4, 4), (7, 6)])
@pytest.mark.parametrize("weighting", ["sqrt", "sample"])
def test_few_components(n_components, columns, weighting):
    X, y = small()
    made = AlignedFourier(n_components, weighting=weighting, n_candidates=50, n_effective=20).fit(
        X, y
    )
    assert made.transform(X).shape == (len(X), columns)
    bits = AlignedFourier(n_components, binary=True).fit(X, y)
    assert bits.encode(X).shape == (len(X), n_components)
    assert len(bits.get_feature_names_out()) == 2 * n_components


def test_only_bits_are_codes():
    made = AlignedFourier()
    assert not hasattr(made, "encode")
    with pytest.raises(AttributeError, match="no attribute 'encode'") as caught:
        made.encode([[1.0]])
    assert str(caught.value.__cause__).endswith("use transform, or binary=True for codes.")
    assert hasattr(AlignedFourier(binary=True), "encode")
    with pytest.raises(NotFittedError):
        AlignedFourier(binary=True).encode([[1.0]])


def test_codes_of_other_labels_do_not_meet():
    X, y = small()
    one, same, other = (AlignedFourier(64, binary=True).fit(X, labels) for labels in (y, y, y % 2))
    assert one.encode(X) == same.encode(X)
    assert one.provenance != other.provenance
    with pytest.raises(ValueError, match="provenance differs"):
        one.encode(X).collisions(other.encode(X))


def test_theory_says_what_it_does_not_know():
    X, y = small()
    made = AlignedFourier(64, sigma=2.0)
    assert made.kernel(X[:1], X[:1]) == 1.0
    with pytest.raises(ValueError, match="learns its kernel from labels"):
        made.expected(X)
    with pytest.raises(ValueError, match="call fit first"):
        _ = AlignedFourier(64).kernel
    assert made.fit(X, y).kernel.sigma == 2.0
    assert AlignedFourier(metric="cosine").kernel.name == "rbf"


# -- Storage, threads, memory


@pytest.mark.parametrize(
    "options",
    [{}, {"weighting": "sample"}, {"binary": True}, {"binary": True, "metric": "cosine"}],
    ids=str,
)
def test_storage_and_threads_do_not_matter(options):
    X, y = small(150)
    made = AlignedFourier(64, **options).fit(X, y)
    wanted = made.encode(X) if made.binary else made.transform(X)
    for name, stored in storages(X).items():
        again = clone(made).set_params(n_jobs=3).fit(stored, y)
        np.testing.assert_array_equal(again.indices_, made.indices_, err_msg=name)
        np.testing.assert_array_equal(again.weights_, made.weights_, err_msg=name)
        if made.binary:
            assert_same_codes(made.encode(stored), wanted, name)
        else:
            np.testing.assert_allclose(made.transform(stored), wanted, atol=1e-6, err_msg=name)


def test_memory_does_not_grow_with_the_rows():
    X = np.random.default_rng(0).standard_normal((200_000, 20)).astype(np.float32)
    y = np.arange(200_000) % 3
    for binary in (False, True):
        tracemalloc.start()
        AlignedFourier(512, sigma=4.0, binary=binary).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 60e6


@pytest.mark.parametrize("law", ["gaussian", "cauchy"])
def test_selected_outputs_are_those_of_the_whole(law, monkeypatch):
    X = frozen(np.random.default_rng(0).standard_normal((7, 9)))
    outputs = np.array([190, 3, 3, 64, 63, 0, 128, *range(100, 180)])
    rule, readout = readouts.RowRule(readouts.FIXED, 1.0), readouts.BitReadout()
    whole = projection.Dense(law, 9, 200, 5, 1.0).read(X, rule, readout, USE)[0]
    for kept in (projection.KEPT_BYTES, 0):  # tables kept, or drawn for some outputs at a time
        monkeypatch.setattr(projection, "KEPT_BYTES", kept)
        monkeypatch.setattr(
            projection, "CALL_BYTES", 4 * 64 * 9 if kept == 0 else projection.CALL_BYTES
        )
        some = projection.Selected(law, 9, outputs, 5, 1.0)
        for rows in (X, sp.csr_matrix(X)):
            np.testing.assert_array_equal(some.read(rows, rule, readout, USE)[0], whole[:, outputs])


@pytest.mark.parametrize("binary", [False, True])
def test_wide_sparse_rows(binary):
    """Only entries of columns that occur are drawn; the result is that of dense rows."""
    X = sp.random(60, 3000, density=0.01, format="csr", random_state=0, dtype=np.float64)
    y = np.arange(60) % 2
    made, dense = (AlignedFourier(64, binary=binary).fit(rows, y) for rows in (X, X.toarray()))
    np.testing.assert_array_equal(made.indices_, dense.indices_)
    np.testing.assert_array_equal(made.weights_, dense.weights_)
    wide = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(60, 10**9))
    np.testing.assert_array_equal(
        AlignedFourier(64, binary=binary).fit(wide, y).indices_, dense.indices_
    )
    assert (
        AlignedFourier(64, binary=binary).fit(wide[:, 3000:], y).transform(wide[:, 3000:]).shape[0]
        == 60
    )


# -- State

CONFIGURATIONS = [
    {},
    {"weighting": "sample", "n_candidates": 77},
    {"binary": True, "rho": 2.0},
    {"metric": "cosine", "gamma": "median"},
]


@pytest.mark.parametrize("options", CONFIGURATIONS, ids=str)
def test_state_round_trip(options, tmp_path):
    X, y = small()
    made = AlignedFourier(48, random_state=3, **options).fit(X, y)
    path = tmp_path / "aligned.kl"
    made.save(path)
    loaded = [
        AlignedFourier.load(path),
        registry.load(path),
        AlignedFourier.from_state(made.to_state()),
    ]
    for again in [*loaded, pickle.loads(pickle.dumps(made))]:
        assert (again.transform(X) != made.transform(X)).sum() == 0
        assert again.provenance == made.provenance
        assert again.to_state() == made.to_state()
    assert sorted(made.to_state().arrays) == ["indices_", "weights_"]


def spoilt(**changed):
    X, y = small()
    state = (
        AlignedFourier(16, n_candidates=40, n_effective=10, binary=changed.pop("binary", False))
        .fit(X, y)
        .to_state()
    )
    meta, arrays = state.meta, dict(state.arrays)
    for name, value in changed.items():
        if name in arrays:
            arrays[name] = value(arrays[name])
        else:
            part = "params" if name in meta["params"] else "decided"
            meta[part][name] = value
    return State(meta, {name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"indices_": lambda a: None}, "must both be there"),
        ({"weights_": lambda a: None}, "must both be there"),
        ({"indices_": lambda a: a.astype(np.int32)}, "int64"),
        ({"indices_": lambda a: a[:0]}, "between 1 and 8 numbers"),
        ({"indices_": lambda a: a[:, None]}, "between 1 and 8 numbers"),
        ({"indices_": lambda a: np.arange(9)}, "between 1 and 8 numbers"),
        ({"indices_": lambda a: a - 50}, "must ascend from 0"),
        ({"indices_": lambda a: a + 40}, "less than 40"),
        ({"indices_": lambda a: a[::-1].copy()}, "must ascend"),
        ({"weights_": lambda a: a[:-1]}, "as many numbers"),
        ({"weights_": lambda a: a.astype(np.float32)}, "float64"),
        ({"weights_": lambda a: 2 * a}, "the sum 1"),
        ({"weights_": lambda a: np.full_like(a, np.nan)}, "positive"),
        ({"weights_": lambda a: a * np.where(np.arange(len(a)) == 0, -1, 1)}, "positive"),
        (
            {"binary": True, "indices_": lambda a: a[1:], "weights_": lambda a: a[1:]},
            "one for each bit",
        ),
        ({"bandwidth_": 0.0}, "bandwidth_"),
        ({"seed_": "x"}, "seed_"),
        ({"n_effective": 1e9}, "n_effective"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"metric": "taxi"}, "metric"),
    ],
)
def test_damaged_states_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        AlignedFourier.from_state(spoilt(**changed))


# -- Wrong values


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components must be between 1"),
        ({"n_components": 2.0}, TypeError, "n_components must be a whole number"),
        ({"n_candidates": 0}, ValueError, "n_candidates must be between 1"),
        ({"n_candidates": "many"}, TypeError, "n_candidates must be a whole number"),
        ({"n_effective": 0.5}, ValueError, "n_effective must be a finite number, between 1 and 64"),
        ({"n_effective": 65}, ValueError, "n_effective must be a finite number, between 1 and 64"),
        ({"n_effective": True}, TypeError, "n_effective must be a number"),
        ({"rho": -0.1}, ValueError, "rho must be a finite number, at least 0"),
        ({"rho": np.nan}, ValueError, "rho must be a finite number"),
        ({"rho": "2"}, TypeError, "rho must be a number"),
        ({"rho": 1.0, "n_effective": 4}, ValueError, "give one of them"),
        ({"weighting": "equal"}, ValueError, "weighting must be one of"),
        ({"binary": "yes"}, ValueError, "binary must be one of"),
        ({"metric": "l1"}, ValueError, "metric must be one of"),
        ({"gamma": 2.0}, ValueError, "gamma goes with metric='cosine'"),
        ({"metric": "cosine", "sigma": 2.0}, ValueError, "sigma goes with metric='euclidean'"),
    ],
)
def test_wrong_parameters(options, error, message):
    X, y = small(20)
    with pytest.raises(error, match=message):
        AlignedFourier(**{"n_components": 32} | options).fit(X, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (np.eye(20, 3), "Unknown label type.*'multilabel-indicator'"),
        (np.random.default_rng(0).random((20, 2)), "Unknown label type.*'continuous-multioutput'"),
        (np.arange(40).reshape(20, 2), "Unknown label type.*'multiclass-multioutput'"),
        (sp.csr_matrix(np.eye(20, 3)), "Unknown label type"),
        (np.array([1, None] * 10, dtype=object), "Unknown label type.*'unknown'"),
        (np.array(["a", None] * 10, dtype=object), "cannot be sorted into classes"),
        (np.arange(19) % 2, "X has 20 rows but y has 19 labels"),
        (np.where(np.arange(20) == 3, np.nan, 0.5), "Input y contains NaN"),
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) else "y",
)
def test_wrong_labels(y, message):
    X, _ = small(20)
    with pytest.raises(ValueError, match=message):
        AlignedFourier(32).fit(X, y)


@pytest.mark.parametrize(
    "changed",
    [{"n_components": 10}, {"binary": True}, {"metric": "cosine"}, {"n_candidates": 5}],
    ids=str,
)
def test_parameters_changed_after_fit(changed):
    X, y = small(40)
    made = AlignedFourier(32).fit(X, y).set_params(**changed)
    for call in (lambda: made.transform(X), made.to_state):
        with pytest.raises(ValueError, match="changed after fit: fit again"):
            call()


@pytest.mark.parametrize(
    "options", [{}, {"binary": True}, {"weighting": "sample", "metric": "cosine"}], ids=str
)
def test_scikit_learn(options):
    check_estimator(
        AlignedFourier(n_components=16, **options), expected_failed_checks=None, on_skip=None
    )
