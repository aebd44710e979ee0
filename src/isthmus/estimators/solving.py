"""The parameters ``solver``, ``tol``, ``max_iter`` and ``progress``: the solver, and reports of its iterations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeAlias

from isthmus._arrays import FloatArray
from isthmus._progress import Progress
from isthmus._validation import choice
from isthmus.exceptions import InputError
from isthmus.solvers import AutoNewton, BlockNewton, BregmanProjections, Callback, DualNewton, Result, TracePoint
from isthmus.spaces import Space

Start: TypeAlias = Callable[..., FloatArray | None]
SOLVERS = {"newton": AutoNewton, "dual": DualNewton, "blocks": BlockNewton, "bregman": BregmanProjections}


@dataclass(frozen=True)
class Solving:
    """A solver, and the progress that each iteration is reported to."""

    solver: Any
    progress: Progress
    goal: float
    """The relative gap at which the work is done."""
    start: Start | None = None
    """Where to begin, of a problem in two spaces: multipliers, a factor of a metric, or nothing."""

    @classmethod
    def of(cls, solver: Any, progress: Any, name: str, goal: float) -> Solving:
        """Check the parameter ``progress``: False, True, or a function of a TracePoint."""
        return cls(solver, Progress(progress, name), getattr(solver, "tol", goal))

    @property
    def takes_blocks(self) -> bool:
        """Whether the solver can have a problem whose pairs are not written out."""
        return takes_blocks(self.solver)

    def result(self, problem: Any, *spaces: Space) -> Result[Any]:
        """Solve a problem; the bar, if there is one, is closed however the work ends."""
        options: dict[str, Any] = {"callback": gap_callback(self.progress, self.goal)}
        if self.start is not None and "start" in signature(self.solver.solve).parameters:
            options["start"] = self.start(problem, *spaces)
        with self.progress:
            solved: Result[Any] = self.solver.solve(problem, **options)
            return solved


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


def gap_callback(progress: Progress, goal: float) -> Callback | None:
    """Return a callback that reports how far the certified gap is from its goal; None where nobody listens.

    The fraction of the work is that of the powers of ten between the first finite gap and the goal: the time left is
    that of a gap which goes on falling at the same rate. Newton steps end sooner.
    """
    first: float | None = None

    def report(point: TracePoint) -> None:
        nonlocal first
        gap, fraction = point.relative_gap, 0.0
        if 0.0 < gap < math.inf:
            first = first or gap
            fallen, whole = math.log(first / gap), math.log(first / goal) if goal > 0.0 else math.inf
            fraction = min(1.0, max(0.0, fallen / whole)) if whole > 0.0 else 1.0
        text = f"iteration {point.iteration}, certified gap {gap:.1e} (goal {goal:.0e})"
        progress.report(text, fraction, point)

    return report if progress.active else None
