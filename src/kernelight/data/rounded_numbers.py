"""Numbers of a file that double precision does not hold: others become the same as these.

They are whole numbers beyond 2^53, of integer columns and arrays or written in digits alone, and
decimals of Arrow's types of more than 15 significant digits. A floating-point number stands for its
neighbours anyway, also as text (1e17, or 0.1 with twenty digits).
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

import numpy as np

from kernelight.data.exact_integers import INEXACT
from kernelight.data.table_source import ArraySource, ColumnSelection, TableSource

_SAFE = 15  # significant digits that every double holds
_DIGITS = re.compile(r"[+-]?[0-9]{1,400}")
_BETWEEN_THOUSANDS = re.compile(r"(?<=[0-9])[,.' _\u00a0\u202f](?=[0-9]{3}(?:[^0-9]|$))")


def is_rounded(text: str, *, decimal: bool = False) -> bool:
    """Whether a number as it is written is one of these; ``decimal`` is the type of its column.

    >>> from kernelight.data.rounded_numbers import is_rounded
    >>> is_rounded("9007199254740992"), is_rounded("9007199254740993"), is_rounded("1e30")
    (False, True, False)
    >>> is_rounded("1,234,567,890,123,456,789")
    True
    >>> is_rounded("0.1", decimal=True), is_rounded("0.12345678901234567", decimal=True)
    (False, True)
    """
    text = text.strip()
    digits = text if decimal else _BETWEEN_THOUSANDS.sub("", text)
    if _DIGITS.fullmatch(digits):
        return len(digits) > 300 or int(float(digits)) != int(digits)
    if not decimal:
        return False
    try:
        value = Decimal(text)
    except InvalidOperation:
        return False
    significant = "".join(map(str, value.as_tuple().digits)).strip("0")
    return value.is_finite() and len(significant) > _SAFE


def first_rounded(source: TableSource, name: str | None) -> tuple[str, str] | None:
    """The first of them in a column, as it is written, and where; None if there is none.

    Without a name, in sparse rows. Of arrays of integers every number from 2^53 on counts.
    """
    if isinstance(source, ArraySource):
        return _first_large(source, name) if source.whole_numbers else None
    if name is None:  # sparse rows of text are floating-point numbers
        return None
    decimal = name in source.decimals
    for block in source.blocks(ColumnSelection(words=(name,))):
        words = block.words[0]
        gone = np.array([*(is_rounded(value, decimal=decimal) for value in words.values), False])
        if gone.any():
            row = int(np.argmax(gone[words.codes]))
            return words.values[words.codes[row]], block.locate(block.first_row + row)
    return None


def _first_large(source: ArraySource, name: str | None) -> tuple[str, str] | None:
    for block in source.blocks(ColumnSelection(numbers=() if name is None else (name,))):
        matrix = block.numbers
        values = matrix.data if name is None else matrix[:, 0]
        large = np.flatnonzero(np.abs(values) >= INEXACT)
        if len(large):
            at = int(large[0])
            row = at if name is not None else int(np.searchsorted(matrix.indptr, at, "right")) - 1
            return f"{values[at]:.0f}", block.locate(block.first_row + row)
    return None
