"""Writes the golden vectors of band keys: python tests/golden/make_bands.py.

They are computed by the twin of docs/hash-spec.md, section 12, not by the library, and must never
change: keys live in files and on clusters.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oracles.neighbors_twin import band_keys

VECTORS = Path(__file__).parent / "bands_v1.json"
CASES = ((8, 1, 1), (8, 3, 2), (8, 2, 4), (16, 4, 2), (16, 1, 8), (1, 8, 1))  # bits, bands, rows


def codes(bits: int) -> list[list[int]]:
    """Five rows of eight slots that need all bits."""
    numbers = np.arange(40, dtype=np.int64).reshape(5, 8) * 7919 + 3
    rows = numbers % 2**bits
    rows[3], rows[4] = rows[0], 2**bits - 1
    return [[int(value) for value in row] for row in rows]


def text() -> str:
    cases = [
        {
            "bits": bits,
            "bands": bands,
            "rows": rows,
            "codes": codes(bits),
            "keys": [[hex(int(key)) for key in row] for row in band_keys(codes(bits), bands, rows)],
        }
        for bits, bands, rows in CASES
    ]
    return json.dumps(cases, indent=1) + "\n"


if __name__ == "__main__":
    VECTORS.write_text(text())
