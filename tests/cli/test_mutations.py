"""Files changed at random, given to the command: it succeeds, or refuses in one sentence.

The work is done by a process of its own (this file, run as a program) with limits of memory and
time, so that a crash, a hang or a hunger for memory is noticed. As a program it does as many as one
likes:

    for seed in $(seq 1 100); do
        python tests/cli/test_mutations.py FOLDER KIND $seed 500 || break
    done
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from in_process import Answer, called

KINDS = ("csv", "libsvm", "parquet", "model", "signed")
TURNS = {"csv": 500, "libsvm": 400, "parquet": 400, "model": 400, "signed": 300}
SMALL = ("-k", "16", "-C", "1", "--scale", "none", "--quiet")
MEMORY = 4 << 30  # bytes that a process may take, its libraries included
SECONDS = 20  # for a single file
OLD = b"what was there before"
ODD_NUMBERS = (
    b"0",
    b"-1",
    b"1e400",
    b"nan",
    b"2147483648",
    b"9223372036854775807",
    b"99999999999999999999",
    b"1e-320",
)
ODD_VALUES = (
    None,
    True,
    0,
    -1,
    3,
    2**31,
    2**40,
    2**62,
    0.5,
    -0.5,
    1e300,
    "",
    "x",
    "words",
    [],
    ["x"],
    {},
    {"x": 1},
    [[1]],
)


# -- Files that are in order


def write_originals(folder: Path) -> None:
    """A file of each kind, and a model of the first."""
    rng = np.random.default_rng(3)
    rows = [
        f"{a:.4g},{'' if at % 7 == 0 else f'{b:.4g}'},{('red', 'blue', 'a b')[at % 3]},"
        f"{'yes' if a * b > 0 else 'no'}"
        for at, (a, b) in enumerate(rng.normal(size=(40, 2)))
    ]
    (folder / "csv").write_text("\n".join(["size,depth,colour,y", *rows]) + "\n")
    lines = [
        f"{at % 2} " + " ".join(f"{j}:{rng.normal():.4g}" for j in range(1, 8, 1 + at % 3))
        for at in range(40)
    ]
    (folder / "libsvm").write_text("\n".join(lines) + "\n")
    with contextlib.suppress(ImportError):
        write_parquet(folder / "parquet", rng)
    assert called("fit", folder / "csv", "-o", folder / "model", *SMALL).status == 0


def write_parquet(path: Path, rng: np.random.Generator) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(
        {
            "a": rng.normal(size=60),
            "b": rng.integers(0, 9, 60),
            "c": rng.choice(["u", "v", "w"], 60),
            "y": rng.choice(["p", "q"], 60),
        }
    )
    pyarrow.parquet.write_table(table, path)


# -- Changes


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with a change or some."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if changed:
            CHANGES[rng.integers(len(CHANGES))](changed, rng)
    return bytes(changed)


def _span(content: bytearray, rng: np.random.Generator) -> slice:
    start = int(rng.integers(len(content)))
    return slice(start, start + int(rng.integers(1, 1 + min(64, len(content)))))


def flip_bits(content: bytearray, rng: np.random.Generator) -> None:
    for at in rng.integers(len(content), size=rng.integers(1, 9)):
        content[at] ^= 1 << int(rng.integers(8))


def delete(content: bytearray, rng: np.random.Generator) -> None:
    del content[_span(content, rng)]


def insert(content: bytearray, rng: np.random.Generator) -> None:
    at = int(rng.integers(len(content) + 1))
    content[at:at] = rng.bytes(int(rng.integers(1, 33)))


def cut_off(content: bytearray, rng: np.random.Generator) -> None:
    del content[int(rng.integers(len(content))) :]


def swap_blocks(content: bytearray, rng: np.random.Generator) -> None:
    one, other = sorted((_span(content, rng), _span(content, rng)), key=lambda span: span.start)
    first, second = bytes(content[one]), bytes(content[other])
    content[other] = first
    content[one] = second


def repeat_block(content: bytearray, rng: np.random.Generator) -> None:
    span = _span(content, rng)
    content[span] = bytes(content[span]) * int(rng.integers(2, 40))


def odd_number(content: bytearray, rng: np.random.Generator) -> None:
    """A number of a text becomes another."""
    places = list(re.finditer(rb"[0-9][0-9.]*", content))
    if places:
        found = places[rng.integers(len(places))]
        content[found.start() : found.end()] = ODD_NUMBERS[rng.integers(len(ODD_NUMBERS))]


def odd_length(content: bytearray, rng: np.random.Generator) -> None:
    """Bytes that may be a length become a large one; at the ends, where headers and footers are."""
    size = int(rng.choice([1, 2, 4, 8]))
    near = int(rng.integers(min(256, len(content))))
    at = near if rng.random() < 0.5 else max(0, len(content) - near - size)
    value = (1 << int(rng.integers(8 * size))) - int(rng.integers(2))
    content[at : at + size] = value.to_bytes(size, "little")


CHANGES = (flip_bits, delete, insert, cut_off, swap_blocks, repeat_block, odd_number, odd_length)


def forged(path: Path, rng: np.random.Generator, into: Path) -> None:
    """A model whose meta or arrays are others, signed as if they were right."""
    from kernelight import State

    state = State.load(path)
    meta, arrays = state.meta, dict(state.arrays)
    for _ in range(rng.integers(1, 3)):
        if rng.random() < 0.7:
            places = list(places_of(meta))
            holder, key = places[rng.integers(len(places))]
            if rng.random() < 0.2:
                del holder[key]
            else:
                holder[key] = copy.deepcopy(ODD_VALUES[rng.integers(len(ODD_VALUES))])
        elif arrays:
            name = sorted(arrays)[rng.integers(len(arrays))]
            arrays[name] = odd_array(arrays[name], rng)
            if arrays[name] is None:
                del arrays[name]
    meta["kind"] = "TableModel"
    State(meta, arrays).save(into)


def places_of(tree: object) -> list[tuple[object, object]]:
    """Every value of nested lists and tables, as who holds it and under which key."""
    keys = (
        list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else []
    )
    return [place for key in keys for place in [(tree, key), *places_of(tree[key])]]


def odd_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    way = rng.integers(5)
    if way == 0:
        return None
    if way == 1:
        return array[: len(array) // 2] if array.ndim else array.reshape(1)
    if way == 2:
        return array.reshape(*array.shape, 1)
    if way == 3:
        return array.astype(rng.choice(["float32", "float64", "int8", "int64", "uint16"]))
    with np.errstate(all="ignore"):
        odd = array.copy().reshape(-1)
        if odd.size:
            odd[rng.integers(odd.size)] = rng.choice(
                [0, 127, -1, np.nan, np.inf] if odd.dtype.kind == "f" else [0, 1, 127]
            )
        return odd.reshape(array.shape)


# -- The process that tries them


def check(answer: Answer, folder: Path, written: Path | None) -> None:
    """What must hold whatever was read."""
    status, said = answer.status, answer.said
    assert status in (0, 2), (status, said)
    lines = [line for line in said.splitlines() if not line.startswith("kernelight: note: ")]
    assert len(lines) == (status == 2), said
    assert all(line.startswith("kernelight: ") and len(line) < 2000 for line in lines), said
    assert not list(folder.glob(".kernelight*"))
    if written is not None:
        whole = written.read_bytes()
        assert (whole == OLD) == (status == 2)


def trial(kind: str, folder: Path, original: bytes, rng: np.random.Generator) -> int:
    """Change a file, give it to the command, and look at what comes of it; returns the status."""
    file, out = folder / f"changed.{kind}", folder / f"out-{kind}"
    out = out.with_suffix(".csv" if kind in ("model", "signed") else ".klt")
    if kind == "signed":
        forged(folder / "model", rng, file)
    else:
        file.write_bytes(mutated(original, rng))
    out.write_bytes(OLD)
    if kind in ("model", "signed"):
        check(called("info", file), folder, None)
        verb = ("predict", file, folder / "csv", "-o", out, "--quiet")
    else:
        verb = ("fit", file, "--format", kind, "-o", out, *SMALL)
    answer = called(*verb)
    check(answer, folder, out)
    return answer.status


def work(folder: Path, kind: str, seed: int, count: int) -> None:
    """Try so many files; the last one stays in the folder, so that it can be looked at if the
    process dies."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    original = (folder / ("model" if kind == "signed" else kind)).read_bytes()
    statuses: Counter[int] = Counter()
    for turn in range(count):
        signal.alarm(SECONDS)  # ends the process
        try:
            statuses[trial(kind, folder, original, rng)] += 1
        except BaseException:
            print(f"{kind}, seed {seed}, turn {turn}: {folder}/changed.{kind}", file=sys.stderr)
            raise
    signal.alarm(0)
    print(json.dumps({str(status): number for status, number in statuses.items()}))


# -- The tests


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("originals")
    write_originals(folder)
    return folder


def assert_all_end_in_a_sentence(folder: Path, kinds: tuple[str, ...], seed: int, n: int) -> None:
    arguments = [sys.executable, __file__, str(folder), ",".join(kinds), str(seed), str(n)]
    done = subprocess.run(
        arguments, capture_output=True, text=True, check=False, timeout=max(300, n)
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    for kind, line in zip(kinds, done.stdout.splitlines(), strict=True):
        statuses = json.loads(line)
        assert sum(statuses.values()) == n, kind
        assert statuses["2"] > n // 4, kind  # changes are such that many are noticed


def test_some_changed_files_end_in_a_sentence(originals: Path) -> None:
    kinds = [kind for kind in KINDS if kind == "signed" or (originals / kind).exists()]
    assert_all_end_in_a_sentence(originals, tuple(kinds), 0, 60)


@pytest.mark.nightly
@pytest.mark.rounds
@pytest.mark.parametrize("kind", KINDS)
def test_changed_files_end_in_a_sentence(originals: Path, kind: str) -> None:
    from helpers import rounds  # not on the path where this file is run as a program

    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    assert_all_end_in_a_sentence(originals, (kind,), 1, rounds(TURNS[kind]))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    place, kinds, seed, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if not (place / "model").exists():
        place.mkdir(parents=True, exist_ok=True)
        write_originals(place)
    for kind in kinds.split(","):
        work(place, kind, seed, count)
