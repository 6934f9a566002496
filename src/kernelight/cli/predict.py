"""``kernelight predict``: predictions for the rows of a file, in the order of the file."""

from __future__ import annotations

from typing import Any

from kernelight import TableModel
from kernelight.cli import show
from kernelight.cli.output import opened, table_output
from kernelight.estimators import Event


def run(
    model: str,
    data: str,
    reading_options: dict[str, Any],
    *,
    proba: bool,
    interval: float | None,
    output: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Read, predict and write batch by batch."""
    output = table_output(output, data, model)
    fitted = TableModel.load(model)
    rows, ids = 0, str(reading_options.get("ids") or fitted.encoding_.ids)
    with opened(output, lines=as_json) as out, show.progress(quiet or output is None) as watch:
        for part in fitted.predict_batches(
            data, probabilities=proba, interval=interval, **reading_options
        ):
            columns: dict[str, Any] = {} if part.ids is None else {ids: part.ids}
            columns["prediction"] = part.values
            if part.probabilities is not None:
                for at, label in enumerate(fitted.model_.classes_.tolist()):
                    columns[f"P({label})"] = part.probabilities[:, at]
            if part.interval is not None:
                columns["low"], columns["high"] = part.interval
            out.write(columns)
            rows += len(part.values)
            watch(Event("predicting", rows))
    if output is not None and not quiet:
        show.say(f"{rows:,} predictions are in {output}.")
