"""What a program held at most, for tests that start one: it is asked itself.

``ru_maxrss`` will not do: what the system says of a child may still be that of the process that
started it.
"""

from __future__ import annotations

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def peak() -> int:
    """The bytes that this process held at most so far."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
            1 if sys.platform == "darwin" else 1024
        )


def started(program: str, *arguments: str, **wishes: object) -> str:
    """What a program prints that may say ``from peak import peak``."""
    path = os.pathsep.join([HERE, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        **wishes,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
