"""Why a difference from a paper is larger than half a point, where we know: (data set, kernel or "*") -> the reason."""

from __future__ import annotations

CNK_NOTES: dict[tuple[str, str], str] = {}
LGMM_NOTES: dict[tuple[str, str], str] = {}
