"""``kernelight explain``: what each column adds to the scores of the rows of a file."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import Contributions, TableModel
from kernelight.base import counted
from kernelight.cli import show
from kernelight.cli.output import opened, table_output
from kernelight.estimators import Event


def run(
    model: str,
    data: str,
    reading_options: dict[str, Any],
    *,
    top: int | None,
    importance: bool,
    background: str | None,
    output: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Read, explain and write batch by batch."""
    if top is not None and top < 1:
        raise ValueError(f"--top must be at least 1, got {top}.")
    output = table_output(output, data, model)
    fitted = TableModel.load(model)
    ids = str(reading_options.get("ids") or fitted.encoding_.ids)
    rows, spread = 0, _Spread()
    with opened(output, lines=as_json) as out, show.progress(quiet or output is None) as watch:
        for part in fitted.explain_batches(data, background=background, **reading_options):
            if importance:
                spread.add(part.contributions)
            else:
                names = range(rows + 1, rows + 1 + len(part.predictions))
                row_names = {"row": list(names)} if part.ids is None else {ids: part.ids}
                out.write(_lines(part.contributions, part.predictions, row_names, top))
            rows += len(part.predictions)
            watch(Event("explaining", rows))
        if importance:
            out.write(spread.columns(top))
    if output is not None and not quiet:
        what = "The importance of columns" if importance else "The explanation"
        show.say(f"{what} of {counted(rows, 'row')} is in {output}.")


def _lines(
    contributions: Contributions, predictions: NDArray[Any], row_names: dict[str, Any], top: Any
) -> dict[str, Any]:
    """A line for each row and column, the largest contribution of a row first."""
    scores = contributions.scores
    lines: dict[str, list[Any]] = defaultdict(list)
    several = contributions.n_outputs > 1
    for row in range(len(contributions)):
        # of several classes the predicted one is explained
        output = int(scores[row].argmax()) if several else 0
        one = contributions[row]
        values, errors, base = one.values, one.standard_errors, one.base_values
        if several:
            values, errors, base = values[:, output], errors[:, output], base[output]
        order = np.argsort(-np.abs(values), kind="stable")[:top]
        for name, given in row_names.items():
            lines[name] += [given[row]] * len(order)
        lines["prediction"] += [predictions[row].item()] * len(order)
        lines["score"] += [_short(base + values.sum())] * len(order)
        lines["base_value"] += [_short(base)] * len(order)
        lines["column"] += [contributions.feature_names[at] for at in order]
        lines["value"] += [_text(contributions.data[row, at]) for at in order]
        lines["contribution"] += map(_short, values[order])
        lines["standard_error"] += map(_short, errors[order])
    return dict(lines)


def _short(number: Any) -> float:
    """Six digits, for people; the library has all."""
    return float(f"{number:.6g}")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


class _Spread:
    """Standard deviations of the contributions of columns, over batches of rows."""

    def __init__(self) -> None:
        self._n, self._sum, self._square = 0, np.zeros(1), np.zeros(1)
        self._names: list[str] = []

    def add(self, contributions: Contributions) -> None:
        """See more rows."""
        values = contributions.values
        self._names = contributions.feature_names
        self._n += len(values)
        self._sum = self._sum + values.sum(axis=0)
        self._square = self._square + np.square(values).sum(axis=0)

    def columns(self, top: int | None) -> dict[str, Any]:
        """The columns by importance, the largest first, and their fractions of all."""
        mean = self._sum / self._n
        variance = np.maximum(self._square / self._n - np.square(mean), 0.0)
        spread = np.sqrt(variance if variance.ndim == 1 else variance.mean(axis=1))
        order = np.argsort(-spread, kind="stable")[:top]
        total = spread.sum()
        fraction = spread / total if total > 0 else spread
        return {
            "column": [self._names[at] for at in order],
            "importance": [_short(each) for each in fraction[order]],
            "spread": [_short(each) for each in spread[order]],
        }
