"""What every package rests on: input checks, files, registry of names, stored estimators, words.

`counted` and `bytes_text` are for every package; docs/architecture.md says who may use the others.
"""

from kernelight.base.wording import bytes_text, counted

__all__ = ["bytes_text", "counted"]
