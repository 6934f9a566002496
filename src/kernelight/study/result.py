"""What a study found: plain data, to and from JSON, and the rule by which one model is recommended.

The rule (Breiman's, of one standard error): of all models that validation finds within one standard error of the best, the
smallest one. If the linear model is among them, linear is enough. The test rows have no part in it; they report.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 1
FEWEST_KERNELS = 3  # on the rows that are compared


@dataclass
class Study:
    """The result of `compare`.

    Attributes
    ----------
    task : "classification" or "regression"
    data : dict
        Name, rows, features, classes and the like.
    cells : list of dict
        One for each model tried: candidate, k, rows, settings, C, the validation ``score`` with its standard error ``doubt``,
        the ``curve`` over C, ``test`` with its interval ``low`` to ``high``, ``fit_seconds``, ``rows_a_second``, ``bytes``,
        ``kernel_error``.
    recommendation : dict
        ``candidate``, ``k``, ``headline``, ``reason``, ``code``, ``parameters`` of the front door and the cell's numbers.
    left_out : list of [what, why]
        What was not tried: not admitted by the data, halved away, or no time.

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
    cells: list[dict[str, Any]]
    recommendation: dict[str, Any]
    left_out: list[list[str]]
    notes: list[str]
    settings: dict[str, Any]
    versions: dict[str, str]
    seconds: float
    interrupted: bool = False
    confusion: dict[str, Any] | None = None
    picture: dict[str, Any] | None = None
    fitted: dict[str, Any] | None = None
    format: int = field(default=FORMAT)

    @property
    def measure(self) -> str:
        """What scores are."""
        return "accuracy" if self.task == "classification" else "R²"

    @property
    def final_cells(self) -> list[dict[str, Any]]:
        """Cells on the largest number of rows that kernels reached: those that can be compared."""
        return comparable(self.cells)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """One cell for each candidate, its own choice of k by the rule; the recommended one first, then by validation."""
        found = [best_of(cells) for cells in by_candidate(self.final_cells).values()]
        chosen = self.recommendation["candidate"]
        return sorted(
            found,
            key=lambda cell: (cell["reference"], cell["candidate"] != chosen, -cell["score"]),
        )

    def to_json(self) -> str:
        """As JSON text."""
        return json.dumps(asdict(self), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Study:
        """The study that `to_json` wrote."""
        try:
            found = json.loads(text)
            study = cls(**found)
        except (ValueError, TypeError) as error:
            raise ValueError(f"This is not the JSON of a study: {error}") from error
        if study.format != FORMAT:
            raise ValueError(
                f"This study has format {study.format}; this version of kernelight reads {FORMAT}."
            )
        return study

    def save(self, path: str | Path) -> Path:
        """Write the JSON to a file."""
        path = Path(path)
        path.write_text(self.to_json(), encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read a file that `save` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def __str__(self) -> str:
        return f"{self.recommendation['headline']} {self.recommendation['reason']}"


def comparable(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cells of the most rows that three kernels were tried on (all, if fewer were); of the most rows at all if none was.

    One kernel that was still in time for all rows is no comparison: then fewer rows, with all kernels, are better.
    """
    own = [cell for cell in cells if not cell["reference"]]
    kernels: dict[int, set[str]] = {}
    for cell in own:
        if cell["candidate"] != "linear":
            kernels.setdefault(cell["rows"], set()).add(cell["candidate"])
    needed = min(FEWEST_KERNELS, max(map(len, kernels.values()), default=0))
    enough = [rows for rows, names in kernels.items() if len(names) >= needed]
    most = max(enough or [cell["rows"] for cell in own], default=0)
    return [cell for cell in cells if cell["rows"] == most]


def by_candidate(cells: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Cells by their candidate, in order of appearance."""
    found: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        found.setdefault(cell["candidate"], []).append(cell)
    return found


def best_of(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """The smallest model within one standard error of the best; of equal size, the better one."""
    best = max(cells, key=lambda cell: cell["score"])
    enough = [cell for cell in cells if cell["score"] >= best["score"] - best["doubt"]]
    return min(enough, key=lambda cell: (cell["bytes"], -cell["score"]))


def choose(cells: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The recommended cell, and the best by validation."""
    own = [cell for cell in comparable(cells) if not cell["reference"]]
    best = max(own, key=lambda cell: cell["score"])
    enough = [cell for cell in own if cell["score"] >= best["score"] - best["doubt"]]
    linear = [cell for cell in enough if cell["candidate"] == "linear"]
    return (linear[0] if linear else best_of(own)), best
