"""Cells that the repository keeps: a fresh clone, other versions, merges, other data."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")  # of the extra "papers"

from papers import _cells, run
from papers._cells import Cell, Store, cell, is_current, kind
from papers._estimate import estimate
from papers._kept import Entry, read_kept, write_kept

ROOT = Path(__file__).resolve().parents[2]
calls: list[int] = []


@kind("tripled, of course", version=3)
def tripled(*, number: int, cs: list[float]) -> dict[str, object]:
    calls.append(number)
    return {"cs": cs, "value": 3 * number + 1 / 3}


def _cells_of(*numbers: int) -> list[Cell]:
    return [cell("tripled, of course", number=number, cs=[0.1, 3.1622777]) for number in numbers]


def _keep(tmp_path: Path, name: str, *numbers: int) -> Path:
    """A checkout that kept these cells; its folder of cells."""
    kept = tmp_path / name / "papers" / "cells"
    store = Store(tmp_path / name / "cells.jsonl", kept)
    run.work(_cells_of(*numbers), store, jobs=1, minutes=None)
    store.keep(lambda _: True)
    return kept


def test_a_fresh_clone_goes_on(tmp_path: Path) -> None:
    kept = _keep(tmp_path, "one", 1, 2)
    clone = tmp_path / "clone" / "papers" / "cells"
    shutil.copytree(kept, clone)
    calls.clear()
    store = Store(tmp_path / "clone" / "cells.jsonl", clone)
    run.work(_cells_of(1, 2, 3), store, jobs=1, minutes=None)
    assert calls == [3]
    assert store.get(_cells_of(2)[0]) == {"cs": [0.1, 3.16228], "value": 6.33333}
    store.keep(lambda _: True)
    assert read_kept(clone).keys() == {each.key for each in _cells_of(1, 2, 3)}


def test_what_is_kept_is_what_was_computed(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    kept = tmp_path / "kept"
    before = Store(path, kept)
    run.work(_cells_of(7), before, jobs=1, minutes=None)
    before.keep(lambda _: True)
    path.unlink()
    after = Store(path, kept)
    assert after.get(_cells_of(7)[0]) == before.get(_cells_of(7)[0])
    assert after.seconds(_cells_of(7)[0]) == before.seconds(_cells_of(7)[0]) is not None
    (file,) = kept.glob("*.jsonl")
    assert file.name == "tripled-of-course.jsonl"
    assert file.read_text().count("0.1,3.16") == 1  # what a result repeats is not written


def test_lines_are_sorted_and_a_file_without_news_is_left_alone(tmp_path: Path) -> None:
    kept = _keep(tmp_path, "one", 5, 3, 4)
    (file,) = kept.glob("*.jsonl")
    numbers = [json.loads(line)["params"]["number"] for line in file.read_text().splitlines()]
    assert numbers == [3, 4, 5]
    before = file.stat().st_ino, file.stat().st_mtime_ns
    store = Store(tmp_path / "one" / "cells.jsonl", kept)
    store.keep(lambda _: True)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == before


def test_cells_of_an_older_version_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = _keep(tmp_path, "one", 1, 2)
    monkeypatch.setitem(_cells._KINDS, "tripled, of course", _cells._Kind(tripled, 4))
    store = Store(tmp_path / "other" / "cells.jsonl", kept)
    assert _cells_of(1)[0] not in store
    run.work(_cells_of(1), store, jobs=1, minutes=None)
    capsys.readouterr()
    store.keep(lambda _: True)
    assert "keeps 1 cells; it had 2" in capsys.readouterr().out
    assert read_kept(kept).keys() == {_cells_of(1)[0].key}
    monkeypatch.delitem(_cells._KINDS, "tripled, of course")
    store.keep(lambda _: True)
    assert list(kept.glob("*.jsonl")) == []


def test_what_is_not_wanted_is_dropped(tmp_path: Path) -> None:
    kept = _keep(tmp_path, "one", 1, 2)
    wanted = {_cells_of(2)[0].key}
    Store(tmp_path / "one" / "cells.jsonl", kept).keep(lambda key: key in wanted)
    assert read_kept(kept).keys() == wanted


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_branches_that_both_computed_merge(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    folder = repository / "papers" / "cells"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / ".gitattributes", repository)

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=repository, check=True, capture_output=True)

    def branch(name: str, *numbers: int) -> None:
        git("checkout", "-q", "-b", name, "main")
        store = Store(tmp_path / name / "cells.jsonl", folder)
        run.work(_cells_of(*numbers), store, jobs=1, minutes=None)
        store.keep(lambda _: True)
        git("add", "-A")
        git("commit", "-q", "-m", name)

    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    branch("odd", 1, 3, 5)
    branch("even", 2, 3, 4)
    git("checkout", "-q", "odd")
    git("merge", "-q", "even")
    store = Store(tmp_path / "merged" / "cells.jsonl", folder)
    assert all(each in store for each in _cells_of(1, 2, 3, 4, 5))
    store.keep(lambda _: True)
    (file,) = folder.glob("*.jsonl")
    assert len(file.read_text().splitlines()) == 5


def test_torn_lines_are_left_out_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = _keep(tmp_path, "one", 1, 2)
    (file,) = kept.glob("*.jsonl")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("<<<<<<< ours\n" + lines[0] + lines[1][:40])
    capsys.readouterr()
    assert read_kept(kept).keys() == {_cells_of(1)[0].key}
    said = capsys.readouterr().err
    assert "2 lines are no cells" in said
    assert len(said.splitlines()) == 1


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = _keep(tmp_path, "one", 1)
    (file,) = kept.glob("*.jsonl")
    before = file.read_bytes()

    def broken(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("os.fsync", broken)
    with pytest.raises(OSError, match="no room"):
        write_kept(kept, {_cells_of(2)[0].key: Entry({"value": 1})}, is_current)
    assert file.read_bytes() == before


def test_full_runs_keep_and_quick_ones_compute(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build, kept = home / "build" / "papers", home / "papers" / "cells"
    asked = ["be/pictures", "lgmm/gram", "--build", str(build)]
    assert run.main(["cnk/exact", "--sets", "Vowel", "--build", str(build), "--minutes", "0"]) == 0
    assert list(kept.glob("*.jsonl")) == []
    assert run.main(["lgmm/gram", "--without", "gram", "--build", str(build)]) == 0
    assert list(kept.glob("*.jsonl")) == []  # leaves out the cells that measure time
    assert run.main(asked) == 0
    assert {path.name for path in kept.glob("*.jsonl")} == {"gram.jsonl"}
    shutil.rmtree(build)
    capsys.readouterr()
    assert run.main(asked) == 0
    assert "1 cells are there, 0 to do" in capsys.readouterr().out
    assert run.main([*asked, "--anew", "--minutes", "0"]) == 0
    assert "0 cells are there, 1 to do" in capsys.readouterr().out
    assert run.main([*asked, "--quick", "--minutes", "0"]) == 0
    assert "0 cells are there" in capsys.readouterr().out


def test_kept_cells_of_other_data_are_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = home / "papers" / "cells"
    kept.mkdir(parents=True)
    (kept / "data.json").write_text('{"loader.py": 1}')
    asked = ["lgmm/gram", "--minutes", "0", "--build", str(home / "build" / "papers")]
    assert run.main(asked) == 2
    said = capsys.readouterr().err
    assert "loader.py differ): give --anew to compute them anew" in said
    assert len(said.splitlines()) == 1
    assert run.main([*asked, "--anew"]) == 0
    (kept / "data.json").write_text("{")
    assert run.main(asked) == 2
    assert "data.json is damaged" in capsys.readouterr().err


def test_estimate_goes_by_what_finished_cells_took(tmp_path: Path) -> None:
    cells = [
        cell("tripled, of course", number=number, cs=[1.0], weight=number) for number in range(5)
    ]
    store = Store(tmp_path / "cells.jsonl")
    store.put(cells[1], {}, 3600.0)  # for a weight of 1
    said = estimate({"a": cells[:3], "b": cells[2:]}, store)
    assert [line.split() for line in said.splitlines()] == [
        ["a", "2", "cells", "2.0", "h"],
        ["b", "2", "cells", "7.0", "h"],
        ["all", "4", "cells", "9.0", "h", "of", "one", "core"],
    ]


def test_estimate_is_printed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main(["cnk/exact", "--quick", "--estimate", "--build", str(tmp_path)]) == 0
    assert "h of one core" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run.main(["cnk/exact", "--without", "nothing"])
    assert "no kind is called nothing" in capsys.readouterr().err
