"""The block Newton solver: the primal in M over blocks of source rows, for hundreds of rows to millions."""

from isthmus.solvers.blocks.problem import BlockProblem, as_blocks
from isthmus.solvers.blocks.rows import ArrayRows, Rows, Share
from isthmus.solvers.blocks.solver import BlockNewton, MetricPoint

__all__ = ["ArrayRows", "BlockNewton", "BlockProblem", "MetricPoint", "Rows", "Share", "as_blocks"]
