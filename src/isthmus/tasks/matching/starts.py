"""Where a matching starts when nothing is known: rows that stand in the same way among their own collection."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from isthmus._core.arrays import FloatArray, IntArray, Matrix, is_sparse
from isthmus.geometry.coordinates import Prepared, normalize_rows
from isthmus.geometry.scores import CELLS, Scores
from isthmus.tasks.matching.engine import Engine
from isthmus.tasks.matching.problem import Problem, label_veto, score_by_class_profile

LEADING = (8, 16, 24, 40)
"""Numbers of leading axes whose share of a row is a statistic of it."""
NEAREST, PLACES = 20, 100
"""The similarities to the nearest rows are taken one by one, those further down at about so many places."""


def make_problem(A: Prepared, B: Prepared, ys: IntArray, yt: IntArray, engine: Engine) -> Problem:
    """What is asked, with all that is known but pairs."""
    alike = geometric_scores(A, B)
    labelled = (ys >= 0).any() and (yt >= 0).any()
    if len(np.intersect1d(ys[ys >= 0], yt[yt >= 0])) > 1:
        alike = alike.standardised() + score_by_class_profile(A.points, ys, B.points, yt)
    return Problem.of(A.points, B.points, alike, label_veto(ys, yt) if labelled else None, engine)


def geometric_scores(A: Prepared, B: Prepared) -> Scores:
    """Scores of rows that look alike from within: by statistics of each row, and by its sorted similarities."""
    places = quantile_positions(len(A.squares), len(B.squares))
    SA, SB = (standardize_columns(sorted_similarities(X, p)) for X, p in ((A, places[0]), (B, places[1])))
    alike = Scores(normalize_rows(SA), normalize_rows(SB))
    FA, FB = (standardize_columns(signatures(X)).astype(np.float32) for X in (A, B))
    near = Scores(2.0 * FA, FB).shifted(-np.einsum("ij,ij->i", FA, FA), -np.einsum("ij,ij->i", FB, FB))
    return alike.standardised() + near.standardised()


def standardize_columns(F: FloatArray) -> FloatArray:
    """Columns of mean 0 and deviation 1."""
    deviations = F.std(axis=0)
    return np.asarray((F - F.mean(axis=0)) / np.where(deviations > 0.0, deviations, 1.0))


def quantile_positions(n: int, m: int) -> tuple[IntArray, IntArray]:
    """The places that are compared in the falling lists of similarities to n - 1 and to m - 1 others.

    Examples
    --------
    >>> [places[-1] for places in quantile_positions(50, 100)]
    [np.int64(48), np.int64(98)]
    """
    last = min(n, m) - 2
    first = np.arange(min(NEAREST, last + 1))
    further = np.geomspace(min(NEAREST, last), last, PLACES).astype(np.intp)
    places = np.unique(np.concatenate([first, further]))
    a, b = (np.round(places * ((k - 2) / last)).astype(np.intp) for k in (n, m))
    return a, b


def sorted_similarities(X: Prepared, places: IntArray) -> FloatArray:
    """The cosines of each centred row to all others, in falling order, at some places (n, p)."""
    n = len(X.squares)
    out = np.empty((n, len(places)), np.float32)
    lengths = np.sqrt(np.maximum(X.squares, 1e-300))
    shift = np.asarray(X.features @ X.mean).ravel()
    dense = None if is_sparse(X.features) else ((X.features - X.mean) / lengths[:, None]).astype(np.float32)
    step = max(1, CELLS // n)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        if dense is None:
            G = (X.features[rows] @ X.features.T).toarray()
            G = (G - shift[rows, None] - shift + X.mean @ X.mean) / lengths[rows, None] / lengths
        else:
            G = dense[rows] @ dense.T
        G = G.astype(np.float32)
        G[np.arange(len(G)), np.arange(rows.start, rows.stop)] = -np.inf
        G.sort(axis=1)
        out[rows] = G[:, ::-1][:, places]
    return out


def signatures(X: Prepared, leading: tuple[int, ...] = LEADING) -> FloatArray:
    """Twelve statistics of each row that mean the same in any features, as normal scores of their ranks (n, 12)."""
    Z = X.centred.astype(np.float64)
    found = [(Z[:, :k] ** 2).sum(axis=1) for k in leading] + [X.squares]
    for k in leading[1:]:
        U = normalize_rows(Z[:, :k])
        found.append(U @ U.mean(axis=0))
    found += _of_features(X.features)
    return np.stack([ndtri((rankdata(f) - 0.5) / len(f)) for f in found], axis=1)


def _of_features(X: Matrix) -> list[FloatArray]:
    """Over how many columns a row is spread (twice), how popular these are, how high its peak is."""
    size = abs(X)
    squares = size.multiply(size).tocsr() if is_sparse(X) else size**2

    def total(M: Matrix) -> FloatArray:
        return np.asarray(M.sum(axis=1)).ravel()

    first, second = total(size), total(squares) + 1e-300
    fourth = total(squares.multiply(squares) if is_sparse(X) else squares**2) + 1e-300
    popularity = np.asarray(squares.sum(axis=0)).ravel() / (float(squares.sum()) or 1.0)
    top: Any = size.max(axis=1)
    peak = np.asarray(top.toarray() if is_sparse(top) else top).ravel()
    return [
        first**2 / second,
        second**2 / fourth,
        np.asarray(squares @ popularity).ravel() / second,
        peak / np.sqrt(second),
    ]
