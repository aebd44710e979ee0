"""One loop and one result for every solver: three independent ones of LogDet problems, one of squared hinges."""

from isthmus.solvers.blocks.problem import BlockProblem
from isthmus.solvers.blocks.solver import BlockNewton
from isthmus.solvers.bregman import BregmanProjections
from isthmus.solvers.hinge import HingeNewton
from isthmus.solvers.newton import AutoNewton, DualNewton, grid_results
from isthmus.solvers.result import Callback, IterativeSolver, Point, Problem, Result, Solver, Status, TracePoint

__all__ = [
    "AutoNewton",
    "BlockNewton",
    "BlockProblem",
    "BregmanProjections",
    "Callback",
    "DualNewton",
    "HingeNewton",
    "IterativeSolver",
    "Point",
    "Problem",
    "Result",
    "Solver",
    "Status",
    "TracePoint",
    "grid_results",
]
