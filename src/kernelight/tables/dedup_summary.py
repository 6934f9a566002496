"""What a report says of duplicates, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelight.data.copies import ShownText
from kernelight.data.texts import TextShingles
from kernelight.neighbors.duplicates import LAST
from kernelight.tables.deduplication import DedupRows, TableDuplicates
from kernelight.tables.record_scaling import shown_scaling

CLUSTERS, MEMBERS, BORDERLINE = 8, 5, 12  # that are shown
BINS = 20  # of the histogram of similarities
LONGEST = 600  # characters of a text that are shown


def summarised(
    result: TableDuplicates, rows: DedupRows, others: DedupRows | None = None, *, command: str
) -> dict[str, Any]:
    """Numbers, charts, and the largest clusters and borderline pairs with their texts.

    Rows are read once more for their texts.
    """
    found = result.found
    clusters = _largest(result)
    borderline = _borderline(result)
    wanted = {row for cluster in clusters for row, _ in cluster}
    wanted |= {row for a, b, _ in borderline for row in (a, b)}
    texts = shown_texts(rows, [row for row in wanted if row >= 0])
    if others is not None:
        outside = shown_texts(others, [-1 - row for row in wanted if row < 0])
        texts |= {-1 - row: text for row, text in outside.items()}

    def entry(row: int, similarity: float) -> dict[str, Any]:
        shown = texts.get(row, ShownText.of("", LONGEST))
        return {
            "label": result.survivor_label(row),
            "similarity": float(similarity),
            "text": shown.text,
            "cut": shown.cut,
            "digest": shown.digest,
            "outside": row < 0,
            "kept": row < 0 or bool(found.kept[row]),
        }

    sizes, counts = np.unique(found.cluster_sizes, return_counts=True)
    several = sizes > 1
    return {
        "name": rows.name,
        "command": command,
        "compared": _compared(rows, result),
        "facts": result.facts(),
        "same": result.same,
        "empty_text": rows.empty_text(found.n_empty) if found.n_empty else "",
        "sizes": np.stack([sizes[several], counts[several]], axis=1).tolist(),
        "histogram": _histogram(result),
        "curve": result.plan.get("curve", []),
        "clusters": [
            {
                "size": int(found.cluster_sizes[_cluster_of(result, cluster)]),
                "rows": [entry(row, similarity) for row, similarity in cluster],
            }
            for cluster in clusters
        ],
        "borderline": [
            {"first": entry(a, 1.0), "second": entry(b, similarity), "similarity": similarity}
            for a, b, similarity in borderline
        ],
    }


def _compared(rows: DedupRows, result: TableDuplicates) -> str:
    """What rows were compared by, in words."""
    power = "" if result.settings.p == 1.0 else f", values to the power {result.settings.p:g}"
    if rows.texts and rows.shingles is not None:
        weights = "counts" if rows.shingles.weights == "tf" else "tf-idf weights"
        return f"{shown_shingles(rows.shingles)} of {', '.join(rows.texts)}, {weights}{power}"
    scale = "" if rows.scaling is None else f", scaled by {shown_scaling(rows.scaling)}"
    return f"{rows.data.n_features:,} features{scale}{power}"


def shown_shingles(shingles: TextShingles) -> str:
    """What shingles are, in words.

    >>> from kernelight.data.texts import TextShingles
    >>> from kernelight.tables.dedup_summary import shown_shingles
    >>> shown_shingles(TextShingles())
    'shingles of 1 to 2 words'
    """
    low, high = shingles.lengths
    return f"shingles of {low if low == high else f'{low} to {high}'} {shingles.kind}"


def _histogram(result: TableDuplicates) -> list[list[float]]:
    """Pairs of different rows by similarity: from, to, how many."""
    low = result.settings.threshold
    edges = np.linspace(min(low, 1.0 - 1e-9), 1.0, BINS + 1)
    counts = result.near.histogram(edges)
    return [
        [float(a), float(b), int(count)]
        for a, b, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]


def _largest(result: TableDuplicates) -> list[list[tuple[int, float]]]:
    """The largest clusters: the survivor, then members, identical ones last."""
    found = result.found
    sizes = found.cluster_sizes
    order = np.lexsort((np.arange(len(sizes)), -sizes))[:CLUSTERS]
    shown = []
    for cluster in order[sizes[order] > 1].tolist():
        members = np.flatnonzero(found.cluster == cluster)
        survivor = int(found.survivor[members[0]])
        gone = members[members != survivor]
        by = np.lexsort((gone, -found.similarity[gone], found.identical[gone]))
        some = [(int(row), float(found.similarity[row])) for row in gone[by][:MEMBERS]]
        shown.append([(survivor, 1.0), *some])
    return shown


def _cluster_of(result: TableDuplicates, cluster: Sequence[tuple[int, float]]) -> int:
    return int(result.found.cluster[cluster[1][0]])


def _borderline(result: TableDuplicates) -> list[tuple[int, int, float]]:
    """The pairs of least similarity: those to look at before a threshold is trusted."""
    last = result.settings.keep == LAST
    return [
        (j, i, similarity) if last else (i, j, similarity)
        for i, j, similarity in result.near.least(BORDERLINE)
    ]


def shown_texts(rows: DedupRows, wanted: Sequence[int]) -> dict[int, ShownText]:
    """The texts of some rows, or the rows as they are stored, by their numbers."""
    if not rows.texts:
        return rows.data.stored_texts(wanted, LONGEST)
    found: dict[int, ShownText] = {}
    left = sorted(wanted, reverse=True)
    first = 0
    for columns, _ in rows.data.texts(rows.texts):
        count = len(columns[0])
        while left and left[-1] < first + count:
            row = left.pop()
            found[row] = ShownText.of(" | ".join(texts[row - first] for texts in columns), LONGEST)
        first += count
        if not left:
            break
    return found
