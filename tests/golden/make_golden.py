"""Writes the golden vectors of hash and projections: python tests/golden/make_golden.py.

They are those of algorithm version 1.

The vectors are computed by the twins of docs/hash-spec.md and docs/projection-spec.md, not by the
library, and must never change: a change means that stored codes and models are lost. The files,
which hold a fitted map and its codes as this version writes them, must keep loading; they are
written once (`--files`) and never again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
VECTORS = HERE / "hash_v1.json"
PROJECTION_VECTORS = HERE / "projection_v1.json"
FERN_VECTORS = HERE / "ferns_v1.json"
FOREST_VECTORS = HERE / "forest_v1.json"
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
        "poisson": [
            [seed, gamma, twin.base_counts(seed, K, gamma)] for seed in SEEDS for gamma in GAMMAS
        ],
        "rows": [hexadecimal(row) for row in ROWS],
        "codes": [codes_of(twin, scheme, seed) for scheme in SCHEMES for seed in SEEDS],
    }


def codes_of(twin, scheme, seed):
    codes, empty = twin.codes(rows_of(scheme), K, seed=seed, **scheme)
    return {"seed": seed, "scheme": scheme, "empty": empty.tolist(), "codes": codes.tolist()}


def cws_word(twin, seed, slot, coordinate, t):
    return int(twin.cws_word(seed, [slot], np.array([coordinate], np.uint64), np.array([t]))[0])


# -- projections

NARROW = ROWS  # "sorf" pads them to 64
WIDE = (
    np.array([[(7 * i * i + 13 * n * i + n) % 23 - 11 for i in range(70)] for n in range(4)]) / 4.0
)
WIDE[2] *= np.arange(70) % 9 == 0
WIDE[3] = np.arange(70) == 66
# rows and numbers of components, never full blocks
WIDTHS = {"narrow": (NARROW, 70), "wide": (WIDE, 130)}
PROJECTIONS = ("gaussian", "orthogonal", "sorf", "fastfood")
SIGMA = 2.5


def near(rows):
    """Rows that are not too far away for BinaryFourier."""
    return rows[np.abs(rows).max(axis=1) < 1e4]


def packed(bits):
    """Bits of each row as hexadecimal text, the first bit the lowest of the first byte."""
    return [
        row.tobytes().hex()
        for row in np.packbits(np.asarray(bits, dtype=np.uint8), axis=1, bitorder="little")
    ]


def projection_vectors():
    from oracles import projection_twin as twin

    words = [0, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF, 0xFEDCBA9876543210]
    points = [2.0**-1022, 1e-300, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 1e6, 1.7e308]
    turns = [0.0, 0.1, 0.125, -0.125, 0.25, 0.3, 0.375, 0.5, -0.7, 1.0, 17.3, -1234.567, 60000.1]
    turns = [float(np.float32(y)) for y in turns]
    at = [(words[5], n) for n in (0, 1, 2, 63, 64, 65, 1023)]
    return {
        "algorithm_version": 1,
        "sqrt": [[x.hex(), float(twin.sqrt(x)).hex()] for x in points],
        "circle": [[y.hex(), *hexadecimal(twin.circle_of(y))] for y in turns],
        "normal": [[key, n, float(twin.normal(key, n)).hex()] for key, n in at],
        "sign": [[key, n, int(twin.sign(key, n))] for key, n in at],
        "cauchy": [[w, float(twin.cauchy(np.uint64(w))).hex()] for w in words],
        "chi": [
            [w, n, float(twin.chi(w, n)[0]).hex()] for w in words[4:] for n in (1, 2, 3, 64, 1024)
        ],
        "permutation": [[w, twin.permutation(w, 16).tolist()] for w in words[4:]],
        "median": [
            [name, seed, twin.median_sigma(rows, seed).hex()] for name, rows, seed in median_cases()
        ],
        "rows": [[name, hexadecimal(row)] for name, (rows, _) in WIDTHS.items() for row in rows],
        "signs": [signs_of(twin, *case) for case in cases((*PROJECTIONS, "cauchy"))],
        "binary": [
            binary_of(twin, *case, threshold)
            for case in cases(PROJECTIONS)
            for threshold in (True, False)
        ],
        "turns": [turns_of(twin, *case) for case in cases(PROJECTIONS) if case[2] == SEEDS[1]],
        "integer_factor": [
            [sigma.hex(), width, *twin.integer_factor(sigma, width)]
            for sigma in (2.0**-900, 1e-3, 0.1, 1.0, SIGMA, 44.0, 1e9, 2.0**900)
            for width in (64, 128, 4096)
        ],
        "integers": [integers_of(twin, width, seed) for width in WIDTHS for seed in SEEDS],
    }


def cases(projections):
    return [(width, name, seed) for width in WIDTHS for name in projections for seed in SEEDS]


def rows_for_signs(width, projection):
    rows = WIDTHS[width][0]
    return np.abs(rows) if projection == "cauchy" else rows


def many_rows():
    """More than 91 rows, of which pairs are drawn."""
    return (
        np.array([[(5 * n * n + 3 * i * n + 7 * i) % 31 for i in range(3)] for n in range(120)])
        / 8.0
    )


def median_cases():
    return [
        ("narrow", near(NARROW), 0),
        ("wide", WIDE, 0),
        *(("many", many_rows(), seed) for seed in SEEDS),
    ]


def signs_of(twin, width, projection, seed):
    rows, m = rows_for_signs(width, projection), WIDTHS[width][1]
    bits, empty = twin.sign_codes(rows, m, projection=projection, seed=seed)
    case = {"width": width, "projection": projection, "seed": seed}
    return case | {"empty": empty.tolist(), "codes": packed(bits)}


def binary_of(twin, width, projection, seed, threshold):
    rows, m = WIDTHS[width]
    bits = twin.binary_codes(
        near(rows), m, SIGMA, projection=projection, threshold=threshold, seed=seed
    )
    case = {"width": width, "projection": projection, "seed": seed, "threshold": threshold}
    return case | {"codes": packed(bits)}


def integers_of(twin, width, seed):
    rows, m = WIDTHS[width]
    return {
        "width": width,
        "seed": seed,
        "numbers": twin.integers(near(rows), m, SIGMA, seed).tolist(),
    }


def turns_of(twin, width, projection, seed):
    """The angles of RandomFourier(8, gamma=1) before the cosine, of rows 0 and 1.

    Features agree to rounding only.
    """
    rows = WIDTHS[width][0][:2]
    project = twin.Projection(projection, seed, rows.shape[1], 4)
    lengths = project.lengths(twin.F)
    y = [hexadecimal(project(twin.unit(row)) * lengths) for row in rows]
    return {"width": width, "projection": projection, "seed": seed, "turns": y}


# -- ferns

FERN_COLUMNS = 6
FERN_WEIGHTS = (None, (0.5, 0.0, 3.0, 1.0, 0.125, 1e-3))
FERN_SIZES = ((20, 8), (5, 13), (3, 1))


def fern_rows():
    """Columns of more than 255 values, of some, of two and of one; a missing number in each."""
    n = np.arange(600)
    X = np.stack(
        [(7 * n * n + 3 * n) % 599 / 8.0, n % 7, n % 2, np.ones(600), -((n * n) % 31) / 3.0, n], 1
    )
    X[n[::97], n[::97] % FERN_COLUMNS] = np.nan
    return X


def fern_vectors():
    from oracles import fern_twin as twin

    X = fern_rows()
    made = []
    for seed in SEEDS:
        for weights in FERN_WEIGHTS:
            for n_slots, depth in FERN_SIZES:
                tests = twin.drawn_tests(X, n_slots, depth, seed, weights)
                case = {"seed": seed, "weights": weights, "n_slots": n_slots, "depth": depth}
                made.append(case | {"codes": twin.codes(tests, X[::29]).tolist()})
    return {"algorithm_version": 1, "rows": [hexadecimal(row) for row in X], "codes": made}


# -- forests of binned columns

FOREST_SIZE = {"n_trees": 2, "n_looked": 2, "max_leaves": 7, "min_rows": 2, "max_samples": 140}


def forest_cases():
    """Name, rows, target and weights of each: 300 rows have bins of several numbers."""
    X = fern_rows()[:300]
    known = np.nan_to_num(X)
    value = known[:, 0] / 4 + 5 * known[:, 1]
    weights = 1.0 + np.arange(300) % 5
    weights[::50] = 0.0
    return [
        ("classes", X, (value // 12).astype(int), None),
        ("two classes", X, (value > 25).astype(int), weights),
        ("quantities", X, np.stack([value, known[:, 4]], 1), None),
        ("quantity", X, value, weights),
    ]


def forest_vectors():
    from oracles import forest_twin as twin

    made = []
    for seed in SEEDS:
        for name, X, y, weights in forest_cases():
            arrays = twin.forest(X, y, weights, "classes" in name, seed=seed, **FOREST_SIZE)
            starts, left, right, columns, thresholds, missing_left, _ = arrays
            made.append(
                {
                    "seed": seed,
                    "case": name,
                    "starts": starts,
                    "left": left,
                    "right": right,
                    "columns": columns,
                    "thresholds": hexadecimal(np.asarray(thresholds, dtype=np.float64)),
                    "missing_left": [int(side) for side in missing_left],
                }
            )
    return {"algorithm_version": 1, "trees": made}


# -- files


def text(vectors):
    """JSON with one short line for each vector, so that a change is easy to see."""
    lines = []
    for name, value in vectors.items():
        if isinstance(value, list):
            body = ",\n".join(f"    {json.dumps(item)}" for item in value)
            lines.append(f'  "{name}": [\n{body}\n  ]')
        else:
            lines.append(f'  "{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_files():
    """Only those that do not exist yet."""
    from kernelight import GCWS

    for sampler in ("cws", "dart"):
        fitted = GCWS(K, bits=4, sampler=sampler, random_state=12345).fit(ROWS[:-1])
        write_once(fitted, f"gcws_{sampler}.kl")
        write_once(fitted.encode(ROWS[:-1]), f"codes_{sampler}.kl")
    for name, fitted in fitted_projections().items():
        write_once(fitted, f"{name}.kl")
        if hasattr(fitted, "encode"):
            write_once(fitted.encode(near(NARROW)), f"codes_{name}.kl")

    for name, fitted in fitted_partitions().items():
        write_once(fitted, f"{name}.kl")
        write_once(fitted.encode(fern_rows()[::29]), f"codes_{name}.kl")
    for name, (fitted, _, _) in fitted_ternary().items():
        write_once(fitted, f"{name}.kl")


def fitted_ternary():
    """Ternary models of both kinds of rows, with these rows and labels."""
    from kernelight import Codes, RandomFourier, TernaryClassifier

    codes = Codes.load(HERE / "codes_binary_fourier.kl")
    features = RandomFourier.load(HERE / "random_fourier.kl").transform(near(NARROW))
    labels = np.arange(len(features)) % 3
    return {
        "ternary_codes": (
            TernaryClassifier(sparsity=0.5, class_weight={0: 2.0}).fit(codes, labels),
            codes,
            labels,
        ),
        "ternary_dense": (TernaryClassifier(C=100.0).fit(features, labels), features, labels),
    }


def fitted_partitions():
    from kernelight import Ferns, ForestLeaves

    X = fern_rows()
    labels = (np.nan_to_num(X[:, 0]) + 5 * np.nan_to_num(X[:, 1])) > 40
    return {
        "ferns": Ferns(20, depth=6, weights=FERN_WEIGHTS[1], random_state=12345).fit(X),
        "forest_leaves": ForestLeaves(7, max_leaf_nodes=20, random_state=12345).fit(X, labels),
    }


def write_once(made, name):
    if not (HERE / name).exists():
        made.save(HERE / name)


def fitted_projections():
    from kernelight import BinaryFourier, IntegerFourier, RandomFourier, SignProjection

    made = {
        "sign_projection": SignProjection(70, projection="sorf", random_state=12345),
        "binary_fourier": BinaryFourier(70, random_state=12345),
        "integer_fourier": IntegerFourier(70, random_state=12345),
        "random_fourier": RandomFourier(8, projection="orthogonal", random_state=SEEDS[1]),
    }
    return {name: each.fit(near(NARROW)) for name, each in made.items()}


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    VECTORS.write_text(text(vectors()))
    PROJECTION_VECTORS.write_text(text(projection_vectors()))
    FERN_VECTORS.write_text(text(fern_vectors()))
    FOREST_VECTORS.write_text(text(forest_vectors()))
    if "--files" in sys.argv:
        write_files()
