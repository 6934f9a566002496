"""``kernelight dedup``: a file without near-duplicate rows."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from contextlib import closing
from typing import Any

from kernelight.base import counted
from kernelight.cli import show
from kernelight.cli.output import check_different, check_output, check_table_ending, opened
from kernelight.data.texts import TextShingles
from kernelight.estimators import Event
from kernelight.study import write_dedup_report
from kernelight.tables.dedup_forecast import forecast
from kernelight.tables.dedup_summary import shown_shingles, summarised
from kernelight.tables.deduplication import (
    IDENTICAL,
    DedupRows,
    DedupSettings,
    TableDuplicates,
    deduplicate_rows,
    open_others,
    open_rows,
)
from kernelight.tables.index_rows import IndexRows
from kernelight.tables.memory_limit import bytes_of
from kernelight.tables.spooled_deduplication import deduplicate_spooled


def run(
    data: str,
    settings: dict[str, Any],
    reading_options: dict[str, Any],
    *,
    texts: list[str] | None,
    shingles: str | None,
    lengths: str | None,
    weights: str | None,
    scale: str | None,
    against: str | None,
    output: str | None,
    pairs: str | None,
    report: str | None,
    dry_run: bool,
    memory: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Find duplicates, write the rows that stay, and say what was found."""
    chosen = DedupSettings(**{name: value for name, value in settings.items() if value is not None})
    made = _shingles(texts, shingles, lengths, weights, scale)
    limit = None if memory is None else bytes_of(memory)
    outputs = {"--output": output, "--pairs": pairs, "--report": report}
    given = {name: path for name, path in outputs.items() if path is not None}
    for at, (name, path) in enumerate(given.items()):
        if path == "-":
            raise ValueError(
                f"{name} - would write to standard output, where the summary goes: name a file."
            )
        check_output(path, data, against)
        for other in list(given)[:at]:
            check_different(other, given[other], name, path)
    if pairs is not None:
        check_table_ending(pairs)
    if data == against == "-":
        raise ValueError("Standard input can be read once only: name a file for DATA or --against.")
    with show.progress(quiet or as_json) as watch:
        target = reading_options.pop("target", None)
        options = {"target": target, **reading_options}
        rows = open_rows(
            data,
            texts=texts or (),
            shingles=made,
            scale=scale,
            learn=not dry_run,
            watch=watch,
            **options,
        )
        if output is not None:
            rows.data.refuse_copy(output)
        others = index = None
        if against is not None and os.path.isdir(against):
            index = IndexRows(against, chosen)
            rows = index.fitting(rows, against)
        elif against is not None:
            rows, others = open_others(rows, against, **options)
        if dry_run:
            expected = forecast(
                rows,
                chosen,
                memory=limit,
                all_pairs=pairs is not None or report is not None,
                watch=watch,
            )
        elif limit is not None:
            result = deduplicate_spooled(
                rows,
                chosen,
                memory=limit,
                beside=output or pairs or report or _beside(data),
                against=others,
                others=index,
                all_pairs=pairs is not None or report is not None,
                watch=watch,
            )
        else:
            result = deduplicate_rows(rows, chosen, against=others, others=index, watch=watch)
        if not dry_run:
            with closing(result):
                _write(result, rows, output, pairs, watch)
                if report is not None:
                    watch(Event("writing the report"))
                    summary = summarised(result, rows, others, command=_command())
                    write_dedup_report(summary, report)
    if dry_run:
        _say_forecast(expected, against, as_json)
        return
    files = {"output": output, "pairs_file": pairs, "report": report}
    facts = {"data": rows.name, **result.facts(), **files}
    if as_json:
        facts["plan"] = {name: value for name, value in facts["plan"].items() if name != "curve"}
        show.as_json(facts)
    elif not quiet:
        _say(result, rows, given)
        if index is not None and rows.shingles is not None and not facts["against"]:
            show.say(
                f"No text is near one of {against}, which does not know what its rows were made "
                f"of: is it an index of {shown_shingles(rows.shingles)}, too?"
            )


def _write(
    result: TableDuplicates, rows: Any, output: str | None, pairs: str | None, watch: Any
) -> None:
    """Write the pairs, then the rows that stay."""
    if pairs is not None:
        watch(Event("writing pairs"))
        with opened(pairs) as writer:
            for columns in result.pair_batches():
                writer.write(columns)
    if output is not None:
        rows.data.copy_rows(
            output, result.found.kept, lambda count: watch(Event("writing", count, result.n_rows))
        )


def _shingles(
    texts: list[str] | None,
    kind: str | None,
    lengths: str | None,
    weights: str | None,
    scale: str | None,
) -> TextShingles | None:
    """How texts become rows; options of texts without a column of texts are refused."""
    named = {"--shingles": kind, "--lengths": lengths, "--weights": weights}
    if not texts:
        for name, value in named.items():
            if value is not None:
                raise ValueError(f"{name} is for texts: name their column by --text.")
        return None
    if scale is not None:
        raise ValueError("--scale is for columns of numbers: leave it out with --text.")
    if len(set(texts)) < len(texts):
        raise ValueError("--text names a column twice.")
    found = None
    if lengths is not None:
        match = re.fullmatch(r"(\d{1,3})(?:-(\d{1,3}))?", lengths)
        if match is None:
            raise ValueError(f"--lengths must be a number or a range such as 1-2, got {lengths!r}.")
        found = int(match[1]), int(match[2] or match[1])
        if not 1 <= found[0] <= found[1]:
            raise ValueError(
                f"--lengths must be at least 1, and a range must ascend, got {lengths!r}."
            )
    return TextShingles(kind or "words", found, weights=weights or "tf")


def _beside(data: str) -> str:
    """Where temporary files go if nothing is written: the folder of the data, or of the system."""
    folder = os.path.dirname(os.path.abspath(data))
    if os.path.isfile(data) and os.access(folder, os.W_OK):
        return data
    return os.path.join(tempfile.gettempdir(), "kernelight")


def _command() -> str:
    """The command line, to be repeated."""
    return shlex.join(["kernelight", *sys.argv[1:]])


def _say(result: TableDuplicates, rows: DedupRows, given: dict[str, str]) -> None:
    facts = result.facts()
    kinds = [
        f"{facts[kind]:,} {said}"
        for kind, said in (
            ("identical", "identical" if result.same == IDENTICAL else f"of the {result.same}"),
            ("near", "near"),
            ("against", "found in --against"),
        )
        if facts[kind] or kind != "against"
    ]
    show.say(
        f"{counted(facts['rows'], 'row')} of {show.plain(rows.name)}: {facts['kept']:,} "
        f"{'stays' if facts['kept'] == 1 else 'stay'}, {facts['removed']:,} "
        f"{'goes' if facts['removed'] == 1 else 'go'} ({', '.join(kinds)})."
    )
    if facts["empty"]:
        show.say(rows.empty_text(facts["empty"]))
    if facts["below_threshold"]:
        show.say(
            f"Of the rows that go {facts['below_threshold']:,} {_are(facts['below_threshold'])} "
            f"below the threshold to the row that stays; --linkage leader lets no such row go."
        )
    if facts["capped"]:
        show.say(
            f"{counted(facts['capped'], 'bucket')} of similar rows {_are(facts['capped'])} so "
            f"large that not all their pairs were compared."
        )
    recall = facts["plan"].get("recall", 1.0)
    if recall < 1.0:
        show.say(
            f"Of the pairs at the threshold {_percent(recall)} are found, of more similar ones "
            f"more; --method exact, without --memory, finds all."
        )
    said = {"--output": "The rows that stay", "--pairs": "The pairs", "--report": "The report"}
    for option, path in given.items():
        verb = "is" if option == "--report" else "are"
        show.say(f"{said[option]} {verb} in {path}.")


def _percent(fraction: float) -> str:
    """A fraction below 1; never 100 %, which it is not.

    >>> _percent(0.957), _percent(0.99997)
    ('about 96 %', 'more than 99.9 %')
    """
    if fraction > 0.999:
        return "more than 99.9 %"
    return f"about {100 * fraction:.{0 if fraction < 0.99 else 1}f} %"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _say_forecast(expected: dict[str, Any], against: str | None, as_json: bool) -> None:
    if as_json:
        show.as_json(expected)
        return
    whole = expected["sampled"] == expected["distinct"]
    about = "" if whole else "about "
    pairs = f"{expected['pairs']:,}, by all rows"
    if not whole:
        low, high = f"{expected['pairs_low']:,}", f"{expected['pairs_high']:,}"
        pairs = (
            f"about {expected['pairs']:,} ({low} to {high}), by {expected['sampled']:,} of the rows"
        )
    low, high = (show.about(expected[f"seconds_{end}"]) for end in ("low", "high"))
    left_out = "" if against is None else ", and what --against takes"
    show.pairs(
        {
            "rows": f"{expected['rows']:,}, {about}{expected['distinct']:,} of them different",
            "pairs": pairs,
            "method": expected["method_text"],
            "time": f"about {show.about(expected['seconds'])} ({low} to {high}){left_out}",
            "memory": expected["memory_text"],
        }
    )
