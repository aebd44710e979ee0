"""How much better one is than another, from splits that share rows: a mean and an interval that knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from isthmus._arrays import FloatArray, IntArray

CONFIDENCE = 0.95
FOLDS = 5
"""Of tested rows: the rule that a fold is compared with is chosen on the others."""


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval of 95 %, as shares.

    Examples
    --------
    >>> print(Estimate(0.062, 0.039, 0.084))
    +6.2 points [+3.9, +8.4]
    """

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{points(self.mean)} points [{points(self.low)}, {points(self.high)}]"


def points(share: float) -> str:
    """A difference in points, with its sign: +3.2, −0.4, 0.0."""
    value = round(100.0 * share, 1)
    return "0.0" if value == 0.0 else f"{value:+.1f}".replace("-", "−")


def estimate(D: FloatArray, train: float, units: IntArray | None = None) -> Estimate:
    r"""The mean of row-wise differences D (J, n), NaN where a split does not test a row, with a two-way interval.

    Splits test the same rows again and learn from the same rows again. Twenty of them are neither twenty times as
    many tested rows nor twenty independent fits:

    .. math:: V = \frac{s_r^2}{n_r} + \Big(\frac1J + \frac{m}{n - m}\Big) s_d^2,
              \qquad \bar d \pm t_\nu \sqrt V

    where :math:`s_r^2` is the variance over tested rows (or over ``units`` of them) of each row's mean over splits,
    :math:`s_d^2` the variance over splits of what is left in each split when every row's own mean is taken off, and m
    of n labelled rows are learned from: the term m / (n - m) is the correction of Nadeau and Bengio (2003), turned to
    what overlaps here, the rows that are learned from. (Their own ratio, n_test / n_train, lays all differences
    between splits to the tested rows. With six labelled rows and a hundred tested ones it would be 17; the tested
    rows are a term of their own here.) ν is by Satterthwaite. Half a row that is gained and half a row that is lost
    are added to the variance, so that a few rows that agree by accident are no proof (Agresti & Min 2005).

    Parameters
    ----------
    D : array (J, n)
        Differences, split by row.
    train : float
        m: labelled rows in each fit.
    units : array (n,), optional
        What belongs together, where rows are right or wrong together: the class of each row. None: rows.

    Examples
    --------
    >>> D = np.array([[1.0, 0.0, 0.0, np.nan], [np.nan, 0.0, 1.0, 0.0], [0.0, np.nan, 0.0, 1.0]])
    >>> print(estimate(D, 1))
    +33.3 points [−53.6, +120.3]
    """
    tested = np.flatnonzero(np.isfinite(D).any(axis=0))
    D = D[:, tested]
    splits, rows = np.nanmean(D, axis=1), np.nanmean(D, axis=0)
    means = rows if units is None else _means(rows, units[tested])
    more = 1.0 if units is None else 0.0
    V_rows = float(np.var(means, ddof=1) + more / len(means)) / len(means) if len(means) > 1 else 1.0
    J = len(splits)
    overlap = train / max(len(tested) - train, 1.0)
    V_splits = float(np.var(_left_over(D, rows), ddof=1)) * (1.0 / J + overlap)
    mean, V = float(splits.mean()), V_rows + V_splits
    if V == 0.0:
        return Estimate(mean, mean, mean)
    freedom = V**2 / (V_rows**2 / max(len(means) - 1, 1) + V_splits**2 / (J - 1))
    half = float(student.ppf((1.0 + CONFIDENCE) / 2.0, freedom)) * V**0.5
    return Estimate(mean, mean - half, mean + half)


def _left_over(D: FloatArray, rows: FloatArray) -> FloatArray:
    """The mean of each split (J,) about the means of its rows, which are scaled for being means of few splits."""
    times = np.isfinite(D).sum(axis=0)
    several = times > 1
    scale = np.sqrt(times[several] / (times[several] - 1.0))
    left = (D[:, several] - rows[several]) * scale
    return np.array([each[np.isfinite(each)].mean() if np.isfinite(each).any() else 0.0 for each in left])


def _means(values: FloatArray, units: IntArray) -> FloatArray:
    _, codes = np.unique(units, return_inverse=True)
    return np.asarray(np.bincount(codes, weights=values) / np.bincount(codes))


def best_rule(right: Mapping[str, FloatArray], seed: int) -> tuple[FloatArray, str]:
    """What the best of several rules calls right (J, n), and its name.

    The best by the rows that it is then measured on would be too good by the luck of being chosen. Here the rule for
    each fifth of the rows is the one that is best on the other rows.

    Examples
    --------
    >>> a, b = np.ones((2, 10)), np.zeros((2, 10))
    >>> best_rule({"a": a, "b": b}, 0)[1]
    'a'
    """
    names, stack = list(right), np.stack(list(right.values()))
    tested = np.flatnonzero(np.isfinite(stack[0]).any(axis=0))
    folds = np.full(stack.shape[2], -1)
    folds[np.random.default_rng(seed).permutation(tested)] = np.arange(len(tested)) % FOLDS
    chosen = np.full(stack.shape[1:], np.nan)
    for fold in range(min(FOLDS, len(tested))):
        others = (folds >= 0) & (folds != fold)
        at = others if others.any() else folds >= 0
        chosen[:, folds == fold] = stack[int(np.argmax(_accuracies(stack[:, :, at])))][:, folds == fold]
    return chosen, names[int(np.argmax(_accuracies(stack)))]


def _accuracies(stack: FloatArray) -> FloatArray:
    """The share of right calls of each rule (r,), every tested row of every split counting the same."""
    return np.asarray(np.nanmean(stack.reshape(len(stack), -1), axis=1))
