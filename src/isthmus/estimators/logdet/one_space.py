"""Rows, labels and pairs of one space: what the user gave, checked, as points with signed pairs between them."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState

from isthmus._arrays import FloatArray, IntArray, is_sparse
from isthmus._validation import length, matrix
from isthmus.domains import as_labels, encoded_classes, is_unlabelled
from isthmus.estimators.logdet.constraints import drawn_pairs
from isthmus.exceptions import InputError


@dataclass(frozen=True, eq=False)
class SignedPairs:
    """Points (n, d), the numbers (m,) of those at either end of each pair, and +1 (similar) or -1 for each."""

    points: FloatArray
    left: IntArray
    right: IntArray
    sign: FloatArray

    @property
    def differences(self) -> FloatArray:
        """The vector (m, d) from one end of each pair to the other."""
        return np.asarray(self.points[self.left] - self.points[self.right])


def pairs_of_labels(X: Any, y: Any, n_constraints: int | None, random: RandomState) -> SignedPairs:
    """Pairs of labelled rows, ``n_constraints`` of either kind; 20 · classes² unless given."""
    rows = dense(X, "X").astype(np.float64)
    labelled, codes = _classes(y, len(rows))
    most = 20 * (int(codes.max()) + 1) ** 2 if n_constraints is None else n_constraints
    return SignedPairs(rows[labelled], *drawn_pairs(codes, most, random))


def given_pairs(pairs: Any, y: Any, X: Any = None, n_columns: int | None = None) -> SignedPairs:
    """Pairs (m, 2, d) of points, or (m, 2) of row numbers of X; without signs y they count as similar."""
    points, left, right = _ends(pairs, X, n_columns)
    return SignedPairs(points, left, right, np.ones(len(left)) if y is None else _signs(y, len(left)))


def dense(X: Any, name: str, n_columns: int | None = None) -> FloatArray:
    """A finite dense table of floats."""
    if is_sparse(X):
        raise InputError(f"{name}: expected a dense array, got a sparse one; reduce its columns, or use toarray().")
    return np.asarray(matrix(X, name, n_columns=n_columns))


def _classes(y: Any, n: int) -> tuple[IntArray, IntArray]:
    """The numbers of the labelled rows, and the codes of their labels."""
    if y is None:
        raise InputError("y: requires y to be passed, but the target y is None; mark unlabelled rows with -1.")
    missing = is_unlabelled(y)
    length(missing, n, "y", "X")
    labels = as_labels(y, "y")
    missing |= [isinstance(label, numbers.Real) and label < 0 for label in labels.tolist()]
    labelled = np.flatnonzero(~missing)
    if len(labelled) < 2:
        raise InputError(f"y: expected at least 2 labelled rows to make pairs of, got {len(labelled)} sample(s).")
    return labelled, encoded_classes(labels[labelled], "y")[0]


def _ends(pairs: Any, X: Any, n_columns: int | None = None) -> tuple[FloatArray, IntArray, IntArray]:
    """Points, and the numbers of those at either end of each pair."""
    try:
        shape = np.shape(pairs)
    except ValueError:
        raise InputError("pairs: expected points of equal length, got unequal ones.") from None
    if X is None:
        if len(shape) != 3 or shape[1] != 2:
            raise InputError(f"pairs: expected shape (m, 2, d), or (m, 2) together with X, got {shape}.")
        points = dense(np.reshape(pairs, (-1, shape[2])), "pairs", n_columns).astype(np.float64)
        return points, np.arange(0, len(points), 2), np.arange(1, len(points), 2)
    points, ends = dense(X, "X", n_columns).astype(np.float64), np.asarray(pairs)
    if shape[1:] != (2,) or not len(ends) or ends.dtype.kind not in "iu":
        raise InputError(f"pairs: expected row numbers of X, shape (m, 2), got {ends.dtype} of shape {shape}.")
    if ends.min() < 0 or ends.max() >= len(points):
        raise InputError(
            f"pairs: expected row numbers from 0 to {len(points) - 1}, got {ends.min()} to {ends.max()}."
        )
    used, places = np.unique(ends, return_inverse=True)
    left, right = places.reshape(shape).T
    return points[used], left, right


def _signs(y: Any, m: int) -> FloatArray:
    length(y, m, "y", "pairs")
    sign = np.asarray(y)
    if not np.isin(sign, (-1, 1)).all():
        raise InputError("y: expected 1 for each similar and -1 for each dissimilar pair, got something else.")
    return sign.astype(np.float64)
