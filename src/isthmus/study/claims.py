"""A comparison with a verdict that the numbers give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from isthmus.evaluation import Difference, holm

LEVEL = 0.05
HOLDS, REVERSED, OPEN = "holds", "reversed", "not shown"
UNRUN = "not run"


@dataclass(frozen=True)
class Claim:
    """That one thing is larger than another, and what the trials say about it.

    Parameters
    ----------
    statement : str
        The claim, in words.
    difference : Difference or None
        Of the first thing and the second, given the data: trials draw anew from the same rows. None where trials
        are missing, or too few to compare.

    Examples
    --------
    >>> print(Claim("mlhd > arc", Difference(0.03, 0.01, 0.05, 0.004, 0.02, 20, 20, 0.95, "permutation")))
    mlhd > arc: holds, +3.0 [1.0, 5.0], p = .004 (Holm .020)
    """

    statement: str
    difference: Difference | None

    @property
    def verdict(self) -> str:
        """What the adjusted p-value allows to say: below 5 % the claim holds or is reversed, else it is not shown."""
        if self.difference is None:
            return UNRUN
        if self.difference.p_adjusted >= LEVEL or self.difference.mean == 0:
            return OPEN
        return HOLDS if self.difference.mean > 0 else REVERSED

    def __str__(self) -> str:
        return f"{self.statement}: {self.verdict}" + (f", {self.difference}" if self.difference else "")


def family(claims: Sequence[tuple[str, Difference | None]]) -> list[Claim]:
    """Statements with their differences as claims of one family: p-values are adjusted for their number (Holm)."""
    found = [difference.p_value for _, difference in claims if difference is not None]
    adjusted = iter(holm(found)) if found else iter(())
    return [Claim(s, None if d is None else replace(d, p_adjusted=float(next(adjusted)))) for s, d in claims]
