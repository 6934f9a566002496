"""`Winners`: which features decided each slot of codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Winners:
    """The features that share each slot of each row, in equal parts.

    The winners of slot j in row i are ``features[i, starts[j]:starts[j + 1]]``; -1 stands for none,
    and a feature that stands twice has two shares. A slot without any belongs to no feature.

    Attributes
    ----------
    features : array of int64, (n, w)
        One row for each row of the codes, or a single one if all rows have the same winners.
    starts : array of int64, (k + 1,)
        Where the winners of each slot begin, and the end of the last.

    See Also
    --------
    kernelight.GCWS : ``encode_with_winners`` returns them.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import GCWS
    >>> X = np.array([[2.0, -1.0, 3.0], [0.0, -2.0, 0.0]])
    >>> codes, winners = GCWS(n_components=4).fit(X).encode_with_winners(X)
    >>> winners.features[1], winners.starts
    (array([1, 1, 1, 1]), array([0, 1, 2, 3, 4]))
    """

    features: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def one_each(cls, features: NDArray[np.int64]) -> Winners:
        """Those of slots that have one winner each: ``features`` is (n, k)."""
        return cls(features, np.arange(features.shape[1] + 1, dtype=np.int64))
