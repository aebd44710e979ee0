"""The convex problem, in arrays only: rows, pairs of rows, alignment rows; primal, dual and gap.

Nothing here knows which domain, kernel or file a row came from.
"""

from isthmus.objective.pairs import Alignment, Pairs
from isthmus.objective.point import DualPoint
from isthmus.objective.problem import LogDetProblem

__all__ = ["Alignment", "DualPoint", "LogDetProblem", "Pairs"]
