"""isthmus: one metric across two collections that are described by different features."""

from isthmus._version import __version__
from isthmus.common_space import CommonSpace
from isthmus.discrepancy import mmd, mmd_test
from isthmus.estimators import (
    ARC,
    CCA,
    ITML,
    KCCA,
    MLHD,
    Saenko,
)
from isthmus.exceptions import (
    ConvergenceWarning,
    InputError,
    IsthmusError,
    MissingDependencyError,
    NotConvergedError,
)
from isthmus.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Polynomial, Precomputed
from isthmus.registry import systems

__all__ = [
    "ARC",
    "CCA",
    "ITML",
    "KCCA",
    "MLHD",
    "RBF",
    "CommonSpace",
    "ConvergenceWarning",
    "Cosine",
    "InputError",
    "IsthmusError",
    "Kernel",
    "Laplacian",
    "Linear",
    "MissingDependencyError",
    "NotConvergedError",
    "Polynomial",
    "Precomputed",
    "Saenko",
    "__version__",
    "mmd",
    "mmd_test",
    "systems",
]
