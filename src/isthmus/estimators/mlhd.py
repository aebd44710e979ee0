"""MLHD: metric learning across heterogeneous domains, by aligning priors and posteriors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray
from isthmus._validation import choice, number
from isthmus.domains import TwoDomains, two_domains
from isthmus.estimators.base import REFERENCES, CrossDomainEstimator
from isthmus.estimators.constraints import as_bounds, label_pairs, spread, warn_of_hopeless
from isthmus.estimators.progress import as_callback, ended
from isthmus.estimators.solver import as_solver
from isthmus.exceptions import InputError
from isthmus.kernels import Kernel, as_kernel
from isthmus.metric import CrossDomainMetric
from isthmus.objective import Alignment, DualPoint, LogDetProblem
from isthmus.solvers import Result, Solver
from isthmus.spaces import fitted_space


class MLHD(CrossDomainEstimator):
    r"""Learn one metric over two domains that have different features.

    .. math::

       \min_{M \succ 0}\; \mathrm{LogDet}(M, I) + \lambda_1\, \bar z^T M \bar z
       + \lambda_2 \sum_{ij} \mathrm{LogDet}(\xi_{ij}, \xi^0_{ij}) \quad\text{s.t.}\quad
       d^2_M(x_i, y_j) \lessgtr \xi_{ij}

    Rows of one class are drawn together across the domains (below u), rows of different classes kept apart (above
    l), the means of the two domains brought together, and all else left as it is. The problem is convex; the
    solution comes with a proof of how close it is to the optimum (``result_.relative_gap``).

    The maps into the common space have no intercept: with linear kernels, centre each domain first (a
    ``StandardScaler`` will do).

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain.
    alignment_weight : float
        λ1 ≥ 0, how much the shift between the means of the domains costs.
    pair_weight : float
        λ2 ≥ 0, how much a pair on the wrong side of its bound costs.
    alignment : {"penalty", "constraint", "none"}
        How the means are brought together: as a term of the objective, as a bound ``alignment_slack`` on the squared
        shift (the paper's relaxed model), or not at all.
    alignment_slack : float or "auto"
        t0 > 0, for ``alignment="constraint"``; "auto" is a hundredth of the domains' spread.
    bounds : (float, float) or "auto"
        u < l, squared distances; "auto" takes half and one and a half times the spread of the domains, the mean
        squared distance across them if their means coincided.
    within_domain : bool
        Whether pairs of source rows, and pairs of labelled target rows, are bounded too.
    outside : {"identity", "zero"}
        The metric outside the span of the rows of ``fit``; the paper's theorem says zero, its objective implies
        the identity.
    solver : {"newton", "bregman"} or Solver
        An object brings its own tolerance and iteration limit.
    tol : float
        The relative duality gap to reach.
    max_iter : int
        Iterations (sweeps, for "bregman") after which to stop with a warning.
    n_neighbors : int
        How many reference rows vote in :meth:`predict`.
    references : {"source", "target", "both"}
        Which rows they are: all source rows, the labelled target rows, or both.
    n_components : int, optional
        Keep this many principal axes of the common space (of all rows of ``fit``); None keeps the metric whole.
    progress : bool or callable
        Show a line of progress on standard error, or call this with each :class:`~isthmus.solvers.TracePoint`.

    Attributes
    ----------
    metric_ : CrossDomainMetric
        The metric, which knows nothing of how it was learned.
    result_ : Result
        The solver's result: status, certificate, multipliers, trace.
    classes_ : array
        The classes of the source.
    bounds_ : (float, float)
        u and l.
    kernels_ : (Kernel, Kernel)
        The kernels with their bandwidths.
    n_iter_ : int
        Iterations of the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import MLHD
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> MLHD().fit(X_source, y_source, X_target, y_target).predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    """

    result_: Result[DualPoint]
    bounds_: tuple[float, float]
    kernels_: tuple[Kernel, Kernel]
    n_iter_: int

    def __init__(
        self,
        source_kernel: Kernel | str = "linear",
        target_kernel: Kernel | str = "linear",
        *,
        alignment_weight: float = 1.0,
        pair_weight: float = 1.0,
        alignment: str = "penalty",
        alignment_slack: float | str = "auto",
        bounds: tuple[float, float] | str = "auto",
        within_domain: bool = False,
        outside: str = "identity",
        solver: str | Solver = "newton",
        tol: float = 1e-6,
        max_iter: int = 200,
        n_neighbors: int = 1,
        references: str = "source",
        n_components: int | None = None,
        progress: Any = False,
    ) -> None:
        self.source_kernel = source_kernel
        self.target_kernel = target_kernel
        self.alignment_weight = alignment_weight
        self.pair_weight = pair_weight
        self.alignment = alignment
        self.alignment_slack = alignment_slack
        self.bounds = bounds
        self.within_domain = within_domain
        self.outside = outside
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_neighbors = n_neighbors
        self.references = references
        self.n_components = n_components
        self.progress = progress

    def fit(self, X_source: Any, y_source: Any, X_target: Any, y_target: Any) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X_source : array, sparse matrix or data frame (n_s, d_s)
            Source rows.
        y_source : array (n_s,)
            Their classes, of any type.
        X_target : array, sparse matrix or data frame (n_l + n_u, d_t)
            Target rows, labelled or not.
        y_target : array (n_l + n_u,)
            Their classes; -1, None or NaN where unknown.
        """
        solver = self._checked_solver()
        callback = as_callback(self.progress, "MLHD", getattr(solver, "tol", self.tol))
        domains = two_domains(X_source, y_source, X_target, y_target)
        self._checked_neighbors(domains)
        kernels = (
            as_kernel(self.source_kernel, "source_kernel"),
            as_kernel(self.target_kernel, "target_kernel"),
        )
        source, A = fitted_space(domains.source.X, kernels[0], outside=self.outside, name="X_source")
        target, B = fitted_space(domains.target.X, kernels[1], outside=self.outside, name="X_target")
        most = min(len(A) + len(B), A.shape[1] + B.shape[1])
        if self.n_components is not None and self.n_components > most:
            raise InputError(f"n_components: expected at most {most} with these rows, got {self.n_components}.")
        bounds = as_bounds(self.bounds, spread(A, B))
        problem = self._problem(domains, A, B, bounds)
        with ended(callback):
            result = solver.solve(problem, callback=callback)
        metric = CrossDomainMetric(source, target, result.components())
        if self.n_components is not None:
            W, r = metric.components, source.dimension
            metric = metric.projected_to(self.n_components, np.vstack([A @ W[:r], B @ W[r:]]))
        self._learned(domains, metric)
        self.result_, self.bounds_, self.n_iter_ = result, bounds, result.n_iter
        self.kernels_ = (source.kernel, target.kernel)
        return self

    def _problem(
        self, domains: TwoDomains, A: FloatArray, B: FloatArray, bounds: tuple[float, float]
    ) -> LogDetProblem:
        """Labelled rows of both domains side by side, the pairs across (and within), the shift of the means."""
        labelled = domains.target.labelled
        rows = sla.block_diag(A, B[labelled])
        y = np.concatenate([domains.source.y, domains.target.y[labelled]])
        source, target = slice(0, len(A)), slice(len(A), len(rows))
        runs = [(source, target)]
        if self.within_domain:
            runs += [(source, source), (target, target)]
        blocks = [label_pairs(rows, y, left, right, self.pair_weight, bounds) for left, right in runs]
        warn_of_hopeless(sum(count for _, count in blocks))
        alignment = None
        if self.alignment != "none":
            shift = np.concatenate([A.mean(axis=0), -B.mean(axis=0)])
            alignment = Alignment(shift, self.alignment_weight, self._slack(spread(A, B)))
        return LogDetProblem(rows, tuple(pairs for pairs, _ in blocks), alignment)

    def _slack(self, scale: float) -> float | None:
        automatic = isinstance(self.alignment_slack, str) and self.alignment_slack == "auto"
        slack = 0.01 * scale if automatic else number(self.alignment_slack, "alignment_slack", low=0.0, strict=True)
        return slack if self.alignment == "constraint" else None

    def _checked_solver(self) -> Solver:
        """The solver, after a look at every parameter that needs no data."""
        number(self.alignment_weight, "alignment_weight", low=0.0)
        number(self.pair_weight, "pair_weight", low=0.0)
        choice(self.alignment, "alignment", ("penalty", "constraint", "none"))
        choice(self.outside, "outside", ("identity", "zero"))
        if not isinstance(self.within_domain, bool | np.bool_):
            raise InputError(f"within_domain: expected True or False, got {self.within_domain!r}.")
        choice(self.references, "references", REFERENCES)
        number(self.n_neighbors, "n_neighbors", low=1, whole=True)
        as_bounds(self.bounds, 1.0)
        self._slack(1.0)
        if self.n_components is not None:
            number(self.n_components, "n_components", low=1, whole=True)
        return as_solver(self.solver, self.tol, self.max_iter)
