"""The manifest: the one file that says which files are the index.

It is replaced as a whole. A file that it does not name is left over from a writer that was killed,
or waits to be removed. Its text is

    kernelight-index <format version> <algorithm version>
    <digest of the other two lines>
    <JSON>

so that no byte of it can change unnoticed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from kernelight.base.files import naming
from kernelight.neighbors.index.array_file import (
    INDEX_FORMAT,
    FileEntry,
    digest,
    refuse_versions,
    synced,
)
from kernelight.neighbors.index.files import Files, SyncError, open_to_read
from kernelight.neighbors.index.plan import IndexPlan
from kernelight.state import ALGORITHM_VERSION
from kernelight.state.safetensors import altered, canonical

MANIFEST = "MANIFEST"
NEXT = "MANIFEST.next"  # what becomes the manifest
CREATING = "CREATING"  # as long as it is there and no manifest, there never was an index
_NAME = re.compile(r"(segment|removed|map|attached)-([0-9]{8,18})\.kli")
_FIRST = re.compile(rb"kernelight-index ([0-9]{1,9}) ([0-9]{1,9})")
_MOST_BYTES = 1 << 26
_MOST_ROWS = 2**32 - 1  # of a segment: rows are numbered by 32 bits


@dataclass(frozen=True)
class SegmentEntry:
    """A segment: its file, its rows, and the file that lists those that were removed."""

    file: FileEntry
    n_rows: int
    removed: FileEntry | None = None
    n_removed: int = 0


@dataclass(frozen=True)
class Manifest:
    """What an index consists of at a generation, which counts commits.

    ``ids`` ("int" or "str") and ``rows`` ("dense" or "sparse", how rows are stored) are decided by
    the first rows; ``next_number`` is for the name of the next file.
    """

    plan: IndexPlan
    store_rows: bool
    map: FileEntry
    attached: FileEntry | None = None
    generation: int = 0
    next_number: int = 0
    ids: str | None = None
    rows: str | None = None
    segments: tuple[SegmentEntry, ...] = ()

    @property
    def files(self) -> Iterable[FileEntry]:
        """Every file that it names."""
        yield self.map
        if self.attached is not None:
            yield self.attached
        for segment in self.segments:
            yield segment.file
            if segment.removed is not None:
                yield segment.removed

    def to_plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "plan": self.plan._asdict(),
            "store_rows": self.store_rows,
            "map": _plain_entry(self.map),
            "attached": _plain_entry(self.attached),
            "generation": self.generation,
            "next_number": self.next_number,
            "ids": self.ids,
            "rows": self.rows,
            "segments": [
                {
                    "file": _plain_entry(each.file),
                    "n_rows": each.n_rows,
                    "removed": _plain_entry(each.removed),
                    "n_removed": each.n_removed,
                }
                for each in self.segments
            ],
        }

    @classmethod
    def from_plain(cls, plain: Any) -> Manifest:
        """The manifest that `to_plain` described; a ValueError if it cannot be."""
        try:
            first = _entry(plain["map"], "map")
            attached = plain["attached"]
            made = cls(
                plan=IndexPlan(**plain["plan"]).checked(),
                store_rows=_of_type(plain["store_rows"], bool),
                map=first,
                attached=None if attached is None else _entry(attached, "attached"),
                generation=_count(plain["generation"]),
                next_number=_count(plain["next_number"]),
                ids=_one_of(plain["ids"], (None, "int", "str")),
                rows=_one_of(plain["rows"], (None, "dense", "sparse")),
                segments=tuple(_segment(each) for each in plain["segments"]),
            )
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"it lacks {error}") from None
        names = [entry.name for entry in made.files]
        if len(set(names)) != len(names):
            raise ValueError("it names a file twice")
        if made.segments and (made.ids is None or (made.rows is None) == made.store_rows):
            raise ValueError("it has segments of an unknown kind")
        return made


def _segment(plain: Any) -> SegmentEntry:
    removed = plain["removed"]
    made = SegmentEntry(
        _entry(plain["file"], "segment"),
        _count(plain["n_rows"]),
        None if removed is None else _entry(removed, "removed"),
        _count(plain["n_removed"]),
    )
    if not 0 < made.n_rows <= _MOST_ROWS or made.n_removed > made.n_rows:
        raise ValueError("it has a segment of an impossible number of rows")
    if (made.removed is None) != (made.n_removed == 0):
        raise ValueError("it has a segment whose removed rows are not listed")
    return made


def _plain_entry(entry: FileEntry | None) -> dict[str, Any] | None:
    return None if entry is None else {**entry._asdict(), "digests": dict(entry.digests)}


def _entry(plain: Any, kind: str) -> FileEntry:
    named = _NAME.fullmatch(plain["name"])
    digests = plain["digests"]
    if named is None or named[1] != kind:
        raise ValueError("it names an impossible file")
    if not isinstance(digests, dict) or not all(
        isinstance(word, str) for pair in digests.items() for word in pair
    ):
        raise ValueError("it has an impossible digest")
    return FileEntry(plain["name"], _count(plain["n_bytes"]), digests)


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**60:
        raise ValueError("it has an impossible number")
    return value


def _of_type(value: Any, kind: type[Any]) -> Any:
    if type(value) is not kind:
        raise ValueError("it has an impossible value")
    return value


def _one_of(value: Any, choices: tuple[Any, ...]) -> Any:
    if value not in choices:
        raise ValueError("it has an impossible value")
    return value


# -- Files


def file_name(kind: str, number: int) -> str:
    """The name of a file; a number is given once only."""
    return f"{kind}-{number:08d}.kli"


def is_ours(name: str) -> bool:
    """Whether a name is one that a writer of an index gives."""
    return name in (NEXT, CREATING) or _NAME.fullmatch(name) is not None


def has_lost_manifest(names: Collection[str]) -> bool:
    """Whether a directory of these names, without a manifest, must have had one.

    It has rows, and it is not one that an index is made in.
    """
    return CREATING not in names and any(
        is_ours(name) and name.startswith(("segment-", "removed-")) for name in names
    )


def lost_manifest(directory: str) -> str:
    """What is wrong with a directory that has rows and no manifest."""
    return (
        f"{directory} holds rows of an index, but its {MANIFEST} is gone: bring it back from a "
        "copy, or name a new directory."
    )


def number_above(names: Iterable[str]) -> int:
    """A number above those of all names."""
    named = (_NAME.fullmatch(name) for name in names)
    return max((int(each[2]) + 1 for each in named if each), default=0)


def read_manifest(directory: str) -> Manifest:
    """The manifest of a directory; what is none, or damaged, is one sentence."""
    path = os.path.join(directory, MANIFEST)
    try:
        with open_to_read(path) as handle:
            content = handle.read(_MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise _no_index(directory) from None
    first, _, rest = content.partition(b"\n")
    versions = _FIRST.fullmatch(first)
    if versions is None:
        raise altered(path, "it does not begin as the manifest of an index")
    refuse_versions(path, int(versions[1]), int(versions[2]))
    given, _, text = rest.partition(b"\n")
    if len(content) > _MOST_BYTES or digest(first + b"\n" + text).encode() != given:
        raise altered(path, "its content does not match its digest")
    try:
        return Manifest.from_plain(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise altered(path, str(error)) from None


def _no_index(directory: str) -> Exception:
    if not os.path.lexists(directory):
        return FileNotFoundError(f"{directory} is not there: Index.create makes an index.")
    if not os.path.isdir(directory):
        return NotADirectoryError(f"{directory} is a file: an index is a directory.")
    names = os.listdir(directory)
    if has_lost_manifest(names):
        return ValueError(lost_manifest(directory))
    if any(map(is_ours, names)):
        return ValueError(
            f"{directory} holds an index that was never completed: create it again at the same "
            "place, unless another process is still about it."
        )
    return ValueError(f"{directory} is not an index: it has no file {MANIFEST}.")


def write_manifest(files: Files, directory: str, manifest: Manifest) -> None:
    """Replace the manifest, when everything that it names is durable.

    An error before the renaming leaves the old manifest. From the renaming on it is a `SyncError`.
    """
    text = canonical(manifest.to_plain()).encode()
    first = f"kernelight-index {INDEX_FORMAT} {ALGORITHM_VERSION}\n".encode()
    path = os.path.join(directory, NEXT)
    if os.path.lexists(path):  # of a writer that was killed
        files.unlink(path)
    try:
        with naming(path), files.create(path) as handle:
            files.write(handle, first + digest(first + text).encode() + b"\n" + text)
            synced(files, handle, path)
    except BaseException:
        with contextlib.suppress(OSError):
            files.unlink(path)
        raise
    try:
        files.rename(path, os.path.join(directory, MANIFEST))
        files.sync_directory(directory)
    except OSError as error:
        raise SyncError(error.errno, os.strerror(error.errno or 0), directory) from error


def next_manifest(manifest: Manifest, **changes: Any) -> Manifest:
    """The manifest of the next generation."""
    return replace(manifest, generation=manifest.generation + 1, **changes)
