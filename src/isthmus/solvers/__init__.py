"""Solvers of LogDet problems (dual, blocks, projections) and of squared hinges: one loop, one result for all."""

from isthmus.solvers.blocks.solver import BlockNewton
from isthmus.solvers.bregman import BregmanProjections
from isthmus.solvers.hinge import HingeNewton
from isthmus.solvers.newton import AutoNewton, DualNewton
from isthmus.solvers.result import Result, Status

__all__ = ["AutoNewton", "BlockNewton", "BregmanProjections", "DualNewton", "HingeNewton", "Result", "Status"]
