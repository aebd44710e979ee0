"""What a solver returns: a value that can defend itself."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.exceptions import NotConvergedError
from isthmus.objective.point import Compact


class Point(Protocol):
    """What the loop and the result need of an iterate, whatever it keeps to answer. A copy is what is kept of it."""

    @property
    def problem(self) -> Any:
        """Whose point it is; its ``value(W)`` is the objective at what :meth:`components` hands over."""

    @property
    def primal(self) -> float:
        """The objective here."""

    @property
    def dual(self) -> float:
        """A lower bound of the objective everywhere."""

    @property
    def gap(self) -> float:
        """Primal less dual, with all the digits that it has."""

    @property
    def scale(self) -> float:
        """The unit of a relative gap."""

    def components(self) -> FloatArray:
        """The matrix that is handed over."""


PointT = TypeVar("PointT", bound=Point)


class Status(Enum):
    """Why a solver stopped."""

    OPTIMAL = "optimal"
    ITERATION_LIMIT = "iteration limit"
    STALLED = "stalled"
    INEXACT = "inexact"
    """The iterate closed the gap, but the matrix that is handed over does not: digits were lost on the way."""


def relative_gap(gap: float, scale: float) -> float:
    """A gap in its unit: infinite where there is none, zero where there is nothing to lose."""
    if not np.isfinite(gap) or not np.isfinite(scale):
        return np.inf
    return gap / scale if gap else 0.0


@dataclass(frozen=True)
class TracePoint:
    """One iteration: both values, their gap in units of the objective, and the seconds since the start."""

    iteration: int
    primal: float
    dual: float
    relative_gap: float
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class Result(Compact, Generic[PointT]):
    """The best point that a solver found, and a certificate for the matrix that is handed over.

    What is measured is the matrix that the caller gets, not the iterate in the solver's own coordinates, so digits
    that are lost on the way count. Where a metric is so nearly singular that W Wᵀ is not definite in doubles,
    :attr:`primal` is infinite and nothing is certified, although W itself may be as good as ever.
    """

    point: PointT
    status: Status
    """Why the solver stopped."""
    tolerance: float
    """The relative gap at which a solver stops."""
    trace: tuple[TracePoint, ...]
    """Every iteration, the starting point first."""
    solver: str
    """The solver's name."""

    @property
    def problem(self) -> Any:
        """What was solved."""
        return self.point.problem

    @property
    def n_iter(self) -> int:
        """The number of iterations."""
        return len(self.trace) - 1

    @cached_property
    def _components(self) -> FloatArray:
        return copy(self.point).components()  # which leaves its matrices to the garbage

    def components(self) -> FloatArray:
        """What was learned: a factor W (d, d) of a metric M = W Wᵀ, or the W of a similarity."""
        return self._components

    @cached_property
    def primal(self) -> float:
        """The objective at :meth:`matrix` (the W of a similarity), from the data."""
        return float(self.problem.value(self.components()))

    @property
    def dual(self) -> float:
        """A lower bound of the objective at every matrix, from the data."""
        return self.point.dual

    @property
    def duality_gap(self) -> float:
        """The objective is at most this far from its minimum."""
        lost = self.primal - self.point.primal
        return self.point.gap + lost if np.isfinite(lost) else np.inf

    @property
    def relative_gap(self) -> float:
        """The gap in units of the objective: f of a similarity; at least one nat for a metric."""
        return relative_gap(self.duality_gap, self.point.scale)

    @property
    def multipliers(self: Result[Any]) -> FloatArray:
        """The signed dual variables (n_pairs,), of a metric."""
        return np.asarray(self.point.multipliers)

    @property
    def distances(self: Result[Any]) -> list[FloatArray]:
        """Squared distances of all pairs under :meth:`matrix`, one array per block of pairs."""
        distances: list[FloatArray] = self.point.problem.block_distances(self.components())
        return distances

    def matrix(self: Result[Any]) -> FloatArray:
        """The metric M (d, d), positive definite."""
        W = self.components()
        return np.asarray(W @ W.T)

    def raise_for_status(self) -> None:
        """Raise :class:`~isthmus.exceptions.NotConvergedError` unless the result is optimal."""
        if self.status is not Status.OPTIMAL:
            raise NotConvergedError(str(self))

    def __str__(self) -> str:
        gap = self.relative_gap
        proof = f"relative gap {gap:.1e}" if np.isfinite(gap) else "no finite gap"
        return (
            f"{self.solver}: {self.status.value} after {self.n_iter} iterations, {self.trace[-1].seconds:.2f} s; "
            f"objective {self.primal:.6g}, {proof} (asked: {self.tolerance:.0e}), {self.problem.n_pairs} pairs"
        )

    def __repr__(self) -> str:
        return f"Result({self})"
