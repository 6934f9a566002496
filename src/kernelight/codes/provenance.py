"""Provenance: the digest of everything that defines a code.

Codes of different provenance cannot be compared.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kernelight.state import ALGORITHM_VERSION

if TYPE_CHECKING:
    from kernelight.codes.codes import Codes


def provenance_of(kind: str, identity: dict[str, Any]) -> str:
    """The provenance of codes made by a map of this kind, of whatever defines its codes.

    Parameters
    ----------
    kind : str
        The name of the class of the map.
    identity : dict
        Everything that defines a code, as plain data.

    Returns
    -------
    str
        The provenance.

    See Also
    --------
    slots_provenance : That of some of the slots.

    Examples
    --------
    >>> from kernelight.codes import provenance_of
    >>> provenance_of("Map", {"seed": 0}) == provenance_of("Map", {"seed": 1})
    False
    """
    text = json.dumps([kind, ALGORITHM_VERSION, identity], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def slots_provenance(provenance: str, slots: NDArray[np.int64]) -> str:
    """The provenance of some slots of codes, by their ascending numbers.

    Parameters
    ----------
    provenance : str
        That of all slots.
    slots : array of int
        The slots, ascending.

    Returns
    -------
    str
        The provenance.

    See Also
    --------
    provenance_of : That of all slots.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight.codes import provenance_of, slots_provenance
    >>> whole = provenance_of("Map", {"seed": 0})
    >>> slots_provenance(whole, np.array([0, 2])) == whole
    False
    """
    return derived("slots", [provenance], slots.tolist())


def derived(operation: str, left: list[Any], right: list[Any]) -> str:
    """The provenance of what an operation makes of two codes."""
    return hashlib.blake2b(
        json.dumps([operation, left, right]).encode(), digest_size=16
    ).hexdigest()


def origin_of(codes: Codes) -> list[Any]:
    """The provenance of codes, and the width of the data they were made of."""
    return [codes.provenance, codes.n_features]


def common_width(*widths: int | None) -> int | None:
    """The width of codes that were put together; None unless all have the same."""
    return widths[0] if len(set(widths)) == 1 else None


def refuse_other_origin(left: Codes, right: Any, verb: str) -> None:
    """Refuse codes whose values do not mean the same; say what differs and what to do."""
    if not isinstance(right, type(left)):
        raise TypeError(f"Codes can only be {verb} with Codes, got {type(right).__name__}.")
    widths, bits, slots = (
        (getattr(left, name), getattr(right, name))
        for name in ("n_features", "bits", "n_components")
    )
    if left.provenance != right.provenance:
        origins = f"{left.provenance!r} and {right.provenance!r}"
        why = f"their provenance differs ({origins}): encode both with the same fitted map"
    elif None not in widths and widths[0] != widths[1]:
        why = f"n_features differ ({widths[0]} and {widths[1]}): encode both from the same features"
    elif bits[0] != bits[1]:
        why = f"bits differ ({bits[0]} and {bits[1]}): cut the wider with low_bits({min(bits)})"
    elif slots[0] != slots[1]:
        why = f"slots differ ({slots[0]} and {slots[1]}): cut the longer with first({min(slots)})"
    else:
        return
    raise ValueError(f"These codes cannot be {verb}, {why}.")
