"""Files that are written all or nothing, and bytes that wait in a temporary file."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

#: The name of a file, as text or as a path object.
FilePath = str | os.PathLike[str]

# Seconds without a write after which a temporary file of another machine is taken to be stale.
FORGOTTEN = 24 * 3600
_TEMPORARY = re.compile(r"\.kernelight-(?:([0-9a-f]{8})-([0-9]{1,10})-)?[0-9a-f]{16}\.tmp")
_NO_SYNC = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES, errno.EPERM)


@contextlib.contextmanager
def replacing(path: FilePath) -> Iterator[BinaryIO]:
    """A file to write to, which becomes ``path`` when the block ends well.

    Otherwise ``path`` stays as it was. The file is written in the directory of the target, made
    durable, then renamed over it; an old file keeps its permissions. Where the system has files
    without a name, it has none until it is complete, so that nothing is left of a process that is
    killed. A process that is killed between naming and renaming, or on another system, leaves a
    file that the next save removes.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    context manager
        It gives a file to write bytes to.

    Examples
    --------
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
        raise OSError(
            errno.EINVAL, "Not a regular file: a save would replace it", os.fsdecode(path)
        )
    if not os.path.isdir(directory):
        raise FileNotFoundError(errno.ENOENT, "No such directory", directory)
    remove_stale(directory)
    temporary = os.path.join(
        directory, f".kernelight-{_machine()}-{os.getpid()}-{secrets.token_hex(8)}.tmp"
    )
    try:
        handle = _nameless(directory)
        named = handle is None
        with handle or open(temporary, "xb") as handle:
            yield handle
            handle.flush()
            if os.path.exists(target):
                os.chmod(
                    temporary if named else handle.fileno(), stat.S_IMODE(os.stat(target).st_mode)
                )
            os.fsync(handle.fileno())
            if not named:
                _name(handle, temporary)
        os.replace(temporary, target)
        sync_directory(directory)
    except BaseException as error:  # an interrupt must not leave the temporary file behind either
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if (
            isinstance(error, OSError)
            and error.errno is not None
            and _concerns(error.filename, temporary)
        ):
            raise OSError(error.errno, os.strerror(error.errno), os.fsdecode(path)) from error
        raise


@contextlib.contextmanager
def naming(path: FilePath, *, instead: bool = False) -> Iterator[None]:
    """Give errors of the system that name no file the name of one.

    Those of a write or a flush have none, so that a full disk would not be named. With ``instead``,
    errors that name another file are given this name too.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or (error.filename is not None and not instead):
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fsdecode(path)) from error


def _concerns(place: Any, temporary: str) -> bool:
    """Whether an error is about the temporary file, which the caller knows by another name."""
    return place in (None, temporary, os.path.dirname(temporary)) or isinstance(place, int)


def _nameless(directory: str) -> BinaryIO | None:
    """A file without a name, which vanishes with the process.

    None where the system or the file system has no such files.
    """
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.fdopen(os.open(directory, flag | os.O_RDWR | os.O_CLOEXEC, 0o666), "w+b")
    except OSError:  # a file with a name says what is wrong, if anything is
        return None


def _name(handle: BinaryIO, temporary: str) -> None:
    """Give a file without a name one, which must not be taken yet.

    So it cannot be the name of a file that is to be replaced.
    """
    try:
        # Python follows the link to the open file only if a directory is given, although the path
        # is absolute.
        os.link(
            f"/proc/self/fd/{handle.fileno()}",
            temporary,
            src_dir_fd=handle.fileno(),
            follow_symlinks=True,
        )
    except OSError:  # a file system that has such files and cannot name them
        handle.seek(0)
        with open(temporary, "xb") as copy:
            shutil.copyfileobj(handle, copy)
            copy.flush()
            os.fchmod(copy.fileno(), stat.S_IMODE(os.fstat(handle.fileno()).st_mode))
            os.fsync(copy.fileno())


def sync_directory(directory: str) -> None:
    """Make a renaming durable, where the system and the file system can be asked to."""
    try:
        number = os.open(directory, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


# Temporary files of processes that were killed. Their names tell the machine (its boot and its
# process namespace) and the process.


@functools.cache
def _machine() -> str:
    about = [os.uname().nodename if hasattr(os, "uname") else ""]
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:
        about.append(file.read())
    with contextlib.suppress(OSError):
        about.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.blake2b("\n".join(about).encode(), digest_size=4).hexdigest()


def remove_stale(directory: str) -> None:
    """Remove temporary files whose writers are dead.

    Those are processes of this machine that no longer run, and any other after a day without a
    write.
    """
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            named = _TEMPORARY.fullmatch(entry.name)
            if named:
                with contextlib.suppress(OSError):
                    if _dead(named[1], named[2]) or time.time() - entry.stat().st_mtime > FORGOTTEN:
                        os.unlink(entry.path)


def _dead(machine: str | None, process: str | None) -> bool:
    """Whether a process certainly no longer runs."""
    if os.name != "posix" or machine != _machine() or process is None or int(process) < 1:
        return False
    try:
        os.kill(int(process), 0)  # no signal: only asks
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


class Spool:
    """Bytes that wait in a nameless file until all are there.

    What is written before them may depend on how many they are.

    The file is in the folder of ``path``, where there must be room for them anyway, and vanishes
    with this object. Its errors bear the name of ``path``.
    """

    PIECE = 1 << 22

    def __init__(self, path: FilePath) -> None:
        self._path = os.fsdecode(path)
        folder = os.path.dirname(os.path.realpath(self._path))
        if not os.path.isdir(folder):
            raise FileNotFoundError(errno.ENOENT, "No such directory", folder)
        with naming(self._path, instead=True):
            self._handle = tempfile.TemporaryFile(dir=folder, prefix=".kernelight-")  # noqa: SIM115 (closed by close)

    def write(self, content: Any) -> None:
        """Append the bytes of a buffer."""
        with naming(self._path, instead=True):
            self._handle.write(content)

    def pieces(self) -> Iterator[bytes]:
        """All bytes from the beginning, some at a time."""
        at = 0
        while True:
            with naming(self._path, instead=True):  # what is still in a buffer is written now
                self._handle.seek(at)
                piece = self._handle.read(self.PIECE)
            if not piece:
                return
            at += len(piece)
            yield piece

    def lines(self) -> Iterator[bytes]:
        """The same line by line, for text; nothing may be written meanwhile."""
        with naming(self._path, instead=True):
            self._handle.seek(0)
        yield from self._handle

    def close(self) -> None:
        """Close the file, which then vanishes."""
        with contextlib.suppress(OSError):  # of bytes in a buffer that nobody will read
            self._handle.close()
