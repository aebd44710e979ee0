"""Many pairs of rows by few that stand for them: what closed forms learn from, whatever the number of rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from isthmus._arrays import is_sparse
from isthmus._threads import small
from isthmus.domains import UNLABELLED, KnownPairs, TwoDomains
from isthmus.exceptions import InputError
from isthmus.kernels import Cosine, Kernel, Linear
from isthmus.scale.pair_moments import PairMoments, pair_moments
from isthmus.scale.row_pairs import RowPairs
from isthmus.spaces import JointSpace
from isthmus.spaces.side import Side
from isthmus.spaces.space import FeatureSpace, Space

WIDEST = 8192
"""Coordinates of both domains together, at most: their second moments are one matrix."""
MANY = 4
"""Pairs for each coordinate from which stand-ins, of which there are two for each, are fewer by half."""


@dataclass(frozen=True, eq=False)
class StandIns(JointSpace):
    """A joint space whose points are stand-ins: few pairs with the means and second moments of all pairs.

    Parameters
    ----------
    many : RowPairs
        All pairs, for what is no function of their moments.
    moments : PairMoments
        Their moments.
    """

    many: RowPairs = field(kw_only=True)
    moments: PairMoments = field(kw_only=True)

    @classmethod
    def of_pairs(cls, pairs: RowPairs, spaces: tuple[Space, Space], n_classes: int) -> StandIns:
        """Stand-ins for pairs of rows in the coordinates of two spaces."""
        if pairs.layout.d > WIDEST:
            raise InputError(
                f"X_source: expected at most {WIDEST} coordinates of both domains together with rows in blocks, got "
                f"{pairs.layout.d}; reduce them first."
            )
        moments = pair_moments(pairs)
        points = moments.stand_ins()
        sides = [
            Side(space, X, np.full(len(X), UNLABELLED), moments.mean[columns], np.nan, np.nan)
            for space, X, columns in zip(spaces, points, pairs.layout.sides, strict=True)
        ]
        known = KnownPairs(np.repeat(np.arange(len(points[0]))[:, None], 2, axis=1))
        return cls(sides[0], sides[1], n_classes, known, many=pairs, moments=moments)

    @classmethod
    def of_arrays(cls, domains: TwoDomains, kernels: tuple[Kernel, Kernel]) -> StandIns | None:
        """Stand-ins for the known pairs of two domains, where they are many and their features the coordinates."""
        known, X, Y = domains.pairs, domains.source.X, domains.target.X
        if known is None or not all(isinstance(kernel, Linear | Cosine) for kernel in kernels):
            return None
        n, d = len(known), X.shape[1] + Y.shape[1]
        if small((n, X.shape[1]), (0, Y.shape[1])) or n < MANY * d or d > WIDEST or is_sparse(X) != is_sparse(Y):
            return None
        spaces = FeatureSpace(X.shape[1], kernels[0]), FeatureSpace(Y.shape[1], kernels[1])
        weights = None if (known.weights == 1.0).all() else known.weights
        pairs = RowPairs.of(X, Y, weights, spaces, (known.source, known.target))
        return cls.of_pairs(pairs, spaces, len(domains.classes))
