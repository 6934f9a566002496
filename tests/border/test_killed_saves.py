"""Saves that end early, of killed processes or on full disks.

The file is complete or what it was, and nothing is left beside it.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from kernelight import Codes, State
from kernelight.base import files
from kernelight.base.files import Spool, replacing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

SAVES = """
import sys
import numpy as np
from kernelight import State
from kernelight.base import files
if sys.argv[2] == "named":
    files._nameless = lambda directory: None
state = State({"kind": "Example"}, {"w": np.zeros(1 << 18)})
state.save(sys.argv[1])
print("ready", flush=True)
while True:
    state.save(sys.argv[1])
"""


@pytest.mark.parametrize("way", ["nameless", "named"])
def test_killed_at_random_moments(tmp_path, way):
    path = tmp_path / "m.klt"
    generator = random.Random(0)
    for _ in range(2):  # a start takes longer than a save: several at once
        running = [
            subprocess.Popen([sys.executable, "-c", SAVES, path, way], stdout=subprocess.PIPE)
            for _ in range(3)
        ]
        for process in running:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(generator.uniform(0, 0.02))
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
            assert State.load(path).arrays["w"].shape == (1 << 18,)
    State({"kind": "Example"}).save(path)
    assert os.listdir(tmp_path) == ["m.klt"]


def temporary(machine, process, token="0123456789abcdef"):
    return f".kernelight-{machine}-{process}-{token}.tmp"


@pytest.fixture
def dead():
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


def test_only_what_is_surely_dead_is_removed(tmp_path, dead):
    here = files._machine()
    stays = {
        temporary(here, os.getpid()),
        temporary(here, os.getppid()),
        temporary("00000000", dead),  # on a shared file system: of a process elsewhere
        ".kernelight-0123456789abcdef.tmp",  # without an owner, as it was named before
        ".kernelight-notes.tmp",
        "kernelight-0123456789abcdef.tmp",
    }
    goes = {temporary(here, dead)}
    for name in stays | goes:
        (tmp_path / name).write_bytes(b"x")
    State({"kind": "Example"}).save(tmp_path / "m.klt")
    assert set(os.listdir(tmp_path)) == stays | {"m.klt"}
    for name in stays:
        os.utime(tmp_path / name, (time.time() - 2 * files.FORGOTTEN,) * 2)
    State({"kind": "Example"}).save(tmp_path / "m.klt")
    assert set(os.listdir(tmp_path)) == {
        "m.klt",
        ".kernelight-notes.tmp",
        "kernelight-0123456789abcdef.tmp",
    }


def test_a_file_has_no_name_until_it_is_whole(tmp_path):
    if files._nameless(str(tmp_path)) is None:
        pytest.skip("the system has no files without a name")
    with replacing(tmp_path / "x") as file:
        file.write(b"x" * 100_000)
        file.flush()
        assert os.listdir(tmp_path) == []
    assert os.listdir(tmp_path) == ["x"]


def test_a_file_that_cannot_be_named_is_copied(tmp_path, monkeypatch):
    def refused(*args, **kwargs):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(files.os, "link", refused)
    (tmp_path / "x").write_bytes(b"old")
    os.chmod(tmp_path / "x", 0o640)
    with replacing(tmp_path / "x") as file:
        file.write(b"new")
    assert (tmp_path / "x").read_bytes() == b"new"
    assert os.stat(tmp_path / "x").st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["x"]


def test_the_directory_is_made_durable_after_the_renaming(tmp_path, monkeypatch):
    done = []
    real_replace, real_sync = os.replace, os.fsync
    monkeypatch.setattr(
        files.os, "replace", lambda *names: (done.append("rename"), real_replace(*names))
    )

    def sync(number):
        done.append("directory" if os.path.isdir(f"/dev/fd/{number}") else "file")
        real_sync(number)

    monkeypatch.setattr(files.os, "fsync", sync)
    State({"kind": "Example"}).save(tmp_path / "x")
    assert done == ["file", "rename", "directory"]


def test_a_directory_that_cannot_be_made_durable_is_no_error(tmp_path, monkeypatch):
    real = os.fsync

    def sync(number):
        if os.path.isdir(f"/dev/fd/{number}"):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        real(number)

    monkeypatch.setattr(files.os, "fsync", sync)
    State({"kind": "Example"}).save(tmp_path / "x")
    assert State.load(tmp_path / "x").kind == "Example"


# -- A full disk


@pytest.fixture
def small_files():
    """Files may have 100,000 bytes; what is more is an error, as on a full disk."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, old[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, old)
    signal.signal(signal.SIGXFSZ, handler)


def parts(rows):
    return (Codes(np.zeros((rows, 8), dtype=np.uint8), bits=8) for _ in range(20))


@pytest.mark.parametrize("rows", [1000, 5000])
def test_codes_that_do_not_fit(tmp_path, small_files, rows):
    path = tmp_path / "codes.klt"
    with pytest.raises(OSError, match="File too large") as caught:
        Codes.save_parts(path, parts(rows))
    assert caught.value.filename == str(path)
    assert os.listdir(tmp_path) == []


def test_what_waits_in_a_buffer_names_the_file_too(tmp_path, small_files):
    spool = Spool(tmp_path / "x")
    spool.write(bytes(99_999))
    spool.write(b"ab")
    with pytest.raises(OSError, match="File too large") as caught:
        list(spool.pieces())
    assert caught.value.filename == str(tmp_path / "x")
    spool.close()


def test_a_state_that_does_not_fit(tmp_path, small_files):
    with pytest.raises(OSError, match="File too large") as caught:
        State({"kind": "Example"}, {"w": np.zeros(20_000)}).save(tmp_path / "x")
    assert caught.value.filename == str(tmp_path / "x")
    assert os.listdir(tmp_path) == []
