"""Rows of a DataFrame in blocks, and rounds over them.

A block is the rows whose ids have a hash that is its number mod B, in the order of their ids. Not a
partition of Spark, which changes with the cluster and with every shuffle: so the result does not
depend on partitions, on retries or on workers that die.

What goes through Spark goes in pieces, each of which is a row of a frame: many rows of a user in
one binary value, as each value costs a JVM more than its bytes do. A worker that has put a block
together keeps it on its disk (`block_files`), so that rounds move its duals alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data import columnar
from kernelight.distributed.spark.block_files import BlockFiles
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
GATHERED = 1 << 24  # bytes of encoded rows that a worker collects before it deals them to blocks
ATTEMPTS = 4  # of a round, where executors are lost
MOST_ABSENT = 3  # rounds done twice, as a block was not where it was solved before
ENCODED = f"{BLOCK} int, rows binary"
PIECES = (
    f"{BLOCK} int, piece int, n_rows int, values binary, content binary, digest long, "
    "same string, seen binary, file string"
)
ROUNDS = (
    f"{BLOCK} int, piece int, n_rows int, now binary, before binary, weights binary, "
    "ahead binary, sums binary"
)
LIGHT = (BLOCK, "piece", "n_rows")  # of pieces whose rows are on the disks of workers
DUALS = (*LIGHT, "now", "before")


@dataclass(frozen=True)
class Encoding:
    """For ``mapInArrow``: rows as the solver takes them, those of a block together.

    A value of ``rows`` is a message of Arrow: a batch of rows with `HASH`, `ID`, `VALUES` and
    `CONTENT`.
    """

    ticket: Ticket
    features: str | None
    keep: list[str]  # columns that pass through, which come first
    names: list[str]  # of the others

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        model = self.ticket.opened()
        waiting, size = [], 0
        for batch in batches:
            if batch.num_rows:
                waiting.append(self._encoded(model, batch))
                size += waiting[-1].nbytes
            if size > GATHERED:
                yield _dealt(waiting)
                waiting, size = [], 0
        if waiting:
            yield _dealt(waiting)

    def _encoded(self, model: Any, batch: Any) -> Any:
        pa = columnar.pyarrow_or_error("Spark")
        batch = batch.rename_columns([*self.keep, *self.names])
        made = training_rows(model, batch, self.features)
        values = joined(pa.chunked_array([made.values]))
        width = pa.binary(values.size // batch.num_rows)
        columns = [
            *(batch.column(name) for name in self.keep),
            pa.FixedSizeBinaryArray.from_buffers(width, batch.num_rows, [None, values]),
            pa.array(made.content.reshape(-1)),
        ]
        return pa.RecordBatch.from_arrays(columns, names=[*self.keep, VALUES, CONTENT])


def _dealt(batches: list[Any]) -> Any:
    """Encoded rows as a batch of `ENCODED`."""
    pa = columnar.pyarrow_or_error("Spark")
    table = pa.Table.from_batches(batches).sort_by(BLOCK).combine_chunks()
    blocks = table.column(BLOCK).to_numpy()
    (inner,) = np.nonzero(np.diff(blocks))
    edges = [0, *(inner + 1).tolist(), len(blocks)]
    rows = table.drop_columns([BLOCK])
    step = _piece_rows(rows.column(VALUES).type.byte_width)
    names, messages = [], []
    for begin, end in pairwise(edges):
        for first in range(begin, end, step):
            names.append(blocks[first])
            messages.append(_message(rows.slice(first, min(step, end - first))))
    columns = [pa.array(names, pa.int32()), pa.array(messages, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=[BLOCK, "rows"])


def _piece_rows(width: int) -> int:
    return max(1, PIECE_BYTES // width)


def _message(table: Any) -> bytes:
    pa = columnar.pyarrow_or_error("Spark")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


@dataclass(frozen=True)
class Partition:
    """For ``mapInArrow``: some work on the blocks of a partition, each of which is all there.

    Nothing is sorted for it, or moved to another executor, as it could be where Spark groups rows.
    """

    work: Callable[[Any, Any], Any]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        pa = columnar.pyarrow_or_error("Spark")
        found = [batch for batch in batches if batch.num_rows]
        if not found:
            return
        table = pa.Table.from_batches(found)
        names = sorted(table.column(BLOCK).unique().to_pylist())
        for name in names:
            key = pa.scalar(name, pa.int32())
            own = pa.compute.equal(table.column(BLOCK), key)
            rows = table.filter(own) if len(names) > 1 else table
            yield from self.work((key,), rows).to_batches()


@dataclass(frozen=True)
class Packing:
    """For a `Partition`: the rows of a block in order, in pieces.

    With ``files`` rows go to the disk of this worker if that can be; pieces say where, and have
    none.
    """

    provenance: str | None
    has_ids: bool
    files: BlockFiles | None = None

    def __call__(self, key: Any, table: Any) -> Any:
        pa = columnar.pyarrow_or_error("Spark")
        block = int(key[0].as_py())
        table = pa.concat_tables(
            pa.ipc.open_stream(each.as_buffer()).read_all() for each in table.column("rows")
        ).combine_chunks()
        # without ids, rows that are equal in all that is learned from may stand in any order
        order = [ID] if self.has_ids else [VALUES, CONTENT]
        places = pa.compute.sort_indices(table, sort_keys=[(name, "ascending") for name in order])
        table = table.take(places)
        content = table.column(CONTENT).to_numpy()
        values = joined(table.column(VALUES))
        width = table.column(VALUES).type.byte_width
        step = _piece_rows(width)
        pieces, seen = [], None
        for first in range(0, len(content), step):
            some = content[first : first + step]
            rows = BlockRows(
                values.slice(first * width, len(some) * width), some.tobytes(), len(some)
            )
            bits = rows.seen(self.provenance)
            seen = bits if seen is None or bits is None else seen | bits
            pieces.append(rows)
        digest = np.bitwise_xor.reduce(table.column(HASH).to_numpy())
        count = len(pieces)
        none = [None] * (count - 1)
        same = _first_twice(table.column(ID)) if self.has_ids else None
        file = None if self.files is None else self.files.put(block, pieces)
        carried = [(bytes(r.values), r.content) if file is None else (None, None) for r in pieces]
        return pa.table(
            {
                BLOCK: pa.array([block] * count, pa.int32()),
                "piece": pa.array(range(count), pa.int32()),
                "n_rows": pa.array([rows.n_rows for rows in pieces], pa.int32()),
                "values": pa.array([each for each, _ in carried], pa.binary()),
                "content": pa.array([each for _, each in carried], pa.binary()),
                "digest": pa.array([int(digest), *none], pa.int64()),
                "same": pa.array([same, *none], pa.string()),
                "seen": pa.array([None if seen is None else seen.tobytes(), *none], pa.binary()),
                "file": pa.array([file, *none], pa.string()),
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
    fixed = pa.types.is_fixed_size_binary(column.type)
    whole = (column if fixed else column.cast(pa.large_binary())).combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks)
    if fixed:
        width = whole.type.byte_width
        return whole.buffers()[1].slice(whole.offset * width, len(whole) * width)
    ends = np.frombuffer(whole.buffers()[1], dtype=np.int64)
    first, last = (int(ends[whole.offset + at]) for at in (0, len(whole)))
    return whole.buffers()[2].slice(first, last - first)


@dataclass(frozen=True)
class Round:
    """A round on a block, with the duals of the one before.

    Rows are in ``pieces``, or in ``files`` on this worker. Where they are in neither, what is said
    about the block is null: it is absent.
    """

    ticket: Ticket  # refuses a worker that would make other codes
    problem: BlockProblem
    provenance: str | None
    classes: bool
    files: BlockFiles
    task: RoundTask | None = None

    def __call__(self, key: Any, pieces: Any, duals: Any) -> Any:
        assert self.task is not None
        self.ticket.opened()
        settle_worker()
        block, n_outputs = int(key[0].as_py()), self.problem.n_outputs
        pieces = pieces.sort_by("piece")
        rows = self._rows(block, pieces)
        # in a row of rounds they are null where the block was absent before
        if rows is None or (duals is not None and duals.column("now").null_count):
            return _said(block, pieces)
        given = Duals.zeros(rows.n_rows, n_outputs)
        if duals is not None:
            duals = duals.sort_by("piece")
            given = Duals(*(_floats(duals.column(name), n_outputs) for name in ("now", "before")))
        made, sums = self.problem.solve(
            rows.rows(self.provenance), rows.targets(classes=self.classes), given, self.task, block
        )
        return _said(block, pieces, made, sums, asked=self.task.epochs > 0)

    def _rows(self, block: int, pieces: Any) -> BlockRows | None:
        """The rows of a block; those that have come are left on the disk for the next round."""
        n_rows = int(pieces.column("n_rows").to_numpy().sum())
        if "values" not in pieces.column_names or pieces.column("values").null_count:
            return self.files.get(block, n_rows)
        rows = BlockRows(joined(pieces.column("values")), joined(pieces.column("content")), n_rows)
        if not self.files.has(block):
            self.files.put(block, [rows])
        return rows


def _said(
    block: int,
    pieces: Any,
    made: Duals | None = None,
    sums: BlockSums | None = None,
    *,
    asked: bool = False,
) -> Any:
    """The rows of `ROUNDS` of a block, one for each piece; of nulls where it was absent."""
    pa = columnar.pyarrow_or_error("Spark")
    counts = pieces.column("n_rows").to_numpy()
    ends = np.cumsum(counts)
    duals: list[list[bytes | None]] = [[None] * len(counts), [None] * len(counts)]
    said: list[bytes | None] = [None] * 3
    if made is not None and sums is not None:
        ranges = list(zip(ends - counts, ends, strict=True))
        duals = [[each[a:b].tobytes() for a, b in ranges] for each in made]
        weights = [each.tobytes() if asked else b"" for each in (sums.weights, sums.ahead)]
        said = [*weights, np.stack([sums.loss, sums.conjugate]).tobytes()]
    none = [None] * (len(counts) - 1)
    columns = [
        pa.array([block] * len(counts), pa.int32()),
        pieces.column("piece"),
        pieces.column("n_rows"),
        *(pa.array(each, pa.binary()) for each in duals),
        *(pa.array([each, *none], pa.binary()) for each in said),
    ]
    names = (*DUALS, "weights", "ahead", "sums")
    return pa.table(dict(zip(names, columns, strict=True)))


def _floats(column: Any, n_outputs: int) -> NDArray[np.float32]:
    flat = np.frombuffer(joined(column), dtype=np.float32)
    return flat.reshape(-1, n_outputs)


def packed(rows: Any, packing: Packing, n_blocks: int) -> Any:
    """A frame of the pieces of blocks, of a frame of encoded rows with their blocks."""

    return rows.repartition(n_blocks, BLOCK).mapInArrow(Partition(packing), PIECES)


def settled(pieces: Any, n_blocks: int) -> Any:
    """Pieces that are kept, sorted as groups of blocks want them, so that no round sorts."""
    return pieces.repartition(n_blocks, BLOCK).sortWithinPartitions(BLOCK).persist()


class SparkBlocks:
    """Blocks as `linear.rounds` wants them: frames of pieces, and one of duals of each round.

    A round goes to where the rows are, with the duals alone. If a block is absent there, nothing of
    that is taken: the round is done with all rows in a frame, which ``whole`` gives, and leaves
    them where it was done. Where that happens again and again, as workers change or have no disk,
    all further rounds are done so.
    """

    def __init__(
        self,
        pieces: Any,
        whole: Callable[[], Any],
        steps: Steps,
        first: Round,
        seen: NDArray[np.bool_] | None,
        n_rows: int,
    ) -> None:
        self._pieces, self._whole, self._steps, self._round = pieces, whole, steps, first
        self.seen, self.n_rows, self.n_blocks = seen, n_rows, first.problem.n_blocks
        self._duals: Any = None
        self._tasks: list[RoundTask] = []  # that have made the duals
        self._kept: list[str] = []  # steps with duals
        self._n_kept, self._n_absent = 0, 0

    def solve(self, task: RoundTask) -> Iterable[BlockSums]:
        """A round on every block."""
        done, table = self._tried(task)
        if task.epochs:
            self._duals = done.select(*DUALS)
            self._tasks.append(task)
            for name in self._kept[:-1]:
                self._steps.drop(name)
            del self._kept[:-1]
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

    def _tried(self, task: RoundTask) -> tuple[Any, Any]:
        """The frame that a round makes, and what every block says, in which none is absent."""
        light, left = self._n_absent < MOST_ABSENT, ATTEMPTS
        names = (BLOCK, "weights", "ahead", "sums")
        while left:
            try:
                duals = self._again(light=light) if self._duals is None else self._duals
                done = self._done(task, duals, light=light)
                table = done.where("piece = 0").select(*names).toArrow()
            except Exception as error:
                if left == 1 or not is_lost(error):
                    raise
            else:
                if not table.column("sums").null_count:
                    return done, table
                if light:
                    self._n_absent, light = self._n_absent + 1, False
                    continue
            # Duals were lost with an executor: they are an error, or null where Spark has computed
            # them anew on another, without the rows.
            self._duals, left = None, left - 1
        raise RuntimeError(
            "The duals of blocks were lost with executors of Spark again and again: name a folder "
            "that all of them reach, work=..., in which duals outlive executors."
        )

    def _done(self, task: RoundTask, duals: Any, *, light: bool) -> Any:
        """The frame that a round makes; if there are new duals in it, it is kept."""
        work = self._work(task)
        if light and self._steps.folder is None:

            def alone(key: Any, table: Any) -> Any:
                return work(key, table, table if "now" in table.column_names else None)

            # where the rows or the duals are, which is where the rows are too
            frame = self._pieces if duals is None else duals
            done = frame.mapInArrow(Partition(alone), ROUNDS)
        elif duals is None:

            def begin(key: Any, pieces: Any) -> Any:
                return work(key, pieces, None)

            pieces = self._pieces if light else self._whole()
            done = pieces.groupBy(BLOCK).applyInArrow(begin, ROUNDS)
        else:

            def go_on(key: Any, pieces: Any, duals: Any) -> Any:
                return work(key, pieces, duals)

            # duals of a folder are anywhere: the numbers of kept pieces bring them to the rows
            pieces = self._pieces.select(*LIGHT) if light else self._whole()
            both = pieces.groupBy(BLOCK).cogroup(duals.groupBy(BLOCK))
            done = both.applyInArrow(go_on, ROUNDS)
        if not task.epochs:
            return done
        self._n_kept += 1
        self._kept.append(f"duals{self._n_kept}")
        return self._steps.keep(done, self._kept[-1], later=True)

    def _work(self, task: RoundTask) -> Any:
        """What is done with each block."""
        return replace(self._round, task=task)

    def _again(self, *, light: bool) -> Any:
        """The duals by all rounds so far, as they were lost with an executor; None before any."""
        duals = None
        for task in self._tasks:
            duals = self._done(task, duals, light=light).select(*DUALS)
        return duals


def clear(frame: Any, files: BlockFiles) -> None:
    """Remove the files of a fit where the partitions of a frame are, as far as that can be."""

    def remove(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            files.remove()
            yield batch.slice(0, 0)

    # at the latest Spark removes them, with what it has of the executor on this disk
    with contextlib.suppress(Exception):
        frame.select(BLOCK).mapInArrow(remove, f"{BLOCK} int").collect()
