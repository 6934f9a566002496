"""Words of messages that every package shares."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with what is counted, in the singular or the plural.

    The plural has an "s" if ``many`` is not given.

    >>> from kernelight.base.wording import counted
    >>> counted(1, "feature"), counted(0, "row"), counted(1200, "class", "classes")
    ('1 feature', '0 rows', '1,200 classes')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def bytes_text(n_bytes: float) -> str:
    """A number of bytes with its unit, to two digits or three; units are powers of 1000.

    >>> from kernelight.base import bytes_text
    >>> bytes_text(512), bytes_text(21744), bytes_text(9004272), bytes_text(2.5e10)
    ('512 B', '22 kB', '9.0 MB', '25 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 999.5 or unit == "GB":
            break
        n_bytes /= 1000
    digits = 1 if n_bytes < 9.95 and unit != "B" else 0
    return f"{n_bytes:,.{digits}f} {unit}"
