"""The control of a matching: what the columns find that both collections share, without any pair or map."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._arrays import IntArray, as_dense
from isthmus._validation import matrix
from isthmus.matching.preparation import of_unit_length

TIE = 1e-9


def shared_recall(A: Any, B: Any, pairs: IntArray, without: IntArray | None = None) -> float:
    r"""The share of pairs whose partner comes first by the cosine of columns that both collections have.

    .. math:: \frac{1}{p} \sum_{(i, j)} [j \in J_i] / |J_i|, \qquad J_i = \arg\max_k \cos(a_i, b_k)

    A partner that is one of several with the same cosine is found by chance, and counts as much as that.

    Parameters
    ----------
    A, B : array or sparse matrix (n, d), (m, d)
        The same columns of either collection.
    pairs : array (p, 2)
        Rows of A and of B that are the same object.
    without : array (q,), optional
        Rows of B that are no candidates.

    Examples
    --------
    >>> shared_recall(np.eye(3), np.eye(3)[[1, 0, 2]], np.array([[0, 1], [1, 2]]))
    0.5
    """
    X, Z = (of_unit_length(matrix(rows, name)) for rows, name in ((A, "A"), (B, "B")))
    cosines = np.asarray(as_dense(X[pairs[:, 0]] @ Z.T), dtype=np.float64)
    own = cosines[np.arange(len(pairs)), pairs[:, 1]][:, None]
    candidates = np.ones(Z.shape[0], dtype=bool)
    candidates[np.asarray([] if without is None else without, dtype=np.intp)] = False
    better, equal = (cosines > own + TIE) & candidates, (np.abs(cosines - own) <= TIE) & candidates
    return float(np.mean(~better.any(axis=1) / np.maximum(equal.sum(axis=1), 1)))
