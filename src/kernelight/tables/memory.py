"""How much memory there is to work with, and what it is worth in rows."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMGT]?)(?:I?B)?\s*", re.IGNORECASE)

# What reading takes whatever its rows: pieces of text on their way through the parser.
READING = 32 << 20
# What learning from batches takes: the solver's work space, the rows that are remembered and the duals of others, both twice
# while more are joined to them.
LEARNING = (32 << 20) + 2 * (32 << 20) + 2 * (32 << 20)
WEIGHT_COPIES = 6  # the model, the mean, the last weights, and the solver's own
LEAST_FREE = 16 << 20
LEAST_ROWS, MOST_ROWS = 256, 1 << 16  # of a batch
SAMPLE_ROWS = 50_000  # that a model of more rows than memory holds is begun with
REPLAYED = 16_384  # rows that learning from a batch visits with it; with a larger one, as many as it has


def bytes_of(size: int | str) -> int:
    """A size as people write it, in bytes; M is 2^20 bytes.

    >>> bytes_of("1.5G"), bytes_of("512 MB"), bytes_of(4096)
    (1610612736, 536870912, 4096)
    """
    if isinstance(size, int) and not isinstance(size, bool):
        found = size
    else:
        match = _SIZE.fullmatch(size) if isinstance(size, str) else None
        if match is None:
            raise ValueError(f"memory must be a size such as '512M' or '2G', got {size!r}.")
        found = int(min(float(match[1]) * _UNITS[match[2].upper()], 2.0**62))  # more is as good as all
    if found <= 0:
        raise ValueError(f"memory must be above 0, got {size!r}.")
    return found


def taken() -> int:
    """The bytes that this process has held at most so far."""
    try:
        import resource
    except ImportError:  # not on Windows: about what NumPy, SciPy and scikit-learn take
        return 192 << 20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak << 10)


def row_bytes(X: Any) -> int:
    """The bytes of a row in memory, on average."""
    if sp.issparse(X):
        return int((X.data.nbytes + X.indices.nbytes) // max(1, X.shape[0])) + 16
    return int(X.shape[1] * X.itemsize)


@dataclass(frozen=True)
class Allowance:
    """What a limit leaves: how many rows may be held at once, how many a batch may have, and what batches would need."""

    limit: int
    needed: int
    held: int
    batch: int

    @classmethod
    def within(cls, limit: int, *, of_row: int, code_bytes: int, n_outputs: int, n_weights: int) -> Allowance:
        """``of_row`` bytes of a row become ``code_bytes`` of codes or features; each of the scores has so many weights."""
        read = taken() + READING + WEIGHT_COPIES * 4 * n_outputs * n_weights
        # Rows that are held: themselves, copied by a scaling and by tuning, their codes and duals. With them the solver works.
        held = (limit - read - (64 << 20)) // (2 * of_row + 2 * code_bytes + 16 * n_outputs)
        # A batch: itself, a copy of it, its codes, and those of the rows visited with it, each of these twice. Two thirds of
        # the room stay free, for what the system does not give back at once.
        learning = LEARNING + 2 * REPLAYED * code_bytes
        batch = (limit - read - learning) // 3 // (3 * of_row + 4 * code_bytes)
        return cls(
            limit, read + learning + LEAST_FREE, max(LEAST_ROWS, held), min(max(LEAST_ROWS, batch), MOST_ROWS)
        )

    def refuse_too_little(self) -> None:
        """Refuse a limit within which batches cannot be learned from."""
        if self.limit < self.needed:
            raise ValueError(
                f"memory is {self.limit >> 20} MB, but such a model of so many rows takes at least "
                f"{-(-self.needed // (1 << 20))} MB: allow that, or use fewer components or bits."
            )


# What hashing takes whatever the rows: tables of random numbers, and lists of a block of rows.
HASHING = 48 << 20
BATCH_BYTES = 48 << 20  # that a batch takes on its way, if nobody set a limit


def batch_rows(limit: int | None, of_row: int, of_result: int) -> int:
    """How many rows may be on their way at once if each has so many bytes and becomes so many, within a limit if there is one.

    A batch is held as it is, scaled and as the map takes it, and what it becomes once more while it is written.
    """
    each = 3 * of_row + 2 * of_result
    free = BATCH_BYTES
    if limit is not None:
        free = (limit - taken() - READING - HASHING) // 2
        if free < LEAST_ROWS * each:
            needed = taken() + READING + HASHING + 2 * LEAST_ROWS * each
            raise ValueError(
                f"memory is {limit >> 20} MB, but such rows take at least {-(-needed // (1 << 20))} MB: allow that."
            )
        free = min(free, BATCH_BYTES)
    return min(max(LEAST_ROWS, free // max(1, each)), MOST_ROWS)
