"""Stub to be replaced."""

from __future__ import annotations

from typing import Any


def deduplicate_spooled(*a: Any, **k: Any) -> Any:
    raise NotImplementedError
