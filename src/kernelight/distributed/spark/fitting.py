"""`fit`: a `TableModel` of the rows of a Spark DataFrame.

A fair sample of the rows, by a hash of their ids, chooses everything but the weights; these are
learned from all rows, in rounds over blocks (`linear.rounds`). Neither depends on partitions: the
same rows give the same model to the bit.
"""

from __future__ import annotations

import math
import os
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import reduce
from operator import xor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import KernelClassifier, KernelRegressor, TableModel
from kernelight.base import bytes_text, counted
from kernelight.data import CLASSIFICATION, REGRESSION, DataWarning
from kernelight.data.tasks import MOST_CLASSES
from kernelight.distributed.spark.block_files import BlockFiles
from kernelight.distributed.spark.blocks import (
    BLOCK,
    Packing,
    Round,
    SparkBlocks,
    clear,
    packed,
    settled,
)
from kernelight.distributed.spark.engine import check_frame, sentences_of_workers
from kernelight.distributed.spark.frames import Steps
from kernelight.distributed.spark.rows import NAME, SPREAD, ClassRows, Label, Rows, together
from kernelight.distributed.ticket import Ticket
from kernelight.estimators import Event
from kernelight.tables.block_training import BlockTraining, check_options
from kernelight.tables.memory_limit import SAMPLE_ROWS, bytes_of

MOST_BLOCKS, BLOCK_ROWS = 8, 25_000  # where the user names no number of blocks
_PLACES = 64  # partitions of a job that is to reach every executor


def fit(
    df: Any,
    target: str,
    *,
    model: TableModel | KernelClassifier | KernelRegressor | None = None,
    id: str | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    task: str | None = None,
    features: str | None = None,
    blocks: int | None = None,
    tol: float = 1e-2,
    max_rounds: int = 20,
    sample: int = SAMPLE_ROWS,
    block_memory: int | str = "1G",
    work: str | None = None,
    watch: Callable[[Event], None] | None = None,
) -> TableModel:
    """A model that has learned from all rows of a Spark DataFrame.

    The same rows give the same model to the bit, whatever partitions and retries there are. Rows
    without a target are left out, with a note. Between rounds, blocks are files on the disks of
    executors (``spark.local.dir``), which are removed in the end, at the latest with the executor.

    Parameters
    ----------
    df : DataFrame
        Its rows are computed several times, and must be the same each time: read them from files or
        tables, and write what is expensive to Parquet before.
    target : str
        The column to predict.
    model : TableModel, KernelClassifier, KernelRegressor or None, default=None
        What to fit; it stays as it is. None is the model of the target, with kernel="gmm".
    id : str or None, default=None
        A column that has another value in each row: a whole number, text or bytes. Without it, what
        is in a row takes its place, and rows that are equal are in the sample together or not.
    ignore, categorical : list of str
        Columns to leave out, and columns of numbers that are to be read as words.
    task : {"classification", "regression"}, optional
        What the target is; inferred by default.
    features : str or None, default=None
        A column of arrays that has the numbers of all features of a row; then no other is learned
        from.
    blocks : int or None, default=None
        How many blocks of rows are solved side by side, each in the memory of one worker. More
        blocks take more rounds. None is one for each 25,000 rows up to 8, and more only where
        ``block_memory`` asks for them.
    tol : float, default=1e-2
        Rounds end when the duality gap of each class is at most this fraction of its objective. The
        objective is then much nearer to the optimum than this bound says.
    max_rounds : int, default=20
        Rounds at most; a fit that ends there gives a ConvergenceWarning.
    sample : int, default=50_000
        Rows that choose scaling, kernel and C, in the memory of the driver.
    block_memory : int or str, default="1G"
        What a worker may take for a block; where that is too little, an error says how many blocks
        it takes.
    work : str or None, default=None
        A folder that the driver and all workers reach, for what rounds leave behind: encoded rows,
        and duals. The driver removes it if it reaches the folder by this path, as that of a mounted
        disk; what it cannot reach so, such as "hdfs:///tmp/late", is yours to delete. Without it
        Spark keeps that on the executors, and computes again what is lost with one.
    watch : callable, optional
        Called with an `Event` whenever there is progress.

    Returns
    -------
    TableModel
        It predicts, explains and is saved like any other. ``objective_`` and ``dual_gap_`` of its
        linear model (``model_.model_``) are the certificate.

    See Also
    --------
    score : Predictions of the model.
    kernelight.TableModel : What is fitted.

    Examples
    --------
    On a session ``spark``::

        df = spark.read.parquet("deliveries.parquet")
        model = fit(df, "late", id="parcel", work="hdfs:///tmp/late")
        model.save("late.klt")
    """
    check_frame(df)
    check_options(1 if blocks is None else blocks, tol, max_rounds, sample)
    for name, given in (("ignore", ignore), ("categorical", categorical)):
        if isinstance(given, str):
            raise TypeError(f"{name} must be a list of names of columns, got {given!r}.")
    if watch is not None and not callable(watch):
        raise TypeError(f"watch must be a function that takes an Event, got {watch!r}.")
    allowed = bytes_of(block_memory, "block_memory")
    with sentences_of_workers(), Steps(df.sparkSession, work) as steps:
        made = model if isinstance(model, TableModel) else TableModel(model)
        rows = Rows.of(df, target, id, ignore, features)
        rows.refuse_fickle()
        known = task or _task_of(made.model)
        texts = [name for name in [*rows.columns, target] if rows.is_text(name)]
        words = list(dict.fromkeys([*categorical, *texts]))
        labels: dict[Any, Label] = {}
        if known == CLASSIFICATION or target in words:
            facts, labels = rows.labels(words=target in words)
        else:
            facts = rows.facts()
            if facts.n_targets <= 2 * MOST_CLASSES:
                _, labels = rows.labels(words=False)
        if known is None and target not in words and not 0 < len(labels) <= MOST_CLASSES:
            known, labels = REGRESSION, {}  # which a sample may not show
        counts: Counter[Any] = Counter()
        for each in labels.values():
            if each.class_ is not None:
                counts[each.class_] += each.rows.n_rows
        training = BlockTraining(
            made,
            rows.drawn(sample, facts.n_rows, labels),
            counts,
            watch,
            target=target,
            task=known,
            categorical=words,
        )
        expected = ClassRows(facts.n_rows, facts.digest)
        if training.classes:
            # words that stand for a missing value are no classes
            classes = set(training.model.classes_.tolist())
            rows = rows.without(
                [value for value, each in labels.items() if each.class_ not in classes]
            )
            expected = together(each.rows for each in labels.values() if each.class_ in classes)
        _note_left_out(facts.n_all - expected.n_rows)
        n_blocks = _blocks_for(expected.n_rows, blocks, training.row_bytes, allowed)
        with closing(_Pieces(rows, training, n_blocks, steps)) as pieces:
            seen = pieces.seen(expected)
            problem = training.problem(seen, n_blocks)
            first = Round(
                pieces.ticket, problem, training.provenance, training.classes, pieces.files
            )
            every_block = SparkBlocks(
                pieces.first, pieces.whole, steps, first, seen, expected.n_rows
            )
            return training.learn(every_block, tol, max_rounds, NAME)


class _Pieces:
    """The blocks of a fit as frames, which are kept until it ends.

    ``first`` has what must be known of all rows, and those that are on no disk of a worker. They go
    to these unless ``steps`` have a folder.
    """

    def __init__(self, rows: Rows, training: BlockTraining, n_blocks: int, steps: Steps) -> None:
        self._rows, self._training, self._n_blocks = rows, training, n_blocks
        self.ticket = Ticket.of(training.model)
        self.files = BlockFiles(uuid.uuid4().hex)
        if steps.folder is not None:
            self.first = settled(steps.keep(self._packed(None), "blocks"), n_blocks)
        else:  # not moved to where rounds want it: the disk of a worker would not go along
            self.first = self._packed(self.files).persist()
        self._whole: Any = None
        self._paths: list[str | None] = []  # of the files of blocks

    def _packed(self, files: BlockFiles | None) -> Any:
        training = self._training
        packing = Packing(training.provenance, self._rows.id is not None, files)
        encoded = self._rows.encoded(self.ticket, training, self._n_blocks)
        return packed(encoded, packing, self._n_blocks)

    def seen(self, expected: ClassRows) -> NDArray[np.bool_] | None:
        """The codes that occur in any block, after a check that its rows are those expected."""
        self._expected = expected
        heads = _checked(self.first, expected)
        self._paths = heads.column("file").to_pylist()
        if not any(self._paths):
            self._whole = self.first
        if self._training.seen_shape is None:
            return None
        bits = [np.frombuffer(each, np.uint8) for each in heads.column("seen").to_pylist()]
        slots, width = self._training.seen_shape
        flags = np.unpackbits(np.bitwise_or.reduce(bits), count=slots * width)
        return flags.astype(bool).reshape(slots, width)

    def whole(self) -> Any:
        """All pieces with their rows; they are computed again if they are only on disks."""
        if self._whole is None:
            self._whole = settled(self._packed(None), self._n_blocks)
            _checked(self._whole, self._expected)
        return self._whole

    def close(self) -> None:
        """Let go of the frames, and of the files as far as that can be."""
        folders = {os.path.dirname(path) for path in self._paths if path is not None}
        self.files.remove(folders)
        # no job is needed, which costs as much as a round of small blocks, if all of them were here
        known = self._whole is None and len(self._paths) > 0 and None not in self._paths
        gone = known and all(map(os.path.isdir, folders))
        if not self._paths:  # the blocks were not made: their frame would be computed once more
            numbers = self.first.sparkSession.range(0, _PLACES, 1, _PLACES)
            clear(numbers.withColumnRenamed("id", BLOCK), self.files)
        for frame in {id(each): each for each in (self.first, self._whole)}.values():
            if frame is not None:
                if self._paths and not gone:
                    clear(frame, self.files)
                with suppress(Exception):  # of a session that was stopped
                    frame.unpersist()


def _task_of(model: Any) -> str | None:
    """The task of an estimator; None where the target says it."""
    if isinstance(model, KernelRegressor):
        return REGRESSION
    return CLASSIFICATION if isinstance(model, KernelClassifier) else None


def _note_left_out(count: int) -> None:
    if count:
        verb = "has" if count == 1 else "have"
        note = (
            f"{counted(count, 'row')} {verb} no target and {'is' if count == 1 else 'are'} left out"
        )
        warnings.warn(DataWarning(NAME, [note]), stacklevel=3)


def _blocks_for(n_rows: int, asked: int | None, row_bytes: int, allowed: int) -> int:
    """How many blocks there are; refuses those that take more memory than a worker may have."""

    def memory(count: int) -> int:
        mean = n_rows / count
        return row_bytes * min(n_rows, math.ceil(mean + SPREAD * math.sqrt(mean)))

    enough = first = asked or min(MOST_BLOCKS, n_rows // BLOCK_ROWS + 1)
    while memory(enough) > allowed and enough < n_rows:
        enough = math.ceil(enough * 1.05) + 1
    if memory(enough) <= allowed and asked in (None, enough):
        return enough
    remedy = f"blocks={enough} is enough, or allow more"
    if memory(enough) > allowed:
        remedy = f"allow {bytes_text(memory(enough))} at least"
    raise ValueError(
        f"A block of {memory(first) // row_bytes:,} rows takes {bytes_text(memory(first))} of a "
        f"worker's memory, and block_memory is {bytes_text(allowed)}: {remedy}."
    )


def _checked(pieces: Any, expected: ClassRows) -> Any:
    """What is known of each block, after a check that its rows are those expected."""
    columns = (BLOCK, "n_rows", "digest", "same", "seen", "file")
    heads = pieces.select(*columns).toArrow()
    for each in heads.column("same").to_pylist():
        if each is not None:
            raise ValueError(
                f"df has the id {each} in two rows: an id must be another in each row, so drop "
                "duplicates, or leave id out."
            )
    found = ClassRows(
        sum(heads.column("n_rows").to_pylist()),
        reduce(xor, (each or 0 for each in heads.column("digest").to_pylist()), 0),
    )
    if found != expected:
        raise ValueError(
            f"df had {expected.n_rows:,} rows when they were counted, and {found.n_rows:,} "
            "rows or others when they were read again: its rows are not the same each time. Write "
            "them to Parquet, and fit what is read from there."
        )
    return heads.filter(heads.column("digest").is_valid())
