"""Two collections of rows: what the user gave, checked, with labels as codes and known pairs as row numbers."""

from isthmus.domains.labels import UNLABELLED, as_labels, encoded, encoded_classes, is_unlabelled
from isthmus.domains.pairs import KnownPairs, as_pairs
from isthmus.domains.two import Domain, SharedFeatures, Split, TwoDomains

__all__ = [
    "UNLABELLED",
    "Domain",
    "KnownPairs",
    "SharedFeatures",
    "Split",
    "TwoDomains",
    "as_labels",
    "as_pairs",
    "encoded",
    "encoded_classes",
    "is_unlabelled",
]
