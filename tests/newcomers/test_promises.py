"""What the command says is true: progress, the accuracy of passes, limits of memory, widths."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys

import numpy as np
import pytest
from helpers import sampled

import kernelight
from kernelight import KernelClassifier, KernelRegressor, TableModel
from kernelight.data import DataWarning
from kernelight.linear.stored_rows import StoredRows
from kernelight.tables import fitting
from kernelight.tables.memory_limit import Allowance

COMMAND = [sys.executable, "-m", "kernelight"]


def write_table(path, rows, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 4)).round(3)
    kind = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    lines = [
        ",".join([*map(str, row), label])
        for row, label in zip(X.tolist(), kind.tolist(), strict=True)
    ]
    path.write_text("\n".join(["a,b,c,d,kind", *lines]) + "\n")
    return str(path)


def in_terminal(arguments, columns=80, **where):
    """What a terminal of that width shows: everything that was written to it, in order."""
    mine, its = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "LINES": "24", "TERM": "xterm-256color"}
    with subprocess.Popen(
        [*COMMAND, *arguments], stdin=its, stdout=its, stderr=its, env=environment, **where
    ) as process:
        os.close(its)
        shown = b""
        with contextlib.suppress(OSError):  # Linux says so when the other end is closed
            while part := os.read(mine, 1 << 16):
                shown += part
        os.close(mine)
    assert process.returncode == 0, shown.decode()
    return shown.decode()


def plain(shown):
    """Without what moves the cursor and changes colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


def test_fit_shows_candidates_rows_and_the_time_left(tmp_path):
    table = write_table(tmp_path / "t.csv", 6000)
    arguments = ["fit", "t.csv", "-o", "m.klt", "--kernel", "gmm", "-k", "256"]
    shown = plain(in_terminal(arguments, cwd=tmp_path))
    assert f"reading {os.path.getsize(table) / 1000:.0f} kB" in shown
    assert re.search(r"\d+ of \d+ candidates, trying \S+, (300|900|6,000) rows", shown)
    assert re.search(r"about \d+ s left", shown)
    assert "training the model, 6,000 rows" in shown
    assert all(len(line) <= 80 for line in re.split(r"[\r\n]+", shown))
    assert shown.rstrip().endswith("The model is m.klt.")


def test_what_is_read_at_once_is_announced_with_its_size(tmp_path):
    table = write_table(tmp_path / "t.csv", 200)
    for data, told in ((table, (0, os.path.getsize(table), "bytes")), ("iris", (0, None, "rows"))):
        events = []
        TableModel(KernelClassifier(n_components=16, scale=None, C=1.0)).fit(
            data, watch=events.append
        )
        assert events[0][:4] == ("reading", *told)


def test_no_terminal_no_bar(tmp_path):
    write_table(tmp_path / "t.csv", 300)
    done = subprocess.run(
        [*COMMAND, "fit", "t.csv", "--target", "kind", "-o", "m.klt", "--jobs", "1"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0
    assert done.stderr == ""


class Narrow(Allowance):
    """Little room for rows, whatever the process takes already."""

    held = 400

    def batch(self, n_rows):
        return 1000


@pytest.mark.parametrize("block_rows", [None, 1000], ids=["read again", "on disk"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_accuracy_of_passes_is_that_of_the_model(tmp_path, monkeypatch, task, block_rows):
    """The model learns from 5,400 rows and is measured on the 600 that it never saw."""
    narrow = Narrow(1, 0, 1, 1, 1, 1)
    monkeypatch.setattr(Narrow, "block", lambda *_: block_rows)
    monkeypatch.setattr(fitting, "_allowance", lambda *_: narrow)
    random = np.random.default_rng(0)
    X = random.normal(size=(6000, 3)).round(3)
    y = X[:, 0] * X[:, 1]
    told = (
        ["yes" if value > 0 else "no" for value in y]
        if task == "classification"
        else y.round(4).tolist()
    )
    lines = [f"{a},{b},{c},{value}" for (a, b, c), value in zip(X.tolist(), told, strict=True)]
    # rows without a target are neither learned from nor held out
    lines[100:100] = ["9,9,9,"] * 3000
    lines[::50] = [f"8,8,8,\n{line}" for line in lines[::50]]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    cls = KernelClassifier if task == "classification" else KernelRegressor
    learned = []
    encoded, store, original = [], StoredRows.add, (cls.encoded_batch, cls.partial_fit)
    monkeypatch.setattr(
        cls, "encoded_batch", lambda self, X, y: (encoded.append(X), original[0](self, X, y))[1]
    )
    monkeypatch.setattr(
        StoredRows, "add", lambda *arguments: (learned.append(encoded[-1]), store(*arguments))[1]
    )
    monkeypatch.setattr(
        cls, "partial_fit", lambda self, X, y: (learned.append(X), original[1](self, X, y))[1]
    )
    model = TableModel(cls(n_components=256, scale="standard"))
    with pytest.warns(DataWarning, match="3,180 rows have no target and are left out") as warned:
        model.fit(tmp_path / "t.csv", memory="1G", passes=2)
    assert len(warned) == 1  # not once for each reading
    held_out = model.held_out_
    assert model.n_rows_ == 6000
    assert 560 <= held_out["rows"] <= 600
    # rows that are stored are encoded once
    passes = np.split(np.concatenate(learned * (1 if block_rows is None else 2)), 2)
    np.testing.assert_array_equal(passes[0], passes[1])  # every pass skips the same rows
    assert len(passes[0]) == model.model_.n_rows_ == 6000 - held_out["rows"]
    seen = {row.tobytes() for row in passes[0]}
    never = np.array([row.astype(passes[0].dtype).tobytes() not in seen for row in X])
    assert never.sum() == held_out["rows"]
    truth = np.asarray(told)[never]
    score = model.model_.score(X[never], truth)
    if task == "classification":
        assert held_out["accuracy"] == pytest.approx(score)
        said = f"accuracy {score:.3f} (standard error {held_out['standard_error']:.3f})"
    else:
        assert held_out["r2"] == pytest.approx(score)
        said = f"R^2 {score:.3f}, root mean squared error"
    assert score > model.model_.validation_score_ + 0.02  # what the sample promised
    assert said in model.summary()
    assert f"on {held_out['rows']} rows held out of all passes" in model.summary()
    model.save(tmp_path / "m.klt")
    again = kernelight.load(tmp_path / "m.klt")
    assert again.held_out_ == held_out
    assert again.summary() == model.summary()


def test_rows_that_fit_are_all_learned_from(tmp_path):
    table = write_table(tmp_path / "t.csv", 600)
    model = TableModel(KernelClassifier(n_components=32)).fit(table, memory="2G")
    assert model.held_out_ is None
    assert model.model_.n_rows_ == 600
    assert model.summary() == TableModel(KernelClassifier(n_components=32)).fit(table).summary()


@pytest.mark.parametrize("verb", sampled(["fit", "encode"], "fit"))
def test_a_limit_too_small_to_keep_is_refused_with_one_that_works(tmp_path, verb):
    write_table(tmp_path / "t.csv", 300)
    arguments = [*COMMAND, verb, "t.csv", "-o", "out.klt", "-k", "256", "--memory"]
    refused = subprocess.run([*arguments, "5M"], capture_output=True, text=True, cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "out.klt").exists()
    least = re.search(r"memory is 5 MB, but .* at least (\d+) MB: allow that", refused.stderr)
    assert least, refused.stderr
    assert int(least[1]) > 100
    done = subprocess.run(
        [*arguments, f"{least[1]}M"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


def test_a_limit_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(ValueError, match="memory is 5 MB"):
        TableModel().fit(tmp_path / "there is no such file.csv", memory="5M")


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_kernels_fit_the_terminal(columns):
    shown = plain(in_terminal(["kernels"], columns))
    lines = [line.rstrip() for line in shown.replace("\r", "").splitlines()]
    assert all(len(line) <= columns for line in lines)
    listed = json.loads(
        subprocess.run([*COMMAND, "kernels", "--json"], capture_output=True, text=True).stdout
    )
    words = re.split(r"\s+", " ".join(lines))
    for kernel in listed:
        for word in f"{kernel['name']} {kernel['value']}".split():
            assert word in words, f"{word} is broken"
    if columns >= 80:
        assert sum(not line.startswith(" ") for line in lines) >= len(listed) + 2
        # head 2, notes 3, and a second line for two long formulas
        assert len(lines) <= len(listed) + 7
