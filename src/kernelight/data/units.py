"""Units of measurement and currencies: of columns, and behind the numbers of their cells.

``36.6 kg`` is a number if the values of its column have one same unit (`unit_of_column`), which the
encoding records. Values with another unit cannot be read then: nothing is converted. Only known
units count, because ``10115 Berlin`` is no quantity. The same unit may be written in several ways:
``1 day`` and ``2 days``, ``5 KG`` and ``5 kg``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from kernelight.data.errors import shown
from kernelight.data.text_formats import CURRENCY, LONGEST, can_read

_MEASURE = (
    "[kmµμnp]?g|kgs|mcg|t|lbs?|oz|[cmkµμn]?m|kms|in(?:ch(?:es)?)?|ft|feet|foot|yd|mi(?:les?)?|[mµμn]?s"
    "|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?|months?|yrs?|years?|‰|percent|ppm"
    "|ppb|°|deg(?:rees?)?|rad|°? ?[CFK]|[hkM]?Pa|m?bar|psi|mmHg|[kM]?N|[kM]?J|k?cal|[mkMG]?Wh?"
    "|[mk]?V|m?Ah?|Ω|[kMG]?Hz|[mcdµμ]?[lL]|gal|ha|acres?|[mcd]m[²³23]|k?m[²³23]|sq ?ft|sq ?m|qm"
    "|km/h|kmh|kph|mph|mpg|kmpl|knots?|kn|rpm|bpm|dB|lux|lx|lm|cd|cc|hp|bhp|PS|pcs|pieces?|units?"
    "|items?|persons?|people|stars?|m?mol|[µμ]mol|[mk]?I?U|AU|OD|NTU|CFU|cps|cpm|px|dpi|fps|MP|[kKMGT]i?B|[kKMG]bps"
    "|bytes?|bits?|kilos?|grams?|lit(?:er|re)s?|met(?:er|re)s?|pounds?"
    # German, French, Spanish
    "|Stk|Stück|Std|Stunden?|Minuten?|Sekunden?|Tage?|Wochen?|Monate?|Jahre?|Zoll|Grad|ans?|jours?"
    "|mois|heures?|años?|días?|horas?|meses"
)
_ONE_UNIT = rf"{_MEASURE}|%|EUR|USD|GBP|CHF|[€$£¥]|n|1"
_POWER = r"(?:\^?-?[0-9²³])?"


def _product(units: str) -> str:
    return rf"(?:{units}){_POWER}(?: ?[/·*] ?(?:100 ?)?(?:{units}){_POWER})*\.?"


_UNIT = re.compile(_product(_ONE_UNIT))
_CELL_UNIT = re.compile(_product(_MEASURE))
_CELL = re.compile(
    r"(?P<number>[^A-Za-z°µμΩ‰]*[0-9.,](?:[eE][+-]?[0-9]+)?)"
    "[ \u00a0\u202f\u2009]?(?P<unit>[^0-9 \u00a0\u202f\u2009].*)"
)
_SAME = {"inches": "inch", "in": "inch", "feet": "ft", "foot": "ft", "people": "person"}
_SAME |= {"mcg": "μg", "yrs": "year", "yr": "year", "hr": "h", "hour": "h", "sec": "s"}
_SAME |= {"second": "s", "minute": "min", "d": "day", "kmh": "km/h", "kph": "km/h", "meses": "mes"}
_CURRENCIES = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW"}
_CURRENCIES |= {"₽": "RUB", "₺": "TRY", "R$": "BRL", "zł": "PLN", "Kč": "CZK", "Ft": "HUF"}
_CURRENCIES |= {"Fr.": "CHF", "kr.": "kr"}
_ANY_CURRENCY = re.compile(CURRENCY)
FIRST_VALUES = 100  # different ones, of which one must have a unit
FEW_SHOWN = 4  # units or currencies that a note names
SEVERAL = 0.1  # of the values of a column of numbers that have a unit, for a note on others


class Signs(NamedTuple):
    """What stands beside the numbers of a column."""

    percent: bool | None = None  # whether they have percent signs; None: some of them
    unit: str | None = None
    currency: str | None = None  # None: none, or several


def is_unit(text: str) -> bool:
    """Whether a text is a unit, as it stands below the name of a column.

    >>> from kernelight.data.units import is_unit
    >>> is_unit("kg"), is_unit("mg/dL"), is_unit("l/100 km"), is_unit("unknown")
    (True, True, True, False)
    """
    return _UNIT.fullmatch(text) is not None


@lru_cache(maxsize=1 << 12)
def canonical(unit: str) -> str | None:
    """The one spelling of a unit behind a number; None if it is not known.

    >>> from kernelight.data.units import canonical
    >>> canonical("days"), canonical("KG"), canonical("MW"), canonical("mW"), canonical("Berlin")
    ('day', 'kg', 'MW', 'mW', None)
    """
    unit = unit.strip().removesuffix(".").replace("µ", "μ").replace("mL", "ml")
    if _CELL_UNIT.fullmatch(unit) is None:
        unit = unit.lower()
        if len(unit) < 2 or _CELL_UNIT.fullmatch(unit) is None:
            return None
    for end, least in (("s", 3), ("e", 4), ("n", 6)):  # plurals: days, Tage, Stunden
        shorter = unit.removesuffix(end)
        if shorter != unit and len(unit) >= least and _CELL_UNIT.fullmatch(shorter):
            unit = shorter
            break
    return _SAME.get(unit, unit)


def split_unit(text: str) -> tuple[str, str] | None:
    """The number and the unit (in its one spelling) of a text; None if it has no known unit.

    >>> from kernelight.data.units import split_unit
    >>> split_unit("36.6 kg"), split_unit("12Tage"), split_unit("12 % "), split_unit("10115 Berlin")
    (('36.6', 'kg'), ('12', 'Tag'), None, None)
    """
    match = _CELL.fullmatch(text.strip()) if len(text) <= LONGEST else None
    unit = None if match is None else canonical(match["unit"])
    return None if match is None or unit is None else (match["number"], unit)


def without_unit(values: Iterable[str], unit: str | None) -> list[str]:
    """Texts without the unit of their column; those with another one stay as they are."""
    if unit is None:
        return list(values)
    split = ((value, split_unit(value)) for value in values)
    return [value if parts is None or parts[1] != unit else parts[0] for value, parts in split]


class ColumnUnits(NamedTuple):
    """The unit of a column of numbers, or why there is none although values have units."""

    unit: str | None = None
    reason: str = ""


def unit_of_column(counts: Counter[str], forms: Sequence[str], fits: float) -> ColumnUnits:
    """The unit of the values of a column, if a fraction ``fits`` of them is a number with it.

    ``forms`` are the formats in which a number may be written.
    """
    if not any(split_unit(value) for value in islice(counts, FIRST_VALUES)):
        return ColumnUnits()  # nearly always, and there may be many values
    total = sum(counts.values())
    units, examples, others = Counter[str](), dict[str, str](), Counter[str]()
    for value, count in counts.items():
        parts = split_unit(value)
        if parts is None:
            others[value] = count
        elif any(can_read(parts[0], form) for form in forms):
            units[parts[1]] += count
            examples.setdefault(parts[1], value)
    numbers = [value for value in others if any(can_read(value, form) for form in forms)]
    bare = sum(others[value] for value in numbers)
    if units.total() + bare < fits * total:
        return ColumnUnits()
    most, number_of_most = units.most_common(1)[0]
    if number_of_most >= fits * total:
        return ColumnUnits(most)
    if units.total() < SEVERAL * total:
        return ColumnUnits()
    each = [f"{n:,} such as {shown(examples[u])}" for u, n in units.most_common(FEW_SHOWN)]
    more = f", {len(units) - FEW_SHOWN} more units" * (len(units) > FEW_SHOWN)
    if bare:
        each.append(f"{bare:,} without a unit such as {shown(numbers[0])}")
    said = f"{', '.join(each[:-1])}{more} and {each[-1]}"
    return ColumnUnits(None, f"numbers with several units ({said}) are not converted to one; ")


def currencies_in(counts: Mapping[str, int]) -> Counter[str]:
    """How many values have each currency, a sign and its code being one.

    >>> from kernelight.data.units import currencies_in
    >>> currencies_in({"$5": 2, "7 USD": 1, "€ 3": 4, "8": 9})
    Counter({'EUR': 4, 'USD': 3})
    """
    found = Counter[str]()
    for value, count in counts.items():
        match = _ANY_CURRENCY.search(value) if len(value) <= LONGEST else None
        if match is not None:
            found[_CURRENCIES.get(match[0], match[0])] += count
    return found


def said_of_currencies(found: Counter[str]) -> str:
    """What is to be said of a column with several currencies; "" if it has at most one."""
    if len(found) < 2:
        return ""
    each = [f"{number:,} in {name}" for name, number in found.most_common(FEW_SHOWN)]
    more = f", {len(found) - FEW_SHOWN} more currencies" * (len(found) > FEW_SHOWN)
    return (
        f"several currencies ({', '.join(each[:-1])}{more} and {each[-1]}) are read as if they "
        f"were one: convert them, or leave the column out"
    )
