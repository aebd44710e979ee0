"""Probabilities that mean what they say: sharpened or flattened by one number, chosen on rows held out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from isthmus._core.validation import FloatArray, IntArray
from isthmus.tasks.transfer.problem import TransferRows
from isthmus.tasks.transfer.rules import (
    AXES_PER_CLASS,
    Rule,
    agreement,
    class_means,
    correlation,
    means_of_guesses,
    polish_guesses,
)
from isthmus.tasks.transfer.starts import guess_by_relative_means, guess_by_zero_shot

LEAST = 1e-12
"""A probability below this counts as this: what a rule excludes with certainty can't be brought back by a power."""
SPREAD = 0.5
"""How far the logarithm of the power is from zero beforehand."""
WIDEST = np.log(20.0)
"""The logarithm of the largest power, and minus that of the smallest."""


def temper(P: FloatArray, power: float) -> FloatArray:
    r"""Probabilities (n, C) raised to a power, rows summing to one: :math:`P_{ic}^a / \sum_k P_{ik}^a`.

    What is exactly zero stays zero.

    Examples
    --------
    >>> temper(np.array([[0.8, 0.2, 0.0]]), 0.5).round(2)
    array([[0.67, 0.33, 0.  ]])
    """
    T = np.where(P > 0.0, softmax(power * np.log(np.maximum(P, LEAST)), axis=1), 0.0)
    return np.asarray(T / T.sum(axis=1, keepdims=True))


def fit_power(P: FloatArray, y: IntArray) -> float:
    r"""The power a under which probabilities P (n, C) of held-out rows explain their classes y best.

    .. math:: \max_a \sum_i \log \frac{P_{i y_i}^a}{\sum_k P_{ik}^a} - \frac{(\log a)^2}{2 \sigma^2}

    with σ = 0.5 (temperature scaling, Guo et al. 2017). The second term keeps a few rows, which may all be right,
    from asking for probabilities of one. Without rows it is 1.

    Examples
    --------
    >>> P = np.array([[0.99, 0.01], [0.99, 0.01], [0.99, 0.01], [0.01, 0.99]])
    >>> fit_power(P, np.array([0, 0, 1, 1])).__round__(1)  # three right of four, and so sure of each
    0.6
    """
    n, C = P.shape
    if n == 0 or C < 2:
        return 1.0
    logarithms = np.log(np.maximum(P, LEAST))

    def loss(t: float) -> float:
        likely = log_softmax(np.exp(t) * logarithms, axis=1)[np.arange(n), y]
        return float(0.5 * (t / SPREAD) ** 2 - likely.sum())

    return float(np.exp(minimize_scalar(loss, bounds=(-WIDEST, WIDEST), method="bounded").x))


def make_folds(y: IntArray, n_folds: int) -> IntArray:
    """The fold (n,) in which each row is held out, -1 for never: a class always keeps a row to learn from.

    Rows of a class are dealt to the folds in turn; rows that are alone in their class, and those without a class
    (code -1), are never held out.

    Examples
    --------
    >>> make_folds(np.array([0, 0, 0, 1, -1]), 2)
    array([ 0,  1,  0, -1, -1])
    """
    fold = np.full(len(y), -1)
    for c in np.unique(y[y >= 0]):
        rows = np.flatnonzero(y == c)
        if len(rows) > 1:
            fold[rows] = np.arange(len(rows)) % n_folds
    return fold


def cross_fit_power(
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
    fold = make_folds(y, n_folds)
    parts = list(_predict_held_out(fitted, y, fold))
    if not parts:
        return 1.0
    numbers, probabilities = zip(*parts, strict=True)
    return fit_power(np.vstack(probabilities), y[np.concatenate(numbers)])


def _predict_held_out(
    fitted: Callable[[IntArray], Callable[[IntArray], FloatArray]], y: IntArray, fold: IntArray
) -> Iterator[tuple[IntArray, FloatArray]]:
    for k in np.unique(fold[fold >= 0]):
        out = np.flatnonzero(fold == k)
        yield out, fitted(np.flatnonzero((y >= 0) & (fold != k)))(out)


FEWEST = 3
"""Labels that every labelled class needs for its rows to be held out in turn; as many folds."""


def fit_temperature(rows: TransferRows, again: Callable[[TransferRows], Rule]) -> float:
    r"""The τ that divides scores so that held-out labels are most likely; one where labels are too few to hold out.

    The scores of each labelled row come from a rule that is made ``again`` without the rows of its fold; the guesses
    of the unlabelled rows stay as they are. 1 / τ is the power of the probabilities that
    :func:`~isthmus.tasks.transfer.evidence.fit_power` finds. Classes without a label share the temperature of the
    others.
    """
    labelled = np.flatnonzero(~rows.unlabelled)
    y = rows.yt[labelled]
    if np.bincount(y, minlength=rows.n_classes)[rows.known].min() < FEWEST:
        return 1.0
    fold = make_folds(y, FEWEST)
    P = np.empty((len(y), rows.n_classes))
    for k in range(FEWEST):
        kept = np.ones(len(rows.yt), dtype=bool)
        kept[labelled[fold == k]] = False
        rule = again(replace(rows, target=rows.target[kept], yt=rows.yt[kept], pairs=None))
        P[fold == k] = softmax(rule.scores(rows.target[labelled[fold == k]]), axis=1)
    return 1.0 / fit_power(P, y)


RENAMINGS = 300
"""Renamings of classes whose inner products are compared."""
REFITS, ROUNDS, MOST_ROWS = 10, 5, 1500
"""Renamed sources that the starts are run with, rounds of their polish, and unlabelled rows in it at most."""
LEAST_CLASSES = 4


def geometry_against_renamings(rows: TransferRows, P: FloatArray, rng: np.random.Generator) -> float:
    """How many deviations the agreement of the classes' inner products lies above that of random renamings.

    Zero with fewer than three classes: two have one inner product, which every naming shares.
    """
    if rows.n_classes < 3:
        return 0.0
    view = rows.at(AXES_PER_CLASS)
    A = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    B = means_of_guesses(view.L, rows.one_hot, view.U, P) - view.target.mean(axis=0)
    A, B = A @ A.T, B @ B.T
    orders = [rng.permutation(rows.n_classes) for _ in range(RENAMINGS)]
    null = np.array([correlation(A[np.ix_(order, order)], B) for order in orders])
    return float((correlation(A, B) - null.mean()) / (null.std() + 1e-12))


def naming_against_renamings(rows: TransferRows, rng: np.random.Generator) -> float:
    """How many deviations the mean agreement of two starts lies above that with renamed sources.

    Each renamed source is taken through the same starts and a short polish, so that what a start can make of any
    source, by fitting its guesses to it, is no evidence. Zero with fewer than four classes, whose names are too few.
    """
    if rows.n_classes < LEAST_CLASSES:
        return 0.0
    some = rows.with_fewer(MOST_ROWS, rng)
    orders = [rng.permutation(rows.n_classes) for _ in range(REFITS)]
    null = np.array([_mean_agreement(some.renamed(order)) for order in orders])
    return float((_mean_agreement(some) - null.mean()) / (null.std(ddof=1) + 1e-12))


def _mean_agreement(rows: TransferRows) -> float:
    starts = guess_by_zero_shot(rows), guess_by_relative_means(rows)
    return float(np.mean([agreement(rows, polish_guesses(rows, guess.P, rounds=ROUNDS)[0]) for guess in starts]))
