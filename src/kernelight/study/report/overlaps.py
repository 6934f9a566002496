"""Lines and marks of a chart that coincide, drawn so that each can be seen.

Where segments of several lines coincide, their dashes alternate: each has a dash, and a gap where
the others have theirs. Marks at one place stand side by side. Levels, which are horizontal lines
across the whole chart, are drawn one above the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

Place = tuple[float, float]
Piece = tuple[Place, Place]

NEAR = 2.5  # units of the chart within which two lines look like one
NEAR_MARKS = 4.5  # and two marks
DASH = 7.0
MARK_STEP = 7.0
LEVEL_STEP = 3.2


def dashed_in_turn(lines: Sequence[Sequence[Place]]) -> list[list[tuple[Piece, str]]]:
    """The segments of each line, each with its dashes as CSS; "" where it is alone.

    >>> first, second = dashed_in_turn([[(0, 0), (10, 5), (20, 9)], [(0, 1), (10, 6), (20, 99)]])
    >>> [style for _, style in first], second[0][1]
    (['stroke-dasharray:7 7;stroke-dashoffset:0', ''], 'stroke-dasharray:7 7;stroke-dashoffset:-7')
    """
    pieces = [list(pairwise(line)) for line in lines]
    dashed: list[list[tuple[Piece, str]]] = []
    for at, own in enumerate(pieces):
        styled = []
        for piece in own:
            sharing = [
                n
                for n, others in enumerate(pieces)
                if n == at or any(_one_piece(piece, o) for o in others)
            ]
            gap, offset = DASH * (len(sharing) - 1), 0 - DASH * sharing.index(at)
            style = f"stroke-dasharray:{DASH:g} {gap:g};stroke-dashoffset:{offset:g}"
            styled.append((piece, style if len(sharing) > 1 else ""))
        dashed.append(styled)
    return dashed


def side_by_side(series: Sequence[Sequence[Place]]) -> list[list[Place]]:
    """Where to draw the marks: those of different series at one place are moved sideways.

    >>> side_by_side([[(10, 10)], [(11, 10)], [(50, 10)]])
    [[(6.5, 10)], [(14.5, 10)], [(50, 10)]]
    """
    places = []
    for at, own in enumerate(series):
        moved = []
        for x, y in own:
            sharing = [
                n
                for n, others in enumerate(series)
                if n == at or _is_among((x, y), others, NEAR_MARKS)
            ]
            step = sharing.index(at) - (len(sharing) - 1) / 2
            moved.append((x + MARK_STEP * step if step else x, y))
        places.append(moved)
    return places


def one_above_the_other(levels: Sequence[float]) -> list[float]:
    """Where to draw horizontal lines: those at one height are moved apart.

    >>> one_above_the_other([10.0, 40.0, 10.5])
    [8.4, 40.0, 12.1]
    """
    heights = []
    for at, level in enumerate(levels):
        sharing = [n for n, other in enumerate(levels) if n == at or abs(other - level) <= NEAR]
        heights.append(level + LEVEL_STEP * (sharing.index(at) - (len(sharing) - 1) / 2))
    return heights


def coinciding(lines: Sequence[Sequence[Place]]) -> list[list[int]]:
    """Groups of lines, by their index, that share a segment directly or through others."""
    group = list(range(len(lines)))
    for a, b in combinations(range(len(lines)), 2):
        shared = any(_one_piece(p, q) for p in pairwise(lines[a]) for q in pairwise(lines[b]))
        if shared and group[a] != group[b]:
            group = [group[a] if each == group[b] else each for each in group]
    members: dict[int, list[int]] = {}
    for at, name in enumerate(group):
        members.setdefault(name, []).append(at)
    return [some for some in members.values() if len(some) > 1]


def _one_piece(first: Piece, second: Piece) -> bool:
    return all(_is_near(a, b, NEAR) for a, b in zip(first, second, strict=True))


def _is_among(place: Place, places: Sequence[Place], near: float) -> bool:
    return any(_is_near(place, other, near) for other in places)


def _is_near(a: Place, b: Place, near: float) -> bool:
    return abs(a[0] - b[0]) <= near and abs(a[1] - b[1]) <= near
