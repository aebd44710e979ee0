"""How far a run is, on one line of the terminal, with the time that is left."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager

WIDTH = 24
SECONDS_BETWEEN_LINES = 30.0
"""How often a log, which can't take a line back, gets a new one."""


class Progress(AbstractContextManager["Progress"]):
    """A callback (done, all) that keeps one line of a terminal up to date, or adds a line to a log now and then."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._began = self._shown = time.monotonic()
        self._open = False

    def __call__(self, done: int, total: int) -> None:
        """Show how many of the trials are done."""
        now = time.monotonic()
        if done == 0:
            self._began = now
        line = self.line(done, total, now - self._began)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{line}")
            self._open = True
        elif done in (0, total) or now - self._shown >= SECONDS_BETWEEN_LINES:
            sys.stderr.write(f"{line}\n")
            self._shown = now
        sys.stderr.flush()

    def say(self, text: str) -> None:
        """Add a line of its own."""
        self.end()
        sys.stderr.write(f"{self.name}: {text}\n")

    def line(self, done: int, total: int, seconds: float) -> str:
        """What is shown.

        Examples
        --------
        >>> Progress("table1").line(50, 200, 60.0)
        'table1 [######..................]  50 of 200 trials, 1 min 0 s, 3 min 0 s left'
        """
        if total == 0:
            return f"{self.name}: all trials were there already"
        bar = "#" * (WIDTH * done // total)
        count = f"{self.name} [{bar:.<{WIDTH}}] {done:>{len(str(total))}} of {total} trials"
        if done in (0, total):
            return f"{count}, {_duration(seconds)}" if done else count
        return f"{count}, {_duration(seconds)}, {_duration(seconds / done * (total - done))} left"

    def end(self, *error: object) -> None:
        """End the line that is open, however the work ended."""
        if self._open:
            sys.stderr.write("\n")
            self._open = False

    __exit__ = end


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"
