"""Files of an index that remember what is durable, and files that fail.

`RecordingFiles` does what `Files` does and keeps beside it a model of the disk: of each file what
was written and what was synced, and of each directory the changes of names since its last sync.
After every operation it keeps a `Moment`. A crash at a moment is then made up from the model:
changes of names that were not synced happened or not, and bytes that were not synced are there,
torn or lost.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field

from kernelight.neighbors.index.files import Files

BLOCK = 64  # bytes of a torn file that are there or lost together; disks have larger ones


@dataclass
class Inode:
    """A file: its bytes as the process sees them, and as the disk has them."""

    content: bytes = b""
    durable: bytes = b""


@dataclass(frozen=True)
class Moment:
    """The disk after some operation: a directory is a name of None, a file one of its bytes."""

    operation: str
    names: dict  # path -> inode number or None, as the disk has them
    pending: tuple  # changes of names that were not synced: (directory, path, inode or "gone")
    inodes: dict  # number -> (content, durable)

    def write_to(self, root, how, rng):
        """Make the directory that a crash leaves; ``how`` is drop, keep, torn or prefix."""
        names, most = dict(self.names), rng.integers(len(self.pending) + 1)
        kept = {
            "drop": lambda at: False,
            "keep": lambda at: True,
            "torn": lambda at: rng.random() < 0.5,
            "prefix": lambda at: at < most,
        }[how]
        for at, (_, changes) in enumerate(self.pending):
            if kept(at):
                for path, inode in changes:
                    names[path] = inode
        written = {}
        for path, inode in sorted(names.items()):
            folder = os.path.dirname(path)
            if inode == "gone" or (folder and folder not in written):
                continue
            place = os.path.join(root, path)
            if inode is None:
                os.makedirs(place, exist_ok=True)
                written[path] = None
            else:
                content = self._content(inode, how, rng)
                with open(place, "wb") as file:
                    file.write(content)
                written[path] = content
        return written

    def _content(self, inode, how, rng):
        content, durable = self.inodes[inode]
        if how == "drop" or content == durable:
            return durable
        if how == "keep":
            return content
        torn = bytearray(content[: rng.integers(len(durable), len(content) + 1)])
        for begin in range(len(durable), len(torn), BLOCK):
            if rng.random() < 0.3:  # its place was allocated, its bytes never came
                torn[begin : begin + BLOCK] = bytes(len(torn[begin : begin + BLOCK]))
        return bytes(torn)


@dataclass
class RecordingFiles(Files):
    """`Files` below a root, with a model of the disk."""

    root: str
    names: dict = field(default_factory=dict)
    pending: list = field(default_factory=list)
    inodes: dict = field(default_factory=dict)
    current: dict = field(default_factory=dict)
    handles: dict = field(default_factory=dict)
    moments: list = field(default_factory=list)

    @classmethod
    def after(cls, root, moment):
        """The files of a process that starts where another was killed; the disk did not notice."""
        made = cls(
            root,
            dict(moment.names),
            list(moment.pending),
            {number: Inode(*both) for number, both in moment.inodes.items()},
        )
        made.current = dict(moment.names)
        for _, changes in moment.pending:
            made.current.update(changes)
        return made

    def _path(self, path):
        return os.path.relpath(os.path.abspath(path), self.root)

    def _change(self, *changes):
        directory = os.path.dirname(changes[0][0])
        self.pending.append((directory, changes))
        self.current.update(changes)

    def _record(self, operation):
        inodes = {number: (each.content, each.durable) for number, each in self.inodes.items()}
        self.moments.append(Moment(operation, dict(self.names), tuple(self.pending), inodes))

    def make_directory(self, path):
        super().make_directory(path)
        self._change((self._path(path), None))
        self._record("mkdir")

    def remove_directory(self, path):
        super().remove_directory(path)
        self._change((self._path(path), "gone"))
        self._record("rmdir")

    def create(self, path):
        handle = super().create(path)
        number = len(self.inodes)
        self.inodes[number] = Inode()
        self.handles[handle] = number
        self._change((self._path(path), number))
        self._record(f"create {os.path.basename(path)}")
        return handle

    def write(self, handle, content):
        super().write(handle, content)
        self.inodes[self.handles[handle]].content += bytes(content)
        self._record("write")

    def sync(self, handle):
        inode = self.inodes[self.handles[handle]]
        inode.durable = inode.content
        self._record("fsync")

    def rename(self, old, new):
        super().rename(old, new)
        inode = self.current[self._path(old)]
        self._change((self._path(new), inode), (self._path(old), "gone"))
        self._record("rename")

    def unlink(self, path):
        super().unlink(path)
        self._change((self._path(path), "gone"))
        self._record(f"unlink {os.path.basename(path)}")

    def sync_directory(self, path):
        super().sync_directory(path)
        directory = self._path(path)
        directory = "" if directory == "." else directory
        for place, changes in self.pending:
            if place == directory:
                self.names.update(changes)
        self.pending = [each for each in self.pending if each[0] != directory]
        self._record("fsync of a directory")


class FailingFiles(Files):
    """`Files` of which one operation fails: the ``at``-th of its kind."""

    def __init__(self, kind, at, number=errno.EIO):
        self.kind, self.left, self.number, self.failed = kind, at, number, False

    def _step(self, kind):
        if kind == self.kind:
            self.left -= 1
            if self.left == -1:
                self.failed = True
                raise OSError(self.number, os.strerror(self.number))

    def create(self, path):
        self._step("create")
        return super().create(path)

    def write(self, handle, content):
        if self.kind == "write" and self.left == 0:
            super().write(handle, memoryview(content)[: len(content) // 2])
        self._step("write")
        super().write(handle, content)

    def sync(self, handle):
        self._step("sync")
        super().sync(handle)

    def rename(self, old, new):
        self._step("rename")
        super().rename(old, new)

    def sync_directory(self, path):
        self._step("sync_directory")
        super().sync_directory(path)

    def unlink(self, path):
        self._step("unlink")
        super().unlink(path)
