"""How far a matching is, on one line of the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from isthmus.exceptions import InputError

SECONDS_BETWEEN_LINES = 5.0
"""How often a log, which can't take a line back, gets a new one."""


class ProgressLine(AbstractContextManager["ProgressLine"]):
    """A callback (what is done, rounds so far) that keeps one line of a terminal up to date, or adds to a log."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = self._began
        self._open = False

    def __call__(self, what: str, rounds: int) -> None:
        """Show what is being done."""
        now = time.monotonic()
        line = f"match: {what}, round {rounds}, {now - self._began:.0f} s"
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{line}")
            self._open = True
        elif now - self._shown >= SECONDS_BETWEEN_LINES:
            sys.stderr.write(f"{line}\n")
            self._shown = now
        sys.stderr.flush()

    def __exit__(self, *error: object) -> None:
        """End the line, however the work ended."""
        if self._open:
            sys.stderr.write("\n")
            self._open = False


Told = Callable[[str, int], None]


def silent(what: str, rounds: int) -> None:
    """Tell nobody."""


def teller(progress: Any) -> Told:
    """Who is told, by the parameter ``progress``: True, False, or a function (what is done, rounds so far)."""
    if isinstance(progress, bool):
        return ProgressLine() if progress else silent
    if not callable(progress):
        raise InputError(f"progress: expected True, False or a function, got {progress!r:.60}.")
    told: Told = progress
    return told


class Counter:
    """Rounds of one run after the other, told to somebody."""

    def __init__(self, told: Told) -> None:
        self._told, self._rounds = told, 0

    def of(self, what: str) -> Callable[[], None]:
        """What a run calls in each of its rounds."""

        def tick() -> None:
            self._rounds += 1
            self._told(what, self._rounds)

        return tick
