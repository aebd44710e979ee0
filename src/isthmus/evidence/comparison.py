"""Paired differences of two systems over the same splits, with intervals and p-values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t as student

from isthmus._core.validation import (
    FloatArray,
    IntArray,
    as_generator,
    check_length,
    check_number,
    check_numbers,
    show_value,
)
from isthmus.exceptions import InputError

# Up to this many units all signs are tried: half a million sums, a few milliseconds.
MOST_EXACT = 20
# Random signs beyond that.
N_DRAWS = 9999
# Of the intervals of `Estimate`.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Difference:
    """The mean difference of two systems' scores, with an interval and a p-value.

    Parameters
    ----------
    mean, low, high : float
        The mean over clusters and its confidence interval, in the unit of the scores.
    p_value, p_adjusted : float
        Of the hypothesis of no difference; as it is, and for the number of comparisons (Holm).
    n, n_clusters : int
        Splits, and the independent groups of splits that the interval stands on.
    confidence : float
        Of the interval.

    Examples
    --------
    In points, that is hundredths:

    >>> print(Difference(0.032, 0.011, 0.053, 0.0041, 0.0205, 200, 10, 0.95))
    +3.2 [1.1, 5.3], p = .004 (Holm .021)
    """

    mean: float
    low: float
    high: float
    p_value: float
    p_adjusted: float
    n: int
    n_clusters: int
    confidence: float

    def __str__(self) -> str:
        p = _format_p(self.p_value)
        holm = f" (Holm {_format_p(self.p_adjusted)})" if self.p_adjusted != self.p_value else ""
        equals = "" if p.startswith("<") else "= "
        return f"{_points(self.mean, '+')} [{_points(self.low)}, {_points(self.high)}], p {equals}{p}{holm}"


def paired_difference(
    a: Any, b: Any, clusters: Any = None, *, confidence: float = 0.95, random_state: Any = 0
) -> Difference:
    r"""Return the mean of a - b over splits, with an interval and a p-value that allow for clusters of splits.

    Splits that share rows are not independent, and twenty of them are not twenty pieces of evidence. With `clusters`
    the mean of each cluster is one observation :math:`\bar d_k`, and each counts the same:

    - interval: :math:`\bar d \pm t_{K-1} s / \sqrt K` over the K clusters. A bootstrap of ten clusters gives
      intervals that are too short (about 90 % for a nominal 95 %); Student's are right for means that are roughly
      normal;
    - p-value: by a permutation test, in which the signs of the :math:`\bar d_k` are flipped; exact up to 20 clusters.
      With K clusters no p-value is below :math:`2^{1-K}`: five can't reach .05.

    Parameters
    ----------
    a, b : array (n,)
        Scores of two systems on the same n splits.
    clusters : array (n,) or sequence of such arrays, optional
        The cluster of each split; None: each split is its own. Of several clusterings (by seed, by pair of domains)
        the larger p-value and the wider interval are returned. Each generalises over its own clusters only, with
        everything else as it is.
    confidence : float
        Of the interval.
    random_state : int, Generator, RandomState or None
        For random signs, where there are more than 20 clusters.

    Examples
    --------
    >>> mlhd, knn = [0.81, 0.79, 0.84, 0.80, 0.83, 0.82], [0.78, 0.77, 0.80, 0.79, 0.80, 0.78]
    >>> print(paired_difference(mlhd, knn))
    +2.8 [1.6, 4.1], p = .031
    >>> print(paired_difference(mlhd, knn, clusters=["en", "en", "fr", "fr", "it", "it"]))
    +2.8 [1.4, 4.3], p = .25
    """
    first, second = _scores(a, "a"), _scores(b, "b")
    check_length(second, len(first), "b", "a")
    check_number(confidence, "confidence", low=0, high=np.nextafter(1, 0), strict=True)
    if clusters is None:
        clusters = np.arange(len(first))
    if not isinstance(clusters, Iterable) or np.ndim(next(iter(clusters), 0)) == 0:
        clusters = [clusters]
    means = [_cluster_means(first - second, each) for each in clusters]
    found = [_difference(units, len(first), confidence, random_state) for units in means]
    widest = max(found, key=lambda each: each.high - each.low)
    p = max(each.p_value for each in found)
    return replace(widest, p_value=p, p_adjusted=p)


def holm(p_values: Any) -> FloatArray:
    r"""Adjust p-values for their number, so that one false alarm in the family is as rare as the level says.

    In ascending order, :math:`\tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})` (Holm, 1979). Valid
    whatever the dependence between the comparisons, and never weaker than Bonferroni's.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    expected = "a one-dimensional array of numbers from 0 to 1"
    p = check_numbers(p_values, "p_values", expected)
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError(f"p_values: expected {expected}, got {show_value(p_values)}.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


def sign_flip_p_value(units: FloatArray, random_state: Any = 0) -> float:
    r"""Return the share of sign vectors s with :math:`|\sum s_k u_k| \ge |\sum u_k|`, two-sided by symmetry.

    Exact up to 20 units. Beyond, signs are drawn at random, and the observed ones count as one draw more, which keeps
    the test's level: :math:`(b + 1) / (m + 1)` with b of m = 9,999 draws.

    Examples
    --------
    >>> sign_flip_p_value(np.array([1.0, 2.0, 3.0, 4.0]))
    0.125
    """
    rng = as_generator(random_state)
    # Sorted absolute values: the order of the units, and which system is a, must not matter.
    sizes = np.sort(np.abs(units))
    # Rounding must not separate sums that are equal on paper.
    observed = abs(units.sum()) - 1e-9 * sizes.sum()
    if len(units) <= MOST_EXACT:
        return float(np.mean(np.abs(_all_sums(sizes)) >= observed))
    signs = 1.0 - 2.0 * rng.integers(0, 2, size=(N_DRAWS, len(units)))
    as_large = np.count_nonzero(np.abs(signs @ sizes) >= observed)
    return (as_large + 1) / (N_DRAWS + 1)


def _all_sums(sizes: FloatArray) -> FloatArray:
    """Return the sums with every choice of signs but the first: turning all signs changes no absolute value."""
    sums = sizes[:1]
    for size in sizes[1:]:
        sums = np.concatenate([sums + size, sums - size])
    return sums


def _difference(units: FloatArray, n: int, confidence: float, random_state: Any) -> Difference:
    k = len(units)
    mean = float(units.mean())
    half = float(student.ppf((1 + confidence) / 2, k - 1) * units.std(ddof=1) / np.sqrt(k))
    p = sign_flip_p_value(units, random_state)
    return Difference(mean, mean - half, mean + half, p, p, n, k, confidence)


def _cluster_means(d: FloatArray, clustering: Any) -> FloatArray:
    check_length(clustering, len(d), "clusters", "a")
    numbers: dict[Any, int] = {}
    codes = [numbers.setdefault(label, len(numbers)) for label in np.asarray(clustering).tolist()]
    if len(numbers) < 2:
        raise InputError(f"clusters: expected at least two clusters, got {len(numbers)} among {len(d)} split(s).")
    return _group_means(d, codes)


def _group_means(values: FloatArray, codes: Any) -> FloatArray:
    return np.asarray(np.bincount(codes, weights=values) / np.bincount(codes))


def _scores(values: Any, name: str) -> FloatArray:
    scores = check_numbers(values, name, "one number per split")
    if not len(scores):
        raise InputError(f"{name}: expected one number per split, got shape (0,).")
    if not np.isfinite(scores).all():
        raise InputError(f"{name}: expected finite numbers, got {scores[~np.isfinite(scores)][0]}.")
    return scores


def _points(share: float, sign: str = "") -> str:
    return format(round(100 * share, 1) + 0.0, f"{sign}.1f")  # + 0.0: no minus before a zero


def _format_p(p: float) -> str:
    if p >= 0.995:
        return "1"
    if p < 0.001:
        return "< .001"
    return f"{p:.2f}"[1:] if p >= 0.0995 else f"{p:.3f}"[1:]


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
        return f"{format_points(self.mean)} points [{format_points(self.low)}, {format_points(self.high)}]"


def format_points(share: float) -> str:
    """Return a difference in points, with its sign: +3.2, −0.4, 0.0."""
    value = round(100.0 * share, 1)
    return "0.0" if value == 0.0 else f"{value:+.1f}".replace("-", "−")


def estimate_difference(D: FloatArray, train: float, units: IntArray | None = None, of: int = 1) -> Estimate:
    r"""Return the mean of row-wise differences D (J, n), NaN where a row is not tested, with a two-way interval.

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
    >>> print(estimate_difference(D, 1))
    +33.3 points [−50.6, +117.2]
    """
    tested = np.flatnonzero(np.isfinite(D).any(axis=0))
    D = D[:, tested]
    splits, rows = np.nanmean(D, axis=1), np.nanmean(D, axis=0)
    means = rows if units is None else _group_means(rows, np.unique(units[tested], return_inverse=True)[1])
    # Half a row gained and half a row lost: a variance of zero in a few rows is an accident.
    more = 1.0 if units is None else 0.0
    V_rows = float(np.var(means, ddof=1) + more / len(means)) / len(means) if len(means) > 1 else 1.0
    J = len(splits)
    overlap = train / max(len(tested) - train, 1.0)
    V_splits = float(np.var(_split_residuals(D, rows), ddof=1)) * (1.0 / J + overlap)
    mean, V = float(splits.mean()), V_rows + V_splits
    if V == 0.0:
        return Estimate(mean, mean, mean)
    freedom = V**2 / (V_rows**2 / max(len(means) - 1, 1) + V_splits**2 / (J - 1))
    tail = (1.0 - CONFIDENCE) / 2.0
    down, up = (float(student.isf(each, freedom)) * V**0.5 for each in (tail, tail / of))
    return Estimate(mean, mean - down, mean + up)


def _split_residuals(D: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the mean of each split (J,) about the means of its rows, scaled as these are means of few splits."""
    times = np.isfinite(D).sum(axis=0)
    several = times > 1
    scale = np.sqrt(times[several] / (times[several] - 1.0))
    left = (D[:, several] - rows[several]) * scale
    return np.array([each[np.isfinite(each)].mean() if np.isfinite(each).any() else 0.0 for each in left])


def compare_with_best(
    own: FloatArray, rules: Mapping[str, FloatArray], train: float, units: IntArray | None = None
) -> tuple[Estimate, str]:
    """Return the difference of a system from the best of several rules, and the name of that rule.

    To choose the rule by the rows that it is measured on flatters it: the difference errs against the system. Its
    interval is corrected for the choice. The lower end is the lowest over all rules, so that it is above 0 only if
    the system is better than each of them; the upper end is the lowest over all rules too, each at a level for all
    of them together (Bonferroni), which makes up for the luck of the best.

    Parameters
    ----------
    own, rules : array (J, n), mapping of str to such
        Right (1) or wrong (0), NaN where a row is not tested.
    train, units
        As in :func:`estimate_difference`.

    Examples
    --------
    >>> own, rule = np.tile([1.0, 1.0, 1.0, 0.0], (3, 10)), np.tile([1.0, 0.0, 0.0, 0.0], (3, 10))
    >>> print(*compare_with_best(own, {"a": rule, "b": 0.0 * rule}, 4))
    +50.0 points [+33.0, +69.6] a
    """
    found = {name: estimate_difference(own - right, train, units, of=len(rules)) for name, right in rules.items()}
    best = min(found, key=lambda name: found[name].mean)
    ends = [[getattr(each, end) for each in found.values()] for end in ("low", "high")]
    return Estimate(found[best].mean, min(ends[0]), min(ends[1])), best
