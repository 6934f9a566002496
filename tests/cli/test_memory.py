"""A limit of memory is kept by the whole process, on more rows than fit into it."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from peak import started

import kernelight

ROOM = 190 << 20  # beyond what the process takes that has only loaded the libraries
LOADED = """
from kernelight.tables.model import *
from kernelight.tables.memory_limit import taken
print(taken())
"""
COMMAND = """
import sys
from peak import peak
from kernelight.cli.app import main
try:
    main()
finally:
    print(peak(), file=sys.stdout)
"""
ROWS, TIMES = 20_000, 20


@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"),
    reason="the system does not say what a process held at most",
)
def test_fit_keeps_within_its_memory(tmp_path):
    limit = int(started(LOADED)) + ROOM
    random = np.random.default_rng(0)
    X = random.normal(size=(ROWS, 20)).round(3)
    y = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0).astype(int)
    lines = [
        ",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    block = "\n".join(lines) + "\n"
    names = ",".join([*(f"x{at}" for at in range(20)), "label"])
    (tmp_path / "rows.csv").write_text(names + "\n" + TIMES * block)
    (tmp_path / "test.csv").write_text(names + "\n" + block)
    arguments = [
        "fit",
        "rows.csv",
        "-o",
        "model.klt",
        "-k",
        "64",
        "-C",
        "1",
        "--scale",
        "standard",
        "--memory",
        str(limit),
        "--passes",
        "1",
        "--json",
    ]
    said, _, held = started(COMMAND, *arguments, cwd=tmp_path).rstrip().rpartition("\n")
    assert json.loads(said)["rows"] == ROWS * TIMES
    assert int(held) <= limit
    model = kernelight.load(tmp_path / "model.klt")
    # no certificate: it was learned in batches
    assert np.isnan(model.model_.model_.objective_).all()
    assert model.evaluate(tmp_path / "test.csv")["accuracy"] > 0.8
