"""Scores of predicted labels and of ranked lists, from accuracy and confusion to precision at k and FOSCTTM."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from isthmus._core.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    ShortRepr,
    as_dense,
    as_labels,
    check_length,
    check_matrix,
    check_number,
    is_sparse,
    is_unlabelled,
)
from isthmus.evidence.held_out import wilson_interval
from isthmus.exceptions import InputError
from isthmus.geometry.similarity import split_rows

# The row and column of a confusion matrix for all classes that have none of their own.
OTHER_CLASSES = "other classes"


def expect_at_cuts(probability: FloatArray, steps: int = 20) -> list[tuple[float, int, float, float]]:
    """Return the cut, the number of claims kept, their expected precision, and the expected share of right ones kept.

    Examples
    --------
    >>> [[round(value, 2) for value in row] for row in expect_at_cuts(np.array([0.5, 0.9, 1.0]), 2)]
    [[0.0, 3, 0.8, 1.0], [0.5, 3, 0.8, 1.0], [1.0, 1, 1.0, 0.42]]
    """
    found = []
    for cut in np.linspace(0.0, 1.0, steps + 1):
        kept = probability[probability >= cut - 1e-9]
        share = float(kept.sum() / max(float(probability.sum()), 1e-12))
        found.append((float(cut), len(kept), float(kept.mean()) if len(kept) else 1.0, share))
    return found


def accuracy(y_true: Any, y_predicted: Any) -> float:
    """Return the share of rows whose predicted label is the true one; rows without a true label are ignored.

    Parameters
    ----------
    y_true : array (n,)
        Labels; -1, None or NaN where unknown.
    y_predicted : array (n,)
        Labels of the same type: comparing "3" with 3 raises an error.

    Examples
    --------
    >>> accuracy(["cat", "dog", "dog", "cat", None], ["cat", "dog", "cat", "cat", "dog"])
    0.75
    """
    return score_predictions(y_true, y_predicted, "y_true", "y_predicted")


def score_predictions(y_true: Any, y_predicted: Any, name: str, of: str) -> float:
    """Return :func:`accuracy` with error messages that call the arguments ``name`` and ``of``."""
    true, predicted = as_labels(y_true, name), as_labels(y_predicted, of)
    check_length(true, len(predicted), name, of)
    labelled = ~is_unlabelled(true)
    if not labelled.any():
        raise InputError(f"{name}: expected at least one labelled row to score, got none among {len(true)}.")
    true, predicted = true[labelled], predicted[labelled]
    kinds = _kinds(true), _kinds(predicted[~is_unlabelled(predicted)])
    if kinds[1] and kinds[0] != kinds[1]:
        wanted, got = (" and ".join(sorted(each)) for each in reversed(kinds))
        raise InputError(f"{name}: expected labels of the same type as the predictions ({wanted}), got {got}.")
    return float(np.mean(_equal(true, predicted)))


@dataclass(frozen=True, eq=False, repr=False)
class ClassScores(ShortRepr):
    """Accuracy, confusion matrix, and recall and precision per class of some predictions.

    Parameters
    ----------
    classes : tuple of str
        The classes in the order of the matrix.
    confusion : array (C, C)
        Numbers of rows; true classes are rows, predicted classes are columns, as in scikit-learn.
    n_correct : int
        Rows whose predicted class is the true one.
    """

    classes: tuple[str, ...]
    confusion: IntArray
    n_correct: int

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share of rows whose predicted class is the true one."""
        return self.n_correct / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the accuracy (Wilson)."""
        return wilson_interval(self.n_correct, self.n)

    @property
    def recall(self) -> FloatArray:
        """The share of each class's rows that were predicted as this class (C,); NaN for a class without rows."""
        return self._shares(axis=1)

    @property
    def precision(self) -> FloatArray:
        """The share of the predictions of each class that are right (C,); NaN for a class never predicted."""
        return self._shares(axis=0)

    def _shares(self, axis: int) -> FloatArray:
        counts = self.confusion.sum(axis=axis)
        return np.where(counts > 0, np.diagonal(self.confusion) / np.maximum(counts, 1), np.nan)


def score_classes(
    y_true: Sequence[str], y_predicted: Sequence[str], classes: Sequence[str] | None = None
) -> ClassScores:
    """Compare the predicted classes of some rows with the true ones.

    Parameters
    ----------
    y_true, y_predicted : sequence of str (n,)
        Classes of the same rows, at least one.
    classes : sequence of str, optional
        The classes of the confusion matrix, in this order; all others share one row and column, "other classes", but
        are told apart for the accuracy. By default all classes, sorted.

    Examples
    --------
    >>> scores = score_classes(["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", "dog"])
    >>> scores.accuracy, scores.confusion.tolist(), scores.recall.tolist()
    (0.75, [[1, 1], [0, 2]], [0.5, 1.0])
    """
    if not len(y_true):
        raise InputError("y_true: expected at least one row to score, got none.")
    check_length(y_predicted, len(y_true), "y_predicted", "y_true")
    named = sorted({*y_true, *y_predicted}) if classes is None else list(dict.fromkeys(classes))
    place = {name: i for i, name in enumerate(named)}
    # "other classes" is added only if some class needs it.
    if not place.keys() >= {*y_true, *y_predicted}:
        place.setdefault(OTHER_CLASSES, len(named))
    rows, columns = ([place.get(name, place.get(OTHER_CLASSES, 0)) for name in y] for y in (y_true, y_predicted))
    confusion = np.zeros((len(place), len(place)), dtype=np.intp)
    np.add.at(confusion, (rows, columns), 1)
    correct = sum(true == predicted for true, predicted in zip(y_true, y_predicted, strict=True))
    return ClassScores(tuple(place), confusion, correct)


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(ShortRepr):
    """The curve of a calibration: rows by the probability that was claimed for them, in bins of equal width.

    Parameters
    ----------
    counts : array (b,)
        The number of rows in each bin; the first begins at 0, the last ends at 1.
    claimed, correct : array (b,)
        The mean probability, and the share of rows that are right; NaN for bins without rows.
    """

    counts: IntArray
    claimed: FloatArray
    correct: FloatArray

    @property
    def error(self) -> float:
        """The expected calibration error: the mean over rows of the gap of their bin."""
        gaps = np.abs(np.nan_to_num(self.claimed - self.correct))
        return float(self.counts @ gaps / max(self.counts.sum(), 1))

    @property
    def sentence(self) -> str:
        """The error, and what the probabilities of at least 90 % are worth."""
        sure = f"{int(self.counts[-1]):,} of them have at least 90%"
        kept = f"{sure}, and {self.correct[-1]:.0%} of these are right" if self.counts[-1] else "none has 90%"
        total = int(self.counts.sum())
        return f"Probabilities: calibration error {self.error:.2f} on {total:,} held-out predictions; {kept}."


def measure_reliability(probabilities: FloatArray, right: FloatArray | BoolArray, bins: int = 10) -> Reliability:
    r"""Compare the probabilities (n,) of predictions with whether each is right (n,).

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} \lvert \bar p_b - \bar r_b \rvert

    Examples
    --------
    >>> found = measure_reliability(np.array([0.95, 0.95, 0.55, 0.55]), np.array([1, 1, 1, 0]))
    >>> round(found.error, 3), found.counts[[5, 9]]
    (0.05, array([2, 2]))
    """
    check_length(right, len(probabilities), "right", "probabilities")
    place = np.minimum((np.asarray(probabilities) * bins).astype(np.intp), bins - 1)
    counts = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        claimed, correct = (np.bincount(place, x, minlength=bins) / counts for x in (probabilities, right))
    return Reliability(counts, claimed, correct)


def precision_at_k(distances: Any, y_queries: Any, y_references: Any, k: int) -> float:
    r"""Return the mean over queries of the share of the query's class among its k nearest references.

    If references at the same distance compete for the last of the k places, the value is the mean over all orders of
    the ties, so that the order of the references does not matter.

    Parameters
    ----------
    distances : array (n_q, n_r)
        Smaller is nearer.
    y_queries, y_references : array (n_q,), (n_r,)
        Classes. Queries without a label, or without a reference of their class, are ignored.
    k : int
        At most n_r.

    Examples
    --------
    >>> precision_at_k([[1.0, 2.0, 2.0, 3.0]], [0], [0, 0, 1, 1], k=2)
    0.75
    """
    D, relevant = _retrieval(distances, y_queries, y_references)
    k = int(check_number(k, "k", low=1, high=D.shape[1], whole=True))
    # Distance of the k-th neighbour: nearer references are in, those at this distance share the remaining places.
    border = np.partition(D, k - 1, axis=1)[:, k - 1, None]
    inside, tied = border > D, border == D
    share = (k - inside.sum(axis=1)) / tied.sum(axis=1)
    found = (relevant & inside).sum(axis=1) + share * (relevant & tied).sum(axis=1)
    return float(np.mean(found / k))


def mean_average_precision(distances: Any, y_queries: Any, y_references: Any) -> float:
    r"""Return the mean over queries of the average precision, :math:`\frac{1}{R} \sum_{r \text{ relevant}} P(d_r)`.

    R is the number of references of the query's class, and P(d) the share of that class among all references at a
    distance of at most d. References at equal distance are therefore ranked together, as in
    :func:`sklearn.metrics.average_precision_score`, and the order of the references does not matter.

    Parameters
    ----------
    distances, y_queries, y_references : arrays
        As for :func:`precision_at_k`.

    Examples
    --------
    >>> mean_average_precision([[1.0, 2.0, 3.0, 4.0]], ["a"], ["a", "b", "a", "b"])  # (1/1 + 2/3) / 2
    0.833...
    """
    D, relevant = _retrieval(distances, y_queries, y_references)
    return float(np.mean([_average_precision(d, r) for d, r in zip(D, relevant, strict=True)]))


def foscttm(X: Any, Y: Any) -> float:
    """Return the fraction of rows that are closer than the true match, the mean over both directions.

    0 if every row is nearest to its own partner, 0.5 by chance; rows at the same distance as the partner count half.

    Parameters
    ----------
    X, Y : array (n, k)
        Points of one space, such as rows of A as :meth:`isthmus.Alignment.embed` places them and those of B; row i of
        X and row i of Y are the same object.

    Examples
    --------
    >>> foscttm([[0.0], [1.0], [2.0]], [[0.1], [1.1], [2.1]]), foscttm([[0.0], [1.0]], [[1.0], [0.0]])
    (0.0, 1.0)
    """
    x, y = (as_dense(check_matrix(rows, name, min_rows=2)) for rows, name in ((X, "X"), (Y, "Y")))
    if x.shape != y.shape:
        raise InputError(f"Y: expected shape {x.shape}, as X has, got {y.shape}.")
    own = np.linalg.norm(x - y, axis=1)
    found = 0.0
    for rows in split_rows(*2 * (len(x),)):
        D = cdist(x[rows], y)
        # Its own partner is at a tie with itself, and counts as nothing.
        D[np.arange(len(D)), np.arange(rows.start, rows.stop)] = np.inf
        for true in (own[rows, None], own):
            found += float((true > D).sum() + 0.5 * (true == D).sum())
    return found / (2 * len(x) * (len(x) - 1))


def _average_precision(d: FloatArray, relevant: BoolArray) -> float:
    order = np.argsort(d, kind="stable")
    hits = np.cumsum(relevant[order])
    # Precision after the last of the references at the same distance, so that ties count together.
    last = np.searchsorted(d[order], d[relevant], side="right") - 1
    return float(np.mean(hits[last] / (last + 1)))


def _retrieval(distances: Any, y_queries: Any, y_references: Any) -> tuple[FloatArray, BoolArray]:
    """Return distances and the mask of relevant references, for the queries that have a relevant one."""
    D = check_matrix(distances, "distances")
    if is_sparse(D):
        raise InputError("distances: expected a dense array, got a sparse one; its empty cells would be zeros.")
    queries, references = as_labels(y_queries, "y_queries"), as_labels(y_references, "y_references")
    check_length(queries, D.shape[0], "y_queries", "the rows of distances")
    check_length(references, D.shape[1], "y_references", "the columns of distances")
    relevant = _equal(queries[:, None], references) & ~is_unlabelled(queries)[:, None]
    some = relevant.any(axis=1)
    if not some.any():
        raise InputError(f"y_references: expected the class of at least one query, got none of {len(queries)}.")
    return D[some], relevant[some]


def _equal(a: Any, b: Any) -> BoolArray:
    """Return whether labels are equal; a string never equals a number."""
    if a.dtype.kind in "biuf" and b.dtype.kind in "biuf":
        return np.asarray(a == b)
    return np.asarray(a.astype(object) == b.astype(object), dtype=bool)


def _kinds(labels: NDArray[Any]) -> set[str]:
    """Return the kinds of labels: numbers, strings, or else the name of their type."""
    types = set(map(type, labels.tolist()))
    words = {numbers.Number: "numbers", str: "strings"}
    return {next((word for base, word in words.items() if issubclass(each, base)), each.__name__) for each in types}
