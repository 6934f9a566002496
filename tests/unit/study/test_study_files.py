"""Files of studies: older ones load, writing is all or nothing, a journal survives a kill."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers import some_cell

from kernelight.study import Cell, Study, render_report
from kernelight.study.cells import KernelError
from kernelight.study.journal import Journal

# Written when cells were dictionaries: 100 rows, two kernels, k = 16 and 32.
GOLDEN = Path(__file__).parents[2] / "golden"
STORED, JOURNAL = GOLDEN / "study_v2.json", GOLDEN / "study_v2.jsonl"


def test_a_stored_study_keeps_its_keys_and_values() -> None:
    before = json.loads(STORED.read_text(encoding="utf-8"))
    study = Study.load(STORED)
    after = json.loads(study.to_json())
    # What was left out where it is false is now written.
    for cell in before["cells"]:
        cell.setdefault("default", False)
        cell.setdefault("clear", False)
    assert after == before
    best = study.cell_of(study.recommendation)
    assert (best.candidate, best.k, best.folds, best.n_bytes) == ("gaussian", 16, 5, 184)
    assert best.kernel_error is not None
    assert study.recommendation.headline in str(study)
    assert "<html" in render_report(study)


def test_a_stored_journal_is_read() -> None:
    mark = json.loads(JOURNAL.read_text(encoding="utf-8").partition("\n")[0])["of"]
    journal = Journal(JOURNAL, mark)
    cells = Study.load(STORED).cells
    assert len(journal) == len(cells)
    assert journal.get("linear/None/81/5") == cells[0]
    default = journal.get("default/1024/81/5")
    assert default is not None
    assert default.default


def test_cells_to_plain_and_back() -> None:
    cell = replace(
        some_cell("gmm"), curve=((0.1, 0.8), (1.0, 0.9)), kernel_error=KernelError(0.1, None)
    )
    plain = json.loads(json.dumps(cell.to_plain()))
    assert (plain["doubt"], plain["turns"], plain["bytes"]) == (0.01, 1, 100)
    assert "log_loss" not in plain
    assert Cell.from_plain(plain) == cell


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"score": "high"}, "'score' of a cell is 'high', which is not float"),
        ({"bytes": True}, "'bytes' of a cell is True, which is not int"),
        ({"curve": [1]}, "not a list of pairs of numbers"),
        ({"settings": []}, "not a JSON object"),
        ({"kernel_error": {}}, "a kernelerror has no 'measured'"),
    ],
)
def test_wrong_cells_are_one_sentence(change: dict[str, Any], said: str) -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    stored["cells"][0] |= change
    with pytest.raises(ValueError, match=said):
        Study.from_json(json.dumps(stored))


@pytest.mark.parametrize(
    "text", ["[]", "3", "{}", '{"cells": 5}', '{"cells": [], "recommendation": 0}']
)
def test_what_is_no_study_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not the JSON of a study"):
        Study.from_json(text)


def test_a_study_is_saved_all_or_nothing(tmp_path: Path) -> None:
    """What was there stays if the new study cannot be written."""
    path = tmp_path / "study.json"
    study = Study.load(STORED)
    study.save(path)
    broken = replace(study, notes=["\ud800"])  # a lone surrogate is no UTF-8
    with pytest.raises(UnicodeEncodeError):
        broken.save(path)
    assert Study.load(path) == study
    assert [file.name for file in tmp_path.iterdir()] == ["study.json"]


@pytest.mark.parametrize("end", ["in the head", "in a cell", "before the end of a line"])
def test_a_journal_survives_a_kill_in_the_middle_of_a_line(tmp_path: Path, end: str) -> None:
    path = tmp_path / "cells.jsonl"
    journal = Journal(path, "mark")
    head = len(path.read_bytes())
    journal.add("a", some_cell("gmm"))
    one = len(path.read_bytes())
    journal.add("b", some_cell("linear"))
    whole = path.read_bytes()
    size = {
        "in the head": head // 2,
        "in a cell": one + 20,
        "before the end of a line": len(whole) - 1,
    }[end]
    path.write_bytes(whole[:size])
    again = Journal(path, "mark")
    assert len(again) == (0 if end == "in the head" else 1)
    again.add("a", some_cell("gmm"))
    again.add("b", some_cell("linear"))
    assert len(Journal(path, "mark")) == 2


def test_a_full_disk_is_named_by_the_journal(tmp_path: Path) -> None:
    """A limit of the size of files is what the system has of a full disk."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "cells.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match=r"File too large: '.*cells\.jsonl'"):
            Journal(path, "mark")
        path.unlink()
        resource.setrlimit(resource.RLIMIT_FSIZE, (80, hard))
        journal = Journal(path, "mark")
        with pytest.raises(OSError, match=r"File too large: '.*cells\.jsonl'"):
            journal.add("a", some_cell("gmm"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    again = Journal(path, "mark")
    again.add("a", some_cell("gmm"))
    assert len(Journal(path, "mark")) == 1


def test_a_damaged_line_of_a_journal_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    Journal(path, "mark").add("a", some_cell("gmm"))
    path.write_bytes(path.read_bytes() + b'{"key": "b", "cell": {}}\n')
    with pytest.raises(ValueError, match="line 3 is not a finished model"):
        Journal(path, "mark")
    path.write_text("kernel")
    with pytest.raises(ValueError, match="not the journal of a study"):
        Journal(path, "mark")
