"""What a recipe arrives at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from isthmus._arrays import FloatArray
from isthmus.transfer.rows import TransferRows
from isthmus.transfer.rules import Rule

Tell = Callable[[str, int], None]
"""Who is told what is being done, and how many steps are left, this one among them."""


def silent(what: str, left: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """A rule for target rows, its parts, and whether the source had a say."""

    rule: Rule
    P: FloatArray
    """Guesses of the unlabelled target rows (n_u, C)."""
    again: Callable[[TransferRows], Rule]
    """The rule made again from fewer labelled rows; the guesses of the unlabelled ones stay."""
    evidence: dict[str, float] = field(default_factory=dict)
    """What the gates looked at, by name."""
    agreement: dict[str, float] = field(default_factory=dict)
    """The agreement r of the classes' geometry for each start."""
    weights: dict[str, float] = field(default_factory=dict)
    """The weight of each start; they sum to one."""
    source_used: bool = False
    reason: str = ""
    """Why, for the verdict: the end of a sentence."""
    shares: FloatArray | None = None
    """The shares of the classes, where a recipe has found better ones than were assumed."""
