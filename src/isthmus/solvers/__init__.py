"""Two independent ways to the optimum of a :class:`~isthmus.objective.LogDetProblem`, and one result type."""

from isthmus.solvers.bregman import BregmanProjections
from isthmus.solvers.iteration import Callback, Solver
from isthmus.solvers.newton import DualNewton
from isthmus.solvers.result import Result, Status, TracePoint

__all__ = [
    "BregmanProjections",
    "Callback",
    "DualNewton",
    "Result",
    "Solver",
    "Status",
    "TracePoint",
]
