"""HeMap: one set of coordinates for paired rows of two domains (Shi et al. 2010)."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._core.linalg import principal_axes
from isthmus._core.validation import check_choice
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import PAIRS, SystemFacts
from isthmus.estimators.cca import LabelMoments
from isthmus.estimators.eigenmaps import Projection, check_rows_differ, mean_point
from isthmus.estimators.mapped import Both, Learned
from isthmus.exceptions import InputError
from isthmus.geometry.kernels import Kernel
from isthmus.geometry.spaces import JointSpace
from isthmus.maps.eigen import SharedCoordinates

# Coordinates of known pairs, unless another number is asked for.
USUAL = 20
# Of these, only such whose eigenvalue is at least this part of the largest: maps of others blow up noise.
FAINT = 1e-3


class HeMap(Projection):
    r"""Find common coordinates of paired rows from which either domain can be rebuilt.

    .. math::

       \min_{B_T, B_S, P_T, P_S} \|T - B_T P_T\|^2 + \|S - B_S P_S\|^2
       + \frac\beta2 \big( \|T - B_S P_T\|^2 + \|S - B_T P_S\|^2 \big), \qquad [B_T; B_S]^T [B_T; B_S] = I

    over pairs, row i of S (r, d_s) and of T (r, d_t): Shi, Liu, Fan, Yu and Zhu, *Transfer learning on heterogeneous
    feature spaces via spectral transformation*, ICDM 2010. B is made of the leading left singular vectors of

    .. math:: F = \begin{pmatrix} 2T & \beta S \\ \beta T & 2S \end{pmatrix} \qquad (2r, d_t + d_s)

    and the maps of new rows are the pseudo-inverses of :math:`P_T = B_T^+ T` and :math:`P_S = B_S^+ S`. It learns a
    metric. Written from memory of the paper and derived anew; its sampling and its Bayesian step were not seen. The
    one orthonormality stands, as published, for one of each half of B; vectors whose halves point in opposite ways,
    which that lets in, are left out (on real data none was among the first 20).

    **It needs pairs.** Row i of S and row i of T share their coordinates: in an arbitrary order of rows, the result
    is chance, and this class refuses to guess one.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain.
    correspondence : {"pairs", "labels"}
        What the rows of S and T are: known pairs, with their weights; or each labelled target row with every source
        row of its class, by class sums, never one by one.
    n_components : int, optional
        How many coordinates to keep, at most as many as either domain's paired rows span; None keeps 20, or from
        labels as many as there are classes, less one, and of these only such whose eigenvalue is at least a
        thousandth of the largest.
    similarity_weight : float
        β > 0, how much rows that are paired have to agree.
    points, rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`CDSPP`.

    Attributes
    ----------
    eigenvalues_ : array (k,)
        Of :math:`F F^T / 2`, largest first.
    residual_ : float
        The certificate: the largest part by which its leading directions differ from eigenvectors.
    common_space_, kernels_, references_, classes_
        As in :class:`CDSPP`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import HeMap
    >>> A = np.random.default_rng(0).normal(size=(50, 4))
    >>> turned = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> mapped = HeMap().fit(A[:20], None, A[:20] @ turned, None, pairs="rows")
    >>> _, found = mapped.search(A[20:] @ turned, A[20:], 1)
    >>> (found[:, 0] == np.arange(30)).mean()
    np.float64(1.0)
    """

    systems = (SystemFacts("hemap", "projections", "Shi et al. 2010", PAIRS),)

    takes_pairs = True
    correspondence: str
    similarity_weight: float

    def __init__(
        self,
        source_kernel: Kernel | str = "linear",
        target_kernel: Kernel | str = "linear",
        *,
        correspondence: str = "pairs",
        n_components: int | None = None,
        similarity_weight: float = 1.0,
        points: str = "unit",
        rule: Any = "means",
        references: str = "both",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self._set_parameters(locals())

    @property
    def needs_pairs(self) -> bool:  # type: ignore[override]  # here a parameter decides
        """Whether it learns from known pairs and nothing else."""
        return self.correspondence == "pairs"

    def _validate(self) -> None:
        super()._validate()
        check_choice(self.correspondence, "correspondence", ("pairs", "labels"))

    def _check_use_of(self, pairs: Any) -> None:
        if pairs is None and self.needs_pairs:
            raise InputError(
                "pairs: expected known pairs of rows, as HeMap learns from nothing else and the order of rows is no "
                'pairing (correspondence="labels" pairs rows of one class), got None.'
            )
        if pairs is not None and not self.needs_pairs:
            raise InputError('pairs: expected None for correspondence="labels", got pairs.')

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: None) -> Learned:
        S, T = take_paired_rows(joint) if joint.pairs is not None else pair_rows_by_label(joint)
        most = min(len(principal_axes(X, centre=False).deviations) for X in (S, T))
        if most < 1:
            raise InputError(
                "X_source: expected paired rows that are not zero in both domains, got only zeros in one."
            )
        shared = SharedCoordinates.of(S, T, self.similarity_weight)
        if not len(shared.values):
            raise InputError("pairs: expected rows that vary together, got pairs that agree in nothing.")
        usual = USUAL if joint.pairs is not None else max(1, joint.n_classes - 1)
        usual = min(usual, int((shared.values >= FAINT * shared.values[0]).sum()))
        found = shared.maps(self._size(usual, min(most, len(shared.values))))
        found = found.fix_signs(np.vstack([found.source, found.target]))
        rows = joint.source.points, joint.target.points
        return self._conclude(joint, found, mean_point(found, rows))


def take_paired_rows(joint: JointSpace) -> Both:
    """Return the rows of known pairs, pair by pair: one of weight w counts as w pairs."""
    if joint.pairs is None:
        raise InputError("pairs: expected known pairs of rows, got None.")
    # Squared in every sum over pairs.
    root = np.sqrt(joint.pairs.weights)[:, None]
    S, T = joint.source.points[joint.pairs.source], joint.target.points[joint.pairs.target]
    check_rows_differ((S, T))
    return root * S, root * T


def pair_rows_by_label(joint: JointSpace) -> Both:
    """Return as many rows as have labels, and one per class, in place of all pairs of a class: FᵀF is the same.

    Over the n m pairs of a class, a turn of the pairs among themselves leaves one of the two means, counted n m
    times, and the deviations from them, each with nothing on the other side.
    """
    rows, y = (joint.source.points, joint.target.points), (joint.source.y, joint.target.y)
    moments = LabelMoments.of(rows, y, joint.n_classes)
    both = (moments.counts[0] > 0.0) & (moments.counts[1] > 0.0)
    parts: list[Both] = []
    for c in np.flatnonzero(both):
        X, Y = (part[codes == c] for part, codes in zip(moments.rows, moments.y, strict=True))
        n, m = len(X), len(Y)
        x, y_ = X.mean(axis=0), Y.mean(axis=0)
        parts.append((np.sqrt(n * m) * x[None], np.sqrt(n * m) * y_[None]))
        parts.append((np.sqrt(m) * (X - x), np.zeros((n, len(y_)))))
        parts.append((np.zeros((m, len(x))), np.sqrt(n) * (Y - y_)))
    return np.vstack([S for S, _ in parts]), np.vstack([T for _, T in parts])
