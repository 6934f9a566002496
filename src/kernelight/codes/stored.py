"""Codes as states, and files of codes that are written part by part.

A state holds slots of 1, 2 and 4 bits packed into words where that is smaller.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import check_int
from kernelight.base.files import FilePath, Spool
from kernelight.codes.provenance import common_width, refuse_other_origin
from kernelight.codes.slots import MAX_BITS, n_words, unpacked
from kernelight.state import Pieces, State, save_pieces

if TYPE_CHECKING:
    from kernelight.codes.codes import Codes


def state_of(codes: Codes) -> State:
    """The state of codes."""
    name, array = _stored_slots(codes)
    arrays: dict[str, Any] = {name: array}
    if codes.empty.any():
        arrays["empty"] = codes.empty
    return State(_meta(codes), arrays)


def codes_of(cls: type[Codes], state: State, where: str) -> Codes:
    """The codes of a state, which errors call ``where``; everything in it is checked."""
    meta, arrays = state.require("Codes", where=where).meta, state.arrays
    try:
        bits = check_int("bits", meta["bits"], 1, MAX_BITS)
        n_components = check_int("n_components", meta["n_components"], 1)
        slots = (
            unpacked(arrays["packed"], n_components, bits)
            if "packed" in arrays
            else arrays["slots"]
        )
        if slots.shape[1:] != (n_components,):
            raise ValueError(f"slots have the shape {slots.shape}.")
        origin = {"provenance": meta["provenance"], "n_features": meta["n_features"]}
        return cls(slots, bits, empty=arrays.get("empty"), **origin)
    except KeyError as error:
        raise ValueError(f"{where} does not describe Codes: it lacks {error}.") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where} does not describe Codes: {error}") from error


def save_parts(path: FilePath, parts: Iterable[Codes]) -> int:
    """Write the rows of all parts to one file, with one part in memory at a time.

    Returns the number of rows. See `Codes.save_parts`.
    """
    slots, empty = Spool(path), Spool(path)
    try:
        first: Codes | None = None
        widths, n_rows, any_empty = set(), 0, False
        for part in parts:
            first = part[:0] if first is None else first
            refuse_other_origin(first, part, "stacked")
            slots.write(_stored_slots(part)[1].data)
            empty.write(part.empty.data)
            widths.add(part.n_features)
            n_rows, any_empty = n_rows + len(part), any_empty or bool(part.empty.any())
        if first is None:
            raise ValueError("Codes.save_parts needs at least one part.")
        whole = first._like(first.array, n_features=common_width(*widths))
        name, array = _stored_slots(whole)
        arrays = {name: Pieces(array.dtype, (n_rows, array.shape[1]), slots.pieces)}
        if any_empty:
            arrays["empty"] = Pieces(np.dtype(np.bool_), (n_rows,), empty.pieces)
        save_pieces(path, _meta(whole), arrays)
    finally:
        slots.close()
        empty.close()
    return n_rows


def _meta(codes: Codes) -> dict[str, Any]:
    return {
        "kind": "Codes",
        "bits": codes.bits,
        "n_components": codes.n_components,
        "n_features": codes.n_features,
        "provenance": codes.provenance,
    }


def _stored_slots(codes: Codes) -> tuple[str, NDArray[Any]]:
    """The name and the array by which a state holds the slots."""
    k, itemsize = codes.n_components, codes.array.itemsize
    smaller = 8 * n_words(k, codes.bits) < itemsize * k
    return ("packed", codes.packed) if smaller else ("slots", codes.array)
