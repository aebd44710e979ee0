"""How systems are compared: split protocols, scores, and differences over the same splits."""

from isthmus.evaluation.comparison import Difference, compared, holm, paired_difference
from isthmus.evaluation.protocols import OFFICE, REUTERS, Protocol
from isthmus.evaluation.scores import accuracy, mean_average_precision, precision_at_k
from isthmus.evaluation.semi_supervised import SemiSupervisedSplit

__all__ = [
    "OFFICE",
    "REUTERS",
    "Difference",
    "Protocol",
    "SemiSupervisedSplit",
    "accuracy",
    "compared",
    "holm",
    "mean_average_precision",
    "paired_difference",
    "precision_at_k",
]
