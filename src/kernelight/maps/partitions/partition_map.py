"""What maps into cells of partitions share: a slot is a partition, its code the cell of a row."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import checks
from kernelight.base.checks import Matrix, Resources, core_args
from kernelight.codes import Codes, Winners
from kernelight.codes.slots import slot_dtype
from kernelight.maps.base import CodeMap
from kernelight.maps.projections.projection import rows_between

CoreRows = tuple[Any, Any, Any, int]  # values, indices, indptr and width, as `core_args` gives
_CALL_WORK = 1 << 33  # tests of one compiled call: Ctrl-C is handled between two calls


class PartitionMap(CodeMap):
    """A map whose slots are partitions of all rows: equal codes are the same cell.

    Numbers that are missing (NaN) are taken as trees take them: each test has a side for them.
    """

    _takes_missing: ClassVar[bool] = True
    #: What encodes, made by `_settle`; None where there is nothing to test.
    _tables: Any = None
    #: Of the learned arrays, and of what else defines codes; made by `_settle`.
    _learned_digest: str

    @abstractmethod
    def column_fractions(self) -> sp.csr_matrix:
        """The fraction of each cell that belongs to each column, for explanations.

        Row ``slot * 2**bits + code`` is that of a cell, as in the one-hot matrix of `transform`;
        its fractions add up to 1. The row of a cell that no test leads to is empty. With the
        weights w of a linear model of these features, column f contributes ``transform(X) @ diag(w)
        @ column_fractions()[:, f]`` to the score.
        """

    @abstractmethod
    def columns_of_slots(self, codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The columns that have each slot of each row in equal parts: ``features, starts``.

        Those of slot j in row i are ``features[i, starts[j]:starts[j + 1]]``; -1 stands for none,
        and a column that stands twice has two parts. ``features`` has a single row if all rows have
        the same. It is `column_fractions` for the cells of some rows.
        """

    @property
    def has_winners(self) -> bool:
        """True: a slot belongs to the columns of the tests that lead to the cell of a row."""
        return True

    def _encode_with_winners(
        self, X: Matrix
    ) -> tuple[NDArray[Any], NDArray[np.bool_], int, Winners]:
        array, empty, bits = self._encode(X)
        winners = Winners(*self.columns_of_slots(self._codes(array, empty, bits)))
        return array, empty, bits, winners

    @abstractmethod
    def _tests_of_a_row(self) -> int:
        """About how many comparisons the codes of a row take."""

    @abstractmethod
    def _fill_codes(self, rows: CoreRows, codes: NDArray[Any], use: Resources) -> None:
        """Codes of rows given as arguments of the core."""

    def _read_training(self, X: Any) -> Matrix:
        """The rows of ``fit``, which may have missing numbers, but not these alone."""
        X = self._validated(X, reset=True)
        values = X.data if sp.issparse(X) else X
        if values.size == X.shape[0] * X.shape[1] and np.isnan(values).all():
            raise ValueError(
                "Input X contains NaN alone: at least one number is needed to learn from."
            )
        return X

    def _encode(self, X: Matrix) -> tuple[NDArray[Any], NDArray[np.bool_], int]:
        self._follow_parameters()
        use, bits, n_rows = checks.resources(self.n_jobs), self._code_bits(), X.shape[0]
        codes = np.zeros((n_rows, self._n_slots()), dtype=slot_dtype(bits))
        if self._tables is not None:
            work = self._tests_of_a_row()
            use = use.for_work(n_rows * work)
            step = max(4096, _CALL_WORK // work)
            values, indices, indptr, n_cols = core_args(X)
            for begin in range(0, n_rows, step):
                end = min(begin + step, n_rows)
                rows = rows_between(values, indices, indptr, begin, end)
                self._fill_codes((*rows, n_cols), codes[begin:end], use)
        return codes, np.zeros(n_rows, dtype=np.bool_), bits

    def _digest(self, *more: NDArray[Any]) -> str:
        """A digest of what was learned, and of ``more``."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (*(getattr(self, name) for name in self._learned), *more):
            digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
        return digest.hexdigest()

    def _identity(self) -> dict[str, Any]:
        self._follow_parameters()
        return {"learned": self._learned_digest, "seed": self.seed_}

    @abstractmethod
    def _follow_parameters(self) -> None:
        """Take up parameters that were changed after fit, or refuse them."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_tables", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "n_features_in_" in self.__dict__:
            self._settle()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
