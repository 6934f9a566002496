"""Models of files: a `TableModel` goes from a table to predictions for other tables with the same columns."""

from kernelight.tables.model import TableModel

__all__ = ["TableModel"]
