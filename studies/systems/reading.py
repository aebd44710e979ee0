"""What the numbers say, in sentences, whichever way they fall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from isthmus.evidence.comparison import format_points
from isthmus.study.board import HOLDS, OPEN, REVERSED
from studies.systems.findings import Comparison, Findings
from studies.systems.tables import interval

RIDGE = "ridge"
"""What other systems that learn from pairs are compared with."""


def labels_reading(found: Findings, by_source: Mapping[str, Comparison], against: Comparison) -> list[str]:
    """Who gains from the source, who beats the target alone, and both, pair by pair too."""
    noise = by_source["noise"]
    gain, above = noise.with_verdict(HOLDS), against.with_verdict(HOLDS)
    every = [name for name in gain if all(each.claims[name].verdict == HOLDS for each in by_source.values())]
    said = [
        f"- **Gain from the source (true less noise, all pairs):** {join_differences(noise, gain)}. Not shown to "
        f"gain: {join_differences(noise, noise.with_verdict(OPEN))}. Better with noise than with the truth: "
        f"{join_differences(noise, noise.with_verdict(REVERSED))}.",
        f"- **Better than with every spoilt source** (noise, permuted and renamed): {join_names(every)}.",
        f"- **Beat the best target-only rule (all pairs):** {join_differences(against, above)}. Not shown to differ "
        f"from it: {join_differences(against, against.with_verdict(OPEN))}. Shown to be below it: "
        f"{len(against.with_verdict(REVERSED))} of {len(against.claims)}.",
        f"- **Both:** {join_names([name for name in above if name in gain])}.",
    ]
    if beaten := [name for name in gain if against.claims[name].verdict == REVERSED]:
        said.append(
            f"- {len(beaten)} of the {len(gain)} that gain from the source are shown to be below the target alone: "
            "noise does harm where rows are called by source rows, so that a gain over it is not yet a use."
        )
    return [*said, *(group_reading(found, noise, against, k) for k in range(len(found.groups)))]


def group_reading(found: Findings, noise: Comparison, against: Comparison, k: int) -> str:
    """One sentence on a pair of domains, by the intervals of its own cells."""
    gains = {name: noise.in_groups[name][k] for name in noise.columns}
    bars = {name: against.in_groups[name][k] for name in against.columns}
    gaining = [name for name, d in gains.items() if d is not None and d.low > 0.0]
    above = [name for name, d in bars.items() if d is not None and d.low > 0.0]
    means = {name: scores[k].mean() for name, scores in against.columns.items() if np.isfinite(scores[k]).all()}
    best = max(means, key=lambda name: means[name])
    return (
        f"- **{found.groups[k]}.** The bar is {found.best[k]}, {found.bar[k].mean():.1f} %; the best system is "
        f"{best}, {means[best]:.1f} % ({format_points(means[best] - found.bar[k].mean())} {interval(bars[best])}). "
        f"Above the bar by the interval of the cell: {join_names(above)}; above its noise: {len(gaining)} of "
        f"{len(gains)}."
    )


def pairs_reading(wrong: Comparison, against: Comparison, no_map: Comparison, beside: Comparison) -> list[str]:
    """Who learns from the pairs, and what they are worth."""
    said = [
        f"- **Learn from the pairs (true less shuffled):** {join_differences(wrong, wrong.with_verdict(HOLDS))}. Not "
        f"shown: {join_differences(wrong, [name for name in wrong.claims if wrong.claims[name].verdict != HOLDS])}.",
        f"- **Beat the best target-only rule with 1 label per class:** "
        f"{join_differences(against, against.with_verdict(HOLDS))}. Not shown to differ: "
        f"{join_differences(against, against.with_verdict(OPEN))}. Below it: "
        f"{join_differences(against, against.with_verdict(REVERSED))}.",
        f"- **Against the best without a map:** above it {join_differences(no_map, no_map.with_verdict(HOLDS))}; "
        f"below it {join_differences(no_map, no_map.with_verdict(REVERSED))}; not shown to differ: "
        f"{join_names(no_map.with_verdict(OPEN))}.",
        f"- **Against {RIDGE}:** above it {join_differences(beside, beside.with_verdict(HOLDS))}; below it "
        f"{join_differences(beside, beside.with_verdict(REVERSED))}; not shown to differ: "
        f"{join_names(beside.with_verdict(OPEN))}.",
    ]
    return said


def join_differences(comparison: Comparison, names: Sequence[str]) -> str:
    """Names with their differences in points."""
    found = []
    for name in names:
        d = comparison.claims[name].difference
        found.append(name if d is None else f"{name} ({format_points(d.mean)})")
    return join_names(found)


def join_names(names: Sequence[str]) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> join_names([]), join_names(["a", "b", "c"])
    ('none', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) or "none"
