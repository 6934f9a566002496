"""Models and feature maps of tables: files and data frames.

A `TableModel` is trained on a table and predicts for other tables with the same columns. A
`TableMap` makes codes of their rows.
"""

from kernelight.tables import (
    arrow_batches,
    arrow_duplicates,
    arrow_rows,
    block_training,
    code_files,
    dedup_forecast,
    dedup_summary,
    deduplication,
    default_model,
    index_rows,
    memory_limit,
    predictions,
    similarity,
    sorted_runs,
    spooled_deduplication,
    table_index,
    witness_rows,
)
from kernelight.tables.model import TableModel
from kernelight.tables.table_map import TableMap

__all__ = [
    "TableMap",
    "TableModel",
    "arrow_batches",
    "arrow_duplicates",
    "arrow_rows",
    "block_training",
    "code_files",
    "dedup_forecast",
    "dedup_summary",
    "deduplication",
    "default_model",
    "index_rows",
    "memory_limit",
    "predictions",
    "similarity",
    "sorted_runs",
    "spooled_deduplication",
    "table_index",
    "witness_rows",
]
