"""Training a `TableModel` on rows that are in blocks, wherever these are: for any engine.

1. The driver draws a fair sample of the rows, and `BlockTraining` learns from it how columns become
   features, scaling, kernel and C: the same as within a limit of memory.
2. Workers make of each Arrow batch what the solver needs of its rows: `training_rows`.
3. Rows go to blocks. A block is always the same rows in the same order; `BlockRows` reads them.
4. `BlockTraining.learn` asks for rounds over the blocks (`linear.rounds`), and the model is done.

What a worker does is a function of bytes, so that the model does not depend on where it is done, or
how often.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import check_int, check_positive, resources
from kernelight.codes import Codes
from kernelight.data.columnar import pyarrow_or_error
from kernelight.estimators.progress import Job, Step, Watch, unwatched
from kernelight.linear.base import LinearModel
from kernelight.linear.design import code_counts
from kernelight.linear.rounds import BlockProblem, Blocks, row_round_bytes
from kernelight.tables.arrow_batches import batch_rows
from kernelight.tables.model import TableModel
from kernelight.tables.sample import EVERY_CLASS

__all__ = [
    "EVERY_CLASS",
    "BlockRows",
    "BlockTraining",
    "TrainingRows",
    "check_options",
    "in_sample",
    "training_rows",
]

# Copies of the codes of a block: as they come, in order, as codes, and as ranks (`CodeDesign`).
COPIES = 4
LEAST_SAMPLE = 100


def check_options(blocks: Any, tol: Any, max_rounds: Any, sample: Any) -> None:
    """Refuse options of a training that cannot be, before any row is read."""
    check_int("blocks", blocks, 1, 1 << 20)
    check_positive("tol", tol)
    check_int("max_rounds", max_rounds, 1)
    check_int("sample", sample, LEAST_SAMPLE)


def in_sample(n_rows: int, size: int, labels: Any = None) -> NDArray[np.bool_]:
    """Which of some rows in a random order are in a sample: the first, and the first of each class.

    ``labels`` is an Arrow column of classes; None stands for quantities.
    """
    kept = np.arange(n_rows) < size
    if labels is not None:
        codes = labels.combine_chunks().dictionary_encode().indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        in_class = np.arange(n_rows) - np.searchsorted(codes[order], codes[order])
        kept[order] |= in_class < EVERY_CLASS
    return kept


class TrainingRows(NamedTuple):
    """Rows as the solver takes them: a binary value for each, and labels or values of targets."""

    values: Any
    content: NDArray[Any]


def training_rows(model: TableModel, batch: Any, features: str | None = None) -> TrainingRows:
    """What the solver needs of the rows of an Arrow batch, of which there are some.

    ``model`` is `BlockTraining.model`; ``features`` names a column of lists of all features.
    """
    pa = pyarrow_or_error("An Arrow batch")
    X, y = batch_rows(batch, model.encoding_, features)
    encoded, targets = model.model_.encoded_batch(X, y)
    content = targets.values if targets.labels is None else targets.labels
    assert content is not None
    if isinstance(encoded, Codes):
        return TrainingRows(encoded.to_binary(), content)
    rows = np.ascontiguousarray(encoded, dtype="<f4")
    width = 4 * rows.shape[1]
    fixed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), len(rows), [None, pa.py_buffer(rows)]
    )
    return TrainingRows(fixed.cast(pa.binary()), content)


class BlockRows(NamedTuple):
    """The rows of a block: their binary values one behind the other, and their targets.

    ``content`` are bytes too, of 32-bit labels or of quantities in double precision.
    """

    values: Any
    content: Any
    n_rows: int

    def rows(self, provenance: str | None) -> Any:
        """Codes of that provenance; None stands for dense features."""
        pa = pyarrow_or_error("A block")
        if provenance is None:
            flat = np.frombuffer(self.values, dtype="<f4").astype(np.float32, copy=False)
            return flat.reshape(self.n_rows, -1)
        width = len(memoryview(self.values)) // self.n_rows
        fixed = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(width), self.n_rows, [None, pa.py_buffer(self.values)]
        )
        return Codes.from_binary(fixed, provenance=provenance)

    def targets(self, *, classes: bool) -> NDArray[Any]:
        """Labels, or values of one output."""
        if classes:
            return np.frombuffer(self.content, dtype="<i4").astype(np.int32, copy=False)
        return np.frombuffer(self.content, dtype="<f8").astype(np.float64, copy=False)[:, None]

    def seen(self, provenance: str | None) -> NDArray[np.uint8] | None:
        """Bits of the codes that occur in the block; None for dense features."""
        rows = self.rows(provenance)
        return np.packbits(code_counts(rows, resources(1)) > 0) if provenance is not None else None


class BlockTraining:
    """A `TableModel` that is fitted to a sample, and then learns from all rows in blocks.

    Parameters
    ----------
    model : TableModel
        Its parameters; the object itself stays as it is.
    sample : pyarrow.Table
        A fair sample of the rows, with some rows of every class.
    counts : mapping
        The rows of each class among all rows; empty for quantities.
    watch : callable, optional
        Called with an `Event` whenever there is progress.
    **reading_options
        Arguments of `open_dataset`, such as ``target="price"``.

    Attributes
    ----------
    model : TableModel
        Fitted to the sample: what workers need, in a `Ticket`.
    """

    def __init__(
        self,
        model: TableModel,
        sample: Any,
        counts: Mapping[Any, int],
        watch: Watch | None = None,
        **reading_options: Any,
    ) -> None:
        self._job = Job(watch or unwatched)
        self.model = TableModel(model.model)
        self._background = self.model.fit_sample(sample, counts, self._job, **reading_options)
        some = self.model.classes_[:1] if self.classes else np.zeros(1)
        self._first, self._outputs = self.model.model_.encoded_batch(self._background[:1], some)

    @property
    def classes(self) -> bool:
        """Whether targets are classes."""
        return self.model.task == "classification"

    @property
    def provenance(self) -> str | None:
        """That of the codes of all rows; None for dense features."""
        return self._first.provenance if isinstance(self._first, Codes) else None

    @property
    def seen_shape(self) -> tuple[int, int] | None:
        """The shape of flags of codes; None for dense features."""
        if not isinstance(self._first, Codes):
            return None
        return self._first.n_components, 1 << self._first.bits

    @property
    def row_bytes(self) -> int:
        """The bytes of memory that a row of a block takes while the block is solved."""
        values = self._first.array if isinstance(self._first, Codes) else self._first
        return COPIES * (8 + int(values.nbytes)) + row_round_bytes(self._outputs.n_outputs)

    def problem(self, seen: NDArray[np.bool_] | None, n_blocks: int) -> BlockProblem:
        """What workers solve in a round; ``seen`` are the codes that occur in any block."""
        linear: LinearModel = self.model.model_.model_
        return linear.block_problem(self._outputs, seen, n_blocks)

    def learn(self, blocks: Blocks, tol: float, max_rounds: int, name: str) -> TableModel:
        """The model after rounds over all blocks; ``name`` is what it was trained on."""
        job = self._job
        step = Step("round", 1.0)
        job.plan([step] * max_rounds)
        job.begin()

        def watch(number: int, gap: float) -> None:
            job.finished("round", 1.0)
            job.tell(f"gap {gap:.1e}", number, max_rounds, "rounds")

        return self.model.learn_blocks(blocks, self._background, tol, max_rounds, watch, name)
