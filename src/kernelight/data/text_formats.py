"""Numbers and dates as people write them: ``$26,313.93``, ``79,00``, ``12 %``, ``1 Mar 2024``.

A format is a name that is recorded in the `Encoding`, so that files to predict for are read like
the one of training. Numbers have two: decimal point or decimal comma; currency signs, percent signs
and whatever stands between thousands go with both. Two more need a whole column that is written so:
``1.2K`` and ``3M``, and durations such as ``1h 20m``. Dates are written year first (ISO 8601 and
the like), day first, month first, with the name of the month, or are times of day.

Whether a value can be read is decided value by value; which format a column has, by all its values
(`narrowed`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.booleans import answer_of
from kernelight.data.table_source import DATE, NUMBER

POINT, COMMA = "decimal point", "decimal comma"
# Never recorded, as numbers need no format: true and false as 1 and 0; and plain numbers in a
# column of text of a typed table.
BOOLEAN, WRITTEN = "boolean", "plain number"
NUMERIC = (POINT, COMMA, WRITTEN)  # what ``decimal=`` settles
# Only where a whole column is written so: 1.2K and 3M; 1h 20m, as seconds.
THOUSANDS, DURATION = "thousands and millions", "duration"
SPECIAL = (THOUSANDS, DURATION)
YEAR_FIRST, DAY_FIRST, MONTH_FIRST, NAMED, TIME = (
    "year first",
    "day first",
    "month first",
    "named month",
    "time",
)
FORMATS = {NUMBER: (POINT, COMMA), DATE: (YEAR_FIRST, MONTH_FIRST, DAY_FIRST, NAMED, TIME)}
_OR = " or "


def joined_formats(forms: Iterable[str]) -> str:
    """The name of a format of dates that are written in one or another of some formats."""
    return _OR.join(forms)


# What an encoding may say: also several formats of dates in one column that cannot be confused.
_DAYS = (MONTH_FIRST, DAY_FIRST)
_MIXES: tuple[tuple[str, ...], ...] = (
    *((YEAR_FIRST, day) for day in _DAYS),
    *((day, NAMED) for day in _DAYS),
    *((YEAR_FIRST, day, NAMED) for day in _DAYS),
    (YEAR_FIRST, NAMED),
)
STORED = {
    NUMBER: (*FORMATS[NUMBER], *SPECIAL),
    DATE: (*FORMATS[DATE], *map(joined_formats, _MIXES)),
}

PLAIN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MINUS = "[\\-\u2212]"
_SIGN = "[+\\-\u2212]?"
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|NZD|INR|BRL|MXN|ZAR|RUB|TRY|KRW"
CURRENCY = rf"(?:[$€£¥₹₩₽₺₪₫฿]|US\$|R\$|{_CODES}|Fr\.|kr\.?|zł|Kč|Ft|lei)"
_SPACE = "[ \u00a0\u202f\u2009]"


def _number_pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    groups = rf"[1-9][0-9]{{0,2}}(?:[{thousands}'’ \u00a0\u202f\u2009][0-9]{{3}})+"
    point = re.escape(decimal)
    # a dash instead of cents (79,-) is no minus sign, which may stand behind a number (79,50-)
    digits = rf"(?:{groups}|[0-9]+)(?:{point}(?:--|[-\u2013\u2014]|[0-9]*))?|{point}[0-9]+"
    return re.compile(
        rf"(?P<open>\()?(?P<one>{_SIGN}){_SPACE}?{CURRENCY}?{_SPACE}?(?P<two>{_SIGN})(?P<digits>{digits})(?P<power>[eE][+-]?[0-9]+)?"
        rf"(?P<behind>{_MINUS}?){_SPACE}?(?:%|{CURRENCY})?(?P<last>{_MINUS}?)(?P<close>\))?"
    )


_NUMBERS = {POINT: (_number_pattern(".", ","), "."), COMMA: (_number_pattern(",", "."), ",")}
# in English, German, French and Spanish
_MONTHS = {
    name: at
    for at, names in enumerate(
        (
            "jan january januar jän jänner janv janvier ene enero",
            "feb february februar fév févr février febrero",
            "mar march mär märz mrz mars marzo",
            "apr april avr avril abr abril",
            "may mai mayo",
            "jun june juni juin junio",
            "jul july juli juil juillet julio",
            "aug august août agosto ago",
            "sep sept september septembre septiembre",
            "oct october okt oktober octobre octubre",
            "nov november novembre noviembre",
            "dec december dez dezember déc décembre dic diciembre",
        ),
        1,
    )
    for name in names.split()
}
_NAME = "[A-Za-z\u00c0-\u024f]{3,10}"  # of a month or a weekday
_CLOCK = (
    r"(?P<h>[0-9]{1,2}):(?P<min>[0-9]{2})(?::(?P<s>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_OFFSET = "[+-][0-9]{2}(?::?[0-9]{2})?"
_ZONE = rf"(?: ?(?P<zone>Z|{_OFFSET}|(?:UTC|GMT)(?:{_OFFSET}|[+-][0-9])?))?"
_REST = rf"(?:(?:T|,? +){_CLOCK}{_ZONE})?"
_TRIPLE = r"(?P<{0}>[0-9]{{{1}}})(?P<sep>[-/.])(?P<{2}>[0-9]{{1,2}})(?P=sep)(?P<{3}>[0-9]{{{4}}})"
_YEAR = r"(?P<y>[0-9]{4})"
_DATES = {
    YEAR_FIRST: [_TRIPLE.format("y", "4", "m", "d", "1,2") + _REST],
    DAY_FIRST: [
        _TRIPLE.format("d", "1,2", "m", "y", "4") + _REST,
        _TRIPLE.format("d", "1,2", "m", "y", "2") + _REST,
    ],
    MONTH_FIRST: [
        _TRIPLE.format("m", "1,2", "d", "y", "4") + _REST,
        _TRIPLE.format("m", "1,2", "d", "y", "2") + _REST,
    ],
    NAMED: [
        rf"(?:{_NAME}, ?)?(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th|er)?[ .-]+(?:de )?"
        rf"(?P<name>{_NAME})[ .,-]+(?:de )?{_YEAR}{_REST}",
        # 5-Feb-24, as Excel has it; Feb 5-24 may be some days of February
        rf"(?P<d>[0-9]{{1,2}})[ .-](?P<name>{_NAME})[ .-](?P<y>[0-9]{{2}}){_REST}",
        rf"(?:{_NAME}, ?)?(?P<name>{_NAME})[ .-]+(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th|er)?[ ,-]+"
        rf"{_YEAR}{_REST}",
    ],
    TIME: [_CLOCK],
}
_DATE_PATTERNS = {
    form: [re.compile(pattern) for pattern in patterns] for form, patterns in _DATES.items()
}
_DATE_PATTERNS |= {
    joined_formats(mix): [p for form in mix for p in _DATE_PATTERNS[form]] for mix in _MIXES
}
_EPOCH = datetime(1970, 1, 1)
_SIMPLE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)?"
)
LONGEST = 64  # characters of a number or date
_FACTORS = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9}
_PARTS = (("d(?:ays?)?", 86400), ("h(?:(?:ou)?rs?)?", 3600), ("m(?:ins?)?", 60), ("s(?:ecs?)?", 1))
_LENGTH = re.compile(
    " ?".join(rf"(?:([0-9]+(?:\.[0-9]+)?) ?{unit}(?![A-Za-z]))?" for unit, _ in _PARTS)
)


def number_of(text: str, form: str) -> float:
    """The number of a text in a format; NaN if it is none."""
    if len(text) > LONGEST:
        return math.nan
    if form in SPECIAL:
        return _thousands(text.strip()) if form == THOUSANDS else _seconds(text.strip())
    pattern, decimal = _NUMBERS[form]
    match = pattern.fullmatch(text.strip())
    if match is None or (match["open"] is None) != (match["close"] is None):
        return math.nan
    sign = "".join(match.group("one", "two", "behind", "last"))
    if len(sign) > 1:
        return math.nan
    kept = "".join(
        c if c != decimal else "." for c in match["digits"] if c.isdigit() or c == decimal
    )
    value = float(kept + (match["power"] or ""))
    below = sign in ("-", "\u2212") or match["open"] is not None
    return -value if below and value else value


def _thousands(text: str) -> float:
    """The number of ``1.2K``, ``$3M`` or ``950``; NaN if it is none."""
    factor = _FACTORS.get(text[-1:])
    if factor is None:
        return number_of(text, POINT)
    number = text[:-1].rstrip()
    # to the digit: 1.2K is 1200, and not 1.2 times 1000
    return round(number_of(number, POINT) * factor, 6) if number[-1:].isdigit() else math.nan


def _seconds(text: str) -> float:
    """The seconds of ``1h 20m`` or ``45 min``; NaN if it is no duration."""
    match = _LENGTH.fullmatch(text) if text else None
    if match is None:
        return math.nan
    return float(
        sum(float(part) * of for part, (_, of) in zip(match.groups(), _PARTS, strict=True) if part)
    )


def n_parts(text: str) -> int:
    """How many parts a duration has: 2 for ``1h 20m``, 0 for what is none."""
    match = _LENGTH.fullmatch(text.strip()) if text.strip() and len(text) <= LONGEST else None
    return 0 if match is None else sum(part is not None for part in match.groups())


def has_factor(text: str) -> bool:
    """Whether a text is a number with a letter for thousands, millions or billions behind it.

    >>> from kernelight.data.text_formats import has_factor
    >>> has_factor("1.2K"), has_factor("3 M"), has_factor("950"), has_factor("4WD")
    (True, True, False, False)
    """
    return text.strip()[-1:] in _FACTORS and not math.isnan(number_of(text, THOUSANDS))


def date_of(text: str, form: str) -> int | None:
    """The date of a text in a format, in microseconds since 1970 (UTC); None if it is none."""
    if len(text) > LONGEST:
        return None
    for pattern in _DATE_PATTERNS[form]:
        match = pattern.fullmatch(text.strip())
        if match is not None:
            try:
                return _moment(match.groupdict())
            except (ValueError, OverflowError):  # there is no such day or time
                continue
    return None


def _moment(part: dict[str, Any]) -> int:
    year, month, day = 1970, 1, 1
    if part.get("y"):
        year, day = int(part["y"]), int(part["d"])
        if len(part["y"]) == 2:  # as POSIX has it
            year += 1900 if year >= 69 else 2000
        month = int(part["m"]) if part.get("m") else _MONTHS.get(part["name"].lower(), 0)
    hour = int(part.get("h") or 0)
    if part.get("half"):
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + (12 if part["half"] in "Pp" else 0)
    micro = int((part.get("f") or "0")[:6].ljust(6, "0"))
    moment = datetime(
        year, month, day, hour, int(part.get("min") or 0), int(part.get("s") or 0), micro
    )
    zone = (part.get("zone") or "").lstrip("UTCGMZ")
    if zone:
        digits = zone[1:].replace(":", "")
        digits = (digits if len(digits) > 1 else f"0{digits}").ljust(4, "0")
        away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        moment = moment.replace(tzinfo=timezone(away if zone[0] == "+" else -away))
        moment = moment.astimezone(timezone.utc).replace(tzinfo=None)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def decimal_format(decimal: str) -> str:
    """The format of numbers that has this decimal separator."""
    return COMMA if decimal == "," else POINT


def decimal_of(form: str) -> str:
    """The decimal separator of a format of numbers."""
    return "," if form == COMMA else "."


def can_read(text: str, form: str) -> bool:
    """Whether a text can be read in a format."""
    return (
        not math.isnan(number_of(text, form))
        if form in STORED[NUMBER]
        else date_of(text, form) is not None
    )


def converted(values: Sequence[str], form: str) -> NDArray[Any]:
    """Texts as numbers or dates; NaN or NaT where one cannot be read."""
    if form == BOOLEAN:
        truths = map(answer_of, values)
        return np.array(
            [number_of(v, POINT) if t is None else t for v, t in zip(values, truths, strict=True)]
        )
    if form == WRITTEN:
        plain = (value.strip() for value in values)
        return np.array(
            [float(v) if PLAIN.fullmatch(v) else math.nan for v in plain], dtype=np.float64
        )
    if form in STORED[NUMBER]:
        return np.array([number_of(value, form) for value in values], dtype=np.float64)
    if form == YEAR_FIRST and values and all(map(_SIMPLE.fullmatch, values)):
        try:  # thousands of them at once
            return np.array(values, dtype="datetime64[us]")
        except ValueError:
            pass
    moments = (date_of(value, form) for value in values)
    return np.array(
        [np.datetime64("NaT") if at is None else np.datetime64(at, "us") for at in moments],
        dtype="datetime64[us]",
    )


def date_example(form: str) -> str:
    """A date in a format, or in the first of several."""
    return {
        YEAR_FIRST: "2024-12-31",
        DAY_FIRST: "31.12.2024",
        MONTH_FIRST: "12/31/2024",
        NAMED: "31 Dec 2024",
        TIME: "14:30",
    }[form.split(_OR)[0]]


def date_orders(form: str) -> tuple[str, ...]:
    """A format of dates with the month first, and the same with the day first.

    A format that has neither is returned alone.
    """
    parts = form.split(_OR)
    day = next((part for part in parts if part in (MONTH_FIRST, DAY_FIRST)), None)
    if day is None:
        return (form,)
    return tuple(
        joined_formats(other if part == day else part for part in parts)
        for other in (MONTH_FIRST, DAY_FIRST)
    )


def narrowed(forms: Iterable[str], values: Iterable[str]) -> tuple[str, ...]:
    """The formats in which every value can be read, but for values that none of them reads."""
    left = tuple(forms)
    for value in values:
        fit = tuple(form for form in left if can_read(value, form))
        if fit:
            left = fit
        if len(left) == 1:
            break
    return left
