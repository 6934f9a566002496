"""encode and similarity on the command line: what the library gives, in files, within little
memory_limit."""

from __future__ import annotations

import csv
import io
import json
import os
import sys

import numpy as np
import pytest
from peak import started

import kernelight
from kernelight import GCWS, Codes, TableMap, kernels, open_dataset
from kernelight.cli.app import main

LABELS = ("--ids", "name", "--target", "kind")


def run(*arguments, status=0, stdin=""):
    """Standard output of the command, or standard error, which must be one line, if it is to fail;
    without a new process."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["kernelight", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as ended:
            main()
    assert (ended.value.code or 0) == status, err.getvalue()
    if status == 2:
        assert err.getvalue().count("\n") == 1
    return err.getvalue() if status else out.getvalue()


def pairs_of(text):
    return [
        (row["a"], row["b"], float(row["similarity"])) for row in csv.DictReader(io.StringIO(text))
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tables, codes of both by one map, and a model."""
    place = tmp_path_factory.mktemp("codes")
    random = np.random.default_rng(0)
    lines = ["name,a,b,colour,kind"]
    for at, (a, b) in enumerate(random.normal(size=(200, 2)).round(4)):
        lines.append(
            f"r{at},{a},{b},{'red' if at % 2 else 'blue'},{'same' if a * b > 0 else 'other'}"
        )
    (place / "known.csv").write_text("\n".join(lines) + "\n")
    (place / "new.csv").write_text("colour,b,a,name\nred,0.5,0.25,x\ngreen,-1,2,y\n")
    run(
        "encode",
        place / "known.csv",
        *LABELS,
        "-o",
        place / "known.npz",
        "-k",
        256,
        "--save-map",
        place / "map.klt",
    )
    run("encode", place / "new.csv", "-o", place / "new.npz", "--map", place / "map.klt", "-q")
    run(
        "fit",
        place / "known.csv",
        "--ids",
        "name",
        "-o",
        place / "model.klt",
        "-k",
        "64",
        "-C",
        "1",
        "-q",
    )
    return place


def test_codes_as_the_library_saves_them(folder, tmp_path):
    X, _ = open_dataset(folder / "known.csv", ids="name", target="kind").materialise()
    wanted = GCWS(64, bits=4, random_state=3).fit(X).encode(X)
    told = run(
        "encode",
        folder / "known.csv",
        "--ignore",
        "name",
        "--target",
        "kind",
        "-k",
        64,
        "--bits",
        4,
        "--seed",
        3,
        "-o",
        tmp_path / "c.klt",
    )
    assert "Codes of 200 rows" in told
    assert kernelight.load(tmp_path / "c.klt") == wanted
    wanted.save(tmp_path / "alone.klt")
    assert (tmp_path / "c.klt").read_bytes() == (tmp_path / "alone.klt").read_bytes()
    assert "200 x 64" in run("info", tmp_path / "c.klt") or "200 x 4" in run(
        "info", tmp_path / "c.klt"
    )


def test_every_column_is_a_feature_unless_it_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,target\n1,2,3\n4,5,6\n")
    said = json.loads(
        run("encode", tmp_path / "t.csv", "-o", tmp_path / "c.klt", "-k", 8, "--json")
    )
    assert (said["features"], said["rows"], said["kind"]) == (3, 2, "codes")
    options = ("--target", "target", "-o", tmp_path / "c.klt", "-k", 8, "--json")
    assert json.loads(run("encode", tmp_path / "t.csv", *options))["features"] == 2
    text = (tmp_path / "t.csv").read_text()
    assert json.loads(run("encode", "-", *options, stdin=text))["rows"] == 2


def test_codes_that_a_model_sees(folder, tmp_path):
    run("encode", folder / "new.csv", "-o", tmp_path / "c.npz", "--map", folder / "model.klt")
    model = kernelight.load(folder / "model.klt")
    X, _ = model.open(folder / "new.csv", target=None).materialise()
    seen = model.model_.map_.encode(model.model_.scaling_(X))
    with np.load(tmp_path / "c.npz") as file:
        np.testing.assert_array_equal(file["codes"], seen.array)
        assert file["ids"].tolist() == ["x", "y"]


def test_info_of_codes(folder):
    told = run("info", folder / "known.npz")
    for words in ("codes", "GMM(p=1.0", "200", "256"):
        assert words in told
    assert json.loads(run("info", folder / "known.npz", "--json"))["rows"] == 200
    assert "TableMap" in run("info", folder / "map.klt")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "c.klt", "--ids", "name"), "name a .parquet or .npz file to keep them"),
        (("-o", "c.xyz"), ".klt, .parquet and .npz"),
        (("-o", "nowhere/c.npz"), "there is no directory nowhere"),
        (("-o", "c.npz", "--target", "knd"), "did you mean 'kind'"),
        (("-o", "c.npz", "--kernel", "gmn"), "did you mean 'gmm'"),
        (("-o", "c.npz", "--gamma", "big"), "--gamma must be a number or median"),
        (("-o", "c.npz", "--memory", "1M", "--ids", "name"), "memory is 1 MB"),
        (("-o", "c.npz", "--map", "map.klt", "--bits", "3"), "leave --bits out"),
        (("-o", "c.npz", "--map", "known.npz"), "not a kernelight file"),
        (("-o", "c.klt", "--kernel", "gaussian", "--ignore", "name"), "gives dense features"),
        (("-o", "known.csv"), "the ending says how"),
        (("-o", "map.klt", "--map", "map.klt"), "is what is read"),
    ],
)
def test_wrong_options_are_one_sentence(folder, arguments, words, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(os.listdir("."))
    assert words in run("encode", "known.csv", *arguments, status=2)
    assert sorted(os.listdir(".")) == before


def test_nothing_is_half_written(folder, tmp_path):
    lines = [f"{at},{at + 1}" for at in range(600)]
    (tmp_path / "bad.csv").write_text("\n".join(["a,b", *lines, "1,one"]) + "\n")
    (tmp_path / "c.npz").write_text("old")
    told = run(
        "encode",
        tmp_path / "bad.csv",
        "-o",
        tmp_path / "c.npz",
        "--save-map",
        tmp_path / "m.klt",
        "--strict",
        status=2,
    )
    assert "bad.csv, line 602, column 'b': 'one' is not a number" in told
    assert (tmp_path / "c.npz").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["bad.csv", "c.npz"]


ENCODE = """
from peak import peak
from kernelight import TableMap
from kernelight.tables import memory_limit
from kernelight.tables.code_files import write_encoded

def encode(data, ending):
    made = TableMap(n_components=512).fit(data)
    write_encoded({folder!r} + "/codes." + ending, made, made.encode_batches(data))


memory_limit.BATCH_BYTES = 8 << 20
for ending in ("klt", "npz", "parquet"):
    encode({folder!r} + "/small.npz", ending)  # so that everything is loaded
before = peak()
for ending in ("klt", "npz", "parquet"):
    encode({folder!r} + "/large.npz", ending)
print(peak() - before)
"""


def test_memory_does_not_grow_with_the_codes(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    X = np.random.default_rng(0).normal(size=(100_000, 2)).astype(np.float32)
    for name, rows in (("small", 20_000), ("large", 100_000)):
        np.savez(tmp_path / f"{name}.npz", X=X[:rows])
    script = ENCODE.format(folder=str(tmp_path))
    printed = started(script)
    for ending in ("klt", "npz", "parquet"):
        assert os.path.getsize(tmp_path / f"codes.{ending}") > 50e6
    assert int(printed) < 24 << 20


# -- Similarity


def test_exact_similarities(folder):
    model = TableMap(n_components=8).fit(folder / "new.csv", ids="name")
    X, _ = model.open(folder / "new.csv").materialise()
    Y, _ = model.open(folder / "known.csv", ignore=["kind"]).materialise()
    for options, kernel in (
        ((), kernels.GMM()),
        (("--kernel", "rbf", "--gamma", 3), kernels.RBF(3.0)),
    ):
        found = pairs_of(
            run(
                "similarity",
                folder / "new.csv",
                folder / "known.csv",
                *LABELS,
                *options,
                "--top",
                3,
            )
        )
        K = kernel(X, Y)
        wanted = [
            (n, f"r{j}", K[i, j])
            for i, n in enumerate("xy")
            for j in np.argsort(-K[i], kind="stable")[:3]
        ]
        assert [pair[:2] for pair in found] == [pair[:2] for pair in wanted]
        np.testing.assert_allclose(
            [pair[2] for pair in found], [pair[2] for pair in wanted], rtol=1e-12
        )


def test_pairs_above_a_value_come_once(folder, tmp_path):
    run("similarity", folder / "known.csv", *LABELS, "--above", 0.9, "-o", tmp_path / "pairs.tsv")
    rows = list(csv.reader((tmp_path / "pairs.tsv").read_text().splitlines(), delimiter="\t"))
    made = TableMap(n_components=8).fit(folder / "known.csv", ids="name", target="kind")
    K = kernels.GMM()(made.open(folder / "known.csv").materialise()[0])
    above = [(f"r{i}", f"r{j}") for i, j in zip(*np.nonzero(np.triu(K, 1) >= 0.9), strict=True)]
    assert rows[0] == ["a", "b", "similarity"]
    assert sorted((row[0], row[1]) for row in rows[1:]) == sorted(above)
    both = pairs_of(run("similarity", folder / "known.csv", *LABELS, "--above", 0.9, "--top", 200))
    assert len(both) == 2 * len(above) > 0
    assert all(a != b for a, b, _ in both)
    assert run("similarity", folder / "known.csv", *LABELS, "--above", 2) == "a,b,similarity\n"


def test_similarities_of_codes(folder):
    codes, new = (read(folder / name) for name in ("known.npz", "new.npz"))
    share = new.collisions(codes) / 256
    found = pairs_of(run("similarity", folder / "new.npz", folder / "known.npz", "--top", 1))
    assert [pair[2] for pair in found] == share.max(axis=1).tolist()
    estimate = kernelight.load(folder / "map.klt").map_.similarity(new, codes)
    found = pairs_of(
        run(
            "similarity",
            folder / "new.npz",
            folder / "known.npz",
            "--map",
            folder / "map.klt",
            "--top",
            1,
        )
    )
    assert [pair[2] for pair in found] == estimate.max(axis=1).tolist()
    lines = run("similarity", folder / "new.npz", "--json").splitlines()
    assert [(json.loads(line)["a"], json.loads(line)["b"]) for line in lines] == [
        ("x", "y"),
        ("y", "x"),
    ]


def read(path):
    with np.load(path) as file:
        return Codes(file["codes"], int(file["bits"]), provenance=str(file["provenance"]))


def test_what_cannot_be_compared_is_one_sentence(folder, tmp_path):
    known, new = folder / "known.csv", folder / "new.csv"
    assert "holds no codes" in run("similarity", known, folder / "known.npz", status=2)
    run("encode", new, "-o", tmp_path / "alone.npz", "--ids", "name", "-k", 256, "-q")
    assert "columns were encoded or scaled differently" in run(
        "similarity", tmp_path / "alone.npz", folder / "known.npz", status=2
    )
    run("encode", new, "-o", tmp_path / "seed.npz", "--ids", "name", "--seed", 7, "-q")
    assert "provenance differs" in run(
        "similarity", tmp_path / "seed.npz", folder / "known.npz", status=2
    )
    assert "leave it out" in run("similarity", folder / "new.npz", "--kernel", "rbf", status=2)
    assert "did you mean" in run("similarity", new, known, "--kernel", "gmn", status=2)
    assert "do not match those of" in run("similarity", known, new, "--ids", "name", status=2)
    assert "no column 'knd'" in run("similarity", known, "--target", "knd", status=2)
    assert "top must" in run("similarity", folder / "new.npz", "--top", 0, status=2)
    assert "--map is for files of codes" in run(
        "similarity", known, "--map", folder / "map.klt", status=2
    )


def test_parquet_without_pyarrow_is_one_sentence(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    told = run(
        "encode", folder / "new.csv", "-o", tmp_path / "c.parquet", "--ids", "name", status=2
    )
    assert "pip install 'kernelight[io]'" in told
    assert not os.listdir(tmp_path)
