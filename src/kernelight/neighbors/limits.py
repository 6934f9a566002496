"""Limits that users give: a least similarity, or a largest distance."""

from __future__ import annotations

from typing import Any

from kernelight.base.checks import check_number


def check_threshold(threshold: Any) -> float:
    """A least similarity, above 0 and at most 1."""
    value = check_number("threshold", threshold, 0.0, 1.0)
    if value == 0.0:
        raise ValueError("threshold must be above 0: every pair has a similarity of at least 0.")
    return value


def check_radius(radius: Any) -> float:
    """A largest distance, at least 0 and below 1."""
    value = check_number("radius", radius, 0.0, 1.0)
    if value == 1.0:
        raise ValueError("radius must be below 1: every row is within a distance of 1.")
    return value
