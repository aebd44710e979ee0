"""Maps between the features of two domains, from rows that are the same object: arrays in, values out."""

from isthmus.maps.affine import AffineMap
from isthmus.maps.canonical import CanonicalDirections, PairedRows
from isthmus.maps.eigen import CoupledProblem, JointDirections, JointProblem
from isthmus.maps.kernel_ridge import KernelMap, kernel_ridge
from isthmus.maps.low_rank import LowRankFit, low_rank
from isthmus.maps.procrustes import ProcrustesFit, procrustes
from isthmus.maps.ridge import PENALTIES, RidgeFit, ridge
from isthmus.maps.shared import SharedCoordinates

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
    "kernel_ridge",
    "low_rank",
    "procrustes",
    "ridge",
]
