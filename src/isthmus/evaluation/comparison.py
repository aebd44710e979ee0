"""Which system is better, by how much, and how sure that is: paired differences over the same splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student

from isthmus._arrays import FloatArray
from isthmus._validation import choice, length, number
from isthmus.evaluation.sign_flips import sign_flip_p_value
from isthmus.exceptions import InputError

TESTS = ("permutation", "wilcoxon")


@dataclass(frozen=True)
class Difference:
    """The mean difference of two systems' scores, and how sure it is.

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
    test : {"permutation", "wilcoxon"}
        Where the p-value comes from.

    Examples
    --------
    In points, that is hundredths:

    >>> print(Difference(0.032, 0.011, 0.053, 0.0041, 0.0205, 200, 10, 0.95, "permutation"))
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
    test: str

    def __str__(self) -> str:
        p = _short(self.p_value)
        holm = f" (Holm {_short(self.p_adjusted)})" if self.p_adjusted != self.p_value else ""
        equals = "" if p.startswith("<") else "= "
        return f"{_points(self.mean, '+')} [{_points(self.low)}, {_points(self.high)}], p {equals}{p}{holm}"


def paired_difference(
    a: Any,
    b: Any,
    clusters: Any = None,
    *,
    confidence: float = 0.95,
    test: str = "permutation",
    random_state: Any = 0,
) -> Difference:
    r"""The mean of a - b over splits, with an interval and a p-value that know which splits belong together.

    Splits that share rows are not independent, and twenty of them are not twenty pieces of evidence. With `clusters`
    the mean of each cluster is one observation :math:`\bar d_k`, and each counts the same:

    - interval: :math:`\bar d \pm t_{K-1} s / \sqrt K` over the K clusters. A bootstrap of ten clusters gives
      intervals that are too short (about 90 % for a nominal 95 %); Student's are right for means that are roughly
      normal;
    - ``test="permutation"``: the signs of the :math:`\bar d_k` are flipped; exact up to 20 clusters. With K clusters
      no p-value is below :math:`2^{1-K}`: five can't reach .05;
    - ``test="wilcoxon"``: the same with signed ranks in place of values (clusters without a difference left out, ties
      sharing their rank), which is Wilcoxon's signed-rank test, exact with ties too.

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
    test : {"permutation", "wilcoxon"}
        See above.
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
    first = _scores(a, "a")
    second = _scores(b, "b")
    length(second, len(first), "b", "a")
    number(confidence, "confidence", low=0, high=1, strict=True)
    if confidence == 1:
        raise InputError("confidence: expected a number between 0 and 1, got 1.")
    choice(test, "test", TESTS)
    d = first - second
    found = [_difference(units, len(d), confidence, test, random_state) for units in _cluster_means(d, clusters)]
    widest = max(found, key=lambda each: each.high - each.low)
    p = max(each.p_value for each in found)
    return replace(widest, p_value=p, p_adjusted=p)


def compared(
    scores: Mapping[str, Any],
    reference: str,
    clusters: Any = None,
    *,
    confidence: float = 0.95,
    test: str = "permutation",
    random_state: Any = 0,
) -> dict[str, Difference]:
    """Every other system minus the reference, with p-values adjusted (Holm) for the number of comparisons.

    Intervals are of each comparison alone. The other parameters are those of :func:`paired_difference`.

    Examples
    --------
    >>> scores = {"knn": [0.78, 0.77, 0.80, 0.79, 0.80, 0.78], "mlhd": [0.81, 0.79, 0.84, 0.80, 0.83, 0.82],
    ...           "cca": [0.78, 0.76, 0.81, 0.78, 0.80, 0.79]}
    >>> for name, difference in compared(scores, "knn").items():
    ...     print(f"{name:4} {difference}")
    mlhd +2.8 [1.6, 4.1], p = .031 (Holm .062)
    cca  +0.0 [-0.9, 0.9], p = 1
    """
    choice(reference, "reference", scores)
    others = [name for name in scores if name != reference]
    if not others:
        raise InputError("scores: expected the reference and at least one more system, got the reference only.")
    base = _scores(scores[reference], f"scores[{reference!r}]")
    found = {}
    for name in others:
        own = _scores(scores[name], f"scores[{name!r}]")
        length(own, len(base), f"scores[{name!r}]", f"scores[{reference!r}]")
        found[name] = paired_difference(
            own, base, clusters, confidence=confidence, test=test, random_state=random_state
        )
    adjusted = holm([each.p_value for each in found.values()])
    return {name: replace(each, p_adjusted=float(p)) for (name, each), p in zip(found.items(), adjusted, strict=True)}


def holm(p_values: Any) -> FloatArray:
    r"""p-values adjusted for their number, so that one false alarm in the family is as rare as the level says.

    In ascending order, :math:`\tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})` (Holm, 1979). Valid
    whatever the dependence between the comparisons, and never weaker than Bonferroni's.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError(f"p_values: expected a one-dimensional array of numbers from 0 to 1, got {p_values!r:.60}.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


def _difference(units: FloatArray, n: int, confidence: float, test: str, random_state: Any) -> Difference:
    k = len(units)
    mean = float(units.mean())
    half = float(student.ppf((1 + confidence) / 2, k - 1) * units.std(ddof=1) / np.sqrt(k))
    tested = units if test == "permutation" else _signed_ranks(units)
    p = sign_flip_p_value(tested, random_state) if len(tested) else 1.0
    return Difference(mean, mean - half, mean + half, p, p, n, k, confidence, test)


def _signed_ranks(units: FloatArray) -> FloatArray:
    d = np.round(units, 12)  # 0.3 - 0.2 and 0.2 - 0.1 are a tie, and 0.3 - 0.2 - 0.1 is none
    d = d[d != 0]
    return np.asarray(np.sign(d) * rankdata(np.abs(d)))


def _cluster_means(d: FloatArray, clusters: Any) -> list[FloatArray]:
    """For every clustering the means of its clusters."""
    if clusters is None:
        clusters = [np.arange(len(d))]
    elif np.ndim(next(iter(clusters), 0)) == 0:
        clusters = [clusters]
    return [_means(d, clustering) for clustering in clusters]


def _means(d: FloatArray, clustering: Any) -> FloatArray:
    length(clustering, len(d), "clusters", "a")
    numbers: dict[Any, int] = {}
    codes = [numbers.setdefault(label, len(numbers)) for label in np.asarray(clustering).tolist()]
    if len(numbers) < 2:
        raise InputError(f"clusters: expected at least two clusters, got {len(numbers)} among {len(d)} split(s).")
    return np.asarray(np.bincount(codes, weights=d) / np.bincount(codes))


def _scores(values: Any, name: str) -> FloatArray:
    try:
        scores = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected one number per split, got {values!r:.60}.") from None
    if scores.ndim != 1 or not len(scores):
        raise InputError(f"{name}: expected one number per split, got shape {scores.shape}.")
    if not np.isfinite(scores).all():
        raise InputError(f"{name}: expected finite numbers, got {scores[~np.isfinite(scores)][0]}.")
    return scores


def _points(share: float, sign: str = "") -> str:
    return format(round(100 * share, 1) + 0.0, f"{sign}.1f")  # + 0.0: no minus before a zero


def _short(p: float) -> str:
    if p >= 0.995:
        return "1"
    if p < 0.001:
        return "< .001"
    return f"{p:.2f}"[1:] if p >= 0.0995 else f"{p:.3f}"[1:]
