"""The recommendations in words and in code, with the numbers that carry them.

A card says which kernel, by which method and with how many components. C is left to be tuned on all
rows, and so are the scaling and the parameters of the kernel unless the study found a clear winner:
it settled them on few rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelight.base import bytes_text
from kernelight.study.cells import Cell, Recommendation
from kernelight.study.models import SCALERS
from kernelight.study.plan import CANDIDATES, DEFAULT, DEFAULT_COMPONENTS, Candidate
from kernelight.study.result import best_of, by_candidate, choose, comparable
from kernelight.study.text import label_of, score_text, seconds_text

_CANDIDATE = {candidate.name: candidate for candidate in CANDIDATES}


def recommend(
    cells: list[Cell], labels: dict[str, str], task: str, all_rows: int, given: Given | None = None
) -> tuple[Recommendation, Recommendation | None]:
    """The card of the most accurate model by validation, and that of the small one, if it is
    another."""
    best, small = choose(cells)
    final = comparable(cells)
    lines = {name: best_of(some) for name, some in by_candidate(final).items()}
    against = _against(best, lines, labels, task)
    score, spread = score_text(best.score, task), _points(best.standard_error, task)
    why = f"It is the best on rows held out ({score}, standard error {spread})."
    headline = _headline(best, final, task, all_rows)
    first = card_of(
        best, final, task, all_rows, given or Given(), headline, " ".join([why, *against])
    )
    if small is None:
        return first, None
    headline, reason = _small_headline(small, best, task), _small_reason(small, best, task)
    return first, card_of(small, [small], task, all_rows, given or Given(), headline, reason)


def card_of(
    cell: Cell,
    measured: list[Cell],
    task: str,
    all_rows: int,
    given: Given,
    headline: str,
    reason: str,
) -> Recommendation:
    """The recommendation of a cell, with the code that makes its model."""
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
    """The model of a candidate in plain words.

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
    few = [f"From {cell.rows:,} of {all_rows:,} rows"] if cell.rows < all_rows else []
    few += [] if any(each.default for each in final) else ["not compared with the default fit"]
    told = "; ".join([*few, "a longer budget may change this"]) if few else ""
    return (
        f"{start}: {right}, trained in {seconds_text(cell.fit_seconds)}, "
        f"{bytes_text(cell.n_bytes)}." + (f" {told[0].upper()}{told[1:]}." if told else "")
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
    """How the bytes of two models compare.

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
    near = next((name for number, name in named.items() if abs(times / number - 1) < 0.06), None)
    if near:
        return f"{near} of the size" if near != "half" else "half the size"
    return f"1/{times:,.0f} of the size" if times > 8 else f"{100 / times:.0f} % of the size"


def _less(gain: float, task: str) -> str:
    shown = _points(abs(gain), task)
    if float(shown.split()[0]) == 0:
        return "as good"
    return f"{shown} {'less' if gain < 0 else 'more'}"


def _points(difference: float, task: str) -> str:
    return f"{100 * difference:.1f} points" if task == "classification" else f"{difference:.3f}"


def _against(chosen: Cell, lines: dict[str, Cell], labels: dict[str, str], task: str) -> list[str]:
    """The linear model and the references, on the same test rows."""
    said = []
    linear = lines.get("linear")
    if linear is not None and linear is not chosen:
        said.append(f"A linear model reaches {score_text(linear.test, task)} on the test rows.")
    for cell in lines.values():
        if cell.reference:
            ahead = cell.test > chosen.high
            remark = ": clearly more, so look at it too" if ahead else ""
            said.append(
                f"{label_of(cell, labels)}, for reference, {score_text(cell.test, task)}{remark}."
            )
    return said


def parameters_of(chosen: Cell, measured: list[Cell], all_rows: int) -> dict[str, Any] | None:
    """What KernelClassifier or KernelRegressor is to be given, where it is not the default; None
    for the linear model.

    The number of components is the measured one if it was measured on all rows, and if more of them
    were tried; else at least the default's, as there was no time to see what more would bring.
    """
    candidate = _CANDIDATE[chosen.candidate]
    if candidate.name == "linear":
        return None
    own = [cell.k or 0 for cell in measured if cell.candidate == candidate.name]
    tried = chosen.rows == all_rows and (own == [chosen.k] or max(own) >= DEFAULT_COMPONENTS)
    k = chosen.k if tried else max(chosen.k or 0, DEFAULT_COMPONENTS)
    found = {
        "kernel": candidate.kernel,
        "n_components": k,
        "method": candidate.method,
        **_settled(chosen, candidate),
    }
    plain = {"kernel": DEFAULT, "n_components": DEFAULT_COMPONENTS, "method": None, "p": 1.0}
    return {name: value for name, value in found.items() if plain.get(name, ...) != value}


def _settled(chosen: Cell, candidate: Candidate) -> dict[str, Any]:
    """The settings if they were clear; else what must be told so that they are tuned."""
    if chosen.clear:
        return dict(chosen.settings)
    return {"p": "tune"} if "p" in candidate.searched else {}


def code_of(chosen: Cell, task: str, parameters: dict[str, Any] | None) -> str:
    """The expression that makes the model and fits it to X and y."""
    if parameters is None:
        assert chosen.C is not None
        return _linear_code(chosen.settings["scale"], chosen.C, chosen.row_length, task)
    return f"{estimator_code(parameters, task)}.fit(X, y)"


def estimator_code(parameters: dict[str, Any], task: str) -> str:
    """The expression that makes the estimator.

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


_HOMES = {
    "kernelight": ("KernelClassifier", "KernelRegressor", "TableModel", "open_dataset"),
    "pandas": ("DataFrame",),
    "sklearn.impute": ("SimpleImputer",),
    "sklearn.linear_model": ("Ridge",),
    "sklearn.pipeline": ("make_pipeline",),
    "sklearn.preprocessing": ("MaxAbsScaler", "MinMaxScaler", "StandardScaler"),
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
    """What the user has at hand, as Python that is to be pasted calls it."""

    frame: bool = False  # whether ``X`` is a frame
    # how an array became numbers: "missing" values were filled in, or "words" were encoded
    encoded: str = ""
    # the arguments of open_dataset, if what is at hand has the target among its columns
    table: str = ""
    comment: str = ""  # what the names stand for that the code does not make itself


def python_of(code: str, parameters: dict[str, Any] | None, task: str, given: Given) -> str:
    """What can be pasted to make a recommended model: its imports, what makes numbers of words if
    need be, and the fit."""
    body = _body(code, parameters, task, given)
    return with_imports(f"# {given.comment}\n{body}" if given.comment else body)


def _body(code: str, parameters: dict[str, Any] | None, task: str, given: Given) -> str:
    if given.table and parameters is not None:
        return f"model = TableModel({estimator_code(parameters, task)}).fit({given.table})"
    if given.table:
        encoded = code.replace(".fit(X, y)", ".fit(features, y)")
        # X alone is a Dataset
        opened = "X" if given.table == "X" else f"open_dataset({given.table})"
        return f"features, y = {opened}.materialise()\nmodel = {encoded}"
    if parameters is not None:
        return f"model = {code}"
    # scikit-learn's linear models take numbers only.
    if given.frame or given.encoded == "words":
        frame, encoded = (
            "X" if given.frame else "DataFrame(X)",
            code.replace(".fit(X, y)", ".fit(features, y)"),
        )
        return f"features, _ = open_dataset({frame}, target=None).materialise()\nmodel = {encoded}"
    if given.encoded == "missing":
        made = code.removesuffix(".fit(X, y)")
        return f"model = make_pipeline(SimpleImputer(strategy='median'), {made}).fit(X, y)"
    return f"model = {code}"


def _linear_code(scale: str, C: float, length: float, task: str) -> str:
    """The linear model in scikit-learn's words.

    Those do not divide rows by their length, so that |w|^2 weighs length^2 times as much; the intercept, which is penalised in
    a classification, weighs what it did.
    """
    scaler = f"{SCALERS[scale].__name__}()" if scale in SCALERS else ""
    if task == "classification":
        machine = f"LinearSVC(C={C / length**2:.3g}, intercept_scaling={length:.3g})"
    else:
        machine = f"Ridge(alpha={length**2 / (2 * C):.3g})"
    return f"make_pipeline({scaler}, {machine}).fit(X, y)" if scaler else f"{machine}.fit(X, y)"
