"""Fitting a model to a data set within a limit of memory: a fair sample chooses, passes over
batches learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from kernelight.data import DataError, Dataset, Encoding
from kernelight.estimators.kernel_choice import EXACT
from kernelight.estimators.progress import Job, Step, watched_by
from kernelight.maps.feature_map import feature_map
from kernelight.tables.evaluation import ClassCounts, Errors
from kernelight.tables.memory_limit import SAMPLE_ROWS, Allowance, row_bytes
from kernelight.tables.sample import HeldOut, Sample

FIRST_ROWS = 1024  # of the batch that shows what rows are like
READ_ROWS = 8192  # of a batch that is only looked at
PASS_WORK = 3.0  # learning from a row in a pass, where preparing it is 1
CHECK_WORK = 0.5  # reading all rows once more and predicting those held out


class Fitted(NamedTuple):
    """How many rows there are, how good the model is on those held out of all passes, if any were,
    and the encoding."""

    n_rows: int
    held_out: dict[str, Any] | None
    encoding: Encoding


def fit_within(model: Any, data: Dataset, limit: int, base: int, passes: int, job: Job) -> Fitted:
    """Fit within ``limit`` bytes of memory, of which the process held ``base`` before it saw rows.

    A first pass over the data takes a sample. If that is all there is, the model is fitted to it.
    If not, a part of the sample chooses scale, gamma, p and C, and the model goes on from there
    with every row, ``passes`` times. A fair share of the rows is held out of all that, and says at
    the end how good the model is. Rows without a target are in no batch, so they count nowhere
    here.
    """
    allowed = _allowance(model, data, limit, base)
    sample = Sample(allowed.held, 0, classes=data.task == "classification")
    if data.cross_fit is not None and not sample.holds(data.cross_fit.n_rows):
        # target values must not know them either
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
            f"memory allows: use another."
        )
    batch_rows = allowed.batch(n_rows)
    held.settle(sample.firsts)
    sample.leave_out(held)
    learned = n_rows - held.n_rows
    if balanced:  # what it means is known once all rows are counted, not from a batch
        counts.subtract(held.y.tolist())
        model.class_weight = {
            label: learned / (len(counts) * count) for label, count in counts.items()
        }
    start = sample.take(min(SAMPLE_ROWS, allowed.held // 2))
    del sample
    of_row = float(model.n_components)
    job.plan([Step("pass", learned * of_row * PASS_WORK)] * passes)
    job.plan([Step("evaluation", n_rows * of_row * CHECK_WORK)])
    with watched_by(job):
        model.fit(*start)
    del start
    job.begin()
    for turn in range(passes):
        done = 0
        for X, y in _parts(data, batch_rows, held, wanted=False):
            model.partial_fit(X, y)
            done += len(y)
            job.finished("pass", len(y) * of_row * PASS_WORK)
            job.tell(f"pass {turn + 1} of {passes}", done, learned)
    model.n_rows_ = learned  # each counted once
    return Fitted(n_rows, _measured(model, data, batch_rows, held, job), data.encoding)


def _parts(
    data: Dataset, batch_rows: int, held: HeldOut, *, wanted: bool
) -> Iterator[tuple[Any, Any]]:
    """The rows that are held out, or the others, batch by batch."""
    place = 0
    for batch in data.batches(batch_rows):
        assert batch.y is not None
        which = np.flatnonzero(held.among(np.arange(place, place + len(batch.y))) == wanted)
        place += len(batch.y)
        if len(which):
            part = batch.X[which], batch.y[which]
            del batch
            yield part


def _measured(
    model: Any, data: Dataset, batch_rows: int, held: HeldOut, job: Job
) -> dict[str, Any] | None:
    """How good the model is on the rows held out."""
    if not held.n_rows:
        return None
    counts = ClassCounts() if data.task == "classification" else Errors()
    done = 0
    for X, y in _parts(data, batch_rows, held, wanted=True):
        counts.add(y, model.predict(X))
        done += len(y)
        job.tell("evaluating the model", done, held.n_rows)
    return {
        name: value
        for name, value in counts.result().items()
        if name not in ("classes", "confusion")
    }


def _allowance(model: Any, data: Dataset, limit: int, base: int) -> Allowance:
    """What the limit allows, from a look at the first rows."""
    first = next(iter(data.batches(FIRST_ROWS)), None)
    if first is None:
        raise DataError(f"{data.name} has no rows.")
    labels = data.encoding.target.labels if data.encoding.target is not None else None
    n_outputs = 1 if labels is None or len(labels) <= 2 else len(labels)
    if data.cross_fit is not None:  # sums of words, of all rows and without those held out
        base += 2 * data.cross_fit.n_bytes
    allowed = Allowance(limit, base, row_bytes(first.X), *_made_of_a_row(model, n_outputs))
    allowed.refuse_too_little()
    return allowed


def refuse_too_little(model: Any, limit: int, base: int) -> None:
    """Refuse a limit within which no such model can be trained on any rows, before they are
    read."""
    Allowance(limit, base, 0, *_made_of_a_row(model, 1)).refuse_too_little()


def _made_of_a_row(model: Any, n_outputs: int) -> tuple[int, int, int]:
    """The bytes of the codes or features of a row, the scores, and the weights that each has in a
    linear model."""
    k = model.n_components
    if model.method == EXACT:
        return 0, n_outputs, 0
    if not hasattr(feature_map(model.kernel, k, model.method), "encode"):
        return 4 * k, n_outputs, k
    return k * (1 if model.bits <= 8 else 2), n_outputs, k << model.bits
