"""Faults that tests make on purpose, in the processes of Spark; these import this module."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelight.distributed import Ticket
from kernelight.distributed.spark.block_files import BlockFiles
from kernelight.tables.block_training import BlockRows

WORKERS, EXECUTOR = "workers", "executor"


@dataclass(frozen=True)
class KillOnce:
    """For ``mapInArrow``: rows pass, and behind the first batch somebody is killed, once.

    ``whom`` are the other Python workers, which are in the middle of what comes next, or the whole
    executor. The file ``marker`` says that it has happened.
    """

    marker: str
    whom: str = WORKERS

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch
            self.kill()

    def kill(self) -> None:
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        daemon = os.getppid()  # which makes the workers, and is a child of the executor
        # Of a daemon that is gone the parent is -1, or this is a child of init: to kill these would
        # be to kill every process of the user.
        assert daemon > 1
        if self.whom == EXECUTOR:
            executor = _parent(daemon)
            assert executor > 1
            os.kill(executor, signal.SIGKILL)
            return
        for process in Path("/proc").iterdir():
            number = int(process.name) if process.name.isdigit() else os.getpid()
            if number != os.getpid() and _parent(number) == daemon:
                os.kill(number, signal.SIGKILL)


@dataclass(frozen=True)
class CountedTicket(Ticket):
    """A ticket that writes down which processes load its object."""

    log: str = ""

    def _load(self) -> Any:
        with open(self.log, "a") as file:
            file.write(f"{os.getpid()}\n")
        return super()._load()


def _parent(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return -1


@dataclass(frozen=True)
class KillInside:
    """Some work of a library for ``mapInArrow``, in the middle of which somebody is killed."""

    work: Any
    once: KillOnce

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for made in self.work(batches):
            yield made
            self.once.kill()


@dataclass(frozen=True)
class Absent(BlockFiles):
    """Files of blocks that nobody finds again, as where every round is on another machine."""

    def get(self, block: int, n_rows: int) -> BlockRows | None:
        return None


@dataclass(frozen=True)
class NoDisk(BlockFiles):
    """Files of blocks where nothing can be written."""

    def put(self, block: int, pieces: Sequence[BlockRows]) -> str | None:
        return None


@dataclass(frozen=True)
class Watched:
    """A round that writes down what comes to it: its number, its block, and whether rows do."""

    work: Any
    log: str

    def __call__(self, key: Any, pieces: Any, duals: Any) -> Any:
        names = pieces.column_names
        carried = "values" in names and pieces.column("values").null_count == 0
        with open(self.log, "a") as file:
            file.write(f"{self.work.task.number} {key[0].as_py()} {carried}\n")
        return self.work(key, pieces, duals)
