"""Spark for benchmarks: a session on this machine, and the CPU time of all of its processes."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelight.distributed import Ticket

HERE = Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
    "spark.log.level": "OFF",
}


@contextmanager
def session(master: str = "local[2,4]") -> Iterator[Any]:
    """A session of Spark, or None with a sentence where there is none."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        print("Spark is not installed: pip install 'kernelight[spark]'.", flush=True)
        yield None
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # workers find this module
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), *path]))
    with tempfile.TemporaryDirectory() as folder:
        made = SparkSession.builder.master(master)
        for name, value in {**SETTINGS, "spark.local.dir": folder}.items():
            made = made.config(name, value)
        spark = made.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()


def cpu_of(call: Callable[[], object]) -> float:
    """The CPU seconds of a call, of this process and all that descend from it, ended ones too."""
    before = _cpu_of_tree()
    call()
    return _cpu_of_tree() - before


def best_cpu(repeats: int, *calls: Callable[[], object]) -> list[float]:
    """The least CPU seconds of each call; the calls take turns."""
    least = [float("inf")] * len(calls)
    for _ in range(1 if os.environ.get("KERNELIGHT_QUICK") else repeats):
        for at, call in enumerate(calls):
            least[at] = min(least[at], cpu_of(call))
    return least


def nothing(batches: Iterator[Any]) -> Iterator[Any]:
    """For ``mapInArrow``: all columns arrive, and the id goes back."""
    import pyarrow as pa

    for batch in batches:
        yield pa.RecordBatch.from_arrays([batch.column("id")], names=["id"])


@dataclass(frozen=True)
class CountedTicket(Ticket):
    """A ticket that writes down which processes load its object."""

    log: str = ""

    def _load(self) -> Any:
        with open(self.log, "a") as file:
            file.write(f"{os.getpid()}\n")
        return super()._load()


def java_cpu() -> float:
    """The CPU seconds of the Java processes of this one, for calls that need no Python workers."""
    return _cpu_of_tree(only="java")


def _cpu_of_tree(only: str | None = None) -> float:
    """User and system time of this process, its descendants, and those that they waited for.

    With ``only``, of descendants of that name, without others that they waited for.
    """
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            name, end = (process / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = end.split()
        parents[int(process.name)] = int(fields[1])
        if only in (None, name):
            used = fields[11:15] if only is None else fields[11:13]
            ticks[int(process.name)] = sum(int(each) for each in used)
    total = 0
    for at, count in ticks.items():
        while at in parents and at != os.getpid():
            at = parents[at]
        total += count if at == os.getpid() else 0
    return total / TICKS
