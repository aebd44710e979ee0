"""One sentence on what the source did."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from isthmus.transfer.outcomes import Outcome

MOST_NAMES = 5


def verdict(found: Outcome, unlabelled: NDArray[Any]) -> str:
    """Whether the source was used, for what, and why."""
    listed = ", ".join(str(name) for name in unlabelled[:MOST_NAMES])
    listed += ", …" if len(unlabelled) > MOST_NAMES else ""
    if len(unlabelled):
        count = f"{len(unlabelled)} class{'es' if len(unlabelled) > 1 else ''} without a target label ({listed})"
        if found.source_used:
            return f"The source named the {count}: {found.reason}."
        return f"The source was not used, and the names of the {count} are no more than guesses: {found.reason}."
    used = "was used" if found.source_used else "was not used"
    return f"The source {used}: {found.reason}."
