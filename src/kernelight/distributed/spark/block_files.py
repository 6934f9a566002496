"""Files with the rows of blocks, on the disks of workers: later rounds need not move them again.

A worker that has the rows of a block leaves them where Spark keeps what an executor has for itself,
and removes it with the executor: SPARK_LOCAL_DIRS, which it sets for Python workers. A round that
comes to the same executor finds them there. Nothing depends on such a file: where it is absent, or
not as it was written, the rows come through Spark once more. A file has

    targets, values       as in `BlockRows`
    the last 32 bytes     a magic word, the rows, the bytes of targets; the CRC-32 of all before
"""

from __future__ import annotations

import contextlib
import glob
import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kernelight.tables.block_training import BlockRows

FOLDERS = "SPARK_LOCAL_DIRS"  # set by Spark, with commas in between
_MAGIC = b"klblock1"
_TAIL, _DIGEST = struct.Struct("<8sQQ"), struct.Struct("<Q")


@dataclass(frozen=True)
class BlockFiles:
    """The files of a fit, which has a ``token`` of its own, for a worker."""

    token: str

    def has(self, block: int) -> bool:
        """Whether there is a file of a block here, perhaps a damaged one."""
        path = self._path(block)
        return path is not None and os.path.exists(path)

    def put(self, block: int, pieces: Sequence[BlockRows]) -> str | None:
        """Write the rows of a block, in pieces; the path of the file, None if that cannot be."""
        path = self._path(block)
        if path is None:
            return None
        # Beside it and renamed: another worker may write the same block, or read it.
        beside = f"{path}-{os.getpid()}.tmp"
        n_rows = sum(each.n_rows for each in pieces)
        content = sum(memoryview(each.content).nbytes for each in pieces)
        parts = [*(each.content for each in pieces), *(each.values for each in pieces)]
        digest = 0
        try:
            with open(beside, "wb") as file:
                for part in [*parts, _TAIL.pack(_MAGIC, n_rows, content)]:
                    file.write(part)
                    digest = zlib.crc32(part, digest)
                file.write(_DIGEST.pack(digest))
            os.replace(beside, path)
        except OSError:  # a full disk, or a folder that is gone
            with contextlib.suppress(OSError):
                os.unlink(beside)
            return None
        return path

    def get(self, block: int, n_rows: int) -> BlockRows | None:
        """The rows of a block, of which there are ``n_rows``; None if they are not here."""
        path = self._path(block)
        if path is None:
            return None
        try:
            with open(path, "rb") as file:
                found = _rows_in(memoryview(file.read()), n_rows)
            if found is None:  # so that it is written anew
                os.unlink(path)
        except OSError:
            return None
        return found

    def remove(self, folders: Iterable[str] | None = None) -> None:
        """Remove all that this fit has left in these folders, or in those of this worker."""
        for folder in _folders() if folders is None else folders:
            for path in glob.glob(os.path.join(glob.escape(folder), f"{self._name}*")):
                with contextlib.suppress(OSError):
                    os.unlink(path)

    @property
    def _name(self) -> str:
        return f"kernelight-{self.token}-"

    def _path(self, block: int) -> str | None:
        folders = _folders()
        return (
            os.path.join(folders[block % len(folders)], self._name + str(block))
            if folders
            else None
        )


def _folders() -> list[str]:
    return [each for each in os.environ.get(FOLDERS, "").split(",") if os.path.isdir(each)]


def _rows_in(whole: Any, n_rows: int) -> BlockRows | None:
    """The rows in the bytes of a file; None unless they are those that were written."""
    signed = len(whole) - _DIGEST.size
    end = signed - _TAIL.size
    if end < 0 or _DIGEST.unpack(whole[signed:]) != (zlib.crc32(whole[:signed]),):
        return None
    magic, count, content = _TAIL.unpack(whole[end:signed])
    if (magic, count) != (_MAGIC, n_rows):
        return None
    return BlockRows(whole[content:end], whole[:content], n_rows)
