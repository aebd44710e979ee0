"""Probabilities that mean what they say: sharpened or flattened by one number, chosen on rows held out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from isthmus._arrays import FloatArray, IntArray

LEAST = 1e-12
"""A probability below this counts as this: what a rule excludes with certainty can't be brought back by a power."""
WIDEST = np.log(20.0)
"""The logarithm of the largest power, and minus that of the smallest."""


def tempered(P: FloatArray, power: float) -> FloatArray:
    r"""Probabilities (n, C) raised to a power, rows summing to one: :math:`P_{ic}^a / \sum_k P_{ik}^a`.

    What is exactly zero stays zero.

    Examples
    --------
    >>> tempered(np.array([[0.8, 0.2, 0.0]]), 0.5).round(2)
    array([[0.67, 0.33, 0.  ]])
    """
    T = np.where(P > 0.0, softmax(power * np.log(np.maximum(P, LEAST)), axis=1), 0.0)
    return np.asarray(T / T.sum(axis=1, keepdims=True))


def calibrating_power(P: FloatArray, y: IntArray) -> float:
    r"""The power a under which probabilities P (n, C) of held-out rows explain their classes y best.

    .. math:: \max_a \sum_i \sum_c \tilde y_{ic} \log \frac{P_{ic}^a}{\sum_k P_{ik}^a}, \qquad
              \tilde y = (1 - \epsilon)\, \mathrm{onehot}(y) + \epsilon / C, \quad \epsilon = 1 / (n + 1)

    (temperature scaling, Guo et al. 2017). The ε is one row that could be of any class: a rule that was right on all
    of a few rows is not thereby certain. Without rows it is 1.

    Examples
    --------
    >>> P = np.array([[0.99, 0.01], [0.99, 0.01], [0.99, 0.01], [0.01, 0.99]])
    >>> calibrating_power(P, np.array([0, 0, 1, 1])) < 0.5  # three right of four, and so sure of each
    True
    """
    n, C = P.shape
    if n == 0 or C < 2:
        return 1.0
    logarithms, blur = np.log(np.maximum(P, LEAST)), 1.0 / (n + 1)
    Y = (1 - blur) * np.eye(C)[y] + blur / C

    def loss(t: float) -> float:
        return -float(np.sum(Y * log_softmax(np.exp(t) * logarithms, axis=1)))

    return float(np.exp(minimize_scalar(loss, bounds=(-WIDEST, WIDEST), method="bounded").x))


def folds(y: IntArray, n_folds: int) -> IntArray:
    """The fold (n,) in which each row is held out, -1 for never: a class always keeps a row to learn from.

    Rows of a class are dealt to the folds in turn; rows that are alone in their class, and those without a class
    (code -1), are never held out.

    Examples
    --------
    >>> folds(np.array([0, 0, 0, 1, -1]), 2)
    array([ 0,  1,  0, -1, -1])
    """
    fold = np.full(len(y), -1)
    for c in np.unique(y[y >= 0]):
        rows = np.flatnonzero(y == c)
        if len(rows) > 1:
            fold[rows] = np.arange(len(rows)) % n_folds
    return fold


def cross_fitted_power(
    fitted: Callable[[IntArray], Callable[[IntArray], FloatArray]], y: IntArray, n_folds: int
) -> float:
    """The calibrating power of a rule, from rows that it did not learn the class of.

    Parameters
    ----------
    fitted : callable
        Given the numbers of the rows whose class may be learned from, a rule: given row numbers, probabilities.
    y : array (n,)
        Codes of the classes, -1 for none.
    n_folds : int
        How many times a rule is fitted.
    """
    fold = folds(y, n_folds)
    parts = list(_held_out(fitted, y, fold))
    if not parts:
        return 1.0
    numbers, probabilities = zip(*parts, strict=True)
    return calibrating_power(np.vstack(probabilities), y[np.concatenate(numbers)])


def _held_out(
    fitted: Callable[[IntArray], Callable[[IntArray], FloatArray]], y: IntArray, fold: IntArray
) -> Iterator[tuple[IntArray, FloatArray]]:
    for k in np.unique(fold[fold >= 0]):
        out = np.flatnonzero(fold == k)
        yield out, fitted(np.flatnonzero((y >= 0) & (fold != k)))(out)
