"""How much rows of two domains correspond, by what is known of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from isthmus._arrays import FloatArray, Matrix
from isthmus.domains import TwoDomains
from isthmus.estimators.projections.base import Both
from isthmus.estimators.projections.geometry import local_correspondence
from isthmus.estimators.projections.moments import LabelMoments
from isthmus.exceptions import InputError

PATTERN, KEPT = 4, 10
"""Neighbours whose distances are compared, and target rows that are kept of each source row: as published."""


@dataclass(frozen=True, eq=False)
class Correspondence:
    """A table C (n_s, n_t) of weights, by what enters of it.

    Parameters
    ----------
    degrees : (array (n_s,), array (n_t,))
        Its sums over rows and over columns.
    products : array (r_s, r_t)
        XᵀCY.
    """

    degrees: tuple[FloatArray, FloatArray]
    products: FloatArray

    @property
    def total(self) -> float:
        """The sum of the table."""
        return float(self.degrees[0].sum())

    @classmethod
    def of(cls, made_of: str, rows: Both, domains: TwoDomains) -> Correspondence:
        """From "pairs", "labels" or "geometry"."""
        if made_of == "labels":
            return cls.of_labels(rows, domains)
        if made_of == "geometry":
            return cls.of_table(rows, local_correspondence(*rows, PATTERN, KEPT))
        if domains.pairs is None:
            raise InputError("pairs: expected known pairs of rows, got None.")
        places, shape = (domains.pairs.source, domains.pairs.target), (len(rows[0]), len(rows[1]))
        return cls.of_table(rows, sp.coo_array((domains.pairs.weights, places), shape=shape).tocsr())

    @classmethod
    def of_table(cls, rows: Both, C: Matrix) -> Correspondence:
        """Of a sparse table."""
        degrees = np.asarray(C.sum(axis=1)).ravel(), np.asarray(C.sum(axis=0)).ravel()
        return cls(degrees, np.asarray(rows[0].T @ (C @ rows[1])))

    @classmethod
    def of_labels(cls, rows: Both, domains: TwoDomains) -> Correspondence:
        """One for rows of the same class: sums over classes are all that enters."""
        y = domains.source.y, domains.target.y
        moments = LabelMoments.of(rows, y, len(domains.classes))
        (n_s, n_t), (M_s, M_t) = moments.counts, moments.sums
        # A row without a label, -1, finds the zero at the end.
        degrees = np.append(n_t, 0.0)[y[0]], np.append(n_s, 0.0)[y[1]]
        return cls(degrees, np.asarray(M_s @ M_t.T))
