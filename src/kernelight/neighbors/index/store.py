"""The directory of an index: what is written when, so that a crash loses nothing committed.

A commit writes new files and makes them durable, then their names, then replaces the manifest, and
makes that durable. Only then are files removed that nobody names. So at any moment the manifest on
the disk names files that are whole: the old ones, or the new ones.

To sync a file that failed to sync once may succeed although its bytes are lost. So an error of a
sync ends a writer: it refuses to go on.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kernelight.neighbors.index.array_file import ArrayFile, FileEntry, pieces_of, write_arrays
from kernelight.neighbors.index.files import Files, SyncError
from kernelight.neighbors.index.lock import LOCK, WriterLock
from kernelight.neighbors.index.manifest import (
    MANIFEST,
    Manifest,
    file_name,
    is_committed,
    is_ours,
    lost_manifest,
    next_manifest,
    number_above,
    read_manifest,
    write_manifest,
)
from kernelight.state import Pieces, State

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, *_FULL)
_TRIES = 100  # of a reader, while a writer removes what the manifest named a moment ago


@contextlib.contextmanager
def _refused(what: str, advice: str) -> Iterator[None]:
    """Say in a sentence that a place cannot be written, and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_PLACE:
            raise
        kind = OSError if error.errno in _FULL else PermissionError
        raise kind(f"{what}, {os.strerror(error.errno).lower()}: {advice}") from None


class Store:
    """The directory of an index with its manifest; a writer has a lock."""

    def __init__(
        self, path: str, manifest: Manifest | None, files: Files, lock: WriterLock | None
    ) -> None:
        self.path, self.files, self.lock = path, files, lock
        self._manifest = manifest
        self._number = 0 if manifest is None else manifest.next_number
        self._broken: str | None = None
        self._process = os.getpid()

    @property
    def inherited(self) -> bool:
        """Whether another process opened it, of which this one was forked."""
        return os.getpid() != self._process

    @property
    def manifest(self) -> Manifest:
        """What is committed."""
        assert self._manifest is not None
        return self._manifest

    # -- Made and opened

    @classmethod
    def create(cls, path: str, files: Files) -> Store:
        """A writer of a new directory, or of one in which nothing was ever completed."""
        parent = os.path.dirname(os.path.abspath(path))
        if not os.path.lexists(path):
            if not os.path.isdir(parent):
                raise FileNotFoundError(f"{path} cannot be made: there is no directory {parent}.")
            with _refused(f"{path} cannot be made", "name a place that can be written."):
                files.make_directory(path)
        elif not os.path.isdir(path):
            raise FileExistsError(f"{path} is a file: name a new directory for the index.")
        elif os.path.exists(os.path.join(path, MANIFEST)):
            raise FileExistsError(
                f"{path} holds an index already: open it with mode='a', or name a new directory."
            )
        elif any(map(is_committed, os.listdir(path))):
            raise FileExistsError(lost_manifest(path))
        elif any(not (is_ours(name) or name == LOCK) for name in os.listdir(path)):
            raise FileExistsError(f"{path} holds other files: name a new directory for the index.")
        with _refused(f"{path} cannot be written", "name another place."):
            lock = WriterLock(path)
        store = cls(path, None, files, lock)
        try:
            if os.path.exists(os.path.join(path, MANIFEST)):  # of another, a moment ago
                raise FileExistsError(f"{path} holds an index already: open it with mode='a'.")
            # also where the directory was there: who made it may not have come so far
            store._sync_directory(parent)
            store.clean()
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def open_writer(cls, path: str, files: Files) -> Store:
        """The one writer of an index; what killed writers left over is removed."""
        read_manifest(path)  # an index, before a lock is put there
        with _refused(f"{path} cannot be written", "open it with mode='r' to read it."):
            lock = WriterLock(path)
        try:
            store = cls(path, read_manifest(path), files, lock)
            # A writer that was killed may have replaced the manifest without making that durable:
            # what the one before named must stay until it is.
            store._sync_directory(path)
            store.clean()
        except BaseException:
            lock.release()
            raise
        return store

    @classmethod
    def open_reader(cls, path: str) -> Store:
        """A reader; it changes nothing."""
        return cls(path, read_manifest(path), Files(), None)

    def reading(self) -> Iterator[Manifest]:
        """The manifest, and once more if a writer replaced it before its files were open."""
        for _ in range(_TRIES):
            yield self.manifest
            if self.lock is not None:
                return
            self._manifest = read_manifest(self.path)

    # -- Reading

    def state(self, entry: FileEntry, kind: str) -> tuple[State, ArrayFile]:
        """A state that `write_state` wrote, and the file that holds it."""
        file = ArrayFile(self.path, entry, kind)
        try:
            return State(file.about["meta"], file.arrays), file
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{file.path} does not describe a {kind}: {error}") from error

    # -- Writing

    @property
    def uncertain(self) -> bool:
        """Whether nobody knows which manifest the disk has."""
        return self._broken is not None

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Refuse to go on after an error of a sync, the one in this block too.

        A full disk is no such error: what was to be written is in memory still.
        """
        if self._broken is not None:
            raise OSError(self._broken)
        try:
            yield
        except SyncError as error:
            self._broken = (
                f"{self.path} could not be made durable ({error.strerror}), so that this writer "
                "does not go on: close it and open the index again; what was committed is there."
            )
            raise OSError(self._broken) from error
        except OSError as error:
            if error.errno not in _FULL:
                raise
            full = OSError(
                f"{self.path} could not be written, {os.strerror(error.errno).lower()}: nothing "
                "committed was lost; free some space and try again."
            )
            full.errno = error.errno
            raise full from error

    def write(self, kind: str, about: Mapping[str, Any], arrays: Mapping[str, Pieces]) -> FileEntry:
        """Write a file that no manifest names yet."""
        name = file_name(kind, self._number)
        self._number += 1
        return write_arrays(self.files, self.path, name, {**about, "kind": kind}, arrays)

    def write_state(self, kind: str, state: State) -> FileEntry:
        """Write a state."""
        arrays = {name: pieces_of(array) for name, array in state.arrays.items()}
        return self.write(kind, {"meta": state.meta}, arrays)

    def publish(self, manifest: Manifest) -> None:
        """Make a manifest the one of the index; what it names must be durable.

        An interrupt in the middle ends the writer, as an error of a sync does.
        """
        manifest = replace(manifest, next_number=self._number)
        self._sync_directory(self.path)
        self._broken = (
            f"{self.path}: a commit was interrupted, so that this writer does not go on: close it "
            "and open the index again; the commit is complete or did not happen."
        )
        try:
            write_manifest(self.files, self.path, manifest)
        except OSError as error:
            if not isinstance(error, SyncError):
                self._broken = None  # before the renaming
            raise
        self._broken, self._manifest = None, manifest
        self.clean()

    def commit(self, **changes: Any) -> None:
        """Publish the next generation."""
        self.publish(next_manifest(self.manifest, **changes))

    def _sync_directory(self, path: str) -> None:
        try:
            self.files.sync_directory(path)
        except OSError as error:
            raise SyncError(error.errno, os.strerror(error.errno or 0), path) from error

    def clean(self) -> None:
        """Remove files of ours that the manifest does not name; errors wait for the next time."""
        named = set() if self._manifest is None else {entry.name for entry in self.manifest.files}
        with contextlib.suppress(OSError):
            names = os.listdir(self.path)
            self._number = max(self._number, number_above(names))
            for name in names:
                if is_ours(name) and name not in named:
                    with contextlib.suppress(OSError):
                        self.files.unlink(os.path.join(self.path, name))

    def discard(self, entries: list[FileEntry]) -> None:
        """Remove files that were written and are not to be committed."""
        for entry in entries:
            with contextlib.suppress(OSError):
                self.files.unlink(os.path.join(self.path, entry.name))

    def close(self) -> None:
        """Let another writer in; what was not committed is removed. A fork changes nothing."""
        if self.lock is not None and not self.inherited:
            if self._broken is None:
                self.clean()
            self.lock.release()
        self.lock = None
