"""What the runs say: tables, paired differences and a reading, whichever way they fall."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from isthmus.evaluation import Difference, paired_difference
from isthmus.study import Board, Record, Study, Table
from studies.systems.first.specification import FAVOURITES, LDA, WIDE
from studies.systems.preparation import COMPONENTS_PER_CLASS, SVD_SIZE
from studies.views import MOST_TESTED, SOURCE_PER_CLASS, UNLABELLED_PER_CLASS

PROTOCOL = f"""\
Fixed before any test label was seen: {SOURCE_PER_CLASS} labelled source rows per class; 1 labelled and \
{UNLABELLED_PER_CLASS} unlabelled target rows per class; at most {MOST_TESTED} test rows of the target domain. No \
object (image, package, cell, document) is in two of source, target and test. Every system gets the same rows, with \
its defaults of 0.1 (docs/defaults.md says what has changed since):

1. numeric features are standardised; rows of text are scaled to length one and reduced to {SVD_SIZE} dimensions by \
a truncated SVD;
2. both domains are reduced to the same number of principal components, {COMPONENTS_PER_CLASS} per class or as many \
as the smaller domain has features, and scaled to a mean squared length of one.

All of it is learned from the training rows of its own domain. The dimensions are then equal, so Saenko's method \
applies, though no feature of one domain corresponds to one of the other. The control "{LDA}" chooses up to 5 \
components per class itself, which step 2 cuts short: "{WIDE}" is the same without step 2. Corrupted sources are \
drawn afresh for every split. The unlabelled rows are balanced, as the self-trained LDA supposes.

By default MLHD calls a row by the nearest *source* row, so that noise or permuted labels must do harm there, \
whatever was learned. "{FAVOURITES[1]}" is the same metric with the nearest labelled *target* row: there a corrupted \
source harms only through the metric. It was added after the results of the rest had been seen."""


def page(study: Study, records: Iterable[Record], file: str = "records-0.1.jsonl") -> str:
    """The protocol, both tables and the reading, in Markdown; ``file`` is where the records are."""
    found = list(records)
    seeds = sorted({record.seed for record in found})
    boards = [replace(study, groups=(pair,)).board(found, seeds) for pair in study.groups]
    readings = "\n".join(map(_reading, boards))
    return f"""\
# All systems and controls on real pairs: 0.1

Made with 0.1, {len(seeds)} splits; every run is in `{file}`. The runs of today are on [page.md](page.md). \
{"; ".join(dict.fromkeys(record.versions for record in found))}.

{PROTOCOL}

## Test accuracy in per cent: mean ± standard deviation over splits

{_table(boards, _accuracy)}

(*) stopped before its tolerance on at least one split; – does not apply.

## Paired difference to the best target-only control, in points [95 % interval]

{_table(boards, _difference_to_best)}

Student's t over splits. Splits share objects, so the intervals are somewhat too narrow; each is taken alone, so \
some of many exclude zero by luck; and the bar is the best of several controls, chosen by its own test accuracy.

## What the numbers say

{readings}
{_endings(boards, found)}
"""


def _table(boards: Sequence[Board], cell: Callable[[Board, str], str]) -> str:
    """Systems by pairs."""
    rows = [(name, *(_marked(board, name, cell) for board in boards)) for name in boards[0].design.columns]
    return Table("", ("system", *(board.groups[0] for board in boards)), tuple(rows)).markdown()


def _marked(board: Board, name: str, cell: Callable[[Board, str], str]) -> str:
    return cell(board, name) + " (*)" * bool(board.uncertified(name)) if _mean(board, name) >= 0 else "–"


def _accuracy(board: Board, name: str) -> str:
    return f"{_mean(board, name):.1f} ± {100 * board.scores(name).std(ddof=1):.1f}"


def _difference_to_best(board: Board, name: str) -> str:
    best = _best(board, _target_only(board))
    return "the best" if name == best else _points(board, name, best)


def _reading(board: Board) -> str:
    """One paragraph for a pair: whether a system is above the best control, and whether the source's word counts."""
    bar = _best(board, _target_only(board))
    applying = [name for name in board.design.columns if _mean(board, name) >= 0]
    gains = {n: _difference(board, n, bar) for n in applying if n not in board.design.controls}
    above = [f"{name} ({_points(board, name, bar)})" for name, gain in gains.items() if gain.low > 0]
    best = _best(board, gains)
    found = f"No system is shown to be above it; the best, {best}, is at {_points(board, best, bar)} points."
    if above:
        found = f"Above it: {', '.join(above)}."
    below = f"{sum(gain.high < 0 for gain in gains.values())} of {len(gains)} are clearly below it."
    said = [f"- **{board.groups[0]}.** The bar is {bar}, {_mean(board, bar):.1f} %.", found, below]
    return " ".join([*said, *(_knowledge(board, system) for system in FAVOURITES)])


def _knowledge(board: Board, system: str) -> str:
    """Whether the true source does more for a system than a corrupted one."""
    corrupted = [name for name in board.design.columns if name.startswith(f"{system}, ")]
    all_better = all(_difference(board, system, name).low > 0 for name in corrupted)
    better = "is better" if all_better else "is NOT shown to be better"
    figures = ", ".join(f"{_points(board, system, name)} against {name.split(', ')[1]}" for name in corrupted)
    return f"For {system} the true source {better} than every corrupted one: {figures}."


def _endings(boards: Sequence[Board], records: Sequence[Record]) -> str:
    missed = [record for record in records if record.score is not None and not record.certified]
    names = ", ".join(dict.fromkeys(f"{record.system} on {record.group}" for record in missed))
    said = f"- Not converged: {len(missed)} of {len(records)} runs{f' ({names})' if missed else ''}."
    old = sum(board.outdated() for board in boards)
    return said + (f"\n- {old} runs are of another version, or of other systems or rows." if old else "")


def _target_only(board: Board) -> list[str]:
    return [name for name in board.design.controls if name.startswith("target ")]


def _best(board: Board, names: Iterable[str]) -> str:
    return max((name for name in names if _mean(board, name) >= 0), key=lambda name: _mean(board, name))


def _mean(board: Board, name: str) -> float:
    """In per cent; NaN where a system does not apply."""
    return float(100 * board.scores(name).mean())


def _difference(board: Board, a: str, b: str) -> Difference:
    """Of two systems on a pair, in points: a sum of hundredths would round a few halves to the other side."""
    points = 100 * (board.scores(a) - board.scores(b)).ravel()
    return paired_difference(points, np.zeros_like(points))


def _points(board: Board, a: str, b: str) -> str:
    d = _difference(board, a, b)
    return f"{d.mean:+.1f} [{d.low:+.1f}, {d.high:+.1f}]"
