"""Augmented features: HFA learns them, as one kernel machine (Duan et al. 2012); FeatureAugmentation copies them.

The second takes domains of the same features, with a copy that both share and one of either's own (Daumé 2007).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from isthmus._core.validation import FloatArray, IntArray, Matrix, as_dense, is_sparse
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import LABELS, SystemFacts, TargetClassifier, check_two_classes, warn_about_data
from isthmus.estimators.mapped import Learned, MetricEstimator
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.kernels import RBF, Kernel, Linear, Precomputed, as_kernel
from isthmus.geometry.spaces import JointSpace, centre_rows, find_centre

# Megabytes of kernel values that libsvm may keep.
CACHE = 500
# Half the distance of two domains along a coordinate of their own: exp(-(2 · 20)²) is zero in double precision.
FAR = 20.0
# Rows that are compared with others at once.
BLOCK = 2048


@dataclass(frozen=True, eq=False)
class KernelMachine:
    r"""Scores :math:`f_c(y) = \sum_j a_{jc} k(y_j, y) + b_c` of several classes.

    Parameters
    ----------
    kernel : Kernel
        k, without words.
    support : array or CSR (m, d)
        The rows that it needs.
    coefficients : array (m, C)
        a.
    intercepts : array (C,)
        b.
    centre : array (d,), optional
        What is taken away from rows before the kernel sees them; the support is without it.
    """

    kernel: Kernel
    support: Matrix
    coefficients: FloatArray
    intercepts: FloatArray
    centre: FloatArray | None = None

    def scores(self, X: Matrix) -> FloatArray:
        """Return the scores (n, C) of rows."""
        scores = np.tile(self.intercepts, (X.shape[0], 1))
        for start in range(0, X.shape[0] if self.support.shape[0] else 0, BLOCK):
            rows = slice(start, start + BLOCK)
            scores[rows] += self.kernel.gram(centre_rows(X[rows], self.centre), self.support) @ self.coefficients
        return scores


def fit_machine(
    X: Matrix, Y: Matrix, kernels: tuple[Kernel, Kernel], y: IntArray, n_classes: int, **options: float
) -> KernelMachine:
    """Fit one SVM per class over the rows of both domains (classes y (n_s + n_t,)), with the kernel k_s ⊕ k_t.

    It is zero across the domains. Return what the machine says of target rows.
    """
    n, (rows, how) = X.shape[0], _rows_of_sum(X, Y, kernels)
    coefficients, intercepts = np.zeros((Y.shape[0], n_classes)), np.zeros(n_classes)
    for c in range(n_classes):
        # The source shapes the intercept and the target's multipliers; it has no term in the score.
        svm = SVC(cache_size=CACHE, **how, **options).fit(rows, np.where(y == c, 1, -1))
        of_target = svm.support_ >= n
        duals = svm.dual_coef_.toarray() if is_sparse(svm.dual_coef_) else svm.dual_coef_
        coefficients[svm.support_[of_target] - n, c] = duals[0, of_target]
        intercepts[c] = svm.intercept_[0]
    used = np.flatnonzero(coefficients.any(axis=1))
    return KernelMachine(kernels[1], Y[used], coefficients[used], intercepts)


def _rows_of_sum(X: Matrix, Y: Matrix, kernels: tuple[Kernel, Kernel]) -> tuple[Matrix, dict[str, Any]]:
    """Return the rows or Gram matrix for libsvm, and its kernel options.

    Two RBF kernels are one on rows that have a coordinate more, along which the domains are far apart; two linear
    ones are the linear kernel of [x; 0] and [0; y]. libsvm then computes what it needs. For other kernels their
    (n_s + n_t)² values are made.
    """
    if all(isinstance(kernel, Linear) for kernel in kernels):
        return _direct_sum(X, Y), {"kernel": "linear"}
    if all(isinstance(kernel, RBF) for kernel in kernels):
        # Both bandwidths become one by scaling the rows, and the far coordinate makes the kernel zero across.
        b_s, b_t = (float(kernel.bandwidth) * np.sqrt(2.0) for kernel in kernels)  # type: ignore[attr-defined]
        apart = np.r_[np.full(X.shape[0], FAR), np.full(Y.shape[0], -FAR)][:, None]
        rows = _direct_sum(X / b_s, Y / b_t)
        stacked = sp.hstack([rows, sp.csr_array(apart)], format="csr") if is_sparse(rows) else np.c_[rows, apart]
        return stacked, {"kernel": "rbf", "gamma": 1.0}
    n = X.shape[0]
    K = np.zeros((n + Y.shape[0], n + Y.shape[0]))
    K[:n, :n], K[n:, n:] = kernels[0].gram(X, X), kernels[1].gram(Y, Y)
    return K, {"kernel": "precomputed"}


def _direct_sum(X: Matrix, Y: Matrix) -> Matrix:
    """Return [x; 0] for every row of X, then [0; y] for every row of Y."""
    if is_sparse(X) and is_sparse(Y):
        return sp.block_diag([X, Y], format="csr")
    A, B = as_dense(X), as_dense(Y)
    return np.block([[A, np.zeros((len(A), B.shape[1]))], [np.zeros((len(B), A.shape[1])), B]])


# Rows whose distances the automatic bandwidth is made of; of more, a fixed sample.
MOST = 2000


@dataclass(frozen=True)
class MeanSquareRBF(RBF):
    """The RBF kernel exp(-d²/m), with m the mean of all squared distances of rows, also to themselves."""

    def resolve(self, X: Matrix) -> RBF:  # type: ignore[override]  # with a number it is one like any other
        """Return the kernel with a bandwidth."""
        if X.shape[0] > MOST:
            X = X[np.sort(np.random.default_rng(0).choice(X.shape[0], MOST, replace=False))]
        rows = as_dense(X)
        return RBF(float(np.sqrt(cdist(rows, rows, "sqeuclidean").mean() / 2.0)) or 1.0)


@dataclass(kw_only=True, eq=False, repr=False)
class HFA(TargetClassifier):
    r"""Support vectors over augmented rows [Px; x; 0] and [Qy; 0; y], with the best P and Q.

    .. math::

       \min_{H \succeq 0,\, \mathrm{tr} H \le \lambda}\; \max_{0 \le \alpha \le C,\; y^T \alpha = 0}\;
       1^T \alpha - \tfrac12 v^T (I + H) v, \qquad v = K^{1/2} (\alpha \circ y), \quad K = K_s \oplus K_t

    with :math:`H = [P\, Q]^T [P\, Q]`, one class against the rest. **It has a closed form.** The objective is linear
    in H and concave in α, so the order can be swapped; the least value over H is then :math:`1^T\alpha - \tfrac12 (1
    + \lambda) v^T v`, at :math:`H = \lambda v v^T / \|v\|^2`. What is left is **one ordinary SVM on (1 + λ)K**, and
    a target row scores

    .. math:: f(y) = (1 + \lambda) \sum_{j \text{ in the target}} \alpha_j y_j\, k_t(y_j, y) + b

    K is zero across the domains: the source enters only through the intercept b (docs/systems.md has the
    derivation). The released iterations stop 6 to 19 % above this optimum.

    L. Duan, D. Xu and I. W. Tsang, *Learning with augmented features for heterogeneous domain adaptation*, ICML 2012.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel, "auto" or a name of a kernel
        The similarity within either domain. "auto", as released, is the RBF kernel exp(-d²/m), with m the mean of all
        squared distances of the labelled rows.
    C : float
        The cost of an error; 1 as released.
    trace : float
        λ ≥ 0, the bound of tr H; 100 as released. Zero is an SVM on K.
    tol : float
        The tolerance of libsvm.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`. The published experiments have rows of length one.

    Attributes
    ----------
    machine_ : KernelMachine
        The scores of target rows.
    kernels_ : (Kernel, Kernel)
        The kernels with their bandwidths.
    classes_ : array
        The classes of the source.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import HFA
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> HFA().fit(X_source, y_source, X_target, y_target).predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("hfa", "related work", "Duan et al. 2012, solved exactly", LABELS),
    )

    source_kernel: Kernel | str = field(default="auto", kw_only=False)
    target_kernel: Kernel | str = field(default="auto", kw_only=False)
    C: float = 1.0
    trace: float = 100.0
    tol: float = 1e-4
    machine_: KernelMachine = field(init=False)
    kernels_: tuple[Kernel, Kernel] = field(init=False)

    def _validate(self) -> tuple[Kernel, Kernel]:
        super()._validate()
        return _as_kernel(self.source_kernel, "source_kernel"), _as_kernel(self.target_kernel, "target_kernel")

    def _fit_domains(self, domains: TwoDomains, settings: tuple[Kernel, Kernel]) -> dict[str, Any]:
        check_two_classes(domains)
        target = domains.target
        known = target.labelled
        X, Y = domains.source.X.astype(np.float64), target.X[known].astype(np.float64)
        centres = find_centre(X, settings[0]), find_centre(Y, settings[1])
        X, Y = centre_rows(X, centres[0]), centre_rows(Y, centres[1])
        kernels = settings[0].resolve(X), settings[1].resolve(Y)
        y = np.concatenate([domains.source.y, target.y[known]])
        # The SVM on (1 + λ)K with bound C is the SVM on K with bound (1 + λ)C, whose α are (1 + λ) times as large.
        cost = self.C * (1.0 + self.trace)
        machine = fit_machine(X, Y, kernels, y, len(domains.classes), C=cost, tol=self.tol)
        warn_about_data(domains, kernels)
        return {"machine_": replace(machine, centre=centres[1]), "kernels_": kernels}

    def _scores(self, rows: Matrix) -> FloatArray:
        return self.machine_.scores(rows)


def _as_kernel(kernel: Any, name: str) -> Kernel:
    found = MeanSquareRBF() if isinstance(kernel, str) and kernel == "auto" else as_kernel(kernel, name)
    if isinstance(found, Precomputed):
        raise InputError(f"{name}: expected a kernel of features, got 'precomputed'.")
    return found


# The maps are a table of 2d × 3d numbers.
WIDEST = 4096


@dataclass(kw_only=True, eq=False, repr=False)
class FeatureAugmentation(MetricEstimator):
    r"""Three copies of the features, of which each domain leaves one empty; then any classifier.

    .. math:: x \mapsto [x;\, x;\, 0], \qquad y \mapsto [y;\, 0;\, y], \qquad
              M = \begin{bmatrix} 2I & I \\ I & 2I \end{bmatrix}

    The maps are the same for all data: inner products are doubled within a domain. What is learned is the rule, by
    default a linear support vector machine over source and labelled target rows, which finds what is common and what
    is a domain's own. The domains have to have the same features: zeros in place of missing ones would pair features
    that have nothing to do with each other, and without any shared feature only an intercept is shared, as in
    :class:`~isthmus.HFA`.

    H. Daumé III, *Frustratingly easy domain adaptation*, ACL 2007; the maps are as published, for any classifier.

    Parameters
    ----------
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`~isthmus.MLHD`, but for the defaults: a linear rule, learned from both domains.

    Attributes
    ----------
    common_space_ : CommonSpace
        The maps.
    references_, kernels_, classes_
        As in :class:`~isthmus.MLHD`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import FeatureAugmentation
    >>> X, y = np.array([[-2.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), ["a", "a", "b", "b"]
    >>> augmented = FeatureAugmentation().fit(X, y, X + [0.0, 3.0], ["a", None, None, "b"])
    >>> augmented.transform([[7.0, 8.0]])
    array([[7., 8., 0., 0., 7., 8.]])
    >>> augmented.predict([[-1.5, 3.0], [1.5, 3.0]])
    array(['a', 'b'], dtype=object)
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("feature-augmentation", "related work", "Daumé 2007, equal features only", LABELS),
    )

    equal_features = True
    intercept = True  # the rule has one

    rule: Any = "linear"
    references: str = "both"

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        d = domains.source.X.shape[1]
        if d > WIDEST:
            raise InputError(f"X_source: expected at most {WIDEST} columns, of which three copies are made, got {d}.")
        return JointSpace.of_features(domains)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: Any) -> Learned:
        copies = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
        W = np.kron(copies, np.eye(domains.source.X.shape[1]))
        return CommonSpace(joint.source.space, joint.target.space, W), {}
