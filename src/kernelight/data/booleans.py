"""Booleans, which every format spells in its own way.

They are ``True`` (pandas), ``true`` (Arrow, polars), ``TRUE``, 1 and 0. A model knows the words of
its training file. A word that it does not know, but that says the same truth value as one that it
does know, is taken for that one.
"""

from __future__ import annotations

from collections.abc import Sequence

SPELLED = {"true": 1.0, "false": 0.0}
_ALL = {**SPELLED, "1": 1.0, "0": 0.0}


def truth_of(word: str) -> float | None:
    """1 for true, 0 for false, in whatever case; None for other words."""
    return SPELLED.get(word.strip().lower())


def as_known(words: Sequence[str], known: Sequence[str]) -> list[str]:
    """Each word, or the known word of the same truth value.

    1 and 0 are booleans only where all known words are.

    >>> from kernelight.data.booleans import as_known
    >>> as_known(["True", "false", "maybe", "1"], ["FALSE", "true"])
    ['true', 'FALSE', 'maybe', 'true']
    >>> as_known(["True", "1"], ["false", "true", "unknown"])
    ['true', '1']
    """
    # nearly always, and known words may be many
    if not any(word.strip().lower() in _ALL for word in words):
        return list(words)
    values = _ALL if all(word.strip().lower() in _ALL for word in known) else SPELLED
    own: dict[float | None, str] = {}
    for word in known:
        if word.strip().lower() in values:
            own.setdefault(values[word.strip().lower()], word)
    if not own:
        return list(words)
    exact = set(known)
    return [
        word if word in exact else own.get(values.get(word.strip().lower()), word) for word in words
    ]
