"""Parts of self-training, over arrays: soft assignments with class shares, these shares, discriminants.

:func:`balance` scales likelihoods by Sinkhorn's algorithm until every class has its share, strictly or nearly;
:func:`infer_shares` estimates the shares from labelled rows; :class:`SoftLDA` fits linear discriminants to rows that
belong to classes by weights, with a covariance shrunk by OAS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from isthmus._core.linalg import normalize_rows
from isthmus._core.validation import FloatArray, IntArray, check_choice
from isthmus.exceptions import InputError

SINKHORN_SWEEPS = 100
# The lowest logarithm of a score below the best of its row: further down, a column could be all zeros.
FLOOR = -200.0


def balance(scores: FloatArray, marginal: FloatArray, strictness: float = 1.0) -> FloatArray:
    r"""Assign rows to classes softly, such that every class has its share.

    .. math:: P = \mathrm{diag}(u)\, e^{S}\, \mathrm{diag}(v), \qquad P\,1 = 1, \quad
              v = \bigl(n\,\pi / (u^T e^S)\bigr)^\rho

    by the alternate scaling of Sinkhorn and Knopp: S (n, C) are logarithms of how well a row fits a class, up to a
    constant per row, and π (C,) is the share of each class. Rows of P sum to one exactly; with ρ = 1, the
    ``strictness``, its columns have their shares as nearly as the sweeps allow, with a smaller one they are drawn to
    them, as far as the scores give way.

    Examples
    --------
    >>> import numpy as np
    >>> balance(np.log([[0.9, 0.1], [0.6, 0.4]]), np.array([0.5, 0.5])).round(2)
    array([[0.71, 0.29],
           [0.29, 0.71]])
    """
    K, u, v = _sinkhorn_factors(scores, marginal, strictness)
    return np.asarray(u[:, None] * K * v)


def balancing_offsets(scores: FloatArray, marginal: FloatArray, strictness: float = 1.0) -> FloatArray:
    r"""Return the offsets (C,) of scores that give every class its share: :math:`\log v` of :func:`balance`.

    With it, rows that come later are assigned as they would have been: :math:`\mathrm{softmax}(S + \log v)`.

    Examples
    --------
    >>> import numpy as np
    >>> added = balancing_offsets(np.log([[0.9, 0.1], [0.6, 0.4]]), np.array([0.5, 0.5]))
    >>> round(float(added[1] - added[0]), 2)
    1.3
    """
    with np.errstate(divide="ignore"):  # a class that has no share has a logarithm of minus infinity
        return np.asarray(np.log(_sinkhorn_factors(scores, marginal, strictness)[2]))


def centre_scores(scores: FloatArray) -> FloatArray:
    """Subtract from scores (n, C) the mean of each row."""
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))


def score_deviation(scores: FloatArray) -> float:
    """Return the standard deviation of centred scores; one where they are all equal."""
    return float(centre_scores(scores).std()) or 1.0


def _sinkhorn_factors(
    scores: FloatArray, marginal: FloatArray, strictness: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the likelihoods K (n, C), and the factors of its rows and columns."""
    K = np.exp(np.maximum(scores - scores.max(axis=1, keepdims=True), FLOOR))
    u, F = np.ones(len(K)), np.asfortranarray(K)  # products with long columns are faster
    for _ in range(SINKHORN_SWEEPS):
        v = (len(K) * marginal / (u @ F)) ** strictness
        u = 1.0 / (F @ v)
    return K, u, v


# Labels are held out in as many folds, at most; labelled rows of a class, and unlabelled rows, that are counted.
FOLDS, MOST_LABELLED, MOST_UNLABELLED = 10, 50, 4000
# Added to the confusion counts of each class, as rows of a rule that is as often right on all classes.
SMOOTHING = 3.0
# Rows that are added to the counts of each class; and per class, at which shares are bound half as much as may be.
ADDED_ROWS, HALF_BOUND = 1.0, 2.0
LEAST_STRICTNESS = 0.5
# Labelled and unlabelled rows, in one or several sets of coordinates.
Views: TypeAlias = Sequence[tuple[FloatArray, FloatArray]]
# Shares count as unequal where counts deviate from equal ones by more, in variances: this, and the second over labels
# per class and √C, because few held-out labels, and few classes, make deviations vary. By development seeds, equal
# shares have about 0.45, and with 3 labels per class one in ten has more than 1.2. Below the first and the third over
# √C an estimate is farther from the truth than equal shares in most draws, with any number of labels.
UNEQUAL, BY_LABELS, BY_CLASSES = 0.5, 9.5, 3.5


@dataclass(frozen=True, eq=False)
class ShareEstimate:
    """Shares of the classes (C,), and how strictly they bind."""

    shares: FloatArray
    strictness: float = 1.0


def infer_shares(views: Views, codes: IntArray) -> ShareEstimate:
    r"""Estimate the shares of the classes among unlabelled rows, from how labelled rows are confused.

    Nearest rows and nearest means, of the labels alone, predict class k for :math:`q_k` of n unlabelled rows, and
    for a held-out labelled row of class c with probability :math:`M_{ck}`. The estimate is

    .. math:: \max_\pi \; \frac{n_l}{n + n_l} \sum_k q_k \log \sum_c \pi_c M_{ck} + \sum_c \log \pi_c

    (Saerens et al. 2002, shrunk): M is known from :math:`n_l` rows only, so that q counts for no more than these.
    Self-trained guesses would not do: they confirm the shares that they were balanced with. Where q is as near to
    :math:`M^T 1 / C` as chance would have it, or a class has one label and no row can be held out, the shares are
    equal, and strict. Where it is farther, but an estimate would not be nearer to the truth, they are equal, and bind
    less strictly.

    Parameters
    ----------
    views : sequence of (array (n_l, k), array (n, k))
        Labelled and unlabelled rows, on several numbers of axes; rules are averaged over them.
    codes : array (n_l,)
        Classes 0 … C - 1 of the labelled rows, each of which occurs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> known, others = np.repeat([0, 1], 20), np.repeat([0, 1], [60, 20])
    >>> L, U = (rng.normal(size=(len(y), 2)) + 6.0 * np.eye(2)[y] for y in (known, others))
    >>> infer_shares([(L, U)], known).shares.round(2)
    array([0.73, 0.27])
    """
    C, step = int(codes.max()) + 1, -(-len(views[0][1]) // MOST_UNLABELLED)
    equal = np.full(C, 1.0 / C)
    if np.bincount(codes).min() < 2 or step == 0 or C < 2:
        return ShareEstimate(equal)
    place = np.zeros(len(codes), dtype=np.intp)  # of a row in its class
    for c in range(C):
        place[codes == c] = np.arange((codes == c).sum())
    few = place < MOST_LABELLED
    parts = [_count_predictions(L[few], codes[few], U[::step], place[few] % FOLDS) for L, U in views]
    q, M = (np.mean(each, axis=0) for each in zip(*parts, strict=True))
    n, n_l = float(q.sum()), float(M.sum())
    right, seen = (np.trace(M) + 1.0) / (n_l + 2.0), (M.sum(axis=0) + 1.0) / (n_l + C)
    likely = (1.0 - right) * seen / (1.0 - seen)[:, None]
    np.fill_diagonal(likely, right)
    M = M + SMOOTHING * likely / likely.sum(axis=1, keepdims=True)
    M /= M.sum(axis=1, keepdims=True)
    counted = n * n_l / (n + n_l)
    deviation = float(np.mean((q / n - equal @ M) ** 2 / (equal @ (M * (1.0 - M)))) * counted)
    if deviation <= UNEQUAL + BY_LABELS * C**0.5 / n_l:
        return ShareEstimate(equal)
    bound = counted / (counted + HALF_BOUND * C)
    strictness = LEAST_STRICTNESS + (1.0 - LEAST_STRICTNESS) * bound
    if deviation <= UNEQUAL + BY_CLASSES / C**0.5:
        return ShareEstimate(equal, strictness)
    pi = equal
    for _ in range(SINKHORN_SWEEPS):
        R = pi[:, None] * M
        pi = R @ (q / R.sum(axis=0)) * (counted / n) + ADDED_ROWS
        pi = pi / pi.sum()
    return ShareEstimate(pi, strictness)


def _count_predictions(L: FloatArray, y: IntArray, U: FloatArray, fold: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the predicted classes of unlabelled rows (C,) and of held-out labelled ones (C, C), counted."""
    C = int(y.max()) + 1
    M = np.zeros((C, C))
    for k in np.unique(fold):
        out = fold == k
        for called in _predict_nearest(L[~out], y[~out], L[out]):
            np.add.at(M, (y[out], called), 0.5)
    q = sum(np.bincount(called, minlength=C) for called in _predict_nearest(L, y, U))
    return 0.5 * np.asarray(q, dtype=np.float64), M


def _predict_nearest(L: FloatArray, codes: IntArray, U: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the class of the nearest labelled row, and that of the nearest mean, of rows U."""
    Y = np.eye(int(codes.max()) + 1)[codes]
    means = Y.T @ L / Y.sum(axis=0)[:, None]
    return codes[cdist(U, L, "sqeuclidean").argmin(axis=1)], cdist(U, means, "sqeuclidean").argmin(axis=1)


WORDS = ("auto", "uniform", "source", "labelled")
# The smallest share of a class, as a part of an equal one: a class without a share is never found.
SMALLEST = 0.01


def check_shares(shares: Any) -> str | FloatArray:
    """Return the parameter ``shares``: one of the words, or numbers (C,) that are not yet scaled; raise otherwise."""
    if isinstance(shares, str):
        return check_choice(shares, "shares", WORDS)
    try:
        array = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"shares: expected one of {', '.join(WORDS)} or numbers, got {shares!r:.60}.") from None
    if array.ndim != 1 or not len(array) or not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise InputError(f"shares: expected a share of at least 0 per class, not all 0, got {shares!r:.60}.")
    return array


def assume_shares(shares: str | FloatArray, ys: IntArray, classes: NDArray[Any]) -> FloatArray:
    """Return the shares (C,) that are assumed before anything is estimated; they sum to one.

    A class that the source lacks gets the mean share where the shares are the source's.

    Examples
    --------
    >>> assume_shares("source", np.array([0, 0, 0, 1]), np.array(["a", "b", "c"])).round(2)
    array([0.5 , 0.17, 0.33])
    """
    C = len(classes)
    if not isinstance(shares, str):
        if len(shares) != C:
            raise InputError(f"shares: expected a share for each of {C} classes, got {len(shares)}.")
        return floor_shares(shares)
    if shares != "source":
        return np.full(C, 1.0 / C)
    counts = np.bincount(ys[ys >= 0], minlength=C).astype(float)
    lacking = counts == 0
    counts[lacking] = counts[~lacking].mean()
    return floor_shares(counts)


def floor_shares(shares: FloatArray) -> FloatArray:
    """Return shares that sum to one, none of them too small for its class to be found."""
    scaled = np.maximum(shares / shares.sum(), SMALLEST / len(shares))
    return np.asarray(scaled / scaled.sum())


def choose_shares(
    shares: str | FloatArray, ys: IntArray, classes: NDArray[Any], views: Views, codes: IntArray
) -> ShareEstimate:
    """Return the shares of the classes that have a label, by a checked parameter ``shares``.

    "labelled" estimates them (:func:`infer_shares`); otherwise they are assumed (:func:`assume_shares`), "auto" as
    equal.

    Parameters
    ----------
    shares : str or array (C,)
        The parameter, from :func:`check_shares`.
    ys : array (n_s,)
        Codes of the source's classes; -1 for none.
    classes : array (C,)
        All classes.
    views : sequence of (array (n_l, k), array (n, k))
        Labelled and unlabelled target rows, on several numbers of axes; they are scaled to unit length here.
    codes : array (n_l,)
        Codes of the labelled target rows.

    Examples
    --------
    >>> ys, classes, codes = np.array([0, 0, 0, 1, 2]), np.array(["a", "b", "c"]), np.array([0, 1, 1])
    >>> choose_shares("source", ys, classes, [], codes).shares.round(2)
    array([0.75, 0.25])
    """
    present, places = np.unique(codes, return_inverse=True)
    if isinstance(shares, str) and shares == "labelled":
        return infer_shares([(normalize_rows(L), normalize_rows(U)) for L, U in views], places)
    assumed = assume_shares(shares, ys, classes)[present]
    return ShareEstimate(assumed / assumed.sum())


def oas_shrinkage(S: FloatArray, n: int) -> float:
    """Return the weight of the scaled identity by Chen et al. (2010), for a covariance S (k, k) of n rows."""
    mean, mean_square = np.trace(S) / len(S), np.mean(S**2)
    excess = (n + 1.0) * (mean_square - mean**2 / len(S))
    return 1.0 if excess <= 0 else float(min(1.0, (mean_square + mean**2) / excess))


# The offset of a class that no row belongs to: finite, for files, and far below any other.
NEVER = -1e6


@dataclass(frozen=True, eq=False)
class SoftLDA:
    """Linear discriminants z ↦ z W + b: weights W (k, C), offsets b (C,), classes equally likely beforehand."""

    weights: FloatArray
    offsets: FloatArray

    @classmethod
    def of(cls, Z: FloatArray, P: FloatArray) -> SoftLDA:
        """Fit centred rows Z (n, k) that belong to classes by weights P (n, C), with OAS shrinkage."""
        sizes = P.sum(axis=0)
        M = (P.T @ Z) / np.where(sizes > 0, sizes, 1.0)[:, None]
        S = (Z.T @ Z - (M.T * sizes) @ M) / len(Z)
        scale = np.trace(S) / len(S)
        if scale <= 1e-12 * np.mean(Z**2) or scale == 0.0:  # every row at the mean of its class
            S, scale = np.zeros_like(S), max(float(np.mean(Z**2)), np.finfo(float).tiny)
        a = oas_shrinkage(S, len(Z))
        S = (1 - a) * S + a * scale * np.eye(len(S))
        W = sla.solve(S, M.T, assume_a="pos")
        return cls(W, np.where(sizes > 0, -0.5 * np.sum(M.T * W, axis=0), NEVER))

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return logarithms of the classes' probabilities, up to a constant per row (n, C)."""
        return np.asarray(Z @ self.weights + self.offsets)
