"""Solvers over blocks of source rows, for hundreds of rows to millions: of the primal in M, and of squared hinges."""

from isthmus._core.rows import ArrayRows, Rows, Share
from isthmus.solvers.blocks.curvature import BlockHingeNewton, HingeBlocks
from isthmus.solvers.blocks.problem import BlockProblem, as_blocks
from isthmus.solvers.blocks.solver import BlockNewton, MetricPoint

__all__ = [
    "ArrayRows",
    "BlockHingeNewton",
    "BlockNewton",
    "BlockProblem",
    "HingeBlocks",
    "MetricPoint",
    "Rows",
    "Share",
    "as_blocks",
]
