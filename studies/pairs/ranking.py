"""How well partners find each other: ranks in a table of similarities, ties shared, both directions."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from isthmus._core.validation import FloatArray

NEIGHBOURS = 10
"""Of the correction for hubs."""


def csls(S: FloatArray, k: int = NEIGHBOURS) -> FloatArray:
    r"""Similarities less those of hubs: :math:`2 s_{ij} - r_i - c_j`, with the means of the k best of row and column.

    Cross-domain similarity local scaling (Conneau et al. 2018).

    Examples
    --------
    >>> csls(np.array([[3.0, 2.0], [3.0, 1.0]]), k=1)
    array([[ 0., -1.],
           [ 0., -3.]])
    """
    best = [np.partition(T, T.shape[1] - min(k, T.shape[1]), axis=1)[:, -k:].mean(axis=1) for T in (S, S.T)]
    return np.asarray(2.0 * S - best[0][:, None] - best[1])


def partner_scores(forth: FloatArray, back: FloatArray) -> dict[str, float]:
    """Recall@1, recall@10 and the mean reciprocal rank of the true partner, over both directions.

    Row i and column i are partners. Where others are as similar as the partner, each order of them is as likely: the
    values are means over all orders, and a table without any knowledge gives those of chance.

    Parameters
    ----------
    forth, back : array (n, n)
        Similarities, larger is nearer: rows of the source looking for columns of the target, and the other way.

    Examples
    --------
    >>> S = np.array([[0.9, 0.1, 0.0], [0.2, 0.5, 0.5], [0.3, 0.6, 0.4]])
    >>> scores = partner_scores(S, S.T)
    >>> {name: round(value, 3) for name, value in scores.items()}
    {'recall@1': 0.417, 'recall@10': 1.0, 'mrr': 0.708}
    """
    better, tied = (np.concatenate(parts) for parts in zip(_counts(forth), _counts(back), strict=True))
    found = {f"recall@{k}": float(np.clip((k - better) / tied, 0.0, 1.0).mean()) for k in (1, 10)}
    # The mean of 1/rank over the places better + 1 to better + tied is a difference of harmonic numbers.
    mrr = float(np.mean((digamma(better + tied + 1) - digamma(better + 1)) / tied))
    return {**found, "mrr": mrr}


def _counts(S: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each row, how many columns are better than its partner, and how many are as good (itself among them)."""
    own = np.diagonal(S)[:, None]
    return (own < S).sum(axis=1).astype(float), (own == S).sum(axis=1).astype(float)
