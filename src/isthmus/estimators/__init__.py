"""Systems that learn from two domains, and views of them for scikit-learn."""

from isthmus.estimators.arc import ARC
from isthmus.estimators.augmentation import FeatureAugmentation
from isthmus.estimators.cdls import CDLS
from isthmus.estimators.classifiers import HFA, KPGRL, HCDRank, TLRisk
from isthmus.estimators.given_source import GivenSource
from isthmus.estimators.logdet.itml import ITML
from isthmus.estimators.logdet.mlhd import MLHD
from isthmus.estimators.logdet.saenko import Saenko
from isthmus.estimators.logdet.weight_path import weight_path
from isthmus.estimators.logdet.weight_search import WeightSearch
from isthmus.estimators.maps import Procrustes, PulledBackMetric, RelativeRepresentations, RidgeMap
from isthmus.estimators.projections.alignment import ManifoldAlignment
from isthmus.estimators.projections.cca import CCA, KCCA
from isthmus.estimators.projections.cdspp import CDSPP
from isthmus.estimators.projections.dama import DAMA
from isthmus.estimators.projections.hemap import HeMap
from isthmus.estimators.projections.mtda import MTDA
from isthmus.estimators.transport import COOT, FGW, GW

__all__ = [
    "ARC",
    "CCA",
    "CDLS",
    "CDSPP",
    "COOT",
    "DAMA",
    "FGW",
    "GW",
    "HFA",
    "ITML",
    "KCCA",
    "KPGRL",
    "MLHD",
    "MTDA",
    "FeatureAugmentation",
    "GivenSource",
    "HCDRank",
    "HeMap",
    "ManifoldAlignment",
    "Procrustes",
    "PulledBackMetric",
    "RelativeRepresentations",
    "RidgeMap",
    "Saenko",
    "TLRisk",
    "WeightSearch",
    "weight_path",
]
