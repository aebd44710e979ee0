"""What an answer is worth: precision, recall and F1 of new pairs, and whether its probabilities are right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from isthmus._core.validation import BoolArray, FloatArray, IntArray
from studies.linkage.methods import Answer
from studies.linkage.tasks import KNOWN, Task

BINS = 10


def score_answer(task: Task, known: int, answer: Answer, *, oracle: bool) -> dict[str, float]:
    """Return the figures of an answer; known pairs count neither as found nor as missed.

    With ``oracle``, scores are no probabilities: those above the threshold that is best for F1 are returned.
    """
    told = task.known_pairs(known)
    wanted = ~contains(told, task.truth)
    new = ~contains(told, answer.pairs)
    pairs, scores = answer.pairs[new], answer.scores[new]
    right = contains(task.truth, pairs)
    if oracle:
        kept = choose_threshold(scores, right, int(wanted.sum()))
        right = right[kept]
    figures = measure_pairs(right, int(wanted.sum())) | {"memory": answer.memory}
    if answer.ok is not None:
        figures["ok"] = answer.ok
    if oracle:
        return figures
    rest = {} if known else {name_rest(n): score_rest(task, n, answer) for n in KNOWN[1:] if task.allows(n)}
    return figures | rest | measure_calibration(scores, right)


def name_rest(known: int) -> str:
    """Return the name of the figure of :func:`score_rest`."""
    return f"f1_beyond_{known}"


def score_rest(task: Task, known: int, answer: Answer) -> float:
    """Return the F1 of an answer on the rows that are in none of n known pairs.

    An answer that was given these pairs is measured on the same rows: the difference is what they are worth.
    """
    taken = task.known_pairs(known)
    truth, pairs = (
        some[~(np.isin(some[:, 0], taken[:, 0]) | np.isin(some[:, 1], taken[:, 1]))]
        for some in (task.truth, answer.pairs)
    )
    return measure_pairs(contains(truth, pairs), len(truth))["f1"]


def contains(pairs: IntArray, asked: IntArray) -> BoolArray:
    """Return which of some pairs are among others.

    Examples
    --------
    >>> contains(np.array([[0, 1], [2, 3]]), np.array([[2, 3], [3, 2]])).tolist()
    [True, False]
    """
    there = set(map(tuple, pairs.tolist()))
    return np.array([tuple(pair) in there for pair in asked.tolist()], dtype=bool)


def choose_threshold(scores: FloatArray, right: BoolArray, wanted: int) -> BoolArray:
    """Return the pairs above the threshold of the best F1; equal scores are kept or dropped together."""
    order = np.argsort(-scores, kind="stable")
    found = np.cumsum(right[order])
    f1 = 2 * found / np.maximum(np.arange(1, len(order) + 1) + wanted, 1)
    f1[:-1][np.diff(scores[order]) == 0] = -1.0
    if not len(f1) or f1.max() <= 0:
        return np.zeros(len(scores), dtype=bool)
    kept: BoolArray = scores >= scores[order][f1.argmax()]
    return kept


def measure_pairs(right: BoolArray, wanted: int) -> dict[str, float]:
    """Return precision, recall and F1; all are one where nothing is there and nothing is returned.

    Examples
    --------
    >>> measure_pairs(np.array([True, True, False, True]), 6)
    {'f1': 0.6, 'precision': 0.75, 'recall': 0.5, 'returned': 4.0}
    """
    n, found = len(right), int(right.sum())
    f1 = 2 * found / (n + wanted) if n + wanted else 1.0
    precision = found / n if n else 1.0
    return {"f1": f1, "precision": precision, "recall": found / wanted if wanted else 1.0, "returned": float(n)}


def measure_calibration(confidence: FloatArray, right: BoolArray) -> dict[str, float]:
    """Return the claimed precision, and size, mean confidence and precision of ten bins; ECE is their mean gap."""
    if not len(right):
        return {}
    bins = np.minimum((BINS * confidence).astype(int), BINS - 1)
    figures = {"claimed": float(confidence.mean())}
    for k in np.unique(bins):
        there = bins == k
        figures |= {f"n{k}": float(there.sum()), f"confidence{k}": float(confidence[there].mean())}
        figures |= {f"right{k}": float(right[there].mean())}
    return figures | {"ece": find_ece([figures])}


def pool_bins(records: Iterable[Mapping[str, float]]) -> FloatArray:
    """Return number, mean confidence and precision (3, bins) of all pairs of some answers; NaN in empty bins."""
    pooled = np.zeros((3, BINS))
    for figures in records:
        for k in range(BINS):
            if n := figures.get(f"n{k}", 0.0):
                pooled[:, k] += n * np.array([1.0, figures[f"confidence{k}"], figures[f"right{k}"]])
    with np.errstate(invalid="ignore"):
        pooled[1:] /= pooled[0]
    return pooled


def find_ece(records: Iterable[Mapping[str, float]]) -> float:
    """Return the expected calibration error: the mean of |confidence − precision| over the pairs, bin by bin."""
    n, confidence, right = pool_bins(records)
    return float(np.nansum(n * np.abs(confidence - right)) / n.sum())
