"""Threads and forked processes that share a writer of an index."""

from __future__ import annotations

import fcntl
import os
import re
import threading

import numpy as np
import pytest
from helpers import sentence

from kernelight import GCWS
from kernelight.neighbors import Index
from kernelight.neighbors.index.lock import LOCK, WriterLock

X = np.random.default_rng(0).lognormal(size=(12, 3))
MAP = GCWS(32, bits=4).fit(X)


@pytest.fixture
def index(tmp_path):
    with Index.create(tmp_path / "i", MAP, threshold=0.9) as made:
        made.add(range(8), X[:8])
        made.commit()
        made.remove([3])
        made.commit()
        yield made


def test_the_lock_is_on_the_file_that_is_there(tmp_path, monkeypatch):
    """Another process may remove it, with all it wrote, after it was opened here."""
    locked = []

    def flock(number, how):
        if not locked:
            os.unlink(tmp_path / LOCK)
        locked.append(number)
        return real(number, how)

    real = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", flock)
    lock = WriterLock(str(tmp_path))
    assert os.path.exists(tmp_path / LOCK)
    with pytest.raises(BlockingIOError, match=sentence("one writer at a time")):
        WriterLock(str(tmp_path))
    lock.release()
    WriterLock(str(tmp_path)).release()


def test_threads_share_a_writer(tmp_path):
    """Nothing is lost, and nobody meets a half-made change."""
    index = Index.create(tmp_path / "i", MAP, threshold=0.9)
    failed = []

    def work(first):
        try:
            for at in range(25):
                begin = 1000 * first + 10 * at
                index.add(range(begin, begin + 10), X[:10])
                index.remove([begin + 3])
                if at % 3 == first % 3:
                    (index.compact if at % 2 else index.commit)()
                assert begin in index.search(X[:1], threshold=0.9)[0][0]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    index.commit()
    index.close()
    with Index.open(tmp_path / "i") as reader:
        reader.verify()
        found = reader.search(X[:1], threshold=0.9)[0][0].tolist()
        wanted = {1000 * first + 10 * at for first in range(4) for at in range(25)}
        assert wanted <= set(found)
        assert len(reader) == 4 * 25 * 9


def in_a_fork(body):
    """What a function returns in a forked process, as text."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write, repr(body()).encode())
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with open(read, encoding="utf-8") as pipe:
        return pipe.read()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
def test_a_forked_writer_reads_and_does_not_write(index):
    path = index.info()["path"]
    index.add([20], X[:1])  # not committed: the child sees it, and must not throw it away
    for change in (
        lambda: index.add([30], X[:1]),
        lambda: index.remove([1]),
        index.commit,
        index.compact,
    ):
        assert re.match(
            sentence("ValueError: .* was opened for writing by another process"), in_a_fork(change)
        )
    assert in_a_fork(lambda: (len(index), int(index.search(X[:1], k=1)[0][0, 0]))) == "(8, 0)"

    def left():
        with index:
            return "left"

    assert in_a_fork(left) == "'left'"
    assert in_a_fork(index.close) == "None"
    index.commit()
    assert len(Index.open(path)) == 8
    index.remove([20])
    index.compact()
    index.verify()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
def test_a_fork_does_not_keep_the_lock(index):
    path = index.info()["path"]
    read, write = os.pipe()
    child = os.fork()
    if not child:  # it lives on while the parent closes
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    try:
        index.close()
        Index.open(path, "a").close()
    finally:
        os.close(write)
        os.close(read)
        os.waitpid(child, 0)
