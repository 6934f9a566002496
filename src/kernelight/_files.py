"""Files that are written all or nothing."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO

Path = str | os.PathLike[str]


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which becomes ``path`` when the block ends well; otherwise ``path`` stays what it was.

    It is written beside the target, made durable, then renamed over it; an old file keeps its permissions.

    >>> import os, tempfile
    >>> from kernelight.data import replacing
    >>> path = os.path.join(tempfile.mkdtemp(), "note.txt")
    >>> with replacing(path) as file:
    ...     _ = file.write(b"whole")
    >>> open(path).read()
    'whole'
    """
    target = os.path.realpath(os.fsdecode(path))
    directory = os.path.dirname(target)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fsdecode(path))
    if os.path.lexists(target) and not os.path.isfile(target):
        raise OSError(errno.EINVAL, "Not a regular file: a save would replace it", os.fsdecode(path))
    if not os.path.isdir(directory):
        raise FileNotFoundError(errno.ENOENT, "No such directory", directory)
    temporary = os.path.join(directory, f".kernelight-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        if os.path.exists(target):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except BaseException as error:  # an interrupt must not leave the temporary file behind either
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, temporary):
            raise OSError(error.errno, os.strerror(error.errno), os.fsdecode(path)) from error
        raise


class Spool:
    """Bytes that wait in a nameless file until all are there: what stands before them may depend on how many they are.

    The file is in the folder of ``path``, where there must be room for them anyway, and vanishes with this object.
    """

    PIECE = 1 << 22

    def __init__(self, path: Path) -> None:
        folder = os.path.dirname(os.path.realpath(os.fsdecode(path)))
        if not os.path.isdir(folder):
            raise FileNotFoundError(errno.ENOENT, "No such directory", folder)
        self._handle = tempfile.TemporaryFile(dir=folder, prefix=".kernelight-")  # noqa: SIM115 (closed by close)

    def write(self, content: Any) -> None:
        """Append the bytes of a buffer."""
        self._handle.write(content)

    def pieces(self) -> Iterator[bytes]:
        """All bytes from the beginning, some at a time."""
        at = 0
        while True:
            self._handle.seek(at)
            piece = self._handle.read(self.PIECE)
            if not piece:
                return
            at += len(piece)
            yield piece

    def lines(self) -> Iterator[bytes]:
        """The same line by line, for text; nothing may be written meanwhile."""
        self._handle.seek(0)
        yield from self._handle

    def close(self) -> None:
        """Let the file go."""
        self._handle.close()
