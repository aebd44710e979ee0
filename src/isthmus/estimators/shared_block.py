r"""Shared features beside a learned map: one common space in which both count.

With L(a, b) the score of two rows by a learned map, and :math:`S_k(a, b)` their scores by what both domains have
(numbers, terms of texts), rows are ranked by

.. math:: F = w_0 L / \sigma_L + \sum_k w_k S_k / \sigma_k, \qquad w \ge 0

The weights are those of a conditional logit: they maximize, over the known pairs, the log-probability of the partner
among all candidates, both ways, less :math:`|w|^2 / 2`. L is out of fold there: a map that has seen a pair would be
trusted too much. A block counts if the likelihood ratio of its weight exceeds :data:`LEAST_RATIO`.

Scores are minus half the squared distances of points, so F is the score of wider points: those of the map next to
those of the blocks, each times a root of its weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import logsumexp

from isthmus._core.threads import cap_methods
from isthmus._core.validation import FloatArray, IntArray, Matrix, ShortRepr, as_dense, check_number, is_sparse
from isthmus.data.domains import Domain, KnownPairs, TwoDomains
from isthmus.data.shared_columns import find_common_columns
from isthmus.estimators.base import TrainingData, warn_about_data
from isthmus.estimators.mapped import Learned, MetricEstimator
from isthmus.estimators.paired_maps import RidgeMap
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import DOMAINS, CommonSpace
from isthmus.geometry.similarity import hub_scores
from isthmus.geometry.spaces import JointSpace
from isthmus.retrieval.rules import Measure, References

# The 99 % quantile of χ² with one degree of freedom.
LEAST_RATIO = 6.6
FOLDS = 5
# Rows of either domain among which partners are searched, and pairs that are searched, when weights are learned.
MOST_CANDIDATES, MOST_PAIRS = 2_000, 500
# Own columns with more non-zero cells than this are dense, whatever the columns next to them are.
DENSE = 0.1
# The scores of the searched pairs: of their source rows (p, m) and of their target rows (p, n).
BothWays = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False, repr=False)
class SharedBlock(ShortRepr):
    """What rows of both domains have in common, as points: standardized numbers, and terms of texts.

    The terms of a row weigh (1 + log count) · idf. Their signed weights are added up in fewer columns, which keeps
    inner products on average, and scaled to unit length.

    Parameters
    ----------
    columns : array (c, 2)
        The places of numbers in the rows of either domain.
    mean, scale : array (c,)
        Of these numbers, over the rows of both domains.
    idf : array (t,)
        Of the terms, whose counts are the last t columns of a row.
    width : int
        The number of columns that the terms are added up in.
    n_features : (int, int)
        The numbers of columns that rows of the source and of the target have.
    """

    columns: IntArray
    mean: FloatArray
    scale: FloatArray
    idf: FloatArray
    width: int
    n_features: tuple[int, int]

    def __post_init__(self) -> None:
        shapes = [np.shape(getattr(self, name)) for name in ("columns", "mean", "scale", "idf")]
        c = len(self.mean)
        if shapes != [(c, 2), (c,), (c,), (len(self.idf),)] or not (self.scale > 0.0).all() or self.width < 1:
            raise InputError(f"block: expected places, means and scales of numbers, got shapes {shapes}.")

    @classmethod
    def of(cls, domains: TwoDomains, columns: IntArray, n_terms: int, width: int) -> SharedBlock:
        """Learn means, scales and idf from the rows of both domains together."""
        both = domains.source.X, domains.target.X
        numbers = np.vstack([as_dense(X[:, places]) for X, places in zip(both, columns.T, strict=True)])
        deviation = numbers.std(axis=0)
        counts = [csr_array(X[:, X.shape[1] - n_terms :]) for X in both]
        ours, theirs = (np.bincount(X.indices[X.data != 0], minlength=n_terms) for X in counts)
        idf = 1.0 + np.log((1.0 + len(numbers)) / (1.0 + ours + theirs))
        # Terms of one language make rows longer, but tell nothing of partners.
        idf[(np.minimum(ours, theirs) == 0) & (np.maximum(ours, theirs) > 1)] = 0.0
        scale = np.where(deviation > 0.0, deviation, 1.0)
        widths = domains.source.shape[1], domains.target.shape[1]
        return cls(columns, numbers.mean(axis=0), scale, idf.astype(np.float32), width, widths)

    def own_columns(self, X: Matrix, domain: str) -> Matrix:
        """Return the columns of rows that a map is learned from."""
        return own_columns(X, self.columns[:, DOMAINS.index(domain)], len(self.idf))

    def points(self, X: Matrix, domain: str) -> tuple[FloatArray, FloatArray]:
        """Return the numbers (n, c) and the terms (n, width + 2) of rows; either has no columns where there are none.

        A row without terms is a unit vector of its own domain, as far from all rows as those without a common term.
        """
        side = DOMAINS.index(domain)
        numbers = (as_dense(X[:, self.columns[:, side]]) - self.mean) / self.scale
        if not len(self.idf):
            return numbers, np.zeros((X.shape[0], 0))
        counts = csr_array(X[:, X.shape[1] - len(self.idf) :])
        # Signs of hashing may cancel: a stored count can be zero.
        sublinear = np.sign(counts.data) * (1.0 + np.log(np.maximum(np.abs(counts.data), 1.0)))
        weights = sublinear * self.idf[counts.indices]
        terms = csr_array((weights, counts.indices % self.width, counts.indptr), shape=(X.shape[0], self.width + 2))
        T = as_dense(terms).astype(np.float32)
        lengths = np.linalg.norm(T, axis=1)
        T[lengths == 0.0, self.width + side] = 1.0
        return numbers, T / np.where(lengths > 0.0, lengths, 1.0)[:, None]


def own_columns(X: Matrix, places: IntArray, n_terms: int) -> Matrix:
    """Return rows without the shared numbers at these places and without the counts of terms, which come last.

    Where nothing else is there, the numbers stay. Where more than a few of its cells are not zero, the result is
    dense, whatever the columns of terms are.
    """
    if not len(places) and not n_terms:
        return X
    numbers = np.arange(X.shape[1] - n_terms)
    others = np.setdiff1d(numbers, places)
    own = X[:, others if len(others) else numbers]
    return as_dense(own) if is_sparse(own) and own.nnz > DENSE * np.prod(own.shape) else own


@cap_methods
@dataclass(frozen=True, eq=False, repr=False)
class SharedSpace(CommonSpace):
    """A learned common space with the points of a shared block next to its own.

    Parameters
    ----------
    block : SharedBlock
        Gives rows their shared points.
    scales : tuple of three float
        The factors of the learned points, of shared numbers and of shared terms; what has factor 0 is left out, and
        with (1, 0, 0) everything is as it was learned.
    """

    block: Any = None
    scales: tuple[float, ...] = (1.0, 0.0, 0.0)

    @classmethod
    def of(cls, learned: CommonSpace, block: SharedBlock, scales: Sequence[float]) -> SharedSpace:
        """Put a block next to a learned space of distances."""
        values = {each.name: getattr(learned, each.name) for each in fields(CommonSpace)}
        return cls(**values, block=block, scales=tuple(map(float, scales)))

    @property
    def uses_block(self) -> bool:
        """Whether anything shared counts."""
        return any(self.scales[1:])

    @property
    def arrays(self) -> tuple[FloatArray, ...]:
        """The arrays that points depend on."""
        block = self.block
        return (*super().arrays, block.columns, block.mean, block.scale, block.idf, np.array(self.scales))

    @property
    def dimension(self) -> int:
        """The number of columns of :meth:`embed`."""
        block = self.block
        widths = super().dimension, len(block.mean), block.width + 2
        return sum(width for width, scale in zip(widths, self.scales, strict=True) if scale)

    def n_features(self, domain: str) -> int:
        """Return the number of columns of rows of a domain: own ones, shared numbers and counts of terms."""
        return int(self.block.n_features[DOMAINS.index(domain)])

    def embed(self, X: Any, domain: str) -> FloatArray:
        """Map rows to points: the learned ones next to the shared ones; in single precision where terms count."""
        rows = self._rows(X, domain)
        learned = self.learned.embed(self.block.own_columns(rows, domain), domain)
        if not self.uses_block:
            return learned
        parts = learned, *self.block.points(rows, domain)
        dtype = np.float32 if self.scales[2] else learned.dtype
        return np.hstack([(c * part).astype(dtype) for part, c in zip(parts, self.scales, strict=True) if c])

    @property
    def learned(self) -> CommonSpace:
        """The space without the block."""
        return CommonSpace(**{each.name: getattr(self, each.name) for each in fields(CommonSpace)})

    def squared_distances(self, A: Any, B: Any, domains: tuple[str, str]) -> FloatArray:
        """Return all squared distances (n, m) between rows of the named domains, which may be the same one."""
        rows = self._rows(A, domains[0], "A"), self._rows(B, domains[1], "B")
        a, b = (self.block.own_columns(X, domain) for X, domain in zip(rows, domains, strict=True))
        D = self.scales[0] ** 2 * self.learned.squared_distances(a, b, domains)
        if self.uses_block:
            points = (self.block.points(X, domain) for X, domain in zip(rows, domains, strict=True))
            for P, Q, c in zip(*points, self.scales[1:], strict=True):
                D = D - 2.0 * c**2 * Measure().scores(P, Q)
        return np.asarray(np.maximum(D, 0.0))

    def scores(self, queries: FloatArray, references: FloatArray) -> FloatArray:
        """Return minus half the squared distances (n, m) of points, or what the learned space has."""
        return Measure().scores(queries, references) if self.uses_block else self.learned.scores(queries, references)

    def matrix(self) -> FloatArray:
        """Return M of the learned space; raise where shared points count, which no matrix has."""
        if self.uses_block:
            raise InputError("matrix: expected a linear map of own columns, got one with shared features next to it.")
        return super().matrix()


@dataclass(frozen=True, eq=False)
class PairSearch:
    """Known pairs that are searched to learn weights: rows of their source and target among candidates.

    Parameters
    ----------
    pairs : KnownPairs
        All known pairs.
    fold : array (P,)
        The fold of each; pairs of one source row are in one fold.
    searched : array (p,)
        The numbers of the pairs that are searched.
    rows, columns : array (n,), array (m,)
        The candidates, as sorted row numbers of the source and of the target, partners among them.
    """

    pairs: KnownPairs
    fold: IntArray
    searched: IntArray
    rows: IntArray
    columns: IntArray

    @classmethod
    def of(cls, domains: TwoDomains, pairs: KnownPairs) -> PairSearch:
        """Draw folds, pairs and candidates."""
        rng = np.random.default_rng(0)
        objects = np.unique(pairs.source, return_inverse=True)[1]
        n = objects.max() + 1
        fold = (rng.permutation(n) % min(FOLDS, n))[objects]
        searched = np.sort(rng.permutation(len(pairs))[:MOST_PAIRS])
        candidates = (
            np.union1d(own[searched], rng.permutation(domain.shape[0])[:MOST_CANDIDATES])
            for own, domain in ((pairs.source, domains.source), (pairs.target, domains.target))
        )
        return cls(pairs, fold, searched, *candidates)

    @property
    def partners(self) -> tuple[IntArray, IntArray]:
        """The places of the searched pairs' rows among the candidates."""
        own = self.pairs.source[self.searched], self.pairs.target[self.searched]
        return np.searchsorted(self.rows, own[0]), np.searchsorted(self.columns, own[1])

    def omit_fold(self, fold: int) -> KnownPairs:
        """Return the pairs of the other folds; raise where there are none."""
        kept = self.fold != fold
        return KnownPairs(self.pairs.rows[kept], self.pairs.weights[kept])

    def score(self, space: Any, A: FloatArray, B: FloatArray) -> BothWays:
        """Return the scores of the searched rows, less hubness, by points A (n, k), B (m, k) of the candidates."""
        S = 2.0 * space.scores(A, B) - hub_scores(space, A, B)[:, None] - hub_scores(space, B, A)
        i, j = self.partners
        return S[i], S[:, j].T


def fit_logit(scores: Sequence[BothWays], partners: tuple[IntArray, IntArray]) -> tuple[FloatArray, float]:
    r"""Fit the weights w ≥ 0 of scores to partners, by a conditional logit; return them and the loss.

    .. math:: \min_{w \ge 0} \; \tfrac12 |w|^2 - \tfrac12 \sum_{(i, j)}
              \log \frac{e^{F_{ij}}}{\sum_{j'} e^{F_{ij'}}} + \log \frac{e^{F_{ij}}}{\sum_{i'} e^{F_{i'j}}},
              \qquad F = \sum_k w_k S_k

    Examples
    --------
    >>> S = 3.0 * np.eye(4)
    >>> w, loss = fit_logit([(S, S), (np.ones((4, 4)), np.ones((4, 4)))], (np.arange(4), np.arange(4)))
    >>> w.round(2)
    array([1.12, 0.  ])
    """
    p = np.arange(len(partners[0]))
    tables = [np.stack([both[way] for both in scores], axis=-1) for way in (0, 1)]
    own = [T[p, places] for T, places in zip(tables, partners[::-1], strict=True)]

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = 0.5 * float(w @ w), w.copy()
        for T, right in zip(tables, own, strict=True):
            F = T @ w
            total = logsumexp(F, axis=1)
            value += 0.5 * float((total - right @ w).sum())
            gradient += 0.5 * (np.einsum("pm,pmk->k", np.exp(F - total[:, None]), T) - right.sum(axis=0))
        return value, gradient

    start = np.full(len(scores), 0.5)
    found = minimize(loss, start, jac=True, bounds=[(0.0, None)] * len(start), method="L-BFGS-B")
    return np.asarray(found.x), float(found.fun)


def choose_blocks(
    scores: Sequence[BothWays], partners: tuple[IntArray, IntArray]
) -> tuple[FloatArray, dict[int, float]]:
    """Return the weights of learned scores and of blocks, zero for uninformative blocks, and likelihood ratios.

    Blocks are left out, the weakest first, until the likelihood ratio of every one that is left exceeds
    :data:`LEAST_RATIO`. The ratio of a block is that against leaving it out, at the time when that was decided.
    """
    kept, ratios = list(range(len(scores))), dict[int, float]()
    while True:
        w, loss = fit_logit([scores[k] for k in kept], partners)
        others = {k: fit_logit([scores[i] for i in kept if i != k], partners)[1] for k in kept[1:]}
        ratios |= {k: 2.0 * (other - loss) for k, other in others.items()}
        weakest = min(others, key=others.__getitem__, default=None)
        if weakest is None or ratios[weakest] > LEAST_RATIO:
            weights = np.zeros(len(scores))
            weights[kept] = w
            return weights, ratios
        kept.remove(weakest)


@dataclass(kw_only=True, eq=False, repr=False)
class SharedFeatureUnion(MetricEstimator):
    r"""A system that learns from known pairs, with the features that both domains share next to its map.

    Two tables mostly have something in common: numbers, names, loanwords. A map learned from few pairs misses what
    these say, and they miss what only a map can say. Here both count, by weights that are learned from the pairs:

    .. math:: F(a, b) = w_0 L(a, b) / \sigma_L + \sum_k w_k S_k(a, b) / \sigma_k

    with L out of fold. Shared features that do not help to find partners are left out, and then everything is exactly
    as the system alone learns it.

    Parameters
    ----------
    estimator : MetricEstimator, optional
        The system, such as :class:`~isthmus.RidgeMap` (the default), :class:`~isthmus.CCA` or :class:`~isthmus.MLHD`.
        It is not changed; its rule and references are not used.
    columns : sequence, optional
        The numbers that both domains have: names, or pairs of a source and a target column, by name or number. None:
        columns of equal names, where both tables are data frames. The system learns from the other columns, if there
        are any: give a column twice to have it learned from too.
    n_terms : int
        How many of the last columns of both domains are counts of hashed terms, as ``HashingVectorizer(n_features=…,
        analyzer="char_wb", ngram_range=(3, 5), norm=None)`` makes them. The system does not learn from them.
    n_projections : int
        The number of columns that the terms have in the common space: more are more exact, and take more memory.
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`~isthmus.MLHD`.

    Attributes
    ----------
    shared_used_ : bool
        Whether any shared feature counts.
    weights_ : dict of str to float
        The weights w of the "learned" scores, and of shared "numbers" and "terms", each over its deviation.
    likelihood_ratios_ : dict of str to float
        What each shared block adds to the log-likelihood of the pairs, twice; it counts above 6.6.
    common_space_ : SharedSpace
        The learned space with the shared features next to it.
    references_, kernels_, classes_
        As in :class:`~isthmus.MLHD`, but of a domain without labels, only paired rows are references.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import RidgeMap, SharedFeatureUnion
    >>> rng = np.random.default_rng(0)
    >>> A, shared = rng.normal(size=(200, 9)), rng.normal(size=(200, 2))
    >>> B = np.hstack([A @ rng.normal(size=(9, 6)), shared + 0.1 * rng.normal(size=(200, 2))])
    >>> A = np.hstack([A, shared])
    >>> pairs = np.c_[:20, :20]
    >>> union = SharedFeatureUnion(RidgeMap(), columns=[(9, 6), (10, 7)]).fit(A, None, B, None, pairs=pairs)
    >>> union.shared_used_, sorted(union.weights_)
    (True, ['learned', 'numbers'])
    >>> alone = RidgeMap().fit(A, None, B, None, pairs=pairs)
    >>> found = [model.search(B[20:], A[20:], 1)[1][:, 0] for model in (alone, union)]
    >>> [round(float((rows == np.arange(180)).mean()), 2) for rows in found]
    [0.89, 0.96]
    """

    takes_pairs = True
    needs_pairs = True

    estimator: Any = field(default=None, kw_only=False)
    columns: Any = field(default=None, kw_only=False)
    n_terms: int = field(default=0, kw_only=False)
    n_projections: int = 4096
    shared_used_: bool = field(init=False)
    weights_: dict[str, float] = field(init=False)
    likelihood_ratios_: dict[str, float] = field(init=False)

    def _validate(self) -> Any:
        super()._validate()
        check_number(self.n_terms, "n_terms", low=0, whole=True)
        check_number(self.n_projections, "n_projections", low=1, whole=True)
        system = self._system()
        learns = isinstance(system, MetricEstimator) and not isinstance(system, SharedFeatureUnion)
        if not (learns and system.takes_pairs and system.source_transformer is system.target_transformer is None):
            expected = "a system without transformers that learns a metric from pairs"
            raise InputError(f"estimator: expected {expected}, got {system!r:.60}.")
        return system._validate()

    def _system(self) -> Any:
        return RidgeMap() if self.estimator is None else self.estimator

    def _fit_data(self, data: TrainingData, settings: Any) -> dict[str, Any]:
        domains, attributes = self._prepare(data)
        A, B = data.X_source, data.X_target
        if self.source_transformer is not None or self.target_transformer is not None:
            A, B = domains.source.X, domains.target.X  # these have no names any more
        nothing = self.columns is not None and not len(self.columns)
        columns = None if nothing else find_common_columns(self.columns, A, B, "columns")
        columns = np.zeros((0, 2), dtype=np.intp) if columns is None else columns
        return {**self._run_fit(domains, (settings, columns)), **attributes}

    def _fit_domains(self, domains: TwoDomains, settings: Any) -> dict[str, Any]:
        for domain, name in ((domains.source, "X_source"), (domains.target, "X_target")):
            if domain.shape[1] <= self.n_terms:
                raise InputError(f"{name}: expected columns before the {self.n_terms} of terms, got none.")
        self._check_votes(len(domains.source.labelled), len(domains.target.labelled))
        own, system = self._strip_domains(domains, settings[1]), self._system()
        learned = self._fit_space(system._joint_space(own), domains, settings)
        warn_about_data(own, learned["kernels_"], intercept=system.intercept)
        return learned

    def _make_references(self, domains: TwoDomains, space: CommonSpace, weights: Any) -> References:
        """Return the paired rows of a domain without labels, and the labelled rows of others.

        Points are wide, and all rows of a table of texts would be most of a model file.
        """
        pairs = domains.pairs
        assert pairs is not None  # fit has checked this
        source, target = (
            domain if len(domain.labelled) else Domain(domain.X[rows], domain.y[rows])
            for domain, rows in ((domains.source, np.unique(pairs.source)), (domains.target, np.unique(pairs.target)))
        )
        return References.of(replace(domains, source=source, target=target), space)

    def _strip_domains(self, domains: TwoDomains, columns: IntArray) -> TwoDomains:
        """Return the domains without shared numbers and terms."""
        source, target = (
            Domain(own_columns(domain.X, places, self.n_terms), domain.y)
            for domain, places in zip((domains.source, domains.target), columns.T, strict=True)
        )
        return replace(domains, source=source, target=target)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: Any) -> Learned:
        inner, columns = settings
        system, pairs = self._system(), domains.pairs
        assert pairs is not None  # fit has checked this
        own = self._strip_domains(domains, columns)
        learned, attributes = system._fit_joint(own, joint, inner)
        block = SharedBlock.of(domains, columns, int(self.n_terms), int(self.n_projections))
        search = PairSearch.of(domains, pairs)
        rows = domains.source.X[search.rows], domains.target.X[search.columns]
        shared = list(zip(*(block.points(X, name) for X, name in zip(rows, DOMAINS, strict=True)), strict=True))
        used = {name: k for k, name in enumerate(("numbers", "terms")) if shared[k][0].shape[1]}
        scores = [self._score_out_of_fold(own, search, inner)] if used else []
        scores += [search.score(Measure(), *shared[k]) for k in used.values()]
        deviations = np.array([np.sqrt(0.5 * (r.var() + c.var())) for r, c in scores])
        deviations = np.where(deviations > 0.0, deviations, 1.0)
        scaled = [(r / d, c / d) for (r, c), d in zip(scores, deviations, strict=True)]
        w, ratios = choose_blocks(scaled, search.partners) if used else (np.ones(1), {})
        names = ["learned", *used]
        factors = dict(zip(names, np.sqrt(w / deviations), strict=True)) if w[1:].any() else {"learned": 1.0}
        scales = [factors.get(name, 0.0) for name in ("learned", "numbers", "terms")]
        attributes |= {
            "shared_used_": bool(w[1:].any()),
            "weights_": dict(zip(names, w.tolist(), strict=True)),
            "likelihood_ratios_": {names[k]: ratio for k, ratio in ratios.items()},
        }
        return SharedSpace.of(learned, block, scales), attributes

    def _score_out_of_fold(self, own: TwoDomains, search: PairSearch, settings: Any) -> BothWays:
        """Return the learned scores of the searched pairs, each by a map that was learned without its fold."""
        system = self._system()
        rows = own.source.X[search.rows], own.target.X[search.columns]
        found = [np.zeros((len(search.searched), X.shape[0])) for X in rows[::-1]]
        for fold in range(search.fold.max() + 1):
            held = np.flatnonzero(search.fold[search.searched] == fold)
            with suppress(InputError):  # of too few or equal rows nothing is learned, and their scores stay zero
                taught = replace(own, pairs=search.omit_fold(fold))
                space, _ = system._fit_joint(taught, system._joint_space(taught), settings)
                both = search.score(space, *(space.embed(X, name) for X, name in zip(rows, DOMAINS, strict=True)))
                for table, part in zip(found, both, strict=True):
                    table[held] = part[held]
        return found[0], found[1]
