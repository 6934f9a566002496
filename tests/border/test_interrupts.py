"""Ctrl-C is noticed between compiled calls, so each is short; how work is cut changes no result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import assert_same_codes, signed_rows
from sklearn.exceptions import ConvergenceWarning

from kernelight import GCWS, Codes, IntegerFourier, LinearClassifier, open_dataset
from kernelight.codes import codes
from kernelight.data import delimited, libsvm
from kernelight.data.errors import DataError
from kernelight.kernels import GMM, AcosChi2, Intersection, pairs
from kernelight.linear import design
from kernelight.linear.output_group import OutputGroup
from kernelight.maps.minmax import cws_sampler, dart_sampler
from kernelight.maps.projections import integer_fourier

LONG_ENCODE = """
import numpy as np
from kernelight import GCWS
X = np.random.default_rng(0).lognormal(size=(10, 200_000))
map = GCWS(16384, sampler="cws", n_jobs=1).fit(X[:1])
print("begin", flush=True)
map.encode(X)
"""


def seconds_of(pid: int) -> float:
    """Processor time of a process in seconds; where the system does not say, elapsed time.

    Processor time, because on a busy machine a process gets little of the elapsed time.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            user, system = stat.read().rpartition(")")[2].split()[11:13]
    except OSError:
        return time.monotonic()
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_an_encode_of_minutes_ends_soon():
    child = subprocess.Popen(
        [sys.executable, "-c", LONG_ENCODE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begin\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    start = end = seconds_of(child.pid)
    try:
        while child.poll() is None and end - start < 3.0:
            end = seconds_of(child.pid)
            time.sleep(0.02)
    finally:
        child.kill()
    assert "KeyboardInterrupt" in child.communicate()[1]


@pytest.mark.parametrize(
    "params",
    [
        {"sampler": "cws"},
        {"sampler": "cws", "gamma": 3.0},
        {"sampler": "cws", "t_bits": 0, "coding": "lowest"},
        {"sampler": "dart"},
        {"sampler": "dart", "gamma": 2.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("width", [40, 3 << 20])
def test_codes_do_not_depend_on_how_work_is_cut(params, width, monkeypatch):
    X = sp.csr_matrix(signed_rows(1, 60, 40, density=0.5))
    X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(60, width))
    wanted = GCWS(300, random_state=0, n_jobs=2, **params).fit(X).encode(X)
    for way in ("tables", "bounds", "streams"):
        if way != "tables":  # nothing fits
            monkeypatch.setattr(cws_sampler, "KEPT_BYTES", 0)
            monkeypatch.setattr(cws_sampler, "CALL_BYTES", 0)
        if way == "streams":
            monkeypatch.setattr(cws_sampler, "MOST_REACH", -1)
        monkeypatch.setattr(cws_sampler, "SCAN_WORK", 1 << 15)
        monkeypatch.setattr(cws_sampler, "BOUNDS_WORK", 1 << 15)
        monkeypatch.setattr(cws_sampler, "STREAM_WORK", 1 << 15)
        monkeypatch.setattr(dart_sampler, "SLOTS_PER_CALL", 1 << 10)
        assert_same_codes(GCWS(300, random_state=0, n_jobs=2, **params).fit(X).encode(X), wanted)


@pytest.mark.parametrize("made", [np.asarray, sp.csr_array])
def test_whole_numbers_do_not_depend_on_how_work_is_cut(made, monkeypatch):
    X = made(signed_rows(1, 60, 70, density=0.5))
    fitted = IntegerFourier(300).fit(X)
    wanted = fitted.integers(X)
    for outputs in (1, 7 * 4 * 128):
        monkeypatch.setattr(integer_fourier, "_OUTPUTS_OF_A_CALL", outputs)
        np.testing.assert_array_equal(fitted.integers(X), wanted)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["codes", "dense", "sparse"])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_linear_models_do_not_depend_on_how_work_is_cut(kind, loss, monkeypatch):
    rng = np.random.default_rng(0)
    rows: object = Codes(rng.integers(0, 16, (5000, 12)), 4, empty=rng.random(5000) < 0.05)
    if kind != "codes":
        rows = rng.random((5000, 6)) * (rng.random((5000, 6)) < 0.4)
        rows = rows if kind == "dense" else sp.csr_matrix(rows)
        monkeypatch.setattr(design, "DENSE_BYTES", 0)
    y = rng.integers(0, 3, 5000)
    wanted = LinearClassifier(loss, tol=1e-3, max_iter=6).fit(rows, y)
    scores = wanted.decision_function(rows)
    monkeypatch.setattr(design, "CALL_WORK", 1)
    monkeypatch.setattr(design, "COUNT_WORK", 700 * 12)
    model = LinearClassifier(loss, tol=1e-3, max_iter=6, n_jobs=2).fit(rows, y)
    for name in ("weights_", "intercept_", "objective_", "dual_gap_", "seen_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(wanted, name))
    np.testing.assert_array_equal(model.decision_function(rows), scores)


def test_an_interrupted_long_fit_makes_no_further_check(monkeypatch):
    """The certificate of two million rows of 1,024 codes takes too long after Ctrl-C."""
    rng = np.random.default_rng(0)
    rows, y = Codes(rng.integers(0, 16, (5000, 12)), 4), rng.integers(0, 3, 5000)
    real, checks = OutputGroup.epoch, []

    def epoch(self, stopped):
        if self.n_iter == 2:
            checks.clear()
            raise KeyboardInterrupt
        return real(self, stopped)

    certify = OutputGroup.certify
    monkeypatch.setattr(design, "CALL_WORK", 1)
    monkeypatch.setattr(OutputGroup, "epoch", epoch)
    monkeypatch.setattr(
        OutputGroup, "certify", lambda self, *args: checks.append(1) or certify(self, *args)
    )
    model = LinearClassifier(tol=1e-12)
    with (
        pytest.warns(
            ConvergenceWarning, match="interrupted after 2 epochs: its duality gap is not known"
        ),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(rows, y)
    assert not checks
    assert model.predict(rows).shape == (5000,)


def test_calls_of_linear_models_are_bounded():
    for work in (1, 10, 1024, 100_000):
        for width in design.PACKED_WIDTHS:
            calls = list(design.spans(10_000_000, work, width))
            assert calls[0][0] == 0
            assert calls[-1][1] == 10_000_000
            assert all(left[1] == right[0] for left, right in pairwise(calls))
            most = max(end - begin for begin, end in calls)
            assert most == 1024 or most * work * (1 + width) <= 2 * design.CALL_WORK


@pytest.mark.parametrize("cut", [1000, 1 << 18, 3 << 18])
def test_tables_do_not_depend_on_how_work_is_cut(cut, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    words = ["red", '"two\nlines"', "", "a b"]
    columns = rng.random(30_000), rng.integers(0, 4, 30_000), rng.integers(0, 99, 30_000)
    lines = [f"{a:.17g},{words[w]},{b},{w % 2}" for a, w, b in zip(*columns, strict=True)]
    table = tmp_path / "table.csv"
    table.write_text("value,word,whole,kind\n" + "\n".join(lines) + "\n")
    rows = [f"{a % 3} 1:{a} {a % 40 + 2}:{b:.17g} # note" for a, b in enumerate(rng.random(30_000))]
    rows[20_000:20_000] = ["", "# a comment", "2 5000000000:1"]
    sparse = tmp_path / "rows.svm"
    sparse.write_text("\n".join(rows))
    wanted = [open_dataset(path).materialise() for path in (table, sparse)]
    for module in (delimited, libsvm):
        monkeypatch.setattr(module, "CHUNK", cut)
    cut_tables = [open_dataset(path).materialise() for path in (table, sparse)]
    for (X, y), (cut_X, cut_y) in zip(wanted, cut_tables, strict=True):
        np.testing.assert_array_equal(y, cut_y)
        assert X.shape == cut_X.shape
        assert (cut_X != X).sum() == 0


@pytest.mark.parametrize("name", ["table.csv", "rows.svm"])
def test_positions_of_errors_do_not_depend_on_how_work_is_cut(name, tmp_path, monkeypatch):
    lines = [
        f"{row},{row % 7},{row % 2}" if name.endswith("csv") else f"{row % 2} 3:{row}"
        for row in range(60_000)
    ]
    lines[45_000] = "1,2" if name.endswith("csv") else "1 3:x"
    path = tmp_path / name
    path.write_text("\n".join(lines))
    for cut in (1 << 27, 1 << 18, 1 << 10):
        for module in (delimited, libsvm):
            monkeypatch.setattr(module, "CHUNK", cut)
        with pytest.raises(DataError, match=r"line 45,?001"):
            open_dataset(path).materialise()


def test_collisions_do_not_depend_on_how_work_is_cut(monkeypatch):
    rng = np.random.default_rng(0)
    left = Codes(rng.integers(0, 4, (500, 20)), 2, empty=rng.random(500) < 0.1)
    right = Codes(rng.integers(0, 4, (70, 20)), 2)
    wanted = left.collisions(right), left.collisions()
    monkeypatch.setattr(codes, "CALL_PAIRS", 1)
    np.testing.assert_array_equal(left.collisions(right, n_jobs=1), wanted[0])
    np.testing.assert_array_equal(left.collisions(n_jobs=2), wanted[1])


@pytest.mark.parametrize("kernel", [GMM(), GMM(p=0.5), Intersection(), AcosChi2()], ids=repr)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_kernels_do_not_depend_on_how_work_is_cut(kernel, kind, monkeypatch):
    dense = np.abs(signed_rows(2, 1100, 6, density=0.15))
    X, Y = kind(dense), kind(dense[::3])
    wanted = kernel(X), kernel(X, Y)
    monkeypatch.setattr(pairs, "_CALL_TERMS", 1)
    K = kernel(X)
    np.testing.assert_array_equal(K, wanted[0])
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(kernel(X, Y), wanted[1])
