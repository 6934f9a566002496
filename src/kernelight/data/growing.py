"""`Growing`: an array that is filled while it is not yet known how long it will be."""

from __future__ import annotations

import mmap
import sys
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

SPARE = 1 / 16  # of what is still expected, reserved besides
MAPPED = 1 << 22  # bytes from which on NumPy would ask for huge pages
_POPULATE_WRITE = 23  # of madvise, since Linux 5.14: give pages now, as if they were written to


class Growing:
    """Rows of numbers that come one part after another.

    Memory is reserved for as many rows as the part of the file that was read lets expect. What is
    reserved and not written to is only an address, so it does no harm that it is a little more;
    too little of it is copied to a larger place.

    Memory is taken in small pages. Huge ones, which NumPy asks for, take a third of their time if
    the system has them at hand. But a virtual machine gives them back to its host once they have
    been free for some seconds, and then they take three times as long, as much as it takes to parse
    the text that fills them. Small pages always take the same time, and less if the system gives
    those of a part together.

    >>> from kernelight.data.growing import Growing
    >>> rows = Growing("int64", 2)
    >>> for part in ([[1, 2]], [[3, 4], [5, 6]]):
    ...     rows.room(len(part), 0.5)[:] = part
    ...     rows.add(len(part))
    >>> rows.array
    array([[1, 2],
           [3, 4],
           [5, 6]])
    """

    def __init__(self, dtype: Any, *shape: int) -> None:
        self._all: NDArray[Any] = np.empty((0, *shape), dtype=dtype)
        self._memory: mmap.mmap | None = None  # that the array is in
        self.count = 0  # rows that are there

    def room(self, count: int, fraction: float) -> NDArray[Any]:
        """The places of the next rows, when this fraction of the file has been read.

        They may be written to until more room is asked for.
        """
        needed = self.count + count
        if needed > len(self._all):
            more = needed * (1 / fraction - 1) if fraction > 0 else 0.0
            self._reserve(needed + int(more * (1 + SPARE)), max(needed, 2 * self.count))
        self._populate(self.count, needed)
        return self._all[self.count : needed]

    def _populate(self, begin: int, end: int) -> None:
        """Take the pages of these rows from the system."""
        if self._memory is None or sys.platform != "linux":
            return
        of_row = self._all.strides[0]
        start = begin * of_row // mmap.PAGESIZE * mmap.PAGESIZE
        with suppress(OSError):  # an older system gives them one by one
            self._memory.madvise(_POPULATE_WRITE, start, end * of_row - start)

    def _reserve(self, wanted: int, least: int) -> None:
        shape = self._all.shape[1:]
        try:
            larger, memory = _in_small_pages((max(wanted, least), *shape), self._all.dtype)
        except (MemoryError, ValueError, OSError, OverflowError):  # there cannot be so much
            larger, memory = np.empty((least, *shape), dtype=self._all.dtype), None
        larger[: self.count] = self.array
        self._all, self._memory = larger, memory

    def add(self, count: int) -> None:
        """Count so many of the places of `room` as rows."""
        self.count += count

    @property
    def array(self) -> NDArray[Any]:
        """The rows that are there."""
        return self._all[: self.count]

    @array.setter
    def array(self, rows: NDArray[Any]) -> None:
        self._all, self._memory, self.count = rows, None, len(rows)


def _in_small_pages(
    shape: tuple[int, ...], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], mmap.mmap | None]:
    """An array whose content is not set; a large one in pages of the usual size, and these."""
    count = prod(shape)
    if count * dtype.itemsize < MAPPED or sys.platform == "win32":
        return np.empty(shape, dtype=dtype), None
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    memory = mmap.mmap(-1, count * dtype.itemsize, flags=flags)
    return np.frombuffer(memory, dtype=dtype, count=count).reshape(shape), memory
