"""Wrong pairs: what a method finds with pairs that say nothing, it did not learn from the pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._arrays import IntArray
from isthmus._validation import length
from isthmus.domains import as_labels
from isthmus.exceptions import InputError


def shuffled_pairs(pairs: Any, rng: np.random.Generator, classes: Any = None) -> IntArray:
    """The same rows in wrong pairs: each source row gets the target row of another pair, all in one random cycle.

    Rows of either side are learned from as before, and as often. Where no row is in two pairs, none of the pairs is
    right any more. With ``classes`` there is a cycle in each class: what a system still finds then, it finds by the
    class of a row and not by the row. A pair that is alone in its class stays as it is.

    Parameters
    ----------
    pairs : array (m, 2)
        Numbers of source and target rows.
    rng : Generator
        The same generator gives the same pairs.
    classes : array (m,), optional
        The class of each pair.

    Examples
    --------
    >>> shuffled_pairs([[0, 0], [1, 1], [2, 2]], np.random.default_rng(0))
    array([[0, 2],
           [1, 0],
           [2, 1]])
    >>> shuffled_pairs([[0, 0], [1, 1], [2, 2]], np.random.default_rng(0), classes=["a", "b", "a"])
    array([[0, 2],
           [1, 1],
           [2, 0]])
    """
    P = np.asarray(pairs)
    if P.ndim != 2 or P.shape[1] != 2 or P.dtype.kind not in "iu":
        raise InputError(f"pairs: expected whole row numbers (m, 2), got {P.dtype} of shape {P.shape}.")
    if len(P) < 2:
        raise InputError(f"pairs: expected at least two to shuffle, got {len(P)}.")
    groups = np.zeros(len(P), dtype=np.intp) if classes is None else _codes(classes, len(P))
    shuffled = P.astype(np.intp)
    for group in np.unique(groups):
        cycle = rng.permutation(np.flatnonzero(groups == group))
        shuffled[cycle, 1] = P[np.roll(cycle, 1), 1]
    return shuffled


def _codes(classes: Any, n: int) -> IntArray:
    labels = as_labels(classes, "classes")
    length(labels, n, "classes", "pairs")
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.intp)
