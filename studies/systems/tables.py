"""The tables of the page: scores, and differences with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from isthmus.evidence.comparison import Difference, format_points
from isthmus.study.board import ABSENT, MARK, OPEN, Claim, TextTable, mean_cell, number_cell
from studies.systems.findings import Comparison, Findings

ALL = "all pairs"


def score_table(found: Findings, names: Sequence[str], title: str) -> TextTable:
    """Systems by pairs of domains: mean ± standard deviation over the splits in per cent; mean of all, and time.

    Names that are no columns have dashes.
    """
    rows = []
    for name in names:
        if name not in found.board.design.columns:  # has no part
            rows.append((name, *[ABSENT] * (len(found.groups) + 2)))
            continue
        scores, marked = found.scores(name), found.board.uncertified_groups(name)
        failed = np.isnan(scores.mean(axis=1))
        cells = [mean_cell(row) + MARK * bool(m and not f) for row, m, f in zip(scores, marked, failed, strict=True)]
        seconds = found.seconds(name)
        time = f"{seconds:.2f}" if np.isfinite(seconds) else ABSENT
        rows.append((name, *cells, number_cell(float(scores.mean())), time))
    return TextTable(title, ("system", *found.groups, "mean", "seconds"), tuple(rows))


def difference_table(comparison: Comparison, groups: Sequence[str], title: str) -> TextTable:
    """Differences in points by pair of domains; then over all with an interval over trials, and one over pairs."""
    rows = []
    for name, claim in comparison.claims.items():
        cells = [group_cell(each) for each in comparison.in_groups[name]]
        rows.append((name, *cells, claim_cell(claim), interval(comparison.over_groups(name))))
    return TextTable(title, ("system", *groups, ALL, "interval over pairs"), tuple(rows))


def several_table(comparisons: Mapping[str, Comparison], title: str) -> TextTable:
    """Differences over all pairs: a row for each system, a column for each comparison."""
    names = dict.fromkeys(name for each in comparisons.values() for name in each.columns)
    rows = [
        (name, *(tested_cell(each.claims[name]) if name in each.claims else ABSENT for each in comparisons.values()))
        for name in names
    ]
    return TextTable(title, ("system", *comparisons), tuple(rows))


def group_cell(difference: Difference | None) -> str:
    """A difference in points, bold where its own interval leaves out zero."""
    if difference is None:
        return ABSENT
    mark = "**" if difference.low > 0.0 or difference.high < 0.0 else ""
    return f"{mark}{format_points(difference.mean)}{mark}"


def claim_cell(claim: Claim) -> str:
    """A difference in points with its interval; bold where its sign is shown, after adjustment."""
    if claim.difference is None:
        return ABSENT
    mark = "" if claim.verdict == OPEN else "**"
    return f"{mark}{format_points(claim.difference.mean)}{mark} {interval(claim.difference)}"


def tested_cell(claim: Claim) -> str:
    """The same with its p-value, adjusted."""
    d = claim.difference
    return ABSENT if d is None else f"{claim_cell(claim)}, {d.p_adjusted:.3f}"


def interval(difference: Difference | None) -> str:
    """An interval in points."""
    if difference is None:
        return ABSENT
    low, high = (format_points(value).removeprefix("+") for value in (difference.low, difference.high))
    return f"[{low}, {high}]"
