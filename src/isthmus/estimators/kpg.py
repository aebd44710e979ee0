"""KPG-RL: transport guided by key points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax, xlogy
from sklearn.svm import LinearSVC

from isthmus._core.validation import UNLABELLED, FloatArray, Matrix, as_dense, check_number
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import LABELS_AND_ROWS, SystemFacts, TargetClassifier, check_two_classes, warn_about_data
from isthmus.exceptions import ConvergenceWarning, InputError, warn

# Rows that are compared with others at once.
BLOCK = 2048


def relations(X: FloatArray, keys: FloatArray, temperature: float) -> FloatArray:
    r"""Return how near rows (n, d) are to key points (k, d), as distributions (n, k).

    .. math:: R_{ij} \propto \exp(-\|x_i - k_j\|^2 / (\tau m)), \quad m = \max \|x - x'\|^2

    over all rows, key points among them.
    """
    every = np.vstack([keys, X])
    blocks = range(0, len(every), BLOCK)
    # The largest distance is found block by block: the table of all pairs of rows is never held.
    widest = max(float(cdist(every[i : i + BLOCK], every, "sqeuclidean").max()) for i in blocks)
    return np.asarray(softmax(-cdist(X, keys, "sqeuclidean") / (temperature * (widest or 1.0)), axis=1))


def jensen_shannon(P: FloatArray, Q: FloatArray) -> FloatArray:
    r"""Return all Jensen–Shannon divergences (n, m) between distributions P (n, k) and Q (m, k), in nats.

    .. math:: \mathrm{JS}(p, q) = H(\tfrac{p + q}{2}) - \tfrac12 H(p) - \tfrac12 H(q)

    Examples
    --------
    >>> jensen_shannon(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
    array([[0.    , 0.6931]])
    """
    own = [0.5 * xlogy(R, R).sum(axis=1) for R in (P, Q)]
    table = own[0][:, None] + own[1][None, :]
    for p, q in zip(P.T, Q.T, strict=True):  # one table at a time, and never n × m × k
        middle = 0.5 * (p[:, None] + q[None, :])
        table -= xlogy(middle, middle)
    return np.asarray(np.maximum(table, 0.0))


@dataclass(frozen=True, eq=False)
class Plan:
    """A transport plan (n, m) between uniform weights, and by how much its row sums are off in all."""

    matrix: FloatArray
    error: float
    n_iter: int


def sinkhorn(cost: FloatArray, regularization: float, tol: float, max_iter: int) -> Plan:
    r"""Return the plan of least cost with entropy: :math:`\min \langle \pi, G \rangle - \varepsilon H(\pi)`.

    Costs are between 0 and 1 and ε at least 1/300, so that exp(-G/ε) is a number in double precision and no
    logarithms are needed.

    Examples
    --------
    >>> sinkhorn(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.1, 1e-9, 100).matrix.round(3)
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    n, m = cost.shape
    # Rows and columns of large costs alone would start from rounding.
    K = np.exp(-(cost - cost.min(axis=1, keepdims=True)) / regularization)
    v = np.full(m, 1.0 / m)
    for k in range(max_iter):
        Kv = K @ v
        u = 1.0 / (n * Kv)
        v = 1.0 / (m * (u @ K))
        if k % 10 == 9 or k == max_iter - 1:
            error = float(np.abs(u * (K @ v) - 1.0 / n).sum())
            if error <= tol:
                break
    K *= u[:, None]
    K *= v
    return Plan(K, error, k + 1)


# The least entropy for which plans are computed without logarithms.
LEAST = 1.0 / 300.0


@dataclass(kw_only=True, eq=False, repr=False)
class KPGRL(TargetClassifier):
    r"""Key-point guided transport: rows move to where the key points look the same.

    .. math::

       \min_{\pi \ge 0}\; \langle \pi, G \rangle - \varepsilon H(\pi), \qquad
       G_{ij} = \mathrm{JS}(R_s(x_i), R_t(y_j)), \qquad
       R(x) = \mathrm{softmax}_k(-\|x - \kappa_k\|^2 / (\tau m))

    A key point is a labelled target row, and its partner the mean of its class in the source; a row is known by how
    near it is to each. The plan π has uniform weights on the source rows and on the unlabelled target rows; every
    source row moves to the mean, by π, of the target rows that it is matched with; a classifier learns from the
    moved rows and the labelled target rows. Key points are matched with each other and with nothing else, so that
    they drop out of the plan.

    As in the public release, which has as many source rows as unlabelled ones; its support vectors have an RBF kernel
    with γ = 1/d. It costs a table of n_s × n_u numbers, and k times as many logarithms.

    X. Gu, Y. Yang, W. Zeng, J. Sun and Z. Xu, *Keypoint-guided optimal transport with applications in heterogeneous
    domain adaptation*, NeurIPS 2022.

    Parameters
    ----------
    temperature : float
        τ > 0; 0.1 as released.
    regularization : float
        ε of at least 1/300, in units of the largest cost; 0.005 as released.
    tol : float
        How much of the mass of a plan may be in the wrong row.
    max_iter : int
        Sinkhorn's iterations at most.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`.

    Attributes
    ----------
    classifier_ : LinearSVC
        Linear support vectors of the moved and the labelled rows; its labels are positions in ``classes_``.
    plan_error_ : float
        The mass in wrong rows.
    n_iter_ : int
        Iterations.
    classes_ : array
        The classes of the source.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import KPGRL
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> KPGRL().fit(X_source, y_source, X_target, y_target).predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    """

    systems = (SystemFacts("kpg-rl", "related work", "Gu et al. 2022", LABELS_AND_ROWS),)

    needs_unlabelled = True
    temperature: float = 0.1
    regularization: float = 0.005
    tol: float = 1e-3
    max_iter: int = 10_000
    classifier_: Any = field(init=False)
    plan_error_: float = field(init=False)

    def _validate(self) -> None:
        super()._validate()
        check_number(self.regularization, "regularization", low=LEAST)

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        check_two_classes(domains)
        X, Y = as_dense(domains.source.X), as_dense(domains.target.X)
        known, free = domains.target.labelled, np.flatnonzero(domains.target.y == UNLABELLED)
        if not len(free):
            raise InputError("y_target: expected rows without a label to move the source rows to, got none.")
        plan = self._plan(domains, X, Y, free)
        # Barycentric: each source row becomes the mean of the target rows that it is matched with.
        moved = (plan.matrix @ Y[free]) / plan.matrix.sum(axis=1, keepdims=True)
        y = np.concatenate([domains.target.y[known], domains.source.y])
        classifier = LinearSVC(random_state=0).fit(np.vstack([Y[known], moved]), y)
        warn_about_data(domains)
        if plan.error > self.tol:
            warn(
                f"KPGRL: stopped after {plan.n_iter} iterations with {plan.error:.1e} of the mass in wrong rows "
                f"(goal {self.tol:.0e}); a larger regularization converges sooner.",
                ConvergenceWarning,
            )
        return {"classifier_": classifier, "plan_error_": plan.error, "n_iter_": plan.n_iter}

    def _plan(self, domains: TwoDomains, X: FloatArray, Y: FloatArray, free: Any) -> Plan:
        """Return the transport of source rows to unlabelled target rows."""
        known, ys = domains.target.labelled, domains.source.y
        means = np.stack([X[ys == c].mean(axis=0) for c in domains.target.y[known]])
        keys = means, Y[known]
        R = [
            relations(np.vstack([key, rows]), key, self.temperature)
            for key, rows in zip(keys, (X, Y[free]), strict=True)
        ]
        cost = jensen_shannon(*R)
        k, largest = len(known), float(cost.max())
        return sinkhorn(cost[k:, k:] / (largest or 1.0), self.regularization, self.tol, self.max_iter)

    def _scores(self, rows: Matrix) -> FloatArray:
        values = np.asarray(self.classifier_.decision_function(as_dense(rows)))
        return values if values.ndim == 2 else 0.5 * np.stack([-values, values], axis=1)
