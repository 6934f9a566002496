"""``kernelight index``: an index of files, through its life, and wrong use in one sentence."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from in_process import called, run

from kernelight.kernels import GMM
from kernelight.neighbors import Index


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("index")
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(80, 3)).round(3)
    lines = [f"r{n},{a},{b},{c}" for n, (a, b, c) in enumerate(X)]
    (place / "known.csv").write_text("\n".join(["name,a,b,c", *lines]) + "\n")
    lines = [f"{name},{a},{b},{c}" for name, (a, b, c) in zip("xy", 1.02 * X[:2], strict=True)]
    (place / "new.csv").write_text("\n".join(["name,a,b,c", *lines]) + "\n")
    run("index", "create", place / "made", place / "known.csv", "--ids", "name", "-q")
    return place


@pytest.fixture
def index(folder, tmp_path):
    shutil.copytree(folder / "made", tmp_path / "i")
    return tmp_path / "i"


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def numbers(path):
    return {row["name"]: [float(row[c]) for c in "abc"] for row in table(path.read_text())}


def test_a_life(index, folder):
    new, known = folder / "new.csv", numbers(folder / "known.csv")
    pairs = table(run("index", "search", index, new, "--ids", "name", "--above", 0.8))
    rows = numbers(new)
    K = GMM()(list(rows.values()), list(known.values()))
    assert 0 < len(pairs) <= (K >= 0.8).sum()
    for pair in pairs:
        u, v = list(rows).index(pair["row"]), list(known).index(pair["id"])
        assert float(pair["similarity"]) == pytest.approx(K[u, v])
    assert run("index", "add", index, new, "--ids", "name") == (
        f"2 rows were added: {index} has 82 rows.\n"
    )
    said = run("index", "add", index, new, "--ids", "name", status=2)
    assert "2 ids, the first 'x', are in the index already: pass --replace" in said
    run("index", "add", index, new, "--ids", "name", "--replace", "-q")
    found = table(run("index", "search", index, new, "--ids", "name", "--top", 1))
    assert [(each["row"], each["id"]) for each in found] == [("x", "x"), ("y", "y")]
    assert "1 row was removed" in run("index", "remove", index, "r3")
    said = run("index", "remove", index, "r3", "r4", status=2)
    assert "Id 'r3' is not in the index" in said
    assert "--ignore-missing" in said
    answer = json.loads(run("index", "remove", index, "r3", "r4", "--ignore-missing", "--json"))
    assert answer == {"index": str(index), "removed": 1, "rows": 80}
    assert json.loads(run("index", "info", index, "--json"))["removed"] == 2
    assert "expected recall" in run("index", "info", index)
    run("index", "compact", index)
    assert json.loads(run("index", "info", index, "--json"))["removed"] == 0
    assert run("index", "verify", index) == f"{index} is sound: 80 rows.\n"


def test_rows_without_ids_are_numbered(folder, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,1\n")
    run("index", "create", tmp_path / "i", tmp_path / "a.csv", "-q", "--codes-only")
    found = table(run("index", "search", tmp_path / "i", tmp_path / "a.csv", "--top", 1))
    assert [(each["row"], each["id"]) for each in found] == [("1", "1"), ("2", "2")]
    assert "standard_error" in found[0]
    said = run("index", "add", tmp_path / "i", tmp_path / "a.csv", status=2)
    assert "need ids" in said


def test_more_than_there_are(index, folder):
    found = table(run("index", "search", index, folder / "new.csv", "--top", 10**12))
    assert 2 < len(found) <= 160


def test_wrong_use_is_one_sentence(index, folder, tmp_path):
    new = folder / "new.csv"
    before = sorted(os.listdir(index))
    with Index.open(index, "a"):
        said = run("index", "add", index, new, "--ids", "name", status=2)
        assert "one writer at a time; wait until the other has ended" in said
    for arguments, words in (
        (("create", index, new), "holds an index already: add to it by kernelight index add, or"),
        (("create", tmp_path / "j", new, "--threshold", 2), "--threshold must be"),
        (("create", tmp_path / "j", new, "--recall", 1), "--recall must be"),
        (("create", tmp_path / "j", new, "--kernel", "nothing"), "there is no kernel named"),
        (("create", tmp_path / "j", new, "--method", "fourier", "--kernel", "rbf"), "takes codes"),
        (("create", tmp_path / "j", folder / "none.csv"), "none.csv"),
        (("search", tmp_path / "j", new), "is not there: kernelight index create makes an index"),
        (("search", index, new, "--top", 0), "--top must be at least 1, got 0"),
        (("search", index, new, "--above", 0), "--above must be above 0 and at most 1, got 0"),
        (("remove", index, "-5"), "put -- before what begins with a dash"),
        (("remove", index, "--", "-5"), "Id '-5' is not in the index"),
        (("remove", index, "--nothing"), "-h says what there is"),
        (("search", index, new, "--above", 0.5, "--top", 1), "cannot both be given"),
        (("verify", folder), "is not an index"),
        (("info", new), "is a file"),
    ):
        assert words in run("index", *arguments, status=2), arguments
    assert sorted(os.listdir(index)) == before
    assert os.listdir(tmp_path) == ["i"]


def test_a_failing_create_leaves_nothing(tmp_path):
    """An id twice is noticed when rows have been added."""
    (tmp_path / "a.csv").write_text("name,a,b\nx,1,2\nx,3,1\n")
    said = run("index", "create", tmp_path / "i", tmp_path / "a.csv", "--ids", "name", status=2)
    assert "'x' is given more than once" in said
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("linked", [False, True])
def test_a_failing_create_leaves_a_directory_of_the_user(tmp_path, linked):
    (tmp_path / "a.csv").write_text("name,a,b\nx,1,2\nx,3,1\n")
    (tmp_path / "b.csv").write_text("name,a,b\nx,1,2\ny,3,1\n")
    mine = tmp_path / "mine"
    (tmp_path / "real" if linked else mine).mkdir()
    if linked:
        mine.symlink_to(tmp_path / "real")
    before = sorted(os.listdir(tmp_path))
    run("index", "create", mine, tmp_path / "a.csv", "--ids", "name", status=2)
    assert sorted(os.listdir(tmp_path)) == before
    assert os.listdir(mine) == []
    run("index", "create", mine, tmp_path / "b.csv", "--ids", "name", "-q")
    assert sorted(os.listdir(tmp_path)) == before
    assert len(Index.open(mine)) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of POSIX")
def test_a_create_that_is_killed_is_done_again(tmp_path):
    """Its rows are on the disk, and no manifest is."""
    table = tmp_path / "a.csv"
    table.write_text("name,a,b\nx,1,2\ny,3,1\n")
    script = f"""
import os, signal
from kernelight import TableMap
from kernelight.neighbors.index import contents
from kernelight.tables.table_index import TableIndex

def killed(event):
    os.kill(os.getpid(), signal.SIGKILL)

contents._SPILLED = 1
table = {str(table)!r}
TableIndex.create({str(tmp_path / "i")!r}, TableMap().fit(table, ids="name"), table,
                  ids="name", watch=killed)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    assert list((tmp_path / "i").glob("segment-*"))
    assert "was never completed" in run("index", "info", tmp_path / "i", status=2)
    run("index", "create", tmp_path / "i", table, "--ids", "name", "-q")
    assert "2 rows" in run("index", "verify", tmp_path / "i")


def test_damage_is_found(index):
    (segment,) = index.glob("segment-*")
    content = bytearray(segment.read_bytes())
    content[-1] ^= 1
    segment.write_bytes(content)
    assert "has been altered or damaged" in run("index", "verify", index, status=2)
    assert called("index", "verify", index).status == 2
