"""How systems are compared: split protocols, scores, and differences over the same splits."""

from isthmus.evaluation.comparison import Difference, holm, paired_difference
from isthmus.evaluation.protocols import Protocol
from isthmus.evaluation.scores import (
    ClassScores,
    accuracy,
    mean_average_precision,
    precision_at_k,
    score_classes,
)
from isthmus.evaluation.semi_supervised import SemiSupervisedSplit

__all__ = [
    "ClassScores",
    "Difference",
    "Protocol",
    "SemiSupervisedSplit",
    "accuracy",
    "holm",
    "mean_average_precision",
    "paired_difference",
    "precision_at_k",
    "score_classes",
]
