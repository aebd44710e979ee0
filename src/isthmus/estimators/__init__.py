"""Systems that learn from two domains, and their views as ordinary scikit-learn estimators."""

from isthmus.estimators.cca import CCA, KCCA
from isthmus.estimators.given_source import GivenSource, UnlabelledInTraining
from isthmus.estimators.mlhd import MLHD

__all__ = ["CCA", "KCCA", "MLHD", "GivenSource", "UnlabelledInTraining"]
