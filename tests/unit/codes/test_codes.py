"""Codes against their NumPy twins."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.svm import LinearSVC

from kernelight import Codes, _core

LEVELS = range(_core.best_simd_level() + 1)
BITS = [1, 2, 3, 4, 5, 8, 9, 12, 16]


def random_codes(seed, n, k, bits, *, empties=False, **kwargs):
    rng = np.random.default_rng(seed)
    array = rng.integers(0, 2 ** min(bits, 2), (n, k)) << rng.integers(0, max(1, bits - 1))
    empty = rng.random(n) < 0.3 if empties else None
    return Codes(array % 2**bits, bits, empty=empty, **kwargs)


def collisions_twin(left, right):
    equal = (left.array[:, None, :] == right.array[None, :, :]).sum(axis=2)
    equal[left.empty] = 0
    equal[:, right.empty] = 0
    return equal


def pack_twin(array, bits):
    lane = next(width for width in (1, 2, 4, 8, 16) if width >= bits)
    n_words = -(-array.shape[1] * lane // 64)
    words = [[0] * n_words for _ in array]
    for i, row in enumerate(array.tolist()):
        for s, value in enumerate(row):
            words[i][s * lane // 64] |= value << (s * lane % 64)
    return np.array(words, dtype=np.uint64).reshape(len(array), n_words)


def one_hot_twin(codes):
    n, k = codes.shape
    dense = np.zeros((n, k << codes.bits), dtype=np.float32)
    for i in range(n):
        for s in range(k):
            if not codes.empty[i]:
                dense[i, (s << codes.bits) + int(codes.array[i, s])] = 1 / np.sqrt(k)
    return dense


@pytest.mark.parametrize("bits", [2, 9])
@pytest.mark.parametrize("k", [1, 7, 8, 9, 63, 64, 65, 1000, 5000])
def test_collisions_equal_the_twin_at_every_level(k, bits):
    left = random_codes(k, 13, k, bits, empties=True)
    right = random_codes(k + 1, 70 if k < 1000 else 9, k, bits, empties=True)
    expected = collisions_twin(left, right)
    assert expected.max() > 0
    for level in LEVELS:
        for threads in (1, 3):
            counts = np.full(expected.shape, -7, dtype=np.int32)
            _core.codes_collisions(
                left.array, left.empty, right.array, right.empty, counts, threads, level
            )
            np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(left.collisions(right), expected)
    np.testing.assert_array_equal(right.collisions(left), expected.T)
    np.testing.assert_array_equal(left.collisions(), collisions_twin(left, left))


@settings(max_examples=60)
@given(
    st.integers(0, 999),
    st.integers(0, 150),
    st.integers(0, 70),
    st.integers(1, 200),
    st.sampled_from(BITS),
)
def test_collisions_of_any_shape(seed, n, m, k, bits):
    left, right = random_codes(seed, n, k, bits, empties=True), random_codes(seed + 1, m, k, bits)
    np.testing.assert_array_equal(left.collisions(right, n_jobs=2), collisions_twin(left, right))


def test_threads_change_nothing():
    """Big enough that every thread gets work."""
    rng = np.random.default_rng(8)
    array = rng.integers(0, 4, (1500, 701)).astype(np.uint8)
    words, back, counts = [], [], []
    for threads in (1, 4):
        words.append(np.full((1500, 22), 7, np.uint64))
        _core.codes_pack(array, 2, words[-1], threads)
        back.append(np.empty_like(array))
        _core.codes_unpack(words[-1], 2, back[-1], threads)
        counts.append(np.empty((1500, 300), np.int32))
        _core.codes_collisions(array, None, array[:300], None, counts[-1], threads, LEVELS[-1])
    np.testing.assert_array_equal(words[0], words[1])
    np.testing.assert_array_equal(back, [array, array])
    np.testing.assert_array_equal(counts[0], counts[1])
    few = Codes(array[:20], 2)
    np.testing.assert_array_equal(counts[1][:20, :20], collisions_twin(few, few))
    indptr, columns = (
        np.arange(1501, dtype=np.int32) * np.int32(701),
        np.empty(1500 * 701, np.int32),
    )
    _core.codes_columns(array, 2, indptr, columns, 4)
    np.testing.assert_array_equal(columns.reshape(array.shape), array + np.arange(701) * 4)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_equal_rows_of_many_slots_count_all_of_them(dtype):
    """A lane that overflows would show here: every slot of 20,011 is equal."""
    bits = 8 * np.dtype(dtype).itemsize
    rows = np.full((3, 20_011), 2**bits - 1, dtype=dtype)
    rows[1, 5] = 0
    for value in (0, 1, 2**bits - 1):  # 0 and 1 are what tiles are filled up with
        rows[2] = value
        codes = Codes(rows, bits)
        for level in LEVELS:
            counts = np.empty((3, 3), dtype=np.int32)
            _core.codes_collisions(codes.array, None, codes.array, None, counts, 1, level)
            np.testing.assert_array_equal(counts, collisions_twin(codes, codes))


@settings(max_examples=80)
@given(st.integers(0, 999), st.integers(0, 6), st.integers(1, 200), st.sampled_from(BITS))
def test_packing_equals_the_twin_and_comes_back(seed, n, k, bits):
    array = np.random.default_rng(seed).integers(0, 2**bits, (n, k))
    codes = Codes(array, bits)
    np.testing.assert_array_equal(codes.packed, pack_twin(array, bits))
    back = np.empty_like(codes.array)
    lane = 1 << (bits - 1).bit_length()
    _core.codes_unpack(codes.packed, lane, back, 2)
    np.testing.assert_array_equal(back, array)


row_keys = st.one_of(
    st.slices(12),
    st.lists(st.integers(-12, 11), max_size=15),
    st.lists(st.integers(-12, 11), max_size=15).map(lambda rows: np.array(rows, dtype=np.int32)),
    st.lists(st.booleans(), min_size=12, max_size=12).map(np.array),
    st.lists(st.booleans(), min_size=12, max_size=12),
)


@settings(max_examples=150)
@given(row_keys, st.booleans())
def test_selecting_rows_equals_numpy(key, with_dots):
    codes = random_codes(3, 12, 5, 4, empties=True, provenance="p", n_features=9)
    part = codes[key, ...] if with_dots else codes[key]
    numpy_key = (
        key if isinstance(key, slice) else np.asarray(key, dtype=None if len(key) else np.intp)
    )
    np.testing.assert_array_equal(part.array, codes.array[numpy_key])
    np.testing.assert_array_equal(part.empty, codes.empty[numpy_key])
    assert (part.bits, part.provenance, part.n_features) == (4, "p", 9)
    assert part.array.flags.c_contiguous
    np.testing.assert_array_equal(part.collisions(codes), collisions_twin(part, codes))


def test_single_rows_and_iteration():
    codes = random_codes(1, 4, 3, 4, empties=True)
    for row in (0, 3, -1, -4, np.int64(2)):
        np.testing.assert_array_equal(codes[row].array, codes.array[[row]])
    assert [part.array.tolist() for part in codes] == [[row] for row in codes.array.tolist()]
    assert Codes.concatenate(list(codes)) == codes


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("array", [False, True])
def test_csr_equals_the_twin(bits, array):
    codes = random_codes(bits, 6, 11, bits, empties=True)
    csr = codes.to_csr(array=array)
    assert isinstance(csr, sp.csr_array if array else sp.csr_matrix)
    assert csr.dtype == np.float32
    assert csr.indices.dtype == csr.indptr.dtype == np.int32
    np.testing.assert_array_equal(csr.toarray(), one_hot_twin(codes))
    fresh = type(csr)((csr.data, csr.indices, csr.indptr), shape=csr.shape)
    assert fresh.has_canonical_format
    assert csr.has_canonical_format
    assert csr.has_sorted_indices
    csr.check_format(full_check=True)


def test_inner_products_are_collisions():
    codes = random_codes(0, 30, 50, 4, empties=True)
    features = codes.to_csr()
    products = (features @ features.T).toarray()
    np.testing.assert_allclose(products, codes.collisions() / 50, rtol=1e-5, atol=1e-7)


def test_csr_indices_are_wide_only_where_they_must_be():
    k = 2**15  # times 2**16 columns is 2**31: the last column still fits, the width does not
    assert Codes(np.zeros((1, k), np.uint16), 16).to_csr().indices.dtype == np.int64
    narrow = Codes(np.full((1, k - 1), 2**16 - 1, np.uint16), 16).to_csr()
    assert narrow.indices.dtype == np.int32
    assert narrow.indices[-1] == (k - 1) * 2**16 - 1
    wide = Codes(np.full((2, k + 3), 2**16 - 1, np.uint16), 16, empty=[True, False]).to_csr()
    np.testing.assert_array_equal(wide.indices, np.arange(1, k + 4, dtype=np.int64) * 2**16 - 1)
    assert wide.shape == (2, (k + 3) * 2**16)


def test_scikit_learn_splits_them():
    codes = random_codes(4, 60, 20, 4, empties=True, provenance="x")
    y = np.arange(60) % 2
    train, test, *_ = train_test_split(codes, y, test_size=0.25, random_state=0, stratify=y)
    assert isinstance(train, Codes)
    assert (len(train), len(test)) == (45, 15)
    rows, _ = train_test_split(np.arange(60), test_size=0.25, random_state=0, stratify=y)
    assert train == codes[rows]


class OnCodes(ClassifierMixin, BaseEstimator):
    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y):
        assert isinstance(X, Codes)
        self.model_ = LogisticRegression(C=self.C).fit(X.to_csr(), y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X.to_csr())


def test_scikit_learn_cross_validates_them():
    rng = np.random.default_rng(0)
    array = rng.integers(0, 16, (90, 20))
    y = (array[:, 0] > 7).astype(int)
    array[:, 1:8] = array[:, :1]
    codes = Codes(array, 4)
    scores = cross_val_score(OnCodes(), codes, y, cv=KFold(3, shuffle=True, random_state=0))
    assert scores.mean() > 0.9
    search = GridSearchCV(OnCodes(), {"C": [0.1, 1.0]}, cv=2).fit(codes, y)
    assert search.predict(codes).shape == (90,)
    assert LinearSVC().fit(codes.to_csr(), y).score(codes.to_csr(), y) > 0.9


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("k", [1, 7, 64, 200])
def test_files_pickles_and_copies(tmp_path, bits, k):
    codes = random_codes(bits, 9, k, bits, empties=True, provenance="abc", n_features=2**40)
    codes.save(tmp_path / "codes.kl")
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(codes, protocol)) == codes
    for back in (
        Codes.load(tmp_path / "codes.kl"),
        Codes.from_state(codes.to_state()),
        copy.copy(codes),
    ):
        assert back == codes
        assert hash(back) == hash(codes)
        assert not back.array.flags.writeable
    assert copy.deepcopy({"a": codes})["a"] == codes


@pytest.mark.parametrize(("bits", "slots_a_byte"), [(1, 8), (2, 4), (3, 2), (4, 2), (5, 1), (8, 1)])
def test_files_pack_few_bits(bits, slots_a_byte):
    state = random_codes(0, 10, 640, bits).to_state()
    assert sum(array.nbytes for array in state.arrays.values()) == 6400 // slots_a_byte


def test_a_mapped_file_is_not_copied(tmp_path):
    np.save(tmp_path / "big.npy", np.ones((4, 3), np.uint8))
    mapped = np.load(tmp_path / "big.npy", mmap_mode="r")
    codes = Codes(mapped, 1)
    assert np.shares_memory(codes.array, mapped)
    assert type(codes.array) is np.ndarray
    assert codes == Codes(np.ones((4, 3), int), 1)
    writeable = np.load(tmp_path / "big.npy", mmap_mode="c")
    assert not np.shares_memory(Codes(writeable, 1).array, writeable)


def test_first_and_low_bits_keep_the_provenance():
    codes = random_codes(2, 8, 30, 12, empties=True, provenance="p", n_features=4)
    cut = codes.first(7).low_bits(3)
    assert (cut.bits, cut.shape, cut.provenance, cut.n_features, cut.dtype) == (
        3,
        (8, 7),
        "p",
        4,
        np.uint8,
    )
    np.testing.assert_array_equal(cut.array, codes.array[:, :7] & 7)
    np.testing.assert_array_equal(cut.empty, codes.empty)
    assert codes.low_bits(3).first(7) == cut
    assert codes.first(30) == codes
    assert codes.low_bits(12) == codes


def test_concatenated_slots_are_the_mean_of_kernels():
    a, b = random_codes(0, 9, 10, 4, provenance="a"), random_codes(1, 9, 30, 4, provenance="b")
    both = a | b
    np.testing.assert_array_equal(both.array, np.hstack([a.array, b.array]))
    np.testing.assert_array_equal(both.collisions(), a.collisions() + b.collisions())
    assert both.provenance not in ("", "a", "b")
    assert both.provenance != (b | a).provenance
    assert (a | b).provenance == (a[:3] | b[:3]).provenance


def test_paired_slots_are_equal_where_both_are():
    a, b = random_codes(0, 9, 40, 3, empties=True), random_codes(1, 9, 40, 9, empties=True)
    both = a & b
    assert both.bits == 12
    assert both.dtype == np.uint16
    np.testing.assert_array_equal(both.empty, a.empty | b.empty)
    alive = ~both.empty
    np.testing.assert_array_equal(
        both.array[alive], (a.array[alive].astype(int) << 9) | b.array[alive]
    )
    assert not both.array[both.empty].any()
    equal = (a.array[:, None] == a.array) & (b.array[:, None] == b.array)
    equal[both.empty] = False
    equal[:, both.empty] = False
    np.testing.assert_array_equal(both.collisions(), equal.sum(axis=2))


def test_cutting_and_combining_commute():
    a = random_codes(0, 5, 20, 4, provenance="a", n_features=3)
    b = random_codes(1, 5, 20, 4, provenance="b", n_features=3)
    assert (a & b).first(6) == a.first(6) & b.first(6)
    assert (a & b).low_bits(6) == a.low_bits(2) & b
    assert (a | b).first(26) == a | b.first(6)
    assert (a | b).low_bits(2) == a.low_bits(2) | b.low_bits(2)
    assert (a & b).provenance != (a & b.low_bits(2)).provenance
    assert (a | b).provenance != (a.first(3) | b).provenance
    assert (a & b).provenance != (a | b).provenance
    assert (a & b).n_features == 3


def test_equality_sees_every_part():
    array = [[1, 2], [0, 0]]
    values = [
        Codes(array, 2),
        Codes(array, 3),
        Codes(array, 2, provenance="p"),
        Codes(array, 2, n_features=3),
        Codes(array, 2, empty=[False, True]),
        Codes([[1, 2], [0, 1]], 2),
        Codes([[1, 2]], 2),
        Codes([[1], [0]], 2),
    ]
    for i, left in enumerate(values):
        for j, right in enumerate(values):
            assert (left == right) is (i == j)
    assert values[0] != "codes"
    assert Codes(array, 2, empty=[False, False]) == Codes(array, 2)


def test_properties():
    codes = Codes(
        np.zeros((3, 5), int), 9, empty=[True, False, False], provenance="p" * 30, n_features=7
    )
    assert (codes.bits, codes.shape, codes.ndim, codes.dtype, len(codes)) == (
        9,
        (3, 5),
        2,
        np.uint16,
        3,
    )
    assert (codes.n_components, codes.n_features, codes.nbytes) == (5, 7, 33)
    assert codes.empty.tolist() == [True, False, False]
    assert repr(codes) == "Codes(3 rows, 5 slots of 9 bits, provenance='pppppppppppp')"
    assert Codes([[1]], 1).empty.tolist() == [False]


def test_a_stacked_width_is_known_only_if_all_agree():
    parts = [Codes([[1]], 1, n_features=width) for width in (3, 3, None)]
    assert Codes.concatenate(parts[:2]).n_features == 3
    assert Codes.concatenate(parts).n_features is None


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 12])
@pytest.mark.parametrize("slots", [3, 70])
@pytest.mark.parametrize("some_empty", [False, True])
def test_parts_are_written_as_the_whole(tmp_path, bits, slots, some_empty):
    rng = np.random.default_rng(0)
    empty = np.arange(50) == 49 if some_empty else None
    codes = Codes(
        rng.integers(0, 1 << bits, (50, slots)), bits, empty=empty, provenance="p", n_features=4
    )
    codes.save(tmp_path / "whole")
    parts = (codes[start : start + 7] for start in range(0, 60, 7))  # the last has no rows
    assert Codes.save_parts(tmp_path / "parts", parts) == 50
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts", "whole"]


def test_parts_that_do_not_belong_together_write_nothing(tmp_path):
    one, other = Codes([[1, 2]], bits=2), Codes([[1, 2]], bits=2, provenance="other")
    (tmp_path / "kept").write_bytes(b"old")
    for parts, words in (
        ([one, other], "provenance differs"),
        ([one, one.first(1)], "slots differ"),
        ([], "one part"),
    ):
        with pytest.raises(ValueError, match=words):
            Codes.save_parts(tmp_path / "kept", parts)
    assert (tmp_path / "kept").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1
    unknown = Codes([[0, 0]], bits=2, n_features=3)
    Codes.save_parts(tmp_path / "mixed", [one, unknown])
    assert Codes.load(tmp_path / "mixed") == Codes.concatenate([one, unknown])
