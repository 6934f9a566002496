"""The names of the columns that a model was fitted to: an exported model knows only their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def column_names_of(fitted: Any) -> tuple[str, ...] | None:
    """The names of the columns that an object was fitted to, if they had names."""
    names = getattr(fitted, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def refuse_other_names(X: Any, names: Sequence[str] | None, label: str) -> None:
    """Refuse a frame whose columns are not those of training, in their order."""
    own = getattr(X, "columns", None)
    if own is None or names is None or [str(each) for each in own] == list(names):
        return
    raise ValueError(
        f"The columns of {label} are not those of training in their order: pass "
        f"{label}[[{', '.join(map(repr, names[:3]))}{', ...' if len(names) > 3 else ''}]]."
    )
