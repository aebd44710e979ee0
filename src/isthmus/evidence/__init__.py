"""Scores, held-out measurements, comparisons and controls: the evidence behind an answer."""

from isthmus.evidence.comparison import Difference, holm, paired_difference
from isthmus.evidence.held_out import Answer, measure_shared_recall, search_held_out_pairs
from isthmus.evidence.scores import (
    ClassScores,
    accuracy,
    foscttm,
    mean_average_precision,
    precision_at_k,
    score_classes,
)

__all__ = [
    "Answer",
    "ClassScores",
    "Difference",
    "accuracy",
    "foscttm",
    "holm",
    "mean_average_precision",
    "measure_shared_recall",
    "paired_difference",
    "precision_at_k",
    "score_classes",
    "search_held_out_pairs",
]
