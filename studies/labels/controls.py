"""Controls of the target alone: what a source has to add to, and clusters whose names are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from isthmus._core.linalg import PrincipalAxes, normalize_rows, principal_axes
from isthmus._core.validation import FloatArray, IntArray, as_generator
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import TargetEstimator
from isthmus.estimators.controls import BalancedKMeans, SelfTrainedLDA
from isthmus.geometry.discriminants import SoftLDA, balance, balancing_offsets, centre_scores, score_deviation

COMPONENTS = (2, 3, 5)
"""Principal axes per class, as those of the self-trained LDA."""
ROUNDS, LDA_ROUNDS, RESTARTS = 15, 10, 10


class OnTargetAxes(TargetEstimator):
    """The base of the controls below: target rows on their principal axes, at several sizes."""

    axes_: PrincipalAxes

    def __init__(self, *, source_transformer: Any = None, target_transformer: Any = None) -> None:
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _views(self, axes: PrincipalAxes, X: Any, n_classes: int) -> list[FloatArray]:
        Z = axes.coordinates(X)
        return [normalize_rows(Z[:, :k]) for k in sorted({min(m * n_classes, Z.shape[1]) for m in COMPONENTS})]

    def scores(self, X: Any) -> FloatArray:
        """How well target rows fit the classes (n, C), in units of the deviation among the unlabelled rows."""
        raise NotImplementedError

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The best class of each target row (n,)."""
        rows = self._rows(X, domain)
        return np.asarray(self.classes_[self.scores(rows).argmax(axis=1)])

    def _dimension(self) -> int:
        return len(self.axes_.deviations)


class MeanOfBoth(OnTargetAxes):
    """Self-trained LDA and balanced k-means together: the mean of their scores, either in units of its deviation."""

    members_: tuple[SelfTrainedLDA, BalancedKMeans]
    unit_: float

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        rows = domains.source.X, domains.source.y, domains.target.X, domains.target.y
        lda, kmeans = SelfTrainedLDA().fit(*rows), BalancedKMeans().fit(*rows)
        unit_ = score_deviation(lda.predict_proba(domains.target.X))
        return {"axes_": kmeans.axes_, "members_": (lda, kmeans), "unit_": unit_}

    def scores(self, X: Any) -> FloatArray:
        """The mean of both."""
        lda, kmeans = self.members_
        return np.asarray(centre_scores(lda.predict_proba(X)) / self.unit_ + kmeans.scores(X))


class SourceShares(OnTargetAxes):
    """Self-trained LDA whose guesses are balanced to the class shares of the source, its only word that is heard.

    It begins with the guesses of the self-trained LDA, and calls a row by the same balanced scores.
    """

    discriminants_: tuple[tuple[FloatArray, SoftLDA, FloatArray], ...]

    def _views(self, axes: PrincipalAxes, X: Any, n_classes: int) -> list[FloatArray]:
        """As the self-trained LDA has them: not scaled to unit length again."""
        Z = axes.coordinates(X)
        return [Z[:, :k] for k in sorted({min(m * n_classes, Z.shape[1]) for m in COMPONENTS})]

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        target, C = domains.target, len(domains.classes)
        shares = np.bincount(domains.source.y, minlength=C) / len(domains.source.y)
        begin = SelfTrainedLDA().fit(domains.source.X, domains.source.y, target.X, target.y).predict_proba(target.X)
        axes, y = principal_axes(target.X), target.y
        learned = tuple(_taught(Z, y, begin, shares) for Z in self._views(axes, target.X, C))
        return {"axes_": axes, "discriminants_": learned}

    def scores(self, X: Any) -> FloatArray:
        """Probabilities, averaged over the sizes."""
        views = self._views(self.axes_, X, len(self.classes_))
        each = [
            lda.scores(Z - mean) + offsets for Z, (mean, lda, offsets) in zip(views, self.discriminants_, strict=True)
        ]
        return np.asarray(np.mean([np.exp(S - logsumexp(S, axis=1, keepdims=True)) for S in each], axis=0))


class RandomNames(OnTargetAxes):
    """Clusters of all classes in the target; those of the unlabelled classes are given their names at random.

    What a rule could do without a word from the source: half of the classes by their labels, the others by luck.
    One draw of names says little: the classes with ``arbitrary_names_`` are there to take the mean over all draws.
    """

    discriminant_: tuple[FloatArray, SoftLDA, FloatArray]
    arbitrary_names_: IntArray

    def __init__(
        self, *, random_state: Any = 0, source_transformer: Any = None, target_transformer: Any = None
    ) -> None:
        super().__init__(source_transformer=source_transformer, target_transformer=target_transformer)
        self.random_state = random_state

    def _views(self, axes: PrincipalAxes, X: Any, n_classes: int) -> list[FloatArray]:
        Z = axes.coordinates(X)
        return [normalize_rows(Z[:, : 3 * n_classes])]

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        target, C, rng = domains.target, len(domains.classes), as_generator(self.random_state)
        axes = principal_axes(target.X)
        (Z,) = self._views(axes, target.X, C)
        known = np.unique(target.y[target.labelled])
        P = np.eye(C)[target.y]
        free, unknown = target.y < 0, rng.permutation(np.setdiff1d(np.arange(C), known))
        P[free] = _clusters(Z[target.labelled], target.y[target.labelled], Z[free], np.r_[known, unknown], rng)
        learned = _taught(Z, target.y, P, np.full(C, 1.0 / C))
        return {"axes_": axes, "discriminant_": learned, "arbitrary_names_": domains.classes[np.sort(unknown)]}

    def scores(self, X: Any) -> FloatArray:
        """Scores of the discriminants."""
        (Z,), (mean, lda, offsets) = self._views(self.axes_, X, len(self.classes_)), self.discriminant_
        return lda.scores(Z - mean) + offsets


def _taught(Z: FloatArray, y: IntArray, P: FloatArray, shares: FloatArray) -> tuple[FloatArray, SoftLDA, FloatArray]:
    """A mean, discriminants and offsets after some rounds from guesses P (n, C), balanced to the shares."""
    mean, free, Q = Z.mean(axis=0), y < 0, P.copy()
    Q[~free] = np.eye(len(shares))[y[~free]]
    for _ in range(LDA_ROUNDS):
        lda = SoftLDA.of(Z - mean, Q)
        Q[free] = balance(lda.scores(Z[free] - mean), shares)
    return mean, lda, balancing_offsets(lda.scores(Z[free] - mean), shares)


def _clusters(L: FloatArray, y: IntArray, U: FloatArray, names: IntArray, rng: np.random.Generator) -> FloatArray:
    """Balanced guesses (n_u, C): clusters that begin at the labelled means, the others far from all (k-means++)."""
    Y, least = np.eye(len(names))[y], np.inf
    best: FloatArray = np.zeros((len(U), len(names)))
    known = names[: len(np.unique(y))]
    for _ in range(RESTARTS):
        M = np.stack([L[y == c].mean(axis=0) for c in known])
        while len(M) < len(names):
            D = cdist(U, M, "sqeuclidean").min(axis=1)
            M = np.vstack([M, U[rng.choice(len(U), p=D / D.sum())]])
        M = M[np.argsort(names)]
        for _ in range(ROUNDS):
            D = cdist(U, M, "sqeuclidean")
            P = balance(-D / (0.1 * D.mean()), np.full(len(M), 1.0 / len(M)))
            M = (P.T @ U + Y.T @ L) / (P.sum(axis=0) + Y.sum(axis=0))[:, None]
        cost = float((P * cdist(U, M, "sqeuclidean")).sum())
        if cost < least:
            least, best = cost, P
    return best
