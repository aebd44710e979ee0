"""isthmus: one metric across two collections that are described by different features."""

from isthmus._version import __version__
from isthmus.discrepancy import MMDTest, mmd, mmd_test
from isthmus.estimators import CCA, KCCA, MLHD, GivenSource, UnlabelledInTraining
from isthmus.exceptions import (
    ConvergenceWarning,
    InputError,
    IsthmusError,
    MissingDependencyError,
    NotConvergedError,
)
from isthmus.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Polynomial, Precomputed
from isthmus.metric import CrossDomainMetric

__all__ = [
    "CCA",
    "KCCA",
    "MLHD",
    "RBF",
    "ConvergenceWarning",
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
    "UnlabelledInTraining",
    "__version__",
    "mmd",
    "mmd_test",
]
