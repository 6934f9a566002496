"""The command ``kernelight``: one file for each of its verbs, which use public names only."""

__all__ = []
