"""Procrustes: one domain turned onto the other, and nothing bent."""

from __future__ import annotations

from typing import Any

from isthmus.common_space import CommonSpace
from isthmus.domains import TwoDomains
from isthmus.estimators.from_blocks import PairMomentEstimator
from isthmus.estimators.maps.base import PairedMap, anchors, centred_space
from isthmus.maps import procrustes
from isthmus.spaces import JointSpace


class Procrustes(PairMomentEstimator, PairedMap):
    r"""Turn either domain onto the other, so that paired rows agree best.

    .. math:: \max_{U, V} \sum_i w_i \langle U^T a_i, V^T b_i \rangle \quad\text{s.t.}\quad U^T U = V^T V = I

    over known pairs :math:`(a_i, b_i)`, centred on their means, by one singular value decomposition. With equally
    many features this is the orthogonal map between them; with different numbers, both are turned into the smaller
    space. Points are compared by their cosine.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain.
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`MLHD`.

    Attributes
    ----------
    common_space_, references_, kernels_, classes_
        As in :class:`MLHD`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import Procrustes
    >>> A = np.random.default_rng(0).normal(size=(50, 4))
    >>> turned = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> turn = Procrustes().fit(A[:20], None, A[:20] @ turned + 1.0, None, pairs="rows")
    >>> _, found = turn.search(A[20:] @ turned + 1.0, A[20:], 1)
    >>> (found[:, 0] == np.arange(30)).mean()
    np.float64(1.0)
    """

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: Any) -> tuple[CommonSpace, dict[str, Any]]:
        (A, B), axes, weights = anchors(joint)
        turned = procrustes(A, B, weights=weights)
        return centred_space(joint, axes, (turned.U, turned.V), (turned.U.shape[1],)), {}
