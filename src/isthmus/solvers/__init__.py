"""One loop and one result for every solver: three independent ones of LogDet problems, one of squared hinges."""

from isthmus.solvers.blocks import BlockNewton, BlockProblem
from isthmus.solvers.bregman import BregmanProjections
from isthmus.solvers.choice import AutoNewton
from isthmus.solvers.hinge import HingeNewton
from isthmus.solvers.iteration import Callback, IterativeSolver, Problem, Solver
from isthmus.solvers.newton import DualNewton
from isthmus.solvers.paths import grid_results
from isthmus.solvers.result import Point, Result, Status, TracePoint

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
