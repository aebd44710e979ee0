"""From labels to constraints: bounds that need no unit, and pairs of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.utils.random import sample_without_replacement

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import number
from isthmus.domains import UNLABELLED
from isthmus.exceptions import InputError, warn
from isthmus.objective import Pairs
from isthmus.objective.graph import PairGraph

EQUAL = 1e-8
"""Rows nearer than this (squared, in units of the variance of all) count as equal: its square is lost in rounding."""
UPPER, LOWER = 0.5, 1.5
"""The automatic bounds, in units of the spread of the domains."""

TOTAL_WEIGHT = 1e4
"""The automatic weight of all pairs together: how many there are does not matter (docs/defaults.md)."""

ITML_WEIGHT = 1e3
"""The same for ITML."""
PERCENTILES = 20, 80
"""ITML's automatic bounds, among squared distances."""
SAMPLE = 5000
"""So many pairs of points are measured for them."""


def as_bounds(bounds: Any, scale: float, automatic: tuple[float, float] = (UPPER, LOWER)) -> tuple[float, float]:
    """(u, l) from the parameter ``bounds``: squared distances, or "auto", the ``automatic`` ones times ``scale``."""
    if isinstance(bounds, str) and bounds == "auto":
        return automatic[0] * scale, automatic[1] * scale
    return ordered_bounds(bounds, "squared distances", 0.0)


def as_pair_weight(weight: Any, n_pairs: int, total: float = TOTAL_WEIGHT) -> float:
    """λ2 of one pair from the parameter ``pair_weight``: a number, or "auto", a total that all pairs share.

    Examples
    --------
    >>> as_pair_weight(2.0, 400), as_pair_weight("auto", 400)
    (2.0, 25.0)
    """
    return automatic(weight, "pair_weight", total / max(n_pairs, 1))


def automatic(weight: Any, name: str, value: float) -> float:
    """A weight from a parameter: a number, or "auto" for this value."""
    if isinstance(weight, str) and weight == "auto":
        return value
    if isinstance(weight, str):
        raise InputError(f'{name}: expected "auto" or a number of at least 0, got {weight!r}.')
    return number(weight, name, low=0.0)


def ordered_bounds(bounds: Any, what: str, low: float) -> tuple[float, float]:
    """Two numbers u < l above ``low``."""
    if not isinstance(bounds, tuple | list | np.ndarray) or len(bounds) != 2:
        raise InputError(f'bounds: expected "auto" or two {what} (u, l), got {bounds!r}.')
    u, l = (number(value, "bounds", low=low, strict=low > -np.inf) for value in bounds)  # noqa: E741
    if u >= l:
        raise InputError(f"bounds: expected u < l, got u = {u:g} and l = {l:g}.")
    return u, l


def label_pairs(
    rows: FloatArray, y: IntArray, runs: list[tuple[slice, slice]], bounds: tuple[float, float]
) -> tuple[Pairs, ...]:
    """All pairs between runs of rows that can be told apart, a block for each, bounded by whether labels agree.

    Each has the weight one.
    """
    return tellable(rows, [label_block(y, run, 1.0, bounds) for run in runs])


def n_pairs(blocks: Iterable[Pairs]) -> int:
    """How many pairs have a weight."""
    return sum(int((pairs.weight > 0.0).sum()) for pairs in blocks)


def weighted(blocks: Iterable[Pairs], factor: float) -> tuple[Pairs, ...]:
    """The blocks with all weights times a factor."""
    return tuple(replace(pairs, weight=factor * pairs.weight) for pairs in blocks)


def label_block(y: IntArray, run: tuple[slice, slice], weight: float, bounds: tuple[float, float]) -> Pairs:
    """All pairs between two runs of rows, without weight where one of the two has no label (-1)."""
    left, right = y[run[0], None], y[None, run[1]]
    sign = np.where(left == right, 1.0, -1.0)
    weights = np.where((left != UNLABELLED) & (right != UNLABELLED), weight, 0.0)
    if run[0] == run[1]:
        weights = np.triu(weights, k=1)
    return Pairs(*run, sign, weights, np.where(sign > 0, *bounds))


def tellable(rows: FloatArray, blocks: Iterable[Pairs]) -> tuple[Pairs, ...]:
    """The blocks without what is impossible.

    Equal rows that belong apart can't be told apart by any metric, and nearly equal ones not in double precision:
    such pairs get no weight, and one warning says how many there are.
    """
    kept, hopeless = [], 0
    for pairs in blocks:
        # Around the mean of either end: how far a domain lies from the origin says nothing about its rows.
        least = EQUAL * max(rows[run].var(axis=0).sum() for run in (pairs.left, pairs.right))
        distances = PairGraph((pairs,), len(rows)).distances(rows).reshape(pairs.shape)
        equal = (distances <= least) & (pairs.sign < 0) & (pairs.weight > 0)
        hopeless += int(equal.sum())
        kept.append(replace(pairs, weight=np.where(equal, 0.0, pairs.weight)) if equal.any() else pairs)
    if hopeless:
        warn(
            f"{hopeless} pair(s) of equal rows, or nearly so, have different labels, which no metric can tell apart; "
            "they are left out.",
            UserWarning,
        )
    return tuple(kept)


def percentile_bounds(
    points: FloatArray, random: RandomState, percentiles: tuple[float, float] = PERCENTILES
) -> tuple[float, float]:
    """(u, l), two percentiles of the squared distances of pairs of points (n, d).

    At most :data:`SAMPLE` pairs are measured, all of them where there are no more; pairs of equal points don't
    count. Where the percentiles coincide they are half and one and a half times that distance, as for
    :func:`as_bounds`, or times one where all points are equal.
    """
    n = len(points)
    if n * (n - 1) // 2 <= SAMPLE:
        i, j = np.triu_indices(n, k=1)
    else:
        i = random.randint(n, size=SAMPLE)
        j = (i + random.randint(1, n, size=SAMPLE)) % n
    d2 = ((points[i] - points[j]) ** 2).sum(axis=1)
    d2 = d2[d2 > 0]
    u, l = np.percentile(d2, percentiles).tolist() if len(d2) else (1.0, 1.0)  # noqa: E741
    return (u, l) if u < (1.0 - 1e-9) * l else as_bounds("auto", l)


def drawn_pairs(y: IntArray, most: int, random: RandomState) -> tuple[IntArray, IntArray, FloatArray]:
    """Row numbers of either end and the sign of pairs that labels make, none of them twice.

    Of either kind, similar and dissimilar, ``most`` are drawn at random, or all taken where there are no more.
    Sorted by label, a row's later partners are a run of rows: pairs can be counted through without being listed.
    """
    order = np.argsort(y, kind="stable")
    place, stop = np.arange(len(y)), np.searchsorted(y[order], y[order], side="right")
    ends, signs = [], []
    for sign, first, last in ((1.0, place + 1, stop), (-1.0, stop, np.full_like(stop, len(y)))):
        counted = np.concatenate([[0], np.cumsum(last - first)])
        chosen = sample_without_replacement(counted[-1], min(most, counted[-1]), random_state=random)
        left = np.searchsorted(counted, chosen, side="right") - 1
        ends.append((order[left], order[first[left] + chosen - counted[left]]))
        signs.append(np.full(len(chosen), sign))
    left, right = np.concatenate(ends, axis=1)
    return left, right, np.concatenate(signs)
