"""How much memory there is to work with, and what it is worth in rows."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMGT]?)(?:I?B)?\s*", re.IGNORECASE)

# What reading takes whatever its rows: pieces of text on their way through the parser.
READING = 32 << 20
SOLVING = 32 << 20  # the solver's work space
# rows that learning from batches remembers, at most; and as much for the duals of others
REMEMBERED = 32 << 20
WEIGHT_COPIES = 6  # the model, the mean, the last weights, and the solver's own
LEAST_FREE = 16 << 20
SLACK = 4 << 20  # what a process takes varies by so much from run to run
LEAST_ROWS, MOST_ROWS = 256, 1 << 16  # of a batch
SAMPLE_ROWS = 50_000  # that a model of more rows than memory holds is begun with
# rows that learning from a batch visits with it; with a larger one, as many as it has
REPLAYED = 16_384


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
        # more is as good as all
        found = int(min(float(match[1]) * _UNITS[match[2].upper()], 2.0**62))
    if found <= 0:
        raise ValueError(f"memory must be above 0, got {size!r}.")
    return found


def taken() -> int:
    """The bytes that this process holds now (or, where the system does not say, has held at
    most)."""
    try:
        with open("/proc/self/statm", encoding="ascii") as facts:
            return int(facts.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
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
    """What a limit leaves for rows.

    ``of_row`` bytes of a row become ``code_bytes`` of codes or features; each of the scores has so
    many weights. ``base`` is what the process held before it saw rows.
    """

    limit: int
    base: int
    of_row: int
    code_bytes: int
    n_outputs: int
    n_weights: int

    @property
    def _fixed(self) -> int:
        return self.base + READING + SOLVING + WEIGHT_COPIES * 4 * self.n_outputs * self.n_weights

    @property
    def held(self) -> int:
        """How many rows may be held at once: themselves, half as much again while a sample grows,
        their codes and duals."""
        return max(LEAST_ROWS, (self.limit - self._fixed) // self._each)

    @property
    def _each(self) -> int:
        return self.of_row + self.of_row // 2 + 64 + 2 * self.code_bytes + 16 * self.n_outputs

    def refuse_too_little(self) -> None:
        """Refuse a limit within which such a model cannot be trained, however few the rows are."""
        least = self._fixed + LEAST_FREE + LEAST_ROWS * self._each
        if self.limit < least:
            raise ValueError(
                f"memory is {_megabytes(self.limit)} MB, but the process takes "
                f"{_megabytes(self.base)} MB before it has read "
                f"anything, and training such a model at least {_megabytes(least + SLACK)} MB: "
                f"allow that."
            )

    def batch(self, n_rows: int) -> int:
        """How many rows a batch of so many may have; a limit within which batches cannot be learned
        from is refused.

        It is there itself, as a copy, as codes, and with the codes of the rows visited with it,
        each of these twice. Two thirds of the room stay free, for what the system does not give
        back at once.
        """
        remembered = min(REMEMBERED, n_rows * self.code_bytes)
        ledger = (
            min(REMEMBERED, n_rows * (9 + 4 * self.n_outputs)) if remembered == REMEMBERED else 0
        )
        needed = (
            self._fixed + 2 * (remembered + ledger) + 2 * min(REPLAYED, n_rows) * self.code_bytes
        )
        if self.limit < needed + LEAST_FREE:
            raise ValueError(
                f"memory is {self.limit >> 20} MB, but such a model of so many rows takes at least "
                f"{_megabytes(needed + LEAST_FREE)} MB: allow that, or use fewer components or "
                f"bits."
            )
        room = (self.limit - needed) // 3 // (3 * self.of_row + 4 * self.code_bytes)
        return min(max(LEAST_ROWS, room), MOST_ROWS)


def _megabytes(count: int) -> int:
    """Rounded up, so that a limit of so many is enough."""
    return -(-count // (1 << 20))


# What hashing takes whatever the rows: tables of random numbers, and lists of a block of rows.
HASHING = 48 << 20
BATCH_BYTES = 48 << 20  # that a batch takes on its way, if nobody set a limit


def batch_rows(limit: int | None, of_row: int, of_result: int) -> int:
    """How many rows may be on their way at once if each has so many bytes and becomes so many,
    within a limit if there is one.

    A batch is held as it is, scaled and as the map takes it, and what it becomes once more while it
    is written.
    """
    each = 3 * of_row + 2 * of_result
    free = BATCH_BYTES
    if limit is not None:
        free = (limit - taken() - READING - HASHING) // 2
        if free < LEAST_ROWS * each:
            # This run may hold less than the next one at this point: twice the slack, since one of
            # them was found to be short.
            needed = taken() + READING + HASHING + 2 * LEAST_ROWS * each
            raise ValueError(
                f"memory is {limit >> 20} MB, but encoding such rows takes at least "
                f"{_megabytes(needed + 2 * SLACK)} MB: allow that."
            )
        free = min(free, BATCH_BYTES)
    return min(max(LEAST_ROWS, free // max(1, each)), MOST_ROWS)
