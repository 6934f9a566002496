"""Fitting a model to a data set within a limit of memory: a fair sample chooses, passes over batches learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from kernelight.compose.kernel_choice import EXACT
from kernelight.data import DataError, Dataset
from kernelight.linearize.choose import feature_map
from kernelight.tables.memory import SAMPLE_ROWS, Allowance, row_bytes, taken
from kernelight.tables.sample import Sample

Watch = Callable[[str, int, "int | None"], None]  # what is being done, rows done, rows in all if known
FIRST_ROWS = 1024  # of the batch that shows what rows are like
READ_ROWS = 8192  # of a batch that is only looked at


def fit_within(model: Any, data: Dataset, limit: int, passes: int, watch: Watch) -> int:
    """Fit within ``limit`` bytes of memory; returns the number of rows.

    A first pass over the data takes a sample. If that is all there is, the model is fitted to it. If not, a part of the sample
    chooses scale, gamma, p and C, and the model goes on from there with every row, ``passes`` times.
    """
    allowed = _allowance(model, data, limit)
    sample = Sample(allowed.held, 0, classes=data.task == "classification")
    balanced = getattr(model, "class_weight", None) == "balanced"
    counts: Counter[Any] = Counter()
    for batch in data.batches(READ_ROWS):
        assert batch.y is not None
        sample.add(batch.X, batch.y)
        if balanced:
            counts.update(batch.y.tolist())
        watch("reading", sample.n_rows, None)
    n_rows = sample.n_rows
    if sample.complete:
        watch("training", 0, n_rows)
        model.fit(*sample.take(n_rows))
        return n_rows
    if model.method == EXACT:
        raise ValueError(
            f"method='exact' learns from all rows at once, and {n_rows:,} rows are more than memory allows: use another."
        )
    batch_rows = allowed.batch(n_rows)
    if balanced:  # what it means is known once all rows are counted, not from a batch
        model.class_weight = {label: n_rows / (len(counts) * count) for label, count in counts.items()}
    start = sample.take(min(SAMPLE_ROWS, allowed.held // 2))
    del sample
    watch("choosing", 0, n_rows)
    model.fit(*start)
    del start
    for turn in range(passes):
        done = 0
        for batch in data.batches(batch_rows):
            model.partial_fit(batch.X, batch.y)
            done += batch.X.shape[0]
            watch(f"pass {turn + 1} of {passes}", done, n_rows)
    model.n_rows_ = n_rows  # each counted once
    return n_rows


def _allowance(model: Any, data: Dataset, limit: int) -> Allowance:
    """What the limit allows, from a look at the first rows."""
    base = taken()
    first = next(iter(data.batches(FIRST_ROWS)), None)
    if first is None:
        raise DataError(f"{data.name} has no rows.")
    labels = data.encoding.target.labels if data.encoding.target is not None else None
    n_outputs = 1 if labels is None or len(labels) <= 2 else len(labels)
    code_bytes, n_weights = _made_of_a_row(model)
    return Allowance(limit, base, row_bytes(first.X), code_bytes, n_outputs, n_weights)


def _made_of_a_row(model: Any) -> tuple[int, int]:
    """The bytes of the codes or features of a row, and the weights they have in a linear model."""
    k = model.n_components
    if model.method == EXACT:
        return 0, 0
    if not hasattr(feature_map(model.kernel, k, model.method), "encode"):
        return 4 * k, k
    return k * (1 if model.bits <= 8 else 2), k << model.bits
