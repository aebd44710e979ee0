"""Labels carried over from one domain to another: guesses from many sides, weighed by evidence."""

from isthmus.transfer.semantic import SemanticMatching

__all__ = ["SemanticMatching"]
