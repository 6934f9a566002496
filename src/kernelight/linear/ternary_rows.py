"""Rows as `TernaryClassifier` takes them: codes of 1 bit, their one-hot matrix, dense features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelight.base import checks
from kernelight.codes import Codes


def refuse_packed(X: Any) -> None:
    """Refuse packed codes where features are wanted."""
    if getattr(X, "dtype", None) == np.uint64:
        raise ValueError(
            "X is an array of uint64, as packed codes are, which say nothing of themselves: pass "
            "the Codes, or dense features as floats."
        )


def as_codes(codes: Any) -> Codes:
    """Codes of 1 bit, given as such or as their one-hot CSR matrix; others are refused."""
    if sp.issparse(codes):
        return _from_one_hot(checks.as_matrix(codes))
    assert isinstance(codes, Codes)
    if codes.bits != 1:
        raise ValueError(
            f"TernaryClassifier takes codes of 1 bit, got {codes.bits} bits: encode rows with "
            "BinaryFourier or SignProjection, or take low_bits(1) of the codes."
        )
    return codes


def _from_one_hot(X: Any) -> Codes:
    """The codes of one-hot rows.

    A row has one entry in each pair of columns, or none at all; all entries have the same value.
    """
    n_slots, filled = X.shape[1] // 2, np.diff(X.indptr) > 0
    slots = X.indices[: X.indptr[-1]] // 2
    whole = (
        X.shape[1] % 2 == 0
        and X.shape[1] > 0
        and bool((np.diff(X.indptr)[filled] == n_slots).all())
    )
    if (
        not whole
        or (slots.reshape(-1, max(1, n_slots)) != np.arange(n_slots)).any()
        or len(np.unique(X.data)) > 1
    ):
        raise ValueError(
            "TernaryClassifier takes Codes of 1 bit, dense features, or the one-hot CSR matrix "
            "that transform of BinaryFourier or SignProjection gives, got another sparse matrix: "
            "for sparse features use LinearClassifier, or pass a dense array."
        )
    array = np.zeros((X.shape[0], n_slots), dtype=np.uint8)
    array[filled] = (X.indices[: X.indptr[-1]] % 2).reshape(-1, n_slots)
    return Codes(array, 1, empty=~filled)
