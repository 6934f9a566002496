"""What the projections are: blocks, prefixes, lengths, orthogonality, and what they refuse."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import directions, signed_rows
from scipy.special import ndtr

from kernelight import BinaryFourier, RandomFourier, SignProjection
from kernelight.base.checks import resources
from kernelight.maps.projections import projection
from kernelight.maps.projections.projection import padded_width, projection_of, sobol_normals
from kernelight.maps.projections.readouts import (
    FIXED,
    POWER_OF_TWO,
    BitReadout,
    FourierReadout,
    RowRule,
)

KINDS = ("gaussian", "orthogonal", "sorf", "fastfood", "sobol")
BLOCKS = ("orthogonal", "sorf", "fastfood")
every = pytest.mark.parametrize("kind", KINDS)


def paired(amplitude=1.0):
    return FourierReadout(pairs=True, amplitude=amplitude, shift=np.zeros(0, dtype=np.float32))


# -- widths


@pytest.mark.parametrize(
    ("d", "fastfood", "sorf"),
    [
        (1, 1, 64),
        (2, 2, 64),
        (3, 4, 64),
        (64, 64, 64),
        (65, 128, 128),
        (100, 128, 128),
        (784, 1024, 1024),
    ]
    + [(2**k, 2**k, 2**k) for k in (29, 31)]  # errata 42: a quotient of logarithms is wrong there
    + [(2**29 + 1, 2**30, 2**30)],
)
def test_padded_widths(d, fastfood, sorf):
    assert (padded_width(d, "fastfood"), padded_width(d, "sorf")) == (fastfood, sorf)


@every
@pytest.mark.parametrize(
    ("d", "m"),
    [(1, 5), (2, 5), (3, 10), (64, 65), (65, 64), (100, 130), (100, 30), (784, 100), (320, 1000)],
)
def test_the_last_block_is_cut_and_no_column_is_empty(kind, d, m):
    """Errata 41: floor(m / d) blocks leave the other columns zero, all of them where m < d."""
    w = directions(kind, d, m)
    assert w.shape == (m, d)
    lengths = np.linalg.norm(w, axis=1)
    assert (lengths > 0).all()
    if d >= 64:  # Gaussian lengths are then within 8 standard deviations
        assert np.abs(lengths - np.sqrt(d)).max() < 8
    assert len(np.unique(w.round(4), axis=0)) == m


@every
def test_every_column_of_features_varies(kind):
    X = signed_rows(1, 40, 100)
    features = RandomFourier(
        1001, projection=kind, gamma=20.0, features="phase", normalize=False
    ).fit_transform(X)
    assert features.shape == (40, 1001)
    assert features.std(axis=0).min() > 0.2 * np.sqrt(2 / 1001)


@pytest.mark.parametrize("kind", BLOCKS)
def test_blocks_differ(kind):
    w = directions(kind, 64, 128)
    assert np.abs(w[:64] - w[64:]).min(axis=1).max() > 1e-3
    assert np.abs(np.corrcoef(w[0], w[64])[0, 1]) < 0.6


# -- prefixes


@every
@pytest.mark.parametrize("d", [1, 3, 64, 100])
def test_directions_do_not_depend_on_their_number(kind, d):
    w = directions(kind, d, 200)
    for m in (1, 63, 64, 130):
        np.testing.assert_allclose(directions(kind, d, m), w[:m], rtol=0, atol=2e-5)


@pytest.mark.parametrize("kind", KINDS[:-1])
@pytest.mark.parametrize("d", [1, 3, 65])
def test_bits_do_not_depend_on_their_number(kind, d):
    X = signed_rows(2, 7, d)
    for cls, options in ((SignProjection, {}), (BinaryFourier, {"sigma": 2.0})):
        long = cls(200, projection=kind, **options).fit(X).encode(X).array
        for m in (1, 64, 65, 130):
            np.testing.assert_array_equal(
                cls(m, projection=kind, **options).fit(X).encode(X).array, long[:, :m]
            )


def test_cauchy_bits_do_not_depend_on_their_number():
    X = np.abs(signed_rows(2, 7, 9))
    long = SignProjection(200, distribution="cauchy").fit(X).encode(X).array
    short = SignProjection(65, distribution="cauchy").fit(X).encode(X).array
    np.testing.assert_array_equal(short, long[:, :65])


@every
@pytest.mark.parametrize("features", ["paired", "phase", "folded"])
def test_features_do_not_depend_on_their_number(kind, features):
    X = signed_rows(2, 7, 5)
    options = {"projection": kind, "features": features, "normalize": False}
    long = RandomFourier(200, **options).fit(X)
    short = RandomFourier(34, **options).fit(X)
    assert long.has_prefix
    actual, wanted = short.transform(X) * np.sqrt(34), long.transform(X)[:, :34] * np.sqrt(200)
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["gaussian", "sorf"])
def test_padding_does_not_change_a_direction(kind):
    """Padded rows and rows with columns of zeros are the same to blocks of the same width."""
    wide = directions(kind, 128, 200)
    np.testing.assert_allclose(directions(kind, 100, 200), wide[:, :100], rtol=0, atol=2e-5)


# -- orthogonality


def cosines(w):
    units = w / np.linalg.norm(w, axis=1, keepdims=True)
    return units @ units.T


@pytest.mark.parametrize("d", [2, 3, 17, 64, 100])
def test_orthogonal_blocks_are_orthogonal(d):
    m = 2 * d + d // 2  # the last block is cut
    inside = cosines(directions("orthogonal", d, m))
    for begin in range(0, m, d):
        block = inside[begin : begin + d, begin : begin + d]
        np.testing.assert_allclose(block, np.eye(len(block)), rtol=0, atol=1e-5)
    across = inside[:d, d : 2 * d]
    assert np.abs(across).max() > 1e-2  # blocks are independent, not one basis


@pytest.mark.parametrize("d", [64, 128])
def test_three_hd_blocks_are_orthogonal_where_nothing_is_padded(d):
    inside = cosines(directions("sorf", d, 2 * d))
    for begin in (0, d):
        block = inside[begin : begin + d, begin : begin + d]
        np.testing.assert_allclose(block, np.eye(d), rtol=0, atol=1e-5)
    assert np.abs(inside[:d, d:]).max() > 1e-2


def test_padding_costs_three_hd_blocks_some_orthogonality():
    """Parts of orthogonal rows have cosines around sqrt(1 / d - 1 / D).

    That is below sqrt(1 / d), those of independent rows.
    """
    inside = cosines(directions("sorf", 100, 128))
    typical = np.sqrt((inside[~np.eye(128, dtype=bool)] ** 2).mean())
    assert typical == pytest.approx(np.sqrt(1 / 100 - 1 / 128), rel=0.1)


def test_lengths_are_not_shared_within_a_block():
    """Errata 39: rows of one length (S = 1) have Gaussian marginals, but share one norm."""
    for kind in ("orthogonal", "sorf", "fastfood"):
        lengths = np.linalg.norm(directions(kind, 64, 64), axis=1)
        assert 0.4 < lengths.std() < 1.0  # sqrt(1/2) for chi


# -- Sobol


@pytest.mark.parametrize("m", [2, 64, 256])
def test_sobol_points_fill_every_stratum_of_every_axis_once(m):
    for seed in range(3):
        strata = np.floor(ndtr(sobol_normals(6, m, seed)) * m).astype(int)
        np.testing.assert_array_equal(np.sort(strata, axis=1), np.tile(np.arange(m), (6, 1)))


def test_sobol_points_fill_squares_of_two_axes():
    """256 points in 16 times 16 squares: one each, in the first two axes, a (0, 2)-sequence."""
    for seed in range(3):
        x, y = np.floor(ndtr(sobol_normals(2, 256, seed)) * 16).astype(int)
        assert len(np.unique(16 * x + y)) == 256


def test_sobol_points_of_two_seeds_differ():
    assert np.abs(sobol_normals(3, 64, 0) - sobol_normals(3, 64, 1)).max() > 0.5
    assert np.isfinite(sobol_normals(3, 4096, 2)).all()


# -- the rest


@every
def test_projections_of_one_seed_are_pickled_and_copied(kind):
    made = projection_of(kind, 5, 70, 3, 0.2)
    X = signed_rows(4, 6, 5)
    before, empty = made.read(X, RowRule(FIXED), paired(), resources(1))
    again = pickle.loads(pickle.dumps(made))
    assert again._kept is None  # tables are drawn anew
    assert not empty.any()
    np.testing.assert_array_equal(again.read(X, RowRule(FIXED), paired(), resources(1))[0], before)


@every
def test_a_row_alone_has_the_same_features(kind):
    """To rounding: products of matrices may be added in another order."""
    X = signed_rows(5, 9, 65, density=0.5)
    fourier = RandomFourier(130, projection=kind, gamma=3.0).fit(X)
    together = fourier.transform(X)
    for row, wanted in zip(X, together, strict=True):
        np.testing.assert_allclose(fourier.transform(row[None])[0], wanted, rtol=0, atol=1e-6)
        np.testing.assert_allclose(
            fourier.transform(sp.csr_array(row[None]))[0], wanted, rtol=0, atol=1e-6
        )


@pytest.mark.parametrize("kind", ["gaussian", "cauchy"])
def test_dense_projections_in_parts_are_the_same(kind, monkeypatch):
    """Tables that do not fit are drawn in groups, for the columns that occur only."""
    X = np.abs(signed_rows(6, 5, 300, density=0.1))
    whole, _ = projection_of(kind, 300, 500, 1, 1.0).read(
        X, POWER_OF_TWO, BitReadout(), resources(1)
    )
    monkeypatch.setattr(projection, "KEPT_BYTES", 0)
    monkeypatch.setattr(projection, "CALL_BYTES", 1 << 16)
    monkeypatch.setattr(projection, "PROJECTED_BYTES", 1 << 10)
    for made in (X, sp.csr_array(X)):
        parts, _ = projection_of(kind, 300, 500, 1, 1.0).read(
            made, POWER_OF_TWO, BitReadout(), resources(1)
        )
        np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize("made", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_features_in_parts_are_the_same(made, monkeypatch):
    X = signed_rows(6, 5, 300, density=0.1)
    fourier = RandomFourier(500, gamma=2.0).fit(X)
    whole = fourier.transform(X)
    monkeypatch.setattr(projection, "KEPT_BYTES", 0)
    monkeypatch.setattr(projection, "CALL_BYTES", 1 << 16)
    monkeypatch.setattr(projection, "PROJECTED_BYTES", 1 << 10)
    np.testing.assert_allclose(
        RandomFourier(500, gamma=2.0).fit(X).transform(made(X)), whole, rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("cls", [SignProjection, BinaryFourier])
@pytest.mark.parametrize("kind", BLOCKS)
def test_codes_of_blocks_of_two_widths_do_not_compare(cls, kind):
    """Their directions differ; independent entries depend on the column alone, not on the width."""

    def provenance(name, d):
        X = np.ones((2, d))
        options = {"sigma": 1.0} if cls is BinaryFourier else {}
        return cls(8, projection=name, **options).fit(X).encode(X).provenance

    assert provenance(kind, 65) != provenance(kind, 200)
    assert provenance("gaussian", 65) == provenance("gaussian", 200)
    if kind == "orthogonal":
        assert provenance(kind, 3) != provenance(kind, 4)
    else:
        assert provenance(kind, 65) == provenance(kind, 128)


def test_widths_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match="at most 2048 columns, got 2049"):
        projection_of("orthogonal", 2049, 1, 0, 1.0)
    with pytest.raises(ValueError, match="at most 21201 columns"):
        projection_of("sobol", 21202, 1, 0, 1.0)


def test_far_rows_are_refused_near_ones_not():
    X = np.array([[3.0, 4.0]])
    fourier = RandomFourier(8, metric="euclidean", sigma=5 / 65537).fit(X)
    with pytest.raises(ValueError, match=r"Row 0 is 6\.55e\+04 sigma from the origin"):
        fourier.transform(X)
    assert np.isfinite(RandomFourier(8, metric="euclidean", sigma=5 / 65535).fit_transform(X)).all()


@pytest.mark.parametrize(("metric", "zeros"), [("cosine", True), ("euclidean", False)])
@every
def test_a_row_of_zeros(kind, metric, zeros):
    X = np.zeros((2, 3))
    X[1] = 1.0
    features = RandomFourier(10, metric=metric, projection=kind).fit_transform(X)
    assert (features[0] == 0).all() == zeros
    assert np.linalg.norm(features[1]) == pytest.approx(1.0)
