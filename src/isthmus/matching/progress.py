"""Runs at the same time, and how far they are, on one line of the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from threading import Lock
from typing import Any, TypeVar

from isthmus.exceptions import InputError

T = TypeVar("T")
SECONDS_BETWEEN_LINES = 5.0
"""How often a log, which can't take a line back, gets a new one."""


class ProgressLine(AbstractContextManager["ProgressLine"]):
    """A callback (what is done, rounds so far) that keeps one line of a terminal up to date, or adds to a log."""

    def __init__(self, name: str = "match") -> None:
        self._name = name
        self._began = time.monotonic()
        self._shown = self._began
        self._open = False

    def __call__(self, what: str, rounds: int) -> None:
        """Show what is being done."""
        now = time.monotonic()
        line = f"{self._name}: {what}, round {rounds}, {now - self._began:.0f} s"
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


def teller(progress: Any, name: str = "match") -> Told:
    """Who is told, by the parameter ``progress``: True, False, or a function (what is done, rounds so far)."""
    if isinstance(progress, bool):
        return ProgressLine(name) if progress else silent
    if not callable(progress):
        raise InputError(f"progress: expected True, False or a function, got {progress!r:.60}.")
    told: Told = progress
    return told


class Counter:
    """Rounds of all runs, told to somebody; runs at the same time take turns in telling."""

    def __init__(self, told: Told) -> None:
        self._told, self._rounds, self._stopped, self._lock = told, 0, False, Lock()

    def of(self, what: str) -> Callable[[], None]:
        """What a run calls in each of its rounds; it raises where another run has been stopped."""

        def tick() -> None:
            with self._lock:
                if self._stopped:
                    raise CancelledError
                self._rounds += 1
                self._told(what, self._rounds)

        return tick

    def stop(self) -> None:
        """End all runs in their next round."""
        self._stopped = True


def at_once(jobs: Sequence[Callable[[], T]], n_jobs: int, counter: Counter) -> list[T]:
    """The results of some jobs, so many of them at the same time; where one fails or is interrupted, all end."""
    if n_jobs == 1 or len(jobs) == 1:
        return [job() for job in jobs]
    with ThreadPoolExecutor(n_jobs) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            return [future.result() for future in _as_they_fail(futures)]
        except BaseException:
            counter.stop()
            for future in futures:
                future.cancel()
            raise


def _as_they_fail(futures: list[Future[T]]) -> list[Future[T]]:
    """The same futures, when all are done or one has failed, which then comes first."""
    done, _ = wait(futures, return_when=FIRST_EXCEPTION)
    failed = [future for future in done if future.exception() is not None]
    return sorted(failed, key=lambda f: isinstance(f.exception(), CancelledError)) or futures
