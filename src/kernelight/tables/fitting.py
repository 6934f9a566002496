"""Fitting a model to a data set within a memory limit.

The search runs on a random sample of the rows; the model then learns from all rows batch by batch,
in several passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from kernelight.data import DataError, Dataset, Encoding
from kernelight.estimators.kernel_choice import EXACT
from kernelight.estimators.progress import Job, Step, watched_by
from kernelight.maps.feature_map import feature_map
from kernelight.tables.evaluation import ClassCounts, ErrorSums
from kernelight.tables.memory_limit import SAMPLE_ROWS, Allowance, row_bytes
from kernelight.tables.sample import HeldOut, Sample

FIRST_ROWS = 1024  # of the batch that says how many bytes a row takes
READ_ROWS = 8192  # of a batch that is read for the sample
# Work for progress, where preparing a component of a row is 1:
PASS_WORK = 3.0  # to learn from it in a pass
CHECK_WORK = 0.5  # to read all rows once more and predict those held out


class Fitted(NamedTuple):
    """The number of rows, the scores on rows held out of all passes (or None), and the encoding."""

    n_rows: int
    held_out: dict[str, Any] | None
    encoding: Encoding


def fit_within(model: Any, data: Dataset, limit: int, base: int, passes: int, job: Job) -> Fitted:
    """Fit within ``limit`` bytes of memory, of which the process held ``base`` before it saw rows.

    A first pass over the data takes a random sample. If it has all rows, the model is fitted to it.
    If not, the model is fitted to a part of the sample, which chooses scale, gamma, p and C, and
    then learns from every row, ``passes`` times. A random fraction of the rows is held out of all
    that, and scores the model at the end. Rows without a target are in no batch.
    """
    allowed = _allowance(model, data, limit, base)
    sample = Sample(allowed.held, 0, classes=data.task == "classification")
    if data.cross_fit is not None and not sample.holds(data.cross_fit.n_rows):
        # target values must not be learned from them either
        data = data.holding_out(HeldOut.of(data.cross_fit.n_rows).among)
    held = HeldOut()
    balanced = getattr(model, "class_weight", None) == "balanced"
    counts: Counter[Any] = Counter()
    for batch in data.batches(READ_ROWS):
        assert batch.y is not None
        sample.add(batch.X, batch.y)
        held.add(batch.y)
        if balanced:
            counts.update(batch.y.tolist())
        job.tell("reading", sample.n_rows)
    n_rows = sample.n_rows
    if sample.complete:
        with watched_by(job):
            model._fit_features(*sample.take(n_rows), data.relearning())
        return Fitted(n_rows, None, data.encoding)
    if model.method == EXACT:
        raise ValueError(
            f"method='exact' learns from all rows at once, and {n_rows:,} rows are more than "
            f"memory allows: use another method."
        )
    batch_rows = allowed.batch(n_rows)
    held.settle(sample.firsts)
    sample.leave_out(held)
    learned = n_rows - held.n_rows
    if balanced:  # the weights follow from the counts of all rows, not of a batch
        counts.subtract(held.y.tolist())
        model.class_weight = {
            label: learned / (len(counts) * count) for label, count in counts.items()
        }
    start = sample.take(min(SAMPLE_ROWS, allowed.held // 2))
    del sample
    row_work = float(model.n_components)
    job.plan([Step("pass", learned * row_work * PASS_WORK)] * passes)
    job.plan([Step("evaluation", n_rows * row_work * CHECK_WORK)])
    with watched_by(job):
        model.fit(*start)
    del start
    job.begin()
    for number in range(1, passes + 1):
        done = 0
        for X, y in _parts(data, batch_rows, held, held_out=False):
            model.partial_fit(X, y)
            done += len(y)
            job.finished("pass", len(y) * row_work * PASS_WORK)
            job.tell(f"pass {number} of {passes}", done, learned)
    model.n_rows_ = learned  # each counted once
    return Fitted(n_rows, _scores(model, data, batch_rows, held, job), data.encoding)


def _parts(
    data: Dataset, batch_rows: int, held: HeldOut, *, held_out: bool
) -> Iterator[tuple[Any, Any]]:
    """The rows that are held out, or the others, batch by batch."""
    first = 0
    for batch in data.batches(batch_rows):
        assert batch.y is not None
        rows = np.flatnonzero(held.among(np.arange(first, first + len(batch.y))) == held_out)
        first += len(batch.y)
        if len(rows):
            part = batch.X[rows], batch.y[rows]
            del batch
            yield part


def _scores(
    model: Any, data: Dataset, batch_rows: int, held: HeldOut, job: Job
) -> dict[str, Any] | None:
    """The scores of the model on the rows held out; None if there are none."""
    if not held.n_rows:
        return None
    scores = ClassCounts() if data.task == "classification" else ErrorSums()
    done = 0
    for X, y in _parts(data, batch_rows, held, held_out=True):
        scores.add(y, model.predict(X))
        done += len(y)
        job.tell("evaluating the model", done, held.n_rows)
    return {
        name: value
        for name, value in scores.result().items()
        if name not in ("classes", "confusion")
    }


def _allowance(model: Any, data: Dataset, limit: int, base: int) -> Allowance:
    """What the limit allows, from the size of the first rows."""
    first = next(iter(data.batches(FIRST_ROWS)), None)
    if first is None:
        raise DataError(f"{data.name} has no rows.")
    labels = data.encoding.target.labels if data.encoding.target is not None else None
    n_outputs = 1 if labels is None or len(labels) <= 2 else len(labels)
    if data.cross_fit is not None:  # sums of words: of all rows, and without those held out
        base += 2 * data.cross_fit.n_bytes
    allowed = Allowance(limit, base, row_bytes(first.X), *_sizes(model, n_outputs))
    allowed.refuse_too_little()
    return allowed


def refuse_too_little(model: Any, limit: int, base: int) -> None:
    """Refuse a limit that is too small for this model whatever the rows; before they are read."""
    Allowance(limit, base, 0, *_sizes(model, 1)).refuse_too_little()


def _sizes(model: Any, n_outputs: int) -> tuple[int, int, int]:
    """Bytes of the codes or features of a row, outputs, and weights of each output."""
    k = model.n_components
    if model.method == EXACT:
        return 0, n_outputs, 0
    if not hasattr(feature_map(model.kernel, k, model.method), "encode"):
        return 4 * k, n_outputs, k
    return k * (1 if model.bits <= 8 else 2), n_outputs, k << model.bits
