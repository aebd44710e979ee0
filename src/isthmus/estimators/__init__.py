"""Systems that learn from two domains, and views of them for scikit-learn."""

from isthmus.estimators.arc import ARC
from isthmus.estimators.given_source import GivenSource
from isthmus.estimators.logdet.itml import ITML
from isthmus.estimators.logdet.mlhd import MLHD
from isthmus.estimators.logdet.saenko import Saenko
from isthmus.estimators.maps import Procrustes, RelativeRepresentations, RidgeMap
from isthmus.estimators.projections.alignment import ManifoldAlignment
from isthmus.estimators.projections.cca import CCA, KCCA
from isthmus.estimators.projections.cdspp import CDSPP
from isthmus.estimators.projections.dama import DAMA
from isthmus.estimators.projections.hemap import HeMap
from isthmus.estimators.projections.mtda import MTDA

__all__ = [
    "ARC",
    "CCA",
    "CDSPP",
    "DAMA",
    "ITML",
    "KCCA",
    "MLHD",
    "MTDA",
    "GivenSource",
    "HeMap",
    "ManifoldAlignment",
    "Procrustes",
    "RelativeRepresentations",
    "RidgeMap",
    "Saenko",
]
