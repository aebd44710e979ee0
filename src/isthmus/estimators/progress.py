"""Progress of a fit, on one line of the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from isthmus.exceptions import InputError
from isthmus.solvers import Callback, TracePoint


class ProgressLine:
    """A callback that keeps one line of standard error up to date."""

    def __init__(self, name: str, goal: float) -> None:
        self.name, self.goal = name, goal

    def __call__(self, point: TracePoint) -> None:
        """Show how far the gap is from its goal."""
        done = point.relative_gap <= self.goal
        sys.stderr.write(
            f"\r{self.name}: iteration {point.iteration:>4}, certified gap {point.relative_gap:.1e} "
            f"(goal {self.goal:.0e}), {point.seconds:.1f} s" + ("\n" if done else "")
        )
        sys.stderr.flush()


def as_callback(progress: Any, name: str, goal: float) -> Callback | None:
    """The callback of the parameter ``progress``: False, True, or a function of a TracePoint."""
    if isinstance(progress, bool):
        return ProgressLine(name, goal) if progress else None
    if isinstance(progress, Callable):  # type: ignore[arg-type]
        return progress  # type: ignore[no-any-return]
    raise InputError(f"progress: expected True, False or a function, got {progress!r}.")
