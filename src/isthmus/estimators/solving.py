"""The parameters ``solver``, ``tol``, ``max_iter`` and ``progress``: who solves, and who is told how far it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeAlias

from isthmus._arrays import FloatArray
from isthmus._progress import ProgressLine, asked_for, left
from isthmus._validation import choice
from isthmus.exceptions import InputError
from isthmus.solvers import AutoNewton, BlockNewton, BregmanProjections, Callback, DualNewton, Result, TracePoint
from isthmus.spaces import Space

Start: TypeAlias = Callable[..., FloatArray | None]
SOLVERS = {"newton": AutoNewton, "dual": DualNewton, "blocks": BlockNewton, "bregman": BregmanProjections}


@dataclass(frozen=True)
class Solving:
    """A solver, and who is told of each iteration."""

    solver: Any
    callback: Callback | None
    start: Start | None = None
    """Where to begin, of a problem in two spaces: multipliers, a factor of a metric, or nothing."""

    @classmethod
    def of(cls, solver: Any, progress: Any, name: str, goal: float) -> Solving:
        """With the callback of the parameter ``progress``: False, True, or a function of a TracePoint."""
        return cls(solver, asked_for(progress, lambda: GapLine(name, getattr(solver, "tol", goal)), None))

    @property
    def takes_blocks(self) -> bool:
        """Whether the solver can have a problem whose pairs are not written out."""
        return takes_blocks(self.solver)

    def result(self, problem: Any, *spaces: Space) -> Result[Any]:
        """The solved problem; the line of progress, if there is one, ends however the work ends."""
        options: dict[str, Any] = {"callback": self.callback}
        if self.start is not None and "start" in signature(self.solver.solve).parameters:
            options["start"] = self.start(problem, *spaces)
        try:
            solved: Result[Any] = self.solver.solve(problem, **options)
            return solved
        finally:
            if isinstance(self.callback, GapLine):
                self.callback.end()


def takes_blocks(solver: Any) -> bool:
    """Return whether a solver, or the solver of that name, can have a problem whose pairs are not written out."""
    kind = SOLVERS[solver] if isinstance(solver, str) else type(solver)
    return issubclass(kind, AutoNewton | BlockNewton)


def as_solver(solver: Any, tol: Any, max_iter: Any) -> Any:
    """A word with a tolerance and a limit, or an object that brings its own."""
    if isinstance(solver, str):
        return SOLVERS[choice(solver, "solver", SOLVERS)](tol=tol, max_iter=max_iter)
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise InputError(
            f'solver: expected "newton", "dual", "blocks", "bregman" or an object with solve(), got {solver!r}.'
        )
    return solver


class GapLine(ProgressLine):
    """A callback that shows how far the certified gap is from its goal."""

    def __init__(self, name: str, goal: float) -> None:
        super().__init__(name)
        self.goal = goal
        self._first: TracePoint | None = None

    def __call__(self, point: TracePoint) -> None:
        """Show one iteration; of a log, the first and the last always."""
        line = (
            f"{self.name}: iteration {point.iteration:>3}, certified gap {point.relative_gap:.1e} "
            f"(goal {self.goal:.0e}), {point.seconds:.1f} s{self._left(point)}"
        )
        self.show(line, point.seconds, always=point.iteration == 0 or point.relative_gap <= self.goal)

    def _left(self, point: TracePoint) -> str:
        """The time left if the gap goes on falling by the same factor per second: Newton steps end sooner."""
        if not 0.0 < point.relative_gap < math.inf:
            return ""
        first = self._first = self._first or point
        fallen, whole = (math.log(first.relative_gap / gap) for gap in (point.relative_gap, self.goal or math.nan))
        return left(fallen / whole if whole > 0.0 else 0.0, point.seconds - first.seconds)
