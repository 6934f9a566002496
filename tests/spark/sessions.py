"""What a session of Spark needs, and whether it is there."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# A session writes where nobody looks, and a task that loses its worker is tried again.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "3",
    "spark.log.level": "OFF",
}


def lacking() -> str | None:
    """Why there is no Spark here, in a sentence."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "Spark is not installed: pip install 'kernelight[spark]'."
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "Spark needs a Java runtime, such as Debian's openjdk-17-jre-headless."
    return None


def environment() -> dict[str, str]:
    """What processes of Spark see: this Python, and the modules of this folder."""
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
