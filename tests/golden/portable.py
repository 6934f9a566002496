"""The golden vectors on other machines: core/portable, compiled for them and run under qemu.

`make portable` runs this file: aarch64, riscv64 and s390x, which is big-endian, beside the machine
it runs on. Debian has the compilers and qemu-user.
"""

from __future__ import annotations

import json
import math
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from oracles import hash_twin  # noqa: E402

FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-static")
# Strict C on s390x computes floats in double, which core/portable refuses.
ROUNDED = "-fexcess-precision=fast"
# machine -> the compiler and what runs its programs
MACHINES = {
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "riscv64": ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
    "s390x": ("s390x-linux-gnu-gcc", "qemu-s390x"),
}
PACKAGES = (
    "qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu "
    "libc6-dev-riscv64-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross"
)
Case = tuple[str, list[int]]


def bits_of(value: float | str) -> int:
    """The bits of a double, given as such or in hexadecimal."""
    number = float.fromhex(value) if isinstance(value, str) else float(value)
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])


def hash_cases() -> list[Case]:
    """Words, laws and codes of hash_v1.json, and keys of bands."""
    golden = json.loads((HERE / "hash_v1.json").read_text())
    cases: list[Case] = []
    for name in ("child", "stream"):
        cases += [(f"{name} {key} {n}", [word]) for key, n, word in golden[name]]
    cases += [(f"log {bits_of(x)}", [bits_of(log)]) for x, log in golden["log"]]
    for *place, cell in golden["cws_cell"]:
        cases.append((f"cws_cell {_text(place)}", [bits_of(value) for value in cell]))
    for seed, slot, coordinate, t, word in golden["cws_code"]:
        cases.append((f"cws_code {seed} {slot} {coordinate} {t % 2**64}", [word]))
    for name in ("poisson1", "dart_rate"):
        cases += [(f"{name} {given}", [result]) for given, result in golden[name]]
    for seed, gamma, counts in golden["poisson"]:
        for slot, count in enumerate(counts):
            cases.append((f"poisson {seed} {slot} {bits_of(gamma)}", [count]))
    rows = [[float.fromhex(x) for x in row] for row in golden["rows"]]
    for case in golden["codes"]:
        cases += _code_cases(case, rows)
    for case in json.loads((HERE / "bands_v1.json").read_text()):
        cases += _band_cases(case)
    return cases


def _code_cases(case: dict, rows: list[list[float]]) -> list[Case]:
    scheme, cases = case["scheme"], []
    darts = scheme.get("sampler") == "dart"
    parameter = scheme["scale"] if darts else scheme.get("p", 1.0)
    t_bits = scheme.get("t_bits")
    mask = 2**64 - 1 if t_bits is None else 2**t_bits - 1
    # a row that a scheme has no codes of is empty
    for row, codes, empty in zip(rows, case["codes"], case["empty"], strict=False):
        if empty:
            continue
        coordinates, weight = hash_twin.weights(
            row, center=scheme.get("center"), l1=scheme.get("normalize") == "l1"
        )
        numbers = [
            case["seed"],
            len(codes),
            scheme["bits"],
            bits_of(scheme.get("gamma", -1.0)),
            int(darts),
            bits_of(parameter),
            mask,
            int(scheme.get("coding") == "lowest"),
            len(weight),
            *(int(i) for i in coordinates),
            *(bits_of(w) for w in weight),
        ]
        cases.append((f"codes {_text(numbers)}", codes))
    return cases


def _band_cases(case: dict) -> list[Case]:
    n, cases = case["rows"], []
    for codes, keys in zip(case["codes"], case["keys"], strict=True):
        for band, key in enumerate(keys):
            slots = codes[band * n : band * n + n]
            cases.append((f"band {band} {n} {_text(slots)}", [int(key, 16)]))
    return cases


def projection_cases() -> list[Case]:
    """Functions, laws and bits of projection_v1.json."""
    golden = json.loads((HERE / "projection_v1.json").read_text())
    cases: list[Case] = [(f"sqrt {bits_of(x)}", [bits_of(y)]) for x, y in golden["sqrt"]]
    cases += [(f"circle {bits_of(y)}", [bits_of(v) for v in of]) for y, *of in golden["circle"]]
    for name in ("normal", "sign", "chi"):
        cases += [(f"{name} {key} {n}", [bits_of(value)]) for key, n, value in golden[name]]
    cases += [(f"cauchy {key}", [bits_of(value)]) for key, value in golden["cauchy"]]
    cases += [(f"permutation {key} {len(p)} ", p) for key, p in golden["permutation"]]
    rows: dict[str, list[list[float]]] = {}
    for width, row in golden["rows"]:
        rows.setdefault(width, []).append([float.fromhex(x) for x in row])
    for case in golden["signs"]:
        rows_of = [
            [abs(x) for x in row] if case["projection"] == "cauchy" else row
            for row in rows[case["width"]]
        ]
        given = [
            (row, code)
            for row, code, empty in zip(rows_of, case["codes"], case["empty"], strict=True)
            if not empty
        ]
        cases += [_bit_case(case, row, code, None) for row, code in given]
    for case in golden["binary"]:
        near = [row for row in rows[case["width"]] if max(map(abs, row)) < 1e4]
        for row, code in zip(near, case["codes"], strict=True):
            cases.append(_bit_case(case, row, code, 2.5))
    for sigma, width, multiplier, exponent in golden["integer_factor"]:
        factor = [multiplier, exponent % 2**64]
        cases.append((f"integer_factor {bits_of(sigma)} {width}", factor))
    for case in golden["integers"]:
        near = [row for row in rows[case["width"]] if max(map(abs, row)) < 1e4]
        for row, numbers in zip(near, case["numbers"], strict=True):
            given = [case["seed"], len(numbers), bits_of(2.5), len(row), *map(bits_of, row)]
            cases.append((f"integers {_text(given)}", [number % 2**64 for number in numbers]))
    return cases


def _bit_case(case: dict, row: list[float], code: str, sigma: float | None) -> Case:
    kind, d = case["projection"], len(row)
    m = {"narrow": 70, "wide": 130}[case["width"]]
    width = 1 << (d - 1).bit_length()
    width = max(64, width) if kind == "sorf" else width
    factor = 1.0 if sigma is None else 1.0 / (2.0 * math.pi)
    factor /= {"sorf": width * math.sqrt(width), "fastfood": math.sqrt(width)}.get(kind, 1.0)
    numbers = [
        case["seed"],
        width,
        m,
        bits_of(factor),
        int(sigma is not None),
        int(case.get("threshold", False)),
        bits_of(0.0 if sigma is None else 1.0 / sigma),
        d,
        *(bits_of(x) for x in row),
    ]
    packed = np.frombuffer(bytes.fromhex(code), dtype=np.uint8)
    return f"bits {kind[0]} {_text(numbers)}", np.unpackbits(packed, bitorder="little")[:m].tolist()


def _text(numbers: list) -> str:
    return " ".join(map(str, numbers))


def all_cases() -> list[Case]:
    """Every golden vector that core/portable has a function of."""
    return hash_cases() + projection_cases()


def wrong_results(compiler: str, runner: str | None, flags: tuple[str, ...] = FLAGS) -> list[str]:
    """The cases that a machine computes otherwise."""
    cases = all_cases()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "portable"
        source = HERE / "portable.c"
        include = ROOT / "core" / "portable"
        subprocess.run([compiler, *flags, f"-I{include}", source, "-o", program], check=True)
        command = [program] if runner is None else [runner, program]
        text = "\n".join(line for line, _ in cases)
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    results = [[int(value) for value in line.split()] for line in done.stdout.splitlines()]
    return [
        line for (line, expected), result in zip(cases, results, strict=True) if expected != result
    ]


def main() -> int:
    """Run all machines; the status is 1 if one differs, 2 if a tool is missing."""
    needed = [tool for pair in MACHINES.values() for tool in pair]
    missing = [tool for tool in needed if shutil.which(tool) is None]
    if missing:
        print(f"{', '.join(missing)} not found: on Debian, apt-get install {PACKAGES}")
        return 2
    count = sum(len(expected) for _, expected in all_cases())
    status = 0
    for machine, tools in {"this machine": ("cc", None), **MACHINES}.items():
        wrong = wrong_results(*tools, (*FLAGS, *((ROUNDED,) if machine == "s390x" else ())))
        print(f"{machine}: {len(wrong)} of {len(all_cases())} cases ({count:,} numbers) differ")
        for line in wrong[:5]:
            print(f"    {line[:90]}")
        status = status or int(bool(wrong))
    return status


if __name__ == "__main__":
    raise SystemExit(main())
