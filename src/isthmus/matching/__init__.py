"""Which rows of two collections are the same object: with few known pairs, or none."""

from isthmus.matching.match import match
from isthmus.matching.matching import Matching
from isthmus.matching.verdict import Evidence

__all__ = ["Evidence", "Matching", "match"]
