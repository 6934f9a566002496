"""What every room rests on: checks of input, files, the registry of names, stored estimators, words.

`counted` is for every room; the others of these modules are for those that docs/architecture.md
names.
"""

from kernelight.base.wording import counted

__all__ = ["counted"]
