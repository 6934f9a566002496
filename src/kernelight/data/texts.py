"""`TextShingles`: texts as sparse rows of shingles, by a hash that never changes.

A shingle is a run of words or characters. A text becomes the counts of its shingles (tf), or counts
times inverse document frequencies (tf-idf):

    tf-idf of shingle x = count(x) * (ln((1 + n) / (1 + df(x))) + 1),

n the number of texts, and df(x) of those that have x. The column of a shingle is a hash of its
UTF-8 bytes: |MurmurHash3_x86_32(bytes, seed 0)| as a signed number, modulo the number of columns.
That is scikit-learn's `HashingVectorizer` with ``alternate_sign=False``, which does the work; the
vectors of tests/golden hold it, and this page, fast.

*Words*: the text in lower case (Python's `str.lower`); a word is a run of letters, digits and
underscores (the pattern ``\\w+``), of one letter too; a shingle of several words has one blank
between them. *Characters*: the text in lower case with every run of white space as one blank; every
run of so many characters is a shingle, across words.

Rows are not normalized. The min-max kernel of counts is then what people expect of it, sum min /
sum max: of all shingles of two texts the fraction that both have. A text that lacks the last tenth
of another is 0.9 similar to it, and a text that is written twice 0.5; rows of sum 1 would make that
0.82 and 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base.checks import check_choice, check_int

WORDS, CHARACTERS = "words", "characters"
TF, TFIDF = "tf", "tfidf"
LENGTHS = {WORDS: (1, 2), CHARACTERS: (5, 5)}
LEAST_FEATURES, MOST_FEATURES = 1 << 10, 1 << 30
LONGEST = 100  # words or characters of a shingle
_BLANKS = re.compile(r"\s+")


class TextShingles:
    """Texts as sparse rows: counts of their word or character shingles, in hashed columns.

    Parameters
    ----------
    kind : {"words", "characters"}, default="words"
        What a shingle is made of. Characters find typing errors inside words and serve languages
        without blanks; they make longer rows.
    lengths : (int, int), optional
        The least and the largest number of words or characters of a shingle; (1, 2) for words and
        (5, 5) for characters by default. Longer shingles make rows that differ in a few words less
        similar.
    weights : {"tf", "tfidf"}, default="tf"
        Counts, or counts times inverse document frequencies. With counts the similarity of two
        texts does not depend on the other texts; tf-idf lets frequent words count less, and needs
        `fit`.
    n_features : int, default=2**20
        Columns. Two texts of 100 shingles each share a column by chance once in a hundred pairs.

    Examples
    --------
    >>> from kernelight.data.texts import TextShingles
    >>> from kernelight.kernels import GMM
    >>> X = TextShingles().transform(["the cat sat down", "The cat sat.", "a dog"])
    >>> X.shape, X.nnz
    ((3, 1048576), 15)
    >>> GMM()(X).round(2)
    array([[1.  , 0.71, 0.  ],
           [0.71, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    def __init__(
        self,
        kind: str = WORDS,
        lengths: tuple[int, int] | None = None,
        *,
        weights: str = TF,
        n_features: int = 1 << 20,
    ) -> None:
        self._given: dict[str, Any] = {
            "kind": kind,
            "lengths": lengths,
            "weights": weights,
            "n_features": n_features,
        }
        self.kind = check_choice("kind", kind, (WORDS, CHARACTERS))
        self.lengths = _checked_lengths(LENGTHS[self.kind] if lengths is None else lengths)
        self.weights = check_choice("weights", weights, (TF, TFIDF))
        self.n_features = check_int("n_features", n_features, LEAST_FEATURES, MOST_FEATURES)
        self._n_texts = 0
        self._having: NDArray[np.int64] | None = None
        self._vectorizer: Any = None

    def __repr__(self) -> str:
        return (
            f"TextShingles({self.kind!r}, {self.lengths}, weights={self.weights!r}, "
            f"n_features={self.n_features})"
        )

    @property
    def needs_fit(self) -> bool:
        """Whether texts must be counted first."""
        return bool(self.weights == TFIDF)

    # scikit-learn's conventions, so that it clones this and takes it as a step of a pipeline

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as they were given.

        >>> from kernelight.data.texts import TextShingles
        >>> from sklearn.base import clone
        >>> clone(TextShingles(lengths=(1, 3)))
        TextShingles('words', (1, 3), weights='tf', n_features=1048576)
        """
        return dict(self._given)

    def set_params(self, **params: Any) -> TextShingles:
        """Change parameters; counts of texts are forgotten."""
        for name in params:
            if name not in self._given:
                raise ValueError(
                    f"TextShingles has no parameter {name!r}: there are {', '.join(self._given)}."
                )
        made: Any = TextShingles(**{**self._given, **params})  # which checks them
        self.__dict__.update(made.__dict__)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return not self.needs_fit or self._having is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
            requires_fit=self.needs_fit,
        )

    def fit(self, texts: Iterable[str], y: Any = None) -> TextShingles:
        """Count in how many texts each shingle is; needed for tf-idf only."""
        self._n_texts, self._having = 0, None
        return self.partial_fit(texts)

    def partial_fit(self, *columns: Iterable[str], names: Sequence[str] = ()) -> TextShingles:
        """Count the shingles of more texts; of several columns as in `transform`."""
        rows = self._counts(columns, names)
        if self._having is None:
            self._having = np.zeros(self.n_features, dtype=np.int64)
        self._having += np.bincount(rows.indices, minlength=self.n_features)
        self._n_texts += rows.shape[0]
        return self

    def transform(self, *columns: Iterable[str], names: Sequence[str] = ()) -> sp.csr_matrix:
        """The rows of some texts: CSR of float64. A text without a word is a row of zeros.

        A record may have texts in several columns, which have ``names``. Its row is the sum of
        theirs, where the columns of shingles are moved by the hash of the name, so that a word here
        is another shingle than the same word there.
        """
        rows = self._counts(columns, names)
        if self.needs_fit:
            if self._having is None:
                raise ValueError("weights='tfidf' needs the counts of all texts: call fit first.")
            having = self._having[rows.indices]
            rows.data *= np.log((1.0 + self._n_texts) / (1.0 + having)) + 1.0
        return rows

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> sp.csr_matrix:
        """Count the texts, and return their rows.

        >>> from kernelight.data.texts import TextShingles
        >>> X = TextShingles(weights="tfidf", lengths=(1, 1)).fit_transform(["a b", "a c"])
        >>> sorted(set(X.data.round(3).tolist()))
        [1.0, 1.405]
        """
        texts = list(texts)
        return self.fit(texts).transform(texts)

    def _counts(self, columns: Sequence[Iterable[str]], names: Sequence[str]) -> sp.csr_matrix:
        if len(columns) == 1:
            return self._of_column(columns[0])
        if len(names) != len(columns):
            raise ValueError(f"{len(columns)} columns of texts need as many names.")
        from sklearn.utils import murmurhash3_32

        total = sp.csr_matrix((0, self.n_features))
        for at, (texts, name) in enumerate(zip(columns, names, strict=True)):
            rows = self._of_column(texts)
            if at and rows.shape[0] != total.shape[0]:
                raise ValueError("columns of texts must have the same number of texts.")
            shift = int(murmurhash3_32(_encodable(name).encode(), 0, positive=True))
            moved = (rows.indices.astype(np.int64) + shift) % self.n_features
            rows = sp.csr_matrix((rows.data, moved, rows.indptr), shape=rows.shape)
            rows.sort_indices()
            total = rows if at == 0 else total + rows
        return total

    def _of_column(self, texts: Iterable[str]) -> sp.csr_matrix:
        if isinstance(texts, (str, bytes)):
            raise TypeError("texts must be a list of texts, got one text: put it into a list.")
        texts = list(texts)
        for at, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(
                    f"texts must be a list of texts, got {type(text).__name__} at place {at}."
                )
        if not texts:
            return sp.csr_matrix((0, self.n_features))
        # half of a surrogate pair, which JSON may hold, has no UTF-8
        clean = [_encodable(text) for text in texts]
        if self.kind == CHARACTERS:
            clean = [_BLANKS.sub(" ", text) for text in clean]
        rows = self._hashing().transform(clean)
        rows.sum_duplicates()
        return sp.csr_matrix(rows)

    def _hashing(self) -> Any:
        if self._vectorizer is None:
            from sklearn.feature_extraction.text import HashingVectorizer

            self._vectorizer = HashingVectorizer(
                analyzer="word" if self.kind == WORDS else "char",
                ngram_range=self.lengths,
                token_pattern=r"(?u)\w+",
                lowercase=True,
                strip_accents=None,
                norm=None,
                alternate_sign=False,
                binary=False,
                n_features=self.n_features,
                dtype=np.float64,
            )
        return self._vectorizer


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _checked_lengths(lengths: Any) -> tuple[int, int]:
    if not isinstance(lengths, (tuple, list)) or len(lengths) != 2:
        raise ValueError(f"lengths must be two whole numbers such as (1, 2), got {lengths!r}.")
    low = check_int("The least length of shingles", lengths[0], 1, LONGEST)
    return low, check_int("The largest length of shingles", lengths[1], low, LONGEST)
