"""Systems that learn from two domains, and views of them for scikit-learn."""

from isthmus.estimators.arc import ARC
from isthmus.estimators.given_source import GivenSource
from isthmus.estimators.logdet.itml import ITML
from isthmus.estimators.logdet.mlhd import MLHD
from isthmus.estimators.logdet.saenko import Saenko
from isthmus.estimators.maps import Procrustes, RelativeRepresentations, RidgeMap
from isthmus.estimators.projections.cca import CCA, KCCA

__all__ = [
    "ARC",
    "CCA",
    "ITML",
    "KCCA",
    "MLHD",
    "GivenSource",
    "Procrustes",
    "RelativeRepresentations",
    "RidgeMap",
    "Saenko",
]
