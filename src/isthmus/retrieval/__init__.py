"""Search in a common space: an index of rows, its engines, and the rules by which rows name a class."""

from isthmus.retrieval.engines import Engine
from isthmus.retrieval.index import Index, Matches

__all__ = ["Engine", "Index", "Matches"]
