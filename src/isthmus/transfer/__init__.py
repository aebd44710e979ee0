"""Labels carried over from one domain to another: guesses from many sides, weighed by evidence."""

from isthmus.transfer.label_transfer import LabelTransfer
from isthmus.transfer.semantic import SemanticMatching

__all__ = ["LabelTransfer", "SemanticMatching"]
