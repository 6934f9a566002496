"""Texts as rows of shingles: columns by a hash written out here, counts, tf-idf, odd texts."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from kernelight.data.texts import TextShingles
from kernelight.kernels import GMM

TEXTS = [
    "The quick brown fox, the quick dog",
    "Ünïcode: naïve café — 東京 42_x",
    "",
    "a",
    "tabs\tand\nlines   and blanks",
]


def murmur3(data: bytes) -> int:
    """MurmurHash3_x86_32 of seed 0, as a signed number: its definition, byte by byte."""
    mask = 0xFFFFFFFF

    def rotated(x, r):
        return ((x << r) | (x >> (32 - r))) & mask

    def mixed(k):
        return rotated(k * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask

    h = 0
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        h = (
            rotated(h ^ mixed(int.from_bytes(data[at : at + 4], "little")), 13) * 5 + 0xE6546B64
        ) & mask
    if whole < len(data):
        h ^= mixed(int.from_bytes(data[whole:], "little"))
    h ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h = (h ^ (h >> shift)) * factor & mask
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def shingles(text: str, kind: str, low: int, high: int) -> list[str]:
    text = text.lower()
    parts = re.findall(r"\w+", text) if kind == "words" else list(re.sub(r"\s+", " ", text))
    glue = " " if kind == "words" else ""
    return [
        glue.join(parts[at : at + n])
        for n in range(low, high + 1)
        for at in range(len(parts) - n + 1)
    ]


@pytest.mark.parametrize(
    ("kind", "lengths"),
    [("words", (1, 2)), ("words", (3, 3)), ("characters", (5, 5)), ("characters", (1, 3))],
)
@pytest.mark.parametrize("n_features", [1 << 10, 1 << 20, 1 << 30])
def test_columns_are_those_of_the_written_hash(kind, lengths, n_features):
    X = TextShingles(kind, lengths, n_features=n_features).transform(TEXTS)
    assert X.shape == (len(TEXTS), n_features)
    for row, text in zip(X, TEXTS, strict=True):
        wanted = Counter(
            abs(murmur3(shingle.encode())) % n_features
            for shingle in shingles(text, kind, *lengths)
        )
        assert dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) == wanted


def test_tf_idf_counts_texts():
    X = TextShingles(weights="tfidf", lengths=(1, 1)).fit_transform(["a b b", "a c", "a"])
    dense = {
        word: X[:, abs(murmur3(word.encode())) % (1 << 20)].toarray().ravel() for word in "abc"
    }
    idf = {word: np.log(4 / (1 + n)) + 1 for word, n in (("a", 3), ("b", 1), ("c", 1))}
    np.testing.assert_allclose(dense["a"], [idf["a"]] * 3)
    np.testing.assert_allclose(dense["b"], [2 * idf["b"], 0, 0])
    np.testing.assert_allclose(dense["c"], [0, idf["c"], 0])


def test_columns_of_a_record_are_moved_by_their_names():
    shingles = TextShingles(lengths=(1, 1))
    X = shingles.transform(["ann", "bo"], ["bo", "ann"], names=["first", "last"])
    for row, (first, last) in zip(X, (("ann", "bo"), ("bo", "ann")), strict=True):
        wanted = sorted(
            (abs(murmur3(word.encode())) + murmur3(name.encode()) % (1 << 32)) % (1 << 20)
            for word, name in ((first, "first"), (last, "last"))
        )
        assert row.indices.tolist() == wanted
    assert GMM()(X)[0, 1] == 0
    with pytest.raises(ValueError, match="need as many names"):
        shingles.transform(["a"], ["b"])
    with pytest.raises(ValueError, match="same number of texts"):
        shingles.transform(["a"], ["b", "c"], names=["x", "y"])


def test_counting_in_parts_is_counting_at_once():
    whole = TextShingles(weights="tfidf").fit(TEXTS)
    parts = TextShingles(weights="tfidf").fit(TEXTS[:2]).partial_fit(TEXTS[2:])
    assert (whole.transform(TEXTS) != parts.transform(TEXTS)).nnz == 0
    again = parts.fit(TEXTS[:1]).transform(TEXTS[:1])
    assert np.allclose(again.data, TextShingles().transform(TEXTS[:1]).data)


def test_what_the_docstring_says_of_cut_and_repeated_texts():
    words = [f"w{at}" for at in range(100)]
    cut, whole = " ".join(words[:90]), " ".join(words)
    X = TextShingles(lengths=(1, 1)).transform([cut, whole, whole + " " + whole])
    K = GMM()(X)
    assert round(K[0, 1], 2) == 0.9
    assert K[1, 2] == 0.5
    unit = X.multiply(1 / X.sum(axis=1)).tocsr()
    assert round(GMM()(unit)[0, 1], 2) == 0.82


def test_odd_texts():
    X = TextShingles().transform(["\ud800 half", "\x00\x01", "?!", "🙂 ok"])
    assert X.shape[0] == 4
    assert np.diff(X.indptr).tolist() == [1, 0, 0, 1]
    assert TextShingles().transform([]).shape == (0, 1 << 20)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TextShingles("letters"), "kind must be one of"),
        (lambda: TextShingles(lengths=(2, 1)), "largest length of shingles must be between 2"),
        (lambda: TextShingles(lengths=3), "lengths must be two whole numbers"),
        (lambda: TextShingles(weights="idf"), "weights must be one of"),
        (lambda: TextShingles(n_features=5), "n_features must be between"),
        (lambda: TextShingles(weights="tfidf").transform(["a"]), "call fit first"),
        (lambda: TextShingles().transform("one text"), "put it into a list"),
        (lambda: TextShingles().transform(["a", 3]), "got int at place 1"),
    ],
)
def test_wrong_arguments_are_one_sentence(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.parametrize(
    "shingles",
    [
        TextShingles(),
        TextShingles("characters", (3, 5), weights="tfidf", n_features=1 << 12),
        TextShingles(lengths=[1, 3]),
    ],
    ids=repr,
)
def test_clones_and_pipelines(shingles):
    copy = clone(shingles)
    assert repr(copy) == repr(shingles)
    assert copy is not shingles
    wanted = clone(shingles).fit_transform(TEXTS)
    labels = [0, 1, 0, 1, 0]
    model = make_pipeline(shingles, MaxAbsScaler(), LinearSVC()).fit(TEXTS, labels)
    assert abs(model[0].transform(TEXTS) - wanted).max() == 0
    assert model.predict(TEXTS).shape == (5,)
    search = GridSearchCV(
        Pipeline([("rows", clone(shingles)), ("model", LinearSVC())]),
        {"rows__kind": ["words", "characters"], "rows__lengths": [(1, 1), (2, 3)]},
        cv=2,
    ).fit(TEXTS * 2, labels * 2)
    assert search.best_params_["rows__kind"] in ("words", "characters")
    check_is_fitted(model)


def test_parameters_are_checked_when_they_change():
    shingles = TextShingles(weights="tfidf").fit(TEXTS)
    with pytest.raises(ValueError, match="TextShingles has no parameter 'length': there are kind,"):
        shingles.set_params(length=3)
    with pytest.raises(ValueError, match="kind must be"):
        shingles.set_params(kind="letters")
    shingles.transform(TEXTS)  # as it was
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(shingles))
    assert shingles.set_params(lengths=(2, 2)).get_params()["lengths"] == (2, 2)
    with pytest.raises(ValueError, match="call fit first"):
        shingles.transform(TEXTS)
