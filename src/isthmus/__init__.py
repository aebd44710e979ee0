"""isthmus: one metric across two collections that are described by different features."""

from isthmus._version import __version__
from isthmus.discrepancy import MMDTest, mmd, mmd_test
from isthmus.estimators import (
    ARC,
    CCA,
    ITML,
    KCCA,
    MLHD,
    Corrupted,
    GivenSource,
    Saenko,
    SelfTrainedLDA,
    TargetOnly,
    UnlabelledInTraining,
    noise_source,
    permuted_source,
    renamed_source,
)
from isthmus.exceptions import (
    ConvergenceWarning,
    InputError,
    IsthmusError,
    MissingDependencyError,
    NotConvergedError,
)
from isthmus.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Polynomial, Precomputed
from isthmus.metric import CrossDomainMetric
from isthmus.registry import System, Systems, systems

__all__ = [
    "ARC",
    "CCA",
    "ITML",
    "KCCA",
    "MLHD",
    "RBF",
    "ConvergenceWarning",
    "Corrupted",
    "Cosine",
    "CrossDomainMetric",
    "GivenSource",
    "InputError",
    "IsthmusError",
    "Kernel",
    "Laplacian",
    "Linear",
    "MMDTest",
    "MissingDependencyError",
    "NotConvergedError",
    "Polynomial",
    "Precomputed",
    "Saenko",
    "SelfTrainedLDA",
    "System",
    "Systems",
    "TargetOnly",
    "UnlabelledInTraining",
    "__version__",
    "mmd",
    "mmd_test",
    "noise_source",
    "permuted_source",
    "renamed_source",
    "systems",
]
