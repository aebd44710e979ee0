"""How much better one is than another, from splits that share rows: a mean and an interval that knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from isthmus._arrays import FloatArray, IntArray

CONFIDENCE = 0.95


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


def estimate(D: FloatArray, train: float, units: IntArray | None = None, of: int = 1) -> Estimate:
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
    of : int
        Among how many this is the smallest: the upper end has the level for all of them.

    Examples
    --------
    >>> D = np.array([[1.0, 0.0, 0.0, np.nan], [np.nan, 0.0, 1.0, 0.0], [0.0, np.nan, 0.0, 1.0]])
    >>> print(estimate(D, 1))
    +33.3 points [−50.6, +117.2]
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
    tail = (1.0 - CONFIDENCE) / 2.0
    down, up = (float(student.isf(each, freedom)) * V**0.5 for each in (tail, tail / of))
    return Estimate(mean, mean - down, mean + up)


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


def over_best(
    own: FloatArray, rules: Mapping[str, FloatArray], train: float, units: IntArray | None = None
) -> tuple[Estimate, str]:
    """What a system is better than the best of several rules, and the name of that.

    To choose the rule by the rows that it is measured on flatters it: the difference errs against the system. Its
    interval is corrected for the choice. The lower end is the lowest over all rules, so that it is above 0 only if
    the system is better than each of them; the upper end is the lowest over all rules too, each at a level for all
    of them together (Bonferroni), which makes up for the luck of the best.

    Parameters
    ----------
    own, rules : array (J, n), mapping of str to such
        Right (1) or wrong (0), NaN where a row is not tested.
    train, units
        As in :func:`estimate`.

    Examples
    --------
    >>> own, rule = np.tile([1.0, 1.0, 1.0, 0.0], (3, 10)), np.tile([1.0, 0.0, 0.0, 0.0], (3, 10))
    >>> print(*over_best(own, {"a": rule, "b": 0.0 * rule}, 4))
    +50.0 points [+33.0, +69.6] a
    """
    found = {name: estimate(own - right, train, units, of=len(rules)) for name, right in rules.items()}
    best = min(found, key=lambda name: found[name].mean)
    ends = [[getattr(each, end) for each in found.values()] for end in ("low", "high")]
    return Estimate(found[best].mean, min(ends[0]), min(ends[1])), best
