"""How points of a common space are compared, without the maps that led there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, IntArray, is_sparse
from isthmus._validation import matrix
from isthmus.common_space import DISTANCE, INNER_PRODUCT, CommonSpace
from isthmus.exceptions import InputError

CELLS = 2**22
"""Numbers that are held at once where pairs of points are compared."""


@dataclass(frozen=True)
class Measure:
    r"""Similarities of points: :math:`s(q, r) = -\tfrac12 \|q - r\|^2`, or inner products :math:`q^T r`.

    Parameters
    ----------
    kind : {"distance", "inner product"}
        Which of the two.
    across : bool
        Whether rows can be compared with those of the other domain only.

    Examples
    --------
    >>> Measure().scores(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[-12.5]])
    """

    kind: str = DISTANCE
    across: bool = False

    @classmethod
    def of(cls, model: Any) -> Measure:
        """That of a fitted model or a common space; distances where it says nothing."""
        space = common_space(model)
        if space is not None:
            return cls(space.kind, across=space.kind == INNER_PRODUCT)
        return cls(getattr(model, "kind", DISTANCE))

    def scores(self, queries: FloatArray, references: FloatArray) -> FloatArray:
        """All similarities (n, m) in double precision, the larger the nearer."""
        queries, references = (P.astype(np.float64, copy=False) for P in (queries, references))
        products = np.asarray(queries @ references.T)
        if self.kind == INNER_PRODUCT:
            return products
        lengths = [np.einsum("ij,ij->i", P, P) for P in (queries, references)]
        return np.asarray(products - 0.5 * lengths[0][:, None] - 0.5 * lengths[1][None, :])

    def scores_at(self, queries: FloatArray, references: FloatArray, places: IntArray) -> FloatArray:
        """The similarities (n, k) of each query (n, d) with some of the references (m, d), by their places (n, k).

        They are computed from differences and in double precision: a point is at distance zero from itself.
        """
        found = np.empty(places.shape, dtype=np.float64)
        step = max(1, CELLS // max(1, places.shape[1] * queries.shape[1]))
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            q, r = queries[part, None, :].astype(np.float64), references[places[part]].astype(np.float64)
            found[part] = (q * r).sum(axis=2) if self.kind == INNER_PRODUCT else -0.5 * np.square(q - r).sum(axis=2)
        return found


def kept_points(points: Any, dtype: str, *, width: int | None = None, least: int = 1) -> FloatArray:
    """Points (n, k) as an index keeps them: dense, finite, in its precision, not too large.

    Examples
    --------
    >>> kept_points([[1, 2]], "float32")
    array([[1., 2.]], dtype=float32)
    """
    checked = matrix(points, "X", n_columns=width, min_rows=least)
    with np.errstate(over="ignore"):
        cast = np.ascontiguousarray(checked.toarray() if is_sparse(checked) else checked, dtype=dtype)
    limit = largest_entry(dtype)
    if cast.size and not np.abs(cast).max() < limit:
        raise InputError(f"X: expected points whose entries are below {limit:.0e}, got larger; scale the rows first.")
    return cast


def largest_entry(dtype: str) -> float:
    """What the entries of points have to be below: squares of distances have to be numbers too."""
    return float(0.1 * np.sqrt(np.finfo(dtype).max))


def common_space(model: Any) -> CommonSpace | None:
    """The common space that a model is, or has learned."""
    found = model if isinstance(model, CommonSpace) else getattr(model, "common_space_", None)
    return found if isinstance(found, CommonSpace) else None
