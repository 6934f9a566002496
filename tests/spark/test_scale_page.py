"""docs/scale.md: its code runs, from top to bottom, and prints what it says."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"
EXAMPLE = re.compile(
    r"^```python\n(.*?)^```\n(?:\s*^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
EXAMPLES = EXAMPLE.findall(PAGE.read_text())
OTHERS = ("ray", "dask", "duckdb")  # engines of which each block stands alone behind the first


def run(code: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<docs/scale.md>", "exec"), names)
    return printed.getvalue()


def engine_of(code: str) -> str | None:
    return next((name for name in OTHERS if f"import {name}" in code), None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_blocks_on_spark(spark, folder, tmp_path):
    names: dict[str, object] = {"__name__": "__main__"}
    for code, output in EXAMPLES:
        if engine_of(code) is None:
            # Spark is in the folder where it was started
            code = code.replace('"rows.parquet"', repr(str(tmp_path / "rows.parquet")))
            assert run(code, names) == output


@pytest.mark.parametrize("engine", OTHERS)
def test_blocks_on_other_engines(engine, folder):
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed.")
    names: dict[str, object] = {"__name__": "__main__"}
    run(EXAMPLES[0][0], names)
    code, output = next(each for each in EXAMPLES if engine_of(each[0]) == engine)
    assert run(code, names) == output


def test_the_table_of_sizes_is_that_of_the_constants():
    path = PAGE.parents[1] / "benchmarks" / "_cluster_sizing.py"
    spec = importlib.util.spec_from_file_location("cluster_sizing", path)
    sizing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sizing)
    table = sizing.table(json.loads(sizing.FILE.read_text()))
    assert "core-hours" in table
    assert table in PAGE.read_text()
