"""Progress of long work: a tqdm bar, a function of the caller, or nothing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from threading import Lock, RLock
from typing import Any, Self, TextIO

from isthmus.exceptions import InputError, warn

FORMAT = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
# How often a log, where no line can be overwritten, gets a new one.
SECONDS_BETWEEN_LINES = 30.0
# Weight of the latest pace in the time left: nearly a mean, without the preparations at a fraction of 0.
SMOOTHING = 0.01
# The share of its rounds that a run which may stop early is expected to take: most take about half.
EXPECTED = 0.5


def has_tqdm() -> bool:
    """Return whether bars can be shown."""
    return find_spec("tqdm") is not None


class Progress:
    """Report how far long work is.

    Parameters
    ----------
    progress : bool or callable
        Whether to show a bar with the time left on standard error; or a function that is called instead.
    name : str
        What the work is called on the bar.
    leave : bool
        Whether the last state stays on a terminal when the work ends.

    Examples
    --------
    >>> with Progress(print, "fit") as progress:
    ...     progress.report("round 3 of 4", 0.5)
    ...     progress.report("round 4 of 4", 0.75, 4, "rounds")
    round 3 of 4
    4 rounds
    """

    def __init__(self, progress: Any, name: str, *, leave: bool = True) -> None:
        if not isinstance(progress, bool) and not callable(progress):
            raise InputError(f"progress: expected True, False or a function, got {progress!r:.60}.")
        self.name: str = name
        self.leave: bool = leave
        self._function: Callable[..., Any] | None = None if isinstance(progress, bool) else progress
        self._bar: Any = None
        self.shown: bool = progress is True and has_tqdm()
        if progress is True and not self.shown:
            warn('progress: needs tqdm, which is not installed; use: pip install "isthmus[progress]".', UserWarning)

    @property
    def active(self) -> bool:
        """Whether reports are shown or passed on."""
        return self.shown or self._function is not None

    def report(self, text: str, fraction: float = 0.0, *values: Any) -> None:
        """Report what is being done and the fraction of all work done before it.

        A function of the caller gets the values, or the text where there are none.
        """
        if self._function is not None:
            self._function(*(values or (text,)))
        elif self.shown and sys.stderr is not None:
            description = f"{self.name}: {text}"
            if self._bar is None:
                self._bar = _open_bar(sys.stderr, description, self.leave)
            self._bar.set_description_str(description, refresh=False)
            self._bar.update(max(0.0, fraction - self._bar.n))

    def write(self, text: str) -> None:
        """Write a line of its own above the bar."""
        if self.shown and sys.stderr is not None:
            _bar_class().write(f"{self.name}: {text}", file=sys.stderr)

    def close(self) -> None:
        """Close the bar as it is; the next report opens another one."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: Any, *_: object) -> None:
        if self._bar is not None and error is None:
            self._bar.n = self._bar.total
        self.close()


class WorkCounter:
    """Count the work of runs, some of them in threads, and report the fraction done.

    Work is counted in rounds. What is expected (:meth:`expect`) and not done yet is left.

    Parameters
    ----------
    progress : Progress
        What the work is reported to.
    numbered : bool
        Whether rounds are numbered: then a function of the caller gets (what is being done, rounds so far), else the
        text alone.

    Examples
    --------
    >>> counter = WorkCounter(Progress(False, "match"))
    >>> counter.expect(30.0)
    >>> with counter.count_rounds("flat", most=60) as count:
    ...     count()
    ...     counter.fraction
    0.0327...
    >>> counter.fraction
    1.0
    """

    def __init__(self, progress: Progress, *, numbered: bool = True) -> None:
        self._progress, self._numbered = progress, numbered
        self._rounds, self._stopped, self._lock = 0, False, Lock()
        self._done = self._left = self._highest = 0.0

    @property
    def fraction(self) -> float:
        """The fraction of all expected work that is done; 0 where nothing is."""
        left = max(0.0, self._left)
        return self._done / (self._done + left) if self._done else 0.0

    def expect(self, work: float) -> None:
        """Add work that is to come."""
        self._left += work

    @contextmanager
    def count_rounds(self, what: str, most: int) -> Iterator[Callable[[], None]]:
        """Yield a function that a run calls at each round; it may end early, so half of the rounds are expected."""
        used = 0

        def count() -> None:
            nonlocal used
            used += 1
            self.count(what, 1.0, EXPECTED)

        yield count
        with self._lock:
            self._left -= EXPECTED * (most - used)

    def count(self, what: str, cost: float = 1.0, expected: float | None = None) -> None:
        """Count a round that begins, of a cost that was expected; raise once :meth:`stop` was called."""
        with self._lock:
            if self._stopped:
                raise CancelledError
            self._rounds += 1
            # Work that turns out to be needed does not turn a bar back.
            self._highest = max(self._highest, self.fraction)
            if self._numbered:
                self._progress.report(f"{what}, round {self._rounds}", self._highest, what, self._rounds)
            else:
                self._progress.report(what, self._highest)
            self._done, self._left = self._done + cost, self._left - (cost if expected is None else expected)

    def stop(self) -> None:
        """End all runs at their next round."""
        self._stopped = True


class _Lines:
    """Write each state of a bar as a line of its own, for logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write a state, without what would overwrite the last one."""
        if line := text.strip():
            self._stream.write(f"{line}\n")

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()


def _open_bar(stream: TextIO, description: str, leave: bool) -> Any:
    terminal, size = stream.isatty(), shutil.get_terminal_size()  # not tqdm's: that of a pseudo-terminal may be 0 × 0
    return _bar_class()(
        total=1.0,
        desc=description,
        leave=leave,
        file=stream if terminal else _Lines(stream),
        ncols=size.columns - 1 if terminal else None,  # a wrapped line can't be overwritten
        nrows=size.lines,
        mininterval=0.0 if terminal else SECONDS_BETWEEN_LINES,
        miniters=0,
        smoothing=SMOOTHING,
        bar_format=FORMAT,
    )


@cache
def _bar_class() -> Any:
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        monitor_interval = 0  # no thread that outlives the work
        _lock = RLock()  # tqdm's own belongs to multiprocessing, which may start a process for it

    return Bar
