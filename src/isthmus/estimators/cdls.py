"""CDLS: a map of the source onto the target, and weights of the rows that make good landmarks (Tsai et al. 2016)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sla
from sklearn.svm import LinearSVC

from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, check_number
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import LABELS_AND_ROWS, SystemFacts, check_two_classes
from isthmus.estimators.mapped import Learned, MetricEstimator, centred_space
from isthmus.exceptions import ConvergenceWarning, warn
from isthmus.geometry.spaces import JointSpace, find_axes


@dataclass(frozen=True, eq=False)
class LandmarkMatching:
    r"""How far source rows, mapped by A and weighted by α, are from target rows, weighted by β.

    .. math::

       \Big\| \frac{\sum_i \alpha_i a_i}{\delta n_s} - \frac{\sum_j l_j + \sum_k \beta_k u_k}{n_l + \delta n_u}
       \Big\|^2 + \sum_c \big\| \text{the same of class } c \big\|^2 + \sum_c \frac{1}{e_c} \sum_{i,j,k \in c}
       \|\alpha_i a_i - l_j\|^2 + \|l_j - \beta_k u_k\|^2 + \|\beta_k u_k - \alpha_i a_i\|^2, \qquad a_i = A^T x_i

    :math:`e_c = \delta n_s n_l + \delta n_l n_u + \delta^2 n_u n_s` of the class. Everything is computed from sums
    over classes: no table of pairs is made. It is a convex quadratic in A, and one in (α, β).

    Parameters
    ----------
    X : array (n_s, d)
        Source rows.
    labelled, free : array (n_l, m) and (n_u, m)
        Target rows in the common space, with a label and without.
    codes : tuple of array
        Their classes: of the source, of labelled rows, and those guessed of rows without a label.
    n_classes : int
        How many there are.
    share : float
        δ, the mean weight of a row in each class.
    """

    X: FloatArray
    labelled: FloatArray
    free: FloatArray
    codes: tuple[IntArray, IntArray, IntArray]
    n_classes: int
    share: float

    @property
    def counts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Rows of each class (C,): of the source, with a label, without."""
        n_s, n_l, n_u = (np.bincount(y, minlength=self.n_classes).astype(float) for y in self.codes)
        return n_s, n_l, n_u

    @property
    def scales(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """1 / (δ n_s), 1 / (n_l + δ n_u) and 1 / e of each class (C,); zero where a class has no such rows."""
        n_s, n_l, n_u = self.counts
        d = self.share
        parts = d * n_s, n_l + d * n_u, d * n_s * n_l + d * n_l * n_u + d**2 * n_u * n_s
        first, second, third = (np.divide(1.0, p, out=np.zeros_like(p), where=p > 0.0) for p in parts)
        both = (first > 0.0) & (second > 0.0)  # a mean of nothing is no mean to match
        return first * both, second * both, third

    def of_classes(self, rows: FloatArray, which: int) -> FloatArray:
        """Return the sums (C, ·) of rows over classes: of the source (0), the labelled (1) or the free rows (2)."""
        sums = np.zeros((self.n_classes, rows.shape[1]))
        np.add.at(sums, self.codes[which], rows)
        return sums

    def best_map(self, alpha: FloatArray, beta: FloatArray, penalty: float) -> FloatArray:
        """Return A (d, m), the minimum with the ridge penalty ‖A‖² added, for given weights."""
        n_s, n_l, n_u = self.counts
        first, second, third = self.scales
        S = self.of_classes(alpha[:, None] * self.X, 0)
        T = self.of_classes(self.labelled, 1) + self.of_classes(beta[:, None] * self.free, 2)
        total = 1.0 / (self.share * n_s.sum()), 1.0 / (n_l.sum() + self.share * n_u.sum())
        g, t = total[0] * S.sum(axis=0), total[1] * T.sum(axis=0)
        w = (third * (n_l + n_u))[self.codes[0]] * alpha**2
        H = np.outer(g, g) + S.T @ (first[:, None] ** 2 * S) + self.X.T @ (w[:, None] * self.X)
        R = np.outer(g, t) + S.T @ ((first * second + third)[:, None] * T)
        H[np.diag_indices_from(H)] += penalty
        return np.asarray(sla.solve(H, R, assume_a="pos"))

    def value_and_gradient(self, A: FloatArray, z: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective at weights z = [α; β] (n_s + n_u,), and its gradient, for mapped rows A (n_s, m)."""
        n_s, n_l, n_u = self.counts
        (first, second, third), (ys, yl, yu) = self.scales, self.codes
        alpha, beta = z[: len(A)], z[len(A) :]
        S, V = self.of_classes(alpha[:, None] * A, 0), self.of_classes(beta[:, None] * self.free, 2)
        L = self.of_classes(self.labelled, 1)
        total = 1.0 / (self.share * n_s.sum()), 1.0 / (n_l.sum() + self.share * n_u.sum())
        apart = total[0] * S.sum(axis=0) - total[1] * (L + V).sum(axis=0)
        by_class = first[:, None] * S - second[:, None] * (L + V)
        squares = [np.einsum("ij,ij->i", rows, rows) for rows in (A, self.labelled, self.free)]
        own = alpha**2 @ ((third * (n_l + n_u))[ys] * squares[0]) + (third * (n_s + n_u))[yl] @ squares[1]
        own += beta**2 @ ((third * (n_s + n_l))[yu] * squares[2])
        crossed = float(np.sum(third[:, None] * (S * L + L * V + V * S)))
        value = float(apart @ apart + np.sum(by_class**2) + own - 2.0 * crossed)
        pull = total[0] * apart + (first[:, None] * by_class) - third[:, None] * (L + V)
        push = -total[1] * apart - (second[:, None] * by_class) - third[:, None] * (L + S)
        d_alpha = alpha * (third * (n_l + n_u))[ys] * squares[0] + np.einsum("ij,ij->i", A, pull[ys])
        d_beta = beta * (third * (n_s + n_l))[yu] * squares[2] + np.einsum("ij,ij->i", self.free, push[yu])
        return value, 2.0 * np.concatenate([d_alpha, d_beta])


# Of an interval, until it is rounding.
HALVINGS = 60
# Steps to the best weights.
MOST_STEPS = 2000


@dataclass(frozen=True, eq=False)
class Shares:
    """The set of weights z (n,) in [0, 1] whose sum in each group is a share of its size.

    Parameters
    ----------
    groups : array (n,)
        The group of every weight, counted from 0.
    share : float
        The mean weight, in (0, 1].
    """

    groups: IntArray
    share: float

    @property
    def sums(self) -> FloatArray:
        """What the weights of each group add up to."""
        return np.asarray(self.share * np.bincount(self.groups))

    def nearest(self, z: FloatArray) -> FloatArray:
        """Return the point of the set that is nearest to z: each group shifted by a number, and cut off at 0 and 1.

        Examples
        --------
        >>> Shares(np.array([0, 0, 0, 1, 1]), 0.5).nearest(np.array([5.0, 0.2, -3.0, 1.0, 1.0])).round(6)
        array([1. , 0.5, 0. , 0.5, 0.5])
        """
        sums, n = self.sums, len(self.sums)
        low, high = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(low, self.groups, z - 1.0)
        np.maximum.at(high, self.groups, z)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            found = np.bincount(self.groups, np.clip(z - middle[self.groups], 0.0, 1.0), minlength=n)
            low, high = np.where(found > sums, middle, low), np.where(found > sums, high, middle)
        return np.asarray(np.clip(z - (0.5 * (low + high))[self.groups], 0.0, 1.0))

    def least(self, g: FloatArray) -> float:
        """Return the least value of gᵀz over the set: full weight for the smallest of each group."""
        # A linear function is least where each group gives full weight to its smallest entries, in order.
        order = np.lexsort((g, self.groups))
        sizes = np.bincount(self.groups)
        place = np.arange(len(g)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return float(g[order] @ np.clip(self.sums[self.groups[order]] - place, 0.0, 1.0))


def find_weights(
    objective: Callable[[FloatArray], tuple[float, FloatArray]], shares: Shares, start: FloatArray, tol: float
) -> tuple[FloatArray, float, float]:
    """Return the minimum of a convex quadratic (value and gradient) over a set of weights, its value and its gap.

    Accelerated projected gradients with restarts; the step is halved where the quadratic is steeper than thought. The
    gap, gᵀz less its least value over the set, bounds what is left to gain.
    """
    z, x, momentum, step = shares.nearest(start), shares.nearest(start), 1.0, 1.0
    value = np.inf
    for k in range(MOST_STEPS):
        f, g = objective(x)
        if k == 0:
            step = 1.0 / (float(np.abs(g).max()) or 1.0)
        while True:
            new = shares.nearest(x - step * g)
            moved = new - x
            f_new, g_new = objective(new)
            if f_new <= f + g @ moved + 0.5 / step * (moved @ moved) + 1e-14 * abs(f):
                break
            step *= 0.5
        gap = float(g_new @ new) - shares.least(g_new)
        if gap <= tol * abs(f_new):
            return new, f_new, max(gap, 0.0)
        if f_new > value:  # the momentum has overshot
            x, momentum, value = z, 1.0, np.inf
            continue
        # Nesterov's sequence of momenta.
        later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        x, z, momentum, value = new + (momentum - 1.0) / later * (new - z), new, later, f_new
        # A step that was halved in a steep place may grow again.
        step *= 1.1
    f, g = objective(z)
    return z, f, max(float(g @ z) - shares.least(g), 0.0)


# Axes of no more than this part of the largest deviation are left out.
FLAT = 1e-10


@dataclass(kw_only=True, eq=False, repr=False)
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
    memory (the program of the release is another one, and not convex: docs/systems.md). In the classifier source
    rows count by their weights, and labelled target rows as much, together, as the source; both domains are centred
    first.

    Parameters
    ----------
    n_components : int
        Principal axes of the target at most; 100 as published.
    share : float
        δ in (0, 1], the mean weight of a row; 0.5 as published, 1 has no landmarks.
    penalty : float
        λ > 0; 0.5 as published, where rows have length one.
    n_rounds : int
        The number of rounds of learning maps, classes and weights; 5 as released.
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

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("cdls", "related work", "Tsai et al. 2016", LABELS_AND_ROWS),
    )

    intercept = True
    n_components: int = 100
    share: float = 0.5
    penalty: float = 0.5
    n_rounds: int = 5
    tol: float = 1e-3
    rule: Any = "linear"
    references: str = "both"
    landmarks_: dict[str, FloatArray] = field(init=False)

    def _validate(self) -> None:
        super()._validate()
        check_number(self.n_components, "n_components", low=1, whole=True)
        check_number(self.share, "share", low=0.0, high=1.0, strict=True)
        check_number(self.penalty, "penalty", low=0.0, strict=True)

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of_features(domains)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: None) -> Learned:
        check_two_classes(domains)
        sides = (domains.source.X, "X_source: expected"), (domains.target.X, "X_target: expected")
        axes = [find_axes(*side, tolerance=FLAT) for side in sides]
        axes[1] = axes[1].leading(min(int(self.n_components), axes[1].axes.shape[1]))
        X, Y = (a.coordinates(domain.X) for a, domain in zip(axes, (domains.source, domains.target), strict=True))
        A, alpha, beta = self._rounds(X, Y, domains)
        W_s = axes[0].axes @ A
        space = centred_space(joint, (W_s, axes[1].axes), (axes[0].mean, axes[1].mean))
        weights = reference_weights(alpha, len(domains.target.labelled))
        return space, {"landmarks_": {"source": alpha, "target": beta}, "reference_weights": weights}

    def _rounds(self, X: FloatArray, Y: FloatArray, domains: TwoDomains) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the map between coordinates, and the weights of source rows and of unlabelled target rows."""
        ys, yt = domains.source.y, domains.target.y
        known, free = domains.target.labelled, np.flatnonzero(yt == UNLABELLED)
        yl, C = yt[known], len(domains.classes)
        alpha: FloatArray = np.ones(len(X))
        beta: FloatArray = np.ones(len(free))
        share = 1.0
        # The first map knows labelled rows only: guesses need a map to be made in.
        matching = LandmarkMatching(X, Y[known], Y[free[:0]], (ys, yl, free[:0]), C, 1.0)
        A = matching.best_map(alpha, beta[:0], self.penalty)
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
        # Weights are shared out within each class of either domain; classes without rows leave no gap.
        codes = np.concatenate([matching.codes[0], matching.n_classes + matching.codes[2]])
        shares = Shares(np.unique(codes, return_inverse=True)[1], matching.share)
        start, objective = np.concatenate([alpha, beta]), partial(matching.value_and_gradient, mapped)
        z, value, gap = find_weights(objective, shares, start, self.tol)
        if gap > self.tol * value:
            warn(f"CDLS: weights stopped at a gap of {gap / value:.1e} (goal {self.tol:.0e}).", ConvergenceWarning)
        return z[: len(mapped)], z[len(mapped) :]


def reference_weights(alpha: FloatArray, n_labelled: int) -> FloatArray:
    """Return weights of source rows and labelled target rows (n_s + n_l,); either domain has a total of n_s."""
    n = len(alpha)
    return np.concatenate([alpha * (n / alpha.sum()), np.full(n_labelled, n / n_labelled)])


def _guesses(
    mapped: FloatArray, ys: IntArray, known: FloatArray, yl: IntArray, free: FloatArray, alpha: FloatArray
) -> IntArray:
    """Return the classes of unlabelled target rows, by support vectors over both domains."""
    if not len(free):
        return np.zeros(0, dtype=np.intp)
    weights = reference_weights(alpha, len(yl))
    rule = LinearSVC(random_state=0).fit(np.vstack([mapped, known]), np.concatenate([ys, yl]), sample_weight=weights)
    return np.asarray(rule.predict(free), dtype=np.intp)
