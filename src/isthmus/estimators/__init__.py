"""Systems that learn from two domains; the list is in the order in which tables name the classes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isthmus.estimators.arc import ARC
    from isthmus.estimators.cca import CCA, KCCA
    from isthmus.estimators.cdls import CDLS
    from isthmus.estimators.correspondences import HeMap, ManifoldAlignment
    from isthmus.estimators.eigenmaps import CDSPP, DAMA, MTDA
    from isthmus.estimators.hcdrank import HCDRank
    from isthmus.estimators.hfa import HFA, FeatureAugmentation
    from isthmus.estimators.itml import ITML, Saenko
    from isthmus.estimators.mlhd import MLHD, weight_path
    from isthmus.estimators.paired_maps import Procrustes, PulledBackMetric, RelativeRepresentations, RidgeMap
    from isthmus.estimators.shared_block import SharedFeatureUnion
    from isthmus.estimators.tlrisk import TLRisk
    from isthmus.estimators.transport import COOT, FGW, GW, KPGRL

# fmt: off
__all__ = [  # noqa: RUF022
    "MLHD", "CCA", "KCCA", "ITML", "Saenko", "ARC", "RidgeMap", "Procrustes", "RelativeRepresentations", "DAMA",
    "CDSPP", "ManifoldAlignment", "MTDA", "HeMap", "TLRisk", "PulledBackMetric", "HFA", "FeatureAugmentation", "CDLS",
    "KPGRL", "HCDRank", "GW", "FGW", "COOT", "SharedFeatureUnion", "weight_path",
]
# Imported on first use: one system does not wait for the imports of the others.
_HOMES = {
    "arc": "ARC", "cca": "CCA KCCA", "cdls": "CDLS", "correspondences": "HeMap ManifoldAlignment",
    "eigenmaps": "CDSPP DAMA MTDA", "hcdrank": "HCDRank", "hfa": "HFA FeatureAugmentation", "itml": "ITML Saenko",
    "mlhd": "MLHD weight_path", "paired_maps": "Procrustes PulledBackMetric RelativeRepresentations RidgeMap",
    "shared_block": "SharedFeatureUnion", "tlrisk": "TLRisk", "transport": "COOT FGW GW KPGRL",
}
# fmt: on


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"isthmus.estimators.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
