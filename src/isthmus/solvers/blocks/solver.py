"""A Newton method in the metric itself, over blocks of rows: for more pairs than anybody wants to store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus._rows import Rows
from isthmus._threads import single_threaded_blas
from isthmus._validation import number, short_repr
from isthmus.exceptions import InputError
from isthmus.objective import LogDetProblem
from isthmus.objective.point import Compact
from isthmus.solvers.blocks.levels import level_factor, level_sizes, sample_size
from isthmus.solvers.blocks.point import Place, pair_multipliers, place, require_finite
from isthmus.solvers.blocks.problem import as_blocks
from isthmus.solvers.blocks.reduction import Reduced, reduced
from isthmus.solvers.blocks.steps import newton_steps, start_factor
from isthmus.solvers.iteration import Callback, IterativeSolver
from isthmus.solvers.result import Result

SINGLE = 1e-5
"""Single precision is good for gaps down to this, and for bounds within the range below."""
SINGLE_RANGE = 1e-12, 1e12
MOST_SINGLE = 1024
"""Up to so many coordinates threads work on blocks, and none on the few matrices (d, d)."""
FAR, FAR_BEND = 1e-2, 0.25
"""With a larger relative gap than this a given metric goes over the levels too, as steps on fewer rows cost less, and
the first step has this bend; with a smaller one it has none."""


@short_repr
@dataclass(frozen=True, eq=False)
class MetricPoint(Compact):
    """A metric, its value and the gap that its own multipliers prove."""

    problem: Any
    task: Reduced
    order: IntArray
    """Which column of the problem each column of the blocks is."""
    L: FloatArray
    """A factor of the metric in the coordinates of the task."""
    primal: float
    gap: float

    @property
    def dual(self) -> float:
        """A lower bound of the objective."""
        return self.primal - self.gap

    @property
    def scale(self) -> float:
        """The unit of a relative gap: the objective, or one nat where the objective is smaller than that."""
        return max(1.0, abs(self.primal), abs(self.dual) if np.isfinite(self.gap) else 0.0)

    def components(self) -> FloatArray:
        """A factor W (d, d) of the metric."""
        W = self.task.lifted(self.L)
        components = np.empty_like(W)
        components[self.order] = W
        return components

    @property
    def multipliers(self) -> FloatArray:
        """The multipliers (n_pairs,) of all pairs, computed when asked for: they are never stored."""
        return pair_multipliers(self.problem, self.components())

    def matrix(self) -> FloatArray:
        """M (d, d)."""
        W = self.components()
        return np.asarray(W @ W.T)


@dataclass(frozen=True, eq=False)
class _Work:
    """A problem, made ready."""

    problem: Any
    task: Reduced
    rows: Rows
    order: IntArray
    random: np.random.Generator

    @classmethod
    def of(cls, problem: Any, seed: int) -> _Work:
        if isinstance(problem, LogDetProblem):
            found = as_blocks(problem)
            if found is None:
                raise InputError(
                    "problem: expected all pairs between two runs of rows without a common column, got others."
                )
            blocks, order = found
        else:
            blocks, order = problem, np.arange(problem.rows.d + problem.target.shape[1])
        return cls(problem, *reduced(blocks), order, np.random.default_rng(seed))

    def start(self, given: FloatArray | None = None, /) -> MetricPoint:
        """A point from a factor W of the metric of a similar problem, or from ever more rows."""
        if given is None:
            return self.point(*self._over_levels(start_factor(self.task.precision)))
        d = len(self.order)
        if np.ndim(given) == 1 and isinstance(self.problem, LogDetProblem):
            given = self.problem.start(given).components()
        if np.shape(given) != (d, d):
            raise InputError(f"start: expected a factor of a metric, shape ({d}, {d}), got {np.shape(given)}.")
        L = self.task.inside(np.asarray(given, dtype=np.float64)[self.order])
        at = self._place(L)
        if at.relative_gap <= FAR:
            return self.point(at)
        starts = [(at, FAR_BEND)]
        if level_sizes(self.rows.n, len(self.task.target)):
            starts.append(self._over_levels(L))
        return self.point(*min(starts, key=lambda found: found[0].primal))

    def _over_levels(self, L: FloatArray) -> tuple[Place, float]:
        """A place that ever more rows lead to, and the bend of the next step."""
        L, bend = level_factor(self.task, self.rows, self.random, L)
        return self._place(L), bend

    def _place(self, L: FloatArray) -> Place:
        single = SINGLE_RANGE[0] < self.task.bound.min() and self.task.bound.max() < SINGLE_RANGE[1]
        return require_finite(place(self.task, self.rows, L, np.float32 if single else np.float64))

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
    seed : int
        For the samples.

    Examples
    --------
    >>> from isthmus.objective import Pairs
    >>> rows = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> pairs = Pairs(slice(0, 2), slice(2, 3), sign=[[1], [-1]], weight=10.0, bound=[[0.5], [3.0]])
    >>> result = BlockNewton().solve(LogDetProblem(rows, (pairs,)))
    >>> result.status.value, result.distances[0].ravel().round(2)
    ('optimal', array([0.57, 2.67]))
    """

    seed: int = field(default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.seed, "seed", low=0, whole=True)

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
            Called with each :class:`~isthmus.solvers.TracePoint`.
        """
        work = _Work.of(problem, self.seed)
        with single_threaded_blas(work.task.d <= MOST_SINGLE):
            return super().solve(work, start, callback)

    def iterates(self, start: MetricPoint) -> Iterator[MetricPoint]:
        """Steps on all rows: in single precision as long as that is good for anything, then in double."""
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
            at = place(work.task, work.rows, at.frame.L, np.float64)
        yield work.point(at)
        for step in newton_steps(at, work.rows, sample, work.random, bend):
            yield work.point(step.at)
