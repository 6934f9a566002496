"""The errata and the lead of the page: simulations that decide, and sentences that are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")  # of the extra "papers"

from papers import _front, _lead
from papers._cells import Store
from papers._exact import DECADES, HALF_DECADES, Entry, exact_cell
from papers._page import Book, Plan
from papers._printed import printed
from papers.errata.simulations import SIMULATIONS, erratum
from papers.errata.table import ERRATA, Claim, cells, report


@pytest.mark.parametrize("name", sorted(SIMULATIONS))
def test_each_simulation_gives_the_correction_and_not_the_print(name: str) -> None:
    result = erratum(name=name, estimates=20)
    assert ERRATA[name].is_shown(result), (result, ERRATA[name])


def test_a_claim_is_a_value_or_a_side() -> None:
    near, far = {"mean": 1.03, "error": 0.01}, {"mean": 1.1, "error": 0.01}
    assert not Claim(1.0).disagrees(near)
    assert Claim(1.0).disagrees(far)
    assert Claim(1.2, "above").disagrees(far)
    assert not Claim(1.0, "above").disagrees(far)
    assert Claim(1.0, "below").disagrees(far)
    assert not Claim(1.0, "below").disagrees(near)
    assert str(Claim(1.0, "below")) == "below 1"


def _book(tmp_path: Path) -> Book:
    plan = Plan(quick=False, present=frozenset({"Splice", "M-Noise1"}))
    return Book(Store(tmp_path / "cells.jsonl"), plan, tmp_path / "papers.md")


def test_an_erratum_that_no_simulation_shows_is_marked(tmp_path: Path) -> None:
    book = _book(tmp_path)
    assert "|" not in report(book)
    for each, mean in zip(cells(book.plan)[:2], (0.3033, 3.5), strict=True):
        book.store.put(each, {"mean": mean, "error": 0.001})
    lines = [line for line in report(book).splitlines() if "±" in line and line[0] == "|"]
    assert ["not shown" in line for line in lines] == [False, True]
    assert "1 formulas, claims and scripts (1 in CNK)" in _lead.lead(book, [])


def test_the_lead_counts(tmp_path: Path) -> None:
    book = _book(tmp_path)
    assert _lead.lead(book, []) == ""
    for dataset, kernel, off in (
        ("Splice", "MM-acos", 0.3),
        ("Splice", "acos", 0.7),
        ("M-Noise1", "MM-acos", 6.0),
    ):
        entry = Entry("CNK", dataset, dataset, "raw")
        accuracy = (printed("CNK", dataset, kernel) or 0) + off
        cs = HALF_DECADES if dataset == "Splice" else DECADES
        book.store.put(
            exact_cell(entry, kernel, 0),
            {
                "cs": cs,
                "test": [accuracy] * len(cs),
                "gammas": [None] * len(cs),
                "chosen_test": [accuracy] * len(cs),
                "chosen_gammas": [None] * len(cs),
                "chosen_c": 0,
            },
        )
    said = " ".join(_lead.lead(book, [("A claim", "", "", "**does not hold**")]).split())
    assert "1 of 2 printed accuracies" in said
    assert "0 of 1 on images made again do" in said
    assert "furthest off are M-Noise1 (MM-acos +6.0 points), Splice (acos +0.7 points)" in said
    assert "miss their bar: A claim." in said
    assert (tmp_path / "papers" / "lead.svg").exists()
    assert _front.page(book, []).startswith("# The papers, computed again\n\n![")
