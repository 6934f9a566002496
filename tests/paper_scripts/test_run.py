"""Runs of papers/: cells that are kept, generated data, and errors."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import sampled

pytest.importorskip("matplotlib")  # of the extra "papers"

from papers import _cells, _work, run
from papers._cells import Store, cell, kind

ROOT = Path(__file__).resolve().parents[2]
calls: list[int] = []


@kind("counted", version=1)
def counted(*, number: int) -> dict[str, int]:
    calls.append(number)
    if number < 0:
        raise KeyboardInterrupt
    return {"square": number**2}


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    wanted = [
        cell("counted", number=number, stage=stage) for stage, number in enumerate((1, 2, -1, 3))
    ]
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        run.work(wanted, Store(path), jobs=1, minutes=None)
    assert calls == [1, 2, -1]
    with path.open("a") as handle:
        handle.write('{"key": "torn')  # killed while it wrote
    calls.clear()
    store = Store(path)
    run.work([*wanted[:2], wanted[3]], store, jobs=1, minutes=None)
    assert calls == [3]
    assert [store.get(done) for done in (wanted[1], wanted[3])] == [{"square": 4}, {"square": 9}]
    assert len(path.read_text().splitlines()) == 4  # the torn one, too
    assert Store(path).get(wanted[2]) is None


def test_a_changed_computation_is_done_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "cells.jsonl")
    run.work([cell("counted", number=5)], store, jobs=1, minutes=None)
    assert cell("counted", number=5) in store
    monkeypatch.setitem(_cells._KINDS, "counted", _cells._Kind(counted, 2))
    assert cell("counted", number=5) not in store


def test_no_cell_is_begun_when_time_is_over(tmp_path: Path) -> None:
    calls.clear()
    run.work([cell("counted", number=7)], Store(tmp_path / "cells.jsonl"), jobs=1, minutes=0)
    assert calls == []


def test_several_processes_give_the_same(tmp_path: Path) -> None:
    wanted = [cell("counted", number=number) for number in range(5)]
    store = Store(tmp_path / "cells.jsonl")
    run.work(wanted, store, jobs=2, minutes=None)
    assert [store.get(done) for done in wanted] == [{"square": number**2} for number in range(5)]


def test_quick_run_on_a_folder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["cnk/exact", "lgmm/noise", "be/pictures", "--quick", "--build", str(tmp_path)]
    assert run.main(asked) == 0
    page = (tmp_path / "quick" / "papers.md").read_text()
    assert "| Vowel | min-max | 59.10 |" in page
    assert "Satimage" in page.partition("not there")[2]
    figures = sorted((tmp_path / "quick" / "papers").glob("*.svg"))
    assert [path.stem for path in figures] == ["be-codes", "cnk-exact", "lead"]
    before = [path.read_bytes() for path in figures]
    capsys.readouterr()
    assert run.main(asked) == 0
    assert "0 to do" in capsys.readouterr().out
    assert [path.read_bytes() for path in figures] == before
    assert (tmp_path / "quick" / "papers.md").read_text() == page


@pytest.mark.parametrize("given", sampled([None, "nowhere"], None))
def test_without_data_one_sentence(given: str | None, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "KERNELIGHT_DATA"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    options = [] if given is None else ["--data", str(tmp_path / given)]
    done = subprocess.run(
        [sys.executable, str(ROOT / "papers" / "run.py"), "--quick", *options],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "make papers DATA=<folder>" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_without_data_one_sentence() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "KERNELIGHT_DATA"}
    done = subprocess.run(
        ["make", "papers-quick"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "make papers-quick DATA=<folder>" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@kind("failing", version=1)
def failing(*, number: int) -> dict[str, int]:
    if number % 2:
        raise ValueError(f"{number} is odd.\nAnd a second line.")
    return {"number": number}


@kind("process", version=1)
def process(*, number: int) -> dict[str, int]:
    return {"process": os.getpid(), "threads": int(os.environ.get("KERNELIGHT_NUM_THREADS", 0))}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_cell_that_fails_stops_no_other(
    jobs: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "cells.jsonl")
    cells = [cell("failing", number=number) for number in range(4)]
    failures = run.work(cells, store, jobs=jobs, minutes=None)
    assert sorted(failures) == [
        "failing 1: ValueError: 1 is odd.",
        "failing 3: ValueError: 3 is odd.",
    ]
    assert [done in store for done in cells] == [True, False, True, False]
    assert capsys.readouterr().err.count("Failed: failing") == 2


def test_timed_cells_come_last_and_have_the_machine(tmp_path: Path) -> None:
    store = Store(tmp_path / "cells.jsonl")
    cells = [cell("process", number=number, timed=number < 2) for number in range(4)]
    order = [done for done, _ in _work.computed(cells, 2, None)]
    assert {done.key for done in order[2:]} == {done.key for done in cells[:2]}
    run.work(cells, store, jobs=2, minutes=None)
    results = [store.get(done) for done in cells]
    assert [result["process"] == os.getpid() for result in results] == [True, True, False, False]
    assert [result["threads"] for result in results[2:]] == [1, 1]


def test_no_process_outlives_the_one_that_began_it(tmp_path: Path) -> None:
    script = """
import os, sys, time
from papers import _work
from papers._cells import cell, kind

@kind("slow", version=1)
def slow(*, number):
    open(f"{sys.argv[1]}/{number}", "w").write(str(os.getpid()))
    time.sleep(600)

list(_work.computed([cell("slow", number=0), cell("slow", number=1)], 2, None))
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], env=environment)
    try:
        files = [tmp_path / "0", tmp_path / "1"]
        _until(lambda: all(file.exists() and file.read_text() for file in files))
        children = [int(file.read_text()) for file in files]
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    _until(lambda: not any(_runs(child) for child in children))


def _until(holds: object) -> None:
    assert callable(holds)
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # a zombie has ended


def test_results_of_other_data_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["lgmm/noise", "--quick", "--build", str(tmp_path / "build")]
    assert run.main(asked) == 0
    (folder / "More.npz").write_text("a new set changes nothing")
    assert run.main(asked) == 0
    (folder / "loader.py").write_text((folder / "loader.py").read_text() + "\n# changed")
    capsys.readouterr()
    assert run.main(asked) == 2
    said = capsys.readouterr().err
    assert "loader.py differ" in said
    assert len(said.splitlines()) == 1


def test_a_damaged_record_of_the_data(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "build" / "quick" / "data.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"loader.py": 1')
    assert run.main(["lgmm/noise", "--quick", "--build", str(tmp_path / "build")]) == 2
    said = capsys.readouterr().err
    assert f"{record} is damaged" in said
    assert len(said.splitlines()) == 1


def test_a_set_that_is_not_there(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run.main(["cnk/exact", "--quick", "--sets", "Nope", "--build", str(tmp_path / "build")])
        == 2
    )
    assert capsys.readouterr().err.startswith(
        "The folder has no data set called Nope; it has M-Noise1, Sonar, Vowel"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def names(:", "SyntaxError"),
        ("names = 3", "no names()"),
        ("names = list\nload = list", "no data set"),
        ("load = list\ndef names():\n    return 1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_loader_that_is_none(
    text: str, said: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "loader.py").write_text(text)
    assert run.main(["cnk/exact", "--quick", "--build", str(tmp_path / "build")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_a_data_set_that_is_not_in_our_table(folder: Path, tmp_path: Path) -> None:
    (folder / "loader.py").write_text(
        (folder / "loader.py").read_text().replace('"Sonar"', '"Car"')
    )
    run.main(["lgmm/exact", "--minutes", "0", "--build", str(tmp_path / "build")])
    assert "Car (" in (tmp_path / "build" / "full" / "papers.md").read_text()


def test_a_page_that_shows_more_is_left_alone(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.PAGE.parent.mkdir()
    run.PAGE.write_text("made from 1,234 of 5,000 cells of the plan")
    asked = ["--page", "--build", str(home / "build" / "papers")]
    assert run.main(asked) == 0
    assert "24.7 % of its plan, this run has 0.0 %: it is left as it is" in capsys.readouterr().out
    assert run.PAGE.read_text().startswith("made from 1,234")
    run.PAGE.unlink()
    assert run.main(asked) == 0
    assert "made from 0 of" in run.PAGE.read_text()


def test_a_script_alone_has_the_options() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "papers.lgmm.exact", "--help"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "--minutes" in done.stdout


def test_an_interrupt_is_one_sentence(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_: object) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "work", interrupted)
    assert run.main(["lgmm/noise", "--quick", "--build", str(tmp_path / "build")]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert (tmp_path / "build" / "quick" / "papers.md").exists()
