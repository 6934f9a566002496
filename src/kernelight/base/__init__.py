"""What every room rests on: checks of input, files, the registry of names, stored estimators, words.

`counted` and `bytes_text` are for every room; the others of these modules are for those that
docs/architecture.md names.
"""

from kernelight.base.wording import bytes_text, counted

__all__ = ["bytes_text", "counted"]
