"""Rows of one collection as they are compared: features on one scale, then coordinates along the principal axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from scipy.special import ndtri
from scipy.stats import rankdata, spearmanr
from sklearn.preprocessing import normalize

from isthmus._core.linalg import PrincipalAxes, principal_axes
from isthmus._core.validation import FloatArray, IntArray, Matrix, as_dense, is_sparse, short_repr
from isthmus.data.domains import TwoDomains
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import DOMAINS, CommonSpace, top_k

AXES = 200
"""The most principal axes that are used."""
EXACT = 2500
"""With more rows and more columns than this, the axes are found by products with few vectors."""
CONSTANT = 1e-12
"""A column whose deviation is below this share of its largest value is constant but for rounding."""
UNCORRELATED, FALLING, SURELY = 2.0, 0.5, 0.9
"""Principal components: squared correlations of their columns over what chance gives, and the fall of deviations."""
FEWEST_COMPONENTS, MOST_LOOKED_AT = 5, 2000
"""Columns (and rows) that it takes to tell, and rows that are looked at."""
TINY = np.finfo(np.float64).tiny
SPARE, POWERS = 40, 6
"""Vectors more than axes, and rounds, of that."""
LEADING = (8, 16, 24, 40)
"""Numbers of leading axes whose share of a row is a statistic of it."""
NEAREST, PLACES = 20, 100
"""The similarities to the nearest rows are taken one by one, those further down at about so many places."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """One collection, ready to be matched.

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

    @property
    def points(self) -> FloatArray:
        """The coordinates with unit length (n, k), in single precision."""
        return normalize_rows(self.centred)


def normalize_rows(X: FloatArray) -> FloatArray:
    """Rows of unit length; a row of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    return X / np.where(lengths > 0.0, lengths, 1.0).astype(X.dtype)[:, None]


def normalize_precisely(X: Matrix) -> Matrix:
    """Rows, dense or sparse, of unit length in double precision, however small they are; a row of zeros stays."""
    rows = X.astype(np.float64)
    return normalize(rows) if is_sparse(rows) else normalize_rows(rows)


def scale_rows(X: Matrix) -> Matrix:
    """Rows of unit length; of dense ones, each column is first brought to mean 0 and deviation 1, or is left out.

    What is left out is what does not vary, to the rounding of its own largest value: other columns don't matter.
    Principal components keep their deviations.
    """
    if is_sparse(X):
        return normalize_precisely(X)
    Z = as_dense(X)
    centre, scale = column_scaling(Z)
    return normalize_rows((Z - centre) * scale)


def column_scaling(Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean of each column (d,), and what to multiply by after it is taken away (d,)."""
    largest = np.abs(Z).max(axis=0)
    C = Z / np.where(largest > 0.0, largest, 1.0)
    mean, deviations = C.mean(axis=0), C.std(axis=0)
    varies = deviations > CONSTANT
    if are_components(C - mean, deviations * largest):
        return mean * largest, np.where(varies, 1.0 / max(float((deviations * largest).max()), TINY), 0.0)
    return mean * largest, np.where(varies, 1.0 / np.where(varies, deviations * largest, 1.0), 0.0)


def are_components(C: FloatArray, deviations: FloatArray) -> bool:
    r"""Whether columns are principal components: of falling deviation, and not correlated with each other.

    Brought to one deviation, such columns would have no principal axes left: what they say lies in their deviations.

    .. math:: \frac{n - 1}{d (d - 1)} \sum_{j \ne k} r_{jk}^2 \le 2, \qquad
              \mathrm{corr}(\text{rank of } \sigma_j,\; j) \le -\max(0.5, \min(3 / \sqrt{d - 1}, 0.9))

    By chance the first is about 1, and the second about 0 with a deviation of :math:`1 / \sqrt{d - 1}`.

    Parameters
    ----------
    C : array (n, d)
        Columns of mean zero, in any unit.
    deviations : array (d,)
        Those of the columns in the units that they came in.

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
    S = C[np.linspace(0, n - 1, min(n, MOST_LOOKED_AT), dtype=np.intp)][:, varies]
    S = S - S.mean(axis=0)
    S = S / np.maximum(np.sqrt((S**2).sum(axis=0)), TINY)
    G = S.T @ S if d <= len(S) else S @ S.T
    squares = (float((G**2).sum()) - d) / (d * (d - 1))
    return bool((len(S) - 1) * squares <= UNCORRELATED)


def prepare_rows(X: Matrix, name: str = "X", k: int = AXES) -> Prepared:
    """Rows of unit length, centred, along at most ``k`` principal axes."""
    n, d = X.shape
    if min(n, d) <= EXACT:
        axes = principal_axes(X, tolerance=1e-4).leading(min(k, n - 1, d))
        mean, C = axes.mean, axes.coordinates(X)
        C = C[:, axes.deviations > 0.0]
    else:
        axes = fit_leading_axes(X, k)
        mean, C = axes.mean, axes.coordinates(X)
    if not C.shape[1]:
        raise InputError(f"{name}: expected rows that differ from each other, got {n} that are the same.")
    lengths = np.asarray(X.multiply(X).sum(axis=1)).ravel() if is_sparse(X) else np.einsum("ij,ij->i", X, X)
    squares = lengths - 2.0 * np.asarray(X @ mean).ravel() + mean @ mean
    return Prepared(X, mean, C.astype(np.float32), np.maximum(squares, 0.0))


def fit_leading_axes(X: Matrix, k: int) -> PrincipalAxes:
    """The first ``k`` principal axes, by block power iterations from fixed random vectors."""
    mean = np.asarray(X.mean(axis=0)).ravel()
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


CELLS = 4_000_000
"""Cells of a table that are held at once."""


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
        """All scores (n, m)."""
        return np.asarray(self.left @ self.right.T)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Some rows after others: which, and their scores."""
        n, m = self.shape
        step = max(1, CELLS // max(1, m))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self.left[rows] @ self.right.T

    def at(self, i: IntArray, j: IntArray) -> FloatArray:
        """The scores of pairs of a row and a column."""
        return np.asarray(np.einsum("ij,ij->i", self.left[i], self.right[j]))

    def among(self, rows: IntArray, columns: IntArray) -> Scores:
        """The table of some rows and columns."""
        return Scores(self.left[rows], self.right[columns])

    def __add__(self, other: Scores) -> Scores:
        return Scores(np.hstack([self.left, other.left]), np.hstack([self.right, other.right]))

    def __rmul__(self, factor: float) -> Scores:
        return Scores(self.left.dtype.type(factor) * self.left, self.right)

    def shift(self, rows: FloatArray | float = 0.0, columns: FloatArray | float = 0.0) -> Scores:
        """The same plus a number per row and a number per column."""
        (n, m), kind = self.shape, self.left.dtype
        left = np.stack([np.broadcast_to(rows, n), np.ones(n)], axis=1).astype(kind)
        right = np.stack([np.ones(m), np.broadcast_to(columns, m)], axis=1).astype(kind)
        return self + Scores(left, right)

    def standardize(self) -> Scores:
        """The same with mean 0 and deviation 1 over all cells; a constant table becomes zero."""
        (a, K), (b, H) = (_moments(F) for F in (self.left, self.right))
        mean = float(a @ b)
        variance = float((K * H).sum() + b @ K @ b + a @ H @ a)
        factor = 1.0 / np.sqrt(variance) if variance > 1e-12 * max(mean**2, 1e-12) else 0.0
        return (factor * self).shift(rows=-factor * mean)


def _moments(F: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of rows. Of centred rows: a difference of two large sums would lose the spread."""
    mean = F.mean(axis=0, dtype=np.float64)
    centred = F - mean.astype(F.dtype)
    return mean, (centred.T @ centred).astype(np.float64) / len(F)


NEAR = 10
"""How many of the best scores of a row tell how much of a hub it is."""
NO_PARTNER = -50.0
"""Scores below are of candidates that are hidden or forbidden; others (without hubs, or of deviation 1) are small."""


@dataclass(frozen=True, eq=False)
class Hubness:
    """How close each row of either collection is to the other: the mean of its best scores, and the best of all."""

    rows: FloatArray
    columns: FloatArray
    best_of_rows: FloatArray
    best_of_columns: FloatArray

    @property
    def value(self) -> float:
        """The mean best score, over both collections."""
        return 0.5 * float(self.best_of_rows.mean(dtype=np.float64) + self.best_of_columns.mean(dtype=np.float64))


def measure_hubness(scores: Scores) -> Hubness:
    """The mean of the ten best scores in each row and each column, and the best."""
    n, m = scores.shape
    rows, top = np.empty(n, np.float32), np.empty(n, np.float32)
    k_rows, k_columns = min(NEAR, m), min(NEAR, n)
    columns = np.empty((m, 0), np.float32)
    for place, S in scores.blocks():
        best = _largest(S, k_rows)
        rows[place], top[place] = best.mean(axis=1), best.max(axis=1)
        turned = np.ascontiguousarray(S.T)
        columns = np.hstack([columns, _largest(turned, min(k_columns, turned.shape[1]))])
        columns = _largest(columns, min(k_columns, columns.shape[1]))
    return Hubness(rows, columns.mean(axis=1), top, columns.max(axis=1))


def _largest(S: FloatArray, k: int) -> FloatArray:
    return np.asarray(np.partition(S, S.shape[1] - k, axis=1)[:, -k:])


def apply_csls(scores: Scores, crowd: Hubness | None = None) -> Scores:
    r"""Cross-domain similarity local scaling: :math:`2 S_{ij} - r_i - c_j`.

    r and c are the means of the ten best scores of a row and of a column: a row that is near to everything is no
    longer everybody's neighbour.
    """
    crowd = measure_hubness(scores) if crowd is None else crowd
    return (2.0 * scores).shift(-crowd.rows, -crowd.columns)


@dataclass(frozen=True, eq=False)
class Best:
    """The best partner of each row of A and of each row of B, with its score."""

    of_rows: IntArray
    of_columns: IntArray
    row_scores: FloatArray
    column_scores: FloatArray

    @property
    def mutual(self) -> IntArray:
        """The rows of A whose best partner has them as its best, where there is one that can be."""
        both = self.of_columns[self.of_rows] == np.arange(len(self.of_rows))
        return np.flatnonzero(both & (self.row_scores > NO_PARTNER))


def find_best(scores: Scores, hide: float = 0.0, rng: Generator | None = None) -> Best:
    """The best partners; with ``hide``, among candidates of which that share is hidden at random."""
    n, m = scores.shape
    j, score = np.empty(n, np.intp), np.empty(n, np.float32)
    i, highest = np.zeros(m, np.intp), np.full(m, -np.inf, np.float32)
    for rows, S in scores.blocks():
        if hide > 0.0 and rng is not None:
            S[rng.random(S.shape, dtype=np.float32) < hide] = -np.inf
        j[rows] = S.argmax(axis=1)
        score[rows] = S[np.arange(len(S)), j[rows]]
        of_block = S.argmax(axis=0)
        found = S[of_block, np.arange(m)]
        better = found > highest
        i[better], highest[better] = of_block[better] + rows.start, found[better]
    return Best(j, i, score, highest)


NEIGHBOURHOOD = 10
"""So many of the best scores make up how near a point is to everything (Conneau et al. 2018)."""
CELLS_PER_BLOCK = 2**21
"""Scores that are held at once."""
SAMPLE = 1000
"""So many rows per domain are kept to tell by whether a point is near to everything."""


class Scored(Protocol):
    """What knows the similarities of points: a common space, or a measure."""

    def scores(self, queries: FloatArray, references: FloatArray) -> FloatArray:
        """All similarities (n, m), the larger the nearer."""
        ...


@short_repr
@dataclass(frozen=True, eq=False)
class Background:
    """Some points of either domain, against which it is measured how near others are to everything.

    That a row's rank does not depend on which other rows are asked for at the same time, they are rows of the fit.
    """

    source: FloatArray
    target: FloatArray

    @classmethod
    def of(cls, domains: TwoDomains, space: CommonSpace) -> Background:
        """Of rows of two domains, evenly spaced."""
        parts = []
        for name, X in zip(DOMAINS, (domains.source.X, domains.target.X), strict=True):
            rows = np.unique(np.linspace(0, X.shape[0] - 1, min(SAMPLE, X.shape[0])).astype(np.intp))
            parts.append(space.embed(X[rows], name))
        return cls(*parts)

    def hubs(self, space: CommonSpace, points: FloatArray, domain: str) -> FloatArray:
        """How near each point is to a domain as a whole."""
        return hub_scores(space, points, self.source if domain == "source" else self.target)


def hub_scores(space: Scored, points: FloatArray, others: FloatArray, n: int = NEIGHBOURHOOD) -> FloatArray:
    """How near each point (m,) is to the other domain: the mean of its n best scores there."""
    return np.concatenate([_best(scores, n) for scores in _blocks(space, points, others)])


def rank_neighbours(
    space: Scored, queries: FloatArray, references: FloatArray, k: int, hubs: FloatArray | None = None
) -> tuple[FloatArray, IntArray]:
    r"""The k best references for each query, best first: scores and numbers, both (n, k).

    .. math:: s(q, r), \quad\text{or}\quad 2\, s(q, r) - h(q) - h(r), \qquad
              h = \text{mean of the ten best scores}

    Parameters
    ----------
    space : CommonSpace
        What s is: inner products, or minus half the squared distances.
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
    scores, numbers = [], []
    for S in _blocks(space, queries, references):
        if hubs is not None:
            own = _best(S, NEIGHBOURHOOD)
            S *= 2.0
            S -= own[:, None]
            S -= hubs[None, :]
        found = top_k(S, k)
        scores.append(found[0])
        numbers.append(found[1])
    return np.concatenate(scores), np.concatenate(numbers)


def _best(S: FloatArray, n: int) -> FloatArray:
    """The mean of the n largest of each row."""
    k = min(n, S.shape[1])
    return np.asarray(np.partition(S, -k, axis=1)[:, -k:].mean(axis=1))


def _blocks(space: Scored, A: FloatArray, B: FloatArray) -> Iterator[FloatArray]:
    """The scores of some rows of A after the other, never more than :data:`CELLS_PER_BLOCK` at once."""
    height = max(1, CELLS_PER_BLOCK // max(len(B), 1))
    for start in range(0, len(A), height):
        yield space.scores(A[start : start + height], B)


def geometric_scores(A: Prepared, B: Prepared) -> Scores:
    """Scores of rows that look alike from within: by statistics of each row, and by its sorted similarities."""
    places = quantile_positions(len(A.squares), len(B.squares))
    SA, SB = (standardize_columns(sorted_similarities(X, p)) for X, p in ((A, places[0]), (B, places[1])))
    alike = Scores(normalize_rows(SA), normalize_rows(SB))
    FA, FB = (standardize_columns(signatures(X)).astype(np.float32) for X in (A, B))
    near = Scores(2.0 * FA, FB).shift(-np.einsum("ij,ij->i", FA, FA), -np.einsum("ij,ij->i", FB, FB))
    return alike.standardize() + near.standardize()


def standardize_columns(F: FloatArray) -> FloatArray:
    """Columns of mean 0 and deviation 1."""
    deviations = F.std(axis=0)
    return np.asarray((F - F.mean(axis=0)) / np.where(deviations > 0.0, deviations, 1.0))


def quantile_positions(n: int, m: int) -> tuple[IntArray, IntArray]:
    """The places that are compared in the falling lists of similarities to n - 1 and to m - 1 others.

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


def sorted_similarities(X: Prepared, places: IntArray) -> FloatArray:
    """The cosines of each centred row to all others, in falling order, at some places (n, p)."""
    n = len(X.squares)
    out = np.empty((n, len(places)), np.float32)
    lengths = np.sqrt(np.maximum(X.squares, 1e-300))
    shift = np.asarray(X.features @ X.mean).ravel()
    dense = None if is_sparse(X.features) else ((X.features - X.mean) / lengths[:, None]).astype(np.float32)
    step = max(1, CELLS // n)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        if dense is None:
            G = (X.features[rows] @ X.features.T).toarray()
            G = (G - shift[rows, None] - shift + X.mean @ X.mean) / lengths[rows, None] / lengths
        else:
            G = dense[rows] @ dense.T
        G = G.astype(np.float32)
        G[np.arange(len(G)), np.arange(rows.start, rows.stop)] = -np.inf
        G.sort(axis=1)
        out[rows] = G[:, ::-1][:, places]
    return out


def signatures(X: Prepared, leading: tuple[int, ...] = LEADING) -> FloatArray:
    """Twelve statistics of each row that mean the same in any features, as normal scores of their ranks (n, 12)."""
    Z = X.centred.astype(np.float64)
    found = [(Z[:, :k] ** 2).sum(axis=1) for k in leading] + [X.squares]
    for k in leading[1:]:
        U = normalize_rows(Z[:, :k])
        found.append(U @ U.mean(axis=0))
    found += _of_features(X.features)
    return np.stack([ndtri((rankdata(f) - 0.5) / len(f)) for f in found], axis=1)


def _of_features(X: Matrix) -> list[FloatArray]:
    """Over how many columns a row is spread (twice), how popular these are, how high its peak is."""
    size = abs(X)
    squares = size.multiply(size).tocsr() if is_sparse(X) else size**2

    def total(M: Matrix) -> FloatArray:
        return np.asarray(M.sum(axis=1)).ravel()

    first, second = total(size), total(squares) + 1e-300
    fourth = total(squares.multiply(squares) if is_sparse(X) else squares**2) + 1e-300
    popularity = np.asarray(squares.sum(axis=0)).ravel() / (float(squares.sum()) or 1.0)
    top: Any = size.max(axis=1)
    peak = np.asarray(top.toarray() if is_sparse(top) else top).ravel()
    return [
        first**2 / second,
        second**2 / fourth,
        np.asarray(squares @ popularity).ravel() / second,
        peak / np.sqrt(second),
    ]
