"""The report of a de-duplication: what went and why, in one file that loads nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from kernelight.base import counted
from kernelight.data import replacing
from kernelight.study.report.axes import Axis, linear_axis
from kernelight.study.report.pieces import code, document, figure, prose, tiles
from kernelight.study.report.svg import BOTTOM, LEFT, RIGHT, TOP, Chart, Point, Series
from kernelight.study.report.terms import tip
from kernelight.study.text import seconds_text

_SAME = "the same"
_SAME_ROWS = {"identical": "identical to", "same shingles": "the same shingles as"}
_MOST_BARS = 24  # of the sizes of clusters, those beyond are taken together


def write_dedup_report(summary: dict[str, Any], path: str | Path = "report.html") -> Path:
    """Write the report of a de-duplication, all or nothing, and return its path.

    ``summary`` is what `kernelight dedup` gathers (`kernelight.tables.dedup_summary`).

    Parameters
    ----------
    summary : dict
        What `kernelight dedup` gathers (`kernelight.tables.dedup_summary`).
    path : str or path-like, default="report.html"
        The file.

    Returns
    -------
    Path
        The file.

    See Also
    --------
    render_dedup_report : The same as text.

    Examples
    --------
    >>> import tempfile
    >>> from kernelight.study import write_dedup_report
    >>> from kernelight.tables.dedup_summary import summarised
    >>> from kernelight.tables.deduplication import DedupSettings, deduplicate_rows, open_rows
    >>> rows = open_rows("iris")
    >>> found = deduplicate_rows(rows, DedupSettings(threshold=0.99))
    >>> summary = summarised(found, rows, command="kernelight dedup iris")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dedup_report(summary, Path(folder) / "report.html").name
    'report.html'
    """
    path = Path(path)
    page = render_dedup_report(summary).encode("utf-8", "backslashreplace")
    with replacing(path) as file:
        file.write(page)
    return path


def render_dedup_report(summary: dict[str, Any]) -> str:
    """The report as HTML text: one page, no other files, no network.

    Parameters
    ----------
    summary : dict
        What `kernelight dedup` gathers (`kernelight.tables.dedup_summary`).

    Returns
    -------
    str
        The page.

    See Also
    --------
    write_dedup_report : Writes it to a file.

    Examples
    --------
    >>> from kernelight.study import render_dedup_report
    >>> from kernelight.tables.dedup_summary import summarised
    >>> from kernelight.tables.deduplication import DedupSettings, deduplicate_rows, open_rows
    >>> rows = open_rows("iris")
    >>> found = deduplicate_rows(rows, DedupSettings(threshold=0.99))
    >>> page = render_dedup_report(summarised(found, rows, command="kernelight dedup iris"))
    >>> "Duplicates in iris" in page
    True
    """
    parts = [
        _head(summary),
        _charts(summary),
        _clusters(summary),
        _borderline(summary),
        _again(summary),
    ]
    return document(f"{summary['name']}: duplicates", parts)


def _head(summary: dict[str, Any]) -> str:
    facts = summary["facts"]
    share = 100 * facts["removed"] / max(1, facts["rows"])
    headline = (
        f"{counted(facts['removed'], 'row')} of {facts['rows']:,} "
        f"{'goes' if facts['removed'] == 1 else 'go'}: {_percent(share)} are duplicates"
        if facts["removed"]
        else f"None of {counted(facts['rows'], 'row')} goes"
    )
    numbers = [
        (f"{facts['rows']:,}", "rows in"),
        (f"{facts['kept']:,}", "rows stay"),
        (f"{facts['identical']:,}", f"go: {_SAME_ROWS[summary['same']]} another row"),
        (f"{facts['near']:,}", f"go: similarity of at least {facts['threshold']:g} to another row"),
    ]
    if facts["against"]:
        numbers.append((f"{facts['against']:,}", "go: similar to a row of the other set"))
    numbers.append((f"{facts['clusters']:,}", "clusters of two rows or more"))
    said = _notes(facts, summary["empty_text"])
    notes = "".join(f'<p class="soft">{prose(note)}</p>' for note in said)
    return (
        f'<header><p class="eyebrow">Duplicates in {escape(summary["name"])}</p>'
        f'<h1>{prose(headline)}</h1><p class="lead">{prose(_lead(summary))}</p>{notes}</header>'
        f"{tiles(numbers)}"
    )


def _percent(share: float) -> str:
    return f"{share:.1f} %" if share >= 0.1 else "less than 0.1 %"


def _lead(summary: dict[str, Any]) -> str:
    facts = summary["facts"]
    which = "first" if facts["keep"] == "first" else "last"
    rule = (
        f"A row goes only if a row that stays is within the threshold of it; the {which} stays."
        if facts["linkage"] == "leader"
        else f"Of rows connected by a chain of similar pairs the {which} stays."
    )
    return (
        f"Rows were compared by the min-max kernel of {summary['compared']}. {rule} Every pair was "
        f"verified by the exact kernel."
    )


def _notes(facts: dict[str, Any], empty_text: str) -> list[str]:
    notes = []
    plan = facts["plan"]
    if plan.get("method") == "bands":
        notes.append(
            f"Pairs were found by {plan['bands']} bands of {plan['rows']} slots, which find "
            f"{100 * plan['recall']:.1f} % of the pairs at the threshold and more of those above."
        )
    else:
        notes.append("Every pair of rows was looked for: none was missed.")
    if facts["capped"]:
        notes.append(
            f"{counted(facts['capped'], 'bucket')} of rows were so large that not all their pairs "
            f"were compared: for those the expected recall does not hold."
        )
    if facts["below_threshold"]:
        notes.append(
            f"{counted(facts['below_threshold'], 'row')} that went are below the threshold to the "
            f"row that stays: chains of pairs lead there. Leaders (--linkage leader) avoid that."
        )
    if empty_text:
        notes.append(empty_text)
    notes.append(f"It took {seconds_text(facts['seconds'])}.")
    return notes


# -- Charts


@dataclass
class _Bars(Chart):
    """A chart of bars: from, to, height, and what is said about each."""

    bars: list[tuple[float, float, float, str]] = field(default_factory=list)

    def _band(self) -> str:
        drawn = []
        for low, high, height, said in self.bars:
            left, right = self.x(low), self.x(high)
            top = self.y(height)
            drawn.append(
                f'<rect class="mark s1" x="{left:.1f}" y="{top:.1f}" '
                f'width="{max(1.0, right - left - 1):.1f}" height="{max(0.0, BOTTOM - top):.1f}"'
                f"{tip(said)}/>"
            )
        return "".join(drawn)


def _count_axis(values: list[float], title: str) -> Axis:
    made = linear_axis([0.0, max([*values, 1.0])], BOTTOM, TOP, lambda y: f"{y:,.0f}", title)
    ticks = tuple(tick for tick in made.ticks if tick >= 0 and tick == int(tick))
    return Axis(0.0, made.high, BOTTOM, TOP, ticks, made.text, title)


def _charts(summary: dict[str, Any]) -> str:
    figures = figure(
        "How similar the pairs are",
        "Pairs of different rows at or above the threshold; identical rows are not counted here.",
        _similarities(summary),
        "chart-similarities",
    )
    figures += figure(
        "How large clusters are",
        "Rows that belong together, the one that stays included.",
        _sizes(summary),
        "chart-sizes",
    )
    figures += figure(
        "How many pairs are found",
        "The probability that a pair of this similarity is found, from theory. The dashed line is "
        "the recall at the threshold.",
        _recall(summary),
        "chart-recall",
    )
    return f'<section><h2>What was found</h2><div class="grid-2">{figures}</div></section>'


def _similarities(summary: dict[str, Any]) -> Chart | None:
    bins = summary["histogram"]
    if not any(count for _, _, count in bins):
        return None
    low, high = bins[0][0], bins[-1][1]
    digits = 2 if high - low > 0.05 else 4
    steps = [low + at * (high - low) / 4 for at in range(5)]
    x = Axis(low, high, LEFT, RIGHT, tuple(steps), lambda v: f"{v:.{digits}f}", "similarity")
    y = _count_axis([float(count) for *_, count in bins], "pairs")
    bars = [
        (a, b, float(count), f"{counted(int(count), 'pair')} from {a:.3f} to {b:.3f}")
        for a, b, count in bins
    ]
    return _Bars(x, y, "Pairs by similarity", bars=bars)


def _sizes(summary: dict[str, Any]) -> Chart | None:
    sizes = [(int(size), int(count)) for size, count in summary["sizes"]]
    if not sizes:
        return None
    last = 2 + _MOST_BARS - 1
    inside = [(size, count) for size, count in sizes if size <= last]
    beyond = sum(count for size, count in sizes if size > last)
    largest = max(size for size, _ in inside) if inside else 2
    end = last + 1 if beyond else max(largest, 6)
    step = max(1, (end - 2) // 6)
    ticks = tuple(float(at) for at in range(2, end + 1, step))

    def named(value: float) -> str:
        return f"{last + 1}+" if beyond and value == end else f"{value:.0f}"

    x = Axis(1.5, end + 0.5, LEFT, RIGHT, ticks, named, "rows in a cluster")
    bars = [
        (size - 0.5, size + 0.5, float(count), f"{counted(count, 'cluster')} of {size:,} rows")
        for size, count in inside
    ]
    if beyond:
        most = max(size for size, _ in sizes)
        said = f"{counted(beyond, 'cluster')} of {last + 1} rows or more, the largest of {most:,}"
        bars.append((end - 0.5, end + 0.5, float(beyond), said))
    y = _count_axis([height for _, _, height, _ in bars], "clusters")
    return _Bars(x, y, "Clusters by size", bars=bars)


def _recall(summary: dict[str, Any]) -> Chart | None:
    curve = summary["curve"]
    if not curve:
        return None
    facts = summary["facts"]
    ticks = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    x = Axis(0.0, 1.0, LEFT, RIGHT, ticks, lambda v: f"{v:g}", "similarity")
    y = Axis(0.0, 1.0, BOTTOM, TOP, ticks, lambda v: f"{100 * v:.0f} %", "pairs found")
    every = curve[::5]
    points = [
        Point(s, chance, f"{100 * chance:.2f} % of pairs of similarity {s:g}")
        for s, chance in every
    ]
    recall = facts["plan"]["recall"]
    said = f"{100 * recall:.1f} % at the threshold of {facts['threshold']:g}"
    chart = Chart(x, y, "Expected recall", [Series("expected recall", "s0", points)])
    chart.levels = [(recall, "recall", "other", said)]
    return chart


# -- Rows


def _row(entry: dict[str, Any]) -> str:
    label = escape(entry["label"])
    where = " (other set)" if entry["outside"] else ""
    return f"row {label}{where}"


def _text(entry: dict[str, Any]) -> str:
    if not entry["text"]:
        return ""
    more = f" … <small>(cut after {len(entry['text']):,} characters)</small>"
    return f"<pre>{escape(entry['text'])}{more if entry['cut'] else ''}</pre>"


def _clusters(summary: dict[str, Any]) -> str:
    if not summary["clusters"]:
        return ""
    cards = []
    for cluster in summary["clusters"]:
        first, *others = cluster["rows"]
        lines = "".join(
            f'<tr><td>{_row(entry)}</td><td class="num">{_similarity(entry["similarity"])}</td>'
            f"<td>{_text(entry) if entry['digest'] != first['digest'] else _SAME}</td></tr>"
            for entry in others
        )
        more = cluster["size"] - len(cluster["rows"])
        more -= 1 if first["outside"] else 0
        rest = f'<p class="soft">and {counted(more, "row")} more</p>' if more > 0 else ""
        cards.append(
            f'<section class="card"><h2>{counted(cluster["size"], "row")}: {_row(first)} stays</h2>'
            f"{_text(first)}"
            f'<div class="scroll"><table><thead><tr><th>goes</th><th class="num">similarity</th>'
            f"<th></th></tr></thead><tbody>{lines}</tbody></table></div>{rest}</section>"
        )
    return (
        "<section><h2>The largest clusters</h2><p class=soft>The row that stays, and some of those "
        f"that go in its favour.</p>{''.join(cards)}</section>"
    )


def _similarity(value: float) -> str:
    return "not known" if value != value else f"{value:.3f}"


def _borderline(summary: dict[str, Any]) -> str:
    if not summary["borderline"]:
        return ""
    rows = []
    for pair in summary["borderline"]:
        first, second = pair["first"], pair["second"]
        cells = "".join(
            f"<td>{_row(entry)}<small>{'stays' if entry['kept'] else 'goes'}</small>"
            f"{_text(entry)}</td>"
            for entry in (first, second)
        )
        rows.append(f'<tr><td class="num">{_similarity(pair["similarity"])}</td>{cells}</tr>')
    return (
        "<section><h2>Borderline pairs</h2><p class=soft>The pairs of least similarity that count: "
        "if these are no duplicates, raise the threshold; if all are, a lower one may find "
        'more.</p><div class="scroll"><table id="borderline"><thead><tr><th class="num">similarity'
        f"</th><th>row</th><th>other row</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
        "</div></section>"
    )


def _again(summary: dict[str, Any]) -> str:
    return (
        "<section><h2>How to repeat it</h2>"
        f"<p class=what>In a terminal</p>{code(summary['command'])}</section>"
    )
