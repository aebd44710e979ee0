"""ITML: information-theoretic metric learning (Davis et al. 2007), over one space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from isthmus._arrays import FloatArray
from isthmus._threads import cap_methods
from isthmus._validation import as_random_state, column_names, number, same_columns
from isthmus.estimators.logdet.constraints import (
    ITML_WEIGHT,
    as_bounds,
    as_pair_weight,
    label_pairs,
    n_pairs,
    percentile_bounds,
    weighted,
)
from isthmus.estimators.logdet.one_space import SignedPairs, dense, given_pairs, pairs_of_labels
from isthmus.estimators.solving import Solving, as_solver
from isthmus.exceptions import InputError
from isthmus.objective import DualPoint, LogDetProblem
from isthmus.solvers import Result, Solver


@cap_methods
class ITML(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""The metric nearest to the Euclidean one that draws similar points together and keeps others apart.

    .. math::

       \min_{M \succ 0}\; \mathrm{LogDet}(M, I) + \gamma \sum_k \mathrm{LogDet}(\xi_k, \xi^0_k)
       \quad\text{s.t.}\quad z_k^T M z_k \lessgtr \xi_k, \qquad z_k = a_k - b_k

    with :math:`\xi^0 = u` for similar pairs (≤) and l for dissimilar ones (≥). The names are those of metric-learn;
    the solution comes with a proof of how close it is to the optimum (``result_.relative_gap``).

    Parameters
    ----------
    pair_weight : float or "auto"
        γ ≥ 0, how much a pair on the wrong side of its bound costs; "auto" shares 1,000 among all pairs, so that
        their number does not matter (docs/defaults.md).
    bounds : (float, float) or "auto"
        u < l, squared distances; "auto" takes the 20th and 80th percentile of the squared distances of a sample of
        pairs of points, or half and one and a half times that distance where the two coincide.
    solver, tol, max_iter, progress
        As in :class:`MLHD`.
    n_constraints : int, optional
        How many similar, and how many dissimilar, pairs :meth:`fit` draws at most; 20 · classes² unless given.
    random_state : int, Generator, RandomState or None
        For the pairs that are drawn and the sample of distances.

    Attributes
    ----------
    components_ : array (d, d)
        The rows of the map into the space where Euclidean distance is the metric: ``M = LᵀL``.
    result_ : Result
        The solver's result: status, certificate, one multiplier per pair, trace.
    pair_weight_ : float
        γ.
    bounds_ : (float, float)
        u and l.
    n_iter_, n_features_in_ : int
        Iterations of the solver; d.

    Examples
    --------
    >>> from isthmus import ITML
    >>> pairs = [[[1, 7], [1, 2]], [[6, 3], [6, 9]], [[1, 5], [3, 5]], [[6, 5], [5, 6]]]
    >>> itml = ITML(10.0, bounds=(1.0, 4.0)).fit_pairs(pairs, [1, 1, -1, -1])
    >>> itml.pair_distance(pairs).round(1)
    array([0.9, 1.1, 3.5, 1.8])
    """

    components_: FloatArray
    result_: Result[DualPoint]
    pair_weight_: float
    bounds_: tuple[float, float]
    n_iter_: int
    n_features_in_: int

    def __init__(
        self,
        pair_weight: float | str = "auto",
        *,
        bounds: tuple[float, float] | str = "auto",
        solver: str | Solver = "newton",
        tol: float = 1e-6,
        max_iter: int = 200,
        n_constraints: int | None = None,
        random_state: Any = None,
        progress: Any = False,
    ) -> None:
        self.pair_weight = pair_weight
        self.bounds = bounds
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_constraints = n_constraints
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows (n, d) and their classes (n,); a negative number, None or NaN means none.

        Unlabelled rows are ignored.
        """
        solver, random = self._validate(), as_random_state(self.random_state)
        return self._solve_pairs(pairs_of_labels(X, y, self.n_constraints, random), column_names(X), solver, random)

    def fit_pairs(self, pairs: Any, y: Any, X: Any = None) -> Self:
        """Learn from pairs (m, 2, d) of points, or (m, 2) of row numbers of X; y (m,) is 1 for similar, -1 for not.

        A point is measured for the automatic bounds as often as it is in a pair, a row of X once.
        """
        solver, random = self._validate(), as_random_state(self.random_state)
        if y is None:
            raise InputError("y: expected 1 or -1 for each pair, got None.")
        return self._solve_pairs(given_pairs(pairs, y, X), column_names(X), solver, random)

    def _validate(self) -> Solving:
        """The solver, after a look at every parameter."""
        as_pair_weight(self.pair_weight, 1)
        as_bounds(self.bounds, 1.0)
        if self.n_constraints is not None:
            number(self.n_constraints, "n_constraints", low=1, whole=True)
        return Solving.of(as_solver(self.solver, self.tol, self.max_iter), self.progress, "ITML", self.tol)

    def _solve_pairs(
        self, pairs: SignedPairs, columns: tuple[str, ...] | None, solver: Solving, random: RandomState
    ) -> Self:
        """Each pair's difference is a row, bounded in its distance from one more row, zero."""
        bounds = self._bounds(pairs, random)
        m, d = len(pairs.sign), pairs.points.shape[1]
        rows = np.vstack([pairs.differences, np.zeros((1, d))])
        # The zero row is of the class 1: so are the similar pairs, and the dissimilar ones are not.
        classes = np.append(pairs.sign > 0, True).astype(np.intp)
        blocks = label_pairs(rows, classes, [(slice(0, m), slice(m, m + 1))], bounds)
        weight = self._pair_weight(n_pairs(blocks))
        result = solver.result(LogDetProblem(rows, weighted(blocks, weight)))
        self.components_ = result.components().T
        self.result_, self.n_iter_ = result, result.n_iter
        self.pair_weight_, self.bounds_ = weight, bounds
        self.n_features_in_ = self._n_features_out = d
        self.__dict__.pop("feature_names_in_", None)
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        return self

    def _pair_weight(self, n_pairs: int) -> float:
        return as_pair_weight(self.pair_weight, n_pairs, ITML_WEIGHT)

    def _bounds(self, pairs: SignedPairs, random: RandomState) -> tuple[float, float]:
        automatic = isinstance(self.bounds, str)
        return percentile_bounds(pairs.points, random) if automatic else as_bounds(self.bounds, 1.0)

    def transform(self, X: Any) -> FloatArray:
        """Rows as points (n, d) whose Euclidean distances are the metric; single precision stays single."""
        check_is_fitted(self, "components_")
        same_columns(X, tuple(getattr(self, "feature_names_in_", ())) or None, "X")
        rows = dense(X, "X", self.n_features_in_)
        return np.asarray(rows @ self.components_.T.astype(rows.dtype))

    def pair_distance(self, pairs: Any, X: Any = None) -> FloatArray:
        """The learned distance (m,) of each pair, given as in :meth:`fit_pairs`."""
        check_is_fitted(self, "components_")
        differences = given_pairs(pairs, None, X, self.n_features_in_).differences
        return np.asarray(np.linalg.norm(differences @ self.components_.T, axis=1))

    def pair_score(self, pairs: Any, X: Any = None) -> FloatArray:
        """The learned similarity (m,) of each pair: its distance, negative."""
        return -self.pair_distance(pairs, X)

    def score(self, pairs: Any, y: Any, X: Any = None) -> float:
        """The area under the ROC curve: how often a similar pair is closer than a dissimilar one."""
        similarity, sign = self.pair_score(pairs, X), given_pairs(pairs, y, X).sign
        if len(np.unique(sign)) < 2:
            raise InputError("y: expected both similar and dissimilar pairs to score, got one kind.")
        return float(roc_auc_score(sign, similarity))

    def get_mahalanobis_matrix(self) -> FloatArray:
        """M (d, d)."""
        check_is_fitted(self, "components_")
        return np.asarray(self.components_.T @ self.components_)

    def get_metric(self) -> Callable[..., float]:
        """The distance of two points as a plain function ``distance(a, b, squared=False)``."""
        check_is_fitted(self, "components_")
        L = self.components_.copy()

        def distance(a: Any, b: Any, squared: bool = False) -> float:
            ends = [dense(np.atleast_2d(point), name, L.shape[1]) for point, name in ((a, "a"), (b, "b"))]
            length = float(np.linalg.norm(L @ (ends[0] - ends[1])[0]))
            return length**2 if squared else length

        return distance

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
