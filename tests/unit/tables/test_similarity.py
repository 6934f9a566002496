"""The most similar rows, block by block, are those of the whole matrix of similarities."""

from __future__ import annotations

import numpy as np
import pytest

from kernelight import Codes, kernels
from kernelight.data import DataError
from kernelight.tables import similarity
from kernelight.tables.code_files import EncodedRows
from kernelight.tables.similarity import StoredRows, kernel_of, kernel_rows, similar_rows


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(similarity, "LEFT_ROWS", 17)
    monkeypatch.setattr(similarity, "RIGHT_ROWS", 13)


def stored(values):
    return StoredRows(EncodedRows("x", values, None, {}), None, 1)


def all_pairs(parts):
    parts = list(parts)
    return [
        np.concatenate([getattr(part, name) for part in parts]) for name in ("a", "b", "similarity")
    ]


@pytest.mark.parametrize("top", [1, 3, 13, 60, 100])
@pytest.mark.parametrize("bits", [1, 8], ids=["many ties", "few ties"])
@pytest.mark.parametrize("itself", [False, True])
def test_the_best_rows(top, bits, itself):
    random = np.random.default_rng(0)
    A = Codes(random.integers(0, 1 << bits, (50, 12)), bits)
    B = A if itself else Codes(random.integers(0, 1 << bits, (60, 12)), bits)
    K = A.collisions(B) / 12
    a, b, found = all_pairs(similar_rows(stored(A), stored(B), top=top, itself=itself))
    wanted = [
        (i, j)
        for i in range(50)
        for j in [j for j in np.argsort(-K[i], kind="stable") if not itself or j != i][:top]
    ]
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == wanted
    np.testing.assert_array_equal(found, K[a, b])


@pytest.mark.parametrize("itself", [False, True])
def test_all_pairs_above_a_value(itself):
    random = np.random.default_rng(1)
    A = Codes(random.integers(0, 2, (50, 12)), 1)
    B = A if itself else Codes(random.integers(0, 2, (40, 12)), 1)
    K = A.collisions(B) / 12
    a, b, found = all_pairs(similar_rows(stored(A), stored(B), above=0.75, itself=itself))
    keep = K >= 0.75
    if itself:
        keep &= np.triu(np.ones_like(keep), 1)
    assert set(zip(a.tolist(), b.tolist(), strict=True)) == set(
        zip(*(i.tolist() for i in np.nonzero(keep)), strict=True)
    )
    order = np.lexsort((b, -found, a))
    np.testing.assert_array_equal(order, np.arange(len(a)))
    few = all_pairs(similar_rows(stored(A), stored(B), above=0.75, top=1, itself=itself))
    assert (few[2] >= 0.75).all()
    assert len(set(few[0].tolist())) == len(few[0])


def test_features_by_their_inner_product():
    random = np.random.default_rng(2)
    A, B = (random.normal(size=(n, 5)).astype(np.float32) for n in (30, 20))
    a, b, found = all_pairs(similar_rows(stored(A), stored(B), top=20))
    np.testing.assert_allclose(found, (A @ B.T)[a, b], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["gmm", "mm_acos", "gaussian", "linear"])
def test_exact_kernels_in_blocks(tmp_path, name):
    random = np.random.default_rng(3)
    X, Y = (abs(random.normal(size=(n, 4))) for n in (40, 30))
    np.savez(tmp_path / "x.npz", X=X)
    np.savez(tmp_path / "y.npz", X=Y)
    gamma = 0.5 if name == "gaussian" else None
    kernel = kernel_of(name, gamma=gamma)
    left, right = kernel_rows(
        tmp_path / "x.npz", tmp_path / "y.npz", kernel, watch=lambda *told: None
    )
    a, b, found = all_pairs(similar_rows(left, right, top=30))
    K = (kernels.Gaussian(1.0) if gamma else kernels.get(name))(X, Y)
    np.testing.assert_allclose(found, K[a, b], rtol=1e-12)
    assert len(found) == K.size


def test_scaled_rows(tmp_path):
    random = np.random.default_rng(4)
    X = random.normal(size=(40, 4)) * [1, 10, 100, 1000]
    np.savez(tmp_path / "x.npz", X=X)
    rows = kernel_rows(
        tmp_path / "x.npz", None, kernel_of("gmm"), scale="minmax", watch=lambda *told: None
    )
    a, b, found = all_pairs(similar_rows(*rows, top=39, itself=True))
    K = kernels.GMM()((X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0)))
    np.testing.assert_allclose(found, K[a, b], rtol=1e-12)


def test_wrong_wishes():
    A = stored(Codes([[1, 2]], bits=2))
    none = stored(Codes(np.zeros((0, 2), np.uint8), bits=2))
    for given, words in (({"top": 0}, "top must"), ({"above": float("nan")}, "above must")):
        with pytest.raises(ValueError, match=words):
            list(similar_rows(A, A, **given))
    for pair in ((A, none), (none, A)):
        with pytest.raises(DataError, match="has no rows"):
            list(similar_rows(*pair))
    with pytest.raises(ValueError, match="'gmm' has no gamma"):
        kernel_of("gmm", gamma=1.0)


@pytest.mark.parametrize("itself", [False, True])
@pytest.mark.parametrize("p", [1.0, 0.5])
@pytest.mark.parametrize("sparse", [False, True])
def test_pairs_above_a_value_by_the_exact_search(tmp_path, monkeypatch, itself, p, sparse):
    """The search that looks at few pairs finds those that block by block are found."""
    random = np.random.default_rng(0)
    lines = []
    for _ in range(120):
        columns = np.sort(random.choice(6, 4, replace=False))
        lines.append("0 " + " ".join(f"{c + 1}:{random.integers(1, 4)}" for c in columns))
    for name, some in (("a", lines), ("b", lines[60:] + lines[:9])):
        cells = ["a,b,c,d,e,f"]
        for line in some:
            values = dict(cell.split(":") for cell in line.split()[1:])
            cells.append(",".join(values.get(str(c), "0") for c in range(1, 7)))
        (tmp_path / f"{name}.csv").write_text("\n".join(cells) + "\n")
        (tmp_path / f"{name}.svm").write_text("\n".join(some) + "\n")
    ending = "svm" if sparse else "csv"
    a, b = tmp_path / f"a.{ending}", None if itself else tmp_path / f"b.{ending}"

    def pairs():
        sides = kernel_rows(a, b, kernel_of("gmm", p=p), watch=lambda event: None)
        return all_pairs(similar_rows(*sides, above=0.7, itself=itself))

    quick = pairs()
    monkeypatch.setattr(similarity.KernelRows, "power", None)
    slow = pairs()
    np.testing.assert_allclose(quick[2], slow[2], rtol=1e-12)
    assert len(quick[0]) > 50
    # of nearly equal similarities the order may differ
    assert set(zip(*(x.tolist() for x in quick[:2]), strict=True)) == set(
        zip(*(x.tolist() for x in slow[:2]), strict=True)
    )
    assert (np.diff(quick[0]) >= 0).all()
