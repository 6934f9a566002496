"""The lock of the one writer: it ends with the process, however that ends; a fork has none."""

from __future__ import annotations

import contextlib
import errno
import os
import weakref

from kernelight.state.safetensors import altered

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCK = "LOCK"
_HELD: weakref.WeakSet[WriterLock] = weakref.WeakSet()


class WriterLock:
    """An advisory lock on a file of the directory, held from construction until `release`."""

    def __init__(self, directory: str) -> None:
        if fcntl is None:
            raise OSError(
                f"{directory} can only be read on this system, which has no locks of POSIX: open "
                "it with mode='r'."
            )
        self._path = os.path.join(directory, LOCK)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._number: int | None = None
        while not self._is_there():  # the file was removed between its opening and its lock
            self.release()
            try:
                self._number = os.open(self._path, flags, 0o666)
            except OSError as error:
                if error.errno not in (errno.EISDIR, errno.ELOOP, errno.ENXIO):
                    raise
                raise altered(self._path, "it is no file") from None
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
        _HELD.add(self)

    def _is_there(self) -> bool:
        """Whether the file that is locked is still the one of its name."""
        try:
            return self._number is not None and os.path.samestat(
                os.fstat(self._number), os.stat(self._path)
            )
        except FileNotFoundError:
            return False

    def remove(self) -> None:
        """Remove the file, while it is locked."""
        if self._number is not None:
            os.unlink(self._path)

    def release(self) -> None:
        """Let another writer in."""
        if self._number is not None:
            with contextlib.suppress(OSError):  # a process that is being forked may have it too
                fcntl.flock(self._number, fcntl.LOCK_UN)
            self._drop()

    def _drop(self) -> None:
        if self._number is not None:
            os.close(self._number)
            self._number = None

    def __del__(self) -> None:
        if getattr(self, "_number", None) is not None:
            self.release()


def _drop_in_child() -> None:
    """A child shares the lock of its parent, and would hold it when the parent has ended."""
    for lock in list(_HELD):
        lock._drop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_in_child)
