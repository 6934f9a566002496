"""Write parcels.csv and parcels-new.csv beside this file: made-up deliveries to try the command on.

A parcel is late if it leaves in a rush hour, or if the slow carrier takes it far. For heavy parcels
the rush hour is longer and the distance shorter. For one in thirty the answer is flipped, and some
distances are missing.

    python examples/parcels.py
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

HEADS = ("parcel", "hour", "distance", "weight", "carrier", "late")
CARRIERS = ("Albatross", "Barge", "Courier")


def delivery(number: int, rng: random.Random) -> tuple[str, ...]:
    """A row of the table."""
    hour, distance = round(rng.uniform(6, 22), 1), round(rng.uniform(1, 400))
    weight, carrier = round(rng.uniform(0.1, 20), 1), rng.choice(CARRIERS)
    rush = min(abs(hour - 8), abs(hour - 17)) < 1 + weight / 20
    far = carrier == "Barge" and distance > 300 - 5 * weight
    late = (rush or far) != (rng.random() < 1 / 30)
    shown = "" if rng.random() < 0.03 else str(distance)
    return f"P{number:04}", str(hour), shown, str(weight), carrier, "yes" if late else "no"


def write(folder: Path) -> None:
    """Both tables, the same every time."""
    rng = random.Random(0)
    for name, numbers in (("parcels.csv", range(1, 801)), ("parcels-new.csv", range(801, 1001))):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(HEADS)
            rows.writerows(delivery(number, rng) for number in numbers)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
