"""Rows by the million: in arrays and memory maps, in Parquet files, on the workers of Dask."""

from isthmus.scale.dask_rows import QUIET, DaskRows
from isthmus.scale.kinds import as_rows, is_dask, is_rows
from isthmus.solvers.blocks import ArrayRows, Rows, Share

__all__ = ["QUIET", "ArrayRows", "DaskRows", "Rows", "Share", "as_rows", "is_dask", "is_rows"]
