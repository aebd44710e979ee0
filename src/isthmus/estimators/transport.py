"""Optimal transport: GW, FGW and COOT between the rows of a fit, by POT; KPG-RL guided by key points.

The first three name the unlabelled rows of the fit; the last moves the source to the target, and learns there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax, xlogy
from sklearn.svm import LinearSVC

from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, Matrix, as_dense, check_choice, check_number
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import LABELS_AND_ROWS, SystemFacts, TargetClassifier, check_two_classes, warn_about_data
from isthmus.exceptions import ConvergenceWarning, InputError, import_extra, warn
from isthmus.geometry.discriminants import check_shares, choose_shares
from isthmus.geometry.similarity import graph_distances

# Two rows are the same where no feature differs by more than this part of the largest one.
SAME = 1e-9
# Who brings the solvers, and what for.
POT = "transport", "GW, FGW and COOT are computed by POT and need"
EUCLIDEAN, GRAPH = COSTS = "euclidean", "graph"
# Of the rows, the neighbours in a graph; the middle, on a scale of factors, of what :func:`isthmus.align` combines.
SHARE = 0.05
# Rows that are compared with others at once.
BLOCK = 2048


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

    def _validate(self) -> None:
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
        warn_about_data(domains)
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
            raise InputError(f"X: expected target rows of the fit for {type(self).__name__}, got {new} new ones.")
        return found


def label_costs(domains: TwoDomains) -> FloatArray:
    """Return the costs (n_s, n_t) between source and target rows: 0 within a class, 1 between classes.

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

    It sees no target label, and needs none: ``y_target`` may be None. The problem is not convex, and the result
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

    systems: ClassVar[tuple[SystemFacts, ...]] = (
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

    systems: ClassVar[tuple[SystemFacts, ...]] = (
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

    systems: ClassVar[tuple[SystemFacts, ...]] = (
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


def relations(X: FloatArray, keys: FloatArray, temperature: float) -> FloatArray:
    r"""Return the distributions (n, k) of rows (n, d) over key points (k, d), by their distances.

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


def sinkhorn(
    cost: FloatArray, regularization: float, tol: float, max_iter: int, weights: FloatArray | float = 1.0
) -> tuple[FloatArray, float, int]:
    r"""Return the plan of least cost with entropy, :math:`\min \langle \pi, G \rangle - \varepsilon H(\pi)`.

    It goes (n, m) between rows with ``weights`` (n,), whose mean is one, and columns of equal weight; with it come by
    how much its row sums are off in all, and the iterations.

    Costs are between 0 and 1 and ε at least 1/300, so that exp(-G/ε) is a number in double precision and no
    logarithms are needed.

    Examples
    --------
    >>> sinkhorn(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.1, 1e-9, 100)[0].round(3)
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    n, m = cost.shape
    # Rows and columns of large costs alone would start from rounding.
    K = np.exp(-(cost - cost.min(axis=1, keepdims=True)) / regularization)
    v = np.full(m, 1.0 / m)
    for k in range(max_iter):
        Kv = K @ v
        u = weights / (n * Kv)
        v = 1.0 / (m * (u @ K))
        if k % 10 == 9 or k == max_iter - 1:
            error = float(np.abs(u * (K @ v) - weights / n).sum())
            if error <= tol:
                break
    K *= u[:, None]
    K *= v
    return K, error, k + 1


def weigh_source(domains: TwoDomains, Y: FloatArray, free: IntArray, shares: str | FloatArray) -> FloatArray | float:
    """Return weights of the source rows (n,), of mean one, that give the classes their shares; 1 for equal weights.

    Y are the target rows, and ``free`` the numbers of the unlabelled ones.
    """
    known, ys = domains.target.labelled, domains.source.y
    labelled, counts = domains.target.y[known], np.bincount(ys)
    word = shares if isinstance(shares, str) else ""
    if word in ("auto", "source") or (word == "labelled" and len(np.unique(labelled)) < len(counts)):
        return 1.0
    codes = labelled if word == "labelled" else np.arange(len(counts))
    found = choose_shares(shares, ys, domains.classes, [(Y[known], Y[free])], codes)
    if word == "labelled" and found.strictness == 1.0:
        return 1.0
    return np.asarray((len(ys) * found.shares / counts)[ys])


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
    near it is to each. The plan π has uniform weights on the unlabelled target rows; those of the source rows give
    each class its share (with ``shares="auto"`` they are uniform). Every source row moves to the mean, by π, of the
    target rows that it is matched with; a classifier learns from the moved rows and the labelled target rows. Key
    points are matched with each other and with nothing else, so that they drop out of the plan.

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
    shares : {"auto", "uniform", "source", "labelled"} or array (C,)
        The shares of the classes among the unlabelled target rows, by which source rows weigh: as in the source
        ("auto", "source"), equal ("uniform"), those that labelled target rows support ("labelled"; see
        :class:`~isthmus.LabelTransfer`), or numbers in the order of ``classes_``. Where a class has no labelled row,
        or these do not show that the shares are unequal, "labelled" is "auto".
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

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("kpg-rl", "related work", "Gu et al. 2022", LABELS_AND_ROWS),
    )

    needs_unlabelled = True
    temperature: float = 0.1
    regularization: float = 0.005
    tol: float = 1e-3
    max_iter: int = 10_000
    shares: Any = "auto"
    classifier_: Any = field(init=False)
    plan_error_: float = field(init=False)

    def _validate(self) -> str | FloatArray:
        super()._validate()
        check_number(self.regularization, "regularization", low=LEAST)
        return check_shares(self.shares)

    def _fit_domains(self, domains: TwoDomains, settings: str | FloatArray) -> dict[str, Any]:
        check_two_classes(domains)
        X, Y = as_dense(domains.source.X), as_dense(domains.target.X)
        known, free = domains.target.labelled, np.flatnonzero(domains.target.y == UNLABELLED)
        if not len(free):
            raise InputError("y_target: expected rows without a label to move the source rows to, got none.")
        plan, error, n_iter = self._plan(domains, X, Y, free, weigh_source(domains, Y, free, settings))
        # Barycentric: each source row becomes the mean of the target rows that it is matched with.
        moved = (plan @ Y[free]) / plan.sum(axis=1, keepdims=True)
        y = np.concatenate([domains.target.y[known], domains.source.y])
        classifier = LinearSVC(random_state=0).fit(np.vstack([Y[known], moved]), y)
        warn_about_data(domains)
        if error > self.tol:
            missed = f"{error:.1e} of the mass is in wrong rows (goal {self.tol:.0e})"
            remedy = "a larger regularization converges sooner"
            warn(f"KPGRL: {missed} after {n_iter} iterations; {remedy}.", ConvergenceWarning)
        return {"classifier_": classifier, "plan_error_": error, "n_iter_": n_iter}

    def _plan(
        self, domains: TwoDomains, X: FloatArray, Y: FloatArray, free: Any, weights: FloatArray | float = 1.0
    ) -> tuple[FloatArray, float, int]:
        """Return the transport of weighted source rows to unlabelled target rows."""
        known, ys = domains.target.labelled, domains.source.y
        means = np.stack([X[ys == c].mean(axis=0) for c in domains.target.y[known]])
        keys = means, Y[known]
        both = zip(keys, (X, Y[free]), strict=True)
        R = [relations(np.vstack([key, rows]), key, self.temperature) for key, rows in both]
        cost = jensen_shannon(*R)
        k, largest = len(known), float(cost.max())
        return sinkhorn(cost[k:, k:] / (largest or 1.0), self.regularization, self.tol, self.max_iter, weights)

    def _scores(self, rows: Matrix) -> FloatArray:
        values = np.asarray(self.classifier_.decision_function(as_dense(rows)))
        return values if values.ndim == 2 else 0.5 * np.stack([-values, values], axis=1)
