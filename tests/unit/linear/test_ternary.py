"""TernaryClassifier: fits, predictions, pruning, memory and files.

Long, because pruning, memory and files are asked of the same few fitted models.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import kernelight
from kernelight import BinaryFourier, Codes, SignProjection, State, TernaryClassifier
from kernelight.linear import ternary

IRIS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def flowers():
    """Codes of iris of 512 bits, labels, and their map."""
    X, y = IRIS
    binary = BinaryFourier(512, sigma=1.5).fit(X)
    return binary.encode(X), y, binary


@pytest.fixture(scope="module")
def model(flowers):
    return TernaryClassifier().fit(*flowers[:2])


def two(flowers):
    codes, y, binary = flowers
    return codes[y > 0], np.where(y[y > 0] == 1, "versicolor", "virginica"), binary


def test_learns_flowers(flowers, model):
    codes, y, _ = flowers
    assert model.score(codes, y) > 0.95
    assert cross_val_score(TernaryClassifier(), codes, y).mean() > 0.9
    assert model.coef_.shape == (3, 512)
    assert model.coef_.dtype == np.int8
    assert model.scale_.shape == model.intercept_.shape == (3,)
    assert model.decision_function(codes).shape == (150, 3)
    assert model.n_features_in_ == 512


def test_two_classes_have_one_vector(flowers):
    codes, y, _ = two(flowers)
    model = TernaryClassifier().fit(codes, y)
    assert model.coef_.shape == (1, 512)
    scores = model.decision_function(codes)
    assert scores.shape == (100,)
    np.testing.assert_array_equal(model.predict(codes), model.classes_[(scores > 0).astype(int)])
    assert model.score(codes, y) > 0.9


def test_scores_are_those_of_the_coefficients(flowers, model):
    codes = flowers[0]
    Z = 2.0 * codes.array - 1
    wanted = (Z @ model.coef_.T.astype(float)) * model.scale_.astype(float) + model.intercept_
    np.testing.assert_allclose(model.decision_function(codes), wanted, rtol=1e-12)
    np.testing.assert_array_equal(
        model.decision_function(codes.packed), model.decision_function(codes)
    )
    assert model.decision_function(codes[:0]).shape == (0, 3)
    assert model.predict(codes[:1]).shape == (1,)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize("sparsity", [0.0, 0.8])
def test_objective_never_rises(flowers, loss, sparsity):
    codes, y, _ = flowers
    model = TernaryClassifier(loss, sparsity=sparsity).fit(codes, y)
    assert (np.diff(model.objective_path_, axis=0) <= 0).all()
    assert model.objective_path_.shape == (model.n_iter_, 3)
    assert model.score(codes, y) > 0.9


@pytest.mark.parametrize("sparsity", [0.5, 0.75, 0.95])
def test_sparsity_is_the_least_fraction_of_zeros(flowers, sparsity):
    codes, y, _ = flowers
    model = TernaryClassifier(sparsity=sparsity).fit(codes, y)
    zeros = (model.coef_ == 0).mean(axis=1)
    assert (zeros >= sparsity).all()
    assert (zeros < 1).all()
    assert (model.l0_ >= 0).all()


def test_l0_makes_zeros(flowers):
    codes, y, _ = flowers
    few, many = (
        np.count_nonzero(TernaryClassifier(l0=l0).fit(codes, y).coef_) for l0 in (0.001, 0.0)
    )
    assert few < many


def test_a_class_keeps_its_last_coefficient(flowers):
    codes, y, _ = flowers
    model = TernaryClassifier(sparsity=0.9999).fit(codes, y)
    assert (model.coef_ != 0).any(axis=1).all()


def test_result_depends_neither_on_threads_nor_on_instructions(flowers, model, monkeypatch):
    codes, y, _ = flowers
    for jobs, simd in ((1, "baseline"), (2, "avx2"), (5, "avx512")):
        monkeypatch.setenv("KERNELIGHT_SIMD", simd)
        other = TernaryClassifier(n_jobs=jobs).fit(codes, y)
        np.testing.assert_array_equal(other.coef_, model.coef_)
        np.testing.assert_array_equal(other.scale_, model.scale_)
        np.testing.assert_array_equal(
            other.decision_function(codes), model.decision_function(codes)
        )


def test_seeds_visit_in_another_order(flowers, model):
    codes, y, _ = flowers
    np.testing.assert_array_equal(
        TernaryClassifier(random_state=0).fit(codes, y).coef_, model.coef_
    )
    assert (TernaryClassifier(random_state=1).fit(codes, y).coef_ != model.coef_).any()


def test_empty_rows_score_their_bias():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    empty = np.arange(60) % 5 == 0
    codes = Codes(rng.integers(0, 2, (60, 70)), bits=1, empty=empty)
    model = TernaryClassifier().fit(codes, y)
    scores = model.decision_function(codes)
    np.testing.assert_array_equal(
        scores[empty], np.tile(model.intercept_.astype(float), (empty.sum(), 1))
    )
    # From empty rows only biases can be learned.
    all_empty = Codes(np.zeros((6, 8), dtype=int), bits=1, empty=np.ones(6, bool))
    biases_only = TernaryClassifier().fit(all_empty, [0, 0, 0, 0, 1, 1])
    assert not biases_only.coef_.any()
    assert (biases_only.predict(all_empty) == 0).all()
    assert len(biases_only.prune().slots_) == 1


def test_weights(flowers):
    codes, y, _ = flowers
    twice = Codes.concatenate([codes, codes[y == 2]])
    repeated = TernaryClassifier(max_iter=400).fit(twice, np.r_[y, y[y == 2]])
    weighted = TernaryClassifier(max_iter=400).fit(
        codes, y, sample_weight=np.where(y == 2, 2.0, 1.0)
    )
    by_class = TernaryClassifier(max_iter=400, class_weight={0: 1.0, 1: 1.0, 2: 2.0}).fit(codes, y)
    np.testing.assert_array_equal(weighted.coef_, by_class.coef_)
    np.testing.assert_allclose(
        weighted.objective_path_[-1], repeated.objective_path_[-1], rtol=0.02
    )
    assert (
        TernaryClassifier(class_weight="balanced").fit(codes[:110], y[:110]).score(codes, y) > 0.8
    )
    for weight in (np.ones(3), np.full(150, -1.0), np.full(150, np.nan), ["a"] * 150):
        with pytest.raises(ValueError, match="sample_weight must"):
            TernaryClassifier().fit(codes, y, sample_weight=weight)
    with pytest.raises(ValueError, match="at least one row must count"):
        TernaryClassifier().fit(codes, y, sample_weight=np.zeros(150))
    none = TernaryClassifier(class_weight={0: 0.0, 1: 1.0, 2: 1.0})
    with pytest.raises(ValueError, match="weights of all rows are 0"):
        none.fit(codes, y, sample_weight=(y == 0).astype(float))


def test_too_few_sweeps_give_a_warning(flowers):
    codes, y, _ = flowers
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        TernaryClassifier(max_iter=1).fit(codes, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "hinge"}, "loss must be one of"),
        ({"C": 0.0}, "C must be a finite number above 0"),
        ({"sparsity": 1.0}, "sparsity must be below 1"),
        ({"sparsity": -0.1}, "sparsity must be a finite number, between 0 and 1"),
        ({"l0": -1.0}, "l0 must be a finite number, at least 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"class_weight": "even"}, "class_weight must be one of"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"random_state": -1}, "random_state must be between"),
    ],
)
def test_parameters_are_checked(flowers, params, message):
    with pytest.raises(ValueError, match=message):
        TernaryClassifier(**params).fit(*flowers[:2])


def test_other_rows_are_refused(flowers, model):
    codes, y, _ = flowers
    with pytest.raises(ValueError, match=r"got 2 bits: .* low_bits\(1\)"):
        TernaryClassifier().fit(Codes(np.zeros((3, 4), dtype=int), bits=2), [0, 1, 1])
    with pytest.raises(ValueError, match="at least one row"):
        TernaryClassifier().fit(codes[:0], [])
    with pytest.raises(ValueError, match="one class only"):
        TernaryClassifier().fit(codes[:10], y[:10])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TernaryClassifier().fit(codes, y[:3])
    with pytest.raises(ValueError, match="Unknown label type"):
        TernaryClassifier().fit(codes, np.linspace(0, 1, 150))
    with pytest.raises(TypeError, match="fitted to codes of 512 slots, got ndarray: encode rows"):
        model.predict(IRIS[0])
    with pytest.raises(ValueError, match=r"must have the shape \(n_samples, 8\), got \(2, 3\)"):
        model.predict(np.zeros((2, 3), dtype=np.uint64))


def test_codes_of_another_map_are_refused(flowers, model):
    other = BinaryFourier(512, sigma=2.0).fit(IRIS[0]).encode(IRIS[0])
    with pytest.raises(ValueError, match="were not made by the map whose codes"):
        model.predict(other)
    with pytest.raises(ValueError, match="fitted to codes of 512 slots, got 100 slots"):
        model.predict(flowers[0].first(100))
    with pytest.raises(ValueError, match="were not made by the map"):
        model.predict(flowers[0].take_slots([1, 2, 3]))


def test_unfitted(flowers):
    for call in (TernaryClassifier().predict, TernaryClassifier().decision_function):
        with pytest.raises(NotFittedError):
            call(flowers[0])
    for call in (
        TernaryClassifier().prune,
        TernaryClassifier().memory_report,
        TernaryClassifier().to_state,
    ):
        with pytest.raises(NotFittedError):
            call()


def test_failed_fit_leaves_the_model(flowers, monkeypatch):
    codes, y, _ = flowers
    model = TernaryClassifier().fit(codes, y)
    before = model.decision_function(codes)
    with pytest.raises(ValueError, match="one class only"):
        model.fit(codes[:10], y[:10])

    def interrupted(*rest):
        raise KeyboardInterrupt

    monkeypatch.setattr(ternary, "minimise", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(codes[::2], y[::2])
    np.testing.assert_array_equal(model.decision_function(codes), before)


def test_model_selection(flowers):
    codes, y, _ = flowers
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    search = GridSearchCV(
        TernaryClassifier(), {"C": [1.0, 10.0], "sparsity": [0.0, 0.6]}, cv=3
    ).fit(codes, names)
    assert search.best_score_ > 0.9
    assert set(search.predict(codes)) <= set(names)
    assert clone(TernaryClassifier(C=3.0)).get_params()["C"] == 3.0


# --- Pruning


@pytest.mark.parametrize("projection", ["fastfood", "gaussian", "orthogonal", "sorf"])
def test_pruned_scores_are_the_same(projection):
    X, y = IRIS
    X, y = X[y > 0], y[y > 0]
    binary = BinaryFourier(300, sigma=1.5, projection=projection).fit(X)
    codes = binary.encode(X)
    model = TernaryClassifier(sparsity=0.7).fit(codes, y)
    small = model.prune()
    assert len(small.slots_) <= 90
    assert (small.coef_ != 0).all()
    kept = binary.keep(small.slots_)
    for rows in (
        codes,
        codes.take_slots(small.slots_),
        kept.encode(X),
        codes.take_slots(small.slots_).packed,
    ):
        np.testing.assert_array_equal(small.decision_function(rows), model.decision_function(codes))
    assert small.memory_report().total < model.memory_report().total
    again = small.prune()
    np.testing.assert_array_equal(again.slots_, small.slots_)
    with pytest.raises(ValueError, match="were not made by the map"):
        model.predict(kept.encode(X))
    with pytest.raises(ValueError, match="were not made by the map"):
        small.predict(binary.keep(small.slots_[1:]).encode(X))


def test_pruning_removes_slots_that_are_zero_in_all_classes(flowers):
    codes, y, _ = flowers
    model = TernaryClassifier(sparsity=0.9).fit(codes, y)
    small = model.prune()
    np.testing.assert_array_equal(small.slots_, np.flatnonzero(model.coef_.any(axis=0)))
    np.testing.assert_array_equal(small.coef_, model.coef_[:, small.slots_])
    np.testing.assert_array_equal(small.predict(codes), model.predict(codes))


def test_pruning_of_nothing(flowers):
    codes, y, _ = flowers
    dense = TernaryClassifier().fit(codes.first(5), y)
    small = dense.prune()
    np.testing.assert_array_equal(
        small.predict(codes.first(5).take_slots(small.slots_)), dense.predict(codes.first(5))
    )


# --- Memory


def test_memory_report(flowers, model):
    codes, y, binary = flowers
    report = model.memory_report(binary)
    assert report.model == {
        "coefficients, 2 bits each": 3 * 128,
        "scales and biases": 24,
        "labels": 24,
    }
    assert report.alternatives == {"coefficients, 5 to a byte": 3 * 103}
    assert report.total == 432
    # fastfood of width 4: signs, factors, permutations (2 bits), lengths, phases, thresholds
    assert sum(report.stored.values()) == 64 + 4 * 2048 + 128
    assert report.total_regenerated == 432 + 16
    assert "with the model" in str(report)
    assert model.memory_report().total_stored is None
    assert model.memory_report().total_regenerated is None
    named = TernaryClassifier().fit(codes, np.array(["a", "bc", "ü"])[y])
    assert named.memory_report().model["labels"] == 5
    with pytest.raises(TypeError, match="map must be the fitted map of the codes"):
        model.memory_report(object())


# --- Storing


@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "b", "c"], [-1.0, 0.0, 2.0]])
@pytest.mark.parametrize("prune", [False, True])
def test_files_and_pickles(flowers, tmp_path, labels, prune):
    codes, y, _ = flowers
    model = TernaryClassifier(sparsity=0.8, class_weight={labels[0]: 2.0}).fit(
        codes, np.array(labels)[y]
    )
    model = model.prune() if prune else model
    path = tmp_path / "model.kl"
    model.save(path)
    for other in (
        TernaryClassifier.load(path),
        kernelight.load(path),
        pickle.loads(pickle.dumps(model)),
    ):
        np.testing.assert_array_equal(other.coef_, model.coef_)
        np.testing.assert_array_equal(other.predict(codes), model.predict(codes))
        assert other.get_params() == model.get_params()
        assert other.classes_.dtype == model.classes_.dtype


def damaged(state, **changes):
    meta = {**state.meta, "decided": {**state.meta["decided"], **changes.pop("decided", {})}}
    meta |= changes.pop("meta", {})
    return State(meta, {name: changes.get(name, array) for name, array in state.arrays.items()})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plus_": np.full((3, 8), 2**64 - 1, dtype=np.uint64)}, "must be bits of coefficients"),
        ({"used_": np.zeros((3, 7), dtype=np.uint64)}, "used_ has the shape"),
        ({"used_": np.zeros((3, 8))}, "used_ must be uint64"),
        ({"scale_": np.full(3, np.nan, dtype=np.float32)}, "scale_ must hold finite"),
        ({"scale_": np.ones(2, dtype=np.float32)}, "scale_ must have 3 entries"),
        ({"intercept_": np.ones(3)}, "intercept_ must be float32"),
        ({"slots_": np.arange(512)[::-1].copy()}, "slots must ascend"),
        ({"slots_": np.arange(1, 513)}, "slots must be between 0 and 511"),
        ({"slots_": np.arange(511)}, "must be bits of coefficients|has the shape"),
        ({"decided": {"labels_": {"dtype": "int64", "values": [1]}}}, "at least two classes"),
        ({"decided": {"labels_": [1, 2, 3]}}, "labels must be a list"),
        ({"decided": {"provenance_": 7}}, "provenance_ must be a string"),
        ({"decided": {"seed_": "x"}}, "seed_ must be a whole number"),
        ({"meta": {"n_features_in": 1 << 40}}, "n_features_in must be"),
        ({"meta": {"params": {"loss": "nonsense"}}}, "loss must be one of"),
        ({"meta": {"params": {"class_weight": [[1]]}}}, "2 is required"),
        ({"meta": {"params": {"class_weight": [[1, "x"]]}}}, "weight of class 1 must be"),
    ],
)
def test_damaged_states_are_refused(flowers, model, changes, message):
    state = model.to_state()
    if "slots_" in changes and len(changes["slots_"]) == 511:  # a coefficient beyond the last slot
        used = np.array(state.arrays["used_"])
        used[0, -1] |= np.uint64(1 << 63)
        changes = {**changes, "used_": used}
    with pytest.raises(ValueError, match=f"does not describe a TernaryClassifier.*({message})"):
        TernaryClassifier.from_state(damaged(state, **changes))


def test_states_without_an_array_are_refused(model):
    state = model.to_state()
    for name in state.arrays:
        with pytest.raises(ValueError, match="does not describe a TernaryClassifier"):
            TernaryClassifier.from_state(
                State(
                    state.meta, {key: array for key, array in state.arrays.items() if key != name}
                )
            )


# --- Maps that keep some slots


@pytest.mark.parametrize(
    "make",
    [
        lambda: BinaryFourier(200, sigma=1.5, threshold=False),
        lambda: BinaryFourier(200, sigma=1.5, projection="gaussian"),
        lambda: SignProjection(200, distribution="cauchy"),
        lambda: SignProjection(200, projection="sorf"),
        lambda: SignProjection(200, projection="orthogonal"),
    ],
)
def test_kept_slots_are_those_of_the_whole(make, tmp_path):
    X = IRIS[0]
    whole = make().fit(X)
    slots = [0, 3, 64, 65, 130, 198]
    kept = whole.keep(slots)
    wanted = whole.encode(X).take_slots(slots)
    assert kept.encode(X) == wanted
    assert kept.transform(X).shape == (150, 12)
    assert len(kept.get_feature_names_out()) == 12
    kept.save(tmp_path / "kept.kl")
    for other in (type(whole).load(tmp_path / "kept.kl"), pickle.loads(pickle.dumps(kept))):
        assert other.encode(X) == wanted
        assert other.slots_.tolist() == slots
    assert not kept.has_prefix
    assert whole.slots_ is None
    assert whole.encode(X).n_components == 200
    with pytest.raises(ValueError, match="keeps some slots already"):
        kept.keep([0])
    assert kept.fit(X).encode(X) == whole.encode(X)


@pytest.mark.parametrize(
    "slots", [[], [1, 1], [2, 1], [-1], [200], [0.5], None, [[1]], [[1], [2, 3]]]
)
def test_slots_are_checked(slots):
    whole = BinaryFourier(200, sigma=1.5).fit(IRIS[0])
    with pytest.raises(ValueError, match="slots must"):
        whole.keep(slots)
    with pytest.raises(ValueError, match="slots must"):
        whole.encode(IRIS[0]).take_slots(slots)


def test_states_with_other_slots_are_refused():
    kept = BinaryFourier(200, sigma=1.5).fit(IRIS[0]).keep([3, 5])
    state = kept.to_state()
    for slots in (
        np.array([5, 3]),
        np.array([3, 200]),
        np.array([0.5]),
        np.zeros(0, dtype=np.int64),
    ):
        with pytest.raises(ValueError, match="does not describe a BinaryFourier"):
            BinaryFourier.from_state(State(state.meta, {**state.arrays, "slots_": slots}))


def test_kept_slots_of_codes_with_empty_rows():
    X = np.vstack([np.zeros((1, 4)), IRIS[0][:3]])
    signs = SignProjection(64).fit(X)
    kept = signs.keep([1, 2]).encode(X)
    assert kept.empty.tolist() == [True, False, False, False]
    assert kept == signs.encode(X).take_slots([1, 2])


@pytest.mark.parametrize("sparsity", [0.5, 0.9, 0.97, 0.99, 0.999])
def test_sparsity_is_reached_and_no_class_is_lost(sparsity):
    X, y = IRIS
    codes = BinaryFourier(64, sigma=1.5).fit(X).encode(X)
    model = TernaryClassifier(sparsity=sparsity).fit(codes, y)
    used = (model.coef_ != 0).sum(axis=1)
    assert (used >= 1).all()
    assert (used <= max(1, int((1 - sparsity) * 64 + 1e-9))).all()
    assert (model.objective_path_[-1] <= model.objective_path_[0] + 1e-12).all()


def test_works_in_a_pipeline(flowers):
    X, y = IRIS
    codes, _, binary = flowers
    pipeline = make_pipeline(BinaryFourier(512, sigma=1.5), TernaryClassifier()).fit(X, y)
    np.testing.assert_array_equal(pipeline[-1].coef_, TernaryClassifier().fit(codes, y).coef_)
    np.testing.assert_array_equal(
        pipeline.predict(X), TernaryClassifier().fit(codes, y).predict(codes)
    )
    one_hot = binary.transform(X)
    for wrong in (
        one_hot[:, 1:],
        one_hot[:, :-1],
        sp.csr_matrix(np.eye(150)),
        one_hot.multiply(np.arange(1024)),
    ):
        with pytest.raises(ValueError, match="got another sparse matrix"):
            TernaryClassifier().fit(wrong.tocsr(), y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        TernaryClassifier().fit(codes, None)


def test_memory_report_takes_its_own_map_only(flowers, model):
    with pytest.raises(ValueError, match="is not the map of the codes"):
        model.memory_report(BinaryFourier(512, sigma=1.5, random_state=1).fit(IRIS[0]))
    small = model.prune()
    assert (
        small.memory_report(flowers[2].keep(small.slots_)).total
        <= model.memory_report(flowers[2]).total
    )
