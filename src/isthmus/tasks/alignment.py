r"""Alignment: a soft correspondence of two collections, by entropic Gromov–Wasserstein plans, without pair or label.

.. math:: \min_{\pi}\; \sum_{ijkl} (C_{ik} - D_{jl})^2\, \pi_{ij} \pi_{kl}
          + 2 \varepsilon \sum_{ij} \pi_{ij} \log \pi_{ij}

over plans π with uniform margins, in single precision. The problem is not convex. Plans of a few hundred landmarks
are annealed, from much entropy to little, under several costs and for several draws of landmarks. They are spread
over the sample, and those that differ are refined there under the mean cost, where their values can be compared. The
evidence is how much better the best plan is than the others that were found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.neighbors import NearestNeighbors

from isthmus._core.linalg import normalize_rows
from isthmus._core.progress import Progress, WorkCounter
from isthmus._core.threads import cap_threads
from isthmus._core.validation import (
    FloatArray,
    IntArray,
    Matrix,
    ShortRepr,
    as_dense,
    as_generator,
    as_labels,
    check_choice,
    check_length,
    encode,
    find_classes,
    is_unlabelled,
)
from isthmus.data.domains import TwoDomains
from isthmus.exceptions import InputError
from isthmus.geometry.similarity import graph_distances

NAMES = "A", "B"
CORRELATION, EUCLIDEAN = "correlation", "euclidean"
METRICS = (CORRELATION, EUCLIDEAN)
FEWEST_ROWS = 20
# Rows of a collection that distances are computed between; of more rows, a random sample.
MOST_ROWS = 1_200
# Neighbours in the graphs, as shares of the rows: few follow a curved sheet, many bridge its gaps.
SHARES = (0.02, 0.05, 0.1, 0.2)
# Sampled rows whose plan a row takes the mean of.
N_NEAREST = 5
# ε, from much entropy to little; costs are at most one.
ANNEALING = (3e-2, 1e-2, 3e-3, 1e-3)
STEPS = 15
# Rounds of Sinkhorn's scaling in a step, and the error of the margins at which they stop; each fifth is tested.
SCALINGS, MARGIN_ERROR, TESTED = 20, 1e-3, 5
# The change of a plan, in all, at which the steps stop.
SETTLED = 1e-4
TINY = np.float32(1e-30)
# The share of the uniform plan in every plan, so that a row whose mass vanishes in single precision has a barycentre.
FLOOR = np.float32(1e-6)
# Landmarks of either collection in a draw, at most, and as a share of the sample: draws of all rows would be equal.
MOST_LANDMARKS, LANDMARK_SHARE = 350, 2 / 3
N_DRAWS = 3
# Plans whose barycentres differ by more, in units of the mean distance between barycentres, are both refined.
APART = 0.35
MOST_REFINED = 6
# The work of refining a plan on the sample, in plans of landmarks.
COST_OF_REFINEMENT = 4.0
# The probability, over all rivals, that one as good as the best seems worse.
LEVEL = 0.01
# A rival also has to cost this share more: errors of few rows that agree by accident are small.
EXCESS = 0.03
# The estimated probability of an unseen plan, from which on the search is too incomplete to call one the best.
UNSEEN = 0.1
# Plans whose barycentres differ by less, in units of the mean distance between barycentres, are one alignment.
SAME = 0.25
# The cost, in units of that of the uniform plan, from which on the collections have no shape in common.
NO_SHAPE = 0.95


@dataclass(frozen=True, eq=False)
class Collection:
    """One collection of rows, and what is computed of a sample of them.

    Parameters
    ----------
    rows : array (n, d)
        All rows, of unit length if they are compared by correlation.
    sample : array (s,)
        The numbers of the sampled rows, in an order that depends on their content alone.
    metric : {"correlation", "euclidean"}
        How neighbours in the graphs are found.
    """

    rows: FloatArray
    sample: IntArray
    metric: str

    @classmethod
    def of(cls, X: Matrix, metric: str, name: str, rng: Generator) -> Collection:
        """Scale the rows and draw the sample."""
        rows = as_dense(X)
        rows = normalize_rows(rows) if metric == CORRELATION else rows
        if np.ptp(rows, axis=0).max() == 0.0:
            remedy = ' up to their length; metric="euclidean" compares lengths too' if metric == CORRELATION else ""
            raise InputError(f"{name}: expected rows that differ, got {len(rows)} equal ones{remedy}.")
        # Sorted by content, so that the order in which rows are given changes nothing.
        drawn = np.sort(rng.permutation(len(rows))[:MOST_ROWS])
        return cls(rows, np.lexsort(rows.T)[drawn], metric)

    @cached_property
    def points(self) -> FloatArray:
        """The sampled rows (s, d)."""
        return np.asarray(self.rows[self.sample])

    @cached_property
    def distances(self) -> FloatArray:
        """Euclidean distances between the sampled rows (s, s), the largest one."""
        D = cdist(self.points, self.points).astype(np.float32)
        return np.asarray(D / D.max())

    @cached_property
    def costs(self) -> tuple[FloatArray, ...]:
        """Distances (s, s) in graphs with few to many neighbours, Euclidean ones, and last their mean."""
        D = self.distances
        if self.metric == CORRELATION:
            # Centred rows of unit length are at squared distance 2 - 2 times their correlation.
            centred = normalize_rows(self.points - self.points.mean(axis=1, keepdims=True))
            D = cdist(centred, centred).astype(np.float32)
        several = [*(graph_distances(D, share) for share in SHARES), self.distances]
        return (*several, np.mean(several, axis=0))

    def spread(self, landmarks: IntArray) -> FloatArray:
        """Return how the mass of each landmark, a place in the sample, is spread over the sample (s, k)."""
        near = np.argsort(self.distances[:, landmarks], axis=1)[:, :N_NEAREST]
        weights = np.zeros((len(self.sample), len(landmarks)), np.float32)
        np.put_along_axis(weights, near, 1.0, axis=1)
        return np.asarray(weights / np.maximum(weights.sum(axis=0), 1.0))

    def spread_sample(self) -> Any:
        """Return how the mass of each sampled row is spread over all rows (n, s), in CSR format."""
        n, s = len(self.rows), len(self.sample)
        if n == s:
            return sp.csr_array((np.ones(n), (self.sample, np.arange(n))), shape=(n, n))
        near = NearestNeighbors(n_neighbors=N_NEAREST).fit(self.points).kneighbors(self.rows, return_distance=False)
        counts = np.maximum(np.bincount(near.ravel(), minlength=s), 1)
        pointers = np.arange(0, near.size + 1, N_NEAREST)
        return sp.csr_array((1.0 / counts[near.ravel()], near.ravel(), pointers), shape=(n, s))


@dataclass(frozen=True, eq=False)
class AlignmentProblem:
    """Two collections, and whether they changed places."""

    first: Collection
    second: Collection
    swapped: bool

    @classmethod
    def of(cls, A: Any, B: Any, metric: str, rng: Generator) -> AlignmentProblem:
        """Check the rows, and put the collections in an order that depends on their content alone."""
        domains = TwoDomains.of(A, None, B, None, names=NAMES, min_rows=FEWEST_ROWS, optional_labels=True)
        tables = [(domains.source.X, NAMES[0]), (domains.target.X, NAMES[1])]
        keys = [(X.shape, np.sort(as_dense(X), axis=None).tobytes()) for X, _ in tables]
        # Rounding, and so one of several equal minima, would else depend on which of the two is called A.
        swapped = keys[0] > keys[1]
        first, second = (Collection.of(X, metric, name, rng) for X, name in (tables[::-1] if swapped else tables))
        return cls(first, second, swapped)


@dataclass(frozen=True)
class Rival:
    """Another plan than the best: the share that it costs more, this in standard errors, and how far it is."""

    excess: float
    errors: float
    distance: float


@dataclass(frozen=True)
class AlignmentEvidence:
    """The figures that the verdict on an alignment rests on.

    Parameters
    ----------
    value : float
        The Gromov–Wasserstein cost of the plan, in units of that of the uniform plan.
    rivals : tuple of Rival
        Refined plans that lead elsewhere, the cheapest first.
    searches : tuple of int
        How many searches led to each of the different plans, refined or not.
    sizes : (int, int)
        The numbers of rows that distances were computed between.
    """

    value: float
    rivals: tuple[Rival, ...]
    searches: tuple[int, ...]
    sizes: tuple[int, int]

    @property
    def threshold(self) -> float:
        """The number of standard errors that every rival has to cost more (Bonferroni)."""
        return float(norm.isf(LEVEL / max(len(self.searches) - 1, 1)))

    @property
    def unseen(self) -> float:
        """The probability that one more search leads to a new plan: the share that was reached once (Good–Turing)."""
        return self.searches.count(1) / sum(self.searches)

    @property
    def closest(self) -> Rival | None:
        """The rival that is the fewest standard errors behind; None where all plans are one."""
        return min(self.rivals, key=lambda rival: rival.errors, default=None)


def judge(seen: AlignmentEvidence) -> bool | None:
    """Return whether the distances determine the alignment; None where it is ambiguous.

    Every plan that leads elsewhere has to cost 3 % more, and so many standard errors that chance explains it with a
    probability of at most 1 %, over all plans that were found; and one more search must be unlikely to find another.

    Examples
    --------
    >>> rivals = (Rival(0.04, 2.8, 0.35),)
    >>> judge(AlignmentEvidence(0.3, rivals, (12, 6), (900, 900)))
    True
    >>> judge(AlignmentEvidence(0.3, rivals, (8, 6, 1, 1, 1, 1), (900, 900))) is None
    True
    """
    if seen.value >= NO_SHAPE:
        return False
    clear = all(rival.excess >= EXCESS and rival.errors >= seen.threshold for rival in seen.rivals)
    return True if clear and seen.unseen < UNSEEN else None


def write_sentence(seen: AlignmentEvidence, ok: bool | None, shape: tuple[int, int]) -> str:
    """Return the verdict with its figures, in one sentence."""
    word = {True: "aligned", False: "failed", None: "ambiguous"}[ok]
    cost = f"{word}: {shape[0]:,} and {shape[1]:,} rows; distances differ by {seen.value:.0%} of an arbitrary plan's"
    if ok is False:
        return f"{cost}: the collections have no shape in common."
    rival = seen.closest
    if rival is None:
        return f"{cost}, and all searches led to one plan."
    if ok is None and seen.unseen >= UNSEEN:
        return f"{cost}, and {seen.searches.count(1)} of {sum(seen.searches)} searches led to a plan of their own."
    errors = f"{rival.errors:.1f} standard errors, {seen.threshold:.1f} needed"
    return f"{cost}, and the closest of {len(seen.rivals)} other plans costs {rival.excess:.1%} more ({errors})."


def refine_plan(C: FloatArray, D: FloatArray, plan: FloatArray, epsilon: float, steps: int = STEPS) -> FloatArray:
    """Improve a plan (n, m) between rows with distances C (n, n) and D (m, m), by mirror descent.

    Each step replaces the quadratic cost by its gradient at the plan, and solves that entropic transport problem.

    Examples
    --------
    >>> C = np.abs(np.subtract.outer(*2 * [np.float32([0.0, 0.3, 1.0])]))
    >>> start = np.full((3, 3), 1 / 9, np.float32) + np.float32(0.01) * np.eye(3, dtype=np.float32)
    >>> refine_plan(C, C, start, 1e-2).argmax(axis=1)
    array([0, 1, 2])
    """
    (n, m), eps = plan.shape, np.float32(epsilon)
    a, b, g = np.float32(1.0 / n), np.float32(1.0 / m), np.zeros(m, np.float32)
    for _ in range(steps):
        M = -_gradient(C, D, plan) / eps
        # Potentials from sums of logarithms first: the scaling after them then stays within single precision.
        f = np.log(a) - _log_sums(M + g, 1)
        g = np.log(b) - _log_sums(M + f[:, None], 0)
        f = np.log(a) - _log_sums(M + g, 1)
        K, v = np.exp(M + f[:, None] + g), np.ones(m, np.float32)
        for k in range(1, SCALINGS + 1):
            u = a / np.maximum(K @ v, TINY)
            v = b / np.maximum(K.T @ u, TINY)
            if k % TESTED == 0 and np.abs(u * (K @ v) - a).sum() < MARGIN_ERROR:
                break
        before, plan = plan, u[:, None] * K * v
        plan /= plan.sum()
        g = g + np.log(np.clip(v, TINY, 1.0 / TINY))
        if np.abs(plan - before).sum() < SETTLED:
            break
    return plan


def _gradient(C: FloatArray, D: FloatArray, plan: FloatArray) -> FloatArray:
    """Return half the gradient (n, m) of the quadratic cost, whose inner product with the plan is that cost."""
    return np.asarray((C**2).mean(axis=1)[:, None] + (D**2).mean(axis=1) - 2.0 * (C @ plan) @ D)


def _log_sums(M: FloatArray, axis: int) -> FloatArray:
    largest = M.max(axis=axis, keepdims=True)
    return np.asarray((np.log(np.exp(M - largest).sum(axis=axis, keepdims=True)) + largest).squeeze(axis))


@dataclass(frozen=True, eq=False)
class TransportPlan:
    """A plan between the samples (s, t), what it costs by row and by column, and where it takes the first one's rows.

    Parameters
    ----------
    mass : array (s, t)
        The plan, of total one.
    by_row, by_column : array (s,), (t,)
        Costs under the mean cost, in units of that of the uniform plan; the mean of either is the value.
    points : array (s, d')
        Barycentres of the rows of the first collection in the space of the second.
    """

    mass: FloatArray
    by_row: FloatArray
    by_column: FloatArray
    points: FloatArray

    @classmethod
    def of(cls, problem: AlignmentProblem, mass: FloatArray) -> TransportPlan:
        """Compute costs and barycentres."""
        C, D = problem.first.costs[-1], problem.second.costs[-1]
        mass = (1 - FLOOR) * mass + FLOOR / np.float32(mass.size)
        unit = float((C**2).mean() + (D**2).mean() - 2.0 * C.mean() * D.mean())
        costs = mass * _gradient(C, D, mass) / unit
        points = mass @ problem.second.points / mass.sum(axis=1, keepdims=True)
        return cls(mass, len(C) * costs.sum(axis=1), len(D) * costs.sum(axis=0), points)

    @property
    def value(self) -> float:
        """The cost, in units of that of the uniform plan."""
        return float(self.by_row.mean(dtype=np.float64))

    def distance(self, other: TransportPlan) -> float:
        """Return how far barycentres are from another plan's, in units of the mean distance between barycentres."""
        moved = np.linalg.norm(self.points - other.points, axis=1).mean()
        return float(moved / max(cdist(self.points, self.points).mean(), 1e-12))

    def compare(self, other: TransportPlan) -> Rival:
        r"""Return by how much another plan costs more, also in standard errors.

        The value is a mean over pairs of rows, so its error is twice that of a mean over rows,
        :math:`2 \sqrt{\mathrm{var}_i / s + \mathrm{var}_j / t}`, here of the difference of both plans.
        """
        parts = (other.by_row - self.by_row, other.by_column - self.by_column)
        error = 2.0 * np.sqrt(sum(float(part.var()) / len(part) for part in parts))
        excess = other.value - self.value
        share, errors = excess / max(self.value, 1e-12), excess / max(float(error), 1e-12)
        return Rival(share, errors, self.distance(other))


def search_plans(
    problem: AlignmentProblem, rng: Generator, work: WorkCounter
) -> tuple[list[TransportPlan], list[int]]:
    """Return refined plans, the best first, and how many searches led to each of the different ones."""
    work.expect(N_DRAWS * len(problem.first.costs) + COST_OF_REFINEMENT)
    found = [plan for _ in range(N_DRAWS) for plan in _search_landmarks(problem, rng, work)]
    different: list[TransportPlan] = []
    counts: list[int] = []
    for plan in sorted(found, key=lambda plan: plan.value):
        same = next((k for k, other in enumerate(different) if other.distance(plan) <= APART), None)
        if same is None:
            different.append(plan)
            counts.append(1)
        else:
            counts[same] += 1
    C, D = problem.first.costs[-1], problem.second.costs[-1]
    work.expect(COST_OF_REFINEMENT * (len(different[:MOST_REFINED]) - 1))
    refined = []
    for plan in different[:MOST_REFINED]:
        work.count("refining", COST_OF_REFINEMENT)
        refined.append(TransportPlan.of(problem, refine_plan(C, D, plan.mass, ANNEALING[-1])))
    return sorted(refined, key=lambda plan: plan.value), counts


def _search_landmarks(problem: AlignmentProblem, rng: Generator, work: WorkCounter) -> list[TransportPlan]:
    """Return a plan for each cost, from one draw of landmarks."""
    sizes = (len(problem.first.sample), len(problem.second.sample))
    one, other = (np.sort(rng.permutation(s)[: min(MOST_LANDMARKS, int(LANDMARK_SHARE * s))]) for s in sizes)
    left, right = problem.first.spread(one), problem.second.spread(other)
    plans = []
    for C, D in zip(problem.first.costs, problem.second.costs, strict=True):
        work.count("landmarks")
        mass: FloatArray = np.full((len(one), len(other)), 1.0 / (len(one) * len(other)), np.float32)
        for epsilon in ANNEALING:
            mass = refine_plan(C[np.ix_(one, one)], D[np.ix_(other, other)], mass, epsilon)
        spread = left @ mass @ right.T
        plans.append(TransportPlan.of(problem, spread / spread.sum()))
    return plans


@dataclass(frozen=True, eq=False, repr=False)
class Coupling(ShortRepr):
    """How much mass each row of A shares with each row of B, as a product U P Vᵀ of three factors.

    Parameters
    ----------
    left, right : CSR (n, s), (m, t)
        U and V: how the mass of each sampled row is spread over the rows of A, and of B. Where all rows are in the
        sample, they only put these into order.
    plan : array (s, t)
        P: the plan between the sampled rows, of total one.
    """

    left: Any
    plan: FloatArray
    right: Any

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows (n, m)."""
        return self.left.shape[0], self.right.shape[0]

    @property
    def T(self) -> Coupling:
        """The coupling of B and A."""
        return Coupling(self.right, self.plan.T, self.left)

    def table(self) -> FloatArray:
        """Return the mass of every pair (n, m)."""
        return np.asarray(self.left @ (self.right @ self.plan.T).T)

    def average(self, Y: Any) -> FloatArray:
        """Return, for each row of A, the mean (n, k) of values Y (m, k) of the rows of B, weighted by its mass."""
        # From the right, so that no table of all pairs is made.
        total = self.left @ (self.plan @ self.right.sum(axis=0)[:, None])
        return np.asarray(self.left @ (self.plan @ (self.right.T @ Y)) / total)


@dataclass(frozen=True, eq=False, repr=False)
class TransferredLabels(ShortRepr):
    """Names (m,) of rows, and the probabilities (m, C) of all classes (C,)."""

    names: NDArray[Any]
    probabilities: FloatArray
    classes: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Alignment:
    """A soft correspondence of the rows of A and B, with the verdict on it and its evidence.

    An :class:`~isthmus.evidence.Answer`. It is for the rows that it was made of: there is no map for others.

    Parameters
    ----------
    coupling : Coupling
        The mass that each row of A shares with each row of B.
    A, B : array (n, d), (m, d')
        The rows as they were compared: of unit length, unless ``metric="euclidean"``.
    ok : bool or None
        True: the distances determine one alignment; None: it is ambiguous; False: they have no shape in common. That
        both collections are about the same kinds of objects is assumed, and can't be seen in distances.
    sentence : str
        The verdict with the figures that it rests on; what ``str`` returns.
    evidence : AlignmentEvidence
        These figures.
    """

    coupling: Coupling
    A: FloatArray
    B: FloatArray
    ok: bool | None
    sentence: str
    evidence: AlignmentEvidence

    def embed(self, side: str = "A") -> FloatArray:
        """Return the rows of A in the space of B (n, d'), or with "B" those of B in the space of A (m, d).

        A row is at the barycentre of the rows that it shares mass with.
        """
        ahead = check_choice(side, "side", NAMES) == NAMES[0]
        return self.coupling.average(self.B) if ahead else self.coupling.T.average(self.A)

    @cached_property
    def nearest(self) -> IntArray:
        """The row of B that is nearest to each embedded row of A (n,)."""
        search = NearestNeighbors(n_neighbors=1).fit(self.B)
        return np.asarray(search.kneighbors(self.embed(), return_distance=False)[:, 0], dtype=np.intp)

    def transfer_labels(self, y_source: Any) -> TransferredLabels:
        """Name the rows of B by the classes (n,) of the rows of A that they share mass with.

        Rows of A without a label (-1, None or NaN) are ignored; a row of B that shares mass with no other is of every
        class alike.
        """
        labels = as_labels(y_source, "y_source")
        check_length(labels, len(self.A), "y_source", NAMES[0])
        known = labels[~is_unlabelled(labels)]
        if not len(known):
            raise InputError(f"y_source: expected at least one labelled row, got none among {len(labels)}.")
        classes = find_classes(known, "y_source")
        shares = self.coupling.T.average(encode(labels, classes, "y_source")[:, None] == np.arange(len(classes)))
        totals = shares.sum(axis=1, keepdims=True)
        uniform = np.full_like(shares, 1.0 / len(classes))
        P = np.divide(shares, totals, out=uniform, where=totals > 0.0)
        return TransferredLabels(classes[P.argmax(axis=1)], P, classes)

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        n, m = self.coupling.shape
        return f"<Alignment of {n} and {m} rows: ok={self.ok}>"


@cap_threads
def align(A: Any, B: Any, *, metric: str = CORRELATION, random_state: Any = 0, progress: Any = False) -> Alignment:
    r"""Align two collections softly, without any known pair or label.

    Rows are to lie to each other as their partners do: an entropic Gromov–Wasserstein plan between distances in
    graphs of nearest neighbours and Euclidean ones. Its problem has many local minima; the best of several searches
    is taken, and compared with the others. Where one that leads elsewhere is about as good, the alignment is
    **ambiguous** (``ok`` is None), and what it returns may be wrong altogether.

    For dense rows of few dimensions (say, 5 to 50 principal components) in clusters or along curves. To find rows
    that are the same object, use :func:`isthmus.match`; with a few labels of B, :class:`isthmus.LabelTransfer`.

    Parameters
    ----------
    A : array, sparse matrix or data frame (n, d)
        Rows of one collection, at least 20.
    B : array, sparse matrix or data frame (m, d')
        Rows of the other, at least 20, with other columns.
    metric : {"correlation", "euclidean"}
        How rows of one collection are compared. "correlation": rows are scaled to unit length, columns are not, and
        neighbours are those of highest correlation. "euclidean": rows as they are; for two or three columns, and
        wherever the length of a row matters.
    random_state : int, Generator, RandomState or None
        The source of random numbers; the same number gives the same alignment.
    progress : bool or function
        Whether to show a bar with the time left; or a function that is called with (what is done, rounds so far).

    Returns
    -------
    Alignment
        ``ok``, ``coupling``, ``embed``, ``nearest``, ``transfer_labels``; ``str`` returns the verdict.

    Notes
    -----
    The order of the rows changes nothing, and exchanging A and B transposes the coupling. Of more than 1,200 rows a
    sample is aligned, and all others follow their five nearest sampled rows: time grows with n, memory too.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import align
    >>> from isthmus.evidence import foscttm
    >>> rng = np.random.default_rng(0)
    >>> t = rng.beta(1.0, 2.5, size=(150, 1))  # where on a curve each row is: more at one end
    >>> A, B = (np.cos(3.0 * t * np.linspace(0.2, 1.0, d) + rng.uniform(0.0, 6.0, size=d)) for d in (8, 12))
    >>> found = align(A, B, metric="euclidean")
    >>> found.ok, bool(foscttm(found.embed(), found.B) < 0.05)
    (True, True)
    """
    check_choice(metric, "metric", METRICS)
    rng, reports = as_generator(random_state), Progress(progress, "align")
    problem = AlignmentProblem.of(A, B, metric, rng)
    with reports:
        plans, searches = search_plans(problem, rng, WorkCounter(reports))
    compared = [plans[0].compare(plan) for plan in plans[1:]]
    rivals = tuple(rival for rival in compared if rival.distance > SAME)
    first, second = problem.first, problem.second
    coupling = Coupling(first.spread_sample(), plans[0].mass.astype(np.float64), second.spread_sample())
    sizes = coupling.plan.shape
    if problem.swapped:
        first, second, coupling, sizes = second, first, coupling.T, sizes[::-1]
    evidence = AlignmentEvidence(plans[0].value, rivals, tuple(searches), (sizes[0], sizes[1]))
    ok = judge(evidence)
    sentence = write_sentence(evidence, ok, coupling.shape)
    return Alignment(coupling, first.rows, second.rows, ok, sentence, evidence)
