"""Concat: the weighted sum of kernels, side by side.

test_combine.py has what it shares with ProductMap.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import frozen, signed_rows
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from kernelight import GCWS, Concat, KernelNystroem, ProductMap, RandomFourier, SignProjection
from kernelight.kernels import GMM, RBF, Acos, Sum
from kernelight.maps.combinations.concat import _dense_csr

X = signed_rows(3, 6, 5, density=0.8)


def test_features_stand_side_by_side():
    made = Concat(
        [GCWS(8, bits=3), RandomFourier(16), SignProjection(4)], weights=[4, 0.25, 1]
    ).fit(X)
    features = made.transform(X)
    assert (type(features), features.dtype) == (sp.csr_matrix, np.float32)
    assert (features.indices.dtype, features.indptr.dtype) == (np.int32, np.int32)
    blocks = [part.transform(X) for part in made.maps_]
    wanted = [2 * blocks[0].toarray(), blocks[1] / 2, blocks[2].toarray()]
    np.testing.assert_array_equal(features.toarray(), np.hstack(wanted))
    again = sp.csr_matrix((features.data, features.indices, features.indptr), shape=features.shape)
    assert again.has_canonical_format
    names = made.get_feature_names_out()
    assert (names[0], names[64], names[-1]) == (
        "map0__gcws0_0",
        "map1__randomfourier0",
        "map2__signprojection3_1",
    )
    assert len(set(names)) == len(names) == features.shape[1]


def test_dense_blocks_are_stored_without_zeros():
    empty = np.zeros((3, 4), np.float32)
    holes = np.float32([[0, 1, 0, 2], [0, 0, 0, 0], [3, 4, 5, 6]])
    for block in (empty, holes, holes + 1, empty[:0], np.asfortranarray(holes + 1)):
        actual, wanted = _dense_csr(block), sp.csr_matrix(block)
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(actual, part), getattr(wanted, part))
            assert getattr(actual, part).dtype == getattr(wanted, part).dtype
        assert actual.has_canonical_format


def test_dense_maps_stay_dense():
    made = Concat([("a", RandomFourier(8)), ("b", RandomFourier(4, gamma=3.0))]).fit(X)
    features = made.transform(X)
    assert (type(features), features.dtype, features.shape) == (np.ndarray, np.float32, (6, 12))
    np.testing.assert_allclose(np.square(features).sum(axis=1), 2.0, rtol=1e-5)
    assert made.get_feature_names_out()[8] == "b__randomfourier0"
    assert (made.has_prefix, Concat([RandomFourier(8)]).has_prefix) == (False, True)


def test_kernel_is_the_weighted_sum():
    assert Concat().kernel == GMM() + RBF()
    made = Concat([GCWS(), SignProjection()], weights=[0.5, 2]).fit(X)
    assert made.kernel == Sum((GMM(), Acos()), weights=(0.5, 2.0))
    nested = Concat(
        [Concat([GCWS(), SignProjection()], weights=[1, 3]), ProductMap()], weights=[2, 1]
    )
    assert nested.kernel == Sum((GMM(), Acos(), GMM() * Acos()), weights=(2, 6, 1))


def test_kernels_that_are_no_terms():
    named = Concat([GCWS(4), KernelNystroem("rbf", 4)])
    assert named.kernel == named.fit(X).kernel == GMM() + RBF()
    for kernel, what in (
        ("precomputed", "a precomputed one"),
        (lambda A, B: A @ B.T, "a callable"),
    ):
        with pytest.raises(
            ValueError, match=f"Part 1 of Concat has no kernel of kernelight but {what}"
        ):
            _ = Concat([GCWS(4), KernelNystroem(kernel, 4)]).kernel


def test_expectations_are_sums_of_those_of_the_parts():
    made = Concat([GCWS(8), RandomFourier(8)], weights=[0.5, 3]).fit(X)
    first, second = made.maps_
    np.testing.assert_allclose(
        made.expected(X), 0.5 * first.expected(X) + 3 * second.expected(X), rtol=1e-12
    )
    np.testing.assert_allclose(
        made.variance(X), first.variance(X) / 4 + 9 * second.variance(X), rtol=1e-12
    )
    gap = Concat([GCWS(8), SignProjection(8, projection="fastfood")]).fit(X)
    assert gap.expected(X).shape == (6, 6)
    with pytest.raises(ValueError, match="'fastfood' makes slots that depend"):
        gap.variance(X)
    with pytest.raises(ValueError, match="sorf"):
        Concat([SignProjection(8, projection="sorf"), GCWS(8)]).fit(X).expected(X)


def test_rows_of_zeros():
    rows = frozen([[0.0, 0.0], [1.0, -2.0]])
    made = Concat([GCWS(4), RandomFourier(4, metric="euclidean", sigma=1.0)]).fit(rows)
    stored = np.diff(made.transform(rows).indptr).tolist()
    assert stored == [2, 8]  # for the Gaussian kernel it is a point: two cosines that are not 0
    assert not hasattr(made, "encode")


def test_maps_that_do_not_go_together():
    array = np.array([GCWS(4), GCWS(4)], dtype=object)
    for maps, got in (([], "an empty list"), (3, "int"), ("ab", "str"), (array, "ndarray")):
        with pytest.raises(
            ValueError, match=f"maps must be a list of at least one map, got {got}[.]$"
        ):
            Concat(maps).fit(X)
    with pytest.raises(TypeError, match=r"part 1 must be a map such as GCWS\(\), got LinearSVC"):
        Concat([GCWS(4), LinearSVC()]).fit(X)
    with pytest.raises(TypeError, match=r"part 0 must be an instance, GCWS\(\), got GCWS"):
        Concat([GCWS]).fit(X)
    with pytest.raises(ValueError, match="weights must be 2 numbers"):
        Concat([GCWS(4), GCWS(4)], weights=[1]).fit(X)
    with pytest.raises(ValueError, match="A weight must be a finite number above 0, got 0"):
        Concat([GCWS(4), GCWS(4)], weights=[1, 0]).fit(X)
    with pytest.raises(ValueError, match="not unique"):
        Concat([("a", GCWS(4)), ("a", GCWS(4))]).fit(X)
    with pytest.raises(ValueError, match="must not contain __"):
        Concat([("a__b", GCWS(4))]).fit(X)
    with pytest.raises(ValueError, match="conflict"):
        Concat([("maps", GCWS(4))]).fit(X)


def test_weights_beyond_the_features():
    for weights in ([1e78], [1e-92], [1e-77]):
        with pytest.raises(ValueError, match=r"must be between 1\.4e-76 and 1\.1e77, got 1e"):
            Concat([GCWS(4)], weights=weights).fit(X)
    for outer, inner in ((1e76, 1e76), (1e-40, 1e-40), (1e200, 1e200), (1e-200, 1e-200)):
        with pytest.raises(ValueError, match=r"between 1\.4e-76 and 1\.1e77, got"):
            Concat([Concat([GCWS(4)], weights=[inner])], weights=[outer]).fit(X)
    for weight in (1.1e77, 1.4e-76):
        data = Concat([GCWS(4)], weights=[weight]).fit_transform(X).data
        np.testing.assert_allclose(data, np.sqrt(weight) / 2, rtol=1e-4)
    with pytest.raises(TypeError, match="A weight must be a number, got True"):
        Concat([GCWS(4), GCWS(4)], weights=[True, 2.0]).fit(X)
    with pytest.raises(TypeError, match="A weight must be a number, got True"):
        Sum((GMM(), Acos()), (True, 2.0))
    for weight in (1e200, 1e-200):
        with pytest.raises(
            ValueError, match="A weight of a sum in a sum must be a finite number above 0"
        ):
            Sum((Sum((GMM(),), (weight,)),), (weight,))


def test_parameters_of_maps_are_reached():
    given = [GCWS(8), RandomFourier(8)]
    made = Concat(given)
    assert made.get_params(deep=False) == {"maps": given, "weights": None}
    assert made.get_params()["map1__gamma"] == 1.0
    made.set_params(map0__bits=3, weights=[1, 2])
    assert made.maps[0].bits == 3
    other = SignProjection(8)
    made.set_params(map1=other, map1__distribution="cauchy")
    assert made.maps[1] is other
    assert other.distribution == "cauchy"
    assert given[1] is not other, "the list of a user stays"
    named = Concat([("left", GCWS(8)), ("right", GCWS(8))]).set_params(
        left__bits=2, right=SignProjection(8)
    )
    assert [name for name, _ in named.maps] == ["left", "right"]
    assert (named.maps[0][1].bits, type(named.maps[1][1])) == (2, SignProjection)
    twin = clone(named)
    assert repr(twin) == repr(named)
    assert twin.maps[0][1] is not named.maps[0][1]
    with pytest.raises(ValueError, match="Invalid parameter 'map9'"):
        made.set_params(map9__bits=1)
    assert Concat().set_params(maps=[GCWS(8)], map0__bits=5).maps[0].bits == 5
    assert set(Concat().get_params()) == {"maps", "weights"}
    tuned = Concat().set_params(map0__bits=4, weights=[1, 2])
    assert (tuned.maps[0].bits, tuned.weights, type(tuned.maps[1])) == (4, [1, 2], RandomFourier)
    assert type(Concat().set_params(map1=other).maps[1]) is SignProjection
    with pytest.raises(ValueError, match="Invalid parameter 'map2'"):
        Concat().set_params(map2__bits=4)
    assert Concat().set_params(weights=[1, 2]).maps is None


def test_precomputed_kernels_stay_pairwise():
    K = GMM()(X)
    of_matrix = KernelNystroem("precomputed", 3)
    made = Concat([of_matrix, Concat([KernelNystroem("precomputed", 2)])])
    assert made.__sklearn_tags__().input_tags.pairwise
    assert made.fit(K).transform(K[:2]).shape == (2, 5)
    assert not Concat().__sklearn_tags__().input_tags.pairwise
    for maps, at in (([of_matrix, GCWS(4)], (0, 1)), ([GCWS(4), made], (1, 0))):
        with pytest.raises(
            ValueError,
            match=f"part {at[0]} takes a precomputed kernel matrix, part {at[1]} takes rows",
        ):
            Concat(maps).fit(K)


def test_a_linear_model_learns_from_it():
    rng = np.random.default_rng(0)
    rows = rng.random((200, 4))
    y = ((rows[:, 0] > 0.5) ^ (rows[:, 1] > 0.5)).astype(int)
    model = make_pipeline(Concat([GCWS(256), RandomFourier(256)]), LinearSVC(C=10))
    assert model.fit(rows[:150], y[:150]).score(rows[150:], y[150:]) > 0.85
    search = GridSearchCV(
        model, {"concat__map0__bits": [4, 8], "concat__weights": [None, (2, 1)]}, cv=2
    ).fit(rows, y)
    assert search.best_score_ > 0.8
