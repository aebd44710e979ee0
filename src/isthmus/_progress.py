"""How far long work is: one line of a terminal that is kept up to date, or a line of a log now and then."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, Self, TypeVar

from isthmus.exceptions import InputError

S = TypeVar("S")
T = TypeVar("T")
SECONDS_BETWEEN_LINES = 5.0
"""How often a log, which can't take a line back, gets a new one."""
SOON = 1.0
"""Seconds: before, nobody knows how long the rest will take; after, it is not worth telling."""


class ProgressLine:
    """A line on the standard error stream.

    Parameters
    ----------
    name : str
        Of the work.
    every : float
        Seconds between two lines of a log.
    mute : bool
        Whether nothing is shown.
    clock : callable
        The time in seconds.
    """

    def __init__(
        self,
        name: str,
        every: float = SECONDS_BETWEEN_LINES,
        *,
        mute: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._every, self._mute, self._clock = every, mute, clock
        self._open = False
        self.restart()

    def __enter__(self) -> Self:
        return self

    def restart(self) -> None:
        """The work begins now."""
        self._began, self._shown, self._prepared = self._clock(), 0.0, 0.0

    @property
    def seconds(self) -> float:
        """Since the work began."""
        return self._clock() - self._began

    def show(self, text: str, seconds: float, *, always: bool = False) -> None:
        """Put a text in place of the last one; of a log, add it after enough seconds, or always."""
        if self._mute or sys.stderr is None:
            return
        if sys.stderr.isatty():
            room = shutil.get_terminal_size().columns - 1  # a line that is broken can't be taken back
            sys.stderr.write(f"\r\x1b[K{text[:room]}")
            self._open = True
        elif always or seconds - self._shown >= self._every:
            sys.stderr.write(f"{text}\n")
            self._shown = seconds
        sys.stderr.flush()

    def tell(self, what: str, part: float = 0.0) -> None:
        """Show what is done, since when, and, by the part of all work that is done, for how long.

        As long as that part is 0, the time goes to preparations, which say nothing of the rest.
        """
        seconds = self.seconds
        self._prepared = self._prepared if part else seconds
        since = f", {duration(seconds)}" if seconds >= SOON else ""
        self.show(f"{self.name}: {what}{since}{left(part, seconds - self._prepared)}", seconds)

    def clear(self) -> None:
        """Take the line back: on a terminal nothing is left of it."""
        if self._open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._open = False

    def say(self, text: str) -> None:
        """Add a line of its own."""
        self.end()
        if sys.stderr is not None:
            sys.stderr.write(f"{self.name}: {text}\n")

    def end(self, *error: object) -> None:
        """End the line that is open, however the work ended."""
        if self._open:
            sys.stderr.write("\n")
            self._open = False

    __exit__ = end


def duration(seconds: float) -> str:
    """A time in words.

    Examples
    --------
    >>> duration(9.6), duration(150.0), duration(6000.0)
    ('10 s', '2 min 30 s', '1 h 40 min')
    """
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


def left(part: float, seconds: float) -> str:
    """The time left, with a comma before it, if the rest goes on as the part that took so many seconds.

    Examples
    --------
    >>> left(0.25, 60.0), left(0.0, 60.0), left(1.0, 60.0)
    (', about 3 min 0 s left', '', '')
    """
    if not 0.0 < part < 1.0 or seconds < SOON:
        return ""
    rest = seconds * (1.0 - part) / part
    return f", about {duration(rest)} left" if rest >= SOON else ""


def asked_for(progress: Any, line: Callable[[], S], silent: T) -> S | T:
    """Who is told, by a parameter ``progress``: a line, nobody, or a function of the caller's.

    Examples
    --------
    >>> asked_for(False, lambda: "a line", "nobody")
    'nobody'
    """
    if isinstance(progress, bool):
        return line() if progress else silent
    if not callable(progress):
        raise InputError(f"progress: expected True, False or a function, got {progress!r:.60}.")
    told: T = progress
    return told
