"""`ContributionsDisplay`: pictures of contributions, in the way of scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.base.checks import check_choice, check_int
from kernelight.estimators.contributions import Contributions

KINDS = ("importance", "row", "shape")
UP, DOWN, QUIET, LINE = "#2f6db3", "#c65d3b", "#9a9a9a", "#444444"
MOST_NAMED = 12  # words on the axis of a shape
FEW_VALUES = 12  # different numbers that a shape shows one by one
_LABEL = 24  # characters of a name or value


class ContributionsDisplay:
    """Pictures of `Contributions`; needs matplotlib (``pip install kernelight[plots]``).

    Three kinds: "importance", bars of how far the contributions of each column are spread over the
    rows; "row", one row from its base value to its score; "shape", for each column its values
    against its contributions, which is the shape of its effect. Make one by `from_estimator` or
    `from_contributions`.

    Parameters
    ----------
    contributions : Contributions
    output : int, str or None, default=None
        Which score of several, by number or name. None is all of them for importances, that of the
        highest score for a row, and the first for shapes.

    Attributes
    ----------
    ax_ : matplotlib Axes, or array of them for "shape"
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> from kernelight import ContributionsDisplay, KernelRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> display = ContributionsDisplay.from_estimator(KernelRegressor().fit(X, y), X, top=3)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['bp', 'bmi', 's5']
    """

    ax_: Any
    figure_: Any

    def __init__(self, contributions: Contributions, *, output: int | str | None = None) -> None:
        if not isinstance(contributions, Contributions):
            raise TypeError(
                "A display is of what explain returns, a Contributions, got "
                f"{type(contributions).__name__}."
            )
        if contributions.values.ndim == 1:
            raise ValueError("A display is of rows: pass contributions[3:4] for row 3 alone.")
        if not len(contributions):
            raise ValueError("There are no rows to draw.")
        self.contributions = contributions
        self.output = output

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        kind: str = "importance",
        background: Any = None,
        output: int | str | None = None,
        **options: Any,
    ) -> ContributionsDisplay:
        """Explain the rows of ``X`` by a fitted estimator (or `TableModel`), and draw.

        ``background`` is that of `explain`, ``options`` those of `plot`.
        """
        found = estimator.explain(X, background=background)
        return cls.from_contributions(found, kind=kind, output=output, **options)

    @classmethod
    def from_contributions(
        cls,
        contributions: Contributions,
        *,
        kind: str = "importance",
        output: int | str | None = None,
        **options: Any,
    ) -> ContributionsDisplay:
        """Draw what `explain` returned; ``options`` are those of `plot`."""
        return cls(contributions, output=output).plot(kind=kind, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "importance",
        row: int = 0,
        top: int | None = None,
        columns: Sequence[int | str] | None = None,
    ) -> ContributionsDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure. For "shape", an array with an Axes for each column.
        kind : {"importance", "row", "shape"}, default="importance"
        row : int, default=0
            The row of "row".
        top : int or None, default=None
            How many columns; None is 10, or 4 for "shape".
        columns : list of int or str, or None, default=None
            The columns of "shape", by number or name; None is the most important ones.

        Returns
        -------
        ContributionsDisplay
            This object.
        """
        check_choice("kind", kind, KINDS)
        if top is not None:
            check_int("top", top, 1)
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError(
                "Pictures need matplotlib: install it, or kernelight[plots]."
            ) from error
        if kind == "shape":
            numbers = self._chosen(columns, 4 if top is None else top)
            self.ax_ = _axes(pyplot, len(numbers)) if ax is None else np.atleast_1d(ax)
            self.figure_ = self.ax_.flat[0].figure
            if self.ax_.size < len(numbers):
                raise ValueError(f"ax must hold {counted(len(numbers), 'Axes', 'Axes')}.")
            self._draw_shapes(numbers)
            return self
        if ax is None:
            _, ax = pyplot.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        if kind == "row":
            self._draw_row(check_int("row", row, 0, len(self.contributions) - 1), top or 10)
        else:
            self._draw_importances(top or 10)
        return self

    def _chosen(self, columns: Sequence[int | str] | None, top: int) -> list[int]:
        names = self.contributions.feature_names
        if columns is None:
            spread = self._single(0).importances()
            return [int(at) for at in np.argsort(-spread, kind="stable")[:top]]
        found = []
        for column in columns:
            if isinstance(column, str) and column not in names:
                raise ValueError(f"There is no column {column!r}.")
            found.append(
                names.index(column)
                if isinstance(column, str)
                else check_int("A column", column, 0, len(names) - 1)
            )
        if not found:
            raise ValueError("columns must name at least one column.")
        return found

    def _single(self, default: int) -> Contributions:
        return self.contributions.of_output(default if self.output is None else self.output)

    def _draw_importances(self, top: int) -> None:
        shown = self.contributions if self.output is None else self._single(0)
        spread = shown.importances()
        order = np.argsort(-spread, kind="stable")[:top][::-1]
        places = np.arange(len(order))
        self.ax_.barh(places, spread[order], color=UP, height=0.7)
        self.ax_.set_yticks(places, [_cut(shown.feature_names[at]) for at in order])
        self.ax_.set_xlabel("spread of contributions (standard deviation)")
        self.ax_.set_title(_title("Importance of columns", shown))
        _bare(self.ax_)
        hidden = len(spread) - len(order)
        if hidden > 0:
            largest = float(np.sort(spread)[::-1][len(order)])
            self.ax_.annotate(
                f"{counted(hidden, 'more column')}, at most {largest:.3g} each",
                (1, 0),
                xycoords="axes fraction",
                xytext=(-4, 6),
                textcoords="offset points",
                ha="right",
                color=LINE,
                fontsize="small",
            )

    def _draw_row(self, row: int, top: int) -> None:
        best = (
            0 if self.contributions.n_outputs == 1 else int(self.contributions.scores[row].argmax())
        )
        shown = self._single(best)
        values, errors = shown.values[row], shown.standard_errors[row]
        base, score = float(shown.base_values[row]), float(shown.scores[row])
        order = np.argsort(-np.abs(values), kind="stable")
        named = order[: top if len(order) <= top else top - 1]
        rest = order[len(named) :]
        steps = [float(values[at]) for at in named]
        labels = [_named(shown, row, at) for at in named]
        widths = [float(errors[at]) for at in named]
        if len(rest):
            steps.append(float(values[rest].sum()))
            labels.append(counted(len(rest), "other column"))
            widths.append(0.0)
        # from the base value at the bottom to the score at the top, the largest step last
        steps, labels, widths = steps[::-1], labels[::-1], widths[::-1]
        ends = base + np.cumsum(steps)
        starts = np.concatenate([[base], ends[:-1]])
        colors = [UP if step >= 0 else DOWN for step in steps]
        places = np.arange(len(steps))
        self.ax_.barh(places, steps, left=starts, color=colors, height=0.7)
        for at in places[:-1]:
            self.ax_.plot([ends[at]] * 2, [at, at + 1], color=QUIET, linewidth=0.8, zorder=0)
        if np.nanmax(widths, initial=0.0) > 0:
            self.ax_.errorbar(
                ends, places, xerr=widths, fmt="none", ecolor=LINE, elinewidth=0.9, capsize=2
            )
        low, high = min(base, score, *ends), max(base, score, *ends)
        span = high - low or 1.0
        for at, (step, width) in enumerate(zip(steps, widths, strict=True)):
            far = max(starts[at], ends[at] + np.nan_to_num(width)) + 0.015 * span
            self.ax_.text(far, at, f"{step:+.3g}", va="center", fontsize="small", color=LINE)
        self.ax_.axvline(base, color=QUIET, linestyle=":", linewidth=1, zorder=0)
        self.ax_.axvline(score, color=LINE, linewidth=1, zorder=0)
        self.ax_.set_yticks(places, labels)
        self.ax_.set_ylim(-0.6, len(steps) - 0.4)
        self.ax_.set_xlim(low - 0.08 * span, high + 0.2 * span)  # room for the numbers
        self.ax_.set_xlabel(f"score: {base:.4g} (base value) to {score:.4g}")
        self.ax_.set_title(_title(f"Row {row}", shown))
        _bare(self.ax_)

    def _draw_shapes(self, numbers: list[int]) -> None:
        shown = self._single(0)
        axes = list(self.ax_.flat)
        for number, ax in zip(numbers, axes, strict=False):
            _draw_shape(ax, shown.data[:, number], shown.values[:, number])
            ax.set_xlabel(_cut(shown.feature_names[number]))
            ax.axhline(0, color=QUIET, linewidth=0.8, zorder=0)
            _bare(ax)
        low = min(float(shown.values[:, at].min()) for at in numbers)
        high = max(float(shown.values[:, at].max()) for at in numbers)
        pad = 0.05 * (high - low) or 1.0
        for ax in axes[: len(numbers)]:
            ax.set_ylim(low - pad, high + pad)  # shapes are to be compared
        axes[0].set_ylabel("contribution")
        for ax in axes[len(numbers) :]:
            ax.set_visible(False)
        self.figure_.suptitle(_title("Effects of columns", shown))


def _axes(pyplot: Any, count: int) -> NDArray[Any]:
    width = min(count, 4)
    height = -(-count // width)
    size = (max(4.0, 2.9 * width), 2.9 * height + 0.3)
    _, axes = pyplot.subplots(height, width, squeeze=False, figsize=size, layout="constrained")
    return np.asarray(axes)


def _draw_shape(ax: Any, data: NDArray[Any], values: NDArray[np.float64]) -> None:
    """Values of a column against its contributions, with their mean."""
    numbers, dates = _numbers(data), None
    if numbers is None:
        dates = _dates(data)
        numbers = None if dates is None else _seconds(dates)
    if numbers is not None:
        there = np.isfinite(numbers)
        x, y = _means(numbers[there], values[there]) if there.any() else ([], [])
        if dates is None:
            ax.locator_params(axis="x", nbins=5)
            ax.scatter(
                numbers[there], values[there], s=9, color=UP, alpha=_alpha(len(values)), lw=0
            )
            ax.plot(x, y, color=LINE, linewidth=1.4)
        else:
            ax.scatter(dates[there], values[there], s=9, color=UP, alpha=_alpha(len(values)), lw=0)
            ax.plot(np.array(x).astype("datetime64[s]"), y, color=LINE, linewidth=1.4)
            for label in ax.get_xticklabels():
                label.set(rotation=45, ha="right")
        return
    words = np.array(["(missing)" if _is_missing(cell) else str(cell) for cell in data])
    known, which, counts = np.unique(words, return_inverse=True, return_counts=True)
    if len(known) > MOST_NAMED:  # the rarest together
        often = np.argsort(-counts, kind="stable")[: MOST_NAMED - 1]
        place = np.full(len(known), MOST_NAMED - 1)
        place[often] = np.arange(len(often))
        which, known = place[which], np.append(known[often], "(others)")
    means = np.array([values[which == at].mean() for at in range(len(known))])
    order = np.argsort(means)
    rank = np.argsort(order)
    jitter = (np.arange(len(values)) * 0.618034 % 1 - 0.5) * 0.5
    ax.scatter(rank[which] + jitter, values, s=9, color=UP, alpha=_alpha(len(values)), linewidths=0)
    ax.hlines(means[order], np.arange(len(known)) - 0.3, np.arange(len(known)) + 0.3, color=LINE)
    ax.set_xticks(
        np.arange(len(known)),
        [_cut(known[at], 12) for at in order],
        rotation=45 if len(known) > 3 else 0,
        ha="right" if len(known) > 3 else "center",
    )


def _numbers(data: NDArray[Any]) -> NDArray[np.float64] | None:
    """Cells as numbers; None if they are words."""
    if data.dtype.kind in "biuf":
        return data.astype(np.float64)
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in data])
    except (TypeError, ValueError):
        return None


def _dates(data: NDArray[Any]) -> NDArray[np.datetime64] | None:
    """Cells as dates; None if they are none."""
    try:
        cells = ["NaT" if _is_missing(cell) else str(cell) for cell in data]
        return np.array(cells, dtype="datetime64[s]")
    except ValueError:
        return None


def _seconds(dates: NDArray[np.datetime64]) -> NDArray[np.float64]:
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))


def _is_missing(cell: Any) -> bool:
    return cell is None or bool(cell != cell)


def _means(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[Any, Any]:
    """Means over rows of equal x, or of neighbouring ones where there are many."""
    order = np.argsort(x, kind="stable")
    known = np.unique(x)
    if len(known) <= FEW_VALUES:
        return known, [y[x == value].mean() for value in known]
    parts = np.array_split(order, min(20, max(2, len(x) // 10)))
    return [x[part].mean() for part in parts], [y[part].mean() for part in parts]


def _alpha(count: int) -> float:
    return float(np.clip(6 / np.sqrt(count), 0.08, 0.7))


def _named(shown: Contributions, row: int, at: int) -> str:
    cell = shown.data[row, at]
    numeric = isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool)
    text = "missing" if _is_missing(cell) else f"{cell:.6g}" if numeric else str(cell)
    text = text.removesuffix(" 00:00:00")  # of a date without a time of day
    return f"{_cut(shown.feature_names[at])} = {_cut(text, 14)}"


def _title(text: str, shown: Contributions) -> str:
    names = shown.output_names
    several = len(names) > 1 or names == ["prediction"]
    return text if several else f"{text}: score of {_cut(names[0])}"


def _cut(text: Any, most: int = _LABEL) -> str:
    said = str(text)
    return said if len(said) <= most else said[: most - 1] + "…"


def _bare(ax: Any) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
