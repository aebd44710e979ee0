"""Hubs: points that are near to everything, and a ranking that takes that away from them (CSLS)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import short_repr
from isthmus.common_space import DOMAINS, CommonSpace, largest
from isthmus.domains import TwoDomains

NEIGHBOURHOOD = 10
"""So many of the best scores make up how near a point is to everything (Conneau et al. 2018)."""
CELLS = 2**21
"""Scores that are held at once."""
SAMPLE = 1000
"""So many rows per domain are kept to tell by whether a point is near to everything."""


class Scored(Protocol):
    """What knows the similarities of points: a common space, or a measure."""

    def scores(self, queries: FloatArray, references: FloatArray) -> FloatArray:
        """All similarities (n, m), the larger the nearer."""
        ...


@short_repr
@dataclass(frozen=True, eq=False)
class Background:
    """Some points of either domain, against which it is measured how near others are to everything.

    That a row's rank does not depend on which other rows are asked for at the same time, they are rows of the fit.
    """

    source: FloatArray
    target: FloatArray

    @classmethod
    def of(cls, domains: TwoDomains, space: CommonSpace) -> Background:
        """Of rows of two domains, evenly spaced."""
        parts = []
        for name, X in zip(DOMAINS, (domains.source.X, domains.target.X), strict=True):
            rows = np.unique(np.linspace(0, X.shape[0] - 1, min(SAMPLE, X.shape[0])).astype(np.intp))
            parts.append(space.embed(X[rows], name))
        return cls(*parts)

    def hubs(self, space: CommonSpace, points: FloatArray, domain: str) -> FloatArray:
        """How near each point is to a domain as a whole."""
        return hub_scores(space, points, self.source if domain == "source" else self.target)


def hub_scores(space: Scored, points: FloatArray, others: FloatArray, n: int = NEIGHBOURHOOD) -> FloatArray:
    """How near each point (m,) is to the other domain: the mean of its n best scores there."""
    return np.concatenate([_best(scores, n) for scores in _blocks(space, points, others)])


def ranking(
    space: Scored, queries: FloatArray, references: FloatArray, k: int, hubs: FloatArray | None = None
) -> tuple[FloatArray, IntArray]:
    r"""The k best references for each query, best first: scores and numbers, both (n, k).

    .. math:: s(q, r), \quad\text{or}\quad 2\, s(q, r) - h(q) - h(r), \qquad
              h = \text{mean of the ten best scores}

    Parameters
    ----------
    space : CommonSpace
        What s is: inner products, or minus half the squared distances.
    queries, references : array (n, d), (m, d)
        Points.
    k : int
        How many.
    hubs : array (m,), optional
        h of the references, as :func:`hub_scores` has it.

    Examples
    --------
    >>> from isthmus.spaces import FeatureSpace
    >>> space = CommonSpace(FeatureSpace(1), FeatureSpace(1), np.ones((2, 1)))
    >>> references, hubs = np.array([[0.0], [1.0]]), np.array([0.0, 0.9])
    >>> ranking(space, np.array([[0.6]]), references, 1, hubs)[1]
    array([[0]])
    """
    scores, numbers = [], []
    for S in _blocks(space, queries, references):
        if hubs is not None:
            own = _best(S, NEIGHBOURHOOD)
            S *= 2.0
            S -= own[:, None]
            S -= hubs[None, :]
        found = largest(S, k)
        scores.append(found[0])
        numbers.append(found[1])
    return np.concatenate(scores), np.concatenate(numbers)


def _best(S: FloatArray, n: int) -> FloatArray:
    """The mean of the n largest of each row."""
    k = min(n, S.shape[1])
    return np.asarray(np.partition(S, -k, axis=1)[:, -k:].mean(axis=1))


def _blocks(space: Scored, A: FloatArray, B: FloatArray) -> Iterator[FloatArray]:
    """The scores of some rows of A after the other, never more than :data:`CELLS` at once."""
    height = max(1, CELLS // max(len(B), 1))
    for start in range(0, len(A), height):
        yield space.scores(A[start : start + height], B)
