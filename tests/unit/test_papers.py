"""papers/: cells that are kept, votes that are LIBSVM's, and a run on a folder that is made up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("matplotlib")  # of the extra "papers"
sys.path.insert(0, str(ROOT))

from papers import _cells, _data, _svm, run  # noqa: E402
from papers._cells import Store, cell, kind  # noqa: E402
from papers._exact import Entry, exact_cell  # noqa: E402
from papers._page import Plan, best_of, chosen_of, printed, table  # noqa: E402

LOADER = """
import numpy as np


def names():
    return ["Vowel", "Sonar", "M-Noise1"]


def load(name, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 120)
    X = (rng.random((120, 6)) + np.eye(6)[y]).astype(np.float32)
    return X[:80], y[:80], X[80:], y[80:]
"""
calls: list[int] = []


@kind("counted", version=1)
def counted(*, number: int) -> dict[str, int]:
    calls.append(number)
    if number < 0:
        raise KeyboardInterrupt
    return {"square": number**2}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data that are made up."""
    path = tmp_path / "data"
    path.mkdir()
    (path / "loader.py").write_text(LOADER)
    monkeypatch.setenv("KERNELIGHT_DATA", str(path))
    _data.loader.cache_clear()
    _data.split.cache_clear()
    yield path
    _data.loader.cache_clear()
    _data.split.cache_clear()


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    wanted = [cell("counted", number=number, stage=stage) for stage, number in enumerate((1, 2, -1, 3))]
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


def test_a_changed_computation_is_done_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_votes_are_those_of_libsvm(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    X, y = rng.standard_normal((150, 4)), np.sort(rng.integers(0, n_classes, 100) * 3)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    model = _svm.SVC(C=2.0, kernel="precomputed").fit(K[:100, :100], y)
    np.testing.assert_array_equal(_svm.predicted(model, y, K[100:, :100]), model.predict(K[100:, :100]))


def test_gammas_of_the_papers() -> None:
    assert len(_svm.GAMMAS) == 58
    assert sorted(set(_svm.GAMMAS)) == _svm.GAMMAS


def test_table() -> None:
    assert table(("set", "paper", "ours"), [("Vowel", 59.1, None)]) == (
        "| set | paper | ours |\n| --- | --- | --- |\n| Vowel | 59.10 |  |\n"
    )
    assert table(("set",), []) == ""
    assert printed("CNK", "Vowel", "min-max") == 59.1
    assert printed("CNK", "Vowel", "no such method") is None


def test_exact_cell_is_chosen_on_the_test_part_and_by_validation(folder: Path) -> None:
    plan = Plan(quick=True, present=frozenset({"Vowel"}))
    for kernel in ("min-max", "RBF", "linear"):
        result = exact_cell(Entry("CNK", "Vowel", "Vowel", "unit"), kernel, 0, plan).compute()
        assert json.loads(json.dumps(result)) == result
        assert len(result["test"]) == len(result["cs"])
        assert best_of(result)[0] == max(result["test"]) >= chosen_of(result)
        assert best_of(result)[0] > 80


def test_quick_run_on_a_folder(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["cnk/exact", "lgmm/noise", "be/pictures", "--quick", "--build", str(tmp_path)]
    assert run.main(asked) == 0
    page = (tmp_path / "quick" / "papers.md").read_text()
    assert "| Vowel | min-max | 59.10 |" in page
    assert "Satimage" in page.partition("not there")[2]
    figures = sorted((tmp_path / "quick" / "papers").glob("*.svg"))
    assert [path.stem for path in figures] == ["be-codes", "cnk-exact"]
    before = [path.read_bytes() for path in figures]
    capsys.readouterr()
    assert run.main(asked) == 0
    assert "0 to do" in capsys.readouterr().out
    assert [path.read_bytes() for path in figures] == before
    assert (tmp_path / "quick" / "papers.md").read_text() == page


@pytest.mark.parametrize("given", [None, "nowhere"])
def test_without_data_one_sentence(given: str | None, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "KERNELIGHT_DATA"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    options = [] if given is None else ["--data", str(tmp_path / given)]
    done = subprocess.run(
        [sys.executable, str(ROOT / "papers" / "run.py"), "--quick", *options], env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "make papers DATA=<folder>" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_without_data_one_sentence() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "KERNELIGHT_DATA"}
    done = subprocess.run(
        ["make", "papers-quick"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "make papers-quick DATA=<folder>" in done.stderr
    assert len(done.stderr.splitlines()) == 1
