"""Hubs: points that are near to everything, and a ranking that takes that away from them (CSLS)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.common_space import CommonSpace

NEIGHBOURHOOD = 10
"""So many of the best scores make up how near a point is to everything (Conneau et al. 2018)."""
CELLS = 2**22
"""Scores that are held at once."""


def hub_scores(
    space: CommonSpace, points: FloatArray, others: FloatArray, n: int = NEIGHBOURHOOD
) -> FloatArray:
    """How near each point (m,) is to the other domain: the mean of its n best scores there."""
    k = min(n, len(others))
    best = [np.partition(scores, -k, axis=1)[:, -k:].mean(axis=1) for scores in _blocks(space, points, others)]
    return np.concatenate(best) if best else np.zeros(0)


def csls_ranking(
    space: CommonSpace, queries: FloatArray, references: FloatArray, hubs: FloatArray, k: int
) -> tuple[FloatArray, IntArray]:
    r"""The k best references for each query, best first: scores and numbers, both (n, k).

    .. math:: 2\, s(q, r) - h(q) - h(r), \qquad h(q) = \text{mean of the ten best } s(q, \cdot)

    Parameters
    ----------
    space : CommonSpace
        What s is: inner products, or minus half the squared distances.
    queries, references : array (n, d), (m, d)
        Points.
    hubs : array (m,)
        h of the references, as :func:`hub_scores` has it.
    k : int
        How many.

    Examples
    --------
    >>> from isthmus.spaces import FeatureSpace
    >>> space = CommonSpace(FeatureSpace(1), FeatureSpace(1), np.ones((2, 1)))
    >>> references, hubs = np.array([[0.0], [1.0]]), np.array([0.0, 0.9])
    >>> csls_ranking(space, np.array([[0.6]]), references, hubs, 1)[1]
    array([[0]])
    """
    scores, numbers = [], []
    for S in _blocks(space, queries, references):
        n = min(NEIGHBOURHOOD, S.shape[1])
        own = np.partition(S, -n, axis=1)[:, -n:].mean(axis=1)
        C = 2.0 * S - own[:, None] - hubs[None, :]
        order = np.argsort(-C, axis=1, kind="stable")[:, :k]
        numbers.append(order)
        scores.append(np.take_along_axis(C, order, axis=1))
    return np.concatenate(scores), np.concatenate(numbers)


def _blocks(space: CommonSpace, A: FloatArray, B: FloatArray) -> Iterator[FloatArray]:
    """The scores of some rows of A after the other, never more than :data:`CELLS` at once."""
    height = max(1, CELLS // max(len(B), 1))
    for start in range(0, len(A), height):
        yield space.scores(A[start : start + height], B)
