"""Two domains side by side: the direct sum in which everything is learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray, IntArray
from isthmus.domains import Domain, KnownPairs, TwoDomains
from isthmus.kernels import Kernel
from isthmus.spaces.side import Side, feature_side, kernel_side


@dataclass(frozen=True, eq=False)
class JointSpace:
    r"""Coordinates of both domains: a source row is :math:`[x; 0]`, a target row :math:`[0; y]`.

    Parameters
    ----------
    source, target : Side
        Either domain: its space, the rows that are learned from, the mean and the size of all its rows.
    n_classes : int
        How many classes the label codes count through.
    pairs : KnownPairs, optional
        Known pairs, by the places of their rows among the points of the source and of the target.

    Examples
    --------
    >>> from isthmus.domains import TwoDomains
    >>> from isthmus.kernels import Linear
    >>> domains = TwoDomains.of([[1.0], [3.0]], ["a", "b"], [[5.0, 6.0], [7.0, 8.0]], ["b", None])
    >>> joint = JointSpace.of(domains, (Linear(), Linear()))
    >>> joint.rows
    array([[1., 0., 0.],
           [3., 0., 0.],
           [0., 5., 6.]])
    >>> joint.shift, joint.spread
    (array([ 2., -6., -7.]), 3.0)
    """

    source: Side
    target: Side
    n_classes: int
    pairs: KnownPairs | None = None

    @classmethod
    def of(
        cls,
        domains: TwoDomains,
        kernels: tuple[Kernel, Kernel],
        *,
        outside: str = "identity",
        every_row: bool = False,
        mean: bool = True,
    ) -> JointSpace:
        """The joint space under two kernels; the options are those of :func:`~isthmus.spaces.side.kernel_side`."""
        source, target = (
            kernel_side(domain, rows, kernel, outside=outside, every_row=every_row, mean=mean, name=name)
            for (name, domain, rows), kernel in zip(_sides(domains), kernels, strict=True)
        )
        return cls(source, target, len(domains.classes), _places(domains))

    @classmethod
    def of_features(cls, domains: TwoDomains) -> JointSpace:
        """The joint space whose coordinates are the features as they are."""
        source, target = (feature_side(domain, rows) for _, domain, rows in _sides(domains))
        return cls(source, target, len(domains.classes), _places(domains))

    @property
    def rows(self) -> FloatArray:
        """The points of the source, then those of the target, in all coordinates."""
        return np.asarray(sla.block_diag(self.source.points, self.target.points))

    @property
    def y(self) -> IntArray:
        """Their label codes."""
        return np.concatenate([self.source.y, self.target.y])

    @property
    def runs(self) -> tuple[slice, slice]:
        """Which of them are of the source, and which of the target."""
        n = len(self.source.points)
        return slice(0, n), slice(n, n + len(self.target.points))

    @property
    def shift(self) -> FloatArray:
        """z̄: the mean of all source rows less that of all target rows, in all coordinates."""
        return np.concatenate([self.source.mean, -self.target.mean])

    @property
    def spread(self) -> float:
        """What the mean squared distance across the domains would be if their means coincided.

        A squared distance that needs no labels, follows the scale of the features, does not depend on where their
        origin is, and exists where all cross-domain distances are equal (an RBF kernel). Where no row differs from
        another it is the mean squared distance itself, or one where that is zero too.
        """
        variance = self.source.variance + self.target.variance
        squared = self.source.squared + self.target.squared
        return variance if variance > np.finfo(np.float64).eps ** 1.5 * squared else squared or 1.0


def _sides(domains: TwoDomains) -> list[tuple[str, Domain, IntArray]]:
    """The name, the rows, and the numbers of those that have a label or are in a pair, of either domain."""
    both = ("X_source", domains.source), ("X_target", domains.target)
    sides = [(name, domain, domain.labelled) for name, domain in both]
    if domains.pairs is None:
        return sides
    paired = domains.pairs.source, domains.pairs.target
    return [(name, side, np.union1d(rows, paired[k])) for k, (name, side, rows) in enumerate(sides)]


def _places(domains: TwoDomains) -> KnownPairs | None:
    """The pairs by places among the rows that are learned from."""
    if domains.pairs is None:
        return None
    source, target = (rows for _, _, rows in _sides(domains))
    return domains.pairs.among((source, target))
