"""Runs at the same time, and how far they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from isthmus._progress import ProgressLine, asked_for

T = TypeVar("T")
Told = Callable[[str, int], None]
Tick = Callable[[], None]
EXPECTED = 0.5
"""A run that may end early is expected to take this share of the rounds that are left to it: most take about half."""


class RoundsLine(ProgressLine):
    """A callback (what is done, rounds so far) that also knows which part of all work is done, when it is told."""

    part = 0.0

    def __call__(self, what: str, rounds: int) -> None:
        """Show what is being done."""
        self.tell(f"{what}, round {rounds}", self.part)


def silent(what: str, rounds: int) -> None:
    """Tell nobody."""


def teller(progress: Any, name: str = "match") -> Told:
    """Who is told, by the parameter ``progress``: True, False, or a function (what is done, rounds so far)."""
    return asked_for(progress, lambda: RoundsLine(name), silent)


class Counter:
    """Rounds of all runs, told to somebody; runs at the same time take turns in telling.

    Work is counted in rounds of a run. What is expected of it (:meth:`expect`) and not done yet is the part left.

    Examples
    --------
    >>> counter = Counter(silent)
    >>> counter.expect(30.0)
    >>> with counter.run("flat", most=60) as tick:
    ...     tick()
    ...     counter.part
    0.0327...
    >>> counter.part
    1.0
    """

    def __init__(self, told: Told) -> None:
        self._told, self._rounds, self._stopped, self._lock = told, 0, False, Lock()
        self._done = self._left = 0.0

    @property
    def part(self) -> float:
        """Of all work that is expected, the part that is done; 0 where nobody knows."""
        left = max(0.0, self._left)
        return self._done / (self._done + left) if self._done else 0.0

    def expect(self, work: float) -> None:
        """So much work is to come."""
        self._left += work

    def of(self, what: str, cost: float = 1.0) -> Tick:
        """What is called in each round of so much work; it raises where another run has been stopped."""
        return lambda: self._tick(what, cost, cost)

    @contextmanager
    def run(self, what: str, most: int) -> Iterator[Tick]:
        """The same for a run of so many rounds at most; half of them are expected."""
        used = 0

        def tick() -> None:
            nonlocal used
            used += 1
            self._tick(what, 1.0, EXPECTED)

        yield tick
        with self._lock:
            self._left -= EXPECTED * (most - used)

    def _tick(self, what: str, done: float, less: float) -> None:
        with self._lock:
            if self._stopped:
                raise CancelledError
            self._rounds += 1
            if isinstance(self._told, RoundsLine):
                self._told.part = self.part  # before this round, which begins now
            self._told(what, self._rounds)
            self._done, self._left = self._done + done, self._left - less

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
