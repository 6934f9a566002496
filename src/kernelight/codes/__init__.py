"""`Codes`, n rows of k small integers; their arrays (`slots`) and where they come from
(`provenance`)."""

from kernelight.codes.codes import Codes
from kernelight.codes.provenance import provenance_of, slots_provenance

__all__ = ["Codes", "provenance_of", "slots_provenance"]
