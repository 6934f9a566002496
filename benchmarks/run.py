"""Run every benchmark of this directory and print a table for each.

    python benchmarks/run.py [names ...] [--write] [--quick]

A benchmark is a module with ``run() -> list[dict]``; a dict has the keys ``claim``, ``peer``,
``bar`` (the promise, in words), ``measured`` (the ratio; another ``unit`` may be named), and
``holds``. The first line of its docstring stands above its table. ``--write`` puts each table into
docs/benchmarks.md as soon as it is measured, and leaves those of other benchmarks as they were. The
exit status is 1 if a promise does not hold. ``--quick`` shows the ratios of speed roughly: each is
measured once, on fewer tables where there are many, and what measures only accuracy is left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import sys
import textwrap
import time
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
REPORT = HERE.parent / "docs" / "benchmarks.md"
INTRODUCTION = """# Benchmarks

Written by `make bench BENCH=--write`.
Each table names the machine and the versions that it was measured with.
"""
QUICK = "KERNELIGHT_QUICK"  # tells `_measure` to take one turn
# what measures accuracy, or takes long even once
SLOW = (
    *("accuracy", "categories", "imbalance", "streaming", "tables", "training_quality"),
    "trees",
)
NO_PROMISE = "none"  # a bar that begins so: there is nothing that could hold
HEADS = ("claim", "peer", "promised", "measured", "")
PACKAGES = (
    *("kernelight", "numpy", "scipy", "scikit-learn", "datasketch", "lightgbm"),
    *("xgboost-cpu", "catboost", "faiss-cpu", "usearch", "pynndescent", "emlearn"),
    *("onnxruntime", "pyspark"),
)


def names() -> list[str]:
    """The names of all benchmarks."""
    return sorted(
        path.stem
        for path in HERE.glob("*.py")
        if path.stem != "run" and not path.stem.startswith("_")
    )


def load(name: str) -> ModuleType:
    """A benchmark by its name."""
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    return module


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """A result as text, in the order of HEADS."""
    unit = row.get("unit", "x")
    value = row["measured"]
    measured = f"{f'{value:,.0f}' if abs(value) >= 1000 else f'{value:.3g}'} {unit}"
    verdict = "holds" if row["holds"] else "DOES NOT HOLD"
    if row["bar"].startswith(NO_PROMISE):
        verdict = ""
    return row["claim"], row["peer"], row["bar"], measured, verdict


def as_text(rows: list[tuple[str, ...]]) -> str:
    """An aligned table."""
    widths = [max(map(len, column)) for column in zip(HEADS, *rows, strict=True)]
    lines = (
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (HEADS, *rows)
    )
    return "\n".join(lines)


def as_markdown(name: str, title: str, rows: list[tuple[str, ...]]) -> str:
    """A section of the report."""
    table = "\n".join(f"| {' | '.join(row)} |" for row in (HEADS, ("---",) * len(HEADS), *rows))
    measured = f"Measured on {processor()}; {versions()}."
    foot = textwrap.fill(measured, width=100, break_on_hyphens=False)
    return f"## {name}\n\n{title}\n\n{table}\n\n{foot}\n"


def write(section: str) -> None:
    """Put a section into the report, in place of the one of the same benchmark.

    Sections of benchmarks that no longer exist are removed.
    """
    old = REPORT.read_text().split("## ")[1:] if REPORT.exists() else []
    known = {text.split("\n", 1)[0]: f"## {text.rstrip()}\n" for text in old}
    known[section.split("\n", 1)[0].removeprefix("## ")] = section
    sections = (known[name] for name in names() if name in known)
    REPORT.write_text("\n".join([INTRODUCTION, *sections]))


def processor() -> str:
    """The name of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
        return next(
            line.partition(":")[2].strip()
            for line in text.splitlines()
            if line.startswith("model name")
        )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions() -> str:
    """The versions that matter."""
    named = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            named.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(named)


def main() -> int:
    """Run, print, and write the report if asked to."""
    parser = argparse.ArgumentParser(description="Run the benchmarks of kernelight.")
    parser.add_argument("names", nargs="*", help=f"which (default: all of {', '.join(names())})")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--quick", action="store_true", help="rough ratios, in some minutes")
    asked = parser.parse_args()
    if asked.quick and asked.write:
        parser.error("--quick measures too roughly to be written")
    if asked.quick:
        os.environ[QUICK] = "1"
    unknown = sorted(set(asked.names) - set(names()))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(names())}")
    print(f"{processor()}; {versions()}")
    all_hold = True
    for name in asked.names or [name for name in names() if not (asked.quick and name in SLOW)]:
        start = time.perf_counter()
        module = load(name)
        quick = (
            {"quick": True} if asked.quick and "quick" in signature(module.run).parameters else {}
        )
        results = module.run(**quick)
        rows = [cells(row) for row in results]
        all_hold &= all(row["holds"] for row in results)
        title = (module.__doc__ or "").strip().splitlines()[0]
        print(
            f"\n== {name}: {title} ({time.perf_counter() - start:.0f} s)\n{as_text(rows)}",
            flush=True,
        )
        if asked.write:
            write(as_markdown(name, title, rows))
    return 0 if all_hold else 1


if __name__ == "__main__":
    sys.exit(main())
