"""Rows of a DataFrame in blocks, and rounds over them.

A block is the rows whose ids have a hash that is its number mod B, in the order of their ids. Not a
partition of Spark, which changes with the cluster and with every shuffle: so the result does not
depend on partitions, on retries or on workers that die. A block is stored in pieces, each of which
is a row of a table, as Spark moves rows; a worker puts it together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data import columnar
from kernelight.distributed.spark.engine import settle_worker
from kernelight.distributed.spark.frames import Steps, is_lost
from kernelight.distributed.ticket import Ticket
from kernelight.linear.rounds import BlockProblem, BlockSums, Duals, RoundTask
from kernelight.tables.block_training import BlockRows, training_rows

# Columns beside those of a user.
BLOCK, HASH, ID = "kernelight_block", "kernelight_hash", "kernelight_id"
VALUES, CONTENT = "kernelight_values", "kernelight_content"
# Of the codes of a piece. Arrays above half a region of the heap, 512 KB, are expensive for a JVM:
# with pieces of 1 MB a fit took a tenth more CPU time.
PIECE_BYTES = 1 << 18
ATTEMPTS = 4  # of a round, where executors are lost
PIECES = (
    f"{BLOCK} int, piece int, n_rows int, values binary, content binary, digest long, "
    "same string, seen binary"
)
ROUNDS = (
    f"{BLOCK} int, piece int, now binary, before binary, weights binary, ahead binary, sums binary"
)


@dataclass(frozen=True)
class Encoding:
    """For ``mapInArrow``: batches of a frame as the solver takes their rows."""

    ticket: Ticket
    features: str | None
    keep: list[str]  # columns that pass through, which come first
    names: list[str]  # of the others

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        pa = columnar.pyarrow_or_error("Spark")
        model = self.ticket.opened()
        for batch in batches:
            if not batch.num_rows:
                continue
            batch = batch.rename_columns([*self.keep, *self.names])
            made = training_rows(model, batch, self.features)
            content = pa.array(made.content.reshape(-1))
            columns = [batch.column(name) for name in self.keep]
            yield pa.RecordBatch.from_arrays(
                [*columns, made.values, content], names=[*self.keep, VALUES, CONTENT]
            )


@dataclass(frozen=True)
class Packing:
    """For groups of equal ``block``: the rows of a block in order, in pieces."""

    provenance: str | None
    has_ids: bool

    def __call__(self, key: Any, table: Any) -> Any:
        pa = columnar.pyarrow_or_error("Spark")
        # without ids, rows that are equal in all that is learned from may stand in any order
        order = [ID] if self.has_ids else [VALUES, CONTENT]
        places = pa.compute.sort_indices(table, sort_keys=[(name, "ascending") for name in order])
        values = table.column(VALUES).cast(pa.large_binary())
        content = table.column(CONTENT).to_numpy()[places.to_numpy()]
        step = max(1, PIECE_BYTES // len(values[0].as_py()))
        pieces, seen = [], None
        for first in range(0, len(places), step):
            some = slice(first, first + step)
            rows = BlockRows(
                joined(values.take(places[some])), content[some].tobytes(), len(content[some])
            )
            bits = rows.seen(self.provenance)
            seen = bits if seen is None or bits is None else seen | bits
            pieces.append(rows)
        digest = np.bitwise_xor.reduce(table.column(HASH).to_numpy())
        count = len(pieces)
        none = [None] * (count - 1)
        same = _first_twice(table.column(ID).take(places)) if self.has_ids else None
        return pa.table(
            {
                BLOCK: pa.array([key[0].as_py()] * count, pa.int32()),
                "piece": pa.array(range(count), pa.int32()),
                "n_rows": pa.array([rows.n_rows for rows in pieces], pa.int32()),
                "values": pa.array([bytes(rows.values) for rows in pieces], pa.binary()),
                "content": pa.array([rows.content for rows in pieces], pa.binary()),
                "digest": pa.array([int(digest), *none], pa.int64()),
                "same": pa.array([same, *none], pa.string()),
                "seen": pa.array([None if seen is None else seen.tobytes(), *none], pa.binary()),
            }
        )


def _first_twice(ids: Any) -> str | None:
    """An id that comes twice, of sorted ones; None if there is none."""
    pa = columnar.pyarrow_or_error("Spark")
    ids = ids.combine_chunks()
    twice = pa.compute.equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return str(ids[int(np.argmax(twice))].as_py()) if twice.any() else None


def joined(column: Any) -> Any:
    """The bytes of binary values, one behind the other."""
    pa = columnar.pyarrow_or_error("Spark")
    whole = column.cast(pa.large_binary()).combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks)
    ends = np.frombuffer(whole.buffers()[1], dtype=np.int64)
    first, last = (int(ends[whole.offset + at]) for at in (0, len(whole)))
    return whole.buffers()[2].slice(first, last - first)


@dataclass(frozen=True)
class Round:
    """For groups of equal ``block``: a round on a block, with the duals of the one before."""

    ticket: Ticket  # refuses a worker that would make other codes
    problem: BlockProblem
    provenance: str | None
    classes: bool
    task: RoundTask | None = None

    def __call__(self, key: Any, pieces: Any, duals: Any) -> Any:
        pa = columnar.pyarrow_or_error("Spark")
        assert self.task is not None
        self.ticket.opened()
        settle_worker()
        pieces = pieces.sort_by("piece")
        counts = pieces.column("n_rows").to_numpy()
        rows = BlockRows(
            joined(pieces.column("values")), joined(pieces.column("content")), int(counts.sum())
        )
        block, n_outputs = int(key[0].as_py()), self.problem.n_outputs
        given = Duals.zeros(rows.n_rows, n_outputs)
        if duals is not None:
            duals = duals.sort_by("piece")
            given = Duals(*(_floats(duals.column(name), n_outputs) for name in ("now", "before")))
        made, sums = self.problem.solve(
            rows.rows(self.provenance), rows.targets(classes=self.classes), given, self.task, block
        )
        ends = np.cumsum(counts)
        ranges = list(zip(ends - counts, ends, strict=True))
        none = [None] * (len(counts) - 1)
        said = np.stack([sums.loss, sums.conjugate])
        asked = self.task.epochs > 0
        return pa.table(
            {
                BLOCK: pa.array([block] * len(counts), pa.int32()),
                "piece": pieces.column("piece"),
                "now": pa.array([made.now[a:b].tobytes() for a, b in ranges], pa.binary()),
                "before": pa.array([made.before[a:b].tobytes() for a, b in ranges], pa.binary()),
                "weights": pa.array([sums.weights.tobytes() if asked else b"", *none], pa.binary()),
                "ahead": pa.array([sums.ahead.tobytes() if asked else b"", *none], pa.binary()),
                "sums": pa.array([said.tobytes(), *none], pa.binary()),
            }
        )


def _floats(column: Any, n_outputs: int) -> NDArray[np.float32]:
    flat = np.frombuffer(joined(column), dtype=np.float32)
    return flat.reshape(-1, n_outputs)


def packed(rows: Any, packing: Packing, n_blocks: int) -> Any:
    """A frame of the pieces of blocks, of a frame of encoded rows with their blocks."""

    def pack(key: Any, table: Any) -> Any:
        return packing(key, table)

    return rows.repartition(n_blocks, BLOCK).groupBy(BLOCK).applyInArrow(pack, PIECES)


class SparkBlocks:
    """Blocks as `linear.rounds` wants them: a frame of pieces, and one of duals of each round."""

    def __init__(
        self, pieces: Any, steps: Steps, first: Round, seen: NDArray[np.bool_] | None, n_rows: int
    ) -> None:
        self._pieces, self._steps, self._round = pieces, steps, first
        self.seen, self.n_rows, self.n_blocks = seen, n_rows, first.problem.n_blocks
        self._duals: Any = None
        self._tasks: list[RoundTask] = []  # that have made the duals

    def solve(self, task: RoundTask) -> Iterable[BlockSums]:
        """A round on every block."""
        names = (BLOCK, "weights", "ahead", "sums")
        for left in reversed(range(ATTEMPTS)):
            try:
                if self._duals is None:
                    self._again()
                done = self._done(task)
                table = done.where("piece = 0").select(*names).toArrow()
                break
            except Exception as error:
                if not left or not is_lost(error):
                    raise
                self._duals = None
        if task.epochs:
            self._duals = done.select(BLOCK, "piece", "now", "before")
            if self._tasks:
                self._steps.drop(f"duals{self._tasks[-1].number}")
            self._tasks.append(task)
        shape = task.weights.shape
        for each in table.sort_by(BLOCK).to_pylist():
            loss, conjugate = np.frombuffer(each["sums"], dtype=np.float64).reshape(2, -1)
            own, ahead = (
                np.frombuffer(each[name], dtype=np.float32).reshape(shape)
                if task.epochs
                else np.zeros_like(task.weights)
                for name in ("weights", "ahead")
            )
            yield BlockSums(own, ahead, loss, conjugate)

    def _done(self, task: RoundTask) -> Any:
        """The frame that a round makes; if there are new duals in it, it is kept."""
        work = self._work(task)
        pieces = self._pieces.groupBy(BLOCK)
        if self._duals is None:

            def begin(key: Any, table: Any) -> Any:
                return work(key, table, None)

            done = pieces.applyInArrow(begin, ROUNDS)
        else:

            def go_on(key: Any, table: Any, duals: Any) -> Any:
                return work(key, table, duals)

            done = pieces.cogroup(self._duals.groupBy(BLOCK)).applyInArrow(go_on, ROUNDS)
        return self._steps.keep(done, f"duals{task.number}", later=True) if task.epochs else done

    def _work(self, task: RoundTask) -> Any:
        """What is done with each block."""
        return replace(self._round, task=task)

    def _again(self) -> None:
        """Make the duals by all rounds so far, where they were lost with an executor."""
        for task in self._tasks:
            self._duals = self._done(task).select(BLOCK, "piece", "now", "before")
