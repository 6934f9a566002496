"""Numbers as text, the same in the terminal and in the report."""

from __future__ import annotations

import re

from kernelight.study.cells import Cell


def score_text(score: float, task: str) -> str:
    """Accuracy in per cent, R^2 as a number.

    >>> score_text(0.98765, "classification"), score_text(0.98765, "regression")
    ('98.8 %', '0.988')
    """
    return f"{100 * score:.1f} %" if task == "classification" else f"{score:.3f}"


def seconds_text(seconds: float) -> str:
    """Seconds with two digits.

    >>> seconds_text(0.0123), seconds_text(1.234), seconds_text(75)
    ('12 ms', '1.2 s', '1 min 15 s')
    """
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 59.5:
        return f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def count_text(count: float) -> str:
    """A large number with two digits.

    >>> count_text(950), count_text(12345), count_text(2_300_000)
    ('950', '12k', '2.3M')
    """
    if count < 999.5:
        return f"{count:.0f}"
    shown, unit = (count / 1e3, "k") if count < 999_500 else (count / 1e6, "M")
    return f"{shown:.1f}{unit}" if shown < 9.95 else f"{shown:.0f}{unit}"


def held_together(text: str) -> str:
    """Text with no-break spaces between numbers and their units.

    >>> held_together("within 0.4 % of k = 64").replace(chr(160), "_")
    'within 0.4_% of k_=_64'
    """
    return re.sub(
        r"(?<=\d) (?=%|[kMG]?B\b|m?s\b|min\b|rows\b)|(?<=\bk) (?== )|(?<=\bk =) ", "\u00a0", text
    )


def label_of(cell: Cell, labels: dict[str, str]) -> str:
    """The candidate with its number of components."""
    name = labels[cell.candidate]
    return name if cell.k is None else f"{name} with k = {cell.k:,}"
