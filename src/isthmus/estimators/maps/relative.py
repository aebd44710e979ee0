"""Relative representations: a row is what it has in common with each of the anchors."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.common_space import CommonSpace
from isthmus.domains import TwoDomains
from isthmus.estimators.maps.base import PairedMap, anchors, centred_space
from isthmus.spaces import JointSpace


class RelativeRepresentations(PairedMap):
    r"""Describe the rows of either domain by their cosines to the paired rows of that domain.

    .. math:: a \mapsto (\cos(a, a_1), \dots, \cos(a, a_P)), \qquad b \mapsto (\cos(b, b_1), \dots, \cos(b, b_P))

    with rows centred on the paired ones. Nothing is fitted: the known pairs :math:`(a_i, b_i)` are the coordinates.
    Points are compared by their cosine (Moschella et al. 2023).

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
    >>> from isthmus import RelativeRepresentations
    >>> A = np.random.default_rng(0).normal(size=(50, 4))
    >>> turned = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> relative = RelativeRepresentations().fit(A[:20], None, 3.0 * A[:20] @ turned, None, pairs="rows")
    >>> _, found = relative.search(3.0 * A[20:] @ turned, A[20:], 1)
    >>> (found[:, 0] == np.arange(30)).mean()
    np.float64(1.0)
    """

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: Any) -> tuple[CommonSpace, dict[str, Any]]:
        both, axes, weights = anchors(joint)
        maps = []
        for X in both:
            lengths = np.linalg.norm(X, axis=1)
            # The length of the row itself scales all of its cosines alike, and the point is scaled anyway.
            maps.append((X / np.where(lengths > 0.0, lengths, 1.0)[:, None]).T * np.sqrt(weights))
        return centred_space(joint, axes, (maps[0], maps[1]), (len(weights),)), {}
