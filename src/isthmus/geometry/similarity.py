r"""Similarities of rows that share no column: unit rows, tables of scores, hubness, signatures.

1. **Rows.** Each collection is scaled, brought to unit length and expressed along its principal axes
   (:class:`Prepared`).
2. **Scores.** All similarities of two collections are :math:`S = L R^T`, two slim arrays, multiplied in blocks
   (:class:`Scores`).
3. **Hubness.** A row that is near to everything is no evidence for any partner. CSLS (Conneau et al. 2018)
   subtracts how near either row is to the other collection:

   .. math:: 2 S_{ij} - h_i - h_j, \qquad h = \text{mean of the ten best scores of a row or column.}

   :func:`apply_csls` has it for tables of scores, :func:`rank_neighbours` for points of a common space. Of very many
   rows it is measured among the few best candidates of each (:class:`Shortlist`).
4. **Signatures.** Without any known pair, rows are compared by what looks the same in any features: statistics of
   each row and its sorted similarities to the other rows of its own collection (:func:`geometric_scores`).
5. **Graphs.** Along a curved sheet of rows, distances are numbers of steps between neighbours
   (:func:`graph_distances`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri
from scipy.stats import rankdata, spearmanr
from sklearn.preprocessing import normalize

from isthmus._core.linalg import PrincipalAxes, normalize_rows, principal_axes, squared_norms
from isthmus._core.validation import BoolArray, FloatArray, IntArray, Matrix, ShortRepr, as_dense, is_sparse
from isthmus.data.domains import TwoDomains
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import DOMAINS, CommonSpace, top_k

# The most principal axes that are used.
AXES = 200
# With more rows and more columns than this, the axes are found by products with few vectors.
EXACT = 2500
# Axes along which rows deviate by no more than this share of the largest deviation are dropped.
FLAT = 1e-4
# Vectors more than axes, and rounds, of that.
SPARE, POWERS = 40, 6
# A column whose deviation is below this share of its largest value is constant but for rounding.
CONSTANT = 1e-12
# Principal components: squared correlations of their columns over what chance gives, and the fall of deviations.
UNCORRELATED, FALLING, SURELY = 2.0, 0.5, 0.9
# Columns (and rows) that it takes to recognise principal components, and the most rows that are looked at.
FEWEST_COMPONENTS, MOST_ROWS = 5, 2000
TINY = np.finfo(np.float64).tiny
# Scores that are held in memory at once.
CELLS_PER_BLOCK = 4_000_000
# Scores that are searched at once.
CELLS_IN_CACHE = 250_000
# Scores that differ by less are equal, to rounding.
TIE = 1e-6
# The number of best scores whose mean is the hubness of a row (Conneau et al. 2018).
NEIGHBOURHOOD = 10
# Scores per group: the largest of a row are among the groups with the largest maxima.
GROUP = 16
# Candidates that are kept of each row of A, and of each row of B.
ROW_CANDIDATES, COLUMN_CANDIDATES = 30, 20
# Rows per domain that are kept to measure the hubness of new rows.
SAMPLE = 1000
# Scores below are of candidates that are hidden or forbidden; others (without hubs, or of deviation 1) are small.
NO_PARTNER = -50.0
# Numbers of leading axes whose share of a row is a statistic of it.
LEADING = (8, 16, 24, 40)
# Similarities to the nearest 20 rows are compared one by one, those further down at about 100 places.
NEAREST, PLACES = 20, 100
# With more pairs of rows than this, their neighbours are compared too: too many rows are similar by chance.
MANY_PAIRS = 10_000_000
# Sizes of surroundings, and that of which deviations count too; how often those of surroundings are looked at.
SURROUNDINGS, DEVIATING, STEPS = (5, 15, 50), 15, 2
# Axes that descriptors are reduced to before and after; the weights of similarities and of statistics.
FEW_AXES, MANY_AXES, WEIGHTS = 24, 160, (1.0, 0.7)
# Variances below this share of the largest are rounding.
SMALLEST = 1e-6
# Neighbours in a graph, at least, and the factor by which they grow until it is connected.
FEWEST_NEIGHBOURS, GROWTH = 5, 1.25


def normalize_precisely(X: Matrix) -> Matrix:
    """Scale rows, dense or sparse, to unit length in double precision, where squares of tiny entries are numbers."""
    rows = X.astype(np.float64)
    return normalize(rows) if is_sparse(rows) else normalize_rows(rows)


@dataclass(frozen=True, eq=False)
class Prepared:
    """One collection of rows, ready to be compared.

    Parameters
    ----------
    features : array or CSR (n, d)
        Rows of unit length.
    centred : array (n, k)
        Their coordinates along the principal axes, of most variance first.
    squares : array (n,)
        The squared length of each centred row, in all directions.
    """

    features: Matrix
    mean: FloatArray
    centred: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, X: Matrix, axes: PrincipalAxes) -> Prepared:
        """Express unit rows along axes, in single precision."""
        mean = axes.mean
        squares = squared_norms(X) - 2.0 * np.asarray(X @ mean).ravel() + mean @ mean
        return cls(X, mean, axes.coordinates(X).astype(np.float32), np.maximum(squares, 0.0))

    @property
    def points(self) -> FloatArray:
        """The coordinates with unit length (n, k), in single precision."""
        return normalize_rows(self.centred)


def scale_rows(X: Matrix) -> Matrix:
    """Standardize the columns of dense rows, then scale all rows to unit length.

    Columns that are constant, to the rounding of their own largest value, become zero. Principal components keep
    their deviations.
    """
    if is_sparse(X):
        return normalize_precisely(X)
    Z = as_dense(X)
    centre, scale = column_scaling(Z)
    return normalize_rows((Z - centre) * scale)


def column_scaling(Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean of each column (d,), and the factor of what is left after subtracting it (d,)."""
    largest = np.abs(Z).max(axis=0)
    C = Z / np.where(largest > 0.0, largest, 1.0)
    mean, deviations = C.mean(axis=0), C.std(axis=0)
    varies = deviations > CONSTANT
    # Principal components share one factor: their relative deviations are their information.
    if are_components(C - mean, deviations * largest):
        return mean * largest, np.where(varies, 1.0 / max(float((deviations * largest).max()), TINY), 0.0)
    return mean * largest, np.where(varies, 1.0 / np.where(varies, deviations * largest, 1.0), 0.0)


def are_components(C: FloatArray, deviations: FloatArray) -> bool:
    r"""Return whether columns are principal components: of falling deviation, and not correlated with each other.

    Brought to one deviation, such columns would have no principal axes left: what they say lies in their deviations.

    .. math:: \frac{n - 1}{d (d - 1)} \sum_{j \ne k} r_{jk}^2 \le 2, \qquad
              \mathrm{corr}(\text{rank of } \sigma_j,\; j) \le -\max(0.5, \min(3 / \sqrt{d - 1}, 0.9))

    By chance the first is about 1, and the second about 0 with a deviation of :math:`1 / \sqrt{d - 1}`.

    Parameters
    ----------
    C : array (n, d)
        Columns of mean zero, in any unit.
    deviations : array (d,)
        Standard deviations of the columns in their original units.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6)) @ rng.normal(size=(6, 6))
    >>> Z = (X - X.mean(axis=0)) @ np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2].T
    >>> are_components(X - X.mean(axis=0), X.std(axis=0)), are_components(Z, Z.std(axis=0))
    (False, True)
    """
    varies = deviations > 0.0
    n, d = len(C), int(varies.sum())
    if d < FEWEST_COMPONENTS or n < FEWEST_COMPONENTS:
        return False
    order = spearmanr(np.arange(d), deviations[varies]).statistic
    by_chance = 3.0 / np.sqrt(d - 1)
    if not order <= -max(FALLING, min(by_chance, SURELY)):  # NaN where all are equal: already on one scale
        return False
    S = C[np.linspace(0, n - 1, min(n, MOST_ROWS), dtype=np.intp)][:, varies]
    S = S - S.mean(axis=0)
    S = S / np.maximum(np.sqrt((S**2).sum(axis=0)), TINY)
    G = S.T @ S if d <= len(S) else S @ S.T
    squares = (float((G**2).sum()) - d) / (d * (d - 1))
    return bool((len(S) - 1) * squares <= UNCORRELATED)


def prepare_rows(X: Matrix, name: str = "X", k: int = AXES) -> Prepared:
    """Express rows of unit length, centred, along at most ``k`` principal axes."""
    axes = fit_axes(X, k)
    if not axes.deviations.any():
        raise InputError(f"{name}: expected rows that differ from each other, got {X.shape[0]} that are the same.")
    found = Prepared.of(X, axes)
    # By columns, as matching reads the leading axes at first.
    return replace(found, centred=np.asfortranarray(found.centred))


def fit_axes(X: Matrix, k: int) -> PrincipalAxes:
    """Fit at most ``k`` principal axes, at least one; of very many rows and columns by products with few vectors."""
    if min(X.shape) > EXACT:
        return fit_leading_axes(X, k)
    axes = principal_axes(X, tolerance=FLAT)
    return axes.leading(min(k, max(len(axes.deviations), 1)))


def fit_leading_axes(X: Matrix, k: int) -> PrincipalAxes:
    """Fit the first ``k`` principal axes, by block power iterations from fixed random vectors."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    # Fixed vectors: equal rows give equal axes. The mean is subtracted from products, so sparse rows stay sparse.
    V = np.random.default_rng(0).normal(size=(X.shape[1], k + SPARE))
    for _ in range(POWERS):
        V = np.linalg.qr(V)[0]
        U = np.asarray(X @ V) - mean @ V
        V = np.asarray(X.T @ U) - np.outer(mean, U.sum(axis=0))
    V = np.linalg.qr(V)[0]
    U = np.asarray(X @ V) - mean @ V
    values, E = np.linalg.eigh(U.T @ U)
    deviations = np.sqrt(np.maximum(values[::-1][:k], 0.0) / X.shape[0])
    return PrincipalAxes(mean, V @ E[:, ::-1][:, :k], deviations)


def split_rows(n: int, width: int, times: int = 1) -> Iterator[slice]:
    """Yield runs of n rows whose tables, of this width, have at most :data:`CELLS_PER_BLOCK` cells, some times."""
    step = max(1, times * CELLS_PER_BLOCK // max(1, width))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


@dataclass(frozen=True, eq=False)
class Scores:
    r""":math:`S = L R^T`: one row per row of A (n), one column per row of B (m).

    Sums, multiples, offsets per row or column, and standardisation are all of this form, with some more columns in
    the factors: a table of 20,000 by 20,000 scores is two slim arrays.

    Parameters
    ----------
    left : array (n, q)
        L.
    right : array (m, q)
        R.

    Examples
    --------
    >>> Scores(np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]])).shift(rows=np.array([0.0, 1.0])).table()
    array([[ 3.,  5.],
           [ 7., 11.]])
    """

    left: FloatArray
    right: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns (n, m)."""
        return len(self.left), len(self.right)

    def table(self) -> FloatArray:
        """Return all scores (n, m)."""
        return np.asarray(self.left @ self.right.T)

    def blocks(self, times: int = 1) -> Iterator[tuple[slice, FloatArray]]:
        """Yield runs of rows with their scores; these can be some times as many as usual."""
        return ((rows, self.left[rows] @ self.right.T) for rows in split_rows(*self.shape, times))

    def at(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the scores of pairs of a row and a column."""
        return np.asarray(np.einsum("ij,ij->i", self.left[i], self.right[j]))

    def rank(self, i: IntArray, j: IntArray) -> IntArray:
        """Return the ranks, from 1, of pairs of a row and a column among all columns; ties take the best rank."""
        own, ranks = self.at(i, j), np.empty(len(i), np.intp)
        for rows, S in Scores(self.left[i], self.right).blocks():
            ranks[rows] = 1 + (S - own[rows, None] > TIE).sum(axis=1)
        return ranks

    def among(self, rows: IntArray, columns: IntArray) -> Scores:
        """Return the table of some rows and columns."""
        return Scores(self.left[rows], self.right[columns])

    def __add__(self, other: Scores) -> Scores:
        return Scores(np.hstack([self.left, other.left]), np.hstack([self.right, other.right]))

    def __rmul__(self, factor: float) -> Scores:
        return Scores(self.left.dtype.type(factor) * self.left, self.right)

    def shift(self, rows: FloatArray | float = 0.0, columns: FloatArray | float = 0.0) -> Scores:
        """Add a number per row and a number per column."""
        (n, m), kind = self.shape, self.left.dtype
        left = np.stack([np.broadcast_to(rows, n), np.ones(n)], axis=1).astype(kind)
        right = np.stack([np.ones(m), np.broadcast_to(columns, m)], axis=1).astype(kind)
        return self + Scores(left, right)

    def standardize(self) -> Scores:
        """Bring all cells to mean 0 and deviation 1; a constant table becomes zero."""
        (a, K), (b, H) = (_moments(F) for F in (self.left, self.right))
        mean = float(a @ b)
        variance = float((K * H).sum() + b @ K @ b + a @ H @ a)
        factor = 1.0 / np.sqrt(variance) if variance > 1e-12 * max(mean**2, 1e-12) else 0.0
        return (factor * self).shift(rows=-factor * mean)


def _moments(F: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance of rows, of centred ones: a difference of two large sums would lose the spread."""
    mean = F.mean(axis=0, dtype=np.float64)
    centred = F - mean.astype(F.dtype)
    return mean, (centred.T @ centred).astype(np.float64) / len(F)


@dataclass(frozen=True, eq=False)
class Hubness:
    """How near each row of either collection is to the other: the mean of its ten best scores, and the best."""

    rows: FloatArray
    columns: FloatArray
    best_of_rows: FloatArray
    best_of_columns: FloatArray

    @property
    def value(self) -> float:
        """The mean best score over both collections."""
        return 0.5 * float(self.best_of_rows.mean(dtype=np.float64) + self.best_of_columns.mean(dtype=np.float64))


# Numbers and scores of the partners of rows, both (n, k).
Partners: TypeAlias = tuple[IntArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The best candidates of each row of A (n, k) and of each row of B (m, k'), in no order."""

    rows: IntArray
    columns: IntArray

    @classmethod
    def of(cls, scores: Scores) -> Shortlist:
        """Take those of the highest scores."""
        # Large blocks: of each column, the best of a block are merged with the best so far.
        (rows, _), (columns, _) = find_partners(scores, ROW_CANDIDATES, COLUMN_CANDIDATES, times=5)
        return cls(rows, columns)

    def score(self, scores: Scores) -> tuple[FloatArray, FloatArray]:
        """Return the scores of the candidates, in their places."""
        L, R = scores.left, scores.right
        return _score_candidates(L, R, self.rows), _score_candidates(R, L, self.columns)

    def find_best(self, scores: Scores) -> Best:
        """Return the best candidates."""
        L, R = scores.left, scores.right
        of_rows, of_columns = find_best_candidates(L, R, self.rows), find_best_candidates(R, L, self.columns)
        return Best(of_rows[0], of_columns[0], of_rows[1], of_columns[1])


def _score_candidates(L: FloatArray, R: FloatArray, candidates: IntArray) -> FloatArray:
    """Return the products (n, k) of each row of L with some rows of R."""
    blocks = split_rows(len(L), candidates.shape[1] * R.shape[1])
    return np.concatenate([np.matmul(R[candidates[rows]], L[rows, :, None])[:, :, 0] for rows in blocks])


def find_best_candidates(L: FloatArray, R: FloatArray, candidates: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the best of some rows of R for each row of L, and their products."""
    S, each = _score_candidates(L, R, candidates), np.arange(len(L))
    best = S.argmax(axis=1)
    return candidates[each, best], S[each, best]


def _split_for_cache(S: FloatArray) -> Iterator[slice]:
    """Yield runs of rows whose scores stay in the processor's cache while they are read several times."""
    step = max(1, CELLS_IN_CACHE // max(1, S.shape[1]))
    return (slice(start, start + step) for start in range(0, max(len(S), 1), step))


def _split_table(scores: Scores | FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield runs of rows with their scores; all at once where these are in memory, to be read more than once."""
    return scores.blocks() if isinstance(scores, Scores) else iter([(slice(0, len(scores)), scores)])


def measure_hubness(scores: Scores | FloatArray, among: Shortlist | None = None) -> Hubness:
    """Return the mean of the ten best scores of each row and each column, and the best of them.

    With a shortlist, these are the best among the candidates.
    """
    n, m = scores.shape
    if among is not None and isinstance(scores, Scores):
        a, b = (_largest(found) for found in among.score(scores))
        return Hubness(a.mean(axis=1), b.mean(axis=1), a.max(axis=1), b.max(axis=1))
    rows, top = np.empty(n, np.float32), np.empty(n, np.float32)
    columns = np.empty((m, 0), np.float32)
    for place, S in _split_table(scores):
        best = _largest(S)
        rows[place], top[place] = best.mean(axis=1), best.max(axis=1)
        # Of each column the ten best so far.
        columns = _largest(np.hstack([columns, _largest(S.T)]))
    return Hubness(rows, columns.mean(axis=1), top, columns.max(axis=1))


def _largest(S: FloatArray, k: int = NEIGHBOURHOOD) -> FloatArray:
    """Return the k largest scores of each row, or all where there are fewer, in no order."""
    k = min(k, S.shape[1])
    some = (_select_groups(S[rows], k)[0] for rows in _split_for_cache(S))
    return np.concatenate([np.partition(part, part.shape[1] - k, axis=1)[:, -k:] for part in some])


def find_largest(S: FloatArray, k: int) -> IntArray:
    """Return the places of the k largest scores of each row, or of all where there are fewer, in no order."""
    k, parts = min(k, S.shape[1]), []
    for rows in _split_for_cache(S):
        some, places = _select_groups(S[rows], k)
        found = np.argpartition(some, some.shape[1] - k, axis=1)[:, -k:]
        parts.append(found if places is None else np.take_along_axis(places, found, axis=1))
    return np.concatenate(parts)


def find_partners(scores: Scores, k: int, of_column: int, times: int = 1) -> tuple[Partners, Partners]:
    """Find the best ``k`` in each row and some of each column of a table, of which one block is in memory at a time.

    Returns the numbers and the scores of the partners of each row (n, k), and of each column (m, k'); in no order.

    Examples
    --------
    >>> of_rows, of_columns = find_partners(Scores(np.eye(3), np.eye(3)), 1, 1)
    >>> of_rows[0].ravel(), of_columns[0].ravel()
    (array([0, 1, 2]), array([0, 1, 2]))
    """
    m, kind, found = scores.shape[1], scores.left.dtype, []
    columns, best = np.empty((m, 0), np.intp), np.empty((m, 0), kind)
    for rows, S in scores.blocks(times):
        j, i = find_largest(S, k), find_largest(S.T, of_column)
        found.append((j, np.take_along_axis(S, j, axis=1)))
        columns = np.hstack([columns, i + rows.start])
        best = np.hstack([best, np.take_along_axis(S.T, i, axis=1)])
        kept = find_largest(best, of_column)
        columns, best = np.take_along_axis(columns, kept, axis=1), np.take_along_axis(best, kept, axis=1)
    return (np.concatenate([j for j, _ in found]), np.concatenate([own for _, own in found])), (columns, best)


def _select_groups(S: FloatArray, k: int) -> tuple[FloatArray, IntArray | None]:
    """Return some scores of each row, the k largest among them, and their places; None: all.

    These are in the k groups with the largest maxima. Maxima are many times faster than a partition of all scores.
    """
    n, m = S.shape
    q = m // GROUP
    if q < 2 * k:
        # A partition along strided rows is slow.
        return np.ascontiguousarray(S), None
    # Groups are every q-th score, so that maxima run along memory; one pair of runs at a time stays in the cache.
    maxima = S[:, :q].copy(order="K")
    for start in range(q, q * GROUP, q):
        np.maximum(maxima, S[:, start : start + q], out=maxima)
    groups = np.argpartition(np.ascontiguousarray(maxima), q - k, axis=1)[:, -k:]
    places = (groups[:, None, :] + q * np.arange(GROUP)[:, None]).reshape(n, k * GROUP)
    places = np.hstack([places, np.broadcast_to(np.arange(q * GROUP, m), (n, m - q * GROUP))])
    return S[np.arange(n)[:, None], places], places


def measure_density(points: FloatArray) -> FloatArray:
    """Return the cosine (n,) of each row of unit length to the tenth nearest of its own collection."""
    k = min(NEIGHBOURHOOD + 1, len(points))  # a row is its own nearest
    return np.concatenate([_largest(S, k).min(axis=1) for _, S in Scores(points, points).blocks()])


def apply_csls(scores: Scores, hubness: Hubness | None = None) -> Scores:
    r"""Apply cross-domain similarity local scaling: :math:`2 S_{ij} - h_i - h_j`."""
    hubness = measure_hubness(scores) if hubness is None else hubness
    return (2.0 * scores).shift(-hubness.rows, -hubness.columns)


@dataclass(frozen=True, eq=False)
class Best:
    """The best partner of each row of A and of each row of B, with its score."""

    of_rows: IntArray
    of_columns: IntArray
    row_scores: FloatArray
    column_scores: FloatArray

    @property
    def mutual(self) -> IntArray:
        """The rows of A whose best allowed partner has them as its best."""
        both = self.of_columns[self.of_rows] == np.arange(len(self.of_rows))
        return np.flatnonzero(both & (self.row_scores > NO_PARTNER))


def find_best(scores: Scores | FloatArray, hide: float = 0.0, rng: Generator | None = None) -> Best:
    """Find the best partners; with ``hide``, among candidates of which that share is hidden at random.

    What is hidden is overwritten in a table (n, m).
    """
    n, m = scores.shape
    j, score = np.empty(n, np.intp), np.empty(n, np.float32)
    i, highest = np.zeros(m, np.intp), np.full(m, -np.inf, np.float32)
    for rows, S in _split_table(scores):
        if hide > 0.0 and rng is not None:
            S[rng.random(S.shape, dtype=np.float32) < hide] = -np.inf
        j[rows] = S.argmax(axis=1)
        score[rows] = S[np.arange(len(S)), j[rows]]
        of_block = S.argmax(axis=0)
        found = S[of_block, np.arange(m)]
        better = found > highest
        i[better], highest[better] = of_block[better] + rows.start, found[better]
    return Best(j, i, score, highest)


@dataclass(frozen=True, eq=False, repr=False)
class Background(ShortRepr):
    """Points of either domain against which hubness is measured.

    They are rows of the fit, so that a row's rank does not depend on which other rows are searched at the same time.
    """

    source: FloatArray
    target: FloatArray

    @classmethod
    def of(cls, domains: TwoDomains, space: CommonSpace) -> Background:
        """Take evenly spaced rows of two domains."""
        parts = []
        for name, X in zip(DOMAINS, (domains.source.X, domains.target.X), strict=True):
            rows = np.unique(np.linspace(0, X.shape[0] - 1, min(SAMPLE, X.shape[0])).astype(np.intp))
            parts.append(space.embed(X[rows], name))
        return cls(*parts)

    def hubs(self, space: CommonSpace, points: FloatArray, domain: str) -> FloatArray:
        """Return the hubness of each point: its mean similarity to the nearest rows of a domain."""
        return hub_scores(space, points, self.source if domain == "source" else self.target)


def hub_scores(space: Any, points: FloatArray, others: FloatArray) -> FloatArray:
    """Return the hubness (m,) of points: the mean of the ten best scores in the other domain.

    ``space`` is a common space, or the measure of an index.
    """
    blocks = split_rows(len(points), len(others))
    return np.concatenate([_largest(space.scores(points[rows], others)).mean(axis=1) for rows in blocks])


def rank_neighbours(
    space: Any, queries: FloatArray, references: FloatArray, k: int, hubs: FloatArray | None = None
) -> tuple[FloatArray, IntArray]:
    r"""Rank the k best references for each query, best first: scores and numbers, both (n, k).

    Ranked are the scores s(q, r), or, where ``hubs`` are given, 2 s(q, r) - h(q) - h(r).

    Parameters
    ----------
    space : CommonSpace or Measure
        Defines s: inner products, or minus half the squared distances.
    queries, references : array (n, d), (m, d)
        Points.
    k : int
        How many.
    hubs : array (m,), optional
        h of the references, as :func:`hub_scores` has it.

    Examples
    --------
    >>> from isthmus.geometry.spaces import FeatureSpace
    >>> space = CommonSpace(FeatureSpace(1), FeatureSpace(1), np.ones((2, 1)))
    >>> references, hubs = np.array([[0.0], [1.0]]), np.array([0.0, 0.9])
    >>> rank_neighbours(space, np.array([[0.6]]), references, 1, hubs)[1]
    array([[0]])
    """
    found = []
    for rows in split_rows(len(queries), len(references)):
        S = space.scores(queries[rows], references)
        if hubs is not None:
            own = _largest(S).mean(axis=1)
            S *= 2.0  # in place: a block is as large as memory allows
            S -= own[:, None]
            S -= hubs[None, :]
        found.append(top_k(S, k))
    scores, numbers = zip(*found, strict=True)
    return np.concatenate(scores), np.concatenate(numbers)


def geometric_scores(A: Prepared, B: Prepared) -> Scores:
    """Score rows of A and B by what needs no known pair: statistics of each row, and its sorted similarities.

    Of very many rows, by the surroundings of each row too: the mean descriptors of the rows that are nearest to it.
    """
    places = quantile_positions(len(A.squares), len(B.squares))
    many = len(A.squares) * len(B.squares) > MANY_PAIRS
    k = SURROUNDINGS[-1] if many else 0
    (SA, near_a), (SB, near_b) = (sort_similarities(X, p, k) for X, p in ((A, places[0]), (B, places[1])))
    SA, SB = standardize_columns(SA), standardize_columns(SB)
    FA, FB = (standardize_columns(signatures(X)).astype(np.float32) for X in (A, B))
    if many:
        return score_distances(*add_surroundings((near_a, near_b), [(SA, SB), (FA, FB)])).standardize()
    alike = Scores(normalize_rows(SA), normalize_rows(SB))
    return alike.standardize() + score_distances(FA, FB).standardize()


def score_distances(A: FloatArray, B: FloatArray) -> Scores:
    """Return minus the squared distances of all rows, in single precision."""
    a, b = (np.asarray(X, np.float32) for X in (A, B))
    return Scores(2.0 * a, b).shift(-np.einsum("ij,ij->i", a, a), -np.einsum("ij,ij->i", b, b))


def add_surroundings(
    near: tuple[IntArray, IntArray], kinds: list[tuple[FloatArray, FloatArray]]
) -> tuple[FloatArray, FloatArray]:
    """Return descriptors of the rows of either side, joined with those of the nearest rows, along common axes."""
    parts = []
    for weight, kind in zip(WEIGHTS, kinds, strict=True):
        pair = list(kind)
        for step in range(STEPS + 1):
            if step:
                few = _reduce_jointly(pair, FEW_AXES, even=True)
                pair = [describe_surroundings(F, rows) for F, rows in zip(few, near, strict=True)]
            parts.append([weight / np.sqrt(F.shape[1]) * F for F in pair])
    return _reduce_jointly([np.hstack(side) for side in zip(*parts, strict=True)], MANY_AXES)


def describe_surroundings(F: FloatArray, near: IntArray) -> FloatArray:
    """Return means of the descriptors of the nearest rows, few to many, and their deviations, standardized."""
    parts = []
    for rows in split_rows(len(F), near.shape[1] * F.shape[1]):
        X = F[near[rows]]
        parts.append(np.hstack([*(X[:, :k].mean(axis=1) for k in SURROUNDINGS), X[:, :DEVIATING].std(axis=1)]))
    return standardize_columns(np.concatenate(parts))


def _reduce_jointly(pair: Sequence[FloatArray], k: int, *, even: bool = False) -> tuple[FloatArray, FloatArray]:
    """Return rows of both sides along their k common axes; where even, with deviations closer to each other."""
    mean, covariance = _moments(np.vstack(pair))
    values, V = np.linalg.eigh(covariance)
    V, values = V[:, ::-1][:, :k], values[::-1][:k]
    if even:
        V = V * np.maximum(values, SMALLEST * values[0]) ** -0.25
    a, b = (np.asarray((F - mean) @ V, dtype=np.float32) for F in pair)
    return a, b


def standardize_columns(F: FloatArray) -> FloatArray:
    """Bring columns to mean 0 and deviation 1; constant ones to zero."""
    deviations = F.std(axis=0)
    return np.asarray((F - F.mean(axis=0)) / np.where(deviations > 0.0, deviations, 1.0))


def quantile_positions(n: int, m: int) -> tuple[IntArray, IntArray]:
    """Return the places that are compared in the sorted similarities to n - 1 and to m - 1 other rows.

    Examples
    --------
    >>> [places[-1] for places in quantile_positions(50, 100)]
    [np.int64(48), np.int64(98)]
    """
    last = min(n, m) - 2
    first = np.arange(min(NEAREST, last + 1))
    further = np.geomspace(min(NEAREST, last), last, PLACES).astype(np.intp)
    places = np.unique(np.concatenate([first, further]))
    a, b = (np.round(places * ((k - 2) / last)).astype(np.intp) for k in (n, m))
    return a, b


def sort_similarities(X: Prepared, places: IntArray, k: int = 0) -> tuple[FloatArray, IntArray]:
    """Return the cosines of each centred row to all others, in falling order, at some places (n, p).

    Also the k nearest rows (n, k), the nearest first.
    """
    n = len(X.squares)
    out, near = np.empty((n, len(places)), np.float32), np.empty((n, k), np.intp)
    lengths = np.sqrt(np.maximum(X.squares, 1e-300))
    shift = np.asarray(X.features @ X.mean).ravel()
    dense = None if is_sparse(X.features) else ((X.features - X.mean) / lengths[:, None]).astype(np.float32)
    for rows in split_rows(n, n):
        if dense is None:
            G = (X.features[rows] @ X.features.T).toarray()
            G = (G - shift[rows, None] - shift + X.mean @ X.mean) / lengths[rows, None] / lengths
        else:
            G = dense[rows] @ dense.T
        G = G.astype(np.float32)
        G[np.arange(len(G)), np.arange(rows.start, rows.stop)] = -np.inf  # a row is not its own neighbour
        if k:
            nearest = find_largest(G, k)
            order = np.argsort(-np.take_along_axis(G, nearest, axis=1), axis=1)
            near[rows] = np.take_along_axis(nearest, order, axis=1)
        G.sort(axis=1)
        out[rows] = G[:, ::-1][:, places]
    return out, near


def signatures(X: Prepared, leading: tuple[int, ...] = LEADING) -> FloatArray:
    """Return twelve statistics of each row that mean the same in any features, as normal scores of ranks (n, 12)."""
    Z = X.centred.astype(np.float64)
    found = [(Z[:, :k] ** 2).sum(axis=1) for k in leading] + [X.squares]
    for k in leading[1:]:
        U = normalize_rows(Z[:, :k])
        found.append(U @ U.mean(axis=0))
    found += _of_features(X.features)
    return np.stack([ndtri((rankdata(f) - 0.5) / len(f)) for f in found], axis=1)


def _of_features(X: Matrix) -> list[FloatArray]:
    """Return the effective number of columns (two kinds), their popularity, and the peak of each row."""
    size = abs(X)
    squares = size.multiply(size).tocsr() if is_sparse(X) else size**2

    def total(M: Matrix) -> FloatArray:
        return np.asarray(M.sum(axis=1)).ravel()

    first, second = total(size), total(squares) + 1e-300
    fourth = total(squares.multiply(squares) if is_sparse(X) else squares**2) + 1e-300
    popularity = np.asarray(squares.sum(axis=0)).ravel() / (float(squares.sum()) or 1.0)
    popular, top = np.asarray(squares @ popularity).ravel(), size.max(axis=1)
    peak = np.asarray(top.toarray() if is_sparse(top) else top).ravel()
    return [first**2 / second, second**2 / fourth, popular / second, peak / np.sqrt(second)]


def graph_distances(distances: FloatArray, share: float) -> FloatArray:
    """Return steps between rows (n, n) in the graph of nearest neighbours, in units of the most, in single precision.

    Two rows are linked if either is among the nearest of the other; there are more of these where the graph would
    else fall apart.

    Parameters
    ----------
    distances : array (n, n)
        Any that rank neighbours.
    share : float
        Of the rows, those that are the neighbours of a row; at least five.

    Examples
    --------
    >>> x = np.arange(30.0)
    >>> graph_distances(np.abs(x[:, None] - x), 0.1)[0, [1, 5, 29]]
    array([0.1, 0.1, 1. ], dtype=float32)
    """
    n = len(distances)
    k = min(max(FEWEST_NEIGHBOURS, round(share * n)), n - 1)
    while connected_components(linked := _link_neighbours(distances, k), directed=False)[0] > 1:
        k = min(n - 1, int(GROWTH * k) + 1)
    # Products of dense tables: a graph with a fifth of all links is faster searched by these than by a queue.
    step = linked.astype(np.float32)
    steps, front, reached, most = step.copy(), step, linked | np.eye(n, dtype=bool), 1
    while not reached.all():
        new = (front @ step > 0.0) & ~reached
        most += 1
        steps[new] = most
        front, reached = new.astype(np.float32), reached | new
    return np.asarray(steps / np.float32(most))


def _link_neighbours(distances: FloatArray, k: int) -> BoolArray:
    """Return the adjacency (n, n) of rows of which one is among the k nearest of the other."""
    n = len(distances)
    linked = np.zeros((n, n), dtype=bool)
    np.put_along_axis(linked, np.argpartition(distances, k, axis=1)[:, : k + 1], True, axis=1)
    linked |= linked.T
    np.fill_diagonal(linked, False)
    return linked
