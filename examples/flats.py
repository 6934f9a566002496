"""Write flats.csv and flats-new.csv beside this file: made-up flats to let, as people type tables.

A flat is let within a week if its rent is below what it is worth: that grows with its size, jumps
where it has a lift or is new, and falls far from a station unless there is a garage. For one in
twenty the answer is flipped. Rents have a currency and a comma for thousands, sizes a unit, dates a
day first; some cells are empty, "n/a" or "?", and one column is a counter.

    python examples/flats.py
"""

from __future__ import annotations

import csv
import random
import sys
from datetime import date, timedelta
from pathlib import Path

HEADS = ("flat", "seen on", "rent", "size", "built", "station", "lift", "garage", "part", "let")
PARTS = ("Old Town", "Harbour", "Hill", "West")


def flat(number: int, rng: random.Random) -> tuple[str, ...]:
    """A row of the table."""
    size, built = rng.randint(25, 140), rng.randint(1900, 2024)
    station, part = rng.randint(50, 3000), rng.choice(PARTS)
    lift, garage = rng.random() < 0.4, rng.random() < 0.3
    worth = 300 + 9 * size + 150 * lift + 250 * (built > 1999) + 120 * (part == "Harbour")
    worth -= 200 * (station > 1200 and not garage)
    rent = round(worth * rng.uniform(0.7, 1.3))
    let = (rent < worth) != (rng.random() < 1 / 20)
    seen = date(2024, 1, 1) + timedelta(days=rng.randrange(180))
    return (
        f"F{number:04}",
        f"{seen:%d/%m/%Y}",
        f"€ {rent:,}",
        "n/a" if rng.random() < 0.03 else f"{size} m²",
        "?" if rng.random() < 0.03 else str(built),
        "" if rng.random() < 0.05 else f"{station} m",
        "yes" if lift else "no",
        "yes" if garage else "no",
        part,
        "soon" if let else "later",
    )


def write(folder: Path) -> None:
    """Both tables, the same every time."""
    rng = random.Random(0)
    for name, numbers in (("flats.csv", range(1, 1201)), ("flats-new.csv", range(1201, 1501))):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(HEADS)
            rows.writerows(flat(number, rng) for number in numbers)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
