r"""MLHD: metric learning across heterogeneous domains (Qian & Chen 2012).

One metric M over the direct sum of two domains, z = [x; 0] or [0; y], from pairs of rows:

.. math:: \min_{M \succ 0}\; \mathrm{LogDet}(M, I) + \lambda_1\, \bar z^T M \bar z
          + \lambda_2 \sum_{ij} \mathrm{LogDet}(\xi_{ij}, \xi^0_{ij}) \quad\text{s.t.}\quad
          d^2_M(x_i, y_j) \lessgtr \xi_{ij}

A fit is: both domains in coordinates (:class:`~isthmus.geometry.spaces.JointSpace`); pairs with bounds, from labels
or known pairs; the alignment of the means; one LogDet problem, solved with a certificate, whose factor maps into
the common space. Below: what known pairs ask and in which coordinates, the problem over blocks of rows, the class,
and fits along a grid of weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sla
from sklearn.base import clone

from isthmus._core.linalg import RANK_TOLERANCE, principal_axes
from isthmus._core.rows import ArrayRows, Rows
from isthmus._core.validation import FloatArray, IntArray, as_dense, check_choice, check_flag, check_number
from isthmus.data.domains import Domain, KnownPairs, TwoDomains
from isthmus.estimators.base import EVERYTHING, RBF_KERNELS, SystemFacts, TrainingData
from isthmus.estimators.from_blocks import MANY_PAIRS, BlockEstimator, ManyRows
from isthmus.estimators.logdet_base import (
    EQUAL,
    LogDetEstimator,
    SolverRun,
    as_bounds,
    as_weight,
    drop_coincident_pairs,
    make_label_block,
    make_label_pairs,
    make_label_problem,
    takes_blocks,
)
from isthmus.estimators.mapped import KernelParameters, Learned
from isthmus.exceptions import DataWarning, InputError
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.kernels import Linear
from isthmus.geometry.spaces import JointSpace, find_axes
from isthmus.solvers.blocks.problem import BlockProblem
from isthmus.solvers.logdet import LogDetProblem, MeanAlignment, Pairs
from isthmus.solvers.newton import along_grid
from isthmus.solvers.result import Result

# The automatic λ1 over the spread of the domains (docs/defaults.md): a squared length has a unit.
ALIGNMENT_WEIGHT = 100.0
# The automatic bound on the squared shift of the means, in units of the domains' spread.
AUTOMATIC_SLACK = 0.01
# The automatic bounds on known pairs and on pairs of different objects, in units of the spread of the domains.
KNOWN_BOUNDS = 0.03, 1.0
# The automatic λ1 and λ2 with known pairs: what each weighs is given with it.
KNOWN_WEIGHT = 1.0


def add_known_pairs(block: Pairs, known: KnownPairs, bounds: tuple[float, float]) -> Pairs:
    r"""Return a block of label pairs between all points of the domains, changed to what known pairs ask of them.

    Each pair of points counts once: as a known pair where it is one; else by its labels, where it has both; else,
    where both points are in known pairs with others, as two different objects. With the weights
    :math:`\omega_{ij}` of the known pairs and their sums :math:`r_i` and :math:`c_j` over the pairs of a point, such
    a pair weighs :math:`r_i c_j`, scaled so that all of them together weigh as much as the known pairs:
    1/(P − 1) each where no point is in two pairs and every weight is one.

    Examples
    --------
    >>> none = Pairs(slice(0, 3), slice(3, 6), sign=1, weight=0.0)
    >>> add_known_pairs(none, KnownPairs([[0, 0], [1, 1], [2, 2]]), bounds=(0.1, 1.0)).weight
    array([[1. , 0.5, 0.5],
           [0.5, 1. , 0.5],
           [0.5, 0.5, 1. ]])
    """
    # Dense, as the block is: few rows are in known pairs, and every two of them are a pair of some kind.
    omega = np.zeros(block.shape)
    omega[known.source, known.target] = known.weights
    paired, labelled = omega > 0.0, block.weight > 0.0
    apart = np.where(paired, 0.0, np.outer(omega.sum(axis=1), omega.sum(axis=0)))
    apart *= omega.sum() / (apart.sum() or 1.0)  # no two objects differ where one point is paired with all others
    sign = np.where(paired, 1.0, np.where(labelled, block.sign, -1.0))
    weight = np.where(paired, omega, np.where(labelled, block.weight, apart))
    bound = np.where(paired, bounds[0], np.where(labelled, block.bound, bounds[1]))
    return Pairs(block.left, block.right, sign, weight, bound)


def drop_unused_rows(blocks: tuple[Pairs, ...], n_rows: int, factor: float) -> tuple[tuple[Pairs, ...], IntArray]:
    """Return the blocks without rows that are in no pair, with weights times a factor, and the rows that are left."""
    used = np.zeros(n_rows, dtype=bool)
    for block in blocks:
        used[block.left] |= (block.weight > 0.0).any(axis=1)
        used[block.right] |= (block.weight > 0.0).any(axis=0)
    # Rows keep their order, so that a run of rows stays a run: it begins where as many rows before it are used.
    place = np.concatenate([[0], np.cumsum(used)])

    def drop(block: Pairs) -> Pairs:
        both = np.ix_(used[block.left], used[block.right])
        left, right = (slice(int(place[run.start]), int(place[run.stop])) for run in (block.left, block.right))
        return Pairs(left, right, block.sign[both], factor * block.weight[both], block.bound[both])

    return tuple(drop(block) for block in blocks), np.flatnonzero(used)


def span_used_rows(joint: JointSpace, used: IntArray, *, mean: bool) -> FloatArray:
    """Return the maps (r_s + r_t, q) of a joint space to the span of rows that are learned from, at one scale.

    The means of all rows belong to it where they count too.
    """
    n, bases = len(joint.source.points), []
    both = 0.5 * (joint.source.variance + joint.target.variance)
    varies = min(joint.source.variance, joint.target.variance) > 0.0
    for side, rows in ((joint.source, used[used < n]), (joint.target, used[used >= n] - n)):
        points = np.vstack([side.points[rows], side.mean]) if mean else side.points[rows]
        # Fewer axes than elsewhere: one along which the rows hardly vary costs digits and says nothing.
        axes = principal_axes(points, centre=False, tolerance=RANK_TOLERANCE**0.5).axes
        # The scale goes into the basis: the rows, the shift and the maps of new rows all get it from there.
        bases.append(float(np.sqrt(both / side.variance)) * axes if varies else axes)
    return np.asarray(sla.block_diag(*bases))


def is_large(joint: JointSpace) -> bool:
    """Return whether pairs should be summed in blocks: there are many, and no two rows of a pair coincide.

    Across domains two rows are equal at the start only where both are zero.
    """
    if len(joint.source.points) * len(joint.target.points) <= MANY_PAIRS:
        return False
    # One end at zero is enough to tell two rows apart, so the shortest rows of both are added.
    shortest = [float(np.einsum("ij,ij->i", side.points, side.points).min()) for side in (joint.source, joint.target)]
    return sum(shortest) > EQUAL * (joint.source.squared + joint.target.squared)


@dataclass(kw_only=True, eq=False, repr=False)
class MLHD(LogDetEstimator, BlockEstimator, KernelParameters):
    r"""Learn one metric over two domains that have different features.

    .. math::

       \min_{M \succ 0}\; \mathrm{LogDet}(M, I) + \lambda_1\, \bar z^T M \bar z
       + \lambda_2 \sum_{ij} \mathrm{LogDet}(\xi_{ij}, \xi^0_{ij}) \quad\text{s.t.}\quad
       d^2_M(x_i, y_j) \lessgtr \xi_{ij}

    Rows of one class are drawn together across the domains (below u), rows of different classes kept apart (above
    l), the means of the two domains brought together, and all else left as it is. The problem is convex; the
    solution comes with a proof of how close it is to the optimum (``result_.relative_gap``).

    The maps into the common space have no intercept: with linear kernels, centre each domain first (a
    ``StandardScaler`` as transformer will do). Rows of length one are better still, for any kernel: standardise,
    normalise, centre (docs/defaults.md).

    **Known pairs.** Where P rows of the source and of the target are known to be the same objects
    (``fit(…, pairs=…)``; then labels are optional), these are drawn together and all other pairs of such rows kept
    apart:

    .. math::

       \min_{M \succ 0}\; \mathrm{LogDet}(M, I) + \lambda_1 \frac{\Omega}{u}\, \bar z^T M \bar z
       + \lambda_2 \sum_{ij \text{ known}} \omega_{ij}\, \mathrm{LogDet}(\xi_{ij}, u)
       + \lambda_2 \sum_{ij \text{ not}} \frac{1}{P - 1}\, \mathrm{LogDet}(\xi_{ij}, l)
       + \lambda_2 \sum_{ij \text{ labels}} \mathrm{LogDet}(\xi_{ij}, \xi^0_{ij})

    with the weights ω of the pairs (one by default) and their sum Ω: the pair of means counts as much as all known
    pairs together. Where weights differ, or a row is in several pairs, two different objects weigh the product of
    the weights of either row, scaled to Ω in all. A pair of rows counts once: as a known pair, whatever the labels
    say; else by its labels; else as two different objects. M is learned, and rows are compared, within the span of
    the rows that are learned from and of the means, and with both domains scaled to the same variance, so that the
    unit of neither matters. Labels help to name classes and hinder the search for single objects: to find
    partners, leave them out.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain.
    alignment_weight : float or "auto"
        λ1 ≥ 0, how much the shift between the means of the domains costs; "auto" is 100 over the spread of the
        domains, so that their unit does not matter, and one for a constraint or with known pairs, which have none.
    pair_weight : float or "auto"
        λ2 ≥ 0, how much a pair on the wrong side of its bound costs; "auto" shares 10,000 among all pairs, so that
        their number does not matter (docs/defaults.md). With known pairs, whose weights ω are given, it is one.
    alignment : {"penalty", "constraint", "none"}
        How the means are brought together: as a term of the objective, as a bound ``alignment_slack`` on the squared
        shift (the paper's relaxed model), or not at all.
    alignment_slack : float or "auto"
        t0 > 0, for ``alignment="constraint"``; "auto" is a hundredth of the domains' spread.
    bounds : (float, float) or "auto"
        u < l, squared distances; "auto" takes half and one and a half times the spread of the domains, the mean
        squared distance across them if their means coincided, and for known pairs 0.03 and one times the spread.
    within_domain : bool
        Whether pairs of source rows, and pairs of labelled target rows, are bounded too.
    outside : {"identity", "zero"}
        The metric outside the span of the rows of ``fit``; the paper's theorem says zero, its objective implies
        the identity. With known pairs it is zero in any case.
    solver : {"newton", "dual", "blocks", "bregman"} or Solver
        "newton" takes the Newton method on the dual ("dual") or the one over blocks of rows ("blocks"), whichever is
        going to be quicker: ``result_.solver`` says which. An object brings its own tolerance and iteration limit.
    tol : float
        The relative duality gap to reach.
    max_iter : int
        Iterations (sweeps, for "bregman") after which to stop with a warning.
    rule : {"nearest", "means", "linear"} or classifier
        How :meth:`predict` decides in the common space: by a vote of the nearest reference rows, by the nearest of
        their class means, or by any classifier of scikit-learn fitted to them ("linear": support vectors).
    references : {"source", "target", "both"}
        Which rows they are: all source rows, the labelled target rows, or both.
    n_neighbors : int
        How many reference rows vote.
    n_components : int, optional
        Keep this many principal axes of the common space (of all rows of ``fit``); None keeps the metric whole.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        The preparation of either domain, fitted to all of its rows, labelled or not.
    progress : bool or callable
        Show a bar with the time left on standard error, or call this with each
        :class:`~isthmus.solvers.result.TracePoint`.

    Attributes
    ----------
    common_space_ : CommonSpace
        What was learned: it knows nothing of how.
    references_ : References
        The labelled rows of both domains, there.
    result_ : Result
        The solver's result: status, certificate, multipliers, trace.
    classes_ : array
        The classes of the source; with known pairs, of both domains.
    alignment_weight_, pair_weight_ : float
        λ1 and λ2.
    bounds_ : (float, float)
        u and l, of the known pairs where there are any.
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

    The same objects seen in two ways, four of them known as pairs, find a fifth:

    >>> objects = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0], [1.5, 0.5], [-1.5, 0.7]])
    >>> turned = objects @ np.array([[0.0, 3.0], [3.0, 0.0]])
    >>> mlhd = MLHD().fit(objects, None, turned, None, pairs=[[0, 0], [1, 1], [2, 2], [3, 3]])
    >>> mlhd.pairwise_distances(objects, turned)[4:].argmin(axis=1)
    array([4, 5])
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts(
            "mlhd",
            "common space",
            "Qian & Chen 2012",
            EVERYTHING,
            best_for="distances, also within a domain and within a class",
        ),
        SystemFacts("mlhd-rbf", "common space", "Qian & Chen 2012", EVERYTHING, options=RBF_KERNELS),
    )

    takes_pairs = True
    alignment_weight: float | str = "auto"
    alignment: str = "penalty"
    alignment_slack: float | str = "auto"
    within_domain: bool = False
    outside: str = "identity"
    n_components: int | None = None
    alignment_weight_: float = field(init=False)

    def _validate(self) -> SolverRun:
        self._alignment_weight(1.0)
        check_choice(self.alignment, "alignment", ("penalty", "constraint", "none"))
        self._slack(1.0)
        check_choice(self.outside, "outside", ("identity", "zero"))
        check_flag(self.within_domain, "within_domain")
        return super()._validate()

    def _block_domains(self, pairs: Any) -> tuple[str, ...]:
        return ("source",)

    def _check_blocks(self, blocks: tuple[str, ...], pairs: Any) -> None:
        if pairs is not None:
            raise InputError("pairs: expected None with source rows in blocks, got pairs.")
        wanted: dict[str, tuple[bool, str]] = {
            "source_kernel": (isinstance(self._kernels()[0], Linear), "a linear kernel"),
            "outside": (self.outside == "identity", "'identity'"),
            "within_domain": (not self.within_domain, "False"),
            "n_components": (self.n_components is None, "None"),
            "source_transformer": (self.source_transformer is None, "None"),
            "solver": (takes_blocks(self.solver), "'newton' or 'blocks'"),
        }
        for name, (possible, expected) in wanted.items():
            if not possible:
                value = getattr(self, name)
                raise InputError(f"{name}: expected {expected} with source rows in blocks, got {value!r}.")

    def _joint_blocks(self, rows: Rows, target: Domain, n_classes: int, *, mean: bool = True) -> ManyRows:
        joint = super()._joint_blocks(rows, target, n_classes, mean=mean)
        if joint.found.zeros and not joint.target.points.any(axis=1).all():
            got = f"one, and {joint.found.zeros} source row(s) of zeros, which no metric tells apart"
            raise InputError(f"X_target: expected no labelled row of zeros, got {got}.")
        return joint

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        # The principal axes of all rows lie in the span of all rows.
        return JointSpace.of(domains, self._kernels(), outside=self.outside, every_row=self.n_components is not None)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: SolverRun) -> Learned:
        spaces = joint.source.space, joint.target.space
        # No more axes than rows or dimensions.
        most = min(domains.source.shape[0] + domains.target.shape[0], sum(space.dimension for space in spaces))
        k = self._size(most, most)
        if joint.pairs is None:
            bounds = as_bounds(self.bounds, joint.spread)
            problem, weight = self._problem(joint, bounds, settings)
            result = settings.result(problem, *spaces)
            space = CommonSpace(*spaces, result.components())
        else:
            # The same object is nearer than the same class: other bounds, and weights that are given with the pairs.
            bounds = as_bounds(self.bounds, joint.spread, KNOWN_BOUNDS)
            weight = KNOWN_WEIGHT if isinstance(self.pair_weight, str) else self.pair_weight
            problem, maps = self._paired_problem(joint, joint.pairs, bounds, weight)
            result = settings.result(problem)
            space = CommonSpace(*spaces, maps @ result.components(), projected=True)
        if self.n_components is not None:
            # Along these axes all rows of the fit vary most in the common space.
            sides = ((domains.source.X, "source"), (domains.target.X, "target"))
            points = [as_dense(space.space(name).coordinates(X)) @ space.map(name) for X, name in sides]
            space = space.compose(principal_axes(np.vstack(points)).leading(k).axes, projected=True)
        return space, {
            "result_": result,
            "alignment_weight_": self._alignment_weight(joint.spread, known=joint.pairs is not None),
            "pair_weight_": weight,
            "bounds_": bounds,
            "n_iter_": result.n_iter,
        }

    def _problem(
        self, joint: JointSpace, bounds: tuple[float, float], settings: SolverRun
    ) -> tuple[LogDetProblem | BlockProblem, float]:
        """Return the problem over labelled rows of both domains, with the pairs that their labels make, and λ2."""
        alignment = None
        if self.alignment != "none":
            weight = self._alignment_weight(joint.spread)
            alignment = MeanAlignment(joint.shift, weight, self._slack(joint.spread))
        # Many pairs are not written out but summed over blocks: a dual variable for each would not fit into memory.
        in_blocks = takes_blocks(settings.solver) and not self.within_domain
        if isinstance(joint, ManyRows) or (in_blocks and is_large(joint)):
            source = joint.many if isinstance(joint, ManyRows) else ArrayRows(joint.source.points, joint.source.y)
            weight = self._pair_weight(source.n * len(joint.target.points))
            # A table of classes by target rows says all: source rows of one class have the same bounds.
            sign = np.where(np.arange(joint.n_classes)[:, None] == joint.target.y, 1.0, -1.0)
            table = sign, weight, np.where(sign > 0, *bounds)
            return BlockProblem(source, joint.target.points, *table, alignment), weight
        rows = joint.rows
        blocks = make_label_pairs(rows, joint.y, self._runs(joint), bounds)
        return make_label_problem(rows, blocks, self._pair_weight, alignment)

    def _paired_problem(
        self, joint: JointSpace, known: KnownPairs, bounds: tuple[float, float], pair_weight: float
    ) -> tuple[LogDetProblem, FloatArray]:
        """Return the problem with known pairs among the pairs across, and the map to the coordinates of its rows."""
        for side, numbers, name in ((joint.source, known.source, "source"), (joint.target, known.target, "target")):
            find_axes(side.points[numbers], f"pairs: expected {name}")
        rows, by_label = joint.rows, as_bounds(self.bounds, joint.spread)
        across, *within = (make_label_block(joint.y, run, by_label) for run in self._runs(joint))
        distinct = drop_coincident_pairs(rows, [add_known_pairs(across, known, bounds), *within])
        blocks, used = drop_unused_rows(distinct, len(rows), pair_weight)
        maps, alignment = span_used_rows(joint, used, mean=self.alignment != "none"), None
        if self.alignment != "none":
            slack, total = self._slack(joint.spread), float(known.weights.sum())
            # The pair of means weighs as much as all known pairs, in the unit of their bound.
            weight = self._alignment_weight(joint.spread, known=True) * total
            alignment = MeanAlignment(joint.shift @ maps, weight / bounds[0] if slack is None else weight, slack)
        return LogDetProblem(rows[used] @ maps, blocks, alignment), maps

    def _runs(self, joint: JointSpace) -> list[tuple[slice, slice]]:
        """Return the runs of rows between which pairs are bounded: across the domains first."""
        source, target = joint.runs
        return [(source, target), (source, source), (target, target)] if self.within_domain else [(source, target)]

    def _alignment_weight(self, spread: float, *, known: bool = False) -> float:
        """Return λ1; "auto" has the unit of the domains only where it is a price of a squared length."""
        free = known or self.alignment == "constraint"
        value = KNOWN_WEIGHT if free else ALIGNMENT_WEIGHT / (spread if spread > 0.0 else 1.0)
        return as_weight(self.alignment_weight, "alignment_weight", value)

    def _slack(self, spread: float) -> float | None:
        """Return t0, the bound on the squared shift, or None where the shift is no constraint."""
        automatic = isinstance(self.alignment_slack, str) and self.alignment_slack == "auto"
        slack = AUTOMATIC_SLACK * spread
        if not automatic:
            slack = check_number(self.alignment_slack, "alignment_slack", low=0.0, strict=True)
        return slack if self.alignment == "constraint" else None


def weight_path(
    estimator: MLHD,
    X_source: Any,
    y_source: Any,
    X_target: Any,
    y_target: Any,
    *,
    alignment_weights: Sequence[float | str] | None = None,
    pair_weights: Sequence[float | str] | None = None,
    pairs: Any = None,
) -> Iterator[MLHD]:
    """Yield fitted systems along a grid of weights, each started from its neighbours.

    Each has the metric that ``clone(estimator).set_params(alignment_weight=λ1, pair_weight=λ2).fit(…)`` would have,
    to the tolerance, in about a third of the time (docs/scale.md); the axes of the common space may be turned. They
    come with λ1 changing fastest; who does not keep them holds one at a time.

    Parameters
    ----------
    estimator : MLHD
        The system; it is cloned and never changed.
    X_source, y_source, X_target, y_target, pairs
        As for ``fit``.
    alignment_weights, pair_weights : sequence, optional
        λ1 and λ2, in an order in which neighbours are alike; None for what the estimator has.

    Examples
    --------
    >>> from isthmus import MLHD, weight_path
    >>> from isthmus.data.datasets import load_digits
    >>> d = load_digits(labelled_per_class=3)
    >>> rows = d.X_source, d.y_source, d.X_target, d.y_target
    >>> path = weight_path(MLHD(tol=1e-4), *rows, alignment_weights=[0.1, 1.0], pair_weights=[0.01, 0.1])
    >>> [(model.alignment_weight, model.pair_weight, model.result_.status.value) for model in path]
    [(0.1, 0.01, 'optimal'), (1.0, 0.01, 'optimal'), (0.1, 0.1, 'optimal'), (1.0, 0.1, 'optimal')]
    """
    if not isinstance(estimator, MLHD):
        raise InputError(f"estimator: expected an MLHD, got {type(estimator).__name__}.")
    first, second = _as_weights(estimator, alignment_weights, pair_weights)

    def make(i: int, j: int) -> MLHD:
        model: MLHD = clone(estimator).set_params(alignment_weight=first[i], pair_weight=second[j])
        return model

    for i, j in np.ndindex(len(first), len(second)):
        make(i, j)._validate()  # before anything is computed
    data = TrainingData(X_source, y_source, X_target, y_target, pairs)
    return _fit_grid(make, data, len(first), len(second))


def _as_weights(estimator: MLHD, *given: Any) -> list[list[Any]]:
    """Return λ1 and λ2 of the rows and of the columns of a grid."""
    found = []
    for values, name in zip(given, ("alignment_weight", "pair_weight"), strict=True):
        values = [getattr(estimator, name)] if values is None else values
        flat = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str)
        if not flat or not len(values) or any(np.ndim(value) for value in values):
            raise InputError(f"{name}s: expected a list of weights, got {values!r:.60}.")
        found.append(list(values))
    return found


def _fit_grid(make: Callable[[int, int], MLHD], data: TrainingData, n_rows: int, n_columns: int) -> Iterator[MLHD]:
    fitted: list[MLHD] = []  # one at most: who gets a model is the only one to hold it
    domains, prepared = make(0, 0)._prepare(data)  # rows are checked and transformed once for all weights

    def solve(i: int, j: int, start: FloatArray | None) -> Result[Any]:
        model = make(i, j)
        settings = replace(model._validate(), start=lambda problem, *spaces: start)
        with warnings.catch_warnings():
            if i or j:  # the rows are those of the first fit, which warned about them
                warnings.simplefilter("ignore", DataWarning)
            learned = model._run_fit(domains, settings)
        model.__dict__.update({**learned, **prepared, "_training_data": data})
        fitted.append(model)
        return model.result_

    for _ in along_grid(solve, n_rows, n_columns):
        yield fitted.pop()
