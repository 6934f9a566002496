"""The charts of a study.

Each candidate has one colour and shape on the whole page; the recommended one has the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelight.base import bytes_text
from kernelight.study.cells import Cell
from kernelight.study.report.axes import Axis, linear_axis, log_axis, score_window
from kernelight.study.report.pictures import shortened
from kernelight.study.report.svg import (
    BOTTOM,
    LEFT,
    OTHER,
    RIGHT,
    TOP,
    Chart,
    Point,
    Series,
    legend,
)
from kernelight.study.report.terms import said_of_model
from kernelight.study.result import Study, by_candidate
from kernelight.study.text import label_of, score_text, seconds_text

COLOURS = 7
FEWEST_IN_BIN = 10  # rows of a point of the calibration curve


class Charts:
    """Charts of one study, with colours shared among them."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.final = study.final_cells
        self.own = [cell for cell in self.final if not cell.reference]
        self.best = max(self.own, key=lambda cell: cell.score)
        self.styles = self._styles()

    def _styles(self) -> dict[str, str]:
        """The recommended candidate is s0; then by validation, until colours run out."""
        found = {"linear": "linear", "boosting": "boosting"}
        ranked = [cell.candidate for cell in self.study.lines if not cell.reference]
        kernels = [name for name in ranked if name not in found]
        found |= {name: f"s{at}" if at < COLOURS else OTHER for at, name in enumerate(kernels)}
        found |= {name: "exact" for name in self.study.labels if name.startswith("exact_")}
        if self.study.recommendation.candidate == "linear":
            found |= {
                name: f"s{at + 1}" if at + 1 < COLOURS else OTHER for at, name in enumerate(kernels)
            } | {"linear": "s0"}
        return found

    def legend(self) -> str:
        """Names and marks of all models, once for all charts."""
        names = [cell.candidate for cell in self.study.lines]
        models = [
            (self.styles[name], self.study.labels[name], said_of_model(name)) for name in names
        ]
        return legend(sorted(models, key=lambda model: _rank(model[0])))

    def components(self) -> Chart | None:
        """Validation score against k."""
        cells = [cell for cell in self.own if cell.k is not None]
        if not cells:
            return None
        ks = sorted({cell.k or 0 for cell in cells})
        x = log_axis(ks, LEFT, RIGHT, lambda k: f"{k:,.0f}", "components k", at=ks)
        chart = self._scored("Score against the number of components", x, cells)
        chart.series = self._series(cells, lambda cell: cell.k or 0, line=True)
        self._levels(chart)
        return chart

    def penalty(self) -> Chart | None:
        """Validation score against C, for each candidate at its own k."""
        lines = [cell for cell in self.study.lines if len(cell.curve) > 1]
        if not lines:
            return None
        Cs = sorted({C for cell in lines for C, _ in cell.curve})
        x = log_axis(Cs, LEFT, RIGHT, lambda C: f"{C:g}", "C", at=Cs)
        scores = [score for cell in lines for _, score in cell.curve]
        chart = self._scored("Score against C", x, scores=scores)
        for cell in lines:
            points = [
                Point(
                    C, score, f"{self._label(cell)}, C = {C:g}: {self._score(score)}", cell.C == C
                )
                for C, score in cell.curve
            ]
            chart.series.append(self._one(cell.candidate, points, line=True))
        return chart

    def price(self, what: str) -> Chart:
        """Validation score against ``fit_seconds`` or ``n_bytes``, with the Pareto front."""
        text, title = {
            "fit_seconds": (seconds_text, "seconds to train"),
            "n_bytes": (bytes_text, "size of the model"),
        }[what]
        cells = [cell for cell in self.final if cell.candidate in self.styles]
        x = log_axis([getattr(cell, what) for cell in cells], LEFT, RIGHT, text, title)
        chart = self._scored(f"Score against {title}", x, cells)
        front = pareto(cells, what)
        chart.front = [(getattr(cell, what), cell.score) for cell in front]
        chart.series = self._series(
            cells,
            lambda cell: getattr(cell, what),
            line=False,
            ringed=lambda cell: any(cell is one for one in front),
        )
        return chart

    def kernel_errors(self) -> Chart | None:
        """Measured distance from the kernel against the one that theory predicts."""
        errors: dict[str, list[tuple[Cell, float, float]]] = {}
        for cell in self.own:
            error = cell.kernel_error
            if error is not None and error.predicted:
                errors.setdefault(cell.candidate, []).append(
                    (cell, error.measured, error.predicted)
                )
        if not errors:
            return None
        values = [value for some in errors.values() for _, *both in some for value in both]
        text = lambda value: f"{value:.2g}"  # noqa: E731
        x = log_axis(values, LEFT, RIGHT, text, "predicted by theory")
        y = log_axis(values, BOTTOM, TOP, text, "measured root mean square error")
        chart = Chart(x, y, "Measured against predicted error of the kernel", diagonal=True)
        for name, some in errors.items():
            points = [
                Point(
                    predicted,
                    measured,
                    f"{self._label(cell)}: measured {measured:.3g}, predicted {predicted:.3g}",
                )
                for cell, measured, predicted in some
            ]
            chart.series.append(self._one(name, points, line=False))
        self._sort(chart)
        return chart

    def fitted(self) -> Chart | None:
        """Predicted against true targets of a regression."""
        if self.study.fitted is None:
            return None
        true, predicted = self.study.fitted["true"], self.study.fitted["predicted"]
        text = lambda value: f"{value:.3g}"  # noqa: E731
        x = linear_axis(true + predicted, LEFT, RIGHT, text, "true value")
        y = linear_axis(true + predicted, BOTTOM, TOP, text, "predicted")
        points = [
            Point(a, b, f"true {a:.4g}, predicted {b:.4g}")
            for a, b in zip(true, predicted, strict=True)
        ]
        return Chart(
            x,
            y,
            "Predicted against true values",
            [Series("rows", "dot", points, line=False)],
            diagonal=True,
        )

    def calibration(self) -> Chart | None:
        """The share of rows that was observed against the probability that was predicted, by the
        recommended model."""
        bins = self.study.calibration
        if not bins:
            return None
        names = self.study.data["class_names"]
        of, so = (
            (names[1], f"are {names[1]}")
            if len(names) == 2
            else ("the predicted class", "are of it")
        )
        ticks = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
        text = lambda share: f"{100 * share:.0f} %"  # noqa: E731
        x = Axis(
            0.0, 1.0, LEFT, RIGHT, ticks, text, f"predicted probability of {shortened(of, 24)}"
        )
        y = Axis(0.0, 1.0, BOTTOM, TOP, ticks, text, "observed share of test rows")
        points = [
            Point(
                each["predicted"],
                each["observed"],
                f"{each['rows']:,} rows with a mean probability of {100 * each['predicted']:.1f} "
                f"%: "
                f"{100 * each['observed']:.1f} % {so}",
            )
            for each in merged(bins)
        ]
        style = self.styles[self.study.recommendation.candidate]
        return Chart(
            x,
            y,
            "Observed shares against predicted probabilities",
            [Series("model", style, points)],
            diagonal=True,
        )

    def _scored(
        self, name: str, x: Axis, cells: list[Cell] | None = None, scores: list[float] | None = None
    ) -> Chart:
        shown = scores or [cell.score for cell in cells or []]
        low = self.best.score - self.best.standard_error
        most = 1.0
        y = linear_axis(
            [*score_window(shown), low, self.best.score],
            BOTTOM,
            TOP,
            self._tick,
            f"validation {self.study.measure}",
            most=most,
        )
        label = f"Within one standard error of the best: {self._score(low)} and more"
        return Chart(x, y, name, band=(low, y.high, label))

    def _series(
        self,
        cells: list[Cell],
        x: Callable[[Cell], float],
        *,
        line: bool,
        ringed: Callable[[Cell], bool] | None = None,
    ) -> list[Series]:
        chart = []
        for name, some in by_candidate(cells).items():
            points = [
                Point(x(cell), cell.score, self._tip(cell), (ringed or self._is_chosen)(cell))
                for cell in sorted(some, key=x)
            ]
            chart.append(self._one(name, points, line=line))
        return sorted(chart, key=lambda one: _rank(one.style))

    def _one(self, name: str, points: list[Point], *, line: bool) -> Series:
        return Series(self.study.labels[name], self.styles[name], points, line)

    def _sort(self, chart: Chart) -> None:
        chart.series.sort(key=lambda one: _rank(one.style))

    def _levels(self, chart: Chart) -> None:
        """Models without k are lines across."""
        for cell in self.study.lines:
            if cell.k is None and cell.score > chart.y.low:
                chart.levels.append(
                    (
                        cell.score,
                        self.study.labels[cell.candidate],
                        self.styles[cell.candidate],
                        self._tip(cell),
                    )
                )

    def _is_chosen(self, cell: Cell) -> bool:
        chosen = self.study.recommendation
        return (cell.candidate, cell.k) == (chosen.candidate, chosen.k)

    def _label(self, cell: Cell) -> str:
        return label_of(cell, self.study.labels)

    def _score(self, score: float) -> str:
        return score_text(score, self.study.task)

    def _tick(self, score: float) -> str:
        return f"{100 * score:.4g} %" if self.study.task == "classification" else f"{score:.3g}"

    def _tip(self, cell: Cell) -> str:
        return (
            f"{self._label(cell)}: {self._score(cell.score)} ± {self._score(cell.standard_error)} "
            f"on rows held out; "
            f"trained in {seconds_text(cell.fit_seconds)}, {bytes_text(cell.n_bytes)}"
        )


def merged(bins: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Bins of few rows joined with the next ones, as shares of a handful of rows say nothing; the
    last few join those before.

    >>> few, many = {"predicted": 0.2, "observed": 0.0, "rows": 2}, {"predicted": 0.8, "observed": 0.9, "rows": 18}
    >>> [(round(each["predicted"], 2), round(each["observed"], 2), each["rows"]) for each in merged([few, many, few])]
    [(0.69, 0.74, 22)]
    """
    found: list[dict[str, Any]] = []
    for each in bins:
        if found and found[-1]["rows"] < FEWEST_IN_BIN:
            each = _joined(found.pop(), each)
        found.append(each)
    if len(found) > 1 and found[-1]["rows"] < FEWEST_IN_BIN:
        found[-2:] = [_joined(*found[-2:])]
    return found


def _joined(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    rows = a["rows"] + b["rows"]
    means = {
        key: (a[key] * a["rows"] + b[key] * b["rows"]) / rows for key in ("predicted", "observed")
    }
    return means | {"rows": rows}


def pareto(cells: list[Cell], what: str) -> list[Cell]:
    """Cells than which none is both cheaper and better, from cheap to dear."""
    found: list[Cell] = []
    for cell in sorted(cells, key=lambda cell: (getattr(cell, what), -cell.score)):
        if not found or cell.score > found[-1].score:
            found.append(cell)
    return found


def _rank(style: str) -> int:
    order = [*(f"s{at}" for at in range(COLOURS)), "linear", "boosting", "exact", OTHER]
    return order.index(style)
