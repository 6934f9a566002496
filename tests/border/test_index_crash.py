"""An index after crashes: all that a commit acknowledged is there to the bit, and nothing else.

The life of an index is written once with files that record what is durable after each operation;
then the machine crashes after every one of them. Errors of the system, and processes that are
killed, come after that. Long, as all of them share the rows, the life and the checks.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from faulty_files import FailingFiles, RecordingFiles
from helpers import nightly, rounds, sampled, sentence

from kernelight import GCWS
from kernelight.neighbors import Index
from kernelight.neighbors.index import contents as contents_module
from kernelight.neighbors.index.files import Files

MAP = GCWS(24, bits=4, random_state=3).fit(np.ones((2, 3)))
ROWS = np.random.default_rng(0).lognormal(size=(60, 3))


def content(index):
    """Every live row of an index by its id: itself and its code, as bytes."""
    found = {}
    for segment in index._segments:
        rows = np.flatnonzero(segment.live)
        taken, codes = segment.rows.take(rows), segment.arrays["codes"][rows]
        ids = segment.ids.take(rows)
        assert not set(ids) & set(found)
        for at, name in enumerate(ids):
            found[name] = (taken[at].tobytes(), codes[at].tobytes())
    return found


def wanted(rows):
    """What `content` should be, of a dict of rows by id."""
    if not rows:
        return {}
    X = np.array(list(rows.values()))
    codes = MAP.encode(X).array
    return {name: (X[at].tobytes(), codes[at].tobytes()) for at, name in enumerate(rows)}


def using(files):
    """`Index` whose writers use these files."""
    return type("Index", (Index,), {"_files": staticmethod(lambda: files)})


class QuickFiles(Files):
    """`Files` that do not wait for the disk, for what is not tested."""

    def sync(self, handle):
        pass

    def sync_directory(self, path):
        pass


class Life:
    """The life of an index, and what each commit acknowledged.

    ``commits`` has for each the number of operations before it and after it, and the rows.
    """

    def __init__(self, root, ids):
        self.files, self.path = RecordingFiles(str(root)), os.path.join(root, "i")
        self.ids, self.rows, self.commits = ids, {}, []
        with self.committing():
            self.index = using(self.files).create(self.path, MAP, threshold=0.9)
        self.add(range(6))
        self.commit()
        self.remove([1, 4])
        self.commit()
        self.add(range(4, 9), shift=7, replace=True)
        self.remove([0])
        self.commit()
        self.index.close()
        self.index = using(self.files).open(self.path, "a")
        for number in range(20, 27):  # the eighth commit merges
            self.add([number])
            self.commit()
        self.add([30])  # never committed
        self.index.close()
        self.rows = dict(self.commits[-1][2])
        self.index = using(self.files).open(self.path, "a")
        self.remove([20, 21])
        with self.committing():
            self.index.compact()
        self.remove(list(self.rows)[:])
        self.commit()
        with self.committing():
            self.index.compact()
        self.add(range(3))
        self.commit()
        self.index.close()

    def committing(self):
        life = self

        class Committing:
            def __enter__(self):
                self.before = len(life.files.moments)

            def __exit__(self, *_):
                after = len(life.files.moments)
                # what it removes afterwards is no part of it
                while life.files.moments[after - 1].operation.startswith("unlink"):
                    after -= 1
                life.commits.append((self.before, after, dict(life.rows)))

        return Committing()

    def commit(self):
        with self.committing():
            self.index.commit()

    def add(self, numbers, shift=0, replace=False):
        names = [self.ids(number) for number in numbers]
        X = ROWS[[number + shift for number in numbers]]
        self.index.add(names, X, replace=replace)
        self.rows.update(zip(names, X, strict=True))

    def remove(self, numbers):
        names = [number if isinstance(number, str) else self.ids(number) for number in numbers]
        names = [name for name in names if name in self.rows]
        self.index.remove(names)
        for name in names:
            del self.rows[name]

    def allowed(self, at):
        """What may be there after operation ``at``; None is no index."""
        states = [None]
        for before, after, rows in self.commits:
            if at >= after - 1:
                states = [rows]
            elif at >= before:
                states.append(rows)
        return states


def check(root, states):
    """The index below a root has the rows of one of the states, and goes on working."""
    path = os.path.join(root, "i")
    try:
        index = Index.open(path)
    except (ValueError, OSError):
        if None not in states:
            raise
        using(QuickFiles()).create(path, MAP, threshold=0.9).close()
        states, index = [{}], Index.open(path)
    found = content(index)
    rows = [rows for rows in states if rows is not None and wanted(rows) == found]
    assert rows, (sorted(found), [state and sorted(state) for state in states])
    index.verify()
    index.close()
    rows = dict(rows[0])
    with using(QuickFiles()).open(path, "a") as index:
        other = "x" if index.info()["ids"] == "str" else 99  # also where all were removed
        if rows:
            index.remove([next(iter(rows))])
            del rows[next(iter(rows))]
        index.add([other], ROWS[:1])
        rows[other] = ROWS[0]
    with using(QuickFiles()).open(path, "a") as index:
        index.verify()
        assert content(index) == wanted(rows)
        assert index.search(ROWS[:1], threshold=0.95)[0][0].tolist() == [
            name for name in sorted(rows) if (rows[name] == ROWS[0]).all()
        ]
        named = {entry.name for entry in index._store.manifest.files}
        assert set(os.listdir(path)) == named | {"LOCK", "MANIFEST"}


class Crashes:
    """Crashes that were not tried before: many moments leave the same on the disk."""

    def __init__(self, root):
        self.root, self.tried, self.n = root, set(), 0

    def try_one(self, moment, how, rng, states):
        place = os.path.join(self.root, "crash")
        shutil.rmtree(place, ignore_errors=True)
        os.mkdir(place)
        left = moment.write_to(place, how, rng)
        key = (tuple(left.items()), tuple(None if s is None else tuple(s) for s in states))
        if hash(key) not in self.tried:
            self.tried.add(hash(key))
            self.n += 1
            check(place, states)


NAMES = {"int": lambda number: number, "str": lambda number: f"row {number}"}


@pytest.fixture(scope="module", params=sampled(NAMES, "int"))
def life(request, tmp_path_factory):
    return Life(tmp_path_factory.mktemp("life"), NAMES[request.param])


WAYS = ["drop", "keep", "torn", "prefix"]


def test_the_life_has_every_operation(life):
    kinds = {moment.operation.split()[0] for moment in life.files.moments}
    assert kinds == {"mkdir", "create", "write", "fsync", "rename", "unlink"}
    assert len(life.files.moments) > 200
    assert len({tuple(rows) for _, _, rows in life.commits}) > 10


@pytest.mark.parametrize(
    "seeds", [1, pytest.param(rounds(10), marks=[nightly, pytest.mark.rounds])]
)
def test_the_machine_crashes_after_every_operation(life, tmp_path, seeds):
    crashes = Crashes(tmp_path)
    for at, moment in enumerate(life.files.moments):
        for seed in range(seeds):
            for way in WAYS[2 * (seed > 0) :]:
                rng = np.random.default_rng([at, seed])
                crashes.try_one(moment, way, rng, life.allowed(at))
    assert crashes.n > 300


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=nightly)])
def test_a_killed_process_then_a_crash(life, tmp_path, step):
    """The next writer removes nothing that a manifest names which may come back."""
    crashes = Crashes(tmp_path)
    for at in range(2, len(life.files.moments), step):
        moment, states = life.files.moments[at], life.allowed(at)
        killed = os.path.join(tmp_path, "killed")
        shutil.rmtree(killed, ignore_errors=True)
        os.mkdir(killed)
        moment.write_to(killed, "keep", np.random.default_rng(0))
        files = RecordingFiles.after(killed, moment)
        try:
            index = using(files).open(os.path.join(killed, "i"), "a")
        except (ValueError, OSError):
            assert None in states
            continue
        # what the second writer saw has become durable
        states = [rows for rows in states if rows is not None and wanted(rows) == content(index)]
        assert states
        for later in files.moments:
            for way in WAYS:
                crashes.try_one(later, way, np.random.default_rng(at), states)
        index.close()
    assert crashes.n > 50 / step


def test_a_creation_with_its_rows_is_whole_or_not_there(tmp_path, monkeypatch):
    """Rows are on the disk before the first commit; of a crash nothing may be in the way."""
    monkeypatch.setattr(contents_module, "_SPILLED", 1)
    os.mkdir(tmp_path / "life")
    life = Life.__new__(Life)
    life.files, life.ids = RecordingFiles(str(tmp_path / "life")), NAMES["int"]
    life.path, life.rows, life.commits = str(tmp_path / "life" / "i"), {}, []
    life.index = using(life.files).create(life.path, MAP, threshold=0.9, deferred=True)
    life.add(range(4))
    life.add(range(10, 15))
    segments = [name for name in os.listdir(life.path) if name.startswith("segment")]
    assert len(segments) == 2
    for call in (Index.open, lambda path: Index.open(path, "a")):
        with pytest.raises(ValueError, match=sentence("was never completed")):
            call(life.path)
    life.commit()
    life.index.close()
    crashes = Crashes(tmp_path)
    for at, moment in enumerate(life.files.moments):
        for way in WAYS:
            crashes.try_one(moment, way, np.random.default_rng(at), life.allowed(at))
    assert crashes.n > 20


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("kind", [None, "create", "write", "sync", "rename", "sync_directory"])
def test_a_creation_without_a_commit_leaves_nothing(tmp_path, kind, there, monkeypatch):
    """Of errors, Ctrl-C, and no commit at all; a directory that was there stays."""
    monkeypatch.setattr(contents_module, "_SPILLED", 1)
    path, failures = tmp_path / "i", 0
    for files_of in (FailingFiles, InterruptedFiles):
        for at in range(100):
            if there:
                path.mkdir(exist_ok=True)
            files = files_of(kind, at, errno.ENOSPC)
            try:
                index = using(files).create(path, MAP, deferred=True)
                try:
                    index.add(range(3), ROWS[:3])
                    if kind is not None:
                        index.commit()
                finally:
                    index.close()
            except (OSError, KeyboardInterrupt):
                failures += 1
            done = not files.failed
            if (path / "MANIFEST").exists():  # it failed when that was there
                assert content(Index.open(path)) == wanted(dict(enumerate(ROWS[:3])))
                shutil.rmtree(path)
            else:
                assert os.listdir(tmp_path) == (["i"] if there else [])
                assert not there or not os.listdir(path)
            if done:
                break
    assert failures >= (0 if kind is None else 2)


def test_an_undone_creation_may_crash(tmp_path, monkeypatch):
    """What it removes last says that the rest is none."""
    monkeypatch.setattr(contents_module, "_SPILLED", 1)
    os.mkdir(tmp_path / "life")
    files = RecordingFiles(str(tmp_path / "life"))
    with using(files).create(tmp_path / "life" / "i", MAP, deferred=True) as index:
        index.add(range(3), ROWS[:3])
        index.close()
    assert files.moments[-1].operation == "rmdir"
    crashes = Crashes(tmp_path)
    for at, moment in enumerate(files.moments):
        for way in WAYS:
            crashes.try_one(moment, way, np.random.default_rng(at), [None])
    assert crashes.n > 10


def test_the_model_of_the_disk_loses_what_was_not_synced(tmp_path):
    """The crash tests can fail: without the syncs, files are lost."""

    class Careless(RecordingFiles):
        def sync(self, handle):
            pass

    files = Careless(str(tmp_path))
    with using(files).create(tmp_path / "i", MAP, threshold=0.9) as index:
        index.add([1], ROWS[:1])
    os.mkdir(tmp_path / "crash")
    files.moments[-1].write_to(tmp_path / "crash", "drop", np.random.default_rng(0))
    with pytest.raises(ValueError, match=sentence("MANIFEST has been altered or damaged")):
        Index.open(tmp_path / "crash" / "i")


# -- Errors of the system


def three_rows(path):
    with Index.create(path, MAP, threshold=0.9) as index:
        index.add([1, 2, 3], ROWS[:3])


def failing_commit(path, files):
    """A commit with a new segment and a list of removed rows; whether the operation failed."""
    index = using(files).open(path, "a")
    index.add([4, 5], ROWS[3:5])
    index.remove([2])
    try:
        index.commit()
    except OSError as error:
        return index, error
    return index, None


BEFORE = {number: ROWS[number - 1] for number in (1, 2, 3)}
AFTER = {number: ROWS[number - 1] for number in (1, 3, 4, 5)}


@pytest.mark.parametrize("kind", ["create", "write"])
def test_a_full_disk_leaves_the_index_and_the_changes(tmp_path, kind):
    path, failures = tmp_path / "i", 0
    for at in range(100):
        shutil.rmtree(path, ignore_errors=True)
        three_rows(path)
        index, error = failing_commit(path, FailingFiles(kind, at, errno.ENOSPC))
        if error is None:
            break
        failures += 1
        assert error.errno == errno.ENOSPC
        assert re.match(sentence("no space left on device: nothing committed was lost"), str(error))
        assert str(path) in str(error)
        with Index.open(path) as reader:
            assert content(reader) == wanted(BEFORE)
            reader.verify()
        assert content(index) == wanted(AFTER)
        index.commit()  # there is room again
        index.close()
        with Index.open(path) as reader:
            assert content(reader) == wanted(AFTER)
        assert len(os.listdir(path)) == 6
    assert failures >= (3 if kind == "create" else 12)


@pytest.mark.parametrize("kind", ["sync", "rename", "sync_directory"])
def test_an_error_of_a_sync_ends_the_writer(tmp_path, kind):
    path, failures = tmp_path / "i", 0
    for at in range(kind == "sync_directory", 100):  # the first one is of opening it
        shutil.rmtree(path, ignore_errors=True)
        three_rows(path)
        files = FailingFiles(kind, at)
        index, error = failing_commit(path, files)
        if error is None:
            break
        failures += 1
        assert files.failed
        for change in (index.commit, index.compact, lambda index=index: index.remove([1])):
            with pytest.raises(OSError, match=sentence("close it and open the index again")):
                change()
        index.close()
        with Index.open(path, "a") as again:
            assert content(again) in (wanted(BEFORE), wanted(AFTER))
            again.verify()
            again.add([9], ROWS[9:10])
    assert failures >= 1


def test_files_that_cannot_be_removed_wait(tmp_path):
    three_rows(tmp_path / "i")
    files = FailingFiles("unlink", 0, errno.EACCES)
    with using(files).open(tmp_path / "i", "a") as index:
        index.remove([2])
        index.compact()
        assert files.failed
        assert content(index) == wanted({1: ROWS[0], 3: ROWS[2]})
        assert len(os.listdir(tmp_path / "i")) == 5
    assert len(os.listdir(tmp_path / "i")) == 4
    Index.open(tmp_path / "i").verify()


def test_an_error_of_create_leaves_nothing_that_is_in_the_way(tmp_path):
    for kind in ("create", "write", "sync", "rename", "sync_directory"):
        for at in range(3):
            files = FailingFiles(kind, at, errno.ENOSPC)
            try:
                using(files).create(tmp_path / "i", MAP).close()
            except OSError:
                if not (tmp_path / "i" / "MANIFEST").exists():
                    Index.create(tmp_path / "i", MAP).close()
            assert len(Index.open(tmp_path / "i")) == 0
            shutil.rmtree(tmp_path / "i")


# -- Ctrl-C


class InterruptedFiles(FailingFiles):
    """`Files` of which one operation is interrupted."""

    def _step(self, kind):
        try:
            super()._step(kind)
        except OSError:
            raise KeyboardInterrupt from None


@pytest.mark.parametrize("kind", ["create", "write", "sync", "rename", "sync_directory"])
@pytest.mark.parametrize("act", ["add", "commit", "compact"])
def test_an_interrupt_leaves_the_index_whole(tmp_path, kind, act, monkeypatch):
    """It changed everything or nothing; a writer that does not know which does not go on."""
    monkeypatch.setattr(contents_module, "_SPILLED", 1 if act == "add" else 1 << 27)
    interrupts = 0
    for at in range(100):
        shutil.rmtree(tmp_path / "i", ignore_errors=True)
        three_rows(tmp_path / "i")
        files = InterruptedFiles("none", -1)
        index = using(files).open(tmp_path / "i", "a")
        if act != "add":
            index.add([4, 5], ROWS[3:5])
            index.remove([2])
        old = content(index)
        files.kind, files.left = kind, at
        try:
            index.add([4, 5], ROWS[3:5]) if act == "add" else getattr(index, act)()
            index.close()
            break
        except KeyboardInterrupt:
            interrupts += 1
        assert content(index) == old
        files.kind = "none"
        if index._store.uncertain:
            with pytest.raises(OSError, match=sentence("a commit was interrupted")):
                index.commit()
        else:
            index.commit()
            assert content(index) == old
        index.close()
        with Index.open(tmp_path / "i", "a") as again:
            assert content(again) in (wanted(BEFORE), old)
            again.verify()
            again.add([9], ROWS[8:9])
    assert interrupts or (act, kind) in (("add", "rename"), ("add", "sync_directory"))


# -- Processes that are killed

KILLS = """
import os, random, signal, sys, time
import numpy as np
from kernelight import GCWS
from kernelight.neighbors import Index

path, count = sys.argv[1], int(sys.argv[2])
rows = np.random.default_rng(0).lognormal(size=(4096, 3))
Index.create(path, GCWS(24, bits=4).fit(rows), threshold=0.9).close()
generator, last, torn = random.Random(0), 0, 0


def write(out):
    # commits three rows at a time, of which the last is removed in the next
    with Index.open(path, "a", n_jobs=1) as index:
        number = len(index) // 2
        while True:
            at = 2 * number % 4000
            if number:
                index.remove([3 * number - 1])
            index.add(range(3 * number, 3 * number + 3), rows[at : at + 3])
            if number % 5 == 4:
                index.compact()
            else:
                index.commit()
            number += 1
            os.write(out, number.to_bytes(4, "little"))


for turn in range(count):
    read, out = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        write(out)
    os.close(out)
    time.sleep(generator.uniform(0.0, 0.08))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    acknowledged = b""
    while piece := os.read(read, 1 << 16):
        acknowledged += piece
    os.close(read)
    last = int.from_bytes(acknowledged[-4:], "little") if acknowledged else last
    with Index.open(path) as index:
        index.verify()
        found = len(index) // 2
        assert found in (last, last + 1), (found, last)
        names = {3 * n + i for n in range(found) for i in (0, 1)}
        names |= {3 * found - 1} if found else set()
        ids = [segment.ids.take(np.flatnonzero(segment.live)) for segment in index._segments]
        assert set(np.concatenate(ids).tolist() if ids else []) == names
        last = found
print(last)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of POSIX")
@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=[nightly, pytest.mark.rounds])])
def test_killed_writers(tmp_path, count):
    done = subprocess.run(
        [sys.executable, "-c", KILLS, tmp_path / "i", str(count)],
        capture_output=True,
        text=True,
        env={**os.environ, "KERNELIGHT_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > count  # commits that were made
