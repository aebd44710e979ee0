"""What labels say of rows, as sums over classes: matrices of all pairs of rows are never written."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray, IntArray
from isthmus.domains import UNLABELLED
from isthmus.estimators.from_blocks import ManyRows
from isthmus.linalg import EPS
from isthmus.spaces import JointSpace

CANCELLED = 8.0 * EPS
"""A sum that is no larger than this part of the sum of sizes is rounding."""


@dataclass(frozen=True, eq=False)
class LabelMoments:
    r"""Labelled rows of two domains side by side, z = [x; 0] or [0; y], summed over classes.

    Parameters
    ----------
    rows : (array (n, r_s), array (m, r_t))
        The labelled rows.
    y : (array (n,), array (m,))
        Their label codes.
    counts : (array (C,), array (C,))
        How many rows each class has.
    sums : (array (r_s, C), array (r_t, C))
        :math:`M_s` and :math:`M_t`, the sums of the rows of each class.
    """

    rows: tuple[FloatArray, FloatArray]
    y: tuple[IntArray, IntArray]
    counts: tuple[FloatArray, FloatArray]
    sums: tuple[FloatArray, FloatArray]

    @classmethod
    def of(cls, rows: tuple[FloatArray, FloatArray], y: tuple[IntArray, IntArray], n_classes: int) -> LabelMoments:
        """Of rows with label codes, -1 for none, which are left out."""
        known = [codes != UNLABELLED for codes in y]
        X, Y = (part[k] for part, k in zip(rows, known, strict=True))
        ys, yt = (part[k] for part, k in zip(y, known, strict=True))
        one_hot = [np.eye(n_classes)[codes] for codes in (ys, yt)]
        counts = one_hot[0].sum(axis=0), one_hot[1].sum(axis=0)
        return cls((X, Y), (ys, yt), counts, (_sums(X, one_hot[0]), _sums(Y, one_hot[1])))

    @property
    def totals(self) -> FloatArray:
        """n_c: rows of each class in both domains."""
        return np.asarray(self.counts[0] + self.counts[1])

    @property
    def stacked(self) -> FloatArray:
        """M = [M_s; M_t] (r_s + r_t, C)."""
        return np.vstack(self.sums)

    def weighted(self, weights: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Σ w_c(i) x_i x_iᵀ of either domain, for a weight of each class."""
        source, target = (
            (w[codes][:, None] * X).T @ X for X, codes, w in zip(self.rows, self.y, weights, strict=True)
        )
        return source, target

    @property
    def together(self) -> FloatArray:
        """Z_lᵀ L_w Z_l, with L_w the Laplacian of the graph that joins all rows of one class."""
        M, n = self.stacked, self.totals
        return np.asarray(sla.block_diag(*self.weighted((n, n))) - M @ M.T)

    @property
    def apart(self) -> FloatArray:
        """Z_lᵀ L_b Z_l, with L_b the Laplacian of the graph that joins all rows of different classes."""
        s, N = self.stacked.sum(axis=1), float(self.totals.sum())
        every = np.full(len(self.totals), N)
        return np.asarray(sla.block_diag(*self.weighted((every, every))) - np.outer(s, s) - self.together)

    @property
    def within_classes(self) -> FloatArray:
        """Z_lᵀZ_l − M diag(1/n) Mᵀ: the scatter around the class means of both domains together."""
        ones = np.ones(len(self.totals))
        return np.asarray(sla.block_diag(*self.weighted((ones, ones))) - self._of_means)

    @property
    def between_classes(self) -> FloatArray:
        """M diag(1/n) Mᵀ − ssᵀ/N: the scatter of these means."""
        s = self.stacked.sum(axis=1)
        return np.asarray(self._of_means - np.outer(s, s) / float(self.totals.sum()))

    @property
    def _of_means(self) -> FloatArray:
        M, n = self.stacked, self.totals
        return np.asarray((M / np.where(n > 0.0, n, 1.0)) @ M.T)

    def middle(self, source: FloatArray, target: FloatArray) -> FloatArray:
        """The mean (k,) of all labelled rows along directions (r_s, k), (r_t, k)."""
        s = self.sums[0].sum(axis=1) @ source + self.sums[1].sum(axis=1) @ target
        return np.asarray(s / float(self.totals.sum()))

    def heights(self, source: FloatArray, target: FloatArray) -> FloatArray:
        """How high the classes stand (C, k) along directions (r_s, k), (r_t, k), as seen from the mean of all."""
        totals = self.sums[0].T @ source + self.sums[1].T @ target
        n = self.totals[:, None]
        return np.asarray(totals - n * totals.sum(axis=0) / n.sum())


@dataclass(frozen=True, eq=False)
class BlockLabelMoments(LabelMoments):
    """The same of source rows in blocks: they are none of its rows, and each scatter of theirs is a pass.

    Parameters
    ----------
    many : ManyRows
        The source rows.
    """

    many: ManyRows = field(kw_only=True)

    @classmethod
    def of_many(cls, joint: ManyRows) -> BlockLabelMoments:
        """Of a joint space whose source rows stay where they are."""
        target = LabelMoments.of(
            (joint.source.points, joint.target.points), (joint.source.y, joint.target.y), joint.n_classes
        )
        counts, means = joint.found.counts.astype(np.float64), joint.found.means
        return cls(target.rows, target.y, (counts, target.counts[1]), (counts * means.T, target.sums[1]), many=joint)

    def weighted(self, weights: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Around the means of the classes, and of these."""
        _, target = super().weighted(weights)
        means = self.many.found.means
        return self.many.within(weights[0]) + (means.T * (weights[0] * self.counts[0])) @ means, target


def label_moments(
    joint: JointSpace,
    labelled: tuple[tuple[FloatArray, FloatArray], tuple[IntArray, IntArray]] | None = None,
) -> LabelMoments:
    """Of the rows that are learned from, or of other ones with other codes; of source rows in blocks by passes."""
    if isinstance(joint, ManyRows):
        return BlockLabelMoments.of_many(joint)
    rows, y = labelled or ((joint.source.points, joint.target.points), (joint.source.y, joint.target.y))
    return LabelMoments.of(rows, y, joint.n_classes)


def _sums(X: FloatArray, one_hot: FloatArray) -> FloatArray:
    """Sums of rows over classes (r, C); what is left where they cancel is rounding, and zero."""
    sums, sizes = X.T @ one_hot, np.abs(X).T @ one_hot
    return np.where(np.abs(sums) > CANCELLED * sizes, sums, 0.0)
