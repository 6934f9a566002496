"""What every package rests on: input checks, files, registry of names, stored estimators, words.

`counted`, `bytes_text` and `naming` are for every package; docs/architecture.md says who may use
the others.
"""

from kernelight.base.files import naming
from kernelight.base.wording import bytes_text, counted

__all__ = ["bytes_text", "counted", "naming"]
