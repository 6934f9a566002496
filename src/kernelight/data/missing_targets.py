"""Rows whose target is missing: which they are, and a block with other targets in their place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernelight.data.exact_integers import as_doubles
from kernelight.data.table_source import Block, Categorical


def missing_targets(block: Block) -> NDArray[np.bool_]:
    """Which rows have no target."""
    if isinstance(block.target, Categorical):
        return block.target.codes < 0
    assert block.target is not None
    return np.isnan(as_doubles(block.target))


def with_targets(block: Block, gone: NDArray[np.bool_]) -> Block:
    """The block with the target of another row wherever one is missing."""
    other = int(np.argmin(gone))
    if isinstance(block.target, Categorical):
        codes = np.where(gone, block.target.codes[other], block.target.codes)
        return replace(block, target=Categorical(codes, block.target.values))
    assert block.target is not None
    target = block.target.copy()
    target[gone] = target[other]
    return replace(block, target=target)
