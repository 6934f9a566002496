"""`Codes`: n rows of k small integers, and the provenance that says what made them.

`Winners` are the features that decided their slots.
"""

from kernelight.codes.codes import Codes
from kernelight.codes.provenance import provenance_of, slots_provenance
from kernelight.codes.winners import Winners

__all__ = ["Codes", "Winners", "provenance_of", "slots_provenance"]
