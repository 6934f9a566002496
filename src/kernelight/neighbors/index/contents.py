"""What an index holds, and how it changes: segments are replaced, never changed.

Every change makes a new list of segments and takes it over at the end, so that one that fails or is
interrupted changes nothing. New rows wait in memory, or in files that no manifest names, until they
are committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.codes import Codes
from kernelight.neighbors.index.array_file import ArrayFile, FileEntry, pieces_of
from kernelight.neighbors.index.ids import Ids, kind_of
from kernelight.neighbors.index.manifest import SegmentEntry
from kernelight.neighbors.index.row_store import as_form, form_of
from kernelight.neighbors.index.segment import (
    REMOVED,
    SEGMENT,
    Segment,
    SegmentKind,
    build_segment,
    merged_in_memory,
    merged_pieces,
    open_segment,
    tier,
)
from kernelight.neighbors.index.store import Store

_ADDED = 1 << 16  # rows that become a part of a segment together
_SPILLED = 1 << 27  # bytes of rows that wait in memory for a commit
_MERGED = 8  # segments of a size that a commit merges


@dataclass
class Contents:
    """The segments of an index, and what they have in common.

    ``ids`` and ``rows``, the kinds of ids and of stored rows, are None until there are rows.
    """

    store: Store
    dtype: np.dtype[Any]
    bits: int
    provenance: str
    n_features: int
    ids: str | None
    rows: str | None
    segments: list[Segment] = field(default_factory=list)

    @classmethod
    def opened(
        cls, store: Store, dtype: np.dtype[Any], bits: int, provenance: str, n_features: int
    ) -> Contents:
        """What the manifest names."""
        manifest = store.manifest
        made = cls(store, dtype, bits, provenance, n_features, manifest.ids, manifest.rows)
        made.segments = [
            open_segment(store.path, entry, made.kind(str(manifest.ids), manifest.rows))
            for entry in manifest.segments
        ]
        return made

    def kind(self, ids: str, rows: str | None) -> SegmentKind:
        """What segments of these ids and stored rows have in common."""
        plan = self.store.manifest.plan
        return SegmentKind(plan, self.dtype, self.bits, self.provenance, self.n_features, ids, rows)

    def __len__(self) -> int:
        return sum(segment.n_live for segment in self.segments)

    # -- In memory

    def without(self, ids: Ids) -> tuple[list[Segment], NDArray[np.bool_]]:
        """The segments without rows of some ids, and which ids there were."""
        found = np.zeros(len(ids), dtype=np.bool_)
        segments = []
        for segment in self.segments:
            rows = segment.find(ids)
            there = rows >= 0
            found |= there
            segments.append(segment.without(rows[there]) if there.any() else segment)
        return segments, found

    def add(self, segments: list[Segment], ids: Ids, codes: Codes, X: Matrix | None) -> None:
        """Take over some segments of these contents, and new rows with them."""
        if X is not None:
            X = as_form(X, self.rows)
        kind = self.kind(kind_of(ids), None if X is None else form_of(X))
        with self.store.writing():
            for begin in range(0, len(ids), _ADDED):
                part = slice(begin, begin + _ADDED)
                stored = None if X is None else X[part]
                segments.append(build_segment(kind, ids[part], codes[part], stored))
                segments = self._settled(segments)
        self.segments, self.ids, self.rows = segments, kind.ids, kind.rows

    def remove(self, segments: list[Segment]) -> None:
        """Take over segments without some rows."""
        with self.store.writing():
            self.segments = segments

    def _settled(self, segments: list[Segment]) -> list[Segment]:
        """Segments in memory, the last of which is new, joined so that there are few.

        Where they take too much memory they are written to a file.
        """
        while (
            len(segments) > 1
            and segments[-2].file is None
            and segments[-1].file is None
            and segments[-2].n_rows < 2 * segments[-1].n_rows
            and segments[-1].n_rows < _ADDED
        ):
            both = [each for each in segments[-2:] if each.n_live]
            segments[-2:] = [merged_in_memory(both)] if both else []
        waiting = [each for each in segments if each.file is None]
        if sum(each.n_bytes for each in waiting) < _SPILLED:
            return segments
        return [each for each in segments if each.file is not None] + self._written(waiting)

    # -- On disk

    @property
    def changed(self) -> bool:
        """Whether there is anything to commit."""
        manifest = self.store.manifest
        entries = [each.entry for each in self.segments]
        listed = all(each.listed for each in self.segments)
        same = (self.ids, self.rows) == (manifest.ids, manifest.rows)
        return not (self.store.published and same and listed and entries == list(manifest.segments))

    def commit(self) -> None:
        """Make all changes durable; eight segments of a size become one."""
        if not self.changed:
            with self.store.writing():
                return
        stored = [each for each in self.segments if each.file is not None and each.n_live]
        waiting = [each for each in self.segments if each.file is None]
        sizes: dict[int, list[Segment]] = {}
        for each in stored:
            sizes.setdefault(tier(each.n_live), []).append(each)
        groups = [group for group in sizes.values() if len(group) >= _MERGED]
        kept = [each for group in sizes.values() if len(group) < _MERGED for each in group]
        self._commit(kept, [*groups, waiting])

    def compact(self) -> None:
        """Commit all rows in one segment."""
        tidy = len(self.segments) < 2 and not any(len(each.removed) for each in self.segments)
        if self.changed or not tidy:
            self._commit([], [self.segments])

    def _commit(self, kept: Sequence[Segment], groups: Sequence[Sequence[Segment]]) -> None:
        """Publish segments that are kept and one for each group."""
        written: list[FileEntry] = []
        with self.store.writing():
            try:
                segments = [self._listed(each, written) for each in kept]
                for group in groups:
                    made = self._written(group)
                    written += [each.entry.file for each in made if each.entry is not None]
                    segments += made
                entries = tuple(each.entry for each in segments if each.entry is not None)
                self.store.commit(segments=entries, ids=self.ids, rows=self.rows)
            except BaseException:
                if not self.store.uncertain:
                    self.store.discard(written)
                raise
        self.segments = segments

    def _written(self, segments: Sequence[Segment]) -> list[Segment]:
        """The live rows of segments in one new file; nothing if there are none."""
        segments = [each for each in segments if each.n_live]
        if not segments:
            return []
        for each in segments:  # damage must not get a digest of its own
            for file in (each.file, each.removed_file):
                if file is not None:
                    file.verify()
        n_rows, arrays = merged_pieces(segments)
        entry = SegmentEntry(self.store.write(SEGMENT, {}, arrays), n_rows)
        return [open_segment(self.store.path, entry, segments[0].kind)]

    def _listed(self, segment: Segment, written: list[FileEntry]) -> Segment:
        """A segment whose removed rows are in a file."""
        if segment.listed:
            return segment
        assert segment.entry is not None
        entry = self.store.write(REMOVED, {}, {"rows": pieces_of(segment.removed)})
        written.append(entry)
        file = ArrayFile(self.store.path, entry, REMOVED)
        listed = SegmentEntry(segment.entry.file, segment.n_rows, entry, len(segment.removed))
        return replace(
            segment, removed=file.arrays["rows"], entry=listed, removed_file=file, listed=True
        )
