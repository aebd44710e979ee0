"""The target rows' own learner: discriminants that are taught by guesses, on several numbers of axes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax

from isthmus._core.arrays import FloatArray, IntArray
from isthmus.geometry.discriminants import SoftLDA, balance
from isthmus.tasks.transfer.guesses import AXES_PER_CLASS, Guess, class_means, means_of_guesses, squared_distances
from isthmus.tasks.transfer.problem import TransferRows

MULTIPLES = (2, 3, 5)
"""Numbers of principal axes, in multiples of the number of classes."""
SELF_TRAINING_ROUNDS, ROUNDS_OF_SHARES = 10, 15
"""Rounds of self-training with given shares, and with shares that are learned too."""
ROWS = 5.0
"""So many rows of each class are added where shares are learned."""


def self_train(
    Z: FloatArray, codes: IntArray, P: FloatArray, shares: FloatArray, prior: FloatArray | float = 0.0
) -> FloatArray:
    r"""Guesses (n, C) after self-training from guesses P, with given shares of the classes.

    .. math:: P \leftarrow \mathrm{balanced}\bigl(s_P(z) + \mu\bigr)

    on the first 2 C, 3 C and 5 C axes, averaged; s are the scores of :class:`~isthmus.estimators.controls.SelfTrainedLDA`'s
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
    >>> self_train(Z, np.array([0, -1, 1, -1]), guesses, np.array([0.5, 0.5])).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    unknown = codes < 0
    mu = np.broadcast_to(prior, P.shape)[unknown]
    found = []
    for rows, Q in _views(Z, codes, P):
        for _ in range(SELF_TRAINING_ROUNDS if unknown.any() else 0):
            Q[unknown] = balance(SoftLDA.of(rows, Q).scores(rows)[unknown] + mu, shares)
        found.append(Q)
    return np.asarray(np.mean(found, axis=0))


def learn_shares(Z: FloatArray, codes: IntArray, P: FloatArray) -> FloatArray:
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


def correlate_shares(Z: FloatArray, codes: IntArray, P: FloatArray, shares: FloatArray) -> float:
    """The correlation of shares with those that the target gives by itself from guesses P; 0 for equal ones."""
    if np.ptp(shares) < 1e-12:
        return 0.0
    own = learn_shares(Z, codes, P), np.bincount(P.argmax(axis=1), minlength=P.shape[1]) / len(P)
    return float(np.mean([np.corrcoef(each, shares)[0, 1] if np.ptp(each) > 1e-12 else 0.0 for each in own]))


def _views(Z: FloatArray, codes: IntArray, P: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Centred rows on fewer and more axes, each with guesses of its own, in which labels are kept."""
    C = P.shape[1]
    for k in sorted({min(multiple * C, Z.shape[1]) for multiple in MULTIPLES}):
        rows = Z[:, :k].astype(np.float64)
        Q = np.array(P, dtype=np.float64)
        Q[codes >= 0] = np.eye(C)[codes[codes >= 0]]
        yield rows - rows.mean(axis=0), Q


RESTARTS, ROUNDS = 10, 15
SHARPNESS = 0.1
"""Distances are divided by this part of their mean before they are balanced."""
MOST_ROWS = 4000
"""Clusters are looked for among at most so many unlabelled rows; then all are assigned once."""


def guess_by_nearest(rows: TransferRows, multiple: int = AXES_PER_CLASS, prior: FloatArray | float = 0.0) -> Guess:
    """By the nearest labelled row of each class, of which every class needs one, and a prior in logarithms."""
    view = rows.at(multiple)
    D = np.stack([_to_nearest(view.U, view.L[view.yl == c]) for c in range(rows.n_classes)], axis=1)
    unit = float(np.median(D.min(axis=1)) or D.mean() or 1.0)
    return Guess("target", balance(-D / (2.0 * unit) + prior, rows.shares))


def _to_nearest(U: FloatArray, L: FloatArray) -> FloatArray:
    return np.asarray(cdist(U, L, "sqeuclidean").min(axis=1))


def cluster(rows: TransferRows, rng: np.random.Generator) -> Guess:
    """C balanced clusters: those of the known classes begin at their labelled means, the others far from all.

    The best of some restarts, by the distances to the means. The names of the others mean nothing yet.
    """
    view = rows.at(AXES_PER_CLASS)
    U = view.U if len(view.U) <= MOST_ROWS else view.U[np.sort(rng.permutation(len(view.U))[:MOST_ROWS])]
    labelled = class_means(view.L, np.searchsorted(rows.known, view.yl), len(rows.known))
    best, least = None, np.inf
    for _ in range(RESTARTS if len(rows.unknown) else 1):
        M: FloatArray = np.empty((rows.n_classes, U.shape[1]))
        M[np.concatenate([rows.known, rows.unknown])] = _draw_centres(labelled, U, len(rows.unknown), rng)
        for _ in range(ROUNDS):
            P = _assign(U, M, rows.shares)
            M = means_of_guesses(view.L, rows.one_hot, U, P)
        cost = float((P * squared_distances(U, M)).sum())
        if cost < least:
            best, least = M, cost
    assert best is not None
    return Guess("clusters", _assign(view.U, best, rows.shares))


def _assign(U: FloatArray, M: FloatArray, shares: FloatArray) -> FloatArray:
    D = squared_distances(U, M)
    return balance(-D / (SHARPNESS * (D.mean() or 1.0)), shares)


def _draw_centres(M: FloatArray, U: FloatArray, more: int, rng: np.random.Generator) -> FloatArray:
    """Means M and some rows of U, each drawn by its squared distance to the nearest of those before (k-means++)."""
    for _ in range(more):
        D = squared_distances(U, M).min(axis=1)
        drawn = rng.choice(len(U), p=D / D.sum() if D.sum() > 0.0 else None)
        M = np.vstack([M, U[drawn]])
    return M
