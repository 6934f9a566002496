"""Computing cells: their order, the processes, and failures."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from threadpoolctl import threadpool_limits

from papers._cells import Cell, Result

Outcome = tuple[Result, float] | str  # with processor seconds; a string says why there is no result


def in_order(cells: list[Cell]) -> list[Cell]:
    """Cells by stage, then by data set, so that data are loaded once, then by weight."""
    totals: defaultdict[tuple[int, str | None], float] = defaultdict(float)
    for cell in cells:
        totals[cell.stage, cell.dataset] += cell.weight
    return sorted(
        cells, key=lambda cell: (cell.stage, totals[cell.stage, cell.dataset], cell.weight)
    )


def computed(todo: list[Cell], jobs: int, deadline: float | None) -> Iterator[tuple[Cell, Outcome]]:
    """Cells and their results, as they are done; none begins after the deadline.

    Cells that measure time come last, one after the other, in this process, when the others have
    ended.
    """
    timed = [cell for cell in todo if cell.timed]
    others = [cell for cell in todo if not cell.timed]
    if jobs > 1 and others:
        yield from _side_by_side(others, jobs, deadline)
        others = []
    for cell in others + timed:
        if _late(deadline):
            return
        yield cell, _attempt(cell)


def _late(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() > deadline


def _side_by_side(
    todo: list[Cell], jobs: int, deadline: float | None
) -> Iterator[tuple[Cell, Outcome]]:
    waiting = iter(todo)
    context = get_context("fork")
    with ProcessPoolExecutor(
        jobs, context, initializer=_begin_process, initargs=(os.getpid(),)
    ) as pool:
        running: dict[Future[Outcome], Cell] = {}
        while True:
            while (
                len(running) < jobs
                and not _late(deadline)
                and (begun := next(waiting, None)) is not None
            ):
                running[pool.submit(_attempt, begun)] = begun
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                cell = running.pop(future)
                try:
                    yield cell, future.result()
                except BrokenProcessPool:
                    yield (cell, "its process or another one ended: was there too little memory?")
                    return


def _begin_process(parent: int) -> None:
    """Give a process one thread, and let it end when its parent has ended, in whatever way."""
    os.environ["KERNELIGHT_NUM_THREADS"] = "1"
    threadpool_limits(1)

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _attempt(cell: Cell) -> Outcome:
    """The result and what it took, or why there is none.

    One damaged file must not stop all other cells.
    """
    begun = time.process_time()
    try:
        return cell.compute(), time.process_time() - begun
    except Exception as error:
        said = str(error).strip().splitlines()
        return f"{type(error).__name__}: {said[0] if said else 'no reason given'}"
