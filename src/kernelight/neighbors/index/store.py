"""The directory of an index: what is written when, so that a crash loses nothing committed.

A commit writes new files and makes them durable, then their names, then replaces the manifest, and
makes that durable. Only then are files removed that nobody names. So at any moment the manifest on
the disk names files that are whole: the old ones, or the new ones.

The first manifest makes the index. Before it a file CREATING, durable before anything else, says
that what is there are remains, if nobody has the lock: whoever creates an index there next removes
them. A creation that ends without a manifest removes what it wrote, and the directory if it made
that; a directory that was there, and empty, stays.

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

from kernelight.base.files import naming
from kernelight.neighbors.index.array_file import (
    ArrayFile,
    FileEntry,
    pieces_of,
    synced,
    write_arrays,
)
from kernelight.neighbors.index.files import Files, SyncError
from kernelight.neighbors.index.lock import LOCK, WriterLock
from kernelight.neighbors.index.manifest import (
    CREATING,
    MANIFEST,
    Manifest,
    file_name,
    has_lost_manifest,
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
        self._published = manifest is not None
        self._made_directory = self._begun = False

    @property
    def inherited(self) -> bool:
        """Whether another process opened it, of which this one was forked."""
        return os.getpid() != self._process

    @property
    def manifest(self) -> Manifest:
        """What is committed; before the first commit, what it will begin with."""
        assert self._manifest is not None
        return self._manifest

    @property
    def published(self) -> bool:
        """Whether there is an index on the disk."""
        return self._published

    # -- Made and opened

    @classmethod
    def create(cls, path: str, files: Files) -> Store:
        """A writer of a new directory, or of one in which nothing was ever completed."""
        parent, new = os.path.dirname(os.path.abspath(path)), not os.path.lexists(path)
        if new:
            if not os.path.isdir(parent):
                raise FileNotFoundError(f"{path} cannot be made: there is no directory {parent}.")
            with _refused(f"{path} cannot be made", "name a place that can be written."):
                files.make_directory(path)
        else:
            _refuse_filled(path)
        store = cls(path, None, files, None)
        store._made_directory = new
        try:
            with _refused(f"{path} cannot be written", "name another place."):
                store.lock = WriterLock(path)
            _refuse_filled(path)  # by another, a moment ago
            store._begun = True
            with store.writing():
                # also where the directory was there: who made it may not have come so far
                store._sync_directory(parent)
                store._begin()
        except BaseException:
            store.close()
            raise
        return store

    def _begin(self) -> None:
        """Say that an index is being made, before anything else is written; remove old remains."""
        path = os.path.join(self.path, CREATING)
        if not os.path.lexists(path):
            with naming(path), self.files.create(path) as handle:
                synced(self.files, handle, path)
        self._sync_directory(self.path)
        self.clean()

    def begin(self, manifest: Manifest) -> None:
        """Take over the manifest that the first commit begins with; it is not on the disk yet."""
        self._manifest = manifest

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
        self._broken, self._manifest, self._published = None, manifest, True
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
        self._remove_others(named if self._published else {*named, CREATING})

    def _remove_others(self, kept: set[str]) -> None:
        with contextlib.suppress(OSError):
            names = os.listdir(self.path)
            self._number = max(self._number, number_above(names))
            for name in names:
                if is_ours(name) and name not in kept:
                    with contextlib.suppress(OSError):
                        self.files.unlink(os.path.join(self.path, name))

    def discard(self, entries: list[FileEntry]) -> None:
        """Remove files that were written and are not to be committed."""
        for entry in entries:
            with contextlib.suppress(OSError):
                self.files.unlink(os.path.join(self.path, entry.name))

    def close(self) -> None:
        """Let another writer in; what was not committed is removed. A fork changes nothing."""
        if not self.inherited:
            if not self._published and not os.path.lexists(os.path.join(self.path, MANIFEST)):
                self._undo()
            elif self.lock is not None and self._broken is None:
                self.clean()
            if self.lock is not None:
                self.lock.release()
        self.lock = None

    def _undo(self) -> None:
        """Remove what a creation wrote that did not come to a manifest."""
        with contextlib.suppress(OSError):
            if self.lock is not None and self._begun:
                self._remove_others({CREATING})
                self.files.sync_directory(self.path)  # no row outlives what says that it is none
                self._remove_others(set())
                self.lock.remove()
            if self._made_directory:
                self.files.remove_directory(self.path)


def _refuse_filled(path: str) -> None:
    """Refuse a place that holds something other than remains of a creation."""
    if not os.path.isdir(path):
        raise FileExistsError(f"{path} is a file: name a new directory for the index.")
    names = set(os.listdir(path))
    if MANIFEST in names:
        raise FileExistsError(
            f"{path} holds an index already: open it with mode='a', or name a new directory."
        )
    if has_lost_manifest(names):
        raise FileExistsError(lost_manifest(path))
    if any(not (is_ours(name) or name == LOCK) for name in names):
        raise FileExistsError(f"{path} holds other files: name a new directory for the index.")
