"""Guessed classes, and the surest of them: how CDSPP teaches itself."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from isthmus._arrays import FloatArray, IntArray


def class_guesses(points: FloatArray, y: IntArray, new: FloatArray) -> tuple[IntArray, FloatArray]:
    """The class of the nearest mean direction, and how sure that is, for each new point (n, k): both (n,).

    Points are seen from the mean of those with a class y and scaled to unit length, and so are the class means; the
    probabilities of the classes are in proportion to exp(−distance).

    Examples
    --------
    >>> guesses, sureness = class_guesses(np.array([[1.0], [-1.0]]), np.array([0, 1]), np.array([[3.0], [-0.1]]))
    >>> guesses, sureness.round(3)
    (array([0, 1]), array([0.881, 0.881]))
    """
    centre, present = points.mean(axis=0), np.unique(y)
    known = _unit(points - centre)
    means = _unit(np.stack([known[y == c].mean(axis=0) for c in present]))
    distances = np.sqrt(np.maximum(2.0 - 2.0 * _unit(new - centre) @ means.T, 0.0))
    probabilities = softmax(-distances, axis=1)
    return present[probabilities.argmax(axis=1)], probabilities.max(axis=1)


def chosen(guesses: IntArray, sureness: FloatArray, share: float) -> IntArray:
    """The numbers of the surest guesses: this share of those of each class, rounded up."""
    parts = []
    for c in np.unique(guesses):
        rows = np.flatnonzero(guesses == c)
        surest = rows[np.argsort(-sureness[rows], kind="stable")]
        parts.append(surest[: int(np.ceil(share * len(rows)))])
    return np.sort(np.concatenate(parts))


def _unit(X: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(lengths > 0.0, lengths, 1.0))
