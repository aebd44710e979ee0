"""The strong control: discriminants of the target that learn from their own balanced guesses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import softmax

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import choice, number
from isthmus.controls.discriminants import SoftLDA, balanced
from isthmus.controls.target_only import TargetEstimator
from isthmus.domains import TwoDomains
from isthmus.exceptions import InputError
from isthmus.linalg import PrincipalAxes, principal_axes

FLAT = 1e-10
"""Axes along which the target varies by no more than this part of its largest deviation are left out."""


class SelfTrainedLDA(TargetEstimator):
    r"""Linear discriminants of all target rows, taught by their own guesses: the bar for a transfer method to pass.

    On the first k principal axes of the target, the guesses P are first those of the nearest labelled rows; then,
    a fixed number of times, discriminants are learned from P, a shared covariance and a mean for each class,

    .. math:: \mu_c = \frac{\sum_i P_{ic} z_i}{\sum_i P_{ic}}, \qquad
              S = \frac1n \sum_{ic} P_{ic} (z_i - \mu_c)(z_i - \mu_c)^T

    and the unlabelled rows are guessed anew, under the condition that every class gets its share of them
    (:func:`balanced`). The labelled rows keep their labels. Probabilities are averaged over several k.

    The rows are taken as they come: give columns of different units a common one first (a ``StandardScaler`` will
    do).

    Parameters
    ----------
    components : sequence of int
        Every k in multiples of the number of classes; at most the rank of the target rows.
    n_rounds : int
        How often the discriminants learn from their guesses.
    shrinkage : float or "auto"
        The weight in (0, 1] of the scaled identity in S; "auto" is the oracle approximating shrinkage.
    marginal : {"uniform", "labelled"}
        The shares of the classes among unlabelled rows: equal, or as among the labelled rows.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`; that of the source is there so that all systems can be prepared alike.

    Attributes
    ----------
    axes_ : PrincipalAxes
        The principal axes of the target rows.
    discriminants_ : tuple of SoftLDA
        One for every k.
    classes_ : array
        The classes of the source. Those without a labelled target row are never predicted.

    Examples
    --------
    >>> from isthmus.controls import TargetOnly
    >>> from isthmus.datasets import load_digits
    >>> d = load_digits(1)
    >>> systems = TargetOnly(), SelfTrainedLDA()
    >>> fitted = [s.fit(d.X_source, d.y_source, d.X_target, d.y_target) for s in systems]
    >>> [round(s.score(d.X_test, d.y_test), 2) for s in fitted]
    [0.66, 0.79]
    """

    axes_: PrincipalAxes
    discriminants_: tuple[SoftLDA, ...]

    def __init__(
        self,
        components: Any = (2, 3, 5),
        *,
        n_rounds: int = 10,
        shrinkage: float | str = "auto",
        marginal: str = "uniform",
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self.components = components
        self.n_rounds = n_rounds
        self.shrinkage = shrinkage
        self.marginal = marginal
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _fit_domains(self, domains: TwoDomains, settings: tuple[list[int], float | None]) -> dict[str, Any]:
        multiples, shrinkage = settings
        target = domains.target
        present, codes = np.unique(target.y[target.labelled], return_inverse=True)
        y = np.full(len(target.y), -1)
        y[target.labelled] = codes
        counts = np.bincount(codes) if self.marginal == "labelled" else np.ones(len(present))
        axes = principal_axes(target.X, tolerance=FLAT)
        axes = axes if len(axes.deviations) else axes.leading(1)
        Z = axes.coordinates(target.X)
        sizes = sorted({min(multiple * len(present), Z.shape[1]) for multiple in multiples})
        rounds = [self_trained(Z[:, :k], y, counts / counts.sum(), shrinkage) for k in sizes]
        discriminants = tuple(next(islice(each, self.n_rounds, None)) for each in rounds)
        return {"axes_": axes, "discriminants_": discriminants, "_present": present}

    def _validate(self) -> tuple[list[int], float | None]:
        super()._validate()
        number(self.n_rounds, "n_rounds", low=1, whole=True)
        choice(self.marginal, "marginal", ("uniform", "labelled"))
        if not isinstance(self.components, list | tuple | np.ndarray) or not len(self.components):
            raise InputError(f"components: expected a sequence of whole numbers, got {self.components!r}.")
        multiples = [int(number(multiple, "components", low=1, whole=True)) for multiple in self.components]
        if isinstance(self.shrinkage, str):
            choice(self.shrinkage, "shrinkage", ("auto",))
            return multiples, None
        return multiples, number(self.shrinkage, "shrinkage", low=0.0, high=1.0, strict=True)

    def predict_proba(self, X: Any, domain: str = "target") -> FloatArray:
        """Probabilities of the classes (n, C), averaged over the sizes."""
        rows = self._rows(X, domain)
        Z = self.axes_.coordinates(rows)
        P = np.zeros((len(Z), len(self.classes_)))
        P[:, self._present] = np.mean(
            [softmax(lda.scores(Z[:, : len(lda.weights)]), axis=1) for lda in self.discriminants_], axis=0
        )
        return P

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The most likely class of each target row (n,)."""
        codes = np.argmax(self.predict_proba(X, domain), axis=1)
        return np.asarray(self.classes_[codes])

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Target rows on the principal axes that the largest of the discriminants sees (n, k)."""
        rows = self._rows(X, domain)
        return self.axes_.coordinates(rows)[:, : self._dimension()].astype(rows.dtype, copy=False)

    def _dimension(self) -> int:
        return max(len(lda.weights) for lda in self.discriminants_)


def self_trained(Z: FloatArray, y: IntArray, shares: FloatArray, shrinkage: float | None = None) -> Iterator[SoftLDA]:
    """Discriminants of centred rows Z (n, k), each taught by the guesses of the one before, without end.

    The codes y (n,) are -1 for unlabelled rows; every class has a labelled row.
    """
    unlabelled = y < 0
    P = np.eye(len(shares))[y]
    if unlabelled.any():
        P[unlabelled] = balanced(_nearness(Z[unlabelled], Z[~unlabelled], y[~unlabelled]), shares)
    while True:
        lda = SoftLDA.of(Z, P, shrinkage)
        yield lda
        if unlabelled.any():
            P[unlabelled] = balanced(lda.scores(Z[unlabelled]), shares)


def _nearness(Z: FloatArray, labelled: FloatArray, y: IntArray) -> FloatArray:
    """Minus the squared distances (n, C) to the nearest labelled row of each class, in units of a typical one."""
    D = cdist(Z, labelled, "sqeuclidean")
    nearest = np.stack([D[:, y == c].min(axis=1) for c in range(y.max() + 1)], axis=1)
    unit = np.median(nearest.min(axis=1)) or np.mean(nearest) or 1.0
    return np.asarray(-nearest / (2 * unit))
