"""HCDRank: two rankings whose directions share a subspace (Wang et al. 2009), by the squared trace norm of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import minimize

from isthmus._core.validation import FloatArray, IntArray, as_dense, as_generator, check_number
from isthmus.data.domains import Domain, TwoDomains
from isthmus.estimators.base import LABELS, SystemFacts, TwoDomainEstimator, warn_about_data
from isthmus.exceptions import ConvergenceWarning, InputError, warn
from isthmus.geometry.common_space import DOMAINS

# Of the soft maximum of two eigenvalues, in units of the larger one: lowered step by step, each started twice.
TEMPERATURES = np.repeat(10.0 ** -np.arange(1.0, 9.0), 2)
# Of L-BFGS, at each temperature.
OPTIONS = {"maxiter": 1000, "maxfun": 5000, "ftol": 1e-15, "gtol": 1e-12}


@dataclass(frozen=True, eq=False)
class CoupledRanking:
    r"""The convex problem of two rankings.

    .. math::

       \min_{A = [a_s\, a_t]}\; \sum_t c_t \sum_p \max(0, 1 - a_t^T \delta_{tp}) + \lambda \|A\|_*^2, \qquad
       \max_{0 \le \alpha \le c}\; 1^T \alpha - \frac{1}{4\lambda} \|[\Delta_s^T \alpha_s,\ \Delta_t^T \alpha_t]\|_2^2

    The dual is smooth but where the two singular values of its d × 2 matrix are equal, which is where the optimum
    usually is. So the larger of their squares is replaced by a soft maximum, whose temperature is lowered step by
    step; each step starts from the one before. Its gradient is a feasible A, and the gap to the dual a certificate.

    Parameters
    ----------
    source, target : array (P_s, d) and (P_t, d)
        Differences δ of a row that is preferred and one that is not.
    costs : (float, float)
        c, of one preference in either domain.
    weight : float
        λ > 0.
    """

    source: FloatArray
    target: FloatArray
    costs: tuple[float, float]
    weight: float

    def primal(self, A: FloatArray) -> float:
        """Return the objective at A (d, 2)."""
        both = zip(self.costs, (self.source, self.target), A.T, strict=True)
        hinges = [c * float(np.maximum(0.0, 1.0 - D @ a).sum()) for c, D, a in both]
        return sum(hinges) + self.weight * float(np.linalg.svd(A, compute_uv=False).sum() ** 2)

    def dual(self, x: FloatArray) -> float:
        """Return the lower bound that multipliers (P_s + P_t,) between 0 and c prove."""
        return float(x.sum() - np.linalg.norm(self._sums(x), 2) ** 2 / (4.0 * self.weight))

    def _sums(self, x: FloatArray) -> FloatArray:
        n = len(self.source)
        return np.column_stack([self.source.T @ x[:n], self.target.T @ x[n:]])

    def solve(self, tol: float) -> tuple[FloatArray, float, float]:
        """Return A (d, 2), its objective, and its gap: at most ``tol`` of the objective, unless digits run out."""
        most = np.repeat(self.costs, [len(self.source), len(self.target)])
        t, bound = np.full(len(most), 0.5), -np.inf
        best: tuple[FloatArray, float] = np.zeros((self.source.shape[1], 2)), np.inf
        for temperature in TEMPERATURES:
            # The temperature is relative to the larger singular value of where the last step ended.
            unit = temperature * float(np.linalg.norm(self._sums(most * t), 2) ** 2) or 1.0
            arguments: Any = {"args": (most, unit), "bounds": [(0.0, 1.0)] * len(most), "options": OPTIONS}
            found = minimize(self._scaled_dual, t, jac=True, method="L-BFGS-B", **arguments)
            t = np.clip(found.x, 0.0, 1.0)
            A = self._smooth(most * t, unit)[2]
            bound, best = max(bound, self.dual(most * t)), min(best, (A, self.primal(A)), key=lambda pair: pair[1])
            if best[1] - bound <= tol * abs(best[1]):
                break
        return best[0], best[1], max(best[1] - bound, 0.0)

    def _scaled_dual(self, t: FloatArray, most: FloatArray, unit: float) -> tuple[float, FloatArray]:
        """Return the objective and its gradient for multipliers in units of their bounds."""
        value, gradient, _ = self._smooth(most * t, unit)
        return value, most * gradient

    def _smooth(self, x: FloatArray, unit: float) -> tuple[float, FloatArray, FloatArray]:
        """Return minus the dual with a soft maximum, its gradient, and the directions A that it stands for."""
        G = self._sums(x)
        values, V = np.linalg.eigh(G.T @ G)
        # The weights of a soft maximum; less the largest value, so that no exponential overflows.
        shares = np.exp((values - values[-1]) / unit)
        soft = float(values[-1] + unit * np.log(shares.sum()))
        A = G @ (V * (shares / shares.sum())) @ V.T / (2.0 * self.weight)
        margins = np.concatenate([self.source @ A[:, 0], self.target @ A[:, 1]])
        return soft / (4.0 * self.weight) - float(x.sum()), margins - 1.0, A


@dataclass(kw_only=True, eq=False, repr=False)
class HCDRank(TwoDomainEstimator):
    r"""Rank rows of two domains with the same features, by directions that share a subspace.

    .. math::

       \min_{a_s, a_t}\; \frac1{P_s} \sum_{x \succ x'} [1 - a_s^T (x - x')]_+
       + \frac{c}{P_t} \sum_{y \succ y'} [1 - a_t^T (y - y')]_+ + \lambda\, \|[a_s\; a_t]\|_*^2

    over preferences: rows of one domain whose grades differ. The paper's form, :math:`a = U w` with an orthogonal U
    and the penalty :math:`\|[w_s\, w_t]\|_{2,1}^2`, is this one: the least (2,1)-norm over all U is the trace norm,
    so the problem is convex. It is solved by its dual, with a gap (``duality_gap_``).

    **It ranks, and is no metric**: :meth:`rank` orders rows of either domain. :meth:`predict` is ours: the grade
    whose labelled rows of that domain have the nearest mean score. Classes are grades in their sorted order. In a
    direct sum of different features only the two norms would be coupled, so equal features are required.

    From memory of the paper (B. Wang, J. Tang, W. Fan, S. Chen, Z. Yang and Y. Liu, *Heterogeneous cross domain
    ranking in latent space*, CIKM 2009), which has queries, within which rows are compared; here a domain is one
    query. The defaults are ours.

    Parameters
    ----------
    regularization : float
        λ > 0, in units of the mean squared length of the differences.
    target_cost : float
        c > 0, of the target's preferences against the source's.
    n_preferences : int
        The maximum number of preferences of either domain, drawn at random where there are more.
    tol : float
        The gap, as a part of the objective.
    random_state : int, Generator, RandomState or None
        For the draw.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`.

    Attributes
    ----------
    directions_ : dict of str to array (d,)
        a of "source" and "target".
    objective_, duality_gap_ : float
        What was reached, and how much less it could be at most.
    classes_ : array
        The grades, lowest first.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import HCDRank
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> ranking = HCDRank().fit(X, [0, 1, 2, 3], X + [1.0, 0.0], [0, -1, -1, 3])
    >>> np.argsort(ranking.rank([[9.0, 1.0], [2.0, 0.0], [5.0, 2.0]]))
    array([1, 2, 0])
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("hcdrank", "related work", "Wang et al. 2009, equal features only, from memory", LABELS),
    )

    learns = "ranking"
    equal_features = True
    regularization: float = 0.03
    target_cost: float = 1.0
    n_preferences: int = 5000
    tol: float = 1e-4
    random_state: Any = 0
    directions_: dict[str, FloatArray] = field(init=False)
    objective_: float = field(init=False)
    duality_gap_: float = field(init=False)
    _positions: dict[str, FloatArray] = field(init=False)

    def _validate(self) -> None:
        super()._validate()
        check_number(self.regularization, "regularization", low=0.0, strict=True)
        as_generator(self.random_state)

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        random, both = as_generator(self.random_state), {"source": domains.source, "target": domains.target}
        S, T = (self._differences(domain, name, random) for name, domain in both.items())
        unit = float(np.mean(np.concatenate([(D**2).sum(axis=1) for D in (S, T)]))) or 1.0
        problem = CoupledRanking(S, T, (1.0 / len(S), self.target_cost / len(T)), self.regularization * unit)
        A, objective, gap = problem.solve(self.tol)
        if gap > self.tol * objective:
            warn(f"HCDRank: stopped at a gap of {gap / objective:.1e} (goal {self.tol:.0e}).", ConvergenceWarning)
        warn_about_data(domains)
        directions = dict(zip(DOMAINS, A.T.copy(), strict=True))
        positions = {
            name: mean_scores(as_dense(domain.X) @ directions[name], domain.y, len(domains.classes))
            for name, domain in both.items()
        }
        return {"directions_": directions, "objective_": objective, "duality_gap_": gap, "_positions": positions}

    def _differences(self, domain: Domain, name: str, random: Generator) -> FloatArray:
        above, below = draw_preferences(domain.y, int(self.n_preferences), random)
        if not len(above):
            raise InputError(f"y_{name}: expected rows of two grades, so that one is preferred to another, got one.")
        X = as_dense(domain.X)
        return np.asarray(X[above] - X[below])

    def rank(self, X: Any, domain: str = "target") -> FloatArray:
        """Return the score (n,) of each row: of two rows of one domain, the larger is preferred."""
        rows = self._rows(X, domain)
        return np.asarray(rows @ self.directions_[domain].astype(rows.dtype))

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Return the scores as the only coordinate (n, 1)."""
        return self.rank(X, domain)[:, None]

    def _dimension(self) -> int:
        return 1

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """Return the grade (n,) with the nearest mean score among the labelled rows of the domain."""
        scores = self.rank(X, domain)
        nearest = np.abs(scores[:, None] - self._positions[domain]).argmin(axis=1)
        return np.asarray(self.classes_[nearest])


def draw_preferences(y: IntArray, most: int, random: Generator) -> tuple[IntArray, IntArray]:
    """Return preferred rows and the rows that they are preferred to: of all labelled rows, or ``most`` at random.

    Examples
    --------
    >>> above, below = draw_preferences(np.array([2, 0, -1, 1]), 10, np.random.default_rng(0))
    >>> list(zip(above.tolist(), below.tolist()))
    [(0, 1), (0, 3), (3, 1)]
    """
    rows = np.flatnonzero(y >= 0)
    counts = np.bincount(y[rows])
    total = (len(rows) ** 2 - int((counts.astype(np.int64) ** 2).sum())) // 2
    if total == 0:
        return rows[:0], rows[:0]
    if total <= most:
        above, below = np.nonzero(y[rows][:, None] > y[rows][None, :])
        return rows[above], rows[below]
    found: list[IntArray] = []
    while sum(map(len, found)) < most:
        # Drawn with repetition, pairs of equal grades thrown away: no table of all pairs is made.
        drawn = random.choice(rows, size=(2 * most, 2))
        drawn = drawn[y[drawn[:, 0]] != y[drawn[:, 1]]]
        turned = y[drawn[:, 0]] < y[drawn[:, 1]]
        drawn[turned] = drawn[turned, ::-1]
        found.append(drawn)
    kept = np.concatenate(found)[:most]
    return kept[:, 0], kept[:, 1]


def mean_scores(scores: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """Return the mean score (C,) of the rows of each class; infinite for classes without rows."""
    present = [scores[y == c] for c in range(n_classes)]
    return np.array([part.mean() if len(part) else np.inf for part in present])
