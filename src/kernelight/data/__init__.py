"""Data sets from files, standard input and names, as matrices or in batches.

`open_dataset` recognises the format, learns what becomes of each column (`Encoding`), and gives a
`Dataset`. What is wrong with data is a `DataError`: one sentence with the file, the place and what
was found. `replacing` writes files all or nothing.
"""

from kernelight.base.files import replacing
from kernelight.data import (
    columnar,
    decoding,
    dialect,
    frames,
    supervision,
    table_source,
    tasks,
    texts,
)
from kernelight.data.batches import Batch
from kernelight.data.dataset import Dataset
from kernelight.data.encoding import CLASSIFICATION, REGRESSION, Encoding
from kernelight.data.errors import DataError, DataWarning
from kernelight.data.opening import open_dataset

__all__ = [
    "CLASSIFICATION",
    "REGRESSION",
    "Batch",
    "DataError",
    "DataWarning",
    "Dataset",
    "Encoding",
    "columnar",
    "decoding",
    "dialect",
    "frames",
    "open_dataset",
    "replacing",
    "supervision",
    "table_source",
    "tasks",
    "texts",
]
