"""isthmus: one metric across two collections that are described by different features.

Names and modules are loaded on first use: ``import isthmus`` costs next to nothing.
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
    from isthmus.common_space import CommonSpace
    from isthmus.discrepancy import mmd, mmd_test
    from isthmus.domains import KnownPairs
    from isthmus.estimators import (
        ARC,
        CCA,
        CDLS,
        CDSPP,
        COOT,
        DAMA,
        FGW,
        GW,
        HFA,
        ITML,
        KCCA,
        KPGRL,
        MLHD,
        MTDA,
        FeatureAugmentation,
        HCDRank,
        HeMap,
        ManifoldAlignment,
        Procrustes,
        PulledBackMetric,
        RelativeRepresentations,
        RidgeMap,
        Saenko,
        TLRisk,
        WeightSearch,
        weight_path,
    )
    from isthmus.files import load, save, to_onnx
    from isthmus.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Polynomial, Precomputed
    from isthmus.landmarks import Landmarks
    from isthmus.matching import Matching, match
    from isthmus.migration import Adapter, migrate
    from isthmus.registry import systems
    from isthmus.retrieval import Index, Matches
    from isthmus.transfer import LabelTransfer, SemanticMatching
    from isthmus.verdict import Verdict, does_source_help

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
    "common_space": ("CommonSpace",),
    "discrepancy": ("mmd", "mmd_test"),
    "domains": ("KnownPairs",),
    "estimators": (
        *("ARC", "CCA", "ITML", "KCCA", "MLHD", "Saenko", "WeightSearch", "weight_path"),
        *("Procrustes", "PulledBackMetric", "RelativeRepresentations", "RidgeMap"),
        *("CDLS", "COOT", "FGW", "GW", "HFA", "KPGRL", "FeatureAugmentation", "HCDRank", "TLRisk"),
        *("CDSPP", "DAMA", "MTDA", "HeMap", "ManifoldAlignment"),
    ),
    "files": ("load", "save", "to_onnx"),
    "kernels": ("RBF", "Cosine", "Kernel", "Laplacian", "Linear", "Polynomial", "Precomputed"),
    "landmarks": ("Landmarks",),
    "matching": ("Matching", "match"),
    "migration": ("Adapter", "migrate"),
    "registry": ("systems",),
    "retrieval": ("Index", "Matches"),
    "transfer": ("LabelTransfer", "SemanticMatching"),
    "verdict": ("Verdict", "does_source_help"),
}
_MODULES = frozenset(
    {"anndata", "controls", "datasets", "evaluation", "plotting", "scale", "solvers", "study", "tables"}
)
_HOMES = {name: f"isthmus.{module}" for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"isthmus.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
