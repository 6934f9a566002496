"""States: plain data that stands for an object (`State`), and the files that hold it."""

from kernelight.state.immutable import Immutable, may_change, read_only
from kernelight.state.safetensors import ALGORITHM_VERSION, FORMAT_VERSION, Pieces, save_pieces
from kernelight.state.state import State

__all__ = [
    "ALGORITHM_VERSION",
    "FORMAT_VERSION",
    "Immutable",
    "Pieces",
    "State",
    "may_change",
    "read_only",
    "save_pieces",
]
