"""Words of messages that every room shares."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with what is counted, in the singular or the plural (with an "s" if not said
    otherwise).

    >>> from kernelight.base.wording import counted
    >>> counted(1, "feature"), counted(2, "feature"), counted(1200, "class", "classes"), counted(0, "row")
    ('1 feature', '2 features', '1,200 classes', '0 rows')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
