"""Paired differences of two systems over the same splits, with intervals and p-values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t as student

from isthmus._core.validation import FloatArray, as_generator, check_length, check_number, check_numbers, show_value
from isthmus.exceptions import InputError

# Up to this many units all signs are tried: half a million sums, a few milliseconds.
MOST_EXACT = 20
# Random signs beyond that.
N_DRAWS = 9999


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
    return np.asarray(np.bincount(codes, weights=d) / np.bincount(codes))


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
    """A mean and its interval, as shares: the truth is beyond either end with a chance of 5 %.

    Examples
    --------
    >>> print(Estimate(0.062, 0.039, 0.084))
    +6.2 points [+3.9, +8.4]
    """

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        mean, low, high = (format_points(100 * share) for share in (self.mean, self.low, self.high))
        return f"{mean} points [{low}, {high}]"


def format_points(points: float) -> str:
    """Return a difference in points with its sign, and no minus before a zero: +3.2, −0.4, +0.0."""
    return f"{round(points, 1) + 0.0:+.1f}".replace("-", "−")


def estimate_over_splits(d: FloatArray, overlap: float, tail: float = 0.05, least: float = 0.0) -> Estimate:
    r"""Return the mean of differences d (J,), one of each split of the same rows, with its interval.

    .. math:: \bar d \pm t_{J-1}(\alpha) \sqrt{\Big(\frac1J + \frac{m}{n - m}\Big) s_d^2}

    m of n rows are learned from in each split. The term m / (n - m) is the correction of Nadeau and Bengio (2003),
    turned to what splits of a few labels share. The interval is one for these n rows with other labels, not for
    other rows.

    Parameters
    ----------
    d : array (J,)
        Differences, at least two.
    overlap : float
        m / (n - m).
    tail : float
        α: the chance that the truth is below the lower end, and that it is above the upper one.
    least : float
        The smallest deviation: differences that are equal by accident are no proof.

    Examples
    --------
    >>> print(estimate_over_splits(np.array([0.02, 0.04, 0.03, 0.03]), 0.1))
    +3.0 points [+1.9, +4.1]
    """
    J, mean = len(d), float(d.mean())
    deviation = float(np.sqrt((1.0 / J + overlap) * d.var(ddof=1)))
    half = float(student.isf(tail, J - 1)) * max(deviation, least)
    return Estimate(mean, mean - half, mean + half)


def choose_on_other_splits(rules: FloatArray) -> FloatArray:
    """Return the score in each split (J,) of the rule that is best on the *other* splits, of rules (R, J).

    To choose by the split that is measured would flatter the best rule.

    Examples
    --------
    >>> choose_on_other_splits(np.array([[0.9, 0.5, 0.5], [0.4, 0.7, 0.8]]))
    array([0.4, 0.5, 0.5])
    """
    others = rules.sum(axis=1, keepdims=True) - rules
    return np.asarray(rules[others.argmax(axis=0), np.arange(rules.shape[1])])
