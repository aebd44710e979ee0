"""Clusters of the target named by seeded graph matching: classes that lie to each other alike have one name."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import quadratic_assignment

from isthmus._core.arrays import FloatArray, IntArray
from isthmus.geometry.coordinates import normalize_rows
from isthmus.maps.ridge import fit_ridge
from isthmus.tasks.transfer.guesses import (
    AXES_PER_CLASS,
    Guess,
    class_means,
    guess_from_scores,
    means_of_guesses,
    squared_distances,
)
from isthmus.tasks.transfer.problem import TransferRows
from isthmus.tasks.transfer.rules import LinearRule, MappedRule

TRIES = 5


def name_clusters(rows: TransferRows, P: FloatArray) -> Guess:
    """The clusters P (n_u, C), in which those of the known classes have their names, with names for the others."""
    if len(rows.unknown) < 2:
        return Guess("clusters", P)
    view = rows.at(AXES_PER_CLASS)
    source = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    target = means_of_guesses(view.L, rows.one_hot, view.U, P) - view.U.mean(axis=0)
    names = _match_similarities(
        normalize_rows(target) @ normalize_rows(target).T,
        normalize_rows(source) @ normalize_rows(source).T,
        rows.known,
    )
    named = np.empty_like(P)
    named[:, names] = P
    return Guess("clusters", named)


def _match_similarities(A: FloatArray, B: FloatArray, seeds: IntArray) -> IntArray:
    """The place in B of each row of A, where similarities A (C, C) and B fit best; the seeds keep theirs."""
    best, most = np.arange(len(A)), -np.inf
    fixed = np.stack([seeds, seeds], axis=1)
    for k in range(TRIES):
        options: Any = {
            "maximize": True,
            "partial_match": fixed,
            "rng": np.random.default_rng(k),
            "P0": "randomized" if k else "barycenter",
        }
        found = quadratic_assignment(A, B, method="faq", options=options)
        if found.fun > most:
            best, most = found.col_ind, found.fun
    return np.asarray(best, dtype=np.intp)


def fit_paired_rule(rows: TransferRows) -> MappedRule:
    r"""Probabilities of the source's classes by :math:`s(\hat f(x))`, the map f learned from the known pairs.

    .. math:: \min_f \sum_{ij \text{ known}} \omega_{ij} \lVert f(b_j) - a_i \rVert^2 + \lambda \lVert f \rVert^2

    The penalty has the least error of leaving out each pair in turn.
    """
    assert rows.pairs is not None
    A, B, taught = normalize_rows(rows.source), normalize_rows(rows.target), rows.ys >= 0
    learned = fit_ridge(B[rows.pairs.target], A[rows.pairs.source], weights=rows.pairs.weights).map
    shares = rows.shares[rows.shared]
    classifier = LinearRule.of(A[taught], np.searchsorted(rows.shared, rows.ys[taught]))
    return MappedRule.of(learned, classifier, B, shares / shares.sum())


ROUNDS = 15


def iterate_procrustes(rows: TransferRows, guess: Guess) -> Guess:
    r"""Guesses from the rotation that they imply, some rounds on.

    .. math:: R = U V^T \text{ of } (M^t)^T M^s = U \Sigma V^T, \qquad s_{ic} = \cos(R^T u_i, \mu^s_c)
    """
    view = rows.at(AXES_PER_CLASS)
    M = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    mean = view.target.mean(axis=0)
    U, L, P = view.U - mean, view.L - mean, guess.P
    for _ in range(ROUNDS):
        P = guess_from_scores(
            normalize_rows(U @ _rotation(means_of_guesses(L, rows.one_hot, U, P), M)) @ normalize_rows(M).T,
            rows.shares,
        )
    return Guess(f"{guess.name}, rotated", P)


def _rotation(A: FloatArray, B: FloatArray) -> FloatArray:
    """The rotation (d, e) of rows A that agrees best with rows B."""
    left, _, right = np.linalg.svd(A.T @ B, full_matrices=False)
    return np.asarray(left @ right)


def guess_by_relative_means(rows: TransferRows) -> Guess:
    """Guesses by the distance between a row's cosines to the labelled means and a class's, both standardised."""
    view = rows.at(AXES_PER_CLASS)
    M = class_means(view.S, view.ys, rows.n_classes)
    labelled = class_means(view.L, np.searchsorted(rows.known, view.yl), len(rows.known))
    classes, targets = normalize_rows(M) @ normalize_rows(M[rows.known]).T, view.U @ normalize_rows(labelled).T
    return Guess(
        "relative", guess_from_scores(-squared_distances(_standard(targets), _standard(classes)), rows.shares)
    )


def _standard(F: FloatArray) -> FloatArray:
    return np.asarray((F - F.mean(axis=0)) / (F.std(axis=0) + 1e-9))


PENALTY = 1.0
"""For rows of unit length."""


def guess_by_zero_shot(rows: TransferRows) -> Guess:
    r"""Guesses by the cosine of a mapped row to the source's class means.

    .. math:: W = L^T (L L^T + \alpha I)^{-1} M_{y}, \qquad s_{ic} = \cos(W^T u_i, \mu^s_c)
    """
    view = rows.at(AXES_PER_CLASS)
    M = class_means(view.S, view.ys, rows.n_classes)
    W = view.L.T @ np.linalg.solve(view.L @ view.L.T + PENALTY * np.eye(len(view.L)), M[view.yl])
    return Guess("zero-shot", guess_from_scores(normalize_rows(view.U @ W) @ normalize_rows(M).T, rows.shares))
