"""Threads of other libraries (BLAS, OpenMP), which wait for each other: on a busy machine one of
them is faster than many."""

from __future__ import annotations

import os
from typing import Any

from threadpoolctl import threadpool_limits

OWN = 0.5  # of the load beyond a task a core: this process may be busy on every core itself


def one_thread() -> Any:
    """A context for work so small that threads cannot help; t-SNE of 400 rows took ten seconds with
    them beside other work."""
    return threadpool_limits(1)


def threads_that_pay() -> Any:
    """A context for work of any size: all threads, or one if others use the machine."""
    return threadpool_limits(1 if is_busy() else None)


def is_busy() -> bool:
    """Whether others use the machine."""
    try:
        return os.getloadavg()[0] > (os.cpu_count() or 1) + OWN
    except (AttributeError, OSError):
        return False
