"""Scores, held-out measurements, comparisons and controls: the evidence behind an answer."""

from isthmus.evidence.comparison import Difference, holm, paired_difference
from isthmus.evidence.scores import ClassScores, accuracy, mean_average_precision, precision_at_k, score_classes

__all__ = [
    "ClassScores",
    "Difference",
    "accuracy",
    "holm",
    "mean_average_precision",
    "paired_difference",
    "precision_at_k",
    "score_classes",
]
