"""GCWS as a scikit-learn estimator: parameters, provenance, pickles, pipelines and threads."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import assert_same_codes, signed_rows
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.validation import NotFittedError

import kernelight
from kernelight import GCWS, Codes, State, hashing
from kernelight.kernels import GMM, NGMM, ExpGMM

X = signed_rows(1, 40, 12, density=0.8)
LONG = np.abs(signed_rows(2, 40, 300, sigma=0.3))  # rows for which "auto" takes darts

BAD = [
    ("n_components", 0, ValueError, "n_components must be between 1 and"),
    ("n_components", 2**24 + 1, ValueError, "n_components must be between 1 and"),
    ("n_components", 8.0, TypeError, "n_components must be a whole number, got 8.0"),
    ("n_components", True, TypeError, "n_components must be a whole number, got True"),
    ("n_components", "8", TypeError, "n_components must be a whole number, got '8'"),
    ("bits", 0, ValueError, "bits must be between 1 and 16, got 0"),
    ("bits", 17, ValueError, "bits must be between 1 and 16, got 17"),
    ("bits", None, TypeError, "bits must be a whole number, got None"),
    ("t_bits", 3, ValueError, "t_bits must be between 0 and 2, got 3"),
    ("t_bits", -1, ValueError, "t_bits must be between 0 and 2, got -1"),
    ("t_bits", 1.0, TypeError, "t_bits must be a whole number, got 1.0"),
    ("coding", "low", ValueError, "coding must be one of 'mixed', 'lowest', got 'low'"),
    ("coding", "lowest", ValueError, "it needs t_bits=0, got t_bits=None"),
    ("p", 0, ValueError, "p must be a finite number above 0, got 0"),
    ("p", -1.0, ValueError, "p must be a finite number above 0, got -1.0"),
    ("p", float("nan"), ValueError, "p must be a finite number above 0, got nan"),
    ("p", float("inf"), ValueError, "p must be a finite number above 0, got inf"),
    ("p", 1e7, ValueError, "p must be at most 1000, got 1e[+]07"),
    ("p", "2", TypeError, "p must be a number, got '2'"),
    ("gamma", 0, ValueError, "gamma must be a finite number above 0, got 0"),
    ("gamma", -1.0, ValueError, "gamma must be a finite number above 0, got -1.0"),
    ("gamma", float("nan"), ValueError, "gamma must be a finite number above 0, got nan"),
    ("gamma", float("inf"), ValueError, "gamma must be a finite number above 0, got inf"),
    ("gamma", 10**400, ValueError, "gamma must be a finite number above 0, got 1000"),
    ("gamma", 1e9, ValueError, r"gamma \* n_components must be at most 4194304, .* got 1e[+]09"),
    ("gamma", "1", TypeError, "gamma must be a number, got '1'"),
    ("gamma", True, TypeError, "gamma must be a number, got True"),
    ("gamma", [1.0], TypeError, r"gamma must be a number, got \[1.0\]"),
    ("normalize", "l2", ValueError, "normalize must be one of None, 'l1', got 'l2'"),
    ("center", 3.0, TypeError, "center must be one number for each column"),
    ("center", [[1.0]], TypeError, "center must be one number for each column"),
    ("center", ["a"], TypeError, "center must be one number for each column"),
    ("center", [np.nan] * 12, ValueError, "center must hold finite numbers"),
    ("center", [1.0] * 11, ValueError, "X has 12 columns but center has 11 values"),
    ("sampler", "icws", ValueError, "sampler must be one of 'auto', 'cws', 'dart', got 'icws'"),
    ("random_state", -1, ValueError, "random_state must be between 0 and"),
    ("random_state", 2**64, ValueError, "random_state must be between 0 and"),
    ("random_state", "seed", TypeError, "random_state must be a whole number, a RandomState"),
]
BAD_TOGETHER = [
    ({"sampler": "dart", "p": 2.0}, "dart sampler samples whole darts with p=1"),
    ({"sampler": "dart", "t_bits": 0}, "dart sampler samples whole darts"),
    ({"sampler": "dart", "t_bits": 0, "coding": "lowest"}, "dart sampler samples whole darts"),
    ({"coding": "lowest", "t_bits": 1}, "it needs t_bits=0, got t_bits=1"),
    (
        {"gamma": 1.0, "normalize": "l1"},
        "gamma is the ExpGMM kernel, which has neither normalize nor center",
    ),
    (
        {"gamma": 1.0, "center": [0.0] * 12},
        "gamma is the ExpGMM kernel, which has neither normalize nor center",
    ),
    ({"gamma": 1.0, "t_bits": 0, "coding": "lowest"}, "it needs coding='mixed'"),
    ({"gamma": 2.0**12, "n_components": 1025}, r"gamma \* n_components must be at most"),
    ({"normalize": "l1", "p": 2.0}, "normalize='l1' is the NGMM kernel"),
    ({"normalize": "l1", "center": [0.0] * 12}, "normalize='l1' is the NGMM kernel"),
]


@pytest.mark.parametrize(("name", "value", "kind", "words"), BAD)
def test_a_bad_parameter_is_refused_in_one_sentence(name, value, kind, words):
    made = GCWS(**{name: value})  # the constructor stores, fit checks
    with pytest.raises(kind, match=rf"^(?=.*{words})[^\n]*[.?]$"):
        made.fit(X)
    if name != "sampler":
        with pytest.raises(kind, match=words):
            hashing.gcws(X, **{name: value})


@pytest.mark.parametrize("value", [0, 1.5, "two", True])
def test_a_bad_n_jobs(value):
    with pytest.raises((TypeError, ValueError), match="n_jobs must"):
        GCWS(n_jobs=value).fit(X).encode(X)


@pytest.mark.parametrize(("options", "words"), BAD_TOGETHER, ids=lambda part: str(part)[:40])
def test_parameters_that_exclude_each_other(options, words):
    with pytest.raises(ValueError, match=rf"^(?=.*{words})[^\n]*[.?]$"):
        GCWS(**options).fit(X)


def test_the_function_asks_for_the_scale_of_darts():
    for options in ({"sampler": "dart"}, {"scale": 1.0}, {"sampler": "cws", "scale": 1.0}):
        with pytest.raises(ValueError, match="sampler='dart' needs scale="):
            hashing.gcws(X, 8, **options)
    with pytest.raises(ValueError, match="sampler must be one of 'cws', 'dart', got 'auto'"):
        hashing.gcws(X, 8, sampler="auto")
    for scale, kind in (
        (0.0, ValueError),
        (-1.0, ValueError),
        (np.inf, ValueError),
        ("1", TypeError),
    ):
        with pytest.raises(kind, match="scale must be"):
            hashing.gcws(X, 8, sampler="dart", scale=scale)


def test_numpy_numbers_are_numbers():
    plain = GCWS(16, bits=4, p=2.0, gamma=3.0, t_bits=0, random_state=5).fit(X)
    numpys = GCWS(
        np.int64(16),
        bits=np.uint8(4),
        p=np.float32(2),
        gamma=np.int8(3),
        t_bits=np.int32(0),
        random_state=np.uint64(5),
    ).fit(X)
    assert numpys.encode(X) == plain.encode(X)
    assert GCWS.from_state(numpys.to_state()).encode(X) == plain.encode(X)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"t_bits": 0, "bits": 3},
        {"p": 2.0},
        {"normalize": "l1"},
        {"center": X.mean(axis=0)},
        {"gamma": 1.5, "bits": 12},
    ],
)
@pytest.mark.parametrize("sampler", ["cws", "dart"])
def test_the_function_is_the_estimator(options, sampler):
    if sampler == "dart" and {"t_bits", "p"} & set(options):
        return
    made = GCWS(33, sampler=sampler, random_state=9, **options).fit(X)
    scale = {"scale": made.scale_} if sampler == "dart" else {}
    assert_same_codes(
        hashing.gcws(X, 33, sampler=sampler, random_state=9, **scale, **options), made.encode(X)
    )


def test_not_fitted():
    for name in ("encode", "transform", "to_state", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(GCWS(), name)(*([X] if name in ("encode", "transform") else []))
    with pytest.raises(NotFittedError):
        _ = GCWS().provenance


# -- Seeds


def test_random_states():
    by_int = GCWS(8, random_state=3).fit(X)
    assert by_int.seed_ == 3
    assert GCWS(8).fit(X).encode(X) == GCWS(8, random_state=0).fit(X).encode(X)
    drawn = GCWS(8, random_state=np.random.RandomState(0)).fit(X)
    again = GCWS(8, random_state=np.random.RandomState(0)).fit(X)
    assert drawn.seed_ == again.seed_
    assert 0 <= drawn.seed_ < 2**63
    assert drawn.encode(X) == GCWS(8, random_state=drawn.seed_).fit(X).encode(X)
    generator = np.random.default_rng(0)
    first, second = (GCWS(8, random_state=generator).fit(X) for _ in range(2))
    assert first.seed_ != second.seed_
    unseeded = GCWS(8, random_state=None).fit(X)
    assert unseeded.encode(X) == unseeded.encode(X)
    assert unseeded.seed_ != GCWS(8, random_state=None).fit(X).seed_


# -- What fit decides


def test_auto_records_its_decision():
    assert GCWS(64).fit(LONG).sampler_ == "dart"
    for options in ({"p": 2.0}, {"t_bits": 0}, {"t_bits": 2}, {"t_bits": 0, "coding": "lowest"}):
        made = GCWS(64, **options).fit(LONG)
        assert (made.sampler_, made.scale_) == ("cws", 1.0)
    made = GCWS(64).fit(LONG)
    state = made.to_state().meta["decided"]
    assert state == {"sampler_": "dart", "scale_": made.scale_, "seed_": 0}
    assert GCWS.from_state(made.to_state()).encode(LONG[:3] * 100.0) == made.encode(
        LONG[:3] * 100.0
    )
    assert GCWS(64).fit(np.zeros((3, 300))).sampler_ == "cws"


def test_codes_do_not_depend_on_rows_encoded_before():
    made = GCWS(64, sampler="dart").fit(LONG)
    wanted = GCWS(64, sampler="dart").fit(LONG).encode(LONG[:4])
    for rows in (LONG * 1e3, LONG * 1e-3, LONG[::-1]):
        made.encode(rows)
    assert made.encode(LONG[:4]) == wanted


def test_parameters_set_after_fit():
    made = GCWS(16, sampler="cws").fit(X)
    made.encode(X)
    made.set_params(bits=4, n_components=20)
    assert made.encode(X) == GCWS(20, bits=4, sampler="cws").fit(X).encode(X)
    made.set_params(bits=40)
    with pytest.raises(ValueError, match="bits must be between 1 and 16"):
        made.encode(X)
    made.set_params(bits=8, random_state=7)  # a seed is decided at fit
    assert made.encode(X) == GCWS(20, sampler="cws").fit(X).encode(X)
    assert made.fit(X).encode(X) == GCWS(20, sampler="cws", random_state=7).fit(X).encode(X)


def test_gamma_set_after_fit_is_followed():
    for sampler in ("cws", "dart"):
        made = GCWS(20, sampler=sampler).fit(X)
        made.encode(X)
        made.set_params(gamma=2.0)
        assert made.encode(X) == GCWS(20, sampler=sampler, gamma=2.0).fit(X).encode(X)
        made.set_params(gamma=None)
        assert made.encode(X) == GCWS(20, sampler=sampler).fit(X).encode(X)


def test_bounds_with_gamma_are_those_of_the_base_hash_exponentiated():
    rows, gamma = X[:6], 2.5
    base = GCWS(16, bits=16, t_bits=0).fit(rows).expected_bounds(rows)
    bounds = GCWS(16, bits=16, t_bits=0, gamma=gamma).fit(rows).expected_bounds(rows)
    for plain, exponentiated in zip(base, bounds, strict=True):
        K = (plain - 2.0**-16) / (1 - 2.0**-16)
        P = np.exp(-gamma * (1 - K))
        np.testing.assert_allclose(exponentiated, P + (1 - P) / 2.0**16, rtol=1e-12)
    assert (bounds[0] + 0.01 < bounds[1]).any()


def test_refitting_forgets():
    made = GCWS(16, sampler="dart").fit(X)
    made.encode(X)
    wide = signed_rows(4, 9, 30) * 1e6
    assert made.fit(wide).encode(wide) == GCWS(16, sampler="dart").fit(wide).encode(wide)
    assert made.n_features_in_ == 30


# -- Provenance


@pytest.mark.parametrize(
    "other",
    [
        {"random_state": 1},
        {"p": 2.0},
        {"t_bits": 0},
        {"t_bits": 1},
        {"t_bits": 0, "coding": "lowest"},
        {"normalize": "l1"},
        {"center": [0.5] * 12},
        {"sampler": "dart"},
        {"gamma": 1.0},
    ],
    ids=str,
)
def test_codes_of_another_map_refuse_to_meet(other):
    one = GCWS(16, sampler="cws").fit(X)
    two = GCWS(16, **{"sampler": "cws", **other}).fit(X)
    assert one.provenance != two.provenance
    with pytest.raises(ValueError, match="provenance differs"):
        one.encode(X).collisions(two.encode(X))
    with pytest.raises(ValueError, match="provenance differs"):
        Codes.concatenate([one.encode(X), two.encode(X)])
    with pytest.raises(ValueError, match="not made by this GCWS"):
        one.similarity(two.encode(X))


def test_darts_of_another_scale_or_length_refuse_to_meet():
    one = GCWS(16, sampler="dart").fit(X)
    scaled = GCWS(16, sampler="dart").fit(X * 1000.0)
    assert one.scale_ != scaled.scale_
    longer = GCWS(32, sampler="dart").fit(X)
    for other in (scaled.encode(X), longer.encode(X), longer.encode(X).first(16)):
        with pytest.raises(ValueError, match="provenance differs"):
            one.encode(X).collisions(other)


def test_cut_codes_meet_those_of_a_shorter_map():
    long = GCWS(64, bits=12, sampler="cws").fit(X).encode(X)
    short = GCWS(16, bits=4, sampler="cws").fit(X).encode(X)
    assert long.first(16).low_bits(4) == short
    assert long.first(16).low_bits(4).collisions(short).diagonal().tolist() == [16] * len(X)
    darts = GCWS(16, bits=12, sampler="dart").fit(X).encode(X)
    assert darts.low_bits(4) == GCWS(16, bits=4, sampler="dart").fit(X).encode(X)
    with pytest.raises(
        ValueError, match=r"bits differ \(12 and 4\): cut the wider with low_bits\(4\)"
    ):
        long.first(16).collisions(short)
    with pytest.raises(
        ValueError, match=r"slots differ \(64 and 16\): cut the longer with first\(16\)"
    ):
        long.low_bits(4).collisions(short)


@pytest.mark.parametrize("sampler", ["cws", "dart"])
def test_codes_of_another_gamma_refuse_to_meet(sampler):
    one, two = (GCWS(16, sampler=sampler, gamma=gamma).fit(X) for gamma in (1.0, 1.5))
    with pytest.raises(ValueError, match="provenance differs"):
        one.encode(X).collisions(two.encode(X))
    same = GCWS(16, sampler=sampler, gamma=np.float64(1.5)).fit(X)
    assert same.encode(X) == two.encode(X)


def test_threads_and_width_are_not_part_of_the_provenance():
    assert GCWS(16, n_jobs=1).fit(X).provenance == GCWS(16, n_jobs=2).fit(X[:, :5]).provenance


# -- scikit-learn


def test_names_and_widths():
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(12)])
    made = GCWS(3, bits=2).fit(frame)
    assert made.n_features_in_ == 12
    assert made.feature_names_in_.tolist() == list(frame.columns)
    assert made.encode(frame) == GCWS(3, bits=2).fit(X).encode(X)
    with pytest.raises(ValueError, match="feature names"):
        made.encode(frame[frame.columns[::-1]])
    names = made.get_feature_names_out()
    assert (len(names), names[0], names[4], names[-1]) == (12, "gcws0_0", "gcws1_0", "gcws2_3")
    assert len(set(names)) == 12
    again = GCWS.from_state(made.to_state())
    assert again.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="12 features"):
        GCWS(3).fit(X).encode(X[:, :11])


def test_clone_is_not_fitted_and_makes_the_same_codes():
    made = GCWS(16, bits=3, normalize="l1", center=None, random_state=4, n_jobs=1).fit(X)
    copy = clone(made)
    assert copy.get_params() == made.get_params()
    assert not hasattr(copy, "seed_")
    assert copy.fit(X).encode(X) == made.encode(X)


@pytest.mark.parametrize("rows", [X, LONG], ids=["cws", "dart"])
def test_pickles_are_small(rows):
    made = GCWS(1024).fit(rows)
    codes = made.encode(rows)
    for copy in (pickle.dumps(made), pickle.dumps(made._sampler)):
        assert len(copy) < 20_000
    assert pickle.loads(pickle.dumps(made)).encode(rows) == codes
    assert not made.to_state().arrays


def test_transform_follows_scikit_learn():
    made = GCWS(16, bits=4).fit(X)
    features = made.transform(X)
    assert isinstance(features, sp.csr_matrix)
    assert features.indices.dtype == np.int32
    assert features.data.dtype == np.float32
    assert np.unique(features.data).tolist() == [0.25]
    np.testing.assert_array_equal(
        made.fit_transform(X, np.zeros(len(X))).toarray(), features.toarray()
    )
    with pytest.raises(ValueError, match="sparse"):
        GCWS(4).set_output(transform="pandas").fit_transform(X)


@pytest.mark.parametrize(("k", "bits", "index"), [(2**15, 15, np.int32), (2**16, 16, np.int64)])
def test_indices_are_32_bits_where_they_fit(k, bits, index):
    features = GCWS(k, bits=bits).fit_transform([[1.0]])
    assert (features.indices.dtype, features.shape) == (index, (1, k << bits))


def test_similarity_of_cut_codes():
    made = GCWS(64, bits=8, sampler="cws").fit(X)
    cut = made.encode(X).first(32).low_bits(2)
    P = cut.collisions() / 32
    np.testing.assert_allclose(made.similarity(cut), (P - 0.25) / 0.75)


def test_pipelines_and_searches():
    rng = np.random.default_rng(0)
    rows = rng.random((200, 6))
    y = (np.minimum(rows[:, :3], rows[:, 3:]).sum(axis=1) > 1.0).astype(int)
    model = make_pipeline(GCWS(64), LinearSVC())
    assert model.fit(rows, y).score(rows, y) > 0.9
    search = GridSearchCV(
        model, {"gcws__bits": [1, 8], "gcws__sampler": ["cws", "dart"]}, cv=2, n_jobs=2
    ).fit(rows, y)
    assert len(search.cv_results_["params"]) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    np.testing.assert_allclose(
        cross_val_score(model, rows, y, cv=3, n_jobs=2),
        cross_val_score(model, sp.csr_array(rows), y, cv=3),
    )


def test_joblib_workers_make_the_same_codes():
    made = GCWS(32).fit(LONG)
    parts = joblib.Parallel(n_jobs=2)(
        joblib.delayed(made.encode)(LONG[at : at + 10]) for at in range(0, 40, 10)
    )
    assert Codes.concatenate(parts) == made.encode(LONG)


@pytest.mark.parametrize("sampler", ["cws", "dart"])
def test_threads_of_python_share_one_estimator(sampler):
    """Tables grow under the hands of several threads; the codes stay."""
    rows = signed_rows(6, 240, 80, density=0.2)
    wanted = GCWS(64, sampler=sampler).fit(rows).encode(rows)
    shared = GCWS(64, sampler=sampler, n_jobs=1).fit(rows)
    order = np.random.default_rng(0).permutation(240)
    with ThreadPoolExecutor(8) as pool:
        actual = list(pool.map(lambda at: shared.encode(rows[at : at + 1]), order))
    for at, codes in zip(order, actual, strict=True):
        assert codes == wanted[int(at)]
    with ThreadPoolExecutor(4) as pool:
        assert all(codes == wanted for codes in pool.map(lambda _: shared.encode(rows), range(8)))


def test_the_public_names():
    assert kernelight.GCWS is GCWS
    assert kernelight.hashing is hashing


def test_kernels():
    assert GCWS(normalize="l1").kernel == NGMM()
    assert GCWS(p=2.0).kernel == GMM(p=2.0)
    assert GCWS(center=[1.0, 2.0]).kernel == GMM(center=(1.0, 2.0))
    assert GCWS(gamma=3, p=2.0).kernel == ExpGMM(gamma=3.0, p=2.0)


def test_sparse_interface_of_scikit_learn():
    """Where scikit-learn is told to give sparse arrays, transform gives one."""
    try:
        context = config_context(sparse_interface="sparray")
    except TypeError:
        return  # this version of scikit-learn has no such setting
    with context:
        assert isinstance(GCWS(4).fit_transform(X), sp.csr_array)


@pytest.mark.parametrize(
    "change", [{"p": 2.0}, {"t_bits": 0}, {"t_bits": 0, "coding": "lowest"}], ids=str
)
def test_darts_chosen_at_fit_do_not_survive_parameters_they_cannot_follow(change):
    X = np.abs(np.random.default_rng(0).standard_normal((20, 300)))
    gcws = GCWS(64).fit(X)
    assert gcws.sampler_ == "dart"
    gcws.set_params(**change)
    with pytest.raises(ValueError, match="fit again"):
        gcws.encode(X)
    assert gcws.fit(X).sampler_ == "cws"
    np.testing.assert_array_equal(gcws.encode(X).array, hashing.gcws(X, 64, **change).array)


@pytest.mark.parametrize(
    "random_state", [np.random.RandomState(3), np.random.default_rng(3), None], ids=str
)
def test_any_random_state_is_stored_as_its_seed(random_state, tmp_path):
    X = np.ones((2, 3))
    gcws = GCWS(16, random_state=random_state, center=pd.Series([0.5, 0.0, 2.0])).fit(X)
    gcws.save(tmp_path / "gcws.kl")
    loaded = GCWS.load(tmp_path / "gcws.kl")
    assert loaded.seed_ == gcws.seed_
    assert loaded.encode(X) == gcws.encode(X)


@pytest.mark.parametrize(
    "decided",
    [{"sampler_": "foo"}, {"seed_": -1}, {"seed_": "x"}, {"scale_": 0.0}, {"scale_": None}],
    ids=str,
)
def test_decisions_of_a_state_are_checked(decided):
    state = GCWS(16).fit(np.ones((2, 3))).to_state()
    meta = state.meta
    meta["decided"].update(decided)
    with pytest.raises(ValueError, match="does not describe a GCWS"):
        GCWS.from_state(State(meta, {}))


def test_similarity_wants_codes():
    gcws = GCWS(16).fit(np.ones((2, 3)))
    with pytest.raises(TypeError, match="pass what encode returns"):
        gcws.similarity(gcws.encode(np.ones((2, 3))).array)
