"""What the LogDet systems (MLHD, Saenko, ITML) share: bounds, weights, pairs by labels, solvers, warm starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import scipy.linalg as sla
from numpy.random import RandomState
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from isthmus._core.progress import Progress
from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, check_choice, check_number
from isthmus.data.blocks import as_partitions
from isthmus.estimators.base import TrainingData
from isthmus.estimators.mapped import MetricEstimator
from isthmus.exceptions import InputError, warn
from isthmus.geometry.common_space import DOMAINS
from isthmus.geometry.kernels import Precomputed
from isthmus.geometry.spaces import FeatureSpace, Space
from isthmus.solvers.blocks.problem import as_blocks
from isthmus.solvers.blocks.solver import BlockNewton
from isthmus.solvers.bregman import BregmanProjections
from isthmus.solvers.logdet import DualPoint, LogDetProblem, MeanAlignment, PairGraph, Pairs
from isthmus.solvers.newton import AutoNewton, DualNewton, prefers_blocks
from isthmus.solvers.result import Callback, Result, Solver, TracePoint

# Rows nearer than this (squared, over pooled_variance) count as equal: its square is lost in rounding.
EQUAL = 1e-8
# Rows that differ by no more than this part of their length count as equal, too.
ROUNDING = 16.0 * np.finfo(np.float64).eps
# The automatic bounds, in units of the spread of the domains.
UPPER, LOWER = 0.5, 1.5

# The automatic weight of all pairs together: how many there are does not matter (docs/defaults.md).
TOTAL_WEIGHT = 1e4

# The automatic weight of all pairs together for ITML.
ITML_WEIGHT = 1e3
# ITML's automatic bounds, among squared distances.
PERCENTILES = 20, 80
# How many pairs of points are measured for them.
SAMPLE = 5000


def as_bounds(bounds: Any, scale: float, automatic: tuple[float, float] = (UPPER, LOWER)) -> tuple[float, float]:
    """Return (u, l) from the parameter ``bounds``: squared distances, or "auto": ``automatic`` times ``scale``."""
    if isinstance(bounds, str) and bounds == "auto":
        return automatic[0] * scale, automatic[1] * scale
    return check_bounds(bounds, "squared distances", 0.0)


def as_weight(weight: Any, name: str, value: float) -> float:
    """Return a weight from a parameter: a number, or "auto" for this value."""
    if isinstance(weight, str) and weight == "auto":
        return value
    if isinstance(weight, str):
        raise InputError(f'{name}: expected "auto" or a number of at least 0, got {weight!r}.')
    return check_number(weight, name, low=0.0)


def check_bounds(bounds: Any, what: str, low: float) -> tuple[float, float]:
    """Return two numbers u < l above ``low``."""
    if not isinstance(bounds, tuple | list | np.ndarray) or len(bounds) != 2:
        raise InputError(f'bounds: expected "auto" or two {what} (u, l), got {bounds!r}.')
    u, l = (check_number(value, "bounds", low=low, strict=low > -np.inf) for value in bounds)  # noqa: E741
    if u >= l:
        raise InputError(f"bounds: expected u < l, got u = {u:g} and l = {l:g}.")
    return u, l


def make_label_pairs(
    rows: FloatArray, y: IntArray, runs: list[tuple[slice, slice]], bounds: tuple[float, float]
) -> tuple[Pairs, ...]:
    """Return a block of all pairs for each two runs of rows, bounded by whether labels agree, but for equal rows.

    Each has the weight one.
    """
    return drop_coincident_pairs(rows, [make_label_block(y, run, bounds) for run in runs])


def make_label_problem(
    rows: FloatArray, pairs: tuple[Pairs, ...], weigh: Callable[[int], float], alignment: MeanAlignment | None = None
) -> tuple[LogDetProblem, float]:
    """Return the problem of pairs whose weights are scaled by ``weigh`` of their number, and that factor."""
    weight = weigh(sum(int((block.weight > 0.0).sum()) for block in pairs))
    weighted = tuple(replace(block, weight=weight * block.weight) for block in pairs)
    return LogDetProblem(rows, weighted, alignment), weight


def make_label_block(y: IntArray, run: tuple[slice, slice], bounds: tuple[float, float]) -> Pairs:
    """Return all pairs between two runs of rows, of weight one, or zero where one of the two has no label (-1)."""
    left, right = y[run[0], None], y[None, run[1]]
    sign = np.where(left == right, 1.0, -1.0)
    weights = np.where((left != UNLABELLED) & (right != UNLABELLED), 1.0, 0.0)
    # Within one run of rows each pair counts once, and no row with itself.
    if run[0] == run[1]:
        weights = np.triu(weights, k=1)
    return Pairs(*run, sign, weights, np.where(sign > 0, *bounds))


def pooled_variance(rows: FloatArray, blocks: Iterable[Pairs]) -> float:
    """Return the variance of all rows in pairs, each run of rows around its own mean: no domain's offset counts."""
    runs = {(run.start, run.stop) for pairs in blocks for run in (pairs.left, pairs.right)}
    parts = [rows[start:stop] for start, stop in sorted(runs) if start < stop]
    return float(sum(len(part) * part.var(axis=0).sum() for part in parts) / max(sum(map(len, parts)), 1))


def drop_coincident_pairs(rows: FloatArray, blocks: Iterable[Pairs]) -> tuple[Pairs, ...]:
    """Return the blocks without pairs that no metric can satisfy.

    Equal rows that belong apart can't be told apart by any metric, and nearly equal ones not in double precision:
    such pairs get no weight, and one warning says how many there are.
    """
    blocks = tuple(blocks)
    longest = float(np.einsum("ij,ij->i", rows, rows).max(initial=0.0))
    # The second limit counts only where no domain varies: equal rows, as a kernel computes them, differ by rounding.
    least = max(EQUAL * pooled_variance(rows, blocks), ROUNDING**2 * longest)
    kept, hopeless = [], 0
    for pairs in blocks:
        distances = PairGraph((pairs,), len(rows)).distances(rows).reshape(pairs.shape)
        equal = (distances <= least) & (pairs.sign < 0) & (pairs.weight > 0)
        hopeless += int(equal.sum())
        kept.append(replace(pairs, weight=np.where(equal, 0.0, pairs.weight)) if equal.any() else pairs)
    if hopeless:
        equal_rows = f"{hopeless} pair(s) of equal rows have different labels"
        warn(f"{equal_rows} (equal, or nearly so); they are left out.", UserWarning)
    return tuple(kept)


def percentile_bounds(points: FloatArray, random: RandomState) -> tuple[float, float]:
    """Return (u, l), two percentiles (:data:`PERCENTILES`) of the squared distances of pairs of points (n, d).

    At most :data:`SAMPLE` pairs are measured, all of them where there are no more; pairs of equal points don't
    count. Where the percentiles coincide they are half and one and a half times that distance, as for
    :func:`as_bounds`, or times one where all points are equal.
    """
    n = len(points)
    if n * (n - 1) // 2 <= SAMPLE:
        i, j = np.triu_indices(n, k=1)
    else:
        i = random.randint(n, size=SAMPLE)
        # A shift by 1 to n − 1 never pairs a point with itself.
        j = (i + random.randint(1, n, size=SAMPLE)) % n
    d2 = ((points[i] - points[j]) ** 2).sum(axis=1)
    # Duplicates say nothing about the scale, and many of them would make u zero.
    d2 = d2[d2 > 0]
    u, l = np.percentile(d2, PERCENTILES).tolist() if len(d2) else (1.0, 1.0)  # noqa: E741
    return (u, l) if u < (1.0 - 1e-9) * l else as_bounds("auto", l)


def draw_pairs(y: IntArray, most: int, random: RandomState) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row numbers of either end and the sign of pairs that labels make, none of them twice.

    Of either kind, similar and dissimilar, ``most`` are drawn at random, or all taken where there are no more.
    Sorted by label, a row's later partners are a run of rows: pairs can be counted through without being listed.
    """
    # Counted, not listed: n rows make n²/2 pairs, of which few are drawn.
    order = np.argsort(y, kind="stable")
    place, stop = np.arange(len(y)), np.searchsorted(y[order], y[order], side="right")
    ends, signs = [], []
    for sign, first, last in ((1.0, place + 1, stop), (-1.0, stop, np.full_like(stop, len(y)))):
        counted = np.concatenate([[0], np.cumsum(last - first)])
        chosen = sample_without_replacement(counted[-1], min(most, counted[-1]), random_state=random)
        left = np.searchsorted(counted, chosen, side="right") - 1
        ends.append((order[left], order[first[left] + chosen - counted[left]]))
        signs.append(np.full(len(chosen), sign))
    left, right = np.concatenate(ends, axis=1)
    return left, right, np.concatenate(signs)


@dataclass(frozen=True, eq=False)
class WarmStart:
    """A result from one set of rows, as the start of a problem over another.

    Blocks start from a metric, in the coordinates of the new problem; the dual starts from multipliers. These belong
    to pairs of rows: those of pairs that are in both problems are kept, new pairs begin with zero. So it does not
    matter that coordinates change, as those of a kernel do with their rows.

    Parameters
    ----------
    takes_blocks : bool
        Whether the solver can work over blocks.
    """

    result: Result[Any]
    spaces: tuple[Space, Space]
    before: TrainingData
    after: TrainingData
    takes_blocks: bool

    def __call__(self, problem: Any, *spaces: Space) -> FloatArray | None:
        """Return a factor of a metric, or multipliers; None where neither can be carried over."""
        start = self.factor(*spaces) if self.takes_blocks and spaces and self._by_blocks(problem) else None
        written_out = isinstance(problem, LogDetProblem) and isinstance(self.result.problem, LogDetProblem)
        return self.multipliers(problem) if start is None and written_out else start

    def _by_blocks(self, problem: Any) -> bool:
        """Return whether blocks are the quicker way from here, however few the rows are."""
        if not isinstance(problem, LogDetProblem) or not isinstance(self.result.point, DualPoint):
            return True
        found = as_blocks(problem)
        return found is not None and prefers_blocks(found[0], fewest=0)

    def multipliers(self, problem: LogDetProblem) -> FloatArray:
        """Return the multipliers of the pairs of the new problem: what each had in the old one, else zero."""
        places, old, new = self._places(), self.result.problem.graph, problem.graph
        kept = [np.zeros(block.shape) for block in new.blocks]
        alike = len(old.blocks) == len(new.blocks) and len(self.result.problem.pairs) == len(problem.pairs)
        values = old.split(self.result.multipliers)
        for k, (before, after) in enumerate(zip(old.blocks, new.blocks, strict=False)):
            if before.left.start >= len(places) and alike:  # a constrained shift is one in both
                kept[k] = values[k]
            elif k == 0 or alike:  # else parameters have changed: what both have is the pairs across
                rows = places[before.left] - after.left.start, places[before.right] - after.right.start
                found = [row >= 0 for row in rows]
                kept[k][np.ix_(rows[0][found[0]], rows[1][found[1]])] = values[k][np.ix_(*found)]
        return np.concatenate([block.ravel() for block in kept])

    def _places(self) -> IntArray:
        """Return the row of the new problem that each old row is; below zero for those without a label now."""
        found, n = [], 0
        for domain in ("source", "target"):
            old, new = self.before.labelled_rows(domain), self.after.labelled_rows(domain)
            # Row numbers are sorted in both: where an old row is still labelled, this is its place.
            places = n + np.searchsorted(new, old)
            found.append(np.where(np.isin(old, new), places, -1 - len(new) - n))
            n += len(new)
        return np.concatenate(found)

    def factor(self, *spaces: Space) -> FloatArray | None:
        """Return W (d, d) with W Wᵀ = I + T (M − I) Tᵀ, T the new basis in the old coordinates."""
        bases = [change_basis(new, old) for new, old in zip(spaces, self.spaces, strict=True)]
        known = [basis for basis in bases if basis is not None]
        if len(known) < len(bases):
            return None
        # Outside the old span the metric is the identity, so only M − I is carried over.
        T, M = sla.block_diag(*known), self.result.matrix()
        try:
            return np.asarray(np.linalg.cholesky(np.eye(len(T)) + T @ (M - np.eye(len(M))) @ T.T))
        except np.linalg.LinAlgError:  # another kernel: lengths are not kept
            return None


def change_basis(new: Space, old: Space) -> FloatArray | None:
    """Return the basis of a space in the coordinates of another (r, r'); None where it can't be expressed there.

    Examples
    --------
    >>> change_basis(FeatureSpace(2), FeatureSpace(2))
    array([[1., 0.],
           [0., 1.]])
    """
    if isinstance(new, FeatureSpace) or isinstance(old, FeatureSpace):
        return np.eye(new.dimension) if type(new) is type(old) and new.n_features == old.n_features else None
    if new.averaged is not None or isinstance(new.kernel, Precomputed) or new.n_features != old.n_features:
        return None
    # Landmarks are kept centred; the old space expects rows as they are given.
    rows = new.landmarks if new.centre is None else new.landmarks + new.centre
    return np.asarray(sla.solve_triangular(new.factor, old.coordinates(rows), lower=True))


Start: TypeAlias = Callable[..., FloatArray | None]
SOLVERS = {"newton": AutoNewton, "dual": DualNewton, "blocks": BlockNewton, "bregman": BregmanProjections}


@dataclass(frozen=True)
class SolverRun:
    """A solver, and the progress that each iteration is reported to.

    Parameters
    ----------
    goal : float
        The relative gap at which the work is done.
    start : Start | None
        Where to begin, of a problem in two spaces: multipliers, a factor of a metric, or nothing.
    """

    solver: Any
    progress: Progress
    goal: float
    start: Start | None = None

    @classmethod
    def of(cls, solver: Any, progress: Any, name: str, goal: float) -> SolverRun:
        """Check the parameter ``progress``: False, True, or a function of a TracePoint."""
        return cls(solver, Progress(progress, name), getattr(solver, "tol", goal))

    def result(self, problem: Any, *spaces: Space) -> Result[Any]:
        """Solve a problem; the bar, if there is one, is closed however the work ends."""
        options: dict[str, Any] = {"callback": gap_callback(self.progress, self.goal)}
        # A solver of the user may know no start; it then begins where it always does.
        if self.start is not None and "start" in signature(self.solver.solve).parameters:
            options["start"] = self.start(problem, *spaces)
        with self.progress:
            solved: Result[Any] = self.solver.solve(problem, **options)
            return solved


def takes_blocks(solver: Any) -> bool:
    """Return whether a solver, or the solver of that name, can have a problem whose pairs are not written out."""
    kind = SOLVERS[solver] if isinstance(solver, str) else type(solver)
    return issubclass(kind, AutoNewton | BlockNewton)


def as_solver(solver: Any, tol: Any, max_iter: Any) -> Any:
    """Return a word with a tolerance and a limit, or an object that brings its own."""
    if isinstance(solver, str):
        return SOLVERS[check_choice(solver, "solver", SOLVERS)](tol=tol, max_iter=max_iter)
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise InputError(f"solver: expected one of {', '.join(SOLVERS)} or an object with solve(), got {solver!r}.")
    return solver


def gap_callback(progress: Progress, goal: float) -> Callback | None:
    """Return a callback that reports how far the certified gap is from its goal; None where none is shown.

    The fraction of the work is that of the powers of ten between the first finite gap and the goal: the time left is
    that of a gap which goes on falling at the same rate. Newton steps end sooner.
    """
    first: float | None = None

    def report(point: TracePoint) -> None:
        nonlocal first
        gap, fraction = point.relative_gap, 0.0
        if 0.0 < gap < math.inf:
            first = first or gap
            fallen, whole = math.log(first / gap), math.log(first / goal) if goal > 0.0 else math.inf
            fraction = min(1.0, max(0.0, fallen / whole)) if whole > 0.0 else 1.0
        text = f"iteration {point.iteration}, certified gap {gap:.1e} (goal {goal:.0e})"
        progress.report(text, fraction, point)

    return report if progress.active else None


@dataclass(kw_only=True, eq=False, repr=False)
class LogDetParameters:
    """Parameters of every LogDet problem over pairs, of one space or of two, and what is learned of them."""

    automatic_weight: ClassVar[float] = TOTAL_WEIGHT
    pair_weight: float | str = "auto"
    bounds: tuple[float, float] | str = "auto"
    solver: str | Solver = "newton"
    tol: float = 1e-6
    max_iter: int = 200
    progress: Any = False
    result_: Result[Any] = field(init=False)
    pair_weight_: float = field(init=False)
    bounds_: tuple[float, float] = field(init=False)

    def _make_run(self) -> SolverRun:
        """Return the solver, after a look at every parameter."""
        self._pair_weight(1)
        as_bounds(self.bounds, 1.0)
        solver = as_solver(self.solver, self.tol, self.max_iter)
        return SolverRun.of(solver, self.progress, type(self).__name__, self.tol)

    def _pair_weight(self, n_pairs: int) -> float:
        """Return the weight of each of ``n_pairs`` pairs: a number, or for "auto" its share of a total."""
        return as_weight(self.pair_weight, "pair_weight", self.automatic_weight / max(n_pairs, 1))


@dataclass(kw_only=True, eq=False, repr=False)
class LogDetEstimator(MetricEstimator, LogDetParameters):
    """The base of systems that are a LogDet problem over pairs of a source and a target row."""

    _training_data: TrainingData = field(init=False)

    def _validate(self) -> SolverRun:
        super()._validate()
        return self._make_run()

    def _fit_data(self, data: TrainingData, settings: SolverRun) -> dict[str, Any]:
        return {**super()._fit_data(data, settings), "_training_data": data}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, without the caller's rows, of which there may be many."""
        return {name: value for name, value in super().__getstate__().items() if name != "_training_data"}

    def update(
        self,
        X_source: Any = None,
        y_source: Any = None,
        X_target: Any = None,
        y_target: Any = None,
        *,
        pairs: Any = None,
    ) -> Self:
        """Learn again with more rows or labels, from the metric that was learned before.

        The metric is that of :meth:`fit` on all rows, old and new, to the tolerance: kernels, transformers and
        everything automatic follow the rows. The axes of the common space may be turned, which distances don't see.
        Only the way is another: as a rule shorter, but not with very few rows or very many (docs/scale.md). The
        parameters are those that hold now: without arguments it is a fit with other parameters to the same rows.

        For that a fitted system refers to the arrays that it was given. They are not copied: do not change them in
        place. No copy, pickle or model file (:func:`isthmus.save`) has them: what comes from one can't be updated.

        Parameters
        ----------
        X_source, y_source : rows of the kind that ``fit`` got, and a label for each; optional
            New source rows, which come after the old ones. Labels alone are those of all old rows anew.
        X_target, y_target : the same of the target, optional
            New target rows, labelled or not (-1, None or NaN). Labels alone are those of all old rows anew: this is
            how rows that were in the fit without a label get one.
        pairs : as for ``fit``, optional
            All known pairs, by rows of old and new together; None keeps those of the fit. With pairs the way is not
            shorter.

        Examples
        --------
        >>> import numpy as np
        >>> from isthmus import MLHD
        >>> rng, y = np.random.default_rng(100), np.arange(400) % 4
        >>> X_source = rng.normal(size=(4, 20))[y] + rng.normal(size=(400, 20))
        >>> X_target = rng.normal(size=(4, 10))[y[:50]] + rng.normal(size=(50, 10))
        >>> known = np.where(np.arange(50) < 40, y[:50], -1)
        >>> model = MLHD().fit(X_source, y, X_target, known)
        >>> before, model = model.n_iter_, model.update(y_target=y[:50])    # ten of the rows got a label
        >>> anew = MLHD().fit(X_source, y, X_target, y[:50])
        >>> model.n_iter_ < anew.n_iter_, bool(abs(model.result_.primal / anew.result_.primal - 1) < 2e-6)
        (True, True)
        """
        check_is_fitted(self, "classes_")
        settings, before = self._validate(), getattr(self, "_training_data", None)
        if before is None:
            got = "a copy without them, such as from a file; fit it to all rows"
            raise InputError(f"update: expected {type(self).__name__} with the rows of its fit, got {got}.")
        for domain, X in zip(DOMAINS, (X_source, X_target), strict=True):
            self._check_more(domain, X)
        X_source, y_source = before.with_more("source", X_source, y_source)
        X_target, y_target = before.with_more("target", X_target, y_target)
        pairs = before.numbered_pairs() if pairs is None else pairs
        after = TrainingData(X_source, y_source, X_target, y_target, pairs)
        if after.pairs is None:
            # With known pairs the problem is posed in other coordinates: no start can be carried over.
            spaces = self.common_space_.source, self.common_space_.target
            start = WarmStart(self.result_, spaces, before, after, takes_blocks(settings.solver))
            settings = replace(settings, start=start)
        return self._fit(after, settings)

    def _check_more(self, domain: str, X: Any) -> None:
        """Raise unless these, if any, are rows that could stand beside those of the fit."""
        name = f"X_{domain}"
        if X is None:
            return
        if isinstance(self.kernels_[DOMAINS.index(domain)], Precomputed):
            raise InputError(f"{name}: expected None with a precomputed kernel (fit to all rows), got rows.")
        if as_partitions(X) is None:
            self._rows(X, domain, name)
        elif X.shape[1] != self.n_features_[domain]:
            raise InputError(f"{name}: expected {self.n_features_[domain]} columns, as in fit, got shape {X.shape}.")
