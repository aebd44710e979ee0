"""Systems that learn from two domains, and views of them for scikit-learn."""

from isthmus.estimators.arc import ARC
from isthmus.estimators.cca import CCA, KCCA
from isthmus.estimators.given_source import GivenSource
from isthmus.estimators.itml import ITML
from isthmus.estimators.mlhd import MLHD
from isthmus.estimators.saenko import Saenko

__all__ = [
    "ARC",
    "CCA",
    "ITML",
    "KCCA",
    "MLHD",
    "GivenSource",
    "Saenko",
]
