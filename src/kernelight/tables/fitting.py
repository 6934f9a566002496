"""Fitting a model to a data set within a memory limit.

The search runs on a random sample of the rows. Then all rows are encoded once, and the model learns
from their codes, which are in memory or on disk, in passes (`linear.block_solver`). Where the duals
of all rows are too many for the memory, or features are sparse, the rows are read again in each
pass, and the model learns from them batch by batch (`partial_fit`).
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import checks
from kernelight.data import DataError, Dataset, DataWarning, Encoding
from kernelight.estimators import DEFAULT_COMPONENTS
from kernelight.estimators.average_model import GMM
from kernelight.estimators.kernel_choice import AUTO, EXACT, RIDGE
from kernelight.estimators.progress import Job, Step, watched_by
from kernelight.linear.block_solver import VISITS
from kernelight.linear.stored_rows import StoredRows
from kernelight.maps.feature_map import feature_map
from kernelight.tables.evaluation import ClassCounts, ErrorSums
from kernelight.tables.memory_limit import SAMPLE_ROWS, Allowance, row_bytes
from kernelight.tables.sample import HeldOut, Sample
from kernelight.tables.sample_fitting import fit_to_sample, refuse_all_at_once, with_map

FIRST_ROWS = 1024  # of the batch that says how many bytes a row takes
READ_ROWS = 8192  # of a batch that is read for the sample
# Work for progress, where preparing a component of a row is 1:
STORED_WORK = 0.8  # to learn from it in a pass over stored rows
PASS_WORK = 3.0  # to learn from it in a pass that reads the rows again
CHECK_WORK = 0.5  # to read all rows once more and predict those held out


class Fitted(NamedTuple):
    """The number of rows, the scores on rows held out of all passes (or None), and the encoding."""

    n_rows: int
    held_out: dict[str, Any] | None
    encoding: Encoding


def fit_within(model: Any, data: Dataset, limit: int, base: int, passes: int, job: Job) -> Fitted:
    """Fit within ``limit`` bytes of memory, of which the process held ``base`` before it saw rows.

    A first pass over the data takes a random sample. If it has all rows, the model is fitted to it.
    If not, the model is fitted to a part of the sample, which chooses scale, gamma, p and C. Then
    every row is read and encoded once more, and the model learns from the codes in several passes,
    at most ``passes``. A random fraction of the rows is held out of all that, and scores the model
    at the end. Rows without a target are in no batch.
    """
    with_map(model)
    allowed = _allowance(model, data, limit, base)
    classes = data.task == "classification"
    sample = Sample(allowed.held, 0, classes=classes)
    if data.cross_fit is not None and not sample.holds(data.cross_fit.n_rows):
        # target values must not be learned from them either
        data = data.holding_out(HeldOut.of(data.cross_fit.n_rows).among)
    held = HeldOut()
    counts: Counter[Any] = Counter()
    for batch in data.batches(READ_ROWS):
        assert batch.y is not None
        sample.add(batch.X, batch.y)
        held.add(batch.y)
        if classes:
            labels, numbers = np.unique(batch.y, return_counts=True)
            counts.update(dict(zip(labels.tolist(), numbers.tolist(), strict=True)))
        job.tell("reading", sample.n_rows)
    n_rows = sample.n_rows
    if sample.complete:
        with watched_by(job):
            model.fit_features(*sample.take(n_rows), data.relearning())
        return Fitted(n_rows, None, data.encoding)
    refuse_all_at_once(model, n_rows, "more than memory allows")
    batch_rows = allowed.batch(n_rows)
    held.settle(sample.firsts)
    sample.leave_out(held)
    learned = n_rows - held.n_rows
    start = sample.take(min(SAMPLE_ROWS, allowed.held // 2))
    del sample
    block_rows = allowed.block(learned, held.n_rows)
    learn = _Learning(model, data, batch_rows, held, learned, job)
    some = fit_to_sample(model, *start, counts, counts - Counter(held.y.tolist()), job)
    if block_rows is not None and not sp.issparse(model.scaled_map_.encode(start[0][:1])):
        del start
        scores = learn.from_stored(block_rows, passes)
    else:
        del start
        scores = learn.from_batches(passes)
    model.n_rows_ = learned  # each counted once
    model.learn_background(some)
    return Fitted(n_rows, scores, data.encoding)


@dataclass(frozen=True)
class _Learning:
    """Learning from all rows but those held out, which score the model at the end."""

    model: Any
    data: Dataset
    batch_rows: int
    held: HeldOut
    n_learned: int
    job: Job

    def from_stored(self, block_rows: int, passes: int) -> dict[str, Any] | None:
        """Encode every row once, store the codes, and learn from these."""
        model, job, work = self.model, self.job, float(self.model.n_components)
        job.plan([Step("encoding", (self.n_learned + self.held.n_rows) * work)])
        job.plan([Step("pass", self.n_learned * work * STORED_WORK)] * passes)
        job.begin()
        aside: list[tuple[Any, Any]] = []
        done = visited = 0
        resources = checks.resources(model.n_jobs)
        with closing(StoredRows(self.n_learned, block_rows, model.seed_, resources)) as stored:
            for batch in self._batches():
                for which in (False, True):
                    rows = np.flatnonzero(batch.held_out == which)
                    if not len(rows):
                        continue
                    features, targets = model.encoded_batch(batch.X[rows], batch.y[rows])
                    if which:
                        aside.append((features, batch.y[rows]))
                    else:
                        stored.add(features, targets)
                done += len(batch.y)
                job.finished("encoding", len(batch.y) * work)
                job.tell("encoding", done, self.n_learned + self.held.n_rows)

            def watch(number: int, n_rows: int) -> None:
                nonlocal visited
                visited += n_rows
                in_pass = visited - (number - 1) * VISITS * self.n_learned
                job.finished("pass", n_rows / VISITS * work * STORED_WORK)
                job.tell(f"pass {number} of {passes}", in_pass // VISITS, self.n_learned)

            model.learn_stored(stored, passes, watch)
        left = passes * self.n_learned - visited / VISITS  # where less was enough
        job.skip(Step("pass", left * work * STORED_WORK))
        return self._scores((y, model.predict_encoded(features)) for features, y in aside)

    def from_batches(self, passes: int) -> dict[str, Any] | None:
        """Learn from rows that are read again in each pass, for rows that cannot be stored."""
        model, job, work = self.model, self.job, float(self.model.n_components)
        n_rows = self.n_learned + self.held.n_rows
        job.plan([Step("pass", self.n_learned * work * PASS_WORK)] * passes)
        job.plan([Step("evaluation", n_rows * work * CHECK_WORK)])
        job.begin()
        for number in range(1, passes + 1):
            done = 0
            for X, y in self._parts(held_out=False):
                model.partial_fit(X, y)
                done += len(y)
                job.finished("pass", len(y) * work * PASS_WORK)
                job.tell(f"pass {number} of {passes}", done, self.n_learned)
        return self._scores((y, model.predict(X)) for X, y in self._parts(held_out=True))

    def _batches(self) -> Iterator[_Batch]:
        """All rows, batch by batch, and which of them are held out."""
        first = 0
        for batch in self.data.batches(self.batch_rows):
            assert batch.y is not None
            yield _Batch(batch.X, batch.y, self.held.among(np.arange(first, first + len(batch.y))))
            first += len(batch.y)

    def _parts(self, *, held_out: bool) -> Iterator[tuple[Any, Any]]:
        """The rows that are held out, or the others, batch by batch."""
        for batch in self._batches():
            rows = np.flatnonzero(batch.held_out == held_out)
            if len(rows):
                part = batch.X[rows], batch.y[rows]
                del batch
                yield part

    def _scores(self, predictions: Iterable[tuple[Any, Any]]) -> dict[str, Any] | None:
        """The scores of targets and predictions of the rows held out; None if there are none."""
        if not self.held.n_rows:
            return None
        scores = ClassCounts() if self.data.task == "classification" else ErrorSums()
        done = 0
        for y, predicted in predictions:
            scores.add(y, predicted)
            done += len(y)
            self.job.tell("evaluating the model", done, self.held.n_rows)
        return {
            name: value
            for name, value in scores.result().items()
            if name not in ("classes", "confusion")
        }


class _Batch(NamedTuple):
    """Rows, their targets, and which of them are held out."""

    X: Any
    y: Any
    held_out: NDArray[np.bool_]


def without_average(model: Any, name: str, where: str = "within a limit of memory") -> None:
    """Replace kernel="auto" by its min-max kernel, with a note: a forest needs all rows at once."""
    if isinstance(model.kernel, str) and model.kernel == AUTO:
        model.kernel = GMM
        note = (
            f"kernel='auto' learns from all rows at once; {where} the model is that of kernel='gmm'"
        )
        warnings.warn(DataWarning(name, [note]), stacklevel=3)


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
    k = model.n_components or DEFAULT_COMPONENTS
    kernel = GMM if model.kernel == AUTO else model.kernel  # see `without_average`
    if model.method in (EXACT, RIDGE):
        return 0, n_outputs, 0
    if not hasattr(feature_map(kernel, k, model.method), "encode"):
        return 4 * k, n_outputs, k
    return k * (1 if model.bits <= 8 else 2), n_outputs, k << model.bits
