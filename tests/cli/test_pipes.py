"""Files of models, maps and codes that come through pipes, as from ``<(cat model.klt)``."""

from __future__ import annotations

import contextlib
import json
import os
import threading

import numpy as np
import pytest
from in_process import called

import kernelight
from kernelight import GCWS, Codes, KernelClassifier, State, TableMap, TableModel
from kernelight.tables.code_files import read_encoded, write_encoded

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("pipes")
    random = np.random.default_rng(0)
    lines = [
        f"{a:.4f},{b:.4f},{'same' if a * b > 0 else 'other'}"
        for a, b in random.normal(size=(200, 2))
    ]
    data = place / "data.csv"
    data.write_text("a,b,kind\n" + "\n".join(lines) + "\n")
    TableModel(KernelClassifier(n_components=64, C=1.0, scale=None)).fit(data).save(place / "m.klt")
    TableMap(n_components=64).fit(data).save(place / "map.klt")
    return place


@pytest.fixture
def piped(tmp_path):
    """Makes pipes, through each of which the bytes of a file or some others come once."""
    writers = []

    def make(content, name="pipe"):
        path = str(tmp_path / name)
        os.mkfifo(path)
        content = content if isinstance(content, bytes) else content.read_bytes()

        def write():
            with contextlib.suppress(BrokenPipeError), open(path, "wb") as file:
                file.write(content)

        writers.append(threading.Thread(target=write, daemon=True))
        writers[-1].start()
        return path

    yield make
    for writer in writers:
        writer.join(5)
        assert not writer.is_alive()


def test_predict_and_evaluate(folder, piped):
    wanted = called("predict", folder / "m.klt", folder / "data.csv")
    assert called("predict", piped(folder / "m.klt", "a"), folder / "data.csv") == wanted
    both = called("predict", piped(folder / "m.klt", "b"), piped(folder / "data.csv", "c"))
    assert both == wanted
    found = called("evaluate", piped(folder / "m.klt", "d"), folder / "data.csv", "--json")
    assert json.loads(found.out)["rows"] == 200


def test_info(folder, piped):
    wanted = json.loads(called("info", folder / "m.klt", "--json").out)
    path = piped(folder / "m.klt")
    assert json.loads(called("info", path, "--json").out) == {**wanted, "file": path}


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_info_of_codes(folder, piped, tmp_path, ending):
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    made = TableMap.load(folder / "map.klt")
    stored = tmp_path / f"codes{ending}"
    write_encoded(stored, made, made.encode_batches(folder / "data.csv"))
    path = piped(stored)
    found = json.loads(called("info", path, "--json").out)
    assert (found["kind"], found["rows"], found["bytes"]) == ("codes", 200, stored.stat().st_size)
    again = piped(stored, "again")
    assert read_encoded(again).values == made.encode(folder / "data.csv")


def test_a_map(folder, piped, tmp_path):
    out = tmp_path / "codes.klt"
    answer = called(
        "encode", folder / "data.csv", "--map", piped(folder / "map.klt"), "--output", out
    )
    assert answer.status == 0, answer.said
    assert Codes.load(out) == TableMap.load(folder / "map.klt").encode(folder / "data.csv")


def test_in_python(folder, piped, tmp_path):
    fitted = GCWS(8).fit(np.eye(3))
    fitted.save(tmp_path / "g.kl")
    assert kernelight.load(piped(tmp_path / "g.kl")).to_state() == fitted.to_state()
    # more than a pipe or a piece holds
    large = State({"kind": "Example"}, {"w": np.arange(3_000_000.0)})
    large.save(tmp_path / "large.kl")
    assert State.load(piped(tmp_path / "large.kl", "large")) == large


@pytest.mark.parametrize("cut", [0, 5, 40, -1])
def test_what_is_cut_off_is_said_to_be_so(folder, piped, cut):
    path = piped((folder / "m.klt").read_bytes()[:cut])
    with pytest.raises(ValueError, match="is truncated" if cut else "is empty") as caught:
        State.load(path)
    assert str(caught.value).startswith(path)


def test_what_follows_is_noticed(folder, piped):
    with pytest.raises(ValueError, match="1 bytes follow its end"):
        State.load(piped((folder / "m.klt").read_bytes() + b"x"))


def test_a_header_that_promises_too_much_takes_no_memory(tmp_path, piped):
    State({"kind": "Example"}, {"w": np.zeros(4)}).save(tmp_path / "s.kl")
    content = (tmp_path / "s.kl").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["w"] = {"dtype": "F64", "shape": [2**59], "data_offsets": [0, 2**62]}
    text = json.dumps(header, separators=(",", ":")).encode()
    with pytest.raises(ValueError, match="is truncated"):
        State.load(piped(len(text).to_bytes(8, "little") + text + bytes(32)))


@pytest.mark.parametrize("ending", ["klt", "npz", "parquet"])
def test_similarity_takes_codes_through_pipes(folder, piped, tmp_path, ending):
    """They were taken for data: codes of Parquet files were compared by their column ``empty``,
    others refused as text."""
    codes = tmp_path / f"codes.{ending}"
    assert (
        called("encode", folder / "data.csv", "-o", codes, "-k", 32, "--target", "kind").status == 0
    )
    wanted = called("similarity", codes, "--top", 2)
    assert wanted.status == 0
    assert called("similarity", piped(codes, "a"), "--top", 2) == wanted
    assert called("similarity", "-", "--top", 2, stdin=codes.read_bytes()) == wanted
    both = called("similarity", piped(codes, "b"), codes, "--top", 2)
    assert both == called("similarity", codes, codes, "--top", 2)
    plain = tmp_path / "codes"  # the name of a file need not say what it holds
    plain.write_bytes(codes.read_bytes())
    assert called("similarity", plain, "--top", 2) == wanted
    other = called("similarity", piped(codes, "c"), folder / "data.csv", "--top", 2)
    assert other.status == 2
    assert "data.csv holds no codes" in other.said


def test_similarity_takes_data_through_pipes(folder, piped):
    wanted = called("similarity", folder / "data.csv", "--target", "kind", "--top", 2)
    assert (
        called("similarity", piped(folder / "data.csv", "a"), "--target", "kind", "--top", 2)
        == wanted
    )
    text = (folder / "data.csv").read_bytes()
    assert called("similarity", "-", "--target", "kind", "--top", 2, stdin=text) == wanted
