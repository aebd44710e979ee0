"""CDLS: cross-domain landmarks, by the weights of rows that stand for their class (Tsai et al. 2016)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import number
from isthmus.common_space import CommonSpace
from isthmus.domains import UNLABELLED, TwoDomains
from isthmus.estimators.cdls.matching import LandmarkMatching
from isthmus.estimators.cdls.weights import Shares, best_weights
from isthmus.estimators.classifiers.base import require_classes
from isthmus.estimators.mapped import MetricEstimator
from isthmus.exceptions import ConvergenceWarning, InputError, warn
from isthmus.linalg import PrincipalAxes, principal_axes
from isthmus.spaces import FeatureSpace, JointSpace

FLAT = 1e-10
"""Axes of no more than this part of the largest deviation are left out."""


class CDLS(MetricEstimator):
    r"""Map the source onto the principal axes of the target, so that weighted rows and means of the classes meet.

    .. math::

       \min_{A, \alpha, \beta}\; E(A, \alpha, \beta) + \lambda \|A\|^2, \qquad 0 \le \alpha, \beta \le 1, \quad
       \text{means of α and β in each class} = \delta

    where E is how far weighted means of the domains, of their classes, and weighted rows of each class are apart
    (docs/systems.md). Rows with a large weight are the *landmarks*. In turn: A in closed form; the classes of
    unlabelled target rows by support vectors in the common space; the weights by a quadratic program, which is
    convex and solved with a gap. Only sums over classes enter, never pairs of rows.

    Y.-H. H. Tsai, Y.-R. Yeh and Y.-C. F. Wang, *Learning cross-domain landmarks for heterogeneous domain
    adaptation*, CVPR 2016: the map is that of the public release; the weights follow the paper's objective from
    memory (the release's program is possibly indefinite). In the classifier source rows count by their weights, and
    labelled target rows as much, together, as the source; both domains are centred first.

    Parameters
    ----------
    n_components : int
        Principal axes of the target at most; 100 as published.
    share : float
        δ in (0, 1], the mean weight of a row; 0.5 as published, 1 has no landmarks.
    penalty : float
        λ > 0; 0.5 as published, where rows have length one.
    n_rounds : int
        How often maps, classes and weights are learned anew; 5 as released.
    tol : float
        The gap of the weights, as a part of E.
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`~isthmus.MLHD`, but for the defaults: a linear rule, learned from both domains.

    Attributes
    ----------
    common_space_ : CommonSpace
        What was learned.
    landmarks_ : dict of str to array
        α (n_s,) of "source" and β (n_u,) of the unlabelled rows of "target".
    references_, kernels_, classes_
        As in :class:`~isthmus.MLHD`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import CDLS
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> cdls = CDLS().fit(X_source, y_source, X_target, y_target)
    >>> cdls.predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    >>> cdls.landmarks_["target"].round(2)
    array([0.5, 0.5])
    """

    intercept = True
    landmarks_: dict[str, FloatArray]

    def __init__(
        self,
        *,
        n_components: int = 100,
        share: float = 0.5,
        penalty: float = 0.5,
        n_rounds: int = 5,
        tol: float = 1e-3,
        rule: Any = "linear",
        references: str = "both",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self.n_components = n_components
        self.share = share
        self.penalty = penalty
        self.n_rounds = n_rounds
        self.tol = tol
        self.rule = rule
        self.references = references
        self.n_neighbors = n_neighbors
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _validate(self) -> None:
        super()._validate()
        number(self.n_components, "n_components", low=1, whole=True)
        number(self.share, "share", low=0.0, high=1.0, strict=True)
        number(self.penalty, "penalty", low=0.0, strict=True)
        number(self.n_rounds, "n_rounds", low=1, whole=True)
        number(self.tol, "tol", low=0.0, strict=True)

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of_features(domains)

    def _fit_joint(
        self, domains: TwoDomains, joint: JointSpace, settings: None
    ) -> tuple[CommonSpace, dict[str, Any]]:
        require_classes(domains)
        axes = _axes(domains.source.X, "X_source"), _axes(domains.target.X, "X_target")
        axes = axes[0], axes[1].leading(min(int(self.n_components), axes[1].axes.shape[1]))
        X, Y = (a.coordinates(domain.X) for a, domain in zip(axes, (domains.source, domains.target), strict=True))
        A, alpha, beta = self._rounds(X, Y, domains)
        W_s = axes[0].axes @ A
        offsets = -np.vstack([axes[0].mean @ W_s, axes[1].mean @ axes[1].axes])
        spaces = FeatureSpace(domains.source.X.shape[1]), FeatureSpace(domains.target.X.shape[1])
        space = CommonSpace(*spaces, np.vstack([W_s, axes[1].axes]), projected=True, offsets=offsets)
        weights = reference_weights(alpha, len(domains.target.labelled))
        return space, {"landmarks_": {"source": alpha, "target": beta}, "reference_weights": weights}

    def _rounds(self, X: FloatArray, Y: FloatArray, domains: TwoDomains) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The map between coordinates, and the weights of source rows and of unlabelled target rows."""
        ys, yt = domains.source.y, domains.target.y
        known, free = domains.target.labelled, np.flatnonzero(yt == UNLABELLED)
        yl, C = yt[known], len(domains.classes)
        nobody = np.zeros(0, dtype=np.intp)
        alpha: FloatArray = np.ones(len(X))
        beta: FloatArray = np.ones(len(free))
        share = 1.0
        A = LandmarkMatching(X, Y[known], Y[free[:0]], (ys, yl, nobody), C, 1.0).best_map(
            alpha, beta[:0], self.penalty
        )
        for _ in range(int(self.n_rounds)):
            guesses = _guesses(X @ A, ys, Y[known], yl, Y[free], alpha)
            matching = LandmarkMatching(X, Y[known], Y[free], (ys, yl, guesses), C, share)
            A = matching.best_map(alpha, beta, self.penalty)
            if self.share < 1.0:
                share = self.share
                matching = LandmarkMatching(X, Y[known], Y[free], (ys, yl, guesses), C, share)
                alpha, beta = self._weights(matching, X @ A, alpha, beta)
                A = matching.best_map(alpha, beta, self.penalty)
        return A, alpha, beta

    def _weights(
        self, matching: LandmarkMatching, mapped: FloatArray, alpha: FloatArray, beta: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        groups = np.unique(
            np.concatenate([matching.codes[0], matching.n_classes + matching.codes[2]]), return_inverse=True
        )[1]
        start = np.concatenate([alpha, beta])
        z, value, gap = best_weights(
            lambda z: matching.value_and_gradient(mapped, z), Shares(groups, matching.share), start, self.tol
        )
        if gap > self.tol * value:
            warn(f"CDLS: weights stopped at a gap of {gap / value:.1e} (goal {self.tol:.0e}).", ConvergenceWarning)
        return z[: len(mapped)], z[len(mapped) :]


def reference_weights(alpha: FloatArray, n_labelled: int) -> FloatArray:
    """How much source rows and labelled target rows count (n_s + n_l,): the domains equally, n_s each."""
    n = len(alpha)
    return np.concatenate([alpha * (n / alpha.sum()), np.full(n_labelled, n / n_labelled)])


def _guesses(
    mapped: FloatArray, ys: IntArray, known: FloatArray, yl: IntArray, free: FloatArray, alpha: FloatArray
) -> IntArray:
    """The classes of unlabelled target rows, by support vectors over both domains."""
    if not len(free):
        return np.zeros(0, dtype=np.intp)
    weights = reference_weights(alpha, len(yl))
    rule = LinearSVC(random_state=0).fit(np.vstack([mapped, known]), np.concatenate([ys, yl]), sample_weight=weights)
    return np.asarray(rule.predict(free), dtype=np.intp)


def _axes(X: Any, name: str) -> PrincipalAxes:
    axes = principal_axes(X, tolerance=FLAT)
    if not axes.axes.shape[1]:
        raise InputError(f"{name}: expected rows that differ from each other, got equal ones.")
    return axes
