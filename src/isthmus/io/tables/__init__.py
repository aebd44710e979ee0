"""Tables: read a file, plan what its columns are, turn them into features, write answers.

``read_table`` (``RowBlocks`` for long files) → ``Plan.of`` → ``Features.fit``, ``transform`` → ``write_table``
(``write_blocks`` for long files).
"""

from isthmus.io.tables.features import Features
from isthmus.io.tables.plan import Column, Plan, read_ids, read_labels, read_pairs
from isthmus.io.tables.read import read_table
from isthmus.io.tables.stream import RowBlocks
from isthmus.io.tables.table import Table
from isthmus.io.tables.write import write_blocks, write_table

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
