"""Rows by the million: in arrays and memory maps, in Parquet files, on the workers of Dask."""

from isthmus._rows import ArrayRows, Rows, Share
from isthmus.domains.blocks import QUIET, DaskRows

__all__ = ["QUIET", "ArrayRows", "DaskRows", "Rows", "Share"]
