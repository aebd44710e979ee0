"""Which rows are paired, as two sparse matrices whose product counts the pairs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from isthmus._arrays import Matrix
from isthmus.estimators.from_blocks import ManyRows
from isthmus.linalg import principal_axes
from isthmus.maps import PairedRows
from isthmus.scale.pair_moments import points_with_covariance
from isthmus.spaces import JointSpace


def paired_rows(joint: JointSpace) -> PairedRows:
    """The rows of both domains, paired by what is known: pairs, or classes."""
    if isinstance(joint, ManyRows):
        return _of_class_sums(joint)
    L, R = label_incidence(joint) if joint.pairs is None else pair_incidence(joint)
    return PairedRows.of(joint.source.points, joint.target.points, L, R)


def _of_class_sums(joint: ManyRows) -> PairedRows:
    """Of source rows in blocks: few rows with their covariance over the pairs, and their class sums."""
    counts, means, y = joint.found.counts, joint.found.means, joint.target.y
    of_target = np.bincount(y, minlength=len(counts)).astype(np.float64)
    n = float(counts @ of_target)
    mean = (counts * of_target) @ means / n
    D = means - mean
    A = points_with_covariance((joint.within(of_target) + (D.T * (counts * of_target)) @ D) / n)
    B, weights = joint.target.points, counts[y].astype(np.float64)
    axes = principal_axes(A + mean), principal_axes(B, weights=weights)
    sums = np.zeros((len(counts), B.shape[1]))
    np.add.at(sums, y, B - axes[1].mean)
    shares = np.full(len(A), n / len(A))
    return PairedRows((A, B - axes[1].mean), axes, (shares, weights), (counts[:, None] * D, sums))


def label_incidence(joint: JointSpace) -> tuple[Matrix, Matrix]:
    """One group per class: the one-hot labels of either domain, zero where there is none."""
    one_hot = []
    for side in (joint.source, joint.target):
        rows, shape = side.labelled, (len(side.y), joint.n_classes)
        one_hot.append(sp.csr_array((np.ones(len(rows)), (rows, side.y[rows])), shape=shape))
    return one_hot[0], one_hot[1]


def pair_incidence(joint: JointSpace) -> tuple[Matrix, Matrix]:
    """One group per target row: with what weight each source row is paired with it."""
    shape = len(joint.source.y), len(joint.target.y)
    if joint.pairs is None:
        return sp.csr_array(shape), sp.csr_array(sp.identity(shape[1]))
    places = joint.pairs.source, joint.pairs.target
    return sp.coo_array((joint.pairs.weights, places), shape=shape).tocsr(), sp.csr_array(sp.identity(shape[1]))
