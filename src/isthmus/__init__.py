"""isthmus: one metric across two collections that are described by different features.

Names and subpackages are loaded on first use, so that ``import isthmus`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isthmus._version import __version__
from isthmus.exceptions import (
    ConvergenceWarning,
    DataWarning,
    InputError,
    IsthmusError,
    MissingDependencyError,
    NotConvergedError,
)

if TYPE_CHECKING:
    from isthmus.data.domains import KnownPairs
    from isthmus.estimators.arc import ARC
    from isthmus.estimators.augmentation import FeatureAugmentation
    from isthmus.estimators.cca import CCA, KCCA
    from isthmus.estimators.cdls import CDLS
    from isthmus.estimators.eigenmaps import CDSPP, DAMA, MTDA
    from isthmus.estimators.hcdrank import HCDRank
    from isthmus.estimators.hemap import HeMap
    from isthmus.estimators.hfa import HFA
    from isthmus.estimators.itml import ITML
    from isthmus.estimators.kpg import KPGRL
    from isthmus.estimators.manifold_alignment import ManifoldAlignment
    from isthmus.estimators.mlhd import MLHD
    from isthmus.estimators.paired_maps import Procrustes, PulledBackMetric, RelativeRepresentations, RidgeMap
    from isthmus.estimators.saenko import Saenko
    from isthmus.estimators.tlrisk import TLRisk
    from isthmus.estimators.transport import COOT, FGW, GW
    from isthmus.estimators.weight_path import WeightSearch, weight_path
    from isthmus.geometry.common_space import CommonSpace
    from isthmus.geometry.discrepancy import mmd, mmd_test
    from isthmus.geometry.kernels import RBF, Cosine, Kernel, Landmarks, Laplacian, Linear, Polynomial, Precomputed
    from isthmus.io.model_file import load, save
    from isthmus.io.onnx import to_onnx
    from isthmus.retrieval.index import Index, Matches
    from isthmus.study.registry import systems
    from isthmus.study.source_value.result import Verdict, does_source_help
    from isthmus.tasks.matching.result import Matching, match
    from isthmus.tasks.migration.result import Adapter, migrate
    from isthmus.tasks.transfer.result import LabelTransfer
    from isthmus.tasks.transfer.semantic import SemanticMatching

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
    "RBF",
    "Adapter",
    "CommonSpace",
    "ConvergenceWarning",
    "Cosine",
    "DataWarning",
    "FeatureAugmentation",
    "HCDRank",
    "HeMap",
    "Index",
    "InputError",
    "IsthmusError",
    "Kernel",
    "KnownPairs",
    "LabelTransfer",
    "Landmarks",
    "Laplacian",
    "Linear",
    "ManifoldAlignment",
    "Matches",
    "Matching",
    "MissingDependencyError",
    "NotConvergedError",
    "Polynomial",
    "Precomputed",
    "Procrustes",
    "PulledBackMetric",
    "RelativeRepresentations",
    "RidgeMap",
    "Saenko",
    "SemanticMatching",
    "TLRisk",
    "Verdict",
    "WeightSearch",
    "__version__",
    "does_source_help",
    "load",
    "match",
    "migrate",
    "mmd",
    "mmd_test",
    "save",
    "systems",
    "to_onnx",
    "weight_path",
]

_NAMES = {
    "data.domains": ("KnownPairs",),
    "estimators.arc": ("ARC",),
    "estimators.augmentation": ("FeatureAugmentation",),
    "estimators.cca": (
        "CCA",
        "KCCA",
    ),
    "estimators.cdls": ("CDLS",),
    "estimators.eigenmaps": (
        "CDSPP",
        "DAMA",
        "MTDA",
    ),
    "estimators.hcdrank": ("HCDRank",),
    "estimators.hemap": ("HeMap",),
    "estimators.hfa": ("HFA",),
    "estimators.itml": ("ITML",),
    "estimators.kpg": ("KPGRL",),
    "estimators.manifold_alignment": ("ManifoldAlignment",),
    "estimators.mlhd": ("MLHD",),
    "estimators.paired_maps": (
        "Procrustes",
        "PulledBackMetric",
        "RelativeRepresentations",
        "RidgeMap",
    ),
    "estimators.saenko": ("Saenko",),
    "estimators.tlrisk": ("TLRisk",),
    "estimators.transport": (
        "COOT",
        "FGW",
        "GW",
    ),
    "estimators.weight_path": (
        "WeightSearch",
        "weight_path",
    ),
    "geometry.common_space": ("CommonSpace",),
    "geometry.discrepancy": (
        "mmd",
        "mmd_test",
    ),
    "geometry.kernels": (
        "RBF",
        "Cosine",
        "Kernel",
        "Landmarks",
        "Laplacian",
        "Linear",
        "Polynomial",
        "Precomputed",
    ),
    "io.model_file": (
        "load",
        "save",
    ),
    "io.onnx": ("to_onnx",),
    "retrieval.index": (
        "Index",
        "Matches",
    ),
    "study.registry": ("systems",),
    "study.source_value.result": (
        "Verdict",
        "does_source_help",
    ),
    "tasks.matching.result": (
        "Matching",
        "match",
    ),
    "tasks.migration.result": (
        "Adapter",
        "migrate",
    ),
    "tasks.transfer.result": ("LabelTransfer",),
    "tasks.transfer.semantic": ("SemanticMatching",),
}
_PACKAGES = frozenset(
    {"data", "estimators", "evidence", "geometry", "io", "maps", "retrieval", "solvers", "study", "tasks", "view"}
)
_HOMES = {name: f"isthmus.{module}" for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"isthmus.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
