"""Which rows are paired, as two sparse matrices whose product counts the pairs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from isthmus._arrays import Matrix
from isthmus.spaces import JointSpace


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
