"""Balanced k-means from a few labels: a rule that never sees the source."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.preprocessing import normalize

from isthmus._arrays import FloatArray
from isthmus._validation import number
from isthmus.controls.discriminants import balanced, centred, deviation
from isthmus.controls.target_only import TargetEstimator
from isthmus.domains import TwoDomains
from isthmus.exceptions import InputError
from isthmus.linalg import PrincipalAxes, principal_axes

ROUNDS = 15
SEED_WEIGHT, TEMPERATURE = 3.0, 0.5
"""A labelled row counts three times in a mean; scores are divided by half their deviation before balancing."""


class BalancedKMeans(TargetEstimator):
    r"""Means of the classes that learn from balanced guesses of the unlabelled rows.

    .. math:: P = \mathrm{balanced}(-\|z_i - \mu_c\|^2 / (\tau s)), \qquad
              \mu_c = \frac{\sum_u P_{uc} z_u + w \sum_{l \in c} z_l}{\sum_u P_{uc} + w n_c}

    z are target rows on their leading principal axes, of unit length; s is the deviation of the squared distances,
    τ = 0.5, w = 3. Scores are averaged over several numbers of axes.

    Parameters
    ----------
    components : sequence of int
        The numbers of axes, in multiples of the number of classes; at most the rank of the target rows.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`; that of the source is there so that all systems can be prepared alike.

    Attributes
    ----------
    axes_ : PrincipalAxes
        The principal axes of the target rows.
    means_ : tuple of array (C', k)
        Of the labelled classes, for every number of axes.
    classes_ : array
        The classes of the source. Those without a labelled target row are never predicted.

    Examples
    --------
    >>> X_target, y_target = np.array([[0.0, 1], [0.1, 1], [1, 0.1], [1, 0]]), [0, -1, -1, 1]
    >>> BalancedKMeans().fit([[0.0], [9.0]], [0, 1], X_target, y_target).predict(X_target)
    array([0, 0, 1, 1])
    """

    axes_: PrincipalAxes
    means_: tuple[FloatArray, ...]
    units_: tuple[float, ...]

    def __init__(
        self, components: Any = (2, 3, 5), *, source_transformer: Any = None, target_transformer: Any = None
    ) -> None:
        self.components = components
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _validate(self) -> None:
        super()._validate()
        if not isinstance(self.components, list | tuple | np.ndarray) or not len(self.components):
            raise InputError(f"components: expected a sequence of whole numbers, got {self.components!r}.")
        for multiple in self.components:
            number(multiple, "components", low=1, whole=True)

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        target = domains.target
        present, codes = np.unique(target.y[target.labelled], return_inverse=True)
        axes, free, Y = principal_axes(target.X), target.y < 0, np.eye(len(present))[codes]
        axes = axes if len(axes.deviations) else axes.leading(1)
        views = self._views(axes, target.X, len(present))
        means = tuple(_balanced_means(Z[target.labelled], Y, Z[free]) for Z in views)
        rows = free if free.any() else np.ones(len(free), dtype=bool)
        units = tuple(deviation(-cdist(Z[rows], M, "sqeuclidean")) for Z, M in zip(views, means, strict=True))
        return {"axes_": axes, "means_": means, "units_": units, "_present": present}

    def _views(self, axes: PrincipalAxes, X: Any, n_classes: int) -> list[FloatArray]:
        Z = axes.coordinates(X)
        return [normalize(Z[:, :k]) for k in sorted({min(m * n_classes, Z.shape[1]) for m in self.components})]

    def scores(self, X: Any) -> FloatArray:
        """How near target rows are to the classes' means (n, C), in units of the deviation of unlabelled rows.

        Rows sum to zero over the classes with a label; minus infinity for those without.
        """
        rows = self._rows(X, "target")
        found = np.full((rows.shape[0], len(self.classes_)), -np.inf)
        views = self._views(self.axes_, rows, len(self._present))
        each = [
            centred(-cdist(Z, M, "sqeuclidean")) / s for Z, M, s in zip(views, self.means_, self.units_, strict=True)
        ]
        found[:, self._present] = np.mean(each, axis=0)
        return found

    def predict_proba(self, X: Any, domain: str = "target") -> FloatArray:
        """Probabilities of the classes (n, C)."""
        self._rows(X, domain)
        return np.asarray(softmax(self.scores(X) / TEMPERATURE, axis=1))

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The class of each target row (n,): that of the nearest mean."""
        self._rows(X, domain)
        return np.asarray(self.classes_[self.scores(X).argmax(axis=1)])

    def _dimension(self) -> int:
        return int(max(M.shape[1] for M in self.means_))


def _balanced_means(L: FloatArray, Y: FloatArray, U: FloatArray) -> FloatArray:
    """The means (C, k) from labelled rows L, whose classes are the rows of Y, and unlabelled rows U."""
    totals, sizes = SEED_WEIGHT * Y.T @ L, SEED_WEIGHT * Y.sum(axis=0)
    M = totals / sizes[:, None]
    for _ in range(ROUNDS if len(U) else 0):
        scores = -cdist(U, M, "sqeuclidean")
        P = balanced(scores / (TEMPERATURE * deviation(scores)), np.full(len(M), 1.0 / len(M)))
        M = (totals + P.T @ U) / (sizes + P.sum(axis=0))[:, None]
    return np.asarray(M)
