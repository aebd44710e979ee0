"""Systems that learn a classifier, or a ranking, of the target: there is no space in which both domains meet."""

from isthmus.estimators.classifiers.hcdrank import HCDRank
from isthmus.estimators.classifiers.hfa import HFA
from isthmus.estimators.classifiers.kpg import KPGRL
from isthmus.estimators.classifiers.tlrisk import TLRisk

__all__ = ["HFA", "KPGRL", "HCDRank", "TLRisk"]
