"""Feature maps: transformers whose inner products estimate a kernel.

`base` says what every map is, `feature_map` chooses one for a kernel; each of the four rooms has
one family of them. ``METHODS`` has the word for each map in ``method=``, with the name of its
class.
"""

from kernelight.base.registry import METHODS

__all__ = ["METHODS"]
