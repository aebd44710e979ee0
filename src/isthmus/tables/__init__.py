"""Users' tables: files to columns, columns to features, by a plan that is chosen, shown, and open to correction.

polars reads them (extra ``tables``); it is not imported before a table needs it.
"""

from isthmus.tables.features import Features
from isthmus.tables.keys import ids_of, labels_of, read_pairs
from isthmus.tables.plan import Column, Plan
from isthmus.tables.reading import read_table
from isthmus.tables.table import Table
from isthmus.tables.writing import write_table

__all__ = ["Column", "Features", "Plan", "Table", "ids_of", "labels_of", "read_pairs", "read_table", "write_table"]
