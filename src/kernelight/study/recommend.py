"""The text of the recommendations; `result.choose` chooses.

There are three forms: in words, in Python, and with the numbers behind them.

A recommendation (on the page: a card) names a kernel, a method and the number of components. C is
left to be tuned on all rows. So are the scaling and the parameters of the kernel, which the study
tuned on few rows, unless one setting led clearly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelight.base import bytes_text
from kernelight.estimators import DEFAULT_COMPONENTS
from kernelight.study.cells import Cell, Recommendation
from kernelight.study.plan import AVERAGE, CANDIDATES, DEFAULT, Candidate
from kernelight.study.result import best_of, by_candidate, choose, comparable
from kernelight.study.text import label_of, score_text, seconds_text

_CANDIDATE = {candidate.name: candidate for candidate in CANDIDATES}


def recommend(
    cells: list[Cell], labels: dict[str, str], task: str, all_rows: int, given: Given | None = None
) -> tuple[Recommendation, Recommendation | None]:
    """The most accurate model by validation, and the small one if it is another."""
    best, small = choose(cells)
    final = comparable(cells)
    lines = {name: best_of(some) for name, some in by_candidate(final).items()}
    given = given or Given()
    score, error = score_text(best.score, task), _points(best.standard_error, task)
    why = f"It is the best on rows held out ({score}, standard error {error})."
    reason = " ".join([why, *_against(best, lines, labels, task)])
    headline = _headline(best, final, task, all_rows)
    first = card_of(best, final, task, all_rows, given, headline, reason)
    if small is None:
        return first, None
    headline, reason = _small_headline(small, best, task), _small_reason(small, best, task)
    return first, card_of(small, [small], task, all_rows, given, headline, reason)


def card_of(
    cell: Cell,
    measured: list[Cell],
    task: str,
    all_rows: int,
    given: Given,
    headline: str,
    reason: str,
) -> Recommendation:
    """The recommendation of a cell, with the code that trains its model.

    ``measured`` are the cells that it was compared with.
    """
    parameters = parameters_of(cell, measured, all_rows)
    code = code_of(cell, task, parameters)
    return Recommendation(
        candidate=cell.candidate,
        k=cell.k,
        rows=cell.rows,
        score=cell.score,
        test=cell.test,
        low=cell.low,
        high=cell.high,
        n_bytes=cell.n_bytes,
        fit_seconds=cell.fit_seconds,
        headline=headline,
        reason=reason,
        code=code,
        python=python_of(code, parameters, task, given),
        parameters=parameters,
    )


def in_words(name: str, k: int | None) -> str:
    """A candidate with k components in plain words.

    >>> in_words("gmm", 1024), in_words("linear", None)
    ('a min-max kernel with 1,024 codes', 'a linear model')
    """
    candidate = _CANDIDATE[name]
    return candidate.words if k is None else f"{candidate.words} with {k:,} {candidate.unit}"


def _headline(cell: Cell, final: list[Cell], task: str, all_rows: int) -> str:
    right = (
        f"{score_text(cell.test, task)} of the test rows right"
        if task == "classification"
        else f"R² {score_text(cell.test, task)} on the test rows"
    )
    start = (
        "A linear model is enough"
        if cell.candidate == "linear"
        else f"Use {in_words(cell.candidate, cell.k)}"
    )
    caveats = [f"from {cell.rows:,} of {all_rows:,} rows"] if cell.rows < all_rows else []
    caveats += [] if any(each.default for each in final) else ["not compared with the default fit"]
    caveats += ["a longer budget may change this"] if caveats else []
    caveat = "; ".join(caveats)
    return (
        f"{start}: {right}, trained in {seconds_text(cell.fit_seconds)}, "
        f"{bytes_text(cell.n_bytes)}." + (f" {caveat[0].upper()}{caveat[1:]}." if caveat else "")
    )


def _small_headline(small: Cell, best: Cell, task: str) -> str:
    words = (
        "a linear model is enough"
        if small.candidate == "linear"
        else in_words(small.candidate, small.k)
    )
    size, less = _size_of(small.n_bytes, best.n_bytes), _less(small.test - best.test, task)
    return f"Or, smaller, {words}: {size}, {less} on the test rows."


def _small_reason(small: Cell, best: Cell, task: str) -> str:
    kind = "simplest" if small.candidate == "linear" else "smallest"
    scores = f"{score_text(small.score, task)} against {score_text(best.score, task)}"
    return (
        f"It is the {kind} model within one standard error of the best on rows held out: {scores}."
    )


def _size_of(small: int, best: int) -> str:
    """The size of a small model compared with that of the best.

    >>> _size_of(10, 104), _size_of(8, 10), _size_of(4, 10)
    ('a tenth of the size', '80 % of the size', '40 % of the size')
    """
    times = best / max(1, small)
    named = {
        2: "half",
        3: "a third",
        4: "a quarter",
        5: "a fifth",
        6: "a sixth",
        8: "an eighth",
        10: "a tenth",
    }
    name = next((name for number, name in named.items() if abs(times / number - 1) < 0.06), None)
    if name:
        return f"{name} of the size" if name != "half" else "half the size"
    return f"1/{times:,.0f} of the size" if times > 8 else f"{100 / times:.0f} % of the size"


def _less(gain: float, task: str) -> str:
    """The difference of two scores in words."""
    difference = _points(abs(gain), task)
    if float(difference.split()[0]) == 0:
        return "as good"
    return f"{difference} {'less' if gain < 0 else 'more'}"


def _points(difference: float, task: str) -> str:
    return f"{100 * difference:.1f} points" if task == "classification" else f"{difference:.3f}"


def _against(chosen: Cell, lines: dict[str, Cell], labels: dict[str, str], task: str) -> list[str]:
    """Sentences about the linear model and the references, on the same test rows."""
    sentences = []
    linear = lines.get("linear")
    if linear is not None and linear is not chosen:
        score = score_text(linear.test, task)
        sentences.append(f"A linear model reaches {score} on the test rows.")
    for cell in lines.values():
        if cell.reference:
            ahead = cell.test > chosen.high
            remark = ": clearly more, so look at it too" if ahead else ""
            sentences.append(
                f"{label_of(cell, labels)}, for reference, {score_text(cell.test, task)}{remark}."
            )
    return sentences


def parameters_of(chosen: Cell, measured: list[Cell], all_rows: int) -> dict[str, Any] | None:
    """Arguments of KernelClassifier or KernelRegressor that are not the default ones.

    None for the linear model. The number of components is that of the cell if it was measured on
    all rows, and if more components were tried; else it is at least the default, as there was no
    time to see what more components would gain.
    """
    candidate = _CANDIDATE[chosen.candidate]
    if candidate.name == "linear":
        return None
    if candidate.kind == AVERAGE:
        return {"kernel": candidate.kernel}
    tried = [cell.k or 0 for cell in measured if cell.candidate == candidate.name]
    settled = chosen.rows == all_rows and (tried == [chosen.k] or max(tried) >= DEFAULT_COMPONENTS)
    k = chosen.k if settled else max(chosen.k or 0, DEFAULT_COMPONENTS)
    parameters = {
        "kernel": candidate.kernel,
        "n_components": k,
        "method": candidate.method,
        **_settled(chosen, candidate),
    }
    # the number of components is always said: without it, few rows would take the exact kernel
    default = {"kernel": DEFAULT, "method": None, "p": 1.0}
    return {name: value for name, value in parameters.items() if default.get(name, ...) != value}


def _settled(chosen: Cell, candidate: Candidate) -> dict[str, Any]:
    """The settings if they led clearly; else what is not tuned by default and should be."""
    if chosen.clear:
        return dict(chosen.settings)
    return {"p": "tune"} if "p" in candidate.searched else {}


def code_of(chosen: Cell, task: str, parameters: dict[str, Any] | None) -> str:
    """An expression that makes the model and fits it to X and y."""
    if parameters is None:
        assert chosen.C is not None
        return _linear_code(chosen.settings["scale"], chosen.C, chosen.row_length, task)
    return f"{estimator_code(parameters, task)}.fit(X, y)"


def estimator_code(parameters: dict[str, Any], task: str) -> str:
    """An expression that makes the estimator.

    >>> estimator_code({"kernel": "gaussian", "n_components": 4096}, "regression")
    "KernelRegressor('gaussian', n_components=4096)"
    """
    kind = "Classifier" if task == "classification" else "Regressor"
    arguments = [
        repr(value)
        if name == "kernel"
        else f"{name}={value!r}"
        if isinstance(value, str)
        else f"{name}={value:g}"
        for name, value in parameters.items()
    ]
    return f"Kernel{kind}({', '.join(arguments)})"


# Modules that printed code imports from.
_HOMES = {
    "kernelight": (
        "ColumnScaler",
        "KernelClassifier",
        "KernelRegressor",
        "TableModel",
        "open_dataset",
    ),
    "pandas": ("DataFrame",),
    "sklearn.impute": ("SimpleImputer",),
    "sklearn.linear_model": ("Ridge",),
    "sklearn.pipeline": ("make_pipeline",),
    "sklearn.svm": ("LinearSVC",),
}


def with_imports(body: str) -> str:
    """Code with the imports that it needs."""
    lines = []
    for home, names in _HOMES.items():
        used = [name for name in names if f"{name}(" in body]
        if used:
            lines.append(f"from {home} import {', '.join(used)}")
    return "\n".join([*lines, "", body])


@dataclass(frozen=True)
class Given:
    """What the user gave to compare, as the printed Python code calls it."""

    #: Whether ``X`` is a frame.
    frame: bool = False
    #: How an array became numbers: "missing" values were filled in, or "words" were encoded.
    encoded: str = ""
    #: The arguments of open_dataset, if the target is a column of the data.
    table: str = ""
    #: What the names stand for that the code uses and does not define.
    comment: str = ""


def python_of(code: str, parameters: dict[str, Any] | None, task: str, given: Given) -> str:
    """A program that trains a recommended model: imports, encoding if it is needed, and the fit."""
    body = _body(code, parameters, task, given)
    return with_imports(f"# {given.comment}\n{body}" if given.comment else body)


def _body(code: str, parameters: dict[str, Any] | None, task: str, given: Given) -> str:
    if given.table and parameters is not None:
        return f"model = TableModel({estimator_code(parameters, task)}).fit({given.table})"
    if given.table:
        encoded = code.replace(".fit(X, y)", ".fit(features, y)")
        # "X" without arguments is a Dataset
        opened = "X" if given.table == "X" else f"open_dataset({given.table})"
        return f"features, y = {opened}.materialise()\nmodel = {encoded}"
    if parameters is not None:
        return f"model = {code}"
    # scikit-learn's linear models take numbers only.
    if given.frame or given.encoded == "words":
        frame = "X" if given.frame else "DataFrame(X)"
        encoded = code.replace(".fit(X, y)", ".fit(features, y)")
        return f"features, _ = open_dataset({frame}, target=None).materialise()\nmodel = {encoded}"
    if given.encoded == "missing":
        made = code.removesuffix(".fit(X, y)")
        return f"model = make_pipeline(SimpleImputer(strategy='median'), {made}).fit(X, y)"
    return f"model = {code}"


def _linear_code(scale: str, C: float, length: float, task: str) -> str:
    """The linear model as scikit-learn has it.

    The study divides the scaled rows by ``length``, and scikit-learn does not. Its weights w are
    shorter by that factor, so that C becomes C / length^2. The intercept is penalised too in a
    classification: ``intercept_scaling`` leaves its part of the penalty as it was.
    """
    if task == "classification":
        model = f"LinearSVC(C={C / length**2:.3g}, intercept_scaling={length:.3g})"
    else:
        model = f"Ridge(alpha={length**2 / (2 * C):.3g})"
    if scale == "none":
        return f"{model}.fit(X, y)"
    return f"make_pipeline(ColumnScaler({scale!r}), {model}).fit(X, y)"
