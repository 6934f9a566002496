"""The core is C++ that clang takes too, without a warning: macOS and wheels are built with it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers import nightly

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "core" / "simd").glob("*.cpp"))
LEVELS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt"],
    "avx512": [
        *("-mavx2", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt"),
        *("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl"),
    ],
}


def complaints(source: Path, level: str) -> str:
    if shutil.which("clang++") is None:
        pytest.skip("clang++ is not installed: Debian's package is clang.")
    done = subprocess.run(
        [
            *("clang++", "-std=gnu++17", "-fsyntax-only", "-Wall", "-Wextra", "-ffp-contract=off"),
            *(f"-I{ROOT / 'core'}", f"-DKERNELIGHT_SIMD={level}", *LEVELS[level], str(source)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r".*(?:error|warning): .*", done.stderr)
    return "\n".join(found) or ("" if done.returncode == 0 else done.stderr)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_clang_takes_the_baseline(source):
    assert complaints(source, "baseline") == ""


@nightly
@pytest.mark.parametrize("level", ["avx2", "avx512"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_clang_takes_wider_vectors(source, level):
    assert complaints(source, level) == ""
