"""`BlockFiles`: what a worker writes is what it reads, or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernelight.distributed.spark.block_files import FOLDERS, BlockFiles
from kernelight.tables.block_training import BlockRows


@pytest.fixture
def folders(tmp_path, monkeypatch):
    made = [tmp_path / "one", tmp_path / "two"]
    for each in made:
        each.mkdir()
    monkeypatch.setenv(FOLDERS, ",".join(map(str, made)))
    return made


PIECES = [BlockRows(b"abcdef", b"\0\0\0\0\1\0\0\0", 2), BlockRows(b"ghi", b"\2\0\0\0", 1)]


def found(files, block=0, n_rows=3):
    rows = files.get(block, n_rows)
    return rows and (bytes(rows.values), bytes(rows.content), rows.n_rows)


def test_a_file_gives_back_the_rows(folders):
    files = BlockFiles("token")
    assert not files.has(0)
    paths = [Path(files.put(block, PIECES)) for block in range(3)]
    assert [path.parent for path in paths] == [folders[0], folders[1], folders[0]]
    content = b"".join(each.content for each in PIECES)
    assert [found(files, block) for block in range(3)] == [(b"abcdefghi", content, 3)] * 3
    assert files.has(2)
    assert found(files, 3) is None
    assert found(BlockFiles("other")) is None
    BlockFiles("other").remove()
    assert paths[0].exists()
    files.remove()
    assert not any(list(folder.iterdir()) for folder in folders)


@pytest.mark.parametrize("block", [0, 1])
def test_a_file_that_is_not_as_it_was_written_is_not_believed(folders, block):
    files = BlockFiles("token")
    path = Path(files.put(block, PIECES))
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at])
        assert found(files, block) is None
        assert not path.exists()  # so that the next round writes it
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert found(files, block) is None
    path.write_bytes(whole + b"x")
    assert found(files, block) is None
    path.write_bytes(whole)
    assert found(files, block, n_rows=4) is None
    path.write_bytes(whole)
    assert found(files, block) is not None


def test_where_nothing_can_be_written(folders, monkeypatch, tmp_path):
    files = BlockFiles("token")
    (folders[0] / "kernelight-token-0").mkdir()  # which nothing can be renamed to
    assert files.put(0, PIECES) is None
    assert found(files) is None
    assert os.listdir(folders[0]) == ["kernelight-token-0"]
    for value in ("", str(tmp_path / "none")):
        monkeypatch.setenv(FOLDERS, value)
        assert files.put(1, PIECES) is None
        assert found(files, 1) is None
        assert not files.has(1)
        files.remove()
