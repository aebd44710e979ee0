"""Systems that learn from two domains, and their views as ordinary scikit-learn estimators."""

from isthmus.estimators.given_source import GivenSource, UnlabelledInTraining
from isthmus.estimators.itml import ITML
from isthmus.estimators.mlhd import MLHD
from isthmus.estimators.saenko import Saenko

__all__ = ["ITML", "MLHD", "GivenSource", "Saenko", "UnlabelledInTraining"]
