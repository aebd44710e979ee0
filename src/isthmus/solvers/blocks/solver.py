r"""Newton's method in the metric M, over blocks of source rows: levels, samples, steps and the certificate.

**Pass.** One pass over all rows gives the value, the gradient E − I in the frame of M = L Lᵀ, and the gap that the
pairs' own multipliers prove (:mod:`isthmus.solvers.blocks.problem`). Nothing has the size of all pairs.

**Sample.** The Newton direction D is solved from the curvature of a sample of rows, and of labelled target rows
(:mod:`isthmus.solvers.blocks.solver`). A poor sample costs steps, never correctness: value, gradient and gap are
of all rows.

**Levels.** Many rows are approached through samples of 1/64, 1/16 and 1/4 of them, say, each from the optimum of the
one before: far from the optimum few rows say the same as many (:func:`level_factor`).

**Step.** A step turns M = L Lᵀ into :math:`L V h(t\mu) V^T L^T`, with D = V diag(μ) Vᵀ and a bend κ from 0 to 1:

.. math:: h(\mu) = (1 + (1 - \kappa)\mu)^{1/(1 - \kappa)}, \qquad h(\mu) = 1 + \mu + \tfrac{\kappa}{2} \mu^2 + \dots

At κ = 0 it is a straight line, best near the optimum; at κ = 1 the exponential function, a geodesic, best far away.
Below h = ½ it goes on as a hyperbola: no step leaves the positive definite matrices, and none makes an axis of M
collapse, which would need many steps to grow again. The length t is where the sample's objective is flat along the
path; a long step halves the bend of the next one, a short step doubles it.

**Certificate.** Passes are in single precision until the gap is near 1e-5, then in double: a status of optimal
rests on the gap of a pass over all rows in double precision.

**Newton system.** In the frame of a metric, from the sample of rows, with a preconditioner
(:class:`Curvature`, :func:`make_preconditioner`):

.. math:: \sum_{ij} c_{ij} (\hat z_{ij}^T D \hat z_{ij})\, \hat z_{ij} \hat z_{ij}^T
   + \tfrac12 (E_\kappa D + D E_\kappa) = I - E, \qquad c = \lambda/d^4 \;\text{where the bound is broken}

with :math:`E_\kappa = I + \kappa (E - I)`, no less than a half along any axis: the second order of a step with the
bend κ (:mod:`isthmus.solvers.blocks.solver`). Were the :math:`\hat z` normal
with :math:`\sum c \hat z \hat z^T = C` and :math:`\sum c = N`, the sum would be
:math:`2/N\, C D C + \langle C, D\rangle C / N`, which is diagonal but for a rank of one on the axes of C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sla

from isthmus._core.linalg import conjugate_gradients
from isthmus._core.rows import Rows
from isthmus._core.threads import map_over_items, single_threaded_blas, sum_over_items
from isthmus._core.validation import FloatArray, IntArray, Matrix, ShortRepr
from isthmus.exceptions import InputError
from isthmus.solvers.blocks.problem import (
    PairBounds,
    Place,
    ReducedProblem,
    Sums,
    WhitenedFrame,
    as_blocks,
    check_finite,
    evaluate_metric,
    lower_factor,
    multipliers,
    pair_multipliers,
    reduce_problem,
    shift_bounds,
)
from isthmus.solvers.logdet import LogDetProblem, Point
from isthmus.solvers.result import Callback, IterativeSolver, Result

MOST_PRODUCTS = 40
# The least eigenvalue of E_κ.
FLOOR = 0.5


@dataclass(frozen=True, eq=False)
class Part:
    """A block of the sample: coordinates, codes, and c."""

    T: FloatArray
    codes: IntArray
    c: FloatArray


@dataclass(frozen=True, eq=False)
class Curvature:
    """The left side of the Newton system at a place."""

    frame: WhitenedFrame
    factor: float  # How many rows each row of the sample stands for.
    parts: tuple[Part, ...]
    shifts: FloatArray  # ẑ of the constrained shifts (K, d).
    shift_c: FloatArray
    upper: FloatArray | None  # E_κ; None where it is the identity.

    def __call__(self, D: FloatArray) -> FloatArray:
        """Return the product with a symmetric D (d, d)."""
        form, metric = self.frame.form(D), self.frame.metric
        sums = sum_over_items(lambda part: metric.sums(part.T, pair_changes(part.T, *form) * part.c), self.parts)
        product = D.copy()
        if self.upper is not None:
            ED = self.upper @ D
            product = 0.5 * (ED + ED.T)
        if sums:
            product += self.frame.assemble(Sums(*sums))
        Z = self.shifts
        return np.asarray(product + (Z.T * (self.shift_c * np.einsum("ij,ij->i", Z @ D, Z))) @ Z)


def pair_changes(T: FloatArray, A: FloatArray, V: FloatArray, k: FloatArray) -> FloatArray:
    """Return ẑᵀDẑ of all pairs of a block, from :meth:`WhitenedFrame.form`."""
    change = T @ V
    change += np.einsum("ij,ij->i", T @ A, T)[:, None]
    change += k
    return np.asarray(change)


def estimate_curvature(at: Place, frame: WhitenedFrame, sample: Rows, n: int, *, bend: float) -> Curvature:
    """Estimate the curvature at a place from a sample of its n rows and the target rows of a frame."""
    metric, factor = frame.metric, n / max(1, sample.n)

    def part(block: tuple[Matrix, IntArray]) -> Part:
        T, codes = metric.rows(block[0]), block[1]
        return Part(T, codes, _second(metric.distances(T), metric.select_bounds(codes), factor))

    parts = map_over_items(part, list(sample.blocks()))
    Z = frame.task.shifts @ frame.L
    c = _second(np.einsum("ij,ij->i", Z, Z), shift_bounds(frame.task), 1.0)
    upper = None
    if bend > 0.0:
        values, axes = at.spectrum
        upper = (axes * np.maximum(1.0 + bend * (values - 1.0), FLOOR)) @ axes.T
    return Curvature(frame, factor, tuple(parts), Z, c, upper)


def _second(distances: FloatArray, bounds: PairBounds, factor: float) -> FloatArray:
    """Return the c of each pair, times a factor."""
    with np.errstate(divide="ignore"):
        inverse = 1.0 / distances
    kept = (bounds.inverse_bound - inverse) * bounds.sign > 0.0
    inverse *= inverse
    inverse *= factor * bounds.weight
    inverse *= kept
    return np.asarray(inverse)


def make_preconditioner(H: Curvature) -> Callable[[FloatArray], FloatArray]:
    """Make the inverse of the normal approximation, on the axes of C, from the second moments of the sample."""
    frame, Z = H.frame, H.shifts
    total = float(H.shift_c.sum()) + sum(float(part.c.sum(dtype=np.float64)) for part in H.parts)
    sums = sum_over_items(lambda part: frame.metric.sums(part.T, part.c), H.parts)
    C = (Z.T * H.shift_c) @ Z + (frame.assemble(Sums(*sums)) if sums else 0.0)
    values, axes = sla.eigh(C, driver="evd", check_finite=False)
    values, total = np.maximum(values, 0.0), max(total, float(np.finfo(np.float64).tiny))
    e = np.ones(len(C)) if H.upper is None else np.einsum("ij,ij->j", axes, H.upper @ axes)
    diagonal = 0.5 * (e[:, None] + e) + (2.0 / total) * np.outer(values, values)
    v = values / np.diagonal(diagonal)
    # Single precision is good enough for it.
    axes, diagonal, v = (np.asarray(array, dtype=frame.dtype) for array in (axes, diagonal, v))
    scale = 1.0 / (total + float(values @ v))

    def precondition(G: FloatArray) -> FloatArray:
        g = axes.T @ np.asarray(G, dtype=axes.dtype) @ axes
        h = g / diagonal
        h[np.diag_indices_from(h)] -= scale * float(np.diagonal(g) @ v) * v
        return np.asarray(axes @ h @ axes.T, dtype=np.float64)

    return precondition


TRIALS = 12
# A slope of this part of the first one is flat enough.
FLAT = 0.1
# Where the hyperbola begins.
TAIL = 0.5
# About this many pairs of the sample are enough for a slope, which is one number.
PAIRS = 2_000_000
# The longest step, the largest t μ, and the largest argument of the exponential function.
LONGEST, MOST_GROWTH, MOST_GROWTH_LOGARITHM = 64.0, 100.0, 300.0


@dataclass(frozen=True, eq=False)
class Path:
    """The path from L along a direction."""

    L: FloatArray
    mu: FloatArray
    axes: FloatArray
    bend: float  # κ.

    @property
    def longest(self) -> float:
        """The longest step that is allowed."""
        return min(LONGEST, MOST_GROWTH / max(float(self.mu.max(initial=0.0)), 1e-9))

    def stretch(self, t: float) -> tuple[FloatArray, FloatArray]:
        """Return h(t μ) and its derivative in t."""
        p, m = 1.0 - self.bend, t * self.mu
        if p > 0.0:
            edge, rate = (TAIL**p - 1.0) / p, TAIL ** (1.0 - p)
            base = 1.0 + p * np.maximum(m, edge)
            h, change = base ** (1.0 / p), base ** (1.0 / p - 1.0)
        else:
            edge, rate = float(np.log(TAIL)), TAIL
            h = change = np.exp(np.clip(m, edge, MOST_GROWTH_LOGARITHM))
        below = np.maximum(edge - m, 0.0) * (rate / TAIL)
        return h / (1.0 + below), self.mu * np.where(below > 0.0, rate / (1.0 + below) ** 2, change)

    def factor(self, t: float) -> FloatArray:
        """Return a factor of the metric at length t, not triangular."""
        return np.asarray(self.L @ (self.axes * np.sqrt(self.stretch(t)[0])))


def step_length(path: Path, H: Curvature, slope: float) -> float:
    """Return the length at which the sample's objective, with the slope of all rows at zero, is flat."""
    slopes = _Slopes.of(path, H)
    bias = slope - slopes(0.0)  # the sample's slope is off by about as much everywhere
    low, high, t = 0.0, np.inf, min(1.0, path.longest)
    at_low, at_high = slope, 0.0
    for _ in range(TRIALS):
        g = slopes(t) + bias
        if abs(g) <= FLAT * abs(slope) or (g < 0.0 and t >= path.longest):
            break
        if g > 0.0:
            high, at_high = t, g
        else:
            low, at_low = t, g
        # Between the two by the secant, kept away from either end.
        inside = min(0.9, max(0.1, at_low / (at_low - at_high)))
        t = min(2.0 * t, path.longest) if high == np.inf else low + (high - low) * inside
    return t


@dataclass(frozen=True, eq=False)
class _Slopes:
    """The derivative of the sample's objective along a path, at any length."""

    path: Path
    H: Curvature
    every: int  # The stride of the rows of the sample that are used.
    rows: tuple[FloatArray, ...]  # These rows along the axes of the path.
    target: FloatArray
    prior: FloatArray
    shifts: FloatArray

    @classmethod
    def of(cls, path: Path, H: Curvature) -> _Slopes:
        frame, V = H.frame, path.axes
        n = frame.task.n_source
        turn = V[:n].astype(frame.dtype)
        target = frame.b @ V[:n] + frame.c @ V[n:]
        LV = frame.L @ V
        prior = np.einsum("ij,ij->j", LV, frame.task.precision @ LV)
        every = max(1, sum(part.c.size for part in H.parts) // PAIRS)
        rows = tuple(map_over_items(lambda part: part.T[::every] @ turn, H.parts))
        return cls(path, H, every, rows, target.astype(frame.dtype), prior, H.shifts @ V)

    def __call__(self, t: float) -> float:
        h, rate = self.path.stretch(t)
        squares, task = self.shifts**2, self.H.frame.task
        slope = float((self.prior - 1.0 / h) @ rate)
        slope += _slope(squares @ h, squares @ rate, shift_bounds(task), 0.0)
        both = np.stack([h, rate], axis=1).astype(self.target.dtype)
        target = np.concatenate([self.target * both[:, 0], self.target * both[:, 1]])
        lengths, m = self.target**2 @ both, len(self.target)

        def share(block: tuple[FloatArray, Part]) -> tuple[FloatArray]:
            R, part = block
            cross, own = R @ target.T, R**2 @ both
            cross *= -2.0
            distances, changes = cross[:, :m], cross[:, m:]
            distances += own[:, :1] + lengths[:, 0]
            changes += own[:, 1:] + lengths[:, 1]
            bounds = self.H.frame.metric.select_bounds(part.codes[:: self.every])
            return (np.asarray(_slope(distances, changes, bounds, self.H.frame.least)),)

        sums = sum_over_items(share, list(zip(self.rows, self.H.parts, strict=True)))
        return slope + self.H.factor * self.every * float(sums[0]) if sums else slope


def _slope(distances: FloatArray, changes: FloatArray, bounds: PairBounds, least: float) -> float:
    W = multipliers(np.maximum(distances, least), bounds)
    W *= changes
    return float(W.sum(dtype=np.float64))


CG_TOLERANCE = 0.15
# A step of at least the first length makes the next one straighter, one below the second more bent.
LONG, SHORT = 0.6, 0.3
# A smaller bend than this becomes none at all.
LEAST_BEND = 0.004
# The part of the decrease that the slope predicts without which no step is taken.
FALL = 1e-4
BACKTRACK, SHORTEST = 0.4, 1e-6
# What rounding may do to a value, relative to it.
NOISE = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-14}


@dataclass(frozen=True, eq=False)
class Step:
    """A place that was reached, and what the step to it says about the next."""

    at: Place
    predicted: float  # The decrease that the model predicted.
    bend: float  # The bend κ of the next step.


def newton_steps(
    at: Place, rows: Rows, sample: tuple[int, int], random: np.random.Generator, bend: float = 1.0
) -> Iterator[Step]:
    """Yield ever better places on these rows, without end unless no further step decreases the value.

    Steps begin with a bend, and become straighter as they succeed. ``sample`` says of how many rows and of how many
    labelled target rows the curvature is estimated.
    """
    while True:
        some = at.frame.among(sample[1], random), rows.sample(sample[0], random)
        H = estimate_curvature(at, *some, rows.n, bend=bend)
        R = np.eye(len(at.E)) - at.E
        D = conjugate_gradients(H, R, make_preconditioner(H), CG_TOLERANCE, MOST_PRODUCTS)
        D = np.asarray(0.5 * (D + D.T))
        slope = -float(np.vdot(R, D))
        if not slope < 0.0 or not np.isfinite(D).all():
            return
        path = Path(at.frame.L, *sla.eigh(D, driver="evd", check_finite=False), bend)
        found = _take_step(at, rows, path, slope, step_length(path, H, slope))
        if found is None:
            return
        at, t = found
        if t >= LONG:
            bend = bend / 2.0 if bend > LEAST_BEND else 0.0
        elif t < SHORT:
            bend = min(1.0, max(LEAST_BEND, 2.0 * bend))
        yield Step(at, -0.5 * slope, bend)


def _take_step(at: Place, rows: Rows, path: Path, slope: float, t: float) -> tuple[Place, float] | None:
    """Return the next place and the length of the step to it, shortened until the value falls."""
    noise = NOISE[np.dtype(at.frame.dtype)] * max(1.0, abs(at.primal))
    while t >= SHORTEST:
        new = evaluate_metric(at.frame.task, rows, lower_factor(path.factor(t)), at.frame.dtype)
        if new.primal <= at.primal + FALL * t * slope + noise:
            return new, t
        t *= BACKTRACK
    return None


# The factor by which levels grow.
GROWTH = 4
# The fewest rows of a level: fewer say little about all of them.
COARSEST = 8000
# A level is left when nearly straight steps predict a decrease of at most this part of the objective.
SETTLED, SETTLED_BEND = 1e-4, 0.25
# The most steps on one level; the next one continues.
MOST_STEPS = 60
# Rows that the curvature is estimated from: an eighth of a level, within these limits.
SAMPLE, LARGEST_SAMPLE, SHARE = 8000, 50_000, 8
# The most labelled target rows, and pairs with these, that it is estimated from.
TARGET_SAMPLE, MOST_PAIRS = 2048, 16_000_000
COARSEST_TARGET = 2048


def sample_size(n: int, n_target: int = 1) -> tuple[int, int]:
    """Return the numbers of rows, of n, and of labelled target rows for the estimate of the curvature.

    Examples
    --------
    >>> sample_size(5_000), sample_size(100_000), sample_size(1_000_000), sample_size(1_000_000, 5_000)
    ((5000, 1), (12500, 1), (50000, 1), (8000, 2048))
    """
    most = max(SAMPLE, min(LARGEST_SAMPLE, n // SHARE))
    m = min(n_target, TARGET_SAMPLE)
    return min(n, max(SAMPLE, min(most, MOST_PAIRS // max(1, m)))), m


def level_sizes(n: int, n_target: int = 1) -> list[tuple[int, int]]:
    """Return the numbers of rows and labelled target rows of all levels but the last, which has all of them.

    Examples
    --------
    >>> level_sizes(10_000), level_sizes(1_000_000)
    ([], [(15625, 1), (62500, 1), (250000, 1)])
    >>> level_sizes(100_000, 10_000)
    [(25000, 2500), (100000, 2500)]
    """
    sizes: list[tuple[int, int]] = []
    while True:
        if n_target // GROWTH >= COARSEST_TARGET:
            n_target //= GROWTH
        elif n // GROWTH >= COARSEST:
            n //= GROWTH
        else:
            return sizes[::-1]
        sizes.append((n, n_target))


def level_factor(
    task: ReducedProblem, rows: Rows, random: np.random.Generator, L: FloatArray
) -> tuple[FloatArray, float]:
    """Return the factor of a metric that is nearly the best on the largest level, and the bend of the next step.

    A pair on a level weighs as much as the pairs it represents, but at most one where those weigh less: with more,
    few rows would be fitted far too closely.
    """
    most, bend = max(1.0, float(task.weight.max(initial=0.0))), 1.0
    for n, n_target in level_sizes(rows.n, len(task.target)):
        level, some = rows.sample(n, random), task.among(n_target, random)
        factor = rows.n / level.n
        scale = factor * most / max(factor * float(some.weight.max(initial=0.0)), most)
        at = check_finite(evaluate_metric(replace(some, weight=scale * some.weight), level, L))
        for count, step in enumerate(newton_steps(at, level, sample_size(level.n, len(some.target)), random, bend)):
            at, bend = step.at, step.bend
            settled = bend <= SETTLED_BEND and step.predicted <= SETTLED * max(1.0, abs(at.primal))
            if settled or count == MOST_STEPS:
                break
        L = at.frame.L
    return L, bend


# Single precision is used for relative gaps down to this, and for bounds within the range below.
SINGLE = 1e-5
SINGLE_RANGE = 1e-12, 1e12
# Up to this many coordinates threads work on blocks, and none on the few matrices (d, d).
MOST_SINGLE = 1024
# A start with a larger relative gap than this is improved over the levels too, where steps cost less, and its first
# step has this bend; with a smaller gap it has none.
FAR, FAR_BEND = 1e-2, 0.25


@dataclass(frozen=True, eq=False, repr=False)
class MetricPoint(ShortRepr, Point):
    """A metric, its value, and the gap that its own multipliers prove."""

    problem: Any
    task: ReducedProblem
    order: IntArray  # Which column of the problem each column of the blocks is.
    L: FloatArray  # A factor of the metric in the coordinates of the task.
    primal: float
    gap: float

    def components(self) -> FloatArray:
        """Return a factor W (d, d) of the metric."""
        W = self.task.extend(self.L)
        components = np.empty_like(W)
        components[self.order] = W
        return components

    @property
    def multipliers(self) -> FloatArray:
        """The multipliers (n_pairs,) of all pairs, computed from the metric: they are never stored."""
        return pair_multipliers(self.problem, self.components())


@dataclass(frozen=True, eq=False)
class _Work:
    """A problem in reduced coordinates, with its rows and its random numbers."""

    problem: Any
    task: ReducedProblem
    rows: Rows
    order: IntArray
    random: np.random.Generator

    @classmethod
    def of(cls, problem: Any) -> _Work:
        if isinstance(problem, LogDetProblem):
            found = as_blocks(problem)
            if found is None:
                expected = "all pairs between two runs of rows without a common column"
                raise InputError(f"problem: expected {expected}, got others; use DualNewton.")
            blocks, order = found
        else:
            blocks, order = problem, np.arange(problem.rows.d + problem.target.shape[1])
        return cls(problem, *reduce_problem(blocks), order, np.random.default_rng(0))

    def start(self, given: FloatArray | None = None, /) -> MetricPoint:
        """Return a point from a factor W of the metric of a similar problem, or from ever more rows."""
        if given is None:
            prior = np.linalg.cholesky(np.linalg.inv(self.task.precision))
            return self.point(*self._over_levels(prior))
        d = len(self.order)
        if np.ndim(given) == 1 and isinstance(self.problem, LogDetProblem):
            given = self.problem.start(given).components()
        if np.shape(given) != (d, d):
            raise InputError(f"start: expected a factor of a metric, shape ({d}, {d}), got {np.shape(given)}.")
        L = self.task.restrict(np.asarray(given, dtype=np.float64)[self.order])
        at = self._place(L)
        if at.relative_gap <= FAR:
            return self.point(at)
        starts = [(at, FAR_BEND)]
        if level_sizes(self.rows.n, len(self.task.target)):
            starts.append(self._over_levels(L))
        return self.point(*min(starts, key=lambda found: found[0].primal))

    def _over_levels(self, L: FloatArray) -> tuple[Place, float]:
        """Return the place that the levels lead to, and the bend of the next step."""
        L, bend = level_factor(self.task, self.rows, self.random, L)
        return self._place(L), bend

    def _place(self, L: FloatArray) -> Place:
        single = SINGLE_RANGE[0] < self.task.bound.min() and self.task.bound.max() < SINGLE_RANGE[1]
        return check_finite(evaluate_metric(self.task, self.rows, L, np.float32 if single else np.float64))

    def point(self, at: Place, bend: float = 0.0) -> MetricPoint:
        point = MetricPoint(self.problem, self.task, self.order, at.frame.L, at.primal, at.gap)
        vars(point)["_work"] = self, at, bend  # not a field: neither copied nor pickled
        return point


@dataclass(frozen=True)
class BlockNewton(IterativeSolver[MetricPoint]):
    r"""Newton steps in the metric M, over blocks of source rows; multipliers are never stored.

    One pass over the rows gives the value, the gradient and an exact certificate. The Newton system is taken from a
    sample of rows. Many rows are approached over levels, samples of ever more of them. Passes are in single
    precision, the last ones and the certificate in double.

    Parameters
    ----------
    tol, max_iter
        As for every solver.

    Examples
    --------
    >>> from isthmus.solvers.logdet import Pairs
    >>> rows = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> pairs = Pairs(slice(0, 2), slice(2, 3), sign=[[1], [-1]], weight=10.0, bound=[[0.5], [3.0]])
    >>> result = BlockNewton().solve(LogDetProblem(rows, (pairs,)))
    >>> result.status.value, result.distances[0].ravel().round(2)
    ('optimal', array([0.57, 2.67]))
    """

    def solve(
        self, problem: Any, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Result[MetricPoint]:
        """Iterate until the gap is closed or ``max_iter`` is reached.

        Parameters
        ----------
        problem : BlockProblem or LogDetProblem
            What to solve; of the second kind, one with all pairs across two domains.
        start : array (d, d), optional
            A factor W of the metric W Wᵀ of a similar problem; or, for a LogDetProblem, its multipliers (n_pairs,).
        callback : callable, optional
            Called with each :class:`~isthmus.solvers.result.TracePoint`.
        """
        work = _Work.of(problem)
        with single_threaded_blas(work.task.d <= MOST_SINGLE):
            return super().solve(work, start, callback)

    def iterates(self, start: MetricPoint) -> Iterator[MetricPoint]:
        """Yield steps on all rows: in single precision as long as that closes the gap, then in double."""
        work, at, bend = vars(start)["_work"]
        sample = sample_size(work.rows.n, len(work.task.target))
        if at.frame.dtype == np.float32:
            if at.relative_gap > max(SINGLE, self.tol):
                yield start
                for step in newton_steps(at, work.rows, sample, work.random, bend):
                    at, bend = step.at, step.bend
                    if at.relative_gap <= max(SINGLE, self.tol):
                        break
                    yield work.point(at)
            at = evaluate_metric(work.task, work.rows, at.frame.L, np.float64)
        yield work.point(at)
        for step in newton_steps(at, work.rows, sample, work.random, bend):
            yield work.point(step.at)
