"""Maps between the features of two domains, from rows that are the same object: arrays in, values out."""

from isthmus.maps.canonical import CanonicalDirections, PairedRows
from isthmus.maps.eigen import CoupledProblem, JointDirections, JointProblem, SharedCoordinates
from isthmus.maps.regression import (
    PENALTIES,
    AffineMap,
    KernelMap,
    LowRankFit,
    ProcrustesFit,
    RidgeFit,
    fit_kernel_ridge,
    fit_low_rank,
    fit_procrustes,
    fit_ridge,
)

__all__ = [
    "PENALTIES",
    "AffineMap",
    "CanonicalDirections",
    "CoupledProblem",
    "JointDirections",
    "JointProblem",
    "KernelMap",
    "LowRankFit",
    "PairedRows",
    "ProcrustesFit",
    "RidgeFit",
    "SharedCoordinates",
    "fit_kernel_ridge",
    "fit_low_rank",
    "fit_procrustes",
    "fit_ridge",
]
