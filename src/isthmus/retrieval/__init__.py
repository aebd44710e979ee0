"""Search in a common space: an index of rows, its engines, and the rules by which rows name a class."""

from isthmus.retrieval.engines import HNSW, IVF, Exact, Flat
from isthmus.retrieval.index import Index, Matches

__all__ = ["HNSW", "IVF", "Exact", "Flat", "Index", "Matches"]
