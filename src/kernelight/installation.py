"""What is installed: versions, what calls use of this machine, and the optional parts."""

from __future__ import annotations

import platform
import re
import shutil
from importlib import metadata

from kernelight.base.checks import SIMD_LEVELS, resources
from kernelight.state import ALGORITHM_VERSION

__all__ = ["machine", "optional_parts", "versions"]

_EXTRAS = ("io", "plots", "search", "onnx", "spark")  # that add something at run time


def versions() -> dict[str, str | int]:
    """Of the package, of what a seed means, of Python and of what calculates.

    Returns
    -------
    dict
        The version of each, by name.

    See Also
    --------
    machine : What calls use of it.
    optional_parts : Which extras are there.

    Examples
    --------
    >>> from kernelight.installation import versions
    >>> versions()["algorithm version"]
    1
    """
    return {
        "kernelight": metadata.version("kernelight"),
        "algorithm version": ALGORITHM_VERSION,
        "Python": platform.python_version(),
        **{name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")},
    }


def machine() -> dict[str, str | int]:
    """The system, and what a compiled call uses of it.

    Returns
    -------
    dict
        System, instruction set and threads.

    See Also
    --------
    versions : What is installed.

    Examples
    --------
    >>> from kernelight.installation import machine
    >>> sorted(machine())
    ['instruction set', 'system', 'threads']
    """
    used = resources()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "instruction set": SIMD_LEVELS[used.simd],
        "threads": used.threads,
    }


def optional_parts() -> dict[str, dict[str, str | None]]:
    """The packages of each extra and their versions, None for one that is missing.

    Returns
    -------
    dict
        For each extra its packages, with their versions.

    See Also
    --------
    versions : What is always there.

    Examples
    --------
    >>> from kernelight.installation import optional_parts
    >>> sorted(optional_parts())
    ['io', 'onnx', 'plots', 'search', 'spark']
    """
    return {extra: _packages(extra) for extra in _EXTRAS}


def _packages(extra: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for line in metadata.requires("kernelight") or ():
        name = re.match(r"[\w.-]+", line)
        if name is not None and re.search(rf"""extra == ['"]{extra}['"]""", line):
            try:
                found[name[0]] = metadata.version(name[0])
            except metadata.PackageNotFoundError:
                found[name[0]] = None
    if extra == "spark":
        found["java"] = shutil.which("java")
    return found
