"""The page: headline, table, charts, and how to do it again, in one file without any address in
it."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files
from math import inf
from pathlib import Path

from kernelight.base import bytes_text, counted
from kernelight.data import replacing
from kernelight.study.cells import Cell, Recommendation
from kernelight.study.report.charts import Charts
from kernelight.study.report.pictures import cloud, cloud_legend, matrix, pairs_table, shortened
from kernelight.study.report.svg import OTHER, Chart, symbol
from kernelight.study.report.terms import explained, glossary, said_of, said_of_model, tip
from kernelight.study.result import Study
from kernelight.study.text import count_text, held_together, score_text, seconds_text


def write_report(study: Study, path: str | Path = "report.html") -> Path:
    """Write the report of a study, all or nothing; the path it was written to."""
    path = Path(path)
    page = render_report(study).encode("utf-8", "backslashreplace")  # a name of a file is bytes
    with replacing(path) as file:
        file.write(page)
    return path


def render_report(study: Study) -> str:
    """The report as HTML text: one page, no other files, no network."""
    charts = Charts(study)
    style = files("kernelight.study.report").joinpath("style.css").read_text(encoding="utf-8")
    script = files("kernelight.study.report").joinpath("script.js").read_text(encoding="utf-8")
    parts = [
        _head(study),
        _models(study, charts),
        _curves(charts),
        _prices(charts),
        _theory(charts),
        _closer(study, charts),
        _left_out(study),
        glossary(),
        _again(study),
    ]
    name = escape(study.data["name"])
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}: kernels compared</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<style>{style}</style></head><body><main>{''.join(parts)}</main>"
        f'<div id="tip" role="status"></div><script>{script}</script></body></html>\n'
    )


def _head(study: Study) -> str:
    chosen = study.recommendation
    cell = study.cell_of(chosen)
    ends = f"{score_text(cell.low, study.task)} to {score_text(cell.high, study.task)}"
    tiles = [
        (score_text(cell.test, study.task), f"test {study.measure}; 95 % interval {ends}"),
        (seconds_text(cell.fit_seconds), f"to train on {cell.rows:,} rows"),
        (count_text(cell.rows_per_second), "predictions a second"),
        (bytes_text(cell.n_bytes), "size of the model"),
    ]
    shown = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{_prose(what)}</span></div>'
        for value, what in tiles
    )
    return (
        f'<header><p class="eyebrow">Kernels compared on {escape(study.data["name"])}</p>'
        f'<h1>{_prose(chosen.headline)}</h1><p class="lead">{explained(_prose(chosen.reason))}</p>'
        f'<p class="soft">{_prose(_data_line(study))}</p>{"".join(f"<p class=soft>{_prose(note)}</p>" for note in study.notes)}'
        f'</header><div class="tiles">{shown}</div>{_how(chosen)}{_small(study)}'
    )


def _how(card: Recommendation) -> str:
    """The command and the Python that make a recommended model, each with a button to copy it;
    older studies have one line."""
    command, python = card.command, card.python or card.code
    shown = f"<p class=what>In a terminal</p>{_code(command)}" if command else ""
    # kernelight fit --kernel linear is another model: that of rows of length 1
    linear = card.candidate == "linear"
    where = (
        "In Python; scikit-learn makes the linear model, as kernelight fit is for kernels"
        if linear
        else "In Python"
    )
    return f"{shown}<p class=what>{where}</p>{_code(python)}"


def _small(study: Study) -> str:
    """The second card: the smallest model that is nearly as good."""
    card = study.small
    if card is None:
        return ""
    return (
        f'<section class="card" id="small"><h2>{_prose(card.headline)}</h2>'
        f'<p class="soft">{explained(_prose(card.reason))}</p>{_how(card)}</section>'
    )


def _data_line(study: Study) -> str:
    data = study.data
    kind = "sparse" if data["sparse"] else "dense"
    aside = data.get("set_aside", data["rows"] - data["learned"])
    fewer = (
        []
        if data.get("compared", data["learned"]) == data["learned"]
        else [f"models were compared on {data['compared']:,} of the first"]
    )
    fewer += (
        []
        if aside == data["tested"]
        else [f"the scores here are of {data['tested']:,} of the second"]
    )
    more = f" There was not time for all: {' and '.join(fewer)}." if fewer else ""
    return (
        f"{data['rows']:,} {kind} rows of {counted(data['features'], 'feature')}: "
        f"{data['learned']:,} to learn from and choose by, "
        f"{aside:,} set aside for the test.{more}"
    )


def _prose(text: str) -> str:
    return escape(held_together(text))


def _code(text: str) -> str:
    """A box of code; names of options are not broken at their hyphens."""
    inside = re.sub(r"(?<!\S)--?[a-z][\w-]*", r'<span class="word">\g<0></span>', escape(text))
    return f'<div class="code"><pre>{inside}</pre><button class="copy" type="button">Copy</button></div>'


# Title, which way the first click sorts, and whether a phone leaves it out.
_FIRST = (
    ("model", "ascending", False),
    ("test", "descending", False),
    ("validation", "descending", True),
)
_LAST = (
    ("train", "ascending", False),
    ("rows/s", "descending", False),
    ("size", "ascending", False),
)
# The field of a cell of a classifier with probabilities, the title, which way it sorts, and what
# counts where it has none.
_PROBABILITIES = (
    ("log_loss", "log loss", "ascending", inf),
    ("brier_score", "Brier score", "ascending", inf),
    ("roc_auc", "AUC", "descending", -1.0),
)


def _columns(study: Study) -> list[tuple[str, str, bool]]:
    shares = [(title, way, True) for _, title, way, _ in _PROBABILITIES]
    return [*_FIRST, *(shares if _has_probabilities(study) else []), *_LAST]


def _has_probabilities(study: Study) -> bool:
    return any(cell.log_loss is not None for cell in study.lines)


def _models(study: Study, charts: Charts) -> str:
    heads = "".join(
        f'<th scope="col" data-first="{first}" class="{"num" if at else ""}{" wide" if wide else ""}">'
        f'<button type="button"{tip(said_of(title))}>{f"test {study.measure}" if title == "test" else title}</button></th>'
        for at, (title, first, wide) in enumerate(_columns(study))
    )
    rows = "".join(_model_row(cell, study, charts) for cell in study.lines)
    return (
        "<section><h2>The models</h2><p class=soft>Each with the fewest components that are within "
        "one standard error of its "
        "own best. The test rows chose nothing; the interval is the doubt that their number "
        "leaves. Click a head to sort."
        f"{_of_which(study)}</p>"
        f'<div class="scroll"><table class="sortable" id="models"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>'
        "</table></div></section>"
    )


def _of_which(study: Study) -> str:
    """Which class the scores of probabilities are about."""
    names = study.data["class_names"]
    if not _has_probabilities(study):
        return ""
    if len(names) == 2:
        return f" AUC and Brier score are those of the class {escape(shortened(names[1], 40))}."
    return " AUC is the mean over the classes, each against the rest."


def _model_row(cell: Cell, study: Study, charts: Charts) -> str:
    name, task = study.labels[cell.candidate], study.task
    settings = [f"{key} {value:g}" for key, value in cell.settings.items() if key != "scale"]
    settings += [f"C {cell.C:g}"] if cell.C is not None else []
    about = [f"k = {cell.k:,}"] if cell.k is not None else []
    about += ["reference"] if cell.reference else []
    about += [cell.note] if cell.note else []
    settings += [f"scale {cell.settings['scale']}"] if cell.settings else []
    more = (
        f'<span class="wide">{escape((", " if about else "") + ", ".join(settings))}</span>'
        if settings
        else ""
    )
    kind = "chosen" if cell.candidate == study.recommendation.candidate else ""
    kind = "reference" if cell.reference else kind
    ends = " – ".join(score_text(end, task).removesuffix(" %") for end in (cell.low, cell.high))
    numbers = [
        (cell.test, score_text(cell.test, task), ends),
        (cell.score, score_text(cell.score, task), ""),
        *(_probability_values(cell) if _has_probabilities(study) else []),
        (cell.fit_seconds, seconds_text(cell.fit_seconds), ""),
        (cell.rows_per_second, count_text(cell.rows_per_second), ""),
        (cell.n_bytes, bytes_text(cell.n_bytes), ""),
    ]
    cells = "".join(
        f'<td class="num{" wide" if wide else ""}" data-value="{value}">{escape(text)}'
        f"{f'<small>{escape(under)}</small>' if under else ''}</td>"
        for (value, text, under), (_, _, wide) in zip(numbers, _columns(study)[1:], strict=True)
    )
    shown = f"<span{tip(said_of_model(cell.candidate))}>{escape(name)}</span>"
    key = symbol(charts.styles.get(cell.candidate, OTHER))
    return (
        f'<tr class="{kind}"><td data-value="{escape(name, quote=True)}">{key}{shown}'
        f"<small>{escape(', '.join(about))}{more}</small></td>{cells}</tr>"
    )


def _probability_values(cell: Cell) -> list[tuple[float, str, str]]:
    found = [(getattr(cell, name), without) for name, _, _, without in _PROBABILITIES]
    return [
        (without, "–", "") if value is None else (value, f"{value:.3f}", "")
        for value, without in found
    ]


def _figure(title: str, caption: str, chart: Chart | None, identity: str) -> str:
    if chart is None:
        return ""
    together = chart.coinciding()
    note = f'<p class="together soft">{escape(together)}</p>' if together else ""
    return _framed(title, caption, chart.svg() + note, identity)


def _framed(title: str, caption: str, inside: str, identity: str) -> str:
    told = explained(escape(caption))
    return f'<figure id="{identity}"><h3>{escape(title)}</h3><figcaption>{told}</figcaption>{inside}</figure>'


def _curves(charts: Charts) -> str:
    ring = "A ring marks" if charts.study.recommendation.k else "The dashed line in its colour is"
    figures = _figure(
        "Accuracy against k" if charts.study.task == "classification" else "R² against k",
        f"The tinted band is within one standard error of the best. {ring} the recommendation.",
        charts.components(),
        "chart-k",
    )
    figures += _figure(
        "Accuracy against C" if charts.study.task == "classification" else "R² against C",
        "Each model at its own k; a ring marks the C that was chosen.",
        charts.penalty(),
        "chart-c",
    )
    title = "<h2>What more components and another C buy</h2>"
    return f'<section>{title}{charts.legend()}<div class="grid-2">{figures}</div></section>'


def _prices(charts: Charts) -> str:
    caption = "Rings and the dotted stairs mark the Pareto set: nothing cheaper is better."
    figures = _figure("Against training time", caption, charts.price("fit_seconds"), "chart-time")
    figures += _figure("Against model size", caption, charts.price("n_bytes"), "chart-bytes")
    return f'<section><h2>What it costs</h2><div class="grid-2">{figures}</div></section>'


def _theory(charts: Charts) -> str:
    chart = charts.kernel_errors()
    if chart is None:
        return ""
    figure = _figure(
        "Measured against predicted error",
        "How far inner products of codes or features are from the exact kernel, over pairs of "
        "rows. "
        "On the dashed line, theory is right.",
        chart,
        "chart-error",
    )
    text = (
        "<p>Random codes estimate a kernel, and theory says how well: the error falls with the "
        "root of k, four times "
        "the components for half the error.</p><p class=soft>Nyström features have no such "
        "formula, and are not shown. "
        "Structured projections are predicted as if their directions were independent.</p>"
    )
    return (
        "<section><h2>Are the features as good as theory says?</h2>"
        f'<div class="grid-2"><div>{text}</div>{figure}</div></section>'
    )


def _closer(study: Study, charts: Charts) -> str:
    figures = ""
    if study.picture is not None:
        what = "its features" if study.recommendation.k else "the scaled columns"
        caption = (
            f"{len(study.picture['points']):,} test rows by {study.picture['method']} of {what}."
        )
        figures += _framed(
            "Rows as the model sees them", caption, cloud(study) + cloud_legend(study), "chart-rows"
        )
    if study.confusion is not None and "matrix" in study.confusion:
        caption = "Rows are the true classes, columns the predicted ones; test rows."
        figures += _framed("What it confuses", caption, matrix(study.confusion), "chart-confusion")
    elif study.confusion is not None:
        caption = "The pairs of classes confused most, on test rows."
        figures += _framed(
            "What it confuses", caption, pairs_table(study.confusion), "chart-confusion"
        )
    figures += _figure(
        "Are its probabilities right?",
        "Test rows in bins by predicted probability. On the dashed line, what is predicted is "
        "observed.",
        charts.calibration(),
        "chart-calibration",
    )
    figures += _figure("Predicted against true", "Test rows.", charts.fitted(), "chart-fitted")
    if not figures:
        return ""
    return f'<section><h2>The recommended model at work</h2><div class="grid-2">{figures}</div></section>'


def _left_out(study: Study) -> str:
    if not study.left_out:
        return ""
    reasons: dict[str, list[str]] = {}
    for what, why in study.left_out:
        reasons.setdefault(why, []).append(what)
    items = "".join(
        f"<li>{escape(why[:1].upper() + why[1:])}: {_prose('; '.join(what))}.</li>"
        for why, what in reasons.items()
    )
    return f"<section><h2>What was left out</h2><ul>{items}</ul></section>"


def _again(study: Study) -> str:
    budget = study.settings["budget"]
    facts = {
        "seed": str(study.settings["seed"]),
        "time": f"{seconds_text(study.seconds)} of {seconds_text(budget) if budget else 'any'}",
        "models trained": str(len(study.cells)),
        **study.versions,
    }
    listed = "".join(
        f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in facts.items()
    )
    return (
        f"<section><h2>How to do it again</h2>{_code(study.settings['command'])}<dl>{listed}</dl>"
        "<p class='soft after'>How it was chosen: a fifth of the rows was set aside first and "
        "chose nothing. Of the others, "
        "fifths were held out in turn to choose scaling, gamma, p, C, k and the kernel. The best "
        "model by those rows is "
        "recommended first; of all models within one standard error of it the smallest, or the "
        "linear one if it is among them, "
        "second.</p></section>"
    )
