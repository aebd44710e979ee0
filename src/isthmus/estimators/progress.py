"""Progress of a fit, on one line of the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from isthmus.exceptions import InputError
from isthmus.solvers import Callback, TracePoint

SECONDS_BETWEEN_LINES = 5.0
"""How often a log, which can't take a line back, gets a new one."""


class ProgressLine:
    """A callback that keeps one line of a terminal up to date, or adds a line to a log now and then."""

    def __init__(self, name: str, goal: float) -> None:
        self.name, self.goal, self._shown, self._open = name, goal, -SECONDS_BETWEEN_LINES, False

    def __call__(self, point: TracePoint) -> None:
        """Show how far the gap is from its goal."""
        done = point.relative_gap <= self.goal
        line = (
            f"{self.name}: iteration {point.iteration:>3}, certified gap {point.relative_gap:.1e} "
            f"(goal {self.goal:.0e}), {point.seconds:.1f} s"
        )
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{line}")
            self._open = True
        elif done or point.seconds - self._shown >= SECONDS_BETWEEN_LINES:
            sys.stderr.write(f"{line}\n")
            self._shown = point.seconds
        sys.stderr.flush()

    def close(self) -> None:
        """End the line, however the work ended."""
        if self._open:
            sys.stderr.write("\n")
            self._open = False


@contextmanager
def ended(callback: Callback | None) -> Iterator[None]:
    """End the line of progress, if there is one, however the work ends."""
    try:
        yield
    finally:
        if isinstance(callback, ProgressLine):
            callback.close()


def as_callback(progress: Any, name: str, goal: float) -> Callback | None:
    """The callback of the parameter ``progress``: False, True, or a function of a TracePoint."""
    if isinstance(progress, bool):
        return ProgressLine(name, goal) if progress else None
    if not callable(progress):
        raise InputError(f"progress: expected True, False or a function, got {progress!r}.")
    callback: Callback = progress
    return callback
