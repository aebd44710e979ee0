"""What the runs of ``systems_table.py`` say: tables, paired differences and a reading, whichever way they fall."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Record: TypeAlias = dict[str, Any]
Scores: TypeAlias = dict[str, NDArray[np.float64]]
"""Accuracy on every split, by system; NaN where a system does not apply."""

FAVOURITES = ("mlhd", "mlhd by target rows")
"""The systems that are also run on spoilt sources."""


@dataclass(frozen=True)
class Difference:
    """A mean paired difference in points of accuracy, with a 95 % interval by Student's t over the splits."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, one: NDArray[np.float64], other: NDArray[np.float64]) -> Difference:
        points = 100 * (one - other)
        half = stats.t.ppf(0.975, len(points) - 1) * stats.sem(points)
        return cls(float(points.mean()), float(points.mean() - half), float(points.mean() + half))

    def __str__(self) -> str:
        return f"{self.mean:+.1f} [{self.low:+.1f}, {self.high:+.1f}]"


def scores_of(records: Iterable[Record], pair: str) -> Scores:
    here = sorted((r for r in records if r["pair"] == pair), key=lambda r: r["split"])
    values: dict[str, list[float]] = {}
    for r in here:
        values.setdefault(r["system"], []).append(np.nan if r["accuracy"] is None else r["accuracy"])
    return {name: np.array(column) for name, column in values.items()}


def best(scores: Scores, names: Iterable[str]) -> str:
    return max((name for name in names if name in scores), key=lambda name: float(scores[name].mean()))


def target_only(scores: Scores) -> list[str]:
    return [name for name in scores if name.startswith("target ")]


def spoilt(scores: Scores, favourite: str) -> list[str]:
    return [name for name in scores if name.startswith(f"{favourite}, ")]


def table(records: list[Record], cell: Callable[[Scores, str], str]) -> str:
    """Systems by pairs; (*) where some split did not converge, – where the system does not apply."""
    pairs = list(dict.fromkeys(r["pair"] for r in records))
    missed = {(r["pair"], r["system"]) for r in records if not r["converged"]}
    columns = {pair: scores_of(records, pair) for pair in pairs}
    lines = [["system", *pairs], ["---", *("---:" for _ in pairs)]]
    for name in dict.fromkeys(r["system"] for r in records):
        cells = [
            "–" if np.isnan(scores[name]).any() else cell(scores, name) + " (*)" * ((pair, name) in missed)
            for pair, scores in columns.items()
        ]
        lines.append([name, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def accuracy_cell(scores: Scores, name: str) -> str:
    return f"{100 * scores[name].mean():.1f} ± {100 * scores[name].std(ddof=1):.1f}"


def difference_cell(scores: Scores, name: str) -> str:
    bar = best(scores, target_only(scores))
    return "the best" if name == bar else str(Difference.of(scores[name], scores[bar]))


def reading(records: list[Record]) -> str:
    """One paragraph a pair: is any system above the best control, and does it matter what the source says?"""
    said = []
    for pair in dict.fromkeys(r["pair"] for r in records):
        scores = {name: s for name, s in scores_of(records, pair).items() if not np.isnan(s).any()}
        bar = best(scores, target_only(scores))
        controls = {*target_only(scores), *(name for f in FAVOURITES for name in spoilt(scores, f))}
        gains = {n: Difference.of(scores[n], scores[bar]) for n in scores if n not in controls}
        above = [f"{name} ({gain})" for name, gain in gains.items() if gain.low > 0]
        below = sum(gain.high < 0 for gain in gains.values())
        top = best(scores, gains)
        text = f"- **{pair}.** The bar is {bar}, {100 * scores[bar].mean():.1f} %. "
        text += f"Above it: {', '.join(above)}. " if above else "No system is shown to be above it; "
        text += "" if above else f"the best, {top}, is at {gains[top]} points. "
        text += f"{below} of {len(gains)} are clearly below it. "
        said.append(text + " ".join(knowledge(scores, f) for f in FAVOURITES if spoilt(scores, f)))
    missed = [r for r in records if not r["converged"]]
    names = ", ".join(dict.fromkeys(f"{r['system']} on {r['pair']}" for r in missed))
    said.append(f"- Not converged: {len(missed)} of {len(records)} runs{f' ({names})' if missed else ''}.")
    return "\n".join(said)


def knowledge(scores: Scores, favourite: str) -> str:
    """Whether the true source does more for a system than a spoilt one."""
    against = {name: Difference.of(scores[favourite], scores[name]) for name in spoilt(scores, favourite)}
    better = "is better" if all(gain.low > 0 for gain in against.values()) else "is NOT shown to be better"
    figures = ", ".join(f"{gain} against {name.split(', ')[1]}" for name, gain in against.items())
    return f"For {favourite} the true source {better} than every spoilt one: {figures}."


def page(records: list[Record], protocol: str) -> str:
    """The protocol, both tables and the reading, in Markdown."""
    splits = len({r["split"] for r in records})
    versions = "; ".join(dict.fromkeys(r["versions"] for r in records))
    return f"""\
# All systems and controls on real pairs

Made by `python examples/systems_table.py --splits {splits}`; every run is in `systems_table.jsonl`. {versions}.

{protocol}

## Test accuracy in per cent: mean ± standard deviation over splits

{table(records, accuracy_cell)}

(*) stopped before its tolerance on at least one split; – does not apply.

## Paired difference to the best target-only control, in points [95 % interval]

{table(records, difference_cell)}

Student's t over splits. Splits share objects, so the intervals are somewhat too narrow; each is taken alone, so \
some of many exclude zero by luck; and the bar is the best of several controls, chosen by its own test accuracy.

## What the numbers say

{reading(records)}
"""
