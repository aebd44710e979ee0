"""What a benchmark hands to the report: rows of the table and bars to clear."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from benchmarks.task import Task


@dataclass(frozen=True)
class Options:
    """What the command line decides."""

    budget: float
    """Processor seconds after which a slow solver is stopped."""
    repeats: int
    """Timed runs of anything quick; anything slow is run less often."""


class Problem(Protocol):
    """What the table has to know of a task."""

    @property
    def name(self) -> str:
        """What it is called."""

    def excess(self, objective: float) -> float:
        """How far an objective is above the minimum, relative to it."""


@dataclass(frozen=True)
class Row:
    """One solver on one task."""

    system: str
    task: Problem
    seconds: float
    work: str
    objective: float
    stopped: str
    at_least: bool = False
    """Whether the time ran out first, so that ``seconds`` is only a lower bound."""


@dataclass(frozen=True)
class SystemRow:
    """One estimator on one task."""

    system: str
    task: Task
    n_source: tuple[int, ...]
    """The numbers of source rows that it was fitted to."""
    fit: tuple[float, ...]
    """The seconds for each of them; none where the system cannot have the task."""
    predict: float | None
    remark: str


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
    systems: list[SystemRow] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)


def verdict(cleared: bool, at_least: bool = False) -> Verdict:
    """PASS or FAIL; a lower bound that does not clear its bar proves nothing."""
    if cleared:
        return Verdict.PASS
    return Verdict.OPEN if at_least else Verdict.FAIL
