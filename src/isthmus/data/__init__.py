"""Two collections of rows: labels, known pairs, blocks of rows, splits and data sets."""

from isthmus._core.rows import ArrayRows, Rows
from isthmus._core.validation import UNLABELLED
from isthmus.data.blocks import DaskRows
from isthmus.data.datasets import DomainPair, load_digits, shape_features
from isthmus.data.domains import Domain, KnownPairs, SharedFeatures, Split, TwoDomains
from isthmus.data.splits import Protocol, SemiSupervisedSplit

__all__ = [
    "UNLABELLED",
    "ArrayRows",
    "DaskRows",
    "Domain",
    "DomainPair",
    "KnownPairs",
    "Protocol",
    "Rows",
    "SemiSupervisedSplit",
    "SharedFeatures",
    "Split",
    "TwoDomains",
    "load_digits",
    "shape_features",
]
