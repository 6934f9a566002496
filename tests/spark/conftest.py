"""Sessions of Spark: they start by themselves, and tests skip with a sentence where they cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from sessions import SETTINGS, environment, lacking


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Two threads in this process, and four attempts of a task."""
    reason = lacking()
    if reason:
        pytest.skip(reason)
    os.environ.update(environment())
    from pyspark.sql import SparkSession

    made = SparkSession.builder.master("local[2,4]").appName("kernelight")
    folder = str(tmp_path_factory.mktemp("spark"))
    for name, value in {**SETTINGS, "spark.local.dir": folder}.items():
        made = made.config(name, value)
    session = made.config("spark.sql.warehouse.dir", f"{folder}/warehouse").getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def elsewhere(tmp_path):
    """Run a script with a session of its own, as only one can be in a process.

    ``elsewhere(master, code)`` gives what the code prints. A ``master`` is ``"connect"``, for Spark
    Connect, or what Spark calls so; the code finds ``spark`` and ``folder``. ``settings`` are more
    of Spark's.
    """
    reason = lacking()
    if reason:
        pytest.skip(reason)

    def run(master: str, code: str, settings: dict[str, str] | None = None) -> str:
        if master == "connect":
            pytest.importorskip("grpc", reason="Spark Connect needs grpcio, which is not there.")
            start = "SparkSession.builder.remote('local[2]')"
        else:
            start = f"SparkSession.builder.master({master!r})"
        lines = [
            "from pyspark.sql import SparkSession",
            f"made = {start}",
            f"folder = {str(tmp_path)!r}",
        ]
        wanted = {**SETTINGS, "spark.local.dir": str(tmp_path), **(settings or {})}
        for name, value in wanted.items():
            lines.append(f"made = made.config({name!r}, {value!r})")
        lines += ["spark = made.getOrCreate()", textwrap.dedent(code), "spark.stop()"]
        script = tmp_path / "script.py"
        script.write_text("\n".join(lines))
        done = subprocess.run(
            [sys.executable, str(script)],
            # Spark Connect takes a free port then, not always the same
            env={**environment(), **({"SPARK_TESTING": "1"} if master == "connect" else {})},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-5000:]
        return done.stdout

    return run
