"""kernelight dedup: files larger than memory, files of many pairs, and interrupts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from dedup_files import some_texts
from peak import started

LIMITED = """
import sys
from peak import peak
from kernelight.cli.app import main
try:
    main()
finally:
    print(peak())
"""
LOADED = """
from kernelight.cli.dedup import *
from kernelight.tables.memory_limit import taken
print(taken())
"""


@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"),
    reason="the system does not say what a process held at most",
)
def test_dedup_keeps_within_its_memory(tmp_path):
    limit = int(started(LOADED)) + (190 << 20)
    X = sp.random(100_000, 5_000, 0.015, format="csr", random_state=0, dtype=np.float64)
    X.data = X.data.round(2) + 0.01
    with open(tmp_path / "a.svm", "w") as file:
        for begin in range(0, X.shape[0], 10_000):
            part = X[begin : begin + 10_000]
            for row in range(part.shape[0]):
                some = slice(part.indptr[row], part.indptr[row + 1])
                cells = zip(part.indices[some] + 1, part.data[some], strict=True)
                file.write("0 " + " ".join(f"{c}:{v:.2f}" for c, v in cells) + "\n")
    arguments = ["dedup", "a.svm", "-o", "b.svm", "--json", "--method", "bands"]
    kept, peaks = [], []
    for more in (["--memory", str(limit)], []):
        out = started(LIMITED, *arguments, *more, cwd=tmp_path)
        end = out.rindex("}") + 1
        kept.append(json.loads(out[:end])["kept"])
        peaks.append(int(out[end:]))
    assert kept[0] == kept[1]
    assert peaks[0] < limit < peaks[1]


@pytest.mark.nightly
@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"),
    reason="the system does not say what a process held at most",
)
@pytest.mark.parametrize("linkage", ["leader", "components"])
def test_a_small_file_of_many_pairs_keeps_within_its_memory(tmp_path, linkage):
    """All 2,000 rows are similar to each other: two million pairs from a file of a megabyte."""
    limit = int(started(LOADED)) + (220 << 20)
    common = " ".join(f"word{at}" for at in range(60))
    lines = [f"row{at},{common} own{at}" for at in range(2000)]
    (tmp_path / "a.csv").write_text("\n".join(["id,said", *lines]) + "\n")
    arguments = ["dedup", "a.csv", "--text", "said", "--ids", "id", "--linkage", linkage, "--json"]
    arguments += ["--pairs", "p.csv", "--report", "r.html", "--memory", str(limit)]
    out = started(LIMITED, *arguments, cwd=tmp_path)
    end = out.rindex("}") + 1
    answer = json.loads(out[:end])
    assert answer["kept"] == 1
    assert answer["pairs"] > 0.95 * 1999 * 2000 / 2
    with open(tmp_path / "p.csv") as file:
        assert sum(1 for _ in file) == 1 + answer["pairs"]
    assert int(out[end:]) < limit


FULL = """
import resource
from kernelight.cli.app import main
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
main()
"""


@pytest.mark.parametrize("more", [["-o", "clean.csv"], ["--report", "r.html"]])
def test_a_full_disk_is_named(tmp_path, more):
    """Temporary files that can grow no further, as on a full disk."""
    (tmp_path / "a.csv").write_text("\n".join(["said", *some_texts(1, 4000)]) + "\n")
    command = [sys.executable, "-c", FULL, "dedup", "a.csv", "--text", "said", "--memory", "3G"]
    done = subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == f"kernelight: {more[1]}: File too large."
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("moment", [0.3, 0.8])
def test_an_interrupt_leaves_files_whole(tmp_path, moment):
    lines = ["said", *some_texts(1, 6000)]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "clean.csv").write_text("as it was\n")
    command = [sys.executable, "-m", "kernelight", "dedup", "a.csv", "--text", "said"]
    command += ["-o", "clean.csv", "--pairs", "pairs.csv", "--memory", "3G"]
    start = time.monotonic()
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    whole = time.monotonic() - start
    done = (tmp_path / "clean.csv").read_text()
    (tmp_path / "clean.csv").write_text("as it was\n")
    (tmp_path / "pairs.csv").unlink()
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(moment * whole)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    # where it was too late, the files are complete
    assert (tmp_path / "clean.csv").read_text() in ("as it was\n", done)
    assert set(os.listdir(tmp_path)) <= {"a.csv", "clean.csv", "pairs.csv"}
