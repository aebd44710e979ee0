"""Ridge maps: either domain predicted from the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._validation import choice, number
from isthmus.common_space import CommonSpace
from isthmus.domains import TwoDomains
from isthmus.estimators.from_blocks import MomentPairs, PairMomentEstimator
from isthmus.estimators.maps.base import PairedMap, anchors, centred_space
from isthmus.kernels import Kernel
from isthmus.maps import PENALTIES, ridge
from isthmus.scale.left_out import ridge_of_pairs
from isthmus.spaces import JointSpace

WAYS = ("both", "to target", "to source")


class RidgeMap(PairMomentEstimator, PairedMap):
    r"""Predict the rows of either domain from those of the other, and compare with what is there.

    .. math::

       f = \arg\min_W \sum_i w_i \lVert b_i - W^T a_i \rVert^2 + \lambda \lVert W \rVert^2, \quad
       g \text{ likewise from } b \text{ to } a, \qquad
       s(a, b) = \cos(f(a), b) + \cos(a, g(b))

    over known pairs :math:`(a_i, b_i)`, centred on their means and within their span, in closed form. Each penalty λ
    is the one with the least error of leaving out each pair in turn, which is exact and needs no further fit.

    It is a metric: a source row becomes the point [f(a); a], a target row [b; g(b)], each half at unit length, and
    the squared distance of two points is 4 - 2 s.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain. With kernels, it is their features that are predicted, within the span
        of the paired rows.
    penalty : float or "auto"
        λ > 0 for both ways, in units of the mean eigenvalue of the paired rows' Gram matrix.
    ways : {"both", "to target", "to source"}
        Which cosines count.
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`MLHD`.

    Attributes
    ----------
    common_space_ : CommonSpace
        What was learned.
    penalties_ : (float, float)
        λ of f and of g, as they enter the formula.
    references_, kernels_, classes_
        As in :class:`MLHD`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import RidgeMap
    >>> A = np.random.default_rng(0).normal(size=(50, 4))
    >>> B = A @ np.random.default_rng(1).normal(size=(4, 7)) + 3.0
    >>> maps = RidgeMap().fit(A[:20], None, B[:20], None, pairs="rows")
    >>> _, found = maps.search(B[20:], A[20:], 1)
    >>> (found[:, 0] == np.arange(30)).mean()
    np.float64(1.0)
    """

    penalties_: tuple[float, float]

    def __init__(
        self,
        source_kernel: Kernel | str = "linear",
        target_kernel: Kernel | str = "linear",
        *,
        penalty: float | str = "auto",
        ways: str = "both",
        rule: Any = "nearest",
        references: str = "source",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        super().__init__(
            source_kernel,
            target_kernel,
            rule=rule,
            references=references,
            n_neighbors=n_neighbors,
            source_transformer=source_transformer,
            target_transformer=target_transformer,
        )
        self.penalty = penalty
        self.ways = ways

    def _validate(self) -> FloatArray:
        super()._validate()
        choice(self.ways, "ways", WAYS)
        if isinstance(self.penalty, str) and self.penalty == "auto":
            return PENALTIES
        return np.array([number(self.penalty, "penalty", low=0.0, strict=True)])

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: Any) -> tuple[CommonSpace, dict[str, Any]]:
        (A, B), axes, weights = anchors(joint)
        if isinstance(joint, MomentPairs):
            both = joint.many, joint.moments, (A, B), (axes[0].axes, axes[1].axes), settings
            f, g = ridge_of_pairs(*both), ridge_of_pairs(*both, back=True)
        else:
            f, g = (ridge(X, Y, weights=weights, penalties=settings) for X, Y in ((A, B), (B, A)))
        halves = {"to target": (f.map.W, np.eye(B.shape[1])), "to source": (np.eye(A.shape[1]), g.map.W)}
        kept = list(halves.values()) if self.ways == "both" else [halves[self.ways]]
        maps = [np.hstack([half[k] for half in kept]) for k in (0, 1)]
        space = centred_space(joint, axes, (maps[0], maps[1]), tuple(half[0].shape[1] for half in kept))
        return space, {"penalties_": (f.penalty, g.penalty)}
