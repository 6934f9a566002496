"""The lock of the one writer: it ends with the process, however that ends."""

from __future__ import annotations

import errno
import os

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCK = "LOCK"


class WriterLock:
    """An advisory lock on a file of the directory, held from construction until `release`."""

    def __init__(self, directory: str) -> None:
        if fcntl is None:
            raise OSError(
                f"{directory} can only be read on this system, which has no locks of POSIX: open "
                "it with mode='r'."
            )
        path = os.path.join(directory, LOCK)
        try:
            self._number: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            raise PermissionError(
                f"{directory} cannot be written, {os.strerror(error.errno).lower()}: open it with "
                "mode='r' to read it."
            ) from None
        try:
            fcntl.flock(self._number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.release()
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise BlockingIOError(
                f"{directory} is open for writing already: an index has one writer at a time; "
                "close the other, or open with mode='r' to read."
            ) from None

    def release(self) -> None:
        """Let another writer in."""
        if self._number is not None:
            os.close(self._number)
            self._number = None

    def __del__(self) -> None:
        if getattr(self, "_number", None) is not None:
            self.release()
