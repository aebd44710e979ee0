"""Clusters of the target named by seeded graph matching: classes that lie to each other alike have one name."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import quadratic_assignment

from isthmus._arrays import FloatArray, IntArray
from isthmus.matching.preparation import unit
from isthmus.transfer.guesses import AXES_PER_CLASS, Guess, class_means, guessed_means
from isthmus.transfer.rows import TransferRows

TRIES = 5


def named_clusters(rows: TransferRows, P: FloatArray) -> Guess:
    """The clusters P (n_u, C), in which those of the known classes have their names, with names for the others."""
    if len(rows.unknown) < 2:
        return Guess("clusters", P)
    view = rows.at(AXES_PER_CLASS)
    source = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    target = guessed_means(view.L, rows.one_hot, view.U, P) - view.U.mean(axis=0)
    names = _matched(unit(target) @ unit(target).T, unit(source) @ unit(source).T, rows.known)
    named = np.empty_like(P)
    named[:, names] = P
    return Guess("clusters", named)


def _matched(A: FloatArray, B: FloatArray, seeds: IntArray) -> IntArray:
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
