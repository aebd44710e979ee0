"""ITML: a metric of one space from similar and dissimilar pairs (Davis et al. 2007), solved with a certificate.

Saenko is the same across two domains that share their features (Saenko et al. 2010).
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from isthmus._core.sklearn_bases import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from isthmus._core.threads import cap_methods
from isthmus._core.validation import (
    FloatArray,
    IntArray,
    as_labels,
    as_random_state,
    check_length,
    check_matrix,
    check_number,
    check_same_columns,
    column_names,
    encode_all,
    is_sparse,
    is_unlabelled,
)
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import LABELS, SystemFacts
from isthmus.estimators.logdet_base import (
    ITML_WEIGHT,
    LogDetEstimator,
    LogDetParameters,
    SolverRun,
    as_bounds,
    draw_pairs,
    make_label_pairs,
    make_label_problem,
    percentile_bounds,
)
from isthmus.estimators.mapped import Learned
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.spaces import JointSpace


@dataclass(frozen=True, eq=False)
class SignedPairs:
    """Points (n, d), the numbers (m,) of those at either end of each pair, and +1 (similar) or -1 for each."""

    points: FloatArray
    left: IntArray
    right: IntArray
    sign: FloatArray


def draw_label_pairs(X: Any, y: Any, n_constraints: int | None, random: RandomState) -> SignedPairs:
    """Return pairs of labelled rows, ``n_constraints`` of either kind; 20 · classes² unless given."""
    rows = check_dense(X, "X").astype(np.float64)
    labelled, codes = _classes(y, len(rows))
    most = 20 * (int(codes.max()) + 1) ** 2 if n_constraints is None else n_constraints
    return SignedPairs(rows[labelled], *draw_pairs(codes, most, random))


def check_pairs(pairs: Any, y: Any) -> SignedPairs:
    """Return pairs (m, 2, d) of points with their signs y (m,)."""
    try:
        shape = np.shape(pairs)
    except ValueError:
        raise InputError("pairs: expected points of equal length, got unequal ones.") from None
    if len(shape) != 3 or shape[1] != 2:
        raise InputError(f"pairs: expected shape (m, 2, d), got {shape}.")
    points = check_dense(np.reshape(pairs, (-1, shape[2])), "pairs").astype(np.float64)
    check_length(y, shape[0], "y", "pairs")
    sign = np.asarray(y)
    if not np.isin(sign, (-1, 1)).all():
        raise InputError("y: expected 1 for each similar and -1 for each dissimilar pair, got something else.")
    return SignedPairs(points, np.arange(0, len(points), 2), np.arange(1, len(points), 2), sign.astype(np.float64))


def check_dense(X: Any, name: str, n_columns: int | None = None) -> FloatArray:
    """Return a finite dense table of floats."""
    if is_sparse(X):
        raise InputError(f"{name}: expected a dense array, got a sparse one; reduce its columns, or use toarray().")
    return np.asarray(check_matrix(X, name, n_columns=n_columns))


def _classes(y: Any, n: int) -> tuple[IntArray, IntArray]:
    """Return the numbers of the labelled rows, and the codes of their labels."""
    if y is None:
        raise InputError("y: requires y to be passed, but the target y is None; mark unlabelled rows with -1.")
    missing = is_unlabelled(y)
    check_length(missing, n, "y", "X")
    labels = as_labels(y, "y")
    # Negative numbers mean no label, as in metric-learn and in scikit-learn's semi-supervised classifiers.
    missing |= [isinstance(label, numbers.Real) and label < 0 for label in labels.tolist()]
    labelled = np.flatnonzero(~missing)
    if len(labelled) < 2:
        raise InputError(f"y: expected at least 2 labelled rows to make pairs of, got {len(labelled)} sample(s).")
    return labelled, encode_all(labels[labelled], "y")[0]


@cap_methods
@dataclass(kw_only=True, eq=False, repr=False)
class ITML(LogDetParameters, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
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
    >>> [float(np.linalg.norm(np.subtract(*itml.transform(pair))).round(1)) for pair in pairs]
    [0.9, 1.1, 3.5, 1.8]
    """

    automatic_weight = ITML_WEIGHT
    pair_weight: float | str = field(default="auto", kw_only=False)
    n_constraints: int | None = None
    random_state: Any = None
    components_: FloatArray = field(init=False)
    n_iter_: int = field(init=False)
    n_features_in_: int = field(init=False)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows (n, d) and their classes (n,); a negative number, None or NaN means none.

        Unlabelled rows are ignored.
        """
        solver, random = self._validate(), as_random_state(self.random_state)
        return self._solve_pairs(draw_label_pairs(X, y, self.n_constraints, random), X, solver, random)

    def fit_pairs(self, pairs: Any, y: Any) -> Self:
        """Learn from pairs (m, 2, d) of points; y (m,) is 1 for similar ones, -1 for others.

        A point is measured for the automatic bounds as often as it is in a pair.
        """
        solver, random = self._validate(), as_random_state(self.random_state)
        return self._solve_pairs(check_pairs(pairs, y), pairs, solver, random)

    def _validate(self) -> SolverRun:
        """Return the solver, after a look at every parameter."""
        if self.n_constraints is not None:
            check_number(self.n_constraints, "n_constraints", low=1, whole=True)
        return self._make_run()

    def _bounds(self, pairs: SignedPairs, random: RandomState) -> tuple[float, float]:
        """Return (u, l): given, or percentiles of the squared distances of the points."""
        automatic = isinstance(self.bounds, str)
        return percentile_bounds(pairs.points, random) if automatic else as_bounds(self.bounds, 1.0)

    def _solve_pairs(self, pairs: SignedPairs, X: Any, solver: SolverRun, random: RandomState) -> Self:
        """Fit to pairs of X: each one's difference is a row, bounded in its distance from one more row, zero."""
        columns, bounds = column_names(X), self._bounds(pairs, random)
        m, d = len(pairs.sign), pairs.points.shape[1]
        # In this form ITML is the LogDet problem of all other systems: one run of rows against one row.
        rows = np.vstack([pairs.points[pairs.left] - pairs.points[pairs.right], np.zeros((1, d))])
        # The zero row is of the class 1: so are the similar pairs, and the dissimilar ones are not.
        classes = np.append(pairs.sign > 0, True).astype(np.intp)
        blocks = make_label_pairs(rows, classes, [(slice(0, m), slice(m, m + 1))], bounds)
        problem, weight = make_label_problem(rows, blocks, self._pair_weight)
        result = solver.result(problem)
        self.components_ = result.components().T
        self.result_, self.n_iter_ = result, result.n_iter
        self.pair_weight_, self.bounds_ = weight, bounds
        self.n_features_in_ = self._n_features_out = d
        self.__dict__.pop("feature_names_in_", None)
        if columns is not None:
            self.feature_names_in_: NDArray[Any] = np.array(columns, dtype=object)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return rows as points (n, d) whose Euclidean distances are the metric; single precision stays single."""
        check_is_fitted(self, "components_")
        check_same_columns(X, tuple(getattr(self, "feature_names_in_", ())) or None, "X")
        rows = check_dense(X, "X", self.n_features_in_)
        return np.asarray(rows @ self.components_.T.astype(rows.dtype))

    def get_mahalanobis_matrix(self) -> FloatArray:
        """Return M (d, d)."""
        check_is_fitted(self, "components_")
        return np.asarray(self.components_.T @ self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class Saenko(LogDetEstimator):
    r"""Learn one metric from pairs across two domains with the same features.

    .. math::

       \min_{M \succ 0}\; \mathrm{LogDet}(M, I) + \lambda_2 \sum_{ij} \mathrm{LogDet}(\xi_{ij}, \xi^0_{ij})
       \quad\text{s.t.}\quad (x_i - y_j)^T M (x_i - y_j) \lessgtr \xi_{ij}

    A source row x and a target row y of the same class should have a squared distance below u, of different classes
    above l; ξ are these bounds with slack. This is ITML on cross-domain pairs: same-class pairs teach the metric to
    ignore what differs between the domains, such as a shift of their means. M is a d × d matrix over the shared
    features; ``get_mahalanobis_matrix()`` returns it for stacked features of both domains, [[M, M], [M, M]].

    Parameters
    ----------
    pair_weight : float or "auto"
        λ2 ≥ 0, the cost of a pair on the wrong side of its bound; "auto" divides 10,000 by the number of pairs.
    bounds : (float, float) or "auto"
        u < l, squared distances; "auto" takes 0.5 and 1.5 times the spread of the domains, as :class:`MLHD` does. The
        spread does not include the shift between their means: the metric should ignore the shift, and bounds that
        grew with it would demand pairs as far apart as the shift is long.
    solver, tol, max_iter, rule, references, n_neighbors, source_transformer, target_transformer, progress
        As in :class:`MLHD`.

    Attributes
    ----------
    common_space_ : CommonSpace
        The learned common space, into which both domains are mapped by the same matrix.
    result_ : Result
        The solver's result; ``result_.matrix()`` is M.
    classes_ : array
        The classes of the source.
    pair_weight_ : float
        λ2.
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
    array([1.6, 1.6, 1.6, 1.6])
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("saenko", "pair constraints", "Saenko et al. 2010, equal features only", LABELS),
    )

    equal_features = True
    intercept = True  # only differences of rows count

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of_features(domains)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: SolverRun) -> Learned:
        bounds = as_bounds(self.bounds, joint.spread)
        # Labelled rows of both domains stacked, in their shared coordinates.
        rows = np.vstack([joint.source.points, joint.target.points])
        rows -= rows.mean(axis=0)  # only differences count; a large offset would lose digits
        pairs = make_label_pairs(rows, joint.y, [joint.runs], bounds)
        problem, weight = make_label_problem(rows, pairs, self._pair_weight)
        result = settings.result(problem)
        W = result.components()
        space = CommonSpace(joint.source.space, joint.target.space, np.vstack([W, W]))
        return space, {"result_": result, "pair_weight_": weight, "bounds_": bounds, "n_iter_": result.n_iter}
