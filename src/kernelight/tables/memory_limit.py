"""Memory limits: sizes as people write them, and how many rows fit within a limit."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

from kernelight.linear.block_solver import row_state_bytes, row_work_bytes
from kernelight.linear.replay import BUFFER_BYTES, LEDGER_BYTES, REPLAY_ROWS, ledger_row_bytes

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMGT]?)(?:I?B)?\s*", re.IGNORECASE)

READING = 32 << 20  # bytes that reading takes whatever the rows: text that is being parsed
SOLVING = 32 << 20  # bytes of the solver's work space
WEIGHT_COPIES = 6  # the model, the mean, the last weights, and the solver's own
LEAST_FREE = 16 << 20
SLACK = 4 << 20  # the memory of a process varies by this much from run to run
LEAST_ROWS, MOST_ROWS = 256, 1 << 16  # of a batch
BLOCK_BYTES, LEAST_BLOCK = 256 << 20, 4096  # of a block of rows on disk, and its least rows
SAMPLE_ROWS = 50_000  # of the sample that the search runs on, where memory does not hold all rows


def bytes_of(size: int | str, name: str = "memory") -> int:
    """A size as people write it, in bytes; M is 2^20 bytes. ``name`` is that of the argument.

    >>> bytes_of("1.5G"), bytes_of("512 MB"), bytes_of(4096)
    (1610612736, 536870912, 4096)
    """
    if isinstance(size, int) and not isinstance(size, bool):
        n_bytes = size
    else:
        match = _SIZE.fullmatch(size) if isinstance(size, str) else None
        if match is None:
            raise ValueError(f"{name} must be a size such as '512M' or '2G', got {size!r}.")
        # no machine has 2^62 bytes, and the number must not overflow
        n_bytes = int(min(float(match[1]) * _UNITS[match[2].upper()], 2.0**62))
    if n_bytes <= 0:
        raise ValueError(f"{name} must be above 0, got {size!r}.")
    return n_bytes


def taken() -> int:
    """The bytes of memory that this process has now.

    Where the system does not say, the most that it has had.
    """
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:  # not on Windows: about what NumPy, SciPy and scikit-learn take
        return 192 << 20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak << 10)


def row_bytes(X: Any) -> int:
    """The average bytes of a row in memory."""
    if sp.issparse(X):
        return int((X.data.nbytes + X.indices.nbytes) // max(1, X.shape[0])) + 16
    return int(X.shape[1] * X.itemsize)


@dataclass(frozen=True)
class Allowance:
    """How many rows fit within a memory limit while a model is trained.

    Attributes
    ----------
    limit, base : int
        Bytes that the process may have, and that it had before rows were read.
    of_row, code_bytes : int
        Bytes of a row, and of its codes or features.
    n_outputs, n_weights : int
        Outputs of the linear model, and weights of each.
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
        """How many rows may be in memory at once.

        Counted are the rows, half as much again while the sample grows, their codes and duals.
        """
        return max(LEAST_ROWS, (self.limit - self._fixed) // self._each)

    @property
    def _each(self) -> int:
        return self.of_row + self.of_row // 2 + 64 + 2 * self.code_bytes + 16 * self.n_outputs

    def refuse_too_little(self) -> None:
        """Refuse a limit that is too small however few the rows are."""
        least = self._fixed + LEAST_FREE + LEAST_ROWS * self._each
        if self.limit < least:
            raise ValueError(
                f"memory is {_megabytes(self.limit)} MB, but the process takes "
                f"{_megabytes(self.base)} MB before it has read anything, and training this model "
                f"takes at least {_megabytes(least + SLACK)} MB: allow that."
            )

    def batch(self, n_rows: int) -> int:
        """How many of ``n_rows`` rows a batch may have; a limit that is too small is refused.

        A batch is in memory as rows, as a copy, as codes, and with the codes of the rows visited
        with it, each of these twice. Two thirds of the remaining memory stay free, since the system
        does not take back at once what is freed.
        """
        buffer = min(BUFFER_BYTES, n_rows * self.code_bytes)
        ledger = min(LEDGER_BYTES, n_rows * ledger_row_bytes(self.n_outputs))
        ledger = ledger if buffer == BUFFER_BYTES else 0
        replayed = min(REPLAY_ROWS, n_rows) * self.code_bytes
        needed = self._fixed + 2 * (buffer + ledger + replayed)
        if self.limit < needed + LEAST_FREE:
            raise ValueError(
                f"memory is {self.limit >> 20} MB, but training this model on {n_rows:,} rows "
                f"takes at least {_megabytes(needed + LEAST_FREE)} MB: allow that, or use fewer "
                f"components or bits."
            )
        room = (self.limit - needed) // 3 // (3 * self.of_row + 4 * self.code_bytes)
        return min(max(LEAST_ROWS, room), MOST_ROWS)

    def block(self, n_rows: int, n_held_out: int) -> int | None:
        """How many of ``n_rows`` stored rows may be in memory at once; None if too few.

        The duals of all rows are in memory, and the codes of those held out. Of what remains, half
        stays free, for the batch that is being stored and for what the system has not taken back.
        """
        kept = n_rows * row_state_bytes(self.n_outputs) + n_held_out * self.code_bytes
        free = (self.limit - self._fixed - kept) // 2
        each = self.code_bytes + row_work_bytes(self.n_outputs)
        if n_rows * each <= free:
            return n_rows
        rows = min(free, BLOCK_BYTES) // each
        return rows if rows >= LEAST_BLOCK else None


def _megabytes(count: int) -> int:
    """A limit in MB of 2^20 bytes, as ``memory=`` takes them, rounded up so that it is enough.

    `bytes_text` rounds to the nearest, and its MB are 10^6 bytes.
    """
    return -(-count // (1 << 20))


# Bytes that hashing takes whatever the rows: random numbers, and lists of a block of rows.
HASHING = 48 << 20
BATCH_BYTES = 48 << 20  # of a batch while it is encoded, without a limit


def batch_rows(limit: int | None, of_row: int, of_result: int) -> int:
    """How many rows may be encoded at once, if each has ``of_row`` bytes and gives ``of_result``.

    A batch is in memory as it was read, scaled, and as the map takes it; its result twice, while it
    is written. A ``limit`` that is too small is refused.
    """
    each = 3 * of_row + 2 * of_result
    free = BATCH_BYTES
    if limit is not None:
        free = (limit - taken() - READING - HASHING) // 2
        if free < LEAST_ROWS * each:
            # The next run may have more memory at this point than this one: twice the slack, as
            # once was too little.
            needed = taken() + READING + HASHING + 2 * LEAST_ROWS * each
            raise ValueError(
                f"memory is {limit >> 20} MB, but encoding these rows takes at least "
                f"{_megabytes(needed + 2 * SLACK)} MB: allow that."
            )
        free = min(free, BATCH_BYTES)
    return min(max(LEAST_ROWS, free // max(1, each)), MOST_ROWS)
