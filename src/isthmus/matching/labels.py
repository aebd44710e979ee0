"""What class labels say of which rows go together: those of different classes don't."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import BoolArray, FloatArray, IntArray
from isthmus.exceptions import InputError
from isthmus.matching.neighbours import NO_PARTNER
from isthmus.matching.preparation import unit
from isthmus.matching.problem import Links
from isthmus.matching.scores import Scores

FAR = -2.0 * NO_PARTNER
"""Taken off the score of two rows of different classes."""


def differ(ys: IntArray, yt: IntArray) -> BoolArray:
    """Whether both codes of each place are known, and not the same."""
    return np.asarray((ys != yt) & (ys >= 0) & (yt >= 0))


def check_labels(ys: IntArray, yt: IntArray, known: Links) -> None:
    """Raise where labels forbid a known pair, or all pairs."""
    wrong = np.flatnonzero(differ(ys[known.i], yt[known.j]))
    if len(wrong):
        i, j = known.i[wrong[0]], known.j[wrong[0]]
        raise InputError(
            f"pairs: expected rows of the same class, got row {i} of A and row {j} of B, of different ones."
        )
    if min(ys.min(), yt.min()) >= 0 and not len(np.intersect1d(ys, yt)):
        raise InputError("y_target: expected some labels that y_source has too, got none: no row could be matched.")


def veto(ys: IntArray, yt: IntArray) -> Scores:
    """Far below zero for two rows of different classes, zero for all others."""
    classes = np.arange(max(ys.max(initial=0), yt.max(initial=0)) + 1)
    member = (ys[:, None] == classes).astype(np.float32)
    other = ((yt[:, None] != classes) & (yt[:, None] >= 0)).astype(np.float32)
    return Scores(-FAR * member, other)


def alike_by_class(A: FloatArray, ys: IntArray, B: FloatArray, yt: IntArray) -> Scores:
    """Scores of rows that stand alike to the classes: cosines to the mean of each class that both sides know."""
    shared = np.intersect1d(ys[ys >= 0], yt[yt >= 0])
    PA, PB = (_profiles(X, y, shared) for X, y in ((A, ys), (B, yt)))
    return Scores(PA, PB).standardised()


def _profiles(X: FloatArray, y: IntArray, classes: IntArray) -> FloatArray:
    means = unit(np.stack([X[y == c].mean(axis=0) for c in classes]))
    cosines = X @ means.T
    cosines = cosines - cosines.mean(axis=0)
    return unit(cosines - cosines.mean(axis=1, keepdims=True) if len(classes) > 1 else cosines)
