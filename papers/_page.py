"""The page: prose and tables as Markdown, and the book that a report is written from."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from papers._cells import Cell, Result, Store
from papers._figures import Panel, draw

MOST_PANELS = 12  # in a file, which should stay below 100 kB
WIDTH = 100  # columns of a line of prose
BETWEEN_SENTENCES = re.compile(r"(?<=[^\s.][.?]) (?=[A-Z`])")


@dataclass(frozen=True)
class Plan:
    """The profile, and the data sets that are present."""

    quick: bool
    present: frozenset[str]

    def of(self, full: Iterable[str], quick: Iterable[str]) -> list[str]:
        """The data sets of the profile that are present."""
        return [name for name in (quick if self.quick else full) if name in self.present]


@dataclass
class Book:
    """What a page is made from, and what is made for it.

    ``planned`` are the cells of each script, ``failures`` says which of them failed and why, and
    ``figures`` are the files that were drawn.
    """

    store: Store
    plan: Plan
    page: Path
    planned: dict[str, list[Cell]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)

    @property
    def n_planned(self) -> int:
        """The number of different cells of all scripts."""
        return len({cell for cells in self.planned.values() for cell in cells})

    @property
    def n_done(self) -> int:
        """The number of planned cells that are computed."""
        return len(
            {cell for cells in self.planned.values() for cell in cells if cell in self.store}
        )

    def get(self, wanted: Cell) -> Result | None:
        """A result, None if it is not computed yet."""
        return self.store.get(wanted)

    def figure(self, name: str, caption: str, panels: Sequence[Panel], **style: Any) -> str:
        """Draw panels into files beside the page, and return the Markdown that shows them.

        A file has at most MOST_PANELS of them. Without panels the text is empty.
        """
        panels = [panel for panel in panels if panel.lines]
        n_files = -(-len(panels) // MOST_PANELS)
        text = ""
        for at in range(n_files):
            ending = "" if n_files == 1 else f"-{at + 1}"
            path = self.page.parent / self.page.stem / f"{name}{ending}.svg"
            draw(path, panels[at * MOST_PANELS : (at + 1) * MOST_PANELS], **style)
            said = caption if n_files == 1 else f"{caption} Part {at + 1} of {n_files}."
            text += self.shown(path, said) + "\n"
        return text

    def shown(self, path: Path, caption: str) -> str:
        """The Markdown that shows a figure which has been drawn."""
        self.figures.append(path)
        address = path.relative_to(self.page.parent).as_posix()
        return f"![{caption}]({address})\n\n{prose(f'*{caption}*')}\n"


def prose(text: str, bullet: str = "") -> str:
    """A paragraph or an item of a list: each sentence begins a line, and no line is too long."""
    indent = " " * len(bullet)
    wrapped = [
        textwrap.fill(
            sentence,
            WIDTH,
            initial_indent=indent if at else bullet,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for at, sentence in enumerate(BETWEEN_SENTENCES.split(text))
    ]
    return "\n".join(wrapped)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, "" without rows; numbers have two digits, None is an empty cell."""
    lines = [[_text(value) for value in row] for row in rows]
    if not lines:
        return ""
    rule = ["---"] * len(heads)
    return "\n".join(f"| {' | '.join(line)} |" for line in ([*heads], rule, *lines)) + "\n"


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def best_of(result: Result) -> tuple[float, float, float | None]:
    """Accuracy, C and gamma, chosen on the test part as in the papers."""
    at = int(np.argmax(result["test"]))
    return result["test"][at], result["cs"][at], result["gammas"][at]


def chosen_of(result: Result) -> float:
    """The test accuracy at the C and gamma that validation chose."""
    return float(result["chosen_test"][result["chosen_c"]])


def mean_curve(results: Sequence[Result], name: str = "test") -> np.ndarray:
    """The mean over repetitions."""
    curves: np.ndarray = np.array([result[name] for result in results])
    return np.asarray(curves.mean(axis=0))
