"""The charts of a study.

Each candidate has one colour and shape on the whole page; the recommended one has the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelight.base import bytes_text, counted
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
        """The recommended candidate is s0; then by validation score, until colours run out."""
        styles = {"linear": "linear", "boosting": "boosting"}
        styles |= {name: "exact" for name in self.study.labels if name.startswith("exact_")}
        ranked = [cell.candidate for cell in self.study.lines if not cell.reference]
        coloured = [name for name in ranked if name not in styles]
        if self.study.recommendation.candidate == "linear":
            coloured = ["linear", *coloured]
        return styles | {
            name: f"s{at}" if at < COLOURS else OTHER for at, name in enumerate(coloured)
        }

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
        """The measured error of the kernel against the one that theory predicts."""
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
        """Observed frequencies against the probabilities that the recommended model predicts."""
        bins = self.study.calibration
        if not bins:
            return None
        positive = self.study.positive_class
        of, are = (
            ("the predicted class", "are of it")
            if positive is None
            else (positive, f"are {positive}")
        )
        ticks = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
        text = lambda fraction: f"{100 * fraction:.0f} %"  # noqa: E731
        title = f"predicted probability of {shortened(of, 24)}"
        x = Axis(0.0, 1.0, LEFT, RIGHT, ticks, text, title)
        y = Axis(0.0, 1.0, BOTTOM, TOP, ticks, text, "observed fraction of test rows")
        points = [
            Point(
                each["predicted"],
                each["observed"],
                f"{counted(each['rows'], 'row')} with a mean probability of "
                f"{100 * each['predicted']:.1f} %: {100 * each['observed']:.1f} % {are}",
            )
            for each in merged(bins)
        ]
        style = self.styles[self.study.recommendation.candidate]
        return Chart(
            x,
            y,
            "Observed frequencies against predicted probabilities",
            [Series("model", style, points)],
            diagonal=True,
        )

    def _scored(
        self, name: str, x: Axis, cells: list[Cell] | None = None, scores: list[float] | None = None
    ) -> Chart:
        shown = scores or [cell.score for cell in cells or []]
        low = self.best.score - self.best.standard_error
        y = linear_axis(
            [*score_window(shown), low, self.best.score],
            BOTTOM,
            TOP,
            self._tick,
            f"validation {self.study.measure}",
            most=1.0,
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
        series = []
        for name, some in by_candidate(cells).items():
            points = [
                Point(x(cell), cell.score, self._tip(cell), (ringed or self._is_chosen)(cell))
                for cell in sorted(some, key=x)
            ]
            series.append(self._one(name, points, line=line))
        return sorted(series, key=lambda one: _rank(one.style))

    def _one(self, name: str, points: list[Point], *, line: bool) -> Series:
        return Series(self.study.labels[name], self.styles[name], points, line)

    def _sort(self, chart: Chart) -> None:
        chart.series.sort(key=lambda one: _rank(one.style))

    def _levels(self, chart: Chart) -> None:
        """Draw models without k as horizontal lines."""
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
            f"on rows held out; trained in {seconds_text(cell.fit_seconds)}, "
            f"{bytes_text(cell.n_bytes)}"
        )


def merged(bins: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Bins of a calibration, those of fewer than ten rows joined with the next one.

    The last one is joined with the one before.

    >>> few = {"predicted": 0.2, "observed": 0.0, "rows": 2}
    >>> many = {"predicted": 0.8, "observed": 0.9, "rows": 18}
    >>> [joined] = merged([few, many, few])
    >>> round(joined["predicted"], 2), round(joined["observed"], 2), joined["rows"]
    (0.69, 0.74, 22)
    """
    joined: list[dict[str, Any]] = []
    for each in bins:
        if joined and joined[-1]["rows"] < FEWEST_IN_BIN:
            each = _joined(joined.pop(), each)
        joined.append(each)
    if len(joined) > 1 and joined[-1]["rows"] < FEWEST_IN_BIN:
        joined[-2:] = [_joined(*joined[-2:])]
    return joined


def _joined(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    rows = a["rows"] + b["rows"]
    means = {
        key: (a[key] * a["rows"] + b[key] * b["rows"]) / rows for key in ("predicted", "observed")
    }
    return means | {"rows": rows}


def pareto(cells: list[Cell], what: str) -> list[Cell]:
    """The Pareto front, from cheap to expensive: no other cell is both cheaper and better."""
    front: list[Cell] = []
    for cell in sorted(cells, key=lambda cell: (getattr(cell, what), -cell.score)):
        if not front or cell.score > front[-1].score:
            front.append(cell)
    return front


def _rank(style: str) -> int:
    order = [*(f"s{at}" for at in range(COLOURS)), "linear", "boosting", "exact", OTHER]
    return order.index(style)
