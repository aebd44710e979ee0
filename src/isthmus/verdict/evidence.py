"""What can be said of a source without testing anything: whether its classes lie to each other as the target's do."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.controls import SelfTrainedLDA
from isthmus.matching.preparation import prepared, scaled, unit
from isthmus.verdict.question import Question

FEWEST = 4
"""Classes: three have three angles between them, and any two sets of three numbers correlate."""
MOST_EXACT, N_DRAWS = 6, 999
"""Up to so many classes all renamings are tried; beyond, so many at random."""


@dataclass(frozen=True)
class Geometry:
    """Correlation of the angles between classes in source and target, and the share of renamings as high as it."""

    correlation: float
    p_value: float


def geometry(question: Question) -> Geometry | None:
    """How far the classes lie alike, those of the target as rules guess that never see the source.

    None with fewer than four classes that both have. The guesses are those of
    :class:`isthmus.controls.SelfTrainedLDA` from all labels.
    """
    q = question
    if len(q.named) < FEWEST:
        return None
    Z, known = q.coordinates, q.labelled
    guess = SelfTrainedLDA().fit(Z[known], q.y_target[known], Z, q.y_target).predict(Z)
    guess[known] = q.y_target[known]
    X = prepared(scaled(q.X_source), "X_source").centred.astype(np.float64)
    return class_geometry(_means(X, q.y_source, q.named), _means(Z, guess, q.named))


def class_geometry(A: FloatArray, B: FloatArray) -> Geometry:
    """The same for the classes' means (C, d), (C, d'), in the order of the classes.

    Examples
    --------
    >>> A = np.array([[3.0, 0.1], [2.0, 1.0], [0.2, 4.0], [-1.0, 1.0], [-2.0, -3.0]])
    >>> class_geometry(A, -A)
    Geometry(correlation=1.0, p_value=0.008...)
    """
    cosines = [unit(M) @ unit(M).T for M in (A, B)]
    above = np.triu_indices(len(A), 1)
    target = cosines[1][above]
    found = _correlation(cosines[0][above], target)
    other = [_correlation(cosines[0][np.ix_(p, p)][above], target) for p in _renamings(len(A))]
    return Geometry(round(found, 12), float(np.mean(np.array(other) >= found - 1e-12)))


def _renamings(C: int) -> list[IntArray]:
    """All orders of the classes, the present one among them; or as many as are tried."""
    if C <= MOST_EXACT:
        return [np.array(order, dtype=np.intp) for order in permutations(range(C))]
    rng = np.random.default_rng(0)
    return [np.arange(C), *(rng.permutation(C) for _ in range(N_DRAWS))]


def _correlation(a: FloatArray, b: FloatArray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0.0 else 0.0


def _means(X: FloatArray, y: IntArray, classes: IntArray) -> FloatArray:
    """The classes' means about their own mean, so that angles are between classes and not to the origin."""
    M = np.stack([X[y == c].mean(axis=0) if (y == c).any() else np.zeros(X.shape[1]) for c in classes])
    return np.asarray(M - M.mean(axis=0))
