"""Read tables, detect what their columns are, and turn them into features."""

from isthmus.io.tables.features import Features
from isthmus.io.tables.plan import Column, Plan, read_ids, read_labels, read_pairs
from isthmus.io.tables.read import read_table
from isthmus.io.tables.stream import RowBlocks, write_blocks, write_table
from isthmus.io.tables.table import Table

__all__ = [
    "Column",
    "Features",
    "Plan",
    "RowBlocks",
    "Table",
    "read_ids",
    "read_labels",
    "read_pairs",
    "read_table",
    "write_blocks",
    "write_table",
]
