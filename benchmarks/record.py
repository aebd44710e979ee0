"""What a benchmark hands to the report: rows of the table and bars to clear."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from benchmarks.task import Task


@dataclass(frozen=True)
class Options:
    """What the command line decides."""

    budget: float
    """Processor seconds after which a slow solver is stopped."""
    repeats: int
    """Timed runs of anything quick; anything slow is run less often."""


@dataclass(frozen=True)
class Row:
    """One system on one task."""

    system: str
    task: Task
    seconds: float
    work: str
    objective: float
    stopped: str
    at_least: bool = False
    """Whether the time ran out first, so that ``seconds`` is only a lower bound."""


class Verdict(Enum):
    """Whether a bar is cleared; OPEN where the budget ended before that was known, NOTE where there is no bar."""

    PASS = "PASS"
    FAIL = "FAIL"
    OPEN = "OPEN"
    NOTE = "note"


@dataclass(frozen=True)
class Bar:
    """One promise, and what was measured."""

    promise: str
    measured: str
    verdict: Verdict


@dataclass
class Record:
    """Everything measured so far; an interrupted run still has one."""

    rows: list[Row] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)


def verdict(cleared: bool, at_least: bool = False) -> Verdict:
    """PASS or FAIL; a lower bound that does not clear its bar proves nothing."""
    if cleared:
        return Verdict.PASS
    return Verdict.OPEN if at_least else Verdict.FAIL
