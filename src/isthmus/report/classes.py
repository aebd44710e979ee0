"""Given classes beside true ones: the confusion matrix, and what it comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from isthmus.evaluation.intervals import wilson_interval
from isthmus.report.figures import confusion
from isthmus.report.html import element, table
from isthmus.report.parts import Part
from isthmus.report.rows import in_order

MOST_CLASSES = 40
"""Of a matrix; the smaller classes are put together."""
OTHERS, NONE = "other classes", "no class"


def classes_parts(true: Sequence[str], given: Sequence[str | None], about: str) -> list[Part]:
    """The share that is right, the confusion matrix and a line per class.

    Parameters
    ----------
    true, given : sequence of str
        The classes of the same rows; a given one may be None.
    about : str
        Which rows they are.
    """
    hits, n = sum(t == g for t, g in zip(true, given, strict=True)), len(true)
    low, high = wilson_interval(hits, n)
    said = f"Right: {hits / n:.1%} [{low:.1%}, {high:.1%}] of {n:,} {about}"
    names = _names([*true, *(NONE if g is None else g for g in given)])
    place = {name: i for i, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)), dtype=np.intp)
    for t, g in zip(true, given, strict=True):
        matrix[place.get(t, place.get(OTHERS, 0)), place.get(NONE if g is None else g, place.get(OTHERS, 0))] += 1
    rows = [[name, *_line(matrix, i)] for i, name in enumerate(names) if matrix[i].any()]
    head = ("class", "rows", "found", "right when given")
    return [
        element("p", said),
        confusion(matrix, names),
        element("details", element("summary", "Class by class"), table(head, rows, kind="narrow", numbers=(1, 2, 3))),
    ]


def _line(matrix: np.ndarray, i: int) -> list[str]:
    of, given = int(matrix[i].sum()), int(matrix[:, i].sum())
    return [f"{of:,}", f"{matrix[i, i] / of:.0%}", f"{matrix[i, i] / given:.0%}" if given else "never given"]


def _names(every: Sequence[str]) -> list[str]:
    """Classes in alphabetic order; of too many the most frequent ones, and one name for the rest."""
    counts = Counter(every)
    refused = counts.pop(NONE, 0)
    kept = in_order(name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_CLASSES])
    return kept + [OTHERS] * (len(counts) > len(kept)) + [NONE] * bool(refused)
