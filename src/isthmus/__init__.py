"""isthmus: one metric across two collections that are described by different features.

Names and subpackages are loaded on first use, so that ``import isthmus`` is fast. The systems are those that
:mod:`isthmus.estimators` lists.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isthmus._version import __version__ as __version__

if TYPE_CHECKING:  # for type checkers and editors; a test compares it with the table below
    # isort: off
    from isthmus.data.domains import KnownPairs as KnownPairs
    from isthmus.estimators import *  # noqa: F403
    from isthmus.exceptions import (
        ConvergenceWarning as ConvergenceWarning,
        DataWarning as DataWarning,
        InputError as InputError,
        IsthmusError as IsthmusError,
        MissingDependencyError as MissingDependencyError,
        NotConvergedError as NotConvergedError,
    )
    from isthmus.geometry.common_space import CommonSpace as CommonSpace
    from isthmus.geometry.kernels import (
        RBF as RBF,
        Cosine as Cosine,
        Kernel as Kernel,
        Landmarks as Landmarks,
        Laplacian as Laplacian,
        Linear as Linear,
        Polynomial as Polynomial,
        Precomputed as Precomputed,
    )
    from isthmus.io.model_file import load as load, save as save
    from isthmus.io.onnx import to_onnx as to_onnx
    from isthmus.retrieval.index import Index as Index, Matches as Matches
    from isthmus.study.registry import systems as systems
    from isthmus.study.source_value.result import Verdict as Verdict, does_source_help as does_source_help
    from isthmus.tasks.alignment import Alignment as Alignment, align as align
    from isthmus.tasks.matching.result import Matching as Matching, match as match
    from isthmus.tasks.matching.clusters import Clusters as Clusters, dedupe as dedupe, find_clusters as find_clusters
    from isthmus.tasks.migration.result import Adapter as Adapter, migrate as migrate
    from isthmus.tasks.questions import next_questions as next_questions
    from isthmus.tasks.transfer.result import LabelTransfer as LabelTransfer
    from isthmus.tasks.transfer.semantic import SemanticMatching as SemanticMatching
    # isort: on

_NAMES = {
    "data.domains": "KnownPairs",
    "exceptions": "ConvergenceWarning DataWarning InputError IsthmusError MissingDependencyError NotConvergedError",
    "geometry.common_space": "CommonSpace",
    "geometry.kernels": "RBF Cosine Kernel Landmarks Laplacian Linear Polynomial Precomputed",
    "io.model_file": "load save",
    "io.onnx": "to_onnx",
    "retrieval.index": "Index Matches",
    "study.registry": "systems",
    "study.source_value.result": "Verdict does_source_help",
    "tasks.alignment": "Alignment align",
    "tasks.matching.clusters": "Clusters dedupe find_clusters",
    "tasks.matching.result": "Matching match",
    "tasks.migration.result": "Adapter migrate",
    "tasks.questions": "next_questions",
    "tasks.transfer.result": "LabelTransfer",
    "tasks.transfer.semantic": "SemanticMatching",
}
_HOMES = {name: f"isthmus.{module}" for module, names in _NAMES.items() for name in names.split()}
_PACKAGES = frozenset(
    {"data", "estimators", "evidence", "geometry", "io", "maps", "retrieval", "solvers", "study", "tasks", "view"}
)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"isthmus.{name}")
    if name == "__all__":
        systems = import_module("isthmus.estimators").__all__
        return sorted(["__version__", *_HOMES, *systems])
    home = _HOMES.get(name, "isthmus.estimators")
    if name.startswith("_") or (name not in _HOMES and name not in import_module(home).__all__):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
