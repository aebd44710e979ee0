"""Known pairs as a start: a ridge map learned from them takes target rows to the source's own classifier."""

from __future__ import annotations

import numpy as np

from isthmus.maps import ridge
from isthmus.matching.preparation import unit
from isthmus.transfer.rows import TransferRows
from isthmus.transfer.starts.mapped_rule import LinearRule, MappedRule


def paired_rule(rows: TransferRows) -> MappedRule:
    r"""Probabilities of the source's classes by :math:`s(\hat f(x))`, the map f learned from the known pairs.

    .. math:: \min_f \sum_{ij \text{ known}} \omega_{ij} \lVert f(b_j) - a_i \rVert^2 + \lambda \lVert f \rVert^2

    The penalty has the least error of leaving out each pair in turn.
    """
    assert rows.pairs is not None
    A, B, taught = unit(rows.source), unit(rows.target), rows.ys >= 0
    learned = ridge(B[rows.pairs.target], A[rows.pairs.source], weights=rows.pairs.weights).map
    shares = rows.shares[rows.shared]
    classifier = LinearRule.of(A[taught], np.searchsorted(rows.shared, rows.ys[taught]))
    return MappedRule.of(learned, classifier, B, shares / shares.sum())
