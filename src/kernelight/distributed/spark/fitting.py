"""`fit`: a `TableModel` of the rows of a Spark DataFrame.

A fair sample of the rows, by a hash of their ids, chooses everything but the weights; these are
learned from all rows, in rounds over blocks (`linear.rounds`). Neither depends on partitions: the
same rows give the same model to the bit.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from operator import xor
from typing import Any

import numpy as np

from kernelight import KernelClassifier, KernelRegressor, TableModel
from kernelight.base import bytes_text, counted
from kernelight.data import CLASSIFICATION, REGRESSION, DataWarning
from kernelight.data.tasks import MOST_CLASSES
from kernelight.distributed.spark.blocks import BLOCK, Packing, Round, SparkBlocks, packed
from kernelight.distributed.spark.engine import check_frame
from kernelight.distributed.spark.rows import NAME, SPREAD, ClassRows, Rows, together
from kernelight.distributed.spark.stored import Stored, storing
from kernelight.distributed.ticket import Ticket
from kernelight.estimators import Event
from kernelight.tables.block_training import BlockTraining, check_options
from kernelight.tables.memory_limit import SAMPLE_ROWS, bytes_of


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
    blocks: int = 8,
    tol: float = 1e-2,
    max_rounds: int = 20,
    sample: int = SAMPLE_ROWS,
    block_memory: int | str = "1G",
    work: str | None = None,
    watch: Callable[[Event], None] | None = None,
) -> TableModel:
    """A model that has learned from all rows of a Spark DataFrame.

    The same rows give the same model to the bit, whatever partitions and retries there are. Rows
    without a target are left out, with a note.

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
    blocks : int, default=8
        How many blocks of rows are solved side by side, each in the memory of one worker. More
        blocks take more rounds.
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
        A folder that the driver and all workers reach, for what rounds leave behind. Without it
        Spark keeps that on the executors, and computes again what is lost with one.
    watch : callable, optional
        Called with an `Event` whenever there is progress.

    Returns
    -------
    TableModel
        It predicts, explains and is saved like any other. ``objective_`` and ``dual_gap_`` of its
        linear model (``model_.model_``) are the certificate.
    """
    check_frame(df)
    check_options(blocks, tol, max_rounds, sample)
    allowed = bytes_of(block_memory)
    made = model if isinstance(model, TableModel) else TableModel(model)
    rows = Rows.of(df, target, id, ignore, features)
    rows.refuse_fickle()
    facts = rows.facts()
    known = task or _task_of(made.model)
    counts: dict[Any, ClassRows] = {}
    if known == CLASSIFICATION or rows.is_text(target) or facts.n_targets <= 2 * MOST_CLASSES:
        counts = rows.class_counts()
    if known is None and not rows.is_text(target) and not 0 < len(counts) <= MOST_CLASSES:
        known, counts = REGRESSION, {}  # which a sample may not show
    texts = [name for name in [*rows.columns, target] if rows.is_text(name)]
    training = BlockTraining(
        made,
        rows.drawn(sample, facts.n_rows, counts),
        {label: each.n_rows for label, each in counts.items()},
        watch,
        target=target,
        task=known,
        categorical=list(dict.fromkeys([*categorical, *texts])),
    )
    expected = ClassRows(facts.n_rows, facts.digest)
    if training.classes:
        # words that stand for a missing value were counted as classes
        labels = set(training.model.classes_.tolist())
        rows = rows.without([label for label in counts if label not in labels])
        expected = together(each for label, each in counts.items() if label in labels)
    _note_left_out(facts.n_all - expected.n_rows)
    _refuse_large_blocks(expected.n_rows, blocks, training.row_bytes, allowed)
    with storing(df.sparkSession, work) as stored:
        made_blocks = _blocks(rows, training, stored, blocks, expected)
        return training.learn(made_blocks, tol, max_rounds, NAME)


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


def _refuse_large_blocks(n_rows: int, n_blocks: int, row_bytes: int, allowed: int) -> None:
    """Refuse blocks that take more memory than a worker may have; say how many would do."""

    def block_rows(count: int) -> int:
        return math.ceil(n_rows / count + SPREAD * math.sqrt(n_rows / count))

    if block_rows(n_blocks) * row_bytes <= allowed:
        return
    enough = n_blocks
    while block_rows(enough) * row_bytes > allowed and enough < n_rows:
        enough = math.ceil(enough * 1.05) + 1
    many = block_rows(n_blocks)
    raise ValueError(
        f"A block of {many:,} rows takes {bytes_text(many * row_bytes)} of a worker's memory, and "
        f"block_memory is {bytes_text(allowed)}: blocks={enough} is enough, or allow more."
    )


def _blocks(
    rows: Rows, training: BlockTraining, stored: Stored, n_blocks: int, expected: ClassRows
) -> SparkBlocks:
    """The rows in blocks, after a check that they are those that were counted."""
    ticket = Ticket.of(training.model)
    encoded = rows.encoded(ticket, training, n_blocks)
    packing = Packing(training.provenance, rows.id is not None)
    pieces = stored.written("blocks", packed(encoded, packing, n_blocks))
    pieces = stored.persisted(pieces.repartition(n_blocks, BLOCK))
    heads = pieces.select(BLOCK, "n_rows", "digest", "same", "seen").toArrow()
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
    seen = None
    if training.seen_shape is not None:
        bits = [np.frombuffer(each, np.uint8) for each in heads.column("seen").to_pylist() if each]
        slots, width = training.seen_shape
        flags = np.unpackbits(np.bitwise_or.reduce(bits), count=slots * width)
        seen = flags.astype(bool).reshape(slots, width)
    problem = training.problem(seen, n_blocks)
    first = Round(ticket, problem, training.provenance, training.classes)
    return SparkBlocks(pieces, stored, first, seen, expected.n_rows)
