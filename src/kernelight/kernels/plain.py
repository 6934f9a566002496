"""Kernels as plain data, for states: the name of the class and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from kernelight import _registry
from kernelight.kernels.base import Kernel


def to_plain(kernel: Kernel) -> dict[str, Any]:
    """A kernel of this package as JSON can hold it; `from_plain` makes it again.

    >>> from kernelight.kernels import GMM, plain
    >>> plain.to_plain(GMM(p=2))
    {'kind': 'GMM', 'p': 2.0, 'center': None}
    """
    kind = type(kernel).__name__
    if kind not in _registry.names("kernel") or _registry.lookup(kind, "kernel") is not type(kernel):
        raise ValueError(f"{kind} is not a kernel of kernelight: it cannot be stored as plain data.")
    return {"kind": kind} | {field.name: _plain(getattr(kernel, field.name)) for field in fields(kernel)}


def from_plain(plain: Any) -> Kernel:
    """The kernel that `to_plain` described; anything else is a ValueError or a TypeError.

    >>> from kernelight.kernels import plain
    >>> plain.from_plain({"kind": "RBF", "gamma": 5.0})
    RBF(gamma=5.0)
    """
    if not isinstance(plain, Mapping) or plain.get("kind") not in _registry.names("kernel"):
        raise ValueError(f"This does not describe a kernel: {plain!r}.")
    cls = _registry.lookup(plain["kind"], "kernel")
    params = {name: value for name, value in plain.items() if name != "kind"}
    if set(params) != {field.name for field in fields(cls)}:
        raise ValueError(f"A {plain['kind']} is not described by {', '.join(params) or 'nothing'}.")
    if "factors" in params:
        params["factors"] = tuple(map(_factor, params["factors"]))
    made: Kernel = cls(**params)
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, Kernel):
        return to_plain(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _factor(plain: Any) -> Kernel:
    """Products are flat, so that a description cannot be nested without end."""
    if isinstance(plain, Mapping) and "factors" in plain:
        raise ValueError("A factor of a product must not be a product.")
    return from_plain(plain)
