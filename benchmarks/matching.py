"""Matching two collections by their geometry alone: one refinement, the whole with restarts and verdict, its growth.

``python -m benchmarks.matching`` prints these bars alone.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.record import Bar, Options, Record, verdict
from benchmarks.task import SEED
from benchmarks.timing import seconds

SIZES = {1_000: 10.0, 5_000: 60.0, 20_000: 120.0}
"""Rows on either side without a known pair, and the processor time that they may take."""
KNOWN, KNOWN_BAR = 100, 300.0
"""Pairs that are known of the largest ones, once more; isthmus 0.1 took 339 s."""
ONE_BAR, GIGABYTES_BAR, RECALL_BAR, GROWTH_BAR = 2.0, 4.0, 0.97, 2.0


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """Measure the processor time for each, with memory and recall."""
    usual, *_, large = SIZES
    A, B, _ = collections(usual)
    once = _refinement(A, B)
    one = min(seconds(once) for _ in range(3))
    record.bars.append(
        Bar(f"one refinement of {usual:,} x {usual:,} rows: about a second", f"{one:.1f} s", verdict(one < ONE_BAR))
    )
    taken = {}
    for n, bar in SIZES.items():
        announce(f"matching {n:,} rows with {n:,}")
        taken[n] = _whole(record, *collections(n), 0, bar)
    record.bars.append(_growth(taken))
    announce(f"matching {large:,} rows with {large:,}, {KNOWN} pairs known")
    _whole(record, *collections(large), KNOWN, KNOWN_BAR)


def _whole(record: Record, A: Any, B: Any, partner: Any, known: int, bar: float) -> float:
    from isthmus import match

    made: list[Any] = []
    pairs = np.stack([np.arange(known), partner[:known]], axis=1) if known else None
    taken = seconds(lambda: made.append(match(A, B, pairs)))
    recall = float((made[0].nearest == partner).mean())
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    succeeded = made[0].ok is True and recall >= RECALL_BAR
    record.bars.append(
        Bar(
            f"match, {len(A):,} x {len(A):,} rows, {known} pairs: recall {RECALL_BAR}, under {bar:.0f} s of "
            f"processor time and {GIGABYTES_BAR:.0f} GB",
            f"{taken:.1f} s, {gigabytes:.1f} GB at most so far; recall {recall:.3f}, ok: {made[0].ok}",
            verdict(succeeded and taken < bar and gigabytes < GIGABYTES_BAR),
        )
    )
    return taken


def _growth(taken: dict[int, float]) -> Bar:
    """Return the exponents of the processor time in the number of rows, from size to size and from first to last."""
    sizes = list(taken)
    steps = [*pairwise(sizes), (sizes[0], sizes[-1])]
    exponents = [float(np.log(taken[m] / taken[n]) / np.log(m / n)) for n, m in steps]
    text = "; ".join(f"{n:,} to {m:,} rows: {e:.2f}" for (n, m), e in zip(steps, exponents, strict=True))
    return Bar(
        f"match, growth exponent: under {GROWTH_BAR:.0f}, all pairs of rows",
        text,
        verdict(exponents[-1] < GROWTH_BAR),
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
    from isthmus.tasks.matching.problem import MatchingProblem
    from isthmus.tasks.matching.refinement import COARSE, refine_matches

    unknown = np.full(len(A), -1)
    problem = MatchingProblem.of(prepare_rows(scale_rows(A)), prepare_rows(scale_rows(B)), unknown, unknown)
    return lambda: refine_matches(problem, problem.initial_scores(), COARSE, np.random.default_rng(0), lambda: None)


def main() -> None:
    """Print the bars."""
    record = Record()
    with threadpool_limits(1):
        run(record, Options(0.0, 1), lambda text: sys.stderr.write(f"{text}\n"))
    sys.stdout.writelines(f"{bar}\n" for bar in record.bars)


if __name__ == "__main__":
    main()
