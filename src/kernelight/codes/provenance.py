"""Where codes come from: digests of everything that defines a code. Codes of different provenance
refuse to meet."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.state import ALGORITHM_VERSION


def provenance_of(kind: str, identity: dict[str, Any]) -> str:
    """The provenance of codes made by a map of this kind: a digest of everything that defines a
    code."""
    text = json.dumps([kind, ALGORITHM_VERSION, identity], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def slots_provenance(provenance: str, slots: NDArray[np.int64]) -> str:
    """The provenance of some slots of codes, by their ascending numbers."""
    return derived("slots", [provenance], slots.tolist())


def derived(operation: str, left: list[Any], right: list[Any]) -> str:
    """The provenance of what an operation makes of two codes."""
    return hashlib.blake2b(
        json.dumps([operation, left, right]).encode(), digest_size=16
    ).hexdigest()
