"""Systems that learn from two domains, and their views as ordinary scikit-learn estimators."""

from isthmus.estimators.arc import ARC
from isthmus.estimators.given_source import GivenSource, UnlabelledInTraining
from isthmus.estimators.mlhd import MLHD

__all__ = ["ARC", "MLHD", "GivenSource", "UnlabelledInTraining"]
from isthmus.estimators.controls import (
    Corrupted,
    SelfTrainedLDA,
    TargetOnly,
    noise_source,
    permuted_source,
    renamed_source,
)
__all__ = [
    "MLHD",
    "Corrupted",
    "GivenSource",
    "SelfTrainedLDA",
    "TargetOnly",
    "UnlabelledInTraining",
    "noise_source",
    "permuted_source",
    "renamed_source",
]
