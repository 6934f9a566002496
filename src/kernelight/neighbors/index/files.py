"""What an index does to its directory: a handful of operations, each in one place.

Crash tests replace `Files` by one that stops after some operation and drops what was not synced.
Readers need none of it.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Any, BinaryIO

from kernelight.base.files import sync_directory
from kernelight.state.safetensors import altered


class SyncError(OSError):
    """A file or a directory could not be made durable, so that nobody knows what is on the disk.

    The system may have dropped what was to be written: to sync once more would report success.
    """


def open_to_read(path: str) -> BinaryIO:
    """A file of an index; what is no file in its place is damage, and is not waited for."""
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        regular = False
    if not regular:
        raise altered(path, "it is no file")
    return open(path, "rb")


class Files:
    """The operations on files that change something."""

    def make_directory(self, path: str) -> None:
        """Make a directory."""
        os.mkdir(path)

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""
        os.rmdir(path)

    def create(self, path: str) -> BinaryIO:
        """A new file, open for writing; the name must not be taken."""
        return open(path, "xb", buffering=0)

    def write(self, handle: BinaryIO, content: Any) -> None:
        """Append all bytes of a buffer."""
        left = memoryview(content)
        while left.nbytes:  # the system may take only some
            left = left[handle.write(left) :]

    def sync(self, handle: BinaryIO) -> None:
        """Make what was written durable."""
        os.fsync(handle.fileno())

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, in place of whatever had that name."""
        os.replace(old, new)

    def unlink(self, path: str) -> None:
        """Remove a file; who has it open or mapped keeps it."""
        os.unlink(path)

    def sync_directory(self, path: str) -> None:
        """Make durable which names a directory has."""
        sync_directory(path)
