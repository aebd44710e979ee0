"""Systems that score the classes of target rows, without a common space: HFA, KPG-RL, TLRisk, and plans by POT.

First their base, then support vectors over augmented features (HFA), transport guided by key points (KPGRL),
translated learning (TLRisk), and optimal transport that knows the rows of the fit only (GW, FGW, COOT).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import softmax, xlogy
from sklearn.base import clone, is_classifier
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import InputTags

from isthmus._core.validation import (
    UNLABELLED,
    FloatArray,
    IntArray,
    Matrix,
    as_dense,
    check_choice,
    check_number,
    is_sparse,
)
from isthmus.data.domains import Domain, KnownPairs, TwoDomains
from isthmus.estimators.base import (
    LABELS,
    LABELS_AND_ROWS,
    SystemFacts,
    TargetEstimator,
    check_two_classes,
    warn_about_data,
)
from isthmus.exceptions import ConvergenceWarning, InputError, import_extra, warn
from isthmus.geometry.kernels import RBF, Kernel, Laplacian, Linear, Precomputed, as_kernel
from isthmus.geometry.similarity import graph_distances
from isthmus.geometry.spaces import centre_rows


class TargetClassifier(TargetEstimator):
    """The base of systems whose outcome is a score of each class for target rows.

    A subclass has a method :meth:`_scores`. There is no space in which rows of both domains meet: the points of
    :meth:`transform` are the scores.
    """

    def _scores(self, rows: Matrix) -> FloatArray:
        """Return the scores (n, C) of target rows, the larger the better; minus infinity for classes without any."""
        raise NotImplementedError

    def decision_function(self, X: Any, domain: str = "target") -> FloatArray:
        """Return a score for each class (n, C), larger is better; of two the second's less the first's (n,)."""
        scores = self._scores(self._rows(X, domain))
        return scores if scores.shape[1] != 2 else scores[:, 1] - scores[:, 0]

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """Return the class of the largest score for each target row (n,)."""
        best = self._scores(self._rows(X, domain)).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Return the scores of the classes (n, C): there is no other space."""
        rows = self._rows(X, domain)
        return self._scores(rows).astype(rows.dtype, copy=False)

    def _dimension(self) -> int:
        return len(self.classes_)


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


@dataclass(frozen=True, eq=False)
class DirectSum:
    """Rows of two domains with the kernel k_s ⊕ k_t: zero across the domains.

    Two RBF kernels are one on rows that have a coordinate more, along which the domains are far apart; two linear
    ones are the linear kernel of [x; 0] and [0; y]. libsvm then computes what it needs. For other kernels their
    (n_s + n_t)² values are made.
    """

    source: Matrix
    target: Matrix
    kernels: tuple[Kernel, Kernel]

    def fit_machine(self, y: IntArray, n_classes: int, C: float, tol: float) -> KernelMachine:
        """Fit one SVM per class over both domains (classes y (n_s + n_t,)); return what it says of target rows."""
        n = self.source.shape[0]
        rows, options = self._rows()
        coefficients, intercepts = np.zeros((self.target.shape[0], n_classes)), np.zeros(n_classes)
        for c in range(n_classes):
            # The source shapes the intercept and the target's multipliers; it has no term in the score.
            svm = SVC(C=C, tol=tol, cache_size=CACHE, **options).fit(rows, np.where(y == c, 1, -1))
            of_target = svm.support_ >= n
            duals = svm.dual_coef_.toarray() if is_sparse(svm.dual_coef_) else svm.dual_coef_
            coefficients[svm.support_[of_target] - n, c] = duals[0, of_target]
            intercepts[c] = svm.intercept_[0]
        used = np.flatnonzero(coefficients.any(axis=1))
        return KernelMachine(self.kernels[1], self.target[used], coefficients[used], intercepts)

    def _rows(self) -> tuple[Matrix, dict[str, object]]:
        """Return what libsvm is given, and how it is to take it."""
        X, Y = self.source, self.target
        if all(isinstance(kernel, Linear) for kernel in self.kernels):
            return _direct_sum(X, Y), {"kernel": "linear"}
        if all(isinstance(kernel, RBF) for kernel in self.kernels):
            # Both bandwidths become one by scaling the rows, and the far coordinate makes the kernel zero across.
            b_s, b_t = (float(kernel.bandwidth) * np.sqrt(2.0) for kernel in self.kernels)  # type: ignore[attr-defined]
            apart = np.r_[np.full(X.shape[0], FAR), np.full(Y.shape[0], -FAR)][:, None]
            rows = _direct_sum(X / b_s, Y / b_t)
            stacked = sp.hstack([rows, sp.csr_array(apart)], format="csr") if is_sparse(rows) else np.c_[rows, apart]
            return stacked, {"kernel": "rbf", "gamma": 1.0}
        n = X.shape[0]
        K = np.zeros((n + Y.shape[0], n + Y.shape[0]))
        K[:n, :n], K[n:, n:] = self.kernels[0].gram(X, X), self.kernels[1].gram(Y, Y)
        return K, {"kernel": "precomputed"}


def _direct_sum(X: Matrix, Y: Matrix) -> Matrix:
    """Return [x; 0] for every row of X, then [0; y] for every row of Y."""
    if is_sparse(X) and is_sparse(Y):
        return sp.block_diag([X, Y], format="csr")
    A, B = as_dense(X), as_dense(Y)
    return np.block([[A, np.zeros((len(A), B.shape[1]))], [np.zeros((len(B), A.shape[1])), B]])


def mean_square_rbf(X: Matrix, most: int = 2000) -> RBF:
    """Return the RBF kernel exp(-d²/m) with m the mean of all squared distances of rows, also to themselves.

    Of many rows a fixed sample is taken.
    """
    if X.shape[0] > most:
        X = X[np.sort(np.random.default_rng(0).choice(X.shape[0], most, replace=False))]
    rows = as_dense(X)
    mean = float(cdist(rows, rows, "sqeuclidean").mean())
    return RBF(float(np.sqrt(mean / 2.0)) or 1.0)


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

    systems = (SystemFacts("hfa", "related work", "Duan et al. 2012, solved exactly", LABELS),)

    source_kernel: Kernel | str = field(default="auto", kw_only=False)
    target_kernel: Kernel | str = field(default="auto", kw_only=False)
    C: float = 1.0
    trace: float = 100.0
    tol: float = 1e-4
    machine_: KernelMachine = field(init=False)
    kernels_: tuple[Kernel, Kernel] = field(init=False)

    def _validate(self) -> tuple[Kernel | None, Kernel | None]:
        super()._validate()
        names = "source_kernel", "target_kernel"
        first, second = (_as_kernel_or_auto(getattr(self, name), name) for name in names)
        return first, second

    def _fit_domains(self, domains: TwoDomains, settings: tuple[Kernel | None, Kernel | None]) -> dict[str, Any]:
        check_two_classes(domains)
        target = domains.target
        known = target.labelled
        X, Y = domains.source.X.astype(np.float64), target.X[known].astype(np.float64)
        centres = _centre(X, settings[0]), _centre(Y, settings[1])
        X, Y = centre_rows(X, centres[0]), centre_rows(Y, centres[1])
        kernels = _resolve_kernel(settings[0], X), _resolve_kernel(settings[1], Y)
        y = np.concatenate([domains.source.y, target.y[known]])
        # The SVM on (1 + λ)K with bound C is the SVM on K with bound (1 + λ)C, whose α are (1 + λ) times as large.
        machine = DirectSum(X, Y, kernels).fit_machine(y, len(domains.classes), self.C * (1.0 + self.trace), self.tol)
        warn_about_data(domains, kernels, intercept=True)
        return {"machine_": replace(machine, centre=centres[1]), "kernels_": kernels}

    def _scores(self, rows: Matrix) -> FloatArray:
        return self.machine_.scores(rows)


def _as_kernel_or_auto(kernel: Any, name: str) -> Kernel | None:
    """Return a kernel, or None for "auto"."""
    if isinstance(kernel, str) and kernel == "auto":
        return None
    found = as_kernel(kernel, name)
    if isinstance(found, Precomputed):
        raise InputError(f"{name}: expected a kernel of features, got 'precomputed'.")
    return found


def _centre(X: Matrix, kernel: Kernel | None) -> FloatArray | None:
    """Return the mean of dense rows for kernels of differences, which are rounding far from the origin; else None."""
    if is_sparse(X) or not (kernel is None or isinstance(kernel, RBF | Laplacian)):
        return None
    return np.asarray(X.mean(axis=0))


def _resolve_kernel(kernel: Kernel | None, X: Matrix) -> Kernel:
    return mean_square_rbf(X) if kernel is None else kernel.resolve(X)


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
    classifier : scikit-learn classifier, optional
        What learns from the moved rows, with a score for each class; None is a linear support vector machine.
    tol : float
        How much of the mass of a plan may be in the wrong row.
    max_iter : int
        Sinkhorn's iterations at most.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`.

    Attributes
    ----------
    classifier_ : scikit-learn classifier
        The fitted classifier of target rows; its labels are positions in ``classes_``.
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
    classifier: Any = None
    tol: float = 1e-3
    max_iter: int = 10_000
    classifier_: Any = field(init=False)
    plan_error_: float = field(init=False)

    def _validate(self) -> None:
        super()._validate()
        check_number(self.regularization, "regularization", low=LEAST)
        if self.classifier is not None:
            _check_scoring_classifier(self.classifier)

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
        classifier = LinearSVC(random_state=0) if self.classifier is None else clone(self.classifier)
        classifier.fit(np.vstack([Y[known], moved]), y)
        warn_about_data(domains, (Linear(), Linear()), intercept=True)
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
        points = as_dense(rows)
        if not hasattr(self.classifier_, "decision_function"):
            return np.asarray(self.classifier_.predict_proba(points))
        values = np.asarray(self.classifier_.decision_function(points))
        return values if values.ndim == 2 else 0.5 * np.stack([-values, values], axis=1)


def _check_scoring_classifier(classifier: Any) -> None:
    """Raise unless it is a classifier with a score for each class: scores of pairs of classes look like such."""
    known = not isinstance(classifier, str | type) and hasattr(classifier, "fit") and is_classifier(classifier)
    if not known:
        raise InputError(f"classifier: expected a classifier of scikit-learn, got {classifier!r:.60}.")
    if not (hasattr(classifier, "decision_function") or hasattr(classifier, "predict_proba")):
        raise InputError(
            f"classifier: expected one with decision_function or predict_proba, got {classifier!r:.60} without."
        )
    shapes = {value for name, value in classifier.get_params().items() if name.endswith("decision_function_shape")}
    if "ovo" in shapes:
        raise InputError("classifier: expected a score for each class, got decision_function_shape='ovo'.")


MEASURES = ("cosine", "kl", "pearson")


@dataclass(kw_only=True, eq=False, repr=False)
class TLRisk(TargetClassifier):
    r"""Translated learning: what the source's classes would look like in the features of the target.

    .. math::

       \theta_c = (1 - \lambda) \sum_s p(f_t \mid f_s)\, p(f_s \mid c) + \lambda\, p(f_t \mid c), \qquad
       p(f_t \mid f_s) = \frac{\sum_i A_{is} B_{it}}{r_s}, \quad r = A^T |B|_1

    over known pairs of rows (A, B) in which features of the two domains occur together. A target row gets the class
    whose :math:`\theta_c` is nearest: by cosine, by KL(y‖θ), or by Pearson's correlation. The table
    :math:`p(f_t \mid f_s)` of d_s × d_t numbers is never made: it is applied from right to left,
    :math:`B^T (A (p_c / r))`.

    From memory of the paper (W. Dai, Y. Chen, G.-R. Xue, Q. Yang and Y. Yu, *Translated learning*, NIPS 2008): the
    risk minimisation is read as the nearest class model; its data were not to be had.

    Parameters
    ----------
    measure : {"cosine", "kl", "pearson"}
        How a row is compared with a class. The paper has all three; cosine is what our table was made with.
    target_weight : float
        λ in [0, 1], the weight of the labelled target rows in a class that has any. With 2,932 pairs of Debian
        descriptions, 0 gave 76.1 % and 0.2 with one label per class 44.9 %: zero is the default.
    smoothing : float
        For "kl": the weight in (0, 1) of the uniform distribution in every class, so that no feature is impossible.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`; what they give has to be non-negative.

    Attributes
    ----------
    class_models_ : array (C, d_t)
        θ, each class a distribution over the features of the target; zero for classes that nothing is known of,
        which are never predicted.
    classes_ : array
        The classes of both domains.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import TLRisk
    >>> english, french = np.array([[3, 0], [0, 2], [2, 1]]), np.array([[0, 2, 0], [1, 0, 1], [0, 1, 0]])
    >>> tlrisk = TLRisk().fit(english, ["cat", "dog", "cat"], french, None, pairs="rows")
    >>> tlrisk.predict([[0, 5, 1], [1, 0, 0]])
    array(['cat', 'dog'], dtype=object)
    """

    systems = (
        SystemFacts(
            "tlrisk",
            "related work",
            "Dai et al. 2008, from memory",
            "pairs that features occur in together, source labels",
        ),
    )

    takes_pairs = True
    needs_pairs = True
    fewest_pairs = 1
    non_negative = True
    measure: str = field(default="cosine", kw_only=False)
    target_weight: float = 0.0
    smoothing: float = 1e-3
    class_models_: FloatArray = field(init=False)

    def _validate(self) -> None:
        super()._validate()
        check_choice(self.measure, "measure", MEASURES)
        if check_number(self.smoothing, "smoothing", low=0.0, strict=True) >= 1.0:
            raise InputError(f"smoothing: expected a number below 1, got {self.smoothing!r}.")

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        pairs = domains.pairs
        assert pairs is not None  # fit asked for them
        for name, domain in (("X_source", domains.source), ("X_target", domains.target)):
            check_non_negative(domain.X, name)
        if not len(domains.source.labelled):
            raise InputError("y_source: expected labelled rows to translate the classes of, got none.")
        C = len(domains.classes)
        own = class_distributions(domains.target, C)
        theta = translate_distributions(domains, pairs, class_distributions(domains.source, C))
        known, seen = theta.any(axis=1), own.any(axis=1)
        # A class that only one of the two says anything of is what that one says.
        weight = np.where(known & seen, self.target_weight, np.where(known, 0.0, np.sign(self.target_weight)))
        models = (1.0 - weight)[:, None] * theta + weight[:, None] * own
        if not models.any():
            raise InputError("pairs: expected features of labelled source rows to occur in pairs, got none that do.")
        return {"class_models_": models}

    def _rows(self, X: Any, domain: str, name: str = "X") -> Matrix:
        return check_non_negative(super()._rows(X, domain, name), name)

    def _scores(self, rows: Matrix) -> FloatArray:
        theta = self.class_models_
        known = np.flatnonzero(theta.any(axis=1))
        scores = np.full((rows.shape[0], len(theta)), -np.inf)
        scores[:, known] = similarity(rows.astype(np.float64), theta[known], self.measure, self.smoothing)
        return scores

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Return the scores of the classes (n, C), zero for classes that nothing is known of."""
        rows = self._rows(X, domain)
        scores = self._scores(rows)
        return np.where(np.isneginf(scores), 0.0, scores).astype(rows.dtype, copy=False)

    def _own_tags(self, domain: str) -> InputTags:
        return InputTags(sparse=True, positive_only=True)


def check_non_negative(X: Matrix, name: str) -> Matrix:
    """Return the rows; raise where a feature is negative."""
    least = float((X.data if is_sparse(X) else X).min(initial=0.0))
    if least < 0.0:
        raise InputError(f"{name}: expected features of at least 0, such as counts of words, got {least:.3g}.")
    return X


def class_distributions(domain: Domain, n_classes: int) -> FloatArray:
    """Return p(f | c) (C, d): the sums of each class's rows, scaled to sum to one; zero where there are none."""
    rows: IntArray = domain.labelled
    indicator = sp.csr_array((np.ones(len(rows)), (domain.y[rows], rows)), shape=(n_classes, domain.X.shape[0]))
    sums = indicator @ domain.X.astype(np.float64)
    return _distributions(np.asarray(sums.toarray() if is_sparse(sums) else sums))


def translate_distributions(domains: TwoDomains, pairs: KnownPairs, P: FloatArray) -> FloatArray:
    """Return distributions P (C, d_s) over source features as distributions (C, d_t) over target features."""
    A = domains.source.X[pairs.source].astype(np.float64)
    B = domains.target.X[pairs.target].astype(np.float64)
    r = A.T @ (pairs.weights * np.asarray(B.sum(axis=1)).ravel())
    # Right to left, B'(A(p/r)): the table p(f_t | f_s) of d_s × d_t numbers is never made.
    shares = np.divide(P, r, out=np.zeros_like(P), where=r > 0.0)
    return _distributions(np.asarray(B.T @ (pairs.weights[:, None] * (A @ shares.T))).T)


def _distributions(M: FloatArray) -> FloatArray:
    totals = M.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(M, totals, out=np.zeros_like(M), where=totals > 0.0))


def similarity(Y: Matrix, theta: FloatArray, measure: str, smoothing: float) -> FloatArray:
    """Return the similarity (n, C) of rows Y (n, d) and distributions θ (C, d): −KL(y‖θ), cosine or correlation.

    A row of zeros is as like one class as another.
    """
    sums, d = np.asarray(Y.sum(axis=1)).ravel(), theta.shape[1]
    squares = np.asarray((Y.multiply(Y) if is_sparse(Y) else Y * Y).sum(axis=1)).ravel()
    if measure == "kl":
        smooth = (1.0 - smoothing) * theta + smoothing / d
        values = Y.data if is_sparse(Y) else Y
        logs = np.where(values > 0.0, np.log(np.where(values > 0.0, values, 1.0)), 0.0)
        own = Y.multiply(sp.csr_array((logs, Y.indices, Y.indptr), shape=Y.shape)) if is_sparse(Y) else Y * logs
        entropy = np.asarray(own.sum(axis=1)).ravel()
        total = np.where(sums > 0.0, sums, 1.0)
        own_terms = entropy / total - np.log(total) * (sums > 0.0)
        return np.asarray(np.asarray(Y @ np.log(smooth).T) / total[:, None] - own_terms[:, None])
    if measure == "pearson":
        theta = theta - theta.mean(axis=1, keepdims=True)
        squares = squares - sums**2 / d
    lengths = np.sqrt(np.maximum(squares, 0.0)), np.linalg.norm(theta, axis=1)
    products = lengths[0][:, None] * lengths[1][None, :]
    found = np.divide(np.asarray(Y @ theta.T), products, out=np.zeros(products.shape), where=products > 0.0)
    return np.asarray(found)


# Two rows are the same where no feature differs by more than this part of the largest one.
SAME = 1e-9
# Who brings the solvers, and what for.
POT = "transport", "GW, FGW and COOT are computed by POT and need"
EUCLIDEAN, GRAPH = COSTS = "euclidean", "graph"
# Of the rows, the neighbours in a graph; the middle, on a scale of factors, of what :func:`isthmus.align` combines.
SHARE = 0.05


@dataclass(kw_only=True, eq=False, repr=False)
class TransductiveEstimator(TargetClassifier):
    """The base of systems that learn a plan π (n_s, n_t) of how much of each source row goes to each target row.

    A subclass has a method :meth:`_plan`. A target row is of the class that most of what it gets is of; labelled rows
    keep their class.
    """

    transductive = True
    needs_unlabelled = True
    cost: str = EUCLIDEAN
    max_iter: int = 1000
    probabilities_: FloatArray = field(init=False)
    _fit_rows: FloatArray = field(init=False)

    def _plan(self, domains: TwoDomains, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Return π (n_s, n_t) between uniform weights."""
        raise NotImplementedError

    def _validate(self) -> Any:
        super()._validate()
        check_choice(self.cost, "cost", COSTS)

    def _distances(self, X: FloatArray) -> FloatArray:
        """Return the distances (n, n) between rows of one domain that the parameter ``cost`` names."""
        if self.cost == EUCLIDEAN:
            return scaled_distances(X)
        return graph_distances(cdist(X, X), SHARE).astype(np.float64)

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        target = domains.target
        if not (target.y == UNLABELLED).any():
            raise InputError("y_target: expected rows without a label, the only ones to be named, got none.")
        X, Y = as_dense(domains.source.X), as_dense(target.X)
        plan = self._plan(domains, X, Y)
        shares = np.stack([plan[domains.source.y == c].sum(axis=0) for c in range(len(domains.classes))], axis=1)
        totals = shares.sum(axis=1, keepdims=True)
        # A target row that gets nothing is of every class alike.
        P = np.divide(shares, totals, out=np.full_like(shares, 1.0 / shares.shape[1]), where=totals > 0.0)
        P[target.labelled] = np.eye(len(domains.classes))[target.y[target.labelled]]
        warn_about_data(domains, (Linear(), Linear()), intercept=True)
        return {"probabilities_": P, "_fit_rows": Y.copy()}

    def _scores(self, rows: Matrix) -> FloatArray:
        return np.asarray(self.probabilities_[self._places(as_dense(rows))])

    def predict_proba(self, X: Any, domain: str = "target") -> FloatArray:
        """Return, of what each row of the fit gets, the share of every class (n, C)."""
        return self._scores(self._rows(X, domain))

    def _places(self, X: FloatArray) -> IntArray:
        """Return the numbers of rows among those of the fit."""
        found = np.zeros(len(X), dtype=np.intp)
        for start in range(0, len(X), BLOCK):
            rows = slice(start, start + BLOCK)
            # A row of the fit is recognised by its features, up to rounding: no map exists for any other.
            found[rows] = cdist(X[rows], self._fit_rows, "chebyshev").argmin(axis=1)
        largest = float(np.abs(self._fit_rows).max(initial=0.0))
        new = int((np.abs(X - self._fit_rows[found]).max(axis=1, initial=0.0) > SAME * largest).sum())
        if new:
            raise InputError(
                f"X: expected target rows of the fit, as {type(self).__name__} has no map for others, got {new} new."
            )
        return found


def label_costs(domains: TwoDomains) -> FloatArray:
    """Return what it costs (n_s, n_t) that a source row goes to a target row: 0 in its class, 1 in another.

    Of a row without a label it is what a class at random would cost, 1 - 1/C.
    """
    ys, yt, C = domains.source.y, domains.target.y, len(domains.classes)
    costs = (ys[:, None] != yt[None, :]).astype(np.float64)
    costs[:, yt == UNLABELLED] = 1.0 - 1.0 / C
    return np.asarray(costs)


def scaled_distances(X: FloatArray) -> FloatArray:
    """Return squared distances of all rows, the largest one."""
    D = cdist(X, X, "sqeuclidean")
    return np.asarray(D / (D.max() or 1.0))


# Of the linear programs inside: POT warns, and takes what it has, where they are not enough.
MOST_PIVOTS = 1_000_000


@dataclass(kw_only=True, eq=False, repr=False)
class GW(TransductiveEstimator):
    r"""Gromov–Wasserstein: a plan under which distances within the source are those within the target.

    .. math:: \min_{\pi}\; \sum_{ijkl} (d_s(x_i, x_k) - d_t(y_j, y_l))^2\, \pi_{ij} \pi_{kl}

    It sees no target label, and needs none: ``y_target`` may be None. The problem is not convex, and what comes out
    depends on the start (all rows alike). **It is transductive**: it names the unlabelled rows of the fit, and has no
    map for others. Time grows with n_s n_t (n_s + n_t) per iteration. In our table it is at chance (docs/systems.md).

    F. Mémoli, *Gromov–Wasserstein distances and the metric approach to object matching*, 2011; by POT
    (``pip install "isthmus[transport]"``).

    Parameters
    ----------
    cost : {"euclidean", "graph"}
        d: squared Euclidean distances, or steps in the graph of nearest neighbours (a twentieth of the rows), which
        follow a curved sheet of rows; either in units of the largest.
    max_iter : int
        Iterations of conditional gradients at most.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`.

    Attributes
    ----------
    probabilities_ : array (n_t, C)
        Of every target row of the fit, the shares of the classes in what it gets.
    classes_ : array
        The classes of the source.
    """

    systems = (
        SystemFacts("gw", "related work", "Mémoli 2011, rows of the fit only, by POT", "source labels, all rows"),
    )

    needs_target_labels = False

    def _plan(self, domains: TwoDomains, X: FloatArray, Y: FloatArray) -> FloatArray:
        distances = self._distances(X), self._distances(Y)
        return np.asarray(import_extra("ot.gromov", *POT).gromov_wasserstein(*distances, max_iter=int(self.max_iter)))


@dataclass(kw_only=True, eq=False, repr=False)
class FGW(TransductiveEstimator):
    r"""Fused Gromov–Wasserstein: distances within the domains, and labels across them.

    .. math:: \min_{\pi}\; (1 - \alpha) \langle \pi, M \rangle
              + \alpha \sum_{ijkl} (d_s(x_i, x_k) - d_t(y_j, y_l))^2\, \pi_{ij} \pi_{kl}

    With other features on either side no distance across the domains can be had: M is what labels say, 0 within a
    class, 1 between two, 1 - 1/C where the target row has no label. That is our reading; the rest is as in
    :class:`GW`.

    T. Vayer, L. Chapel, R. Flamary, R. Tavenard and N. Courty, *Fused Gromov–Wasserstein distance for structured
    objects*, 2020; by POT.

    Parameters
    ----------
    structure : float
        α in [0, 1]; 0.5 is POT's default. One sees no target label; zero needs some. In between, M is constant where
        no target row has a label, and the plan is that of :class:`GW`.
    cost, max_iter, source_transformer, target_transformer
        As in :class:`GW`.

    Attributes
    ----------
    probabilities_, classes_
        As in :class:`GW`.
    """

    systems = (
        SystemFacts("fgw", "related work", "Vayer et al. 2020, rows of the fit only, by POT", LABELS_AND_ROWS),
    )

    structure: float = 0.5

    @property
    def needs_target_labels(self) -> bool:  # type: ignore[override]
        """Whether nothing but labels counts."""
        return bool(self.structure == 0.0)

    def _plan(self, domains: TwoDomains, X: FloatArray, Y: FloatArray) -> FloatArray:
        costs = label_costs(domains), self._distances(X), self._distances(Y)
        options = {"alpha": float(self.structure), "max_iter": int(self.max_iter)}
        return np.asarray(import_extra("ot.gromov", *POT).fused_gromov_wasserstein(*costs, **options))


@dataclass(kw_only=True, eq=False, repr=False)
class COOT(TransductiveEstimator):
    r"""Co-optimal transport: a plan of the rows and one of the features, each the best for the other.

    .. math:: \min_{\pi, \varpi}\; \sum_{ijkl} (x_{ik} - y_{jl})^2\, \pi_{ij} \varpi_{kl}
              + \mu \langle \pi, M \rangle

    with M as in :class:`FGW`. Values of features are compared as they are: bring both domains to one scale. It is not
    convex and transductive, as :class:`GW` is.

    I. Redko, T. Vayer, R. Flamary and N. Courty, *CO-Optimal Transport*, NeurIPS 2020; by POT.

    Parameters
    ----------
    label_weight : float
        μ ≥ 0, in units of the mean squared value of a feature; zero sees no target label. Where no target row has
        one, M is constant, and changes nothing.
    cost : {"euclidean", "graph"}
        "graph": the features of a row are its steps to all rows of its domain, as in :class:`GW`, not its own.
    max_iter, source_transformer, target_transformer
        As in :class:`GW`.

    Attributes
    ----------
    probabilities_, classes_
        As in :class:`GW`.
    """

    systems = (
        SystemFacts("coot", "related work", "Redko et al. 2020, rows of the fit only, by POT", LABELS_AND_ROWS),
    )

    needs_target_labels = False

    label_weight: float = 1.0
    max_iter: int = 100

    def _plan(self, domains: TwoDomains, X: FloatArray, Y: FloatArray) -> FloatArray:
        if self.cost == GRAPH:
            X, Y = self._distances(X), self._distances(Y)
        # In this unit μ does not depend on the scale of the features.
        unit = float(np.mean(np.concatenate([X.ravel() ** 2, Y.ravel() ** 2]))) or 1.0
        labels = {"alpha": (float(self.label_weight) * unit, 0.0), "M_samp": label_costs(domains)}
        steps = {"nits_bcd": int(self.max_iter), "nits_ot": MOST_PIVOTS}
        return np.asarray(import_extra("ot.coot", *POT).co_optimal_transport(X, Y, **labels, **steps)[0])
