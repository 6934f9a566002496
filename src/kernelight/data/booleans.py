"""Booleans, which every format spells in its own way.

They are ``True`` (pandas), ``true`` (Arrow, polars), ``TRUE``, 1 and 0. A model knows the words of
its training file. A word that it does not know, but that says the same truth value as one that it
does know, is taken for that one.
"""

from __future__ import annotations

from collections.abc import Sequence

SPELLED = {"true": 1.0, "false": 0.0}
_ALL = {**SPELLED, "1": 1.0, "0": 0.0}
_YES = ("yes", "y", "t", "on", "ja", "j", "oui", "si", "sí")
_NO = ("no", "n", "f", "off", "nein", "non")
_ANSWERS = {**SPELLED, **dict.fromkeys(_YES, 1.0), **dict.fromkeys(_NO, 0.0)}
_EVERY = {**_ALL, **_ANSWERS}


def truth_of(word: str) -> float | None:
    """1 for true, 0 for false, in whatever case; None for other words."""
    return SPELLED.get(word.strip().lower())


def answer_of(word: str) -> float | None:
    """The same, also for words such as yes and no; they are booleans only where a model has some.

    >>> from kernelight.data.booleans import answer_of
    >>> answer_of("Yes"), answer_of("FALSE"), answer_of("perhaps")
    (1.0, 0.0, None)
    """
    return _ANSWERS.get(word.strip().lower())


def as_known(words: Sequence[str], known: Sequence[str]) -> list[str]:
    """Each word, or the known word of the same truth value.

    1 and 0 are booleans only where all known words are, and so are yes and no: there must be one
    known word of each truth value and no other.

    >>> from kernelight.data.booleans import as_known
    >>> as_known(["True", "false", "maybe", "1"], ["FALSE", "true"])
    ['true', 'FALSE', 'maybe', 'true']
    >>> as_known(["True", "1"], ["false", "true", "unknown"])
    ['true', '1']
    >>> as_known(["TRUE", "0", "N"], ["no", "yes"]), as_known(["TRUE"], ["no", "se"])
    (['yes', 'no', 'no'], ['TRUE'])
    """
    # nearly always, and known words may be many
    if not any(word.strip().lower() in _EVERY for word in words):
        return list(words)
    truths = [_EVERY.get(word.strip().lower()) for word in known]
    pair = sorted(truths, key=str) == [0.0, 1.0]
    values = (
        _EVERY if pair else _ALL if all(word.strip().lower() in _ALL for word in known) else SPELLED
    )
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
