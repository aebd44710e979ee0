"""Users' tables: files to columns, columns to features, by a plan that is chosen, shown, and open to correction.

polars reads them (extra ``tables``); it is not imported before a table needs it.
"""

from isthmus.tables.features import Features
from isthmus.tables.keys import IdsSoFar, ids_of, labels_of, read_pairs
from isthmus.tables.plan import Column, Plan
from isthmus.tables.reading import read_table
from isthmus.tables.streaming import RowBlocks
from isthmus.tables.table import Table
from isthmus.tables.writing import write_blocks, write_table

__all__ = [
    "Column",
    "Features",
    "IdsSoFar",
    "Plan",
    "RowBlocks",
    "Table",
    "ids_of",
    "labels_of",
    "read_pairs",
    "read_table",
    "write_blocks",
    "write_table",
]
