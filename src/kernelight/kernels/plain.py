"""Kernels as plain data, for states: the name of the class and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from kernelight.base import registry
from kernelight.kernels.base import Kernel

MAX_LEVELS = 16  # sums of products of sums: a description must not be nested without end
_TOO_DEEP = f"Kernels may be nested {MAX_LEVELS} deep, not more."
_PARTS = {"factors", "kernels"}  # fields of Product and Sum that hold kernels


def to_plain(kernel: Kernel) -> dict[str, Any]:
    """A kernel of this package as JSON can hold it; `from_plain` makes it again.

    >>> from kernelight.kernels import GMM, plain
    >>> plain.to_plain(GMM(p=2))
    {'kind': 'GMM', 'p': 2.0, 'center': None}
    """
    return _described(kernel, MAX_LEVELS)


def _described(kernel: Kernel, levels: int) -> dict[str, Any]:
    kind = type(kernel).__name__
    if kind not in registry.names("kernel") or registry.lookup(kind, "kernel") is not type(kernel):
        raise ValueError(
            f"{kind} is not a kernel of kernelight: it cannot be stored as plain data."
        )
    names = [field.name for field in fields(kernel)]
    if levels == 0 and _PARTS & set(names):
        raise ValueError(_TOO_DEEP)
    return {"kind": kind} | {name: _plain(getattr(kernel, name), levels - 1) for name in names}


def from_plain(plain: Any) -> Kernel:
    """The kernel that `to_plain` described; anything else is a ValueError or a TypeError.

    >>> from kernelight.kernels import plain
    >>> plain.from_plain({"kind": "RBF", "gamma": 5.0})
    RBF(gamma=5.0)
    """
    return _made(plain, MAX_LEVELS)


def _made(plain: Any, levels: int) -> Kernel:
    if not isinstance(plain, Mapping) or plain.get("kind") not in registry.names("kernel"):
        raise ValueError(f"This does not describe a kernel: {plain!r}.")
    kind = plain["kind"]
    cls = registry.lookup(kind, "kernel")
    params = {name: value for name, value in plain.items() if name != "kind"}
    if set(params) != {field.name for field in fields(cls)}:
        raise ValueError(f"A {kind} is not described by {', '.join(params) or 'nothing'}.")
    for name in _PARTS & set(params):
        if levels == 0:
            raise ValueError(_TOO_DEEP)
        if any(isinstance(part, Mapping) and part.get("kind") == kind for part in params[name]):
            raise ValueError(f"A part of a {kind} must not be a {kind}: they are flat.")
        params[name] = tuple(_made(part, levels - 1) for part in params[name])
    made: Kernel = cls(**params)
    return made


def _plain(value: Any, levels: int) -> Any:
    if isinstance(value, Kernel):
        return _described(value, levels)
    return [_plain(item, levels) for item in value] if isinstance(value, tuple) else value
