"""Writes the golden vectors of the hash, algorithm version 1: python tests/golden/make_golden.py

The vectors are computed by the twin of docs/hash-spec.md, not by the library, and must never change: a change
means that stored codes and models are lost. The files, which hold a fitted map and its codes as this version
writes them, must keep loading; they are written once (`--files`) and never again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
VECTORS = HERE / "hash_v1.json"
SEEDS = (0, 1, 12345678901234567890)
K = 20

ROWS = np.array(
    [
        [2.0, -1.0, 3.0, 0.0, 0.25],
        [1.0, -2.0, 3.0, 0.0, 0.25],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, -10.0, 0.0],
        [0.1, 0.2, -0.3, 0.4, 1e-3],
        [1.0, 1.0, 1.0, 1.0, 1.0],
        [1e6, -3e-5, 7.0, 1.5e4, -2.0],
        [5e-324, 1e308, -1e-300, 1.0, 2.0**-1022],
    ]
)
CENTER = [0.5, -1.0, 3.0, 0.125, -0.1]
GAMMAS = (1e-3, 0.5, 1.0, 7.25, 300.0)

SCHEMES = [
    {"bits": 8},
    {"bits": 1},
    {"bits": 4},
    {"bits": 16},
    {"bits": 16, "t_bits": 0},
    {"bits": 8, "t_bits": 1},
    {"bits": 8, "t_bits": 2},
    {"bits": 3, "t_bits": 0, "coding": "lowest"},
    {"bits": 16, "p": 0.25},
    {"bits": 16, "p": 40.0},
    {"bits": 16, "normalize": "l1"},
    {"bits": 16, "center": CENTER},
    {"bits": 16, "sampler": "dart", "scale": 0.25},
    {"bits": 8, "sampler": "dart", "scale": 0.25},
    {"bits": 1, "sampler": "dart", "scale": 0.25},
    {"bits": 16, "sampler": "dart", "scale": 0.3},
    {"bits": 16, "sampler": "dart", "scale": 1.0, "normalize": "l1"},
    {"bits": 16, "sampler": "dart", "scale": 0.125, "center": CENTER},
    {"bits": 16, "gamma": 1.0},
    {"bits": 8, "gamma": 0.001},
    {"bits": 8, "gamma": 7.25, "p": 0.5},
    {"bits": 1, "gamma": 3.0, "t_bits": 0},
    {"bits": 16, "gamma": 1.0, "sampler": "dart", "scale": 0.25},
    {"bits": 8, "gamma": 7.25, "sampler": "dart", "scale": 0.25},
]


def rows_of(scheme):
    """Darts refuse the last row, whose sum is too large, unless it is normalised."""
    far = scheme.get("sampler") == "dart" and scheme.get("normalize") is None
    return ROWS[:-1] if far else ROWS


def hexadecimal(values):
    return [float(value).hex() for value in np.ravel(values)]


def vectors():
    from oracles import hash_twin as twin

    points = [5e-324, 2.0**-1022, 1e-300, 0.1, 0.7071067811865476, 1.0, 1.5, 2.0, 3.0, 1e6, 1.7e308]
    words = [(0, 0), (0, 1), (1, 0), (2**64 - 1, 2**64 - 1), (0x0123456789ABCDEF, 42)]
    chances = [0, 2**62, 2**63, 2**64 - 2**40, 2**64 - 1]
    cells = [(0, 0, 0), (0, 1023, 1), (7, 5, 2**40 + 1), (SEEDS[2], 65535, 99)]
    return {
        "algorithm_version": 1,
        "child": [[key, n, int(twin.child(key, n))] for key, n in words],
        "stream": [[seed, s, int(twin.stream(seed, s))] for seed in SEEDS for s in (1, 2, 3)],
        "log": [[x.hex(), float(twin.log(x)).hex()] for x in points],
        "cws_cell": [[*at, hexadecimal(twin.cws_cells(at[0], [at[2]], [at[1]]))] for at in cells],
        "cws_code": [[*at, t, cws_word(twin, *at, t)] for at in cells for t in (-3, 0, 2**40)],
        "poisson1": [[w, int(twin.poisson1(np.uint64(w)))] for w in chances],
        "dart_rate": [[k, twin.dart_rate(k)] for k in (1, 2, 20, 64, 1000, 1024, 4096, 65536)],
        "poisson": [[seed, gamma, twin.base_counts(seed, K, gamma)] for seed in SEEDS for gamma in GAMMAS],
        "rows": [hexadecimal(row) for row in ROWS],
        "codes": [codes_of(twin, scheme, seed) for scheme in SCHEMES for seed in SEEDS],
    }  # fmt: skip


def codes_of(twin, scheme, seed):
    codes, empty = twin.codes(rows_of(scheme), K, seed=seed, **scheme)
    return {"seed": seed, "scheme": scheme, "empty": empty.tolist(), "codes": codes.tolist()}


def cws_word(twin, seed, slot, coordinate, t):
    return int(twin.cws_word(seed, [slot], np.array([coordinate], np.uint64), np.array([t]))[0])


def text():
    """JSON with one short line for each vector, so that a change is easy to see."""
    found = vectors()
    lines = []
    for name, value in found.items():
        if isinstance(value, list):
            body = ",\n".join(f"    {json.dumps(item)}" for item in value)
            lines.append(f'  "{name}": [\n{body}\n  ]')
        else:
            lines.append(f'  "{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_files():
    from kernelight import GCWS

    for sampler in ("cws", "dart"):
        fitted = GCWS(K, bits=4, sampler=sampler, random_state=12345).fit(ROWS[:-1])
        fitted.save(HERE / f"gcws_{sampler}.kl")
        fitted.encode(ROWS[:-1]).save(HERE / f"codes_{sampler}.kl")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    VECTORS.write_text(text())
    if "--files" in sys.argv:
        write_files()
