"""Files that are written all or nothing."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO

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
    except BaseException:  # an interrupt must not leave the temporary file behind either
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
