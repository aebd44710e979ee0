"""Canonical correlations of two domains (Hotelling 1936, kernels: Akaho 2001), paired by labels or known pairs.

First the choice of the regularization, then the pairs as sums over classes or groups, then the systems.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from isthmus._core.linalg import principal_axes
from isthmus._core.rows import Draw
from isthmus._core.validation import FloatArray, as_dense, check_choice, check_number
from isthmus.data.domains import KnownPairs, TwoDomains
from isthmus.estimators.base import LABELS, LABELS_OR_PAIRS, SystemFacts
from isthmus.estimators.from_blocks import ManyRows, MomentPairs, PairMomentEstimator
from isthmus.estimators.itml import ITML
from isthmus.estimators.mapped import Learned
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.kernels import Kernel, Linear
from isthmus.geometry.row_blocks import points_with_covariance
from isthmus.geometry.spaces import JointSpace, KernelSpace
from isthmus.maps.canonical import PairedRows
from isthmus.retrieval.rules import References

# Variates are multiplied with this power of their correlation.
POWER = 2.0
# The regularizations that are tried.
OFFERED = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
# With fewer pairs than this there is nothing to hold out, and the regularization is the last of these.
FOLDS, FEWEST, OTHERWISE = 5, 10, 0.3
# With more pairs than the first number, one fold of at most the second is held out: five would cost five times.
MANY, HELD_OUT = 2000, 1000
# Coordinates of a kernel by which it is chosen: those of the leading rows of a pivoted Cholesky factor (Nyström).
LEADING = 400


def choose_regularization(joint: JointSpace, known: KnownPairs) -> float:
    """Return the offered γ under which partners of held-out pairs rank best (mean reciprocal rank, both directions).

    In five folds; of more than :data:`MANY` pairs once, as all others are learned from then.
    """
    if not isinstance(joint, MomentPairs):
        sides = (joint.source, known.source), (joint.target, known.target)
        A, B = (side.points[rows, : LEADING if _has_curved_kernel(side.space) else None] for side, rows in sides)
        return OFFERED[int(_rank_over_folds(A, B, known.weights).argmax())]
    # Rows in blocks: of many pairs one sample is held out, and the moments of all others follow by subtraction.
    many = joint.many.n > MANY
    Z, weights, _ = joint.many.sample(fold_size(joint.many.n) if many else joint.many.n, np.random.default_rng(0))
    A, B = (as_dense(Z[:, columns]) for columns in joint.moments.layout.sides)
    if not many:
        return OFFERED[int(_rank_over_folds(A, B, weights).argmax())]
    X, Y = joint.moments.without(Z, weights).representative_pairs()
    each = sp.eye_array(len(X)).tocsr()
    return OFFERED[int(_reciprocal_ranks(PairedRows.of(X, Y, each, each), A, B).argmax())]


def _has_curved_kernel(space: object) -> bool:
    """Return whether coordinates are those of a kernel that is not linear."""
    return isinstance(space, KernelSpace) and not isinstance(space.kernel, Linear)


def fold_size(n: int) -> int:
    """Return the number of held-out pairs, of many.

    Examples
    --------
    >>> fold_size(3000), fold_size(100_000)
    (600, 1000)
    """
    return min(HELD_OUT, n // FOLDS)


def _rank_over_folds(A: FloatArray, B: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the sum over folds of the ranks of what each holds out, for each γ."""
    n, rng, totals = len(A), np.random.default_rng(0), np.zeros(len(OFFERED))
    if n < FEWEST:
        return np.asarray(np.isclose(OFFERED, OTHERWISE), dtype=np.float64)
    if n > MANY:  # the pairs that a sample of rows in blocks has
        folds = [np.isin(np.arange(n), Draw(np.array([n]), fold_size(n), int(rng.integers(2**63))).ranks(0, 0, n))]
    else:
        fold = rng.permutation(n) % FOLDS
        folds = [fold == k for k in range(FOLDS)]
    for test in folds:
        train = ~test
        L, R = sp.diags_array(weights[train]).tocsr(), sp.eye_array(int(train.sum())).tocsr()
        totals += _reciprocal_ranks(PairedRows.of(A[train], B[train], L, R), A[test], B[test])
    return totals


def _reciprocal_ranks(rows: PairedRows, A: FloatArray, B: FloatArray) -> FloatArray:
    """Return the mean reciprocal rank of held-out pairs for each γ; zero where the rest does not vary together."""
    scores = np.zeros(len(OFFERED))
    P, Q = rows.axes[0].coordinates(A), rows.axes[1].coordinates(B)
    for k, gamma in enumerate(OFFERED):
        S = rows.cosines(gamma, POWER, P, Q)
        if S is None:
            continue
        own = np.diagonal(S)
        # Ranks in both directions; ties count for the pair, so that equal cosines are no failure of it.
        ranks = [1.0 + (own[:, None] < S).sum(axis=1), 1.0 + (own[None, :] < S).sum(axis=0)]
        scores[k] = np.mean([1.0 / r for r in ranks])
    return scores


def make_paired_rows(joint: JointSpace) -> PairedRows:
    """Return the pairs that labels make, or known ones."""
    if isinstance(joint, ManyRows):
        return _from_class_sums(joint)
    sides = joint.source, joint.target
    n, m = (len(side.points) for side in sides)
    if joint.pairs is not None:
        places = joint.pairs.source, joint.pairs.target
        L = sp.coo_array((joint.pairs.weights, places), shape=(n, m)).tocsr()
        return PairedRows.of(sides[0].points, sides[1].points, L, sp.csr_array(sp.identity(m)))
    # A pair for every two rows of one class: the product of both tables of rows by classes.
    both, C = [(side.y, side.labelled) for side in sides], joint.n_classes
    of_classes = [sp.csr_array((np.ones(len(rows)), (rows, y[rows])), shape=(len(y), C)) for y, rows in both]
    return PairedRows.of(sides[0].points, sides[1].points, *of_classes)


def _from_class_sums(joint: ManyRows) -> PairedRows:
    """Return paired rows of source rows in blocks: few rows with their covariance over the pairs, and class sums."""
    counts, means, y = joint.found.counts, joint.found.means, joint.target.y
    of_target = np.bincount(y, minlength=len(counts)).astype(np.float64)
    n = float(counts @ of_target)
    mean = (counts * of_target) @ means / n
    D = means - mean
    # The covariance over the pairs counts a class by its target rows: within the classes, and between their means.
    A = points_with_covariance((joint.within(of_target) + (D.T * (counts * of_target)) @ D) / n)
    B, weights = joint.target.points, counts[y].astype(np.float64)
    axes = principal_axes(A + mean), principal_axes(B, weights=weights)
    sums = np.zeros((len(counts), B.shape[1]))
    np.add.at(sums, y, B - axes[1].mean)
    shares = np.full(len(A), n / len(A))
    return PairedRows((A, B - axes[1].mean), axes, (shares, weights), (counts[:, None] * D, sums))


# The automatic regularization where labels make the pairs, in units of the covariance's own size.
AUTOMATIC = 0.1
NEAREST = {"rule": "nearest"}
WITH_ITML = {"metric": ITML(random_state=0), **NEAREST}
VARIATES = ("auto", "unit", "weighted")


@dataclass(kw_only=True, eq=False, repr=False)
class CCA(PairMomentEstimator):
    r"""Regularised canonical correlation analysis between the features of two domains: :class:`KCCA`, linear.

    .. math:: \max_{w_s, w_t}\; w_s^T C_{st} w_t \quad\text{s.t.}\quad w^T (C + \rho I) w = 1 \text{ in each domain}

    All parameters and attributes are those of :class:`KCCA`, which has the whole story.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import CCA
    >>> X, Y = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 5.0]]), np.array([[2.0], [4.0], [6.0], [9.0]])
    >>> rows = np.arange(4)
    >>> CCA(regularization=0.0).fit(X, rows, Y, rows, pairs=np.c_[rows, rows]).correlations_.round(4)
    array([0.9995])
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts(
            "cca+nn",
            "common space",
            "Hotelling 1936, pairs as in Kulis et al. 2011",
            LABELS_OR_PAIRS,
            options=NEAREST,
        ),
        SystemFacts("cca+itml", "pair constraints", "Davis et al. 2007 after CCA", LABELS, options=WITH_ITML),
    )

    takes_pairs = True
    intercept = True
    n_components: int | None = None
    regularization: float | str = "auto"
    variates: str = "auto"
    metric: Any = "euclidean"
    rule: Any = "means"
    correlations_: FloatArray = field(init=False)
    residual_: float = field(init=False)
    regularization_: float = field(init=False)
    learner_: Any = field(init=False)

    def _validate(self) -> float | None:
        super()._validate()
        if check_choice(self.variates, "variates", VARIATES) == "weighted" and not isinstance(self.metric, str):
            raise InputError('variates: expected "unit" where a metric is to be learned, got "weighted".')
        learner = not isinstance(self.metric, str | type) and hasattr(self.metric, "fit")
        if not learner and not (isinstance(self.metric, str) and self.metric == "euclidean"):
            raise InputError(f'metric: expected "euclidean" or an object with fit(X, y), got {self.metric!r}.')
        if isinstance(self.regularization, str) and self.regularization == "auto":
            return None
        return check_number(self.regularization, "regularization", low=0.0)

    def _check_blocks(self, blocks: tuple[str, ...], pairs: Any) -> None:
        super()._check_blocks(blocks, pairs)
        if pairs is None and not isinstance(self.metric, str):
            raise InputError(f'metric: expected "euclidean" with source rows in blocks, got {self.metric!r:.60}.')

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: float | None) -> Learned:
        gamma, weighted = settings, self.variates == "weighted"
        if self.variates == "auto":  # variates count by their correlations
            weighted = joint.pairs is not None and isinstance(self.metric, str)
        if gamma is None:
            # With labels no pair can be held out alone: all rows of its class are in other pairs too.
            gamma = choose_regularization(joint, joint.pairs) if weighted and joint.pairs is not None else AUTOMATIC
        rows = make_paired_rows(joint)
        found = rows.directions(gamma, unit=not weighted)
        found = found.leading(self._size(len(found.correlations), len(found.correlations)))
        scaled = found.weight_variates(POWER) if weighted else found
        # Weighted variates are compared by cosine, so that one part of unit length is made of all of them.
        spaces, W = (joint.source.space, joint.target.space), np.vstack([scaled.source, scaled.target])
        parts = (len(found.correlations),) if weighted else ()
        space = CommonSpace(*spaces, W, projected=True, offsets=scaled.offsets, parts=parts)
        learner = None if isinstance(self.metric, str) else self._fit_learner(domains, space)
        attributes = {"correlations_": found.correlations, "residual_": rows.residual(found, gamma)}
        attributes |= {"learner_": learner, "regularization_": gamma}
        return (space if learner is None else space.compose(np.asarray(learner.components_).T)), attributes

    def _needs_labels(self) -> bool:
        return not isinstance(self.metric, str)

    def _fit_learner(self, domains: TwoDomains, space: CommonSpace) -> Any:
        """Return the learner of a metric, fitted to the labelled points of both domains."""
        known = References.of(domains, space).labelled
        if not len(known.y):
            raise InputError("metric: expected labelled rows for a learner to learn from, got none.")
        return clone(self.metric).fit(known.points, known.y)


@dataclass(kw_only=True, eq=False, repr=False)
class KCCA(CCA):
    r"""Regularised canonical correlation analysis between two domains, with any kernels, in closed form.

    .. math::

       \max_{w_s, w_t}\; w_s^T C_{st} w_t \quad\text{s.t.}\quad w_s^T (C_{ss} + \rho_s I) w_s = 1,\;
       w_t^T (C_{tt} + \rho_t I) w_t = 1, \qquad \rho = \gamma \, \mathrm{tr}(C^2) / \mathrm{tr}(C)

    over pairs of a source and a target row, and so on for each next direction, uncorrelated with those before. The
    covariances C are centred and taken over the pairs; with a kernel they are those of its feature space. Where
    labels make the pairs (each labelled target row with every source row of its class), sums over classes are all
    that enters, never the pairs themselves, and there are at most as many correlations as classes less one.

    Where labels make the pairs, every variate is centred and scaled to unit variance over them: these are the points
    of the common space. Where pairs are known, each row has to be distinguished from all others, and directions that
    hardly vary together only add noise: variates, as the constraints above scale them, are then multiplied with the
    square of their correlation, and points compared by their cosine.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain.
    n_components : int, optional
        How many canonical directions to keep; None keeps all whose correlation is not zero.
    regularization : float or "auto"
        γ ≥ 0, free of any scale: the unit is each covariance's mean eigenvalue, weighted by the eigenvalues
        themselves. "auto" is 0.1 where labels make the pairs, and with ten known pairs or more the one of
        {0.003, 0.01, …, 3} that finds held-out pairs best, in five folds; of more than 2,000 pairs one fold of
        at most 1,000 is held out; of a kernel, 400 coordinates (Nyström) decide. Zero is the textbook's CCA, on the
        directions in which the paired rows vary (the pseudo-inverse, where a covariance is singular); with more
        coordinates than pairs all its correlations are one and mean nothing.
    variates : {"auto", "unit", "weighted"}
        How the variates are scaled: to unit variance, or by their correlations, points then at unit length; "auto"
        weights them where pairs are known, unless a ``metric`` is to be learned.
    metric : "euclidean" or object
        How the common space is measured. An object with ``fit(X, y)`` and ``components_`` (k', k), such as ITML,
        is cloned and fitted there to the source and the labelled target rows.
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`MLHD`, but for the rule: rows are called by the nearest class mean, which was better by 3 to 6
        points of accuracy than the nearest row (docs/defaults.md).

    Attributes
    ----------
    common_space_ : CommonSpace
        What was learned; its offsets are the centring.
    correlations_ : array (k,)
        The maxima above, largest first.
    residual_ : float
        The certificate: the largest error of the directions in the equations of the problem, as a part.
    regularization_ : float
        γ.
    learner_ : object or None
        The fitted copy of ``metric``, unless that is "euclidean".
    kernels_ : (Kernel, Kernel)
        The kernels with their bandwidths.
    classes_ : array
        The classes of the source.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import KCCA
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> KCCA("rbf", "linear").fit(X_source, y_source, X_target, y_target).predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts(
            "kcca+nn", "common space", "Akaho 2001, pairs as in Kulis et al. 2011", LABELS_OR_PAIRS, options=NEAREST
        ),
        SystemFacts("kcca+itml", "pair constraints", "Davis et al. 2007 after KCCA", LABELS, options=WITH_ITML),
    )

    source_kernel: Kernel | str = field(default="rbf", kw_only=False)
    target_kernel: Kernel | str = field(default="rbf", kw_only=False)
