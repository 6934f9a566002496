"""How benchmarks measure and report: ratios of best times, measured alternately in one run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

from threadpoolctl import threadpool_limits

Row = dict[str, Any]
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def threads(count: int) -> Iterator[None]:
    """kernelight and the libraries it is compared with use this many threads."""
    before = os.environ.get("KERNELIGHT_NUM_THREADS")
    os.environ["KERNELIGHT_NUM_THREADS"] = str(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        os.environ.pop("KERNELIGHT_NUM_THREADS")
        if before is not None:
            os.environ["KERNELIGHT_NUM_THREADS"] = before


def best(repeats: int, call: Callable[[], object]) -> float:
    """The best time of a call, in seconds."""
    return best_of_turns(repeats, call)[0]


def best_of_turns(repeats: int, *calls: Callable[[], object]) -> list[float]:
    """The best time of each call, in seconds.

    The calls take turns, so that a busy moment of the machine falls on all of them.
    """
    return [wall for wall, _ in best_times(repeats, *calls)]


def best_times(repeats: int, *calls: Callable[[], object]) -> list[tuple[float, float]]:
    """The best time of each call by the clock and of the processors, in seconds, in turns."""
    best = [(float("inf"), float("inf"))] * len(calls)
    for _ in range(1 if os.environ.get("KERNELIGHT_QUICK") else repeats):
        for at, call in enumerate(calls):
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            best[at] = min(best[at][0], wall), min(best[at][1], cpu)
    return best


def median_of_turns(inputs: Sequence[Any], *calls: Callable[[Any], object]) -> list[float]:
    """The median time of each call over some inputs, in seconds; the calls take turns."""
    times = [[0.0] * len(inputs) for _ in calls]
    for call in calls:
        call(inputs[0])  # what is made at the first call counts nowhere
    for at, each in enumerate(inputs):
        for of_call, call in zip(times, calls, strict=True):
            start = time.perf_counter()
            call(each)
            of_call[at] = time.perf_counter() - start
    return [median(of_call) for of_call in times]


def at_least(claim: str, peer: str, bar: float, measured: float) -> Row:
    """A claim to be this many times faster than a peer."""
    text = f"at least {bar:g} times faster"
    return {
        "claim": claim,
        "peer": peer,
        "bar": text,
        "measured": measured,
        "holds": measured >= bar,
    }


def at_most(claim: str, peer: str, bar: float, measured: float) -> Row:
    """A claim to take at most this many times the time of a peer."""
    text = f"at most {bar:g} times the time"
    return {
        "claim": claim,
        "peer": peer,
        "bar": text,
        "measured": measured,
        "holds": measured <= bar,
    }


def rate_at_least(claim: str, peer: str, bar: float, measured: float) -> Row:
    """A claim to reach this fraction of the rate of a peer."""
    text = f"at least {bar:g} of its rate"
    return {
        "claim": claim,
        "peer": peer,
        "bar": text,
        "measured": measured,
        "holds": measured >= bar,
    }


def memory_at_most(claim: str, peer: str, megabytes: float, measured: float) -> Row:
    """A claim to need at most this much memory."""
    text = f"at most {megabytes:.3g} MB"
    return {
        "claim": claim,
        "peer": peer,
        "bar": text,
        "measured": measured,
        "unit": "MB",
        "holds": measured <= megabytes,
    }


def show(rows: list[Row]) -> None:
    """Print the rows, one per line."""
    for row in rows:
        verdict = "" if row["holds"] else "  MISSED"
        print(
            f"{row['claim']} vs {row['peer']} | {row['bar']} | {row['measured']:.2f}{verdict}",
            flush=True,
        )
