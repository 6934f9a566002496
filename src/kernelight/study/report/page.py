"""The page of the report: headline, table, charts and the call, in one file that loads nothing."""

from __future__ import annotations

from html import escape
from math import inf
from pathlib import Path

from kernelight.base import bytes_text, counted
from kernelight.data import replacing
from kernelight.study.cells import Cell, Recommendation
from kernelight.study.report.charts import Charts
from kernelight.study.report.effects import bars, shape
from kernelight.study.report.pictures import cloud, cloud_legend, matrix, pairs_table, shortened
from kernelight.study.report.pieces import code, document, figure, framed, prose, tiles
from kernelight.study.report.svg import OTHER, symbol
from kernelight.study.report.terms import explained, glossary, said_of, said_of_model, tip
from kernelight.study.result import Study
from kernelight.study.text import count_text, score_text, seconds_text


def write_report(study: Study, path: str | Path = "report.html") -> Path:
    """Write the report of a study, all or nothing, and return its path.

    Parameters
    ----------
    study : Study
        The result of `compare`.
    path : str or path-like, default="report.html"
        The file.

    Returns
    -------
    Path
        The file.

    See Also
    --------
    render_report : The same as text.
    print_study : A table for the terminal.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from kernelight.study import compare, write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> study = compare(X, y, kernels=["gmm"], components=[32], name="iris", progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(study, Path(folder) / "report.html").name
    'report.html'
    """
    path = Path(path)
    # a file name may have bytes that are not UTF-8
    page = render_report(study).encode("utf-8", "backslashreplace")
    with replacing(path) as file:
        file.write(page)
    return path


def render_report(study: Study) -> str:
    """The report as HTML text: one page, no other files, no network.

    Parameters
    ----------
    study : Study
        The result of `compare`.

    Returns
    -------
    str
        The page.

    See Also
    --------
    write_report : Writes it to a file.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelight.study import compare, render_report
    >>> X, y = load_iris(return_X_y=True)
    >>> study = compare(X, y, kernels=["gmm"], components=[32], name="iris", progress=False)
    >>> "iris" in render_report(study)
    True
    """
    charts = Charts(study)
    parts = [
        _head(study),
        _models(study, charts),
        _curves(charts),
        _prices(charts),
        _theory(charts),
        _closer(study, charts),
        _effects(study),
        _left_out(study),
        glossary(),
        _again(study),
    ]
    return document(f"{study.data['name']}: kernels compared", parts)


def _head(study: Study) -> str:
    chosen = study.recommendation
    cell = study.cell_of(chosen)
    ends = f"{score_text(cell.low, study.task)} to {score_text(cell.high, study.task)}"
    shown = tiles(
        [
            (score_text(cell.test, study.task), f"test {study.measure}; 95 % interval {ends}"),
            (seconds_text(cell.fit_seconds), f"to train on {cell.rows:,} rows"),
            (count_text(cell.rows_per_second), "predictions per second"),
            (bytes_text(cell.n_bytes), "size of the model"),
        ]
    )
    notes = "".join(
        f'<p class="soft">{prose(note)}</p>' for note in [_data_line(study), *study.notes]
    )
    return (
        f'<header><p class="eyebrow">Kernels compared on {escape(study.data["name"])}</p>'
        f'<h1>{prose(chosen.headline)}</h1><p class="lead">{explained(prose(chosen.reason))}</p>'
        f"{notes}</header>{shown}{_how(chosen)}{_small(study)}"
    )


def _how(card: Recommendation) -> str:
    """The command and the Python code that train a recommended model.

    Studies of the first format have one expression only.
    """
    command, python = card.command, card.python or card.code
    shown = f"<p class=what>In a terminal</p>{code(command)}" if command else ""
    # kernelight fit --kernel linear is another model: its rows have length 1
    where = "In Python"
    if card.candidate == "linear":
        where += "; scikit-learn trains the linear model, as kernelight fit is for kernels"
    return f"{shown}<p class=what>{where}</p>{code(python)}"


def _small(study: Study) -> str:
    """The second recommendation: the smallest model that is nearly as good."""
    card = study.small
    if card is None:
        return ""
    return (
        f'<section class="card" id="small"><h2>{prose(card.headline)}</h2>'
        f'<p class="soft">{explained(prose(card.reason))}</p>{_how(card)}</section>'
    )


def _data_line(study: Study) -> str:
    data = study.data
    kind = "sparse" if data["sparse"] else "dense"
    aside = data.get("set_aside", data["rows"] - data["learned"])
    fewer = []
    if data.get("compared", data["learned"]) != data["learned"]:
        fewer.append(f"models were compared on {data['compared']:,} of the first")
    if aside != data["tested"]:
        fewer.append(f"the scores here are of {data['tested']:,} of the second")
    more = f" There was not time for all: {' and '.join(fewer)}." if fewer else ""
    return (
        f"{data['rows']:,} {kind} rows of {counted(data['features'], 'feature')}: "
        f"{data['learned']:,} to learn from and choose by, "
        f"{aside:,} set aside for the test.{more}"
    )


# Columns of the table: title, order of the first click, and whether a phone hides it.
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
# Columns of classifiers with probabilities: field of a cell, title, order of the first click, and
# the value by which a model without it is sorted.
_PROBABILITIES = (
    ("log_loss", "log loss", "ascending", inf),
    ("brier_score", "Brier score", "ascending", inf),
    ("roc_auc", "AUC", "descending", -1.0),
)


def _columns(study: Study) -> list[tuple[str, str, bool]]:
    scores = [(title, order, True) for _, title, order, _ in _PROBABILITIES]
    return [*_FIRST, *(scores if _has_probabilities(study) else []), *_LAST]


def _has_probabilities(study: Study) -> bool:
    return any(cell.log_loss is not None for cell in study.lines)


def _models(study: Study, charts: Charts) -> str:
    heads = "".join(
        _column_head(title, f"test {study.measure}" if title == "test" else title, order, wide)
        for title, order, wide in _columns(study)
    )
    rows = "".join(_model_row(cell, study, charts) for cell in study.lines)
    return (
        "<section><h2>The models</h2><p class=soft>Each with the fewest components that are within "
        "one standard error of its own best. The test rows chose nothing; below their score is its "
        f"95 % interval. Click a column head to sort.{_about_classes(study)}</p>"
        f'<div class="scroll"><table class="sortable" id="models"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _column_head(title: str, shown: str, order: str, wide: bool) -> str:
    kind = ("" if title == "model" else "num") + (" wide" if wide else "")
    return (
        f'<th scope="col" data-first="{order}" class="{kind}">'
        f'<button type="button"{tip(said_of(title))}>{shown}</button></th>'
    )


def _about_classes(study: Study) -> str:
    """Which class the scores of probabilities are about."""
    if not _has_probabilities(study):
        return ""
    if study.positive_class is not None:
        name = escape(shortened(study.positive_class, 40))
        return f" AUC and Brier score are those of the class {name}."
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
    values = [(getattr(cell, name), without) for name, _, _, without in _PROBABILITIES]
    return [
        (without, "–", "") if value is None else (value, f"{value:.3f}", "")
        for value, without in values
    ]


def _curves(charts: Charts) -> str:
    ring = "A ring marks" if charts.study.recommendation.k else "The dashed line in its colour is"
    figures = figure(
        "Accuracy against k" if charts.study.task == "classification" else "R² against k",
        f"The tinted band is within one standard error of the best. {ring} the recommendation.",
        charts.components(),
        "chart-k",
    )
    figures += figure(
        "Accuracy against C" if charts.study.task == "classification" else "R² against C",
        "Each model at its own k; a ring marks the C that was chosen.",
        charts.penalty(),
        "chart-c",
    )
    title = "<h2>What more components and another C buy</h2>"
    return f'<section>{title}{charts.legend()}<div class="grid-2">{figures}</div></section>'


def _prices(charts: Charts) -> str:
    caption = "Rings and the dotted stairs mark the Pareto set: nothing cheaper is better."
    figures = figure("Against training time", caption, charts.price("fit_seconds"), "chart-time")
    figures += figure("Against model size", caption, charts.price("n_bytes"), "chart-bytes")
    return f'<section><h2>What it costs</h2><div class="grid-2">{figures}</div></section>'


def _theory(charts: Charts) -> str:
    chart = charts.kernel_errors()
    if chart is None:
        return ""
    drawn = figure(
        "Measured against predicted error",
        "How far inner products of codes or features are from the exact kernel, over pairs of "
        "rows. On the dashed line, both are equal.",
        chart,
        "chart-error",
    )
    text = (
        "<p>Random codes estimate a kernel, and theory says how well: the error falls with the "
        "root of k, four times the components for half the error.</p><p class=soft>Nyström "
        "features have no such formula, and are not shown. Structured projections are predicted "
        "as if their directions were independent.</p>"
    )
    return (
        "<section><h2>Are the features as good as theory says?</h2>"
        f'<div class="grid-2"><div>{text}</div>{drawn}</div></section>'
    )


def _closer(study: Study, charts: Charts) -> str:
    figures = ""
    if study.picture is not None:
        what = "its features" if study.recommendation.k else "the scaled columns"
        if study.recommendation.candidate == "auto":
            what = "the leaves of its forest that they fall into"
        caption = (
            f"{len(study.picture['points']):,} test rows by {study.picture['method']} of {what}."
        )
        figures += framed(
            "Rows as the model sees them", caption, cloud(study) + cloud_legend(study), "chart-rows"
        )
    if study.confusion is not None and "matrix" in study.confusion:
        caption = "Rows are the true classes, columns the predicted ones; test rows."
        figures += framed("What it confuses", caption, matrix(study.confusion), "chart-confusion")
    elif study.confusion is not None:
        caption = "The pairs of classes confused most, on test rows."
        figures += framed(
            "What it confuses", caption, pairs_table(study.confusion), "chart-confusion"
        )
    figures += figure(
        "Are its probabilities right?",
        "Test rows in bins by predicted probability. On the dashed line, both are equal.",
        charts.calibration(),
        "chart-calibration",
    )
    figures += figure("Predicted against true", "Test rows.", charts.fitted(), "chart-fitted")
    if not figures:
        return ""
    title = "<h2>The recommended model on the test rows</h2>"
    return f'<section>{title}<div class="grid-2">{figures}</div></section>'


def _effects(study: Study) -> str:
    """Importances of columns, and the effects of the strongest."""
    effects = study.effects
    if effects is None or not effects["columns"]:
        return ""
    more = effects["n_columns"] - len(effects["columns"])
    rest = f" {counted(more, 'column')} with less are not shown." if more > 0 else ""
    figures = framed(
        "How much each column matters",
        f"How far its contributions are spread over {effects['rows']:,} test rows.{rest}",
        bars(effects),
        "chart-importances",
    )
    spread = [value for each in effects["shapes"] for value in each["y"]]
    names = study.data["class_names"]
    for at, each in enumerate(effects["shapes"]):
        of = ""
        if names is not None:
            positive = 1 if each["output"] is None else each["output"]
            of = f" The score is that of class {names[positive]}."
        figures += framed(
            f"The effect of {shortened(each['name'], 30)}",
            f"Its value against what it adds to the score of a row.{of}",
            shape(each, spread).svg(),
            f"chart-effect-{at + 1}",
        )
    title = "<h2>What its scores rest on</h2>"
    return f'<section>{title}<div class="grid-2">{figures}</div></section>'


def _left_out(study: Study) -> str:
    if not study.left_out:
        return ""
    reasons: dict[str, list[str]] = {}
    for what, why in study.left_out:
        reasons.setdefault(why, []).append(what)
    items = "".join(
        f"<li>{escape(why[:1].upper() + why[1:])}: {prose('; '.join(what))}.</li>"
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
        f"<section><h2>How to do it again</h2>{code(study.settings['command'])}<dl>{listed}</dl>"
        '<p class="soft after">How it was chosen: a fifth of the rows was set aside first and '
        "chose nothing. Cross-validation on the others, in five folds, chose scaling, gamma, p, C, "
        "k and the kernel. The model with the best validation score is recommended first; of all "
        "models within one standard error of it the smallest, or the linear one if it is among "
        "them, second.</p></section>"
    )
