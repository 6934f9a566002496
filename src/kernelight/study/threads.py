"""Threads of other libraries (BLAS, OpenMP): on a busy machine, one is faster than many.

Their threads wait for each other, and the slowest one sets the pace.
"""

from __future__ import annotations

import os
from typing import Any

from threadpoolctl import threadpool_limits

OWN_LOAD = 0.5  # above one task per core: this process may be busy on every core itself


def one_thread() -> Any:
    """A context for small work, where threads only cost time.

    On a busy machine t-SNE of 400 rows took ten seconds with all threads.
    """
    return threadpool_limits(1)


def threads_that_pay() -> Any:
    """A context for work of any size: all threads, or one if other processes use the machine."""
    return threadpool_limits(1 if is_busy() else None)


def is_busy() -> bool:
    """Whether other processes use the machine."""
    try:
        return os.getloadavg()[0] > (os.cpu_count() or 1) + OWN_LOAD
    except (AttributeError, OSError):
        return False
