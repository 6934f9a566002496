"""The result of a study as plain data, and the rule by which models are recommended.

The first recommendation is the model with the best validation score. The second (the rule of one
standard error, by Breiman) is the smallest one within one standard error of it, or the linear model
if that is among them. The test rows have no part in the choice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from kernelight.data import replacing
from kernelight.study.cells import Cell, Recommendation

FORMAT, READABLE = 2, (1, 2)
FEWEST_KERNELS = 3  # that make a comparison, where there is no default fit


@dataclass
class Study:
    """The result of `compare`.

    Attributes
    ----------
    task : "classification" or "regression"
    data : dict
        Name, rows, features, classes and the like; ``positive_class`` is the one of two that the
        AUC, the Brier score and the calibration are about: the second of numbers, the rarer of
        names, as in the estimators.
    cells : list of Cell
        One for each model tried: candidate, k, rows, settings, C, the validation ``score`` with its
        ``standard_error``, the ``curve`` over C, ``test`` with its interval ``low`` to ``high``,
        ``fit_seconds``, ``rows_per_second``, ``n_bytes``, ``kernel_error``; of classifiers
        ``roc_auc`` of the test rows (of the positive class, or the mean over classes, each
        against the rest), and with probabilities ``log_loss`` and ``brier_score``.
    recommendation : Recommendation
        The most accurate model by validation: ``candidate``, ``k``, ``headline``, ``reason``,
        ``code`` (an expression), ``python`` (a program with its imports), ``command`` (if the data
        are a file), ``parameters`` of the estimator, and the numbers of the cell.
    small : Recommendation or None
        The smallest model within one standard error of it, likewise; None if that is the same one.
    calibration : list of dict or None
        Of the recommended classifier: bins of test rows by probability, with the mean that was
        ``predicted``, the fraction that was ``observed`` and the number of ``rows``; of the
        positive class, or of the predicted class if there are more than two.
    effects : dict or None
        Of the recommended model, where its scores are sums over columns: importances of columns,
        and of the four most important ones the values of test rows and their contributions.
    left_out : list of [what, why]
        What was not tried: the data rule it out, others were better, or there was no time.

    See Also
    --------
    compare : Runs one.
    write_report : Writes its report.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelight.study import Study, compare
    >>> study = compare(*load_iris(return_X_y=True), kernels=["gmm"], components=[32])
    >>> Study.from_json(study.to_json()) == study
    True
    """

    task: str
    data: dict[str, Any]
    labels: dict[str, str]
    cells: list[Cell]
    recommendation: Recommendation
    left_out: list[list[str]]
    notes: list[str]
    settings: dict[str, Any]
    versions: dict[str, str]
    seconds: float
    interrupted: bool = False
    confusion: dict[str, Any] | None = None
    picture: dict[str, Any] | None = None
    fitted: dict[str, Any] | None = None
    small: Recommendation | None = None
    calibration: list[dict[str, Any]] | None = None
    effects: dict[str, Any] | None = None
    format: int = field(default=FORMAT)

    @property
    def measure(self) -> str:
        """The name of the score."""
        return "accuracy" if self.task == "classification" else "R²"

    @property
    def positive_class(self) -> str | None:
        """The one of two classes that scores of one class are about; None if there are more."""
        names = self.data["class_names"]
        if names is None or len(names) != 2:
            return None
        return str(self.data.get("positive_class", names[1]))

    @property
    def cards(self) -> list[Recommendation]:
        """The recommendations: the most accurate model, and the small one if it is another."""
        return [self.recommendation] if self.small is None else [self.recommendation, self.small]

    def cell_of(self, card: Recommendation) -> Cell:
        """The cell that a recommendation is about."""
        return next(
            cell
            for cell in self.final_cells
            if (cell.candidate, cell.k) == (card.candidate, card.k)
        )

    @property
    def final_cells(self) -> list[Cell]:
        """Cells on the number of rows that the default fit reached: those that can be compared."""
        return comparable(self.cells)

    @property
    def lines(self) -> list[Cell]:
        """A cell for each candidate: the recommended one first, then by score, then references.

        Its k is the smallest within one standard error of its best.
        """
        chosen = self.recommendation.candidate
        cells = [
            self.cell_of(self.recommendation) if name == chosen else best_of(own)
            for name, own in by_candidate(self.final_cells).items()
        ]
        return sorted(
            cells, key=lambda cell: (cell.reference, cell.candidate != chosen, -cell.score)
        )

    def to_json(self) -> str:
        """As JSON text."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        plain |= {
            "cells": [cell.to_plain() for cell in self.cells],
            "recommendation": self.recommendation.to_plain(),
            "small": None if self.small is None else self.small.to_plain(),
        }
        if self.effects is None:
            del plain["effects"]  # as before studies had them
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Study:
        """The study that `to_json` wrote."""
        try:
            plain = json.loads(text)
            form = plain.get("format", FORMAT)
        except (ValueError, AttributeError) as error:
            raise ValueError(f"This is not the JSON of a study: {error}") from error
        if form not in READABLE:
            readable = ", ".join(map(str, READABLE))
            raise ValueError(
                f"This study has format {form}; this version of kernelight reads {readable}."
            )
        try:
            small = plain.get("small")
            typed = {
                "cells": [Cell.from_plain(cell) for cell in plain["cells"]],
                "recommendation": Recommendation.from_plain(plain["recommendation"]),
                "small": None if small is None else Recommendation.from_plain(small),
            }
            return cls(**plain | typed)
        except KeyError as error:
            raise ValueError(f"This is not the JSON of a study: it has no {error}") from error
        except (ValueError, TypeError) as error:
            raise ValueError(f"This is not the JSON of a study: {error}") from error

    def save(self, path: str | Path) -> Path:
        """Write the JSON to a file, all or nothing."""
        path = Path(path)
        text = self.to_json().encode()
        with replacing(path) as file:
            file.write(text)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read a file that `save` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def __str__(self) -> str:
        return f"{self.recommendation.headline} {self.recommendation.reason}"


def comparable(cells: list[Cell]) -> list[Cell]:
    """Cells on the rows of the default fit: what is recommended must be compared with it.

    Without a default fit: cells on the most rows that three kernels were tried on (or as many as
    there are), else those on the most rows.
    """
    default = [cell.rows for cell in cells if cell.default]
    if default:
        return [cell for cell in cells if cell.rows == max(default)]
    own = [cell for cell in cells if not cell.reference]
    kernels: dict[int, set[str]] = {}
    for cell in own:
        if cell.candidate != "linear":
            kernels.setdefault(cell.rows, set()).add(cell.candidate)
    needed = min(FEWEST_KERNELS, max(map(len, kernels.values()), default=0))
    enough = [rows for rows, names in kernels.items() if len(names) >= needed]
    most = max(enough or [cell.rows for cell in own], default=0)
    return [cell for cell in cells if cell.rows == most]


def by_candidate(cells: list[Cell]) -> dict[str, list[Cell]]:
    """Cells by their candidate, in order of appearance."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.candidate, []).append(cell)
    return groups


def best_of(cells: list[Cell]) -> Cell:
    """The smallest model within one standard error of the best; of equal size, the better one."""
    best = max(cells, key=lambda cell: cell.score)
    enough = [cell for cell in cells if cell.score >= best.score - best.standard_error]
    return min(enough, key=lambda cell: (cell.n_bytes, -cell.score))


def choose(cells: list[Cell]) -> tuple[Cell, Cell | None]:
    """The best cell by validation, and the smallest within one standard error of it.

    The second is None if it is the same. A score on fewer held-out rows than others have counts one
    standard error less: it must lead clearly. Of equal scores the smaller model is the better one.
    A linear model counts as the smallest.
    """
    own = [cell for cell in comparable(cells) if not cell.reference]
    best = max(own, key=ranking(own))
    enough = [cell for cell in own if cell.score >= best.score - best.standard_error]
    small = min(enough, key=lambda cell: (cell.candidate != "linear", cell.n_bytes, -cell.score))
    return best, (small if small.n_bytes < best.n_bytes else None)


def ranking(own: list[Cell]) -> Callable[[Cell], tuple[float, float]]:
    """The key by which cells are ranked, best last."""
    most = max((cell.held_out for cell in own), default=0)

    def key(cell: Cell) -> tuple[float, float]:
        unsure = cell.held_out < 0.9 * most
        return cell.score - (cell.standard_error if unsure else 0.0), -cell.n_bytes

    return key
