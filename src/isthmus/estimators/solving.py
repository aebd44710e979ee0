"""The parameters ``solver``, ``tol``, ``max_iter`` and ``progress``: who solves, and who is told how far it is."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from isthmus._arrays import FloatArray
from isthmus._validation import choice
from isthmus.exceptions import InputError
from isthmus.solvers import AutoNewton, BlockNewton, BregmanProjections, Callback, DualNewton, Result, TracePoint
from isthmus.spaces import Space

Start: TypeAlias = Callable[..., FloatArray | None]
SOLVERS = {"newton": AutoNewton, "dual": DualNewton, "blocks": BlockNewton, "bregman": BregmanProjections}
SECONDS_BETWEEN_LINES = 5.0
"""How often a log, which can't take a line back, gets a new one."""


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
        if isinstance(progress, bool):
            return cls(solver, ProgressLine(name, getattr(solver, "tol", goal)) if progress else None)
        if not callable(progress):
            raise InputError(f"progress: expected True, False or a function, got {progress!r}.")
        return cls(solver, progress)

    @property
    def takes_blocks(self) -> bool:
        """Whether the solver can have a problem whose pairs are not written out."""
        return isinstance(self.solver, AutoNewton | BlockNewton)

    def result(self, problem: Any, *spaces: Space) -> Result[Any]:
        """The solved problem; the line of progress, if there is one, ends however the work ends."""
        start = None if self.start is None else self.start(problem, *spaces)
        try:
            solved: Result[Any] = self.solver.solve(
                problem, callback=self.callback, **({} if start is None else {"start": start})
            )
            return solved
        finally:
            if isinstance(self.callback, ProgressLine):
                self.callback.close()


def as_solver(solver: Any, tol: Any, max_iter: Any) -> Any:
    """A word with a tolerance and a limit, or an object that brings its own."""
    if isinstance(solver, str):
        return SOLVERS[choice(solver, "solver", SOLVERS)](tol=tol, max_iter=max_iter)
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise InputError(
            f'solver: expected "newton", "dual", "blocks", "bregman" or an object with solve(), got {solver!r}.'
        )
    return solver


class ProgressLine:
    """A callback that keeps one line of a terminal up to date, or adds a line to a log now and then."""

    def __init__(self, name: str, goal: float) -> None:
        self.name, self.goal, self._shown, self._open = name, goal, -SECONDS_BETWEEN_LINES, False
        self._first: TracePoint | None = None

    def __call__(self, point: TracePoint) -> None:
        """Show how far the gap is from its goal."""
        line = (
            f"{self.name}: iteration {point.iteration:>3}, certified gap {point.relative_gap:.1e} "
            f"(goal {self.goal:.0e}), {point.seconds:.1f} s{self._left(point)}"
        )
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{line}")
            self._open = True
        elif point.relative_gap <= self.goal or point.seconds - self._shown >= SECONDS_BETWEEN_LINES:
            sys.stderr.write(f"{line}\n")
            self._shown = point.seconds
        sys.stderr.flush()

    def _left(self, point: TracePoint) -> str:
        """The time left if the gap goes on falling by the same factor per second: Newton steps end sooner."""
        if not 0.0 < point.relative_gap < math.inf:
            return ""
        first = self._first = self._first or point
        fallen = math.log(first.relative_gap / point.relative_gap)
        if fallen <= 0.0 or not 0.0 < self.goal < point.relative_gap:
            return ""
        left = (point.seconds - first.seconds) * math.log(point.relative_gap / self.goal) / fallen
        return f", about {left:.0f} s left" if left >= 1.0 else ""

    def close(self) -> None:
        """End the line."""
        if self._open:
            sys.stderr.write("\n")
            self._open = False
