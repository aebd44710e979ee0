"""Systems that learn from two domains, the controls they are measured by, and views for scikit-learn."""

from isthmus.estimators.arc import ARC
from isthmus.estimators.cca import CCA, KCCA
from isthmus.estimators.controls import (
    Corrupted,
    SelfTrainedLDA,
    TargetOnly,
    noise_source,
    permuted_source,
    renamed_source,
)
from isthmus.estimators.given_source import GivenSource, UnlabelledInTraining
from isthmus.estimators.itml import ITML
from isthmus.estimators.mlhd import MLHD
from isthmus.estimators.saenko import Saenko

__all__ = [
    "ARC",
    "CCA",
    "ITML",
    "KCCA",
    "MLHD",
    "Corrupted",
    "GivenSource",
    "Saenko",
    "SelfTrainedLDA",
    "TargetOnly",
    "UnlabelledInTraining",
    "noise_source",
    "permuted_source",
    "renamed_source",
]
