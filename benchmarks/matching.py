"""Matching two collections: one refinement, the whole with restarts and verdict, and twenty times as many rows."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.record import Bar, Options, Record, verdict
from benchmarks.task import SEED
from benchmarks.timing import seconds

USUAL, LARGE = 1_000, 20_000
"""Rows on either side."""
KNOWN = 100
"""Pairs that are known of the large ones: a sample of so many rows without any would fail, and say so."""
ONE_BAR, WHOLE_BAR, LARGE_BAR, GIGABYTES_BAR = 2.0, 10.0, 600.0, 4.0


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """Seconds for each, with memory for the large one."""
    announce(f"matching {USUAL:,} rows with {USUAL:,}")
    A, B, partner = collections(USUAL)
    once = _refinement(A, B)
    one = min(seconds(once) for _ in range(3))
    record.bars.append(
        Bar(f"one refinement of {USUAL:,} x {USUAL:,} rows: about a second", f"{one:.1f} s", verdict(one < ONE_BAR))
    )
    _whole(record, A, B, partner, 0, WHOLE_BAR)
    announce(f"matching {LARGE:,} rows with {LARGE:,} (minutes)")
    _whole(record, *collections(LARGE), KNOWN, LARGE_BAR)


def _whole(record: Record, A: Any, B: Any, partner: Any, known: int, bar: float) -> None:
    from isthmus import match

    made: list[Any] = []
    pairs = np.stack([np.arange(known), partner[:known]], axis=1) if known else None
    taken = seconds(lambda: made.append(match(A, B, pairs)))
    recall = float((made[0].nearest == partner).mean())
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    record.bars.append(
        Bar(
            f"match, {len(A):,} x {len(A):,} rows, {known} pairs: under {bar:.0f} s and {GIGABYTES_BAR:.0f} GB",
            f"{taken:.1f} s, {gigabytes:.1f} GB at most so far; recall {recall:.2f}, succeeded: {made[0].succeeded}",
            verdict(taken < bar and gigabytes < GIGABYTES_BAR),
        )
    )


def collections(n: int) -> tuple[Any, Any, Any]:
    """Two noisy linear views of hidden factors, of which few are active per row; and the partner of each row."""
    rng = np.random.default_rng(SEED)
    hidden = rng.gamma(0.1, size=(n, 300)) * np.geomspace(3.0, 0.3, 300)
    A, B = (hidden @ rng.normal(size=(300, d)) + 0.3 * rng.normal(size=(n, d)) for d in (400, 500))
    order = rng.permutation(n)
    partner = np.empty(n, dtype=np.intp)
    partner[order] = np.arange(n)
    return A, B[order], partner


def _refinement(A: Any, B: Any) -> Callable[[], Any]:
    """One refinement from coarse to fine, of rows that are prepared."""
    from isthmus.geometry.similarity import prepare_rows, scale_rows
    from isthmus.tasks.matching.engine import Ridge
    from isthmus.tasks.matching.problem import MatchingProblem
    from isthmus.tasks.matching.refinement import COARSE, refine_matches

    unknown = np.full(len(A), -1)
    problem = MatchingProblem.of(prepare_rows(scale_rows(A)), prepare_rows(scale_rows(B)), unknown, unknown, Ridge())
    return lambda: refine_matches(problem, problem.initial_scores(), COARSE, np.random.default_rng(0), lambda: None)
