"""What systems share that name the rows of the fit, and know no others."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from isthmus._arrays import FloatArray, IntArray, Matrix, as_dense
from isthmus._validation import number
from isthmus.domains import UNLABELLED, TwoDomains
from isthmus.estimators.classifiers.base import TargetClassifier
from isthmus.estimators.complaints import warn_about_data
from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.kernels import Linear

SAME = 1e-9
"""Two rows are the same where no feature differs by more than this part of the largest one."""
BLOCK = 512


class TransductiveEstimator(TargetClassifier):
    """The base of systems that learn a plan π (n_s, n_t) of how much of each source row goes to each target row.

    A subclass has a method :meth:`_plan`. A target row is of the class that most of what it gets is of; labelled rows
    keep their class.
    """

    transductive = True
    needs_unlabelled = True
    max_iter: int
    probabilities_: FloatArray
    _fit_rows: FloatArray

    def _plan(self, domains: TwoDomains, X: FloatArray, Y: FloatArray) -> FloatArray:
        """π (n_s, n_t) between uniform weights."""
        raise NotImplementedError

    def _validate(self) -> None:
        super()._validate()
        number(self.max_iter, "max_iter", low=1, whole=True)

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        target = domains.target
        if not (target.y == UNLABELLED).any():
            raise InputError("y_target: expected rows without a label, the only ones to be named, got none.")
        X, Y = as_dense(domains.source.X), as_dense(target.X)
        plan = self._plan(domains, X, Y)
        shares = np.stack([plan[domains.source.y == c].sum(axis=0) for c in range(len(domains.classes))], axis=1)
        totals = shares.sum(axis=1, keepdims=True)
        P = np.divide(shares, totals, out=np.full_like(shares, 1.0 / shares.shape[1]), where=totals > 0.0)
        P[target.labelled] = np.eye(len(domains.classes))[target.y[target.labelled]]
        warn_about_data(domains, (Linear(), Linear()), intercept=True)
        return {"probabilities_": P, "_fit_rows": Y.copy()}

    def _scores(self, rows: Matrix) -> FloatArray:
        return np.asarray(self.probabilities_[self._places(as_dense(rows))])

    def predict_proba(self, X: Any, domain: str = "target") -> FloatArray:
        """Of what each row of the fit gets, the share of every class (n, C)."""
        return self._scores(self._rows(X, domain))

    def _places(self, X: FloatArray) -> IntArray:
        """The numbers of rows among those of the fit."""
        found = np.zeros(len(X), dtype=np.intp)
        for start in range(0, len(X), BLOCK):
            rows = slice(start, start + BLOCK)
            found[rows] = cdist(X[rows], self._fit_rows, "chebyshev").argmin(axis=1)
        largest = float(np.abs(self._fit_rows).max(initial=0.0))
        new = int((np.abs(X - self._fit_rows[found]).max(axis=1, initial=0.0) > SAME * largest).sum())
        if new:
            raise InputError(
                f"X: expected target rows of the fit, as {type(self).__name__} has no map for others, got {new} new."
            )
        return found


def label_costs(domains: TwoDomains) -> FloatArray:
    """What it costs (n_s, n_t) that a source row goes to a target row: 0 in its class, 1 in another.

    Of a row without a label it is what a class at random would cost, 1 - 1/C.
    """
    ys, yt, C = domains.source.y, domains.target.y, len(domains.classes)
    costs = (ys[:, None] != yt[None, :]).astype(np.float64)
    costs[:, yt == UNLABELLED] = 1.0 - 1.0 / C
    return np.asarray(costs)


def distances(X: FloatArray) -> FloatArray:
    """Squared distances of all rows, the largest one."""
    D = cdist(X, X, "sqeuclidean")
    return np.asarray(D / (D.max() or 1.0))


def library() -> Any:
    """POT."""
    try:
        import ot
        import ot.coot
    except ImportError:
        raise MissingDependencyError(
            'GW, FGW and COOT need POT, which is not installed: pip install "isthmus[transport]".'
        ) from None
    return ot
