"""Saenko: ITML across two domains that share their features (Saenko et al. 2010)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from isthmus._arrays import FloatArray, Matrix, is_sparse
from isthmus._validation import number
from isthmus.domains import TwoDomains, two_domains
from isthmus.estimators.base import CrossDomainEstimator
from isthmus.estimators.constraints import as_bounds, label_pairs, spread, warn_of_hopeless
from isthmus.estimators.progress import as_callback, ended
from isthmus.estimators.solver import as_solver
from isthmus.exceptions import InputError
from isthmus.metric import CrossDomainMetric
from isthmus.objective import DualPoint, LogDetProblem
from isthmus.solvers import Result, Solver
from isthmus.spaces import FeatureSpace


class Saenko(CrossDomainEstimator):
    r"""Learn one metric from pairs across two domains with the same features.

    .. math::

       \min_{M \succ 0}\; \mathrm{LogDet}(M, I) + \lambda_2 \sum_{ij} \mathrm{LogDet}(\xi_{ij}, \xi^0_{ij})
       \quad\text{s.t.}\quad (x_i - y_j)^T M (x_i - y_j) \lessgtr \xi_{ij}

    Rows of one class are drawn together across the domains (below u), rows of different classes kept apart (above
    l). It is ITML on those pairs: what the domains differ in, such as a shift of their means, is what same-class
    pairs make the metric overlook. M is a d × d matrix over the shared features; ``get_mahalanobis_matrix()`` is
    the same over the features of both domains, [[M, M], [M, M]].

    Parameters
    ----------
    pair_weight : float
        λ2 ≥ 0, how much a pair on the wrong side of its bound costs.
    bounds : (float, float) or "auto"
        u < l, squared distances; "auto" takes half and one and a half times the spread of the domains, as
        :class:`MLHD` does. The shift between their means is no part of it: it is to be overlooked, and bounds
        that grew with it would ask for pairs as far apart as the shift is long.
    solver, tol, max_iter, n_neighbors, neighbors, progress
        As in :class:`MLHD`.

    Attributes
    ----------
    metric_ : CrossDomainMetric
        The metric: both domains are mapped into the common space in the same way.
    result_ : Result
        The solver's result; ``result_.matrix()`` is M.
    classes_ : array
        The classes of the source.
    bounds_ : (float, float)
        u and l.
    n_iter_ : int
        Iterations of the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import Saenko
    >>> X_source, y_source = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = X_source + [0.0, 5.0], ["a", None, "b", None]
    >>> saenko = Saenko().fit(X_source, y_source, X_target, y_target)
    >>> saenko.pair_distance(X_source, X_target).round(1)
    array([1.9, 1.9, 1.9, 1.9])
    """

    result_: Result[DualPoint]
    bounds_: tuple[float, float]
    n_iter_: int

    def __init__(
        self,
        *,
        pair_weight: float = 1.0,
        bounds: tuple[float, float] | str = "auto",
        solver: str | Solver = "newton",
        tol: float = 1e-6,
        max_iter: int = 200,
        n_neighbors: int = 1,
        references: str = "source",
        progress: Any = False,
    ) -> None:
        self.pair_weight = pair_weight
        self.bounds = bounds
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_neighbors = n_neighbors
        self.references = references
        self.progress = progress

    def fit(self, X_source: Any, y_source: Any, X_target: Any, y_target: Any) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X_source : array, sparse matrix or data frame (n_s, d)
            Source rows.
        y_source : array (n_s,)
            Their classes, of any type.
        X_target : array, sparse matrix or data frame (n_l + n_u, d)
            Target rows, labelled or not.
        y_target : array (n_l + n_u,)
            Their classes; -1, None or NaN where unknown.
        """
        number(self.pair_weight, "pair_weight", low=0.0)
        as_bounds(self.bounds, 1.0)
        solver = as_solver(self.solver, self.tol, self.max_iter)
        callback = as_callback(self.progress, "Saenko", getattr(solver, "tol", self.tol))
        domains = two_domains(X_source, y_source, X_target, y_target)
        d_source, d = domains.source.X.shape[1], domains.target.X.shape[1]
        if d_source != d:
            raise InputError(
                f"X_target: expected {d_source} columns, the features of X_source, got {d}; "
                "MLHD learns across domains with different features."
            )
        self._checked_neighbors(domains)
        A, B = _array(domains.source.X), _array(domains.target.X)
        bounds = as_bounds(self.bounds, spread(A, B))
        problem = self._problem(domains, A, B, bounds)
        with ended(callback):
            result = solver.solve(problem, callback=callback)
        W = result.components()
        self._learned(domains, CrossDomainMetric(FeatureSpace(d), FeatureSpace(d), np.vstack([W, W])))
        self.result_, self.bounds_, self.n_iter_ = result, bounds, result.n_iter
        return self

    def _problem(
        self, domains: TwoDomains, A: FloatArray, B: FloatArray, bounds: tuple[float, float]
    ) -> LogDetProblem:
        """Labelled rows of both domains one above the other, in the coordinates they share."""
        labelled = domains.target.labelled
        rows = np.vstack([A, B[labelled]])
        rows -= rows.mean(axis=0)  # only differences count: an offset would cost digits
        y = np.concatenate([domains.source.y, domains.target.y[labelled]])
        source, target = slice(0, len(A)), slice(len(A), len(rows))
        pairs, hopeless = label_pairs(rows, y, source, target, self.pair_weight, bounds)
        warn_of_hopeless(hopeless)
        return LogDetProblem(rows, (pairs,))


def _array(X: Matrix) -> FloatArray:
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
