"""`Codes`: n rows of k small integers, and the provenance that says what made them."""

from kernelight.codes.codes import Codes
from kernelight.codes.provenance import provenance_of, slots_provenance

__all__ = ["Codes", "provenance_of", "slots_provenance"]
