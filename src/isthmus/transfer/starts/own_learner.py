"""The target rows' own learner: discriminants that are taught by guesses, on several numbers of axes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import softmax

from isthmus._arrays import FloatArray, IntArray
from isthmus.controls.discriminants import SoftLDA, balanced

MULTIPLES = (2, 3, 5)
"""Numbers of principal axes, in multiples of the number of classes."""
ROUNDS, ROUNDS_OF_SHARES = 10, 15
"""Rounds of self-training with given shares, and with shares that are learned too."""
ROWS = 5.0
"""So many rows of each class are added where shares are learned."""


def taught(
    Z: FloatArray, codes: IntArray, P: FloatArray, shares: FloatArray, prior: FloatArray | float = 0.0
) -> FloatArray:
    r"""Guesses (n, C) after self-training from guesses P, with given shares of the classes.

    .. math:: P \leftarrow \mathrm{balanced}\bigl(s_P(z) + \mu\bigr)

    on the first 2 C, 3 C and 5 C axes, averaged; s are the scores of :class:`~isthmus.controls.SelfTrainedLDA`'s
    discriminants. Labelled rows keep their labels.

    Parameters
    ----------
    Z : array (n, k)
        Target rows along their principal axes.
    codes : array (n,)
        Classes, -1 where unknown.
    P : array (n, C)
        First guesses.
    shares : array (C,)
        Of the unlabelled rows.
    prior : array (n, C), optional
        μ: logarithms of how likely the classes are by other evidence.

    Examples
    --------
    >>> Z = np.array([[-2.0], [-1.9], [2.0], [1.8]])
    >>> guesses = np.array([[1, 0], [0.6, 0.4], [0, 1], [0.4, 0.6]])
    >>> taught(Z, np.array([0, -1, 1, -1]), guesses, np.array([0.5, 0.5])).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    unknown = codes < 0
    mu = np.broadcast_to(prior, P.shape)[unknown]
    found = []
    for rows, Q in _views(Z, codes, P):
        for _ in range(ROUNDS if unknown.any() else 0):
            Q[unknown] = balanced(SoftLDA.of(rows, Q).scores(rows)[unknown] + mu, shares)
        found.append(Q)
    return np.asarray(np.mean(found, axis=0))


def learned_shares(Z: FloatArray, codes: IntArray, P: FloatArray) -> FloatArray:
    """The shares of the classes (C,) among unlabelled rows by the target alone, learned with the discriminants."""
    unknown, C = codes < 0, P.shape[1]
    found = []
    for rows, Q in _views(Z, codes, P):
        pi = np.full(C, 1.0 / C)
        for _ in range(ROUNDS_OF_SHARES if unknown.any() else 0):
            Q[unknown] = softmax(SoftLDA.of(rows, Q).scores(rows)[unknown] + np.log(pi), axis=1)
            pi = (Q[unknown].sum(axis=0) + ROWS) / (unknown.sum() + ROWS * C)
        found.append(pi)
    return np.asarray(np.mean(found, axis=0))


def shares_alike(Z: FloatArray, codes: IntArray, P: FloatArray, shares: FloatArray) -> float:
    """The correlation of shares with those that the target gives by itself from guesses P; 0 for equal ones."""
    if np.ptp(shares) < 1e-12:
        return 0.0
    own = learned_shares(Z, codes, P), np.bincount(P.argmax(axis=1), minlength=P.shape[1]) / len(P)
    return float(np.mean([np.corrcoef(each, shares)[0, 1] if np.ptp(each) > 1e-12 else 0.0 for each in own]))


def _views(Z: FloatArray, codes: IntArray, P: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Centred rows on fewer and more axes, each with guesses of its own, in which labels are kept."""
    C = P.shape[1]
    for k in sorted({min(multiple * C, Z.shape[1]) for multiple in MULTIPLES}):
        rows = Z[:, :k].astype(np.float64)
        Q = np.array(P, dtype=np.float64)
        Q[codes >= 0] = np.eye(C)[codes[codes >= 0]]
        yield rows - rows.mean(axis=0), Q
