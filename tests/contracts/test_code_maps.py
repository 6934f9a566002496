"""What only a map into codes can promise."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from cases import SLOTS, cases, every_code, having
from helpers import assert_same_codes

from kernelight import Codes

every_width = cases(
    lambda case: case.gives_codes and isinstance(getattr(case.new(), "bits", None), int)
)
every_similarity = having("similarity")


@every_code
def test_a_prefix_is_a_code_of_the_shorter_map(case):
    short = case.fitted()
    if short.has_prefix:
        codes = short.encode(case.rows())
        assert (
            case.fitted(n_components=2 * SLOTS).encode(case.rows()).first(codes.n_components)
            == codes
        )


@every_width
def test_low_bits_of_a_longer_code(case):
    long = case.fitted(bits=16).encode(case.rows())
    for bits in {1, case.fitted().bits}:
        assert_same_codes(long.low_bits(bits), case.fitted(bits=bits).encode(case.rows()))


@cases(
    lambda case: (
        case.gives_codes
        and "bits" in case.new().get_params(deep=False)
        and case.cls.__name__ != "ProductMap"
    )
)
def test_false_collisions_are_as_many_as_the_bits_allow(case):
    made, X = case.fitted(), case.rows()
    if made.theory_gap is None:
        K = made.kernel(X)
        np.testing.assert_allclose(made.expected(X), K + (1 - K) / 2.0**made.bits, rtol=1e-6)


@every_code
def test_one_hot_features(case):
    made = case.fitted()
    codes, features = made.encode(case.rows()), made.transform(case.rows())
    k = codes.n_components
    assert isinstance(codes, Codes)
    assert (type(features), features.dtype, features.indices.dtype) == (
        sp.csr_matrix,
        np.float32,
        np.int32,
    )
    assert features.shape == (6, k << codes.bits)
    assert features.has_sorted_indices
    np.testing.assert_allclose(features.multiply(features).sum(axis=1), 1.0, rtol=1e-5)
    assert (
        features.indices.reshape(6, k).tolist()
        == (codes.array + (np.arange(k) << codes.bits)).tolist()
    )
    assert not codes.array.flags.writeable


@every_code
def test_provenance_survives_the_state(case):
    made = case.fitted()
    again = case.cls.from_state(made.to_state())
    assert again.provenance == made.provenance == made.encode(case.rows()).provenance
    assert case.fitted(random_state=8).provenance != made.provenance


@every_code
def test_an_unknown_instruction_set_is_refused(case, monkeypatch):
    made = case.fitted()
    monkeypatch.setenv("KERNELIGHT_SIMD", "mmx")
    with pytest.raises(ValueError, match="KERNELIGHT_SIMD must be one of"):
        made.encode(case.rows())


@every_similarity
def test_similarity_is_one_for_equal_rows_and_none_for_empty_ones(case):
    X = np.vstack([case.rows()[0], case.rows()[0], case.zeros(1)])
    made = case.fitted()
    codes = made.encode(X)
    same, other = 1.0, float(case.zero_is_a_point)
    similarities = made.similarity(codes)
    assert similarities[:2, :2].tolist() == [[same, same], [same, same]]
    assert similarities[2, 2] == other
    if not case.zero_is_a_point:
        assert not similarities[2].any()
        assert not similarities[:, 2].any()


@cases(
    lambda case: hasattr(case.new(), "similarity") and "bits" in case.new().get_params(deep=False)
)
def test_similarity_undoes_the_bits(case):
    made = case.fitted()
    codes = made.encode(case.rows())
    P = codes.collisions(codes[:2]) / codes.n_components
    floor = 2.0**-codes.bits
    np.testing.assert_allclose(made.similarity(codes, codes[:2]), (P - floor) / (1 - floor))


@every_code
def test_winners_come_with_the_same_codes(case):
    made, X = case.fitted(), case.rows()
    if not made.has_winners:
        with pytest.raises(ValueError, match="only maps such as GCWS have winners"):
            made.encode_with_winners(X)
        return
    codes, winners = made.encode_with_winners(X)
    assert codes == made.encode(X)
    assert winners.starts.shape == (codes.n_components + 1,)
    assert winners.features.shape[1] == winners.starts[-1] == made.n_winners
    assert winners.features.shape[0] in (1, len(codes))
    assert winners.features.max(initial=-1) < made.n_features_in_
