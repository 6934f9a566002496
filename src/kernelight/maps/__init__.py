"""Feature maps: transformers whose inner products estimate a kernel.

`base` says what every map is, `feature_map` chooses one for a kernel; each of the five packages has
one family of maps. ``METHODS`` has the word of ``method=`` for each map, with the name of its
class.
"""

from kernelight.base.registry import METHODS

__all__ = ["METHODS"]
