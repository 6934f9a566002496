"""Models and codes of files.

A `TableModel` goes from a table to predictions for other tables with the same columns, a `TableMap`
to codes of their rows.
"""

from kernelight.tables import code_files, memory_limit, similarity
from kernelight.tables.model import TableModel
from kernelight.tables.table_map import TableMap

__all__ = ["TableMap", "TableModel", "code_files", "memory_limit", "similarity"]
