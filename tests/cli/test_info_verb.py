"""``kernelight info`` without a file: versions, this machine, and what is missing."""

from __future__ import annotations

import json
from importlib import metadata

from in_process import run

import kernelight
from kernelight import installation


def test_what_is_installed():
    said = json.loads(run("info", "--json"))
    assert said["versions"]["kernelight"] == kernelight.__version__
    assert said["versions"]["numpy"] == metadata.version("numpy")
    assert said["machine"]["instruction set"] in ("baseline", "avx2", "avx512")
    assert set(said["optional"]) == {"io", "plots", "search", "onnx", "spark"}
    assert said["optional"]["io"] == {"pyarrow": metadata.version("pyarrow")}
    assert f"kernelight         {kernelight.__version__}" in run("info")


def test_what_is_missing_is_named_with_the_remedy(monkeypatch):
    def version(name):
        if name in ("pyarrow", "pyspark"):
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(installation.metadata, "version", version)
    monkeypatch.setattr(installation.shutil, "which", lambda name: None)
    text = " ".join(run("info").split())
    assert "missing: pyarrow (pip install 'kernelight[io]')" in text
    assert "a Java runtime of version 17 or later" in text


def test_threads_and_instructions_are_those_of_calls(monkeypatch):
    monkeypatch.setenv("KERNELIGHT_NUM_THREADS", "3")
    monkeypatch.setenv("KERNELIGHT_SIMD", "baseline")
    said = json.loads(run("info", "--json"))
    assert said["machine"]["threads"] == 3
    assert said["machine"]["instruction set"] == "baseline"
