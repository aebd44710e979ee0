"""Running the trials: all splits where the verdict is given, half of them for what stands beside it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from isthmus._arrays import IntArray
from isthmus.exceptions import DataWarning
from isthmus.verdict.settings import Setting, setting
from isthmus.verdict.splits import Splits
from isthmus.verdict.trials import study

FEWEST = 3
"""Splits in any group."""


def settings(
    splits: Splits,
    system: Any,
    groups: Sequence[str],
    judged: str,
    columns: IntArray | None = None,
    *,
    n_jobs: int = 1,
    progress: Any = False,
) -> dict[str, Setting]:
    """What was measured in each group; the others come with more labels, or with classes hidden."""
    others, half = [group for group in groups if group != judged], max(FEWEST, (len(splits.seeds) + 1) // 2)
    found: dict[str, Setting] = {}
    for some, seeds in (([judged], splits.seeds), (others, splits.seeds[:half])):
        if some:
            asking = study(splits, system, some, judged, columns)
            with warnings.catch_warnings():
                # That classes have no labelled row is our doing.
                warnings.filterwarnings("ignore", "y_target: .* no labelled row", DataWarning)
                board = asking.run(seeds, n_jobs=n_jobs, progress=progress)
            found |= {group: setting(board, splits, group) for group in some}
    return {group: found[group] for group in groups}
