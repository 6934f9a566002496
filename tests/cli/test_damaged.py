"""Every bad input of the command is one sentence and status 2; no file is left or changed.

Long for its lists of bad inputs, which all verbs share.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from in_process import called

from kernelight import GCWS, KernelClassifier
from kernelight.data import DataError, byte_sources, open_dataset

SMALL = ("-k", "16", "-C", "1", "--scale", "none", "--quiet")
OLD = b"what was there before"
ROWS = "".join(f"{at % 37},{at % 7},{'yes' if at % 2 else 'no'}\n" for at in range(40))
TABLE = "a,b,kind\n" + ROWS
LINES = "".join(f"{at % 2} 1:{at} 3:{at % 5}\n" for at in range(40))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models of a table and of sparse rows, and files of kernelight that are no models."""
    place = tmp_path_factory.mktemp("models")
    (place / "t.csv").write_text(TABLE)
    (place / "t.svm").write_text(LINES)
    for name in ("csv", "svm"):
        assert called("fit", place / f"t.{name}", "-o", place / f"{name}.klt", *SMALL).status == 0
    X = np.random.default_rng(0).normal(size=(40, 2))
    gcws = GCWS(16).fit(X)
    gcws.save(place / "map.klt")
    gcws.encode(X).save(place / "codes.klt")
    KernelClassifier(n_components=16, C=1.0, scale="none").fit(X, np.arange(40) % 2).save(
        place / "bare.klt"
    )
    (place / "text.klt").write_text("hello, I am a model")
    (place / "cut.klt").write_bytes((place / "csv.klt").read_bytes()[:-100])
    (place / "empty.klt").write_bytes(b"")
    return place


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of its own, with an old file in the place of every result."""
    monkeypatch.chdir(tmp_path)
    for name in RESULTS.values():
        (tmp_path / name).write_bytes(OLD)


RESULTS = {"fit": "out.klt", "predict": "out.csv", "evaluate": "none", "compare": "out.html"}


def verbs(data, models, kind="csv"):
    """The ways to read a file."""
    model = models / f"{kind}.klt"
    return {
        "fit": ("fit", data, "-o", "out.klt", *SMALL),
        "predict": ("predict", model, data, "-o", "out.csv"),
        "evaluate": ("evaluate", model, data),
        "compare": ("compare", data, "-o", "out.html", "--budget", "20s"),
    }


def refused(*arguments, stdin=b""):
    """The sentence, after a look at what is left behind."""
    before = sorted(os.listdir("."))
    status, _, said = called(*arguments, stdin=stdin)
    assert status == 2, said
    assert said.startswith("kernelight: ")
    assert said.count("\n") == 1
    assert said.endswith((".\n", "?\n"))
    assert "Traceback" not in said
    assert sorted(os.listdir(".")) == before
    assert all(Path(name).read_bytes() == OLD for name in RESULTS.values())
    return said


EVERY = ("fit", "predict", "evaluate", "compare")
TARGETS = ("fit", "evaluate", "compare")
LEARNS = ("fit", "compare")
TABLES = {
    "a short row": (EVERY, TABLE + "1,2\n", "bad.csv, line 42: 2 fields where 3 are expected."),
    "a long row": (
        EVERY,
        TABLE + "1,2,yes,4\n",
        "bad.csv, line 42: 4 fields where 3 are expected.",
    ),
    "text among numbers": (
        EVERY,
        TABLE + "1,two,yes\n",
        "bad.csv, line 42, column 'b': 'two' is not a number",
    ),
    "infinity": (
        EVERY,
        TABLE + "1,inf,yes\n",
        "bad.csv, line 42, column 'b': 'inf' is beyond the largest number.",
    ),
    "too large": (
        EVERY,
        TABLE + "1,-1e999,yes\n",
        "bad.csv, line 42, column 'b': '-1e999' is beyond the largest number.",
    ),
    "an open quote": (
        EVERY,
        TABLE + '1,2,"yes\n',
        "bad.csv, line 42, column 'kind': a quote is opened and never closed.",
    ),
    "invalid UTF-8": (
        EVERY,
        TABLE.encode() + b"\xff,2,yes\n",
        "bad.csv, line 42, column 'a': b'\\xff', which is not UTF-8,",
    ),
    "invalid UTF-8 in a class": (
        TARGETS,
        TABLE.encode() + b"1,2,\xff\n",
        "bad.csv, line 42, column 'kind': b'\\xff' is not UTF-8; --encoding cp1252, or",
    ),
    "no class": (
        TARGETS,
        TABLE + "1,2,NA\n",
        "bad.csv, line 42, column 'kind': the target is missing; leave such rows out.",
    ),
    "a zero byte": (EVERY, b"a,b,kind\n1,\0,yes\n", "bad.csv is not text: byte 11 is 0"),
    "empty": (EVERY, b"", "bad.csv is empty."),
    "names only": (EVERY, b"a,b,kind\n", "bad.csv has no rows."),
    "cut off": (
        EVERY,
        gzip.compress(TABLE.encode())[:-20],
        "bad.csv is cut off: its gzip data cannot be unpacked beyond byte",
    ),
    "one class": (
        LEARNS,
        b"a,b,kind\n1,2,yes\n2,3,yes\n",
        "bad.csv: the target 'kind' has one value only, 'yes'; a classifier needs at least two "
        "classes.",
    ),
    "one column": (
        LEARNS,
        b"kind\nyes\nno\n",
        "bad.csv has no features: every column is the target, an id or ignored.",
    ),
    "a name twice": (
        LEARNS,
        b"a,a,kind\n1,2,yes\n",
        "1 column needs a decision: column 'a': another column has this name",
    ),
    "other columns": (
        ("predict", "evaluate"),
        b"aa,b,c\n1,2,3\n",
        "bad.csv: its columns do not match those of the model: 'a' missing; 'aa', 'c' not known to "
        "the model; did you mean",
    ),
    "no target": (
        ("evaluate",),
        b"a,b\n1,2\n",
        "bad.csv has no target 'kind' to compare predictions with.",
    ),
}


# what is refused with --strict alone
DECIDED = {
    "no class",
    "a name twice",
    "text among numbers",
    "invalid UTF-8",
    "invalid UTF-8 in a class",
}


@pytest.mark.parametrize("case", TABLES)
def test_tables(models, case):
    which, content, words = TABLES[case]
    with open("bad.csv", "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    for verb in which:
        assert words in refused(*verbs("bad.csv", models)[verb], "--strict")
        if case not in DECIDED:
            assert words in refused(*verbs("bad.csv", models)[verb])


SPARSE = {
    "index 0": (EVERY, "1 0:5\n", "bad.svm, line 41: index 0, where the first is 1"),
    "descending": (EVERY, "1 3:5 1:2\n", "bad.svm, line 41: index 1 does not ascend."),
    "NaN": (
        EVERY,
        "1 1:nan\n",
        "bad.svm, line 41, index 1: the value 'nan' is not a finite number.",
    ),
    "infinity": (
        EVERY,
        "1 1:-inf\n",
        "bad.svm, line 41, index 1: the value '-inf' is not a finite number.",
    ),
    "a word": (
        EVERY,
        "1 1:five\n",
        "bad.svm, line 41, index 1: the value 'five' is not a finite number.",
    ),
    "a label": (EVERY, "yes 1:5\n", "bad.svm, line 41: the label 'yes' is not a finite number."),
    "no end": (
        LEARNS,
        "1 9223372036854775799:5\n",
        "bad.svm, line 41: index 9223372036854775799 is beyond the largest",
    ),
    "too wide": (
        ("predict", "evaluate"),
        "1 1:5 9:1\n",
        "bad.svm, line 41: index 9 is beyond the last feature, 3.",
    ),
}


@pytest.mark.parametrize("case", SPARSE)
def test_sparse_rows(models, case):
    which, line, words = SPARSE[case]
    with open("bad.svm", "w") as file:
        file.write(LINES + line)
    for verb in which:
        assert words in refused(*verbs("bad.svm", models, "svm")[verb])


def test_sparse_rows_without_a_feature():
    with open("bad.svm", "w") as file:
        file.write("0\n1\n0\n")
    assert "bad.svm has no features: every row is empty." in refused(
        "fit", "bad.svm", "-o", "out.klt", *SMALL
    )


def test_rows_of_another_kind(models):
    with open("bad.svm", "w") as file:
        file.write(LINES)
    for verb in ("predict", "evaluate"):
        assert "has sparse rows without names, but the model" in refused(
            *verbs("bad.svm", models)[verb]
        )
        table = verbs(models / "t.csv", models, "svm")[verb]
        assert "has named columns, but the model was trained on sparse rows" in refused(*table)


def test_places_that_are_no_files(models):
    os.mkdir("folder")
    for verb in EVERY:
        assert "folder is a directory: name one of its files." in refused(
            *verbs("folder", models)[verb]
        )
        assert "outt.csv: there is no such file or data set; did you mean 'out.csv'?" in refused(
            *verbs("outt.csv", models)[verb]
        )
        assert "standard input is empty." in refused(*verbs("-", models)[verb])
        assert "standard input has no rows." in refused(
            *verbs("-", models)[verb], stdin=b"a,b,kind\n"
        )
    assert "folder: Is a directory." in refused("info", "folder")
    assert "nothing.klt: No such file or directory." in refused("info", "nothing.klt")


NO_MODELS = {
    "codes": "codes.klt holds a Codes, not TableModel.",
    "map": "map.klt holds a GCWS, not TableModel.",
    "bare": "bare.klt holds a KernelClassifier, not TableModel.",
    "text": "text.klt is not a kernelight file.",
    "cut": "cut.klt is truncated: it ends after",
    "empty": "empty.klt is empty: 0 bytes.",
}


@pytest.mark.parametrize("name", NO_MODELS)
def test_files_that_are_no_models(models, name):
    for verb in ("predict", "evaluate"):
        arguments = list(verbs(models / "t.csv", models)[verb])
        arguments[1] = models / f"{name}.klt"
        assert NO_MODELS[name] in refused(*arguments)
    if name in ("text", "cut", "empty"):
        assert NO_MODELS[name] in refused("info", models / f"{name}.klt")


WRONG_OPTIONS = {
    "a target": (
        ("--target", "knd"),
        "there is no column 'knd' for the target; did you mean 'kind'?",
    ),
    "an option": (("--targte", "kind"), "No such option: --targte"),
    "C": (("--C", "abc"), "--C must be a number or tune, got 'abc'."),
    "no components": (("-k", "0"), "--components must be at least 1, got 0."),
    "components": (("-k", "many"), "'many'"),
    "bits": (("--bits", "99"), "bits must be between 1 and 16, got 99."),
    "memory": (("--memory", "12Q"), "memory must be a size such as '512M' or '2G', got '12Q'."),
    "no memory": (("--memory", "0"), "memory must be above 0"),
    "passes": (("--passes", "0"), "passes must be at least 1, got 0."),
    "gamma": (("--gamma", "x"), "--gamma must be a number, tune or scale, got 'x'."),
    "a kernel": (("--kernel", "gmn"), "gmn"),
    "a format": (("--format", "xls"), "format must be one of"),
    "a task": (("--task", "guess"), "task must be one of"),
    "a column": (("--ignore", "bb"), "there is no column 'bb' to ignore; did you mean 'b'?"),
    "a delimiter": (("--delimiter", "ab"), "delimiter must be one character"),
    "words": (("--task", "regression"), "the target 'kind' is words; a regression needs numbers."),
    "jobs": (("--jobs", "0"), "--jobs must be at least 1, or between"),
}


@pytest.mark.parametrize("case", WRONG_OPTIONS)
def test_wrong_options(models, case):
    options, words = WRONG_OPTIONS[case]
    said = refused("fit", models / "t.csv", "-o", "out.klt", *SMALL, *options)
    assert words in said or (case == "components" and "'--components' / '-k'" in said)


def test_wrong_usage(models):
    assert "Missing argument 'DATA'; kernelight fit -h says what there is." in refused("fit")
    assert "'--output'" in refused("fit", models / "t.csv")
    assert "No such command 'guess'" in refused("guess")
    assert "budget must be a time" in refused(
        "compare", models / "t.csv", "-o", "out.html", "--budget", "soon"
    )
    status, _, said = called()
    # nothing was asked for: the help, not a sentence
    assert (status, "Commands:" in said) == (2, True)


def test_places_that_cannot_be_written(models):
    data = models / "t.csv"
    os.mkdir("folder")
    for verb, end in (("fit", "klt"), ("predict", "csv"), ("compare", "html")):
        first = [*verbs(data, models)[verb]]
        at = first.index("-o") + 1
        for place, words in {
            f"none/x.{end}": "cannot be written: there is no directory none.",
            "folder": "folder is a directory: name a file.",
            "": "The name of the file to write is empty.",
            "n" * 300 + f".{end}": "File name too long.",
            str(data): "is what is read: name another file to write.",
            os.devnull: "is not a regular file",
        }.items():
            first[at] = place
            assert words in refused(*first)
    assert (models / "t.csv").read_text() == TABLE


# -- What needs a process of its own


def process(*arguments, **options):
    """The command as a process."""
    return subprocess.run(
        [sys.executable, "-m", "kernelight", *map(str, arguments)],
        **{"capture_output": True, "text": True, "check": False, **options},
    )


def file_limit(size):
    """A full disk, imitated: files may have ``size`` bytes, and writing more is an error."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


FULL = """
import json, signal, sys
from in_process import called
import kernelight.cli.compare, kernelight.cli.fit, kernelight.cli.predict, resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
for arguments in json.loads(sys.argv[1]):
    status, _, said = called(*arguments)
    print(status, said.strip().splitlines()[-1])
"""


def test_a_full_disk(models):
    """In a process whose files may have 100 bytes, which works everywhere, and says "File too
    large"."""
    wanted = {
        "out.klt": ("fit", models / "t.csv", "-o", "out.klt", *SMALL),
        "out.csv": ("predict", models / "csv.klt", models / "t.csv", "-o", "out.csv"),
        "out.html": ("compare", "iris", "-o", "out.html", "--budget", "1s"),
    }
    if importlib.util.find_spec("pyarrow"):
        Path("out.parquet").write_bytes(OLD)
        wanted["out.parquet"] = (
            "predict",
            models / "csv.klt",
            models / "t.csv",
            "-o",
            "out.parquet",
        )
    before = sorted(os.listdir("."))
    calls = json.dumps([[str(part) for part in call] for call in wanted.values()])
    done = subprocess.run(
        [sys.executable, "-c", FULL, calls],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])},
    )
    assert done.stdout.splitlines() == [
        f"2 kernelight: {name}: File too large." for name in wanted
    ], done.stderr
    assert sorted(os.listdir(".")) == before
    assert all(Path(name).read_bytes() == OLD for name in wanted)


def test_standard_output_that_takes_no_more(models):
    with open("printed", "wb") as printed:
        done = process(
            "predict",
            models / "csv.klt",
            models / "t.csv",
            stdout=printed,
            stderr=subprocess.PIPE,
            capture_output=False,
            preexec_fn=file_limit(10),
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "kernelight: standard output: File too large."
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough(models):
    with open("long.csv", "w") as file:
        file.write("a,b\n" + "1,2\n" * 200_000)
    shown = subprocess.Popen(
        [sys.executable, "-m", "kernelight", "predict", models / "csv.klt", "long.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert shown.stdout.readline() == b"prediction\n"
    shown.stdout.close()
    assert shown.stderr.read() == b""
    assert shown.wait(60) == 1
    shown.stderr.close()


def test_standard_streams_that_are_closed(models, monkeypatch):
    done = process("predict", models / "csv.klt", "-", preexec_fn=lambda: os.close(0))
    assert done.returncode == 2
    assert (
        done.stderr
        == "kernelight: standard input is closed: pipe the data into it, or name a file.\n"
    )
    monkeypatch.setattr("contextlib.redirect_stdout", lambda _: nullcontext())
    monkeypatch.setattr(sys, "stdout", None)
    said = refused("predict", models / "csv.klt", models / "t.csv")
    assert said == "kernelight: Standard output is closed: name a file by --output.\n"


@pytest.fixture
def listening():
    """Interrupts are heard, which is not so where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize(
    "moment", ["kernelight.estimators.kernel_model.KernelModel._fit", "os.fsync"]
)
def test_an_interrupt_leaves_nothing(models, monkeypatch, moment):
    """Ctrl-C while a model is trained, and while it is written."""

    def interrupted(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

    monkeypatch.setattr(moment, interrupted)
    before = sorted(os.listdir("."))
    status, out, said = called("fit", models / "t.csv", "-o", "out.klt", *SMALL)
    assert (status, out, said) == (1, "", "kernelight: Interrupted.\n")
    assert sorted(os.listdir(".")) == before
    assert Path("out.klt").read_bytes() == OLD


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGTERM to send")
def test_a_request_to_end_leaves_nothing(models, monkeypatch):
    """SIGTERM while a model is written."""

    def ended(*_):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    monkeypatch.setattr("os.fsync", ended)
    files = sorted(os.listdir("."))
    assert called("fit", models / "t.csv", "-o", "out.klt", *SMALL).status == 128 + signal.SIGTERM
    assert sorted(os.listdir(".")) == files
    assert Path("out.klt").read_bytes() == OLD
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    signal.signal(signal.SIGTERM, before)


def test_other_encodings_and_names_that_are_bytes(models):
    """Of standard output, and of the name of a file that a report tells of."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    Path("t.csv").write_text("a,kind\n" + "1,ä\n2,ö\n" * 20, encoding="utf-8")
    assert called("fit", "t.csv", "-o", "m.klt", *SMALL).status == 0
    done = subprocess.run(
        [sys.executable, "-m", "kernelight", "predict", "m.klt", "t.csv"],
        capture_output=True,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.splitlines()[:2] == [b"prediction", b"\\xe4"]
    name = os.fsdecode(b"caf\xe9.csv")
    Path(name).write_bytes((models / "t.csv").read_bytes())
    assert called("compare", name, "--budget", "1s", "-o", "report.html", "--quiet").status == 0
    assert r"caf\udce9.csv" in Path("report.html").read_text(encoding="utf-8")


def as_nobody(*arguments):
    """Status and sentence of the command without the rights of root; a fork, as nobody may not even
    see the interpreter."""
    # here, as nobody may not read the standard library
    importlib.import_module(f"kernelight.cli.{arguments[0]}")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setuid(65534)
            status, _, said = called(*arguments)
            os.write(writing, json.dumps([status, said]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        content = answer.read()
    os.waitpid(child, 0)
    return json.loads(content)


def test_no_permission(models, tmp_path):
    for place in (tmp_path, *tmp_path.parents):  # folders of tests are closed to others
        mode = stat.S_IMODE(os.stat(place).st_mode)
        if not mode & stat.S_IXOTH:  # others, such as the folder of all temporary files, stay so
            os.chmod(place, mode | 0o055)
    for name, mode in (("secret.csv", 0), ("secret.klt", 0), ("t.csv", 0o644), ("m.klt", 0o644)):
        content = (models / ("csv.klt" if name.endswith("klt") else "t.csv")).read_bytes()
        (tmp_path / name).write_bytes(content)
        os.chmod(tmp_path / name, mode)
    os.mkdir("open", 0o777)
    os.chmod("open", 0o777)
    os.mkdir("shut", 0o555)
    for arguments, words in (
        (
            ("fit", "secret.csv", "-o", "open/m.klt", *SMALL),
            "secret.csv cannot be read: Permission denied.",
        ),
        (
            ("predict", "m.klt", "secret.csv", "-o", "open/p.csv"),
            "secret.csv cannot be read: Permission denied.",
        ),
        (("evaluate", "secret.klt", "t.csv"), "secret.klt: Permission denied."),
        (("info", "secret.klt"), "secret.klt: Permission denied."),
        (
            ("fit", "t.csv", "-o", "shut/m.klt", *SMALL),
            "shut/m.klt cannot be written: no permission to write in shut.",
        ),
        (("predict", "m.klt", "t.csv", "-o", "shut/p.csv"), "no permission to write in shut."),
        (("compare", "t.csv", "-o", "shut/r.html"), "no permission to write in shut."),
    ):
        status, said = as_nobody(*arguments)
        assert (status, said.count("\n")) == (2, 1), said
        assert words in said
    assert os.listdir("open") == os.listdir("shut") == []


@pytest.mark.parametrize("name", ["long.csv", "long.svm"])
def test_a_file_that_is_cut_off_while_it_is_read(name, models, monkeypatch):
    """It is not mapped, which would take the process along (SIGBUS)."""
    with open(name, "w") as file:
        file.write("a,b,kind\n" + ROWS * 500 if name.endswith("csv") else "1 2:3\n0 1:2\n" * 9000)
    for module in ("delimited", "libsvm"):
        monkeypatch.setattr(f"kernelight.data.{module}.CHUNK", 4096)
    more, texts = byte_sources.Window.more, []

    def cutting(window):
        texts.append(more(window))
        os.truncate(name, 10)
        return texts[-1]

    data = open_dataset(name)
    monkeypatch.setattr(byte_sources.Window, "more", cutting)
    with pytest.raises(DataError, match="has changed since it was opened"):
        data.materialise()
    assert len(texts) > 1
