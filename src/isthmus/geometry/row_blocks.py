r"""Moments of rows, and of pairs of rows, that are never in one place: from sums over blocks.

- :func:`compute_moments`: counts and means per class, and variances, in two passes.
- :class:`RowPairs`: row i of one table next to row i of another, as rows [x | y] or [x | y | w] that are made a
  block at a time (:class:`StackedColumns`, :class:`CoordinateRows`).
- :func:`compute_pair_moments`: :math:`m = \sum w z / \sum w` and :math:`S = \sum w (z - m)(z - m)^T` over pairs
  z = [x; y], all that ridge regression, Procrustes, CCA and their like need of them.

A *share* is what a block adds to a sum, by a function that is sent to wherever the rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._core.linalg import pivoted_cholesky
from isthmus._core.rows import BLOCK, ArrayRows, Rows, Share
from isthmus._core.validation import FloatArray, IntArray, Matrix, as_dense, check_moments, is_sparse
from isthmus.data.blocks import DaskRows, import_dask, stack_rows
from isthmus.exceptions import InputError
from isthmus.geometry.spaces import Space


@dataclass(frozen=True, eq=False)
class Moments:
    """Counts, means and variances of all rows.

    Parameters
    ----------
    counts : array (C,)
        How many rows of each code there are.
    means : array (C, d)
        Their means; zeros where there are none.
    variances : array (d,)
        Of each column, around the mean of all rows.
    zeros : int
        How many rows are nothing but zeros.
    sparse : bool
        Whether blocks are sparse.
    """

    counts: IntArray
    means: FloatArray
    variances: FloatArray
    zeros: int
    sparse: bool

    @property
    def mean(self) -> FloatArray:
        """Of all rows (d,)."""
        return np.asarray(self.counts @ self.means / self.counts.sum())

    @property
    def squared(self) -> float:
        """The mean squared length of a row."""
        return float(self.variances.sum() + self.mean @ self.mean)


def _sum_classes(n_classes: int, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
    """Return sums (C, d) and counts (C,) by code, rows of zeros (), sparse blocks ()."""
    if len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) < n_classes:
        found = int(codes.max()) if codes.max() >= n_classes else int(codes.min())
        raise InputError(f"codes: expected numbers from 0 to {n_classes - 1}, one per class, got {found}.")
    member = sp.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(n_classes, len(codes)))
    sums: Any = member @ (sp.csr_array(X) if is_sparse(X) else X)
    sums = sums.toarray() if is_sparse(sums) else sums
    lengths: Any = abs(X).max(axis=1).toarray() if is_sparse(X) else np.abs(X).max(axis=1, initial=0.0)
    zeros, counts = np.count_nonzero(lengths == 0.0), np.bincount(codes, minlength=n_classes)
    return sums, counts.astype(np.float64), np.asarray(1.0 * zeros), np.asarray(1.0 * is_sparse(X))


def _sum_deviations(mean: FloatArray, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
    """Return squared deviations from the mean, summed (d,)."""
    if is_sparse(X):
        D = sp.csr_array(X).astype(np.float64)
        sums, squares = (np.asarray(S.sum(axis=0)).ravel() for S in (D, D.multiply(D)))
        return (squares - 2.0 * mean * sums + X.shape[0] * mean**2,)
    D = X - mean
    return (np.einsum("ij,ij->j", D, D),)


def _check_finite(mean: FloatArray, name: str) -> None:
    if not np.isfinite(mean).all():
        raise InputError(f"{name}: expected finite numbers without NaN or inf, got NaN or inf.")


def compute_moments(rows: Rows, n_classes: int) -> Moments:
    """Compute the moments of all rows, in two passes.

    Examples
    --------
    >>> from isthmus._core.rows import ArrayRows
    >>> found = compute_moments(ArrayRows(np.array([[1.0], [3.0], [8.0]]), np.array([0, 0, 1])), 2)
    >>> found.means.ravel(), found.mean, found.variances.round(2)
    (array([2., 8.]), array([4.]), array([8.67]))
    """
    if not rows.n:
        raise InputError("X_source: expected at least 1 row(s), got 0.")
    with np.errstate(over="ignore", invalid="ignore"):
        sums, counts, zeros, sparse = rows.total(partial(_sum_classes, n_classes))
        mean = sums.sum(axis=0) / rows.n
        _check_finite(mean, "X_source")
        (squares,) = rows.total(partial(_sum_deviations, mean))
        check_moments(mean, squares / rows.n, "X_source")
    means, variances = sums / np.maximum(counts, 1.0)[:, None], np.maximum(squares, 0.0) / rows.n
    return Moments(counts.astype(np.intp), means, variances, int(zeros), bool(sparse))


@dataclass(frozen=True, eq=False)
class StackedColumns:
    """Coordinates of the rows of some tables, side by side, of which only the requested rows are computed.

    It has as much of the interface of an array as :class:`~isthmus._core.rows.ArrayRows` uses.

    Parameters
    ----------
    tables : sequence of array, memory map or CSR (n_k, d_k)
        The tables.
    spaces : sequence of Space or None
        What turns rows of each into coordinates; None leaves them as they are.
    numbers : sequence of array (n,) or None
        Which row of each table is where; None where row i is row i.

    Examples
    --------
    >>> StackedColumns((np.eye(2), np.ones((3, 1))), (None, None), (None, np.array([2, 0])))[1:]
    array([[0., 1., 1.]])
    """

    tables: Sequence[Any]
    spaces: Sequence[Space | None]
    numbers: Sequence[IntArray | None]

    @property
    def shape(self) -> tuple[int, int]:
        """n, and the columns of all tables."""
        first = self.numbers[0]
        n = self.tables[0].shape[0] if first is None else len(first)
        return int(n), sum(width(*each) for each in zip(self.tables, self.spaces, strict=True))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a block."""
        return np.result_type(*(table.dtype for table in self.tables))

    def __getitem__(self, rows: Any) -> Matrix:
        """Return some rows."""
        both = zip(self.tables, self.numbers, strict=True)
        parts = [table[rows if chosen is None else chosen[rows]] for table, chosen in both]
        return stack_columns(*parts, spaces=self.spaces)


def width(table: Any, space: Space | None) -> int:
    """Return the number of coordinates of the rows of a table."""
    return int(table.shape[1]) if space is None else space.dimension


def stack_columns(*parts: Matrix, spaces: Sequence[Space | None]) -> Matrix:
    """Stack the columns of blocks: sparse where all blocks, but for single columns, are."""
    both = zip(parts, spaces, strict=True)
    blocks: list[Any] = [part if space is None else space.coordinates(part) for part, space in both]
    if all(is_sparse(block) or block.shape[1] == 1 for block in blocks) and is_sparse(blocks[0]):
        return sp.hstack(blocks, format="csr")
    return np.hstack([block.toarray() if is_sparse(block) else block for block in blocks])


@dataclass(frozen=True, eq=False)
class CoordinateRows:
    """Rows in the coordinates of a space, made a block at a time where the rows are.

    Parameters
    ----------
    rows : Rows
        As they were given.
    space : Space
        What turns them into coordinates.

    Examples
    --------
    >>> from isthmus.geometry.kernels import Cosine
    >>> from isthmus._core.rows import ArrayRows
    >>> from isthmus.geometry.spaces import FeatureSpace
    >>> unit = CoordinateRows(ArrayRows(np.array([[3.0, 4.0]])), FeatureSpace(2, Cosine()))
    >>> [X for X, _ in unit.blocks()]
    [array([[0.6, 0.8]])]
    """

    rows: Rows
    space: Space

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.rows.n

    @property
    def d(self) -> int:
        """How many coordinates they have."""
        return self.space.dimension

    def total(self, share: Share) -> tuple[FloatArray, ...]:
        """Sum the shares of all blocks, where the rows are."""
        return self.rows.total(partial(_share_of_coordinates, share, self.space))

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[Matrix, IntArray]]:
        """Yield all rows, in their order."""
        return ((self.space.coordinates(X), codes) for X, codes in self.rows.blocks(size))

    def sample(self, n: int, random: np.random.Generator) -> CoordinateRows:
        """Draw about n rows at random."""
        return CoordinateRows(self.rows.sample(n, random), self.space)


def _share_of_coordinates(share: Share, space: Space, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
    return share(space.coordinates(X), codes)


@dataclass(frozen=True)
class Layout:
    """The places of x, y and w in a row [x | y] or [x | y | w].

    Parameters
    ----------
    d_source, d_target : int
        How many coordinates x and y have.
    weighted : bool
        Whether the weight of the pair comes last; it is one elsewhere.
    """

    d_source: int
    d_target: int
    weighted: bool = False

    @property
    def d(self) -> int:
        """The coordinates of both."""
        return self.d_source + self.d_target

    @property
    def sides(self) -> tuple[slice, slice]:
        """The columns of x, and those of y."""
        return slice(0, self.d_source), slice(self.d_source, self.d)

    def parts(self, Z: Matrix) -> tuple[Matrix, FloatArray]:
        """Return both rows of each pair in double precision (n, d), and the weights (n,)."""
        if not self.weighted:
            return Z.astype(np.float64), np.ones(Z.shape[0])
        return Z[:, : self.d].astype(np.float64), as_dense(Z[:, self.d :]).ravel()


@dataclass(frozen=True, eq=False)
class RowPairs:
    """Pairs of rows that are summed over in blocks.

    Parameters
    ----------
    rows : Rows
        [x | y], or [x | y | w] with the weight of the pair.
    layout : Layout
        Where x ends and y begins.

    Examples
    --------
    >>> pairs = RowPairs.of(np.eye(3), np.ones((3, 1)))
    >>> pairs.n, pairs.layout.d, pairs.sample(2, np.random.default_rng(0))[1]
    (3, 4, array([1., 1.]))
    """

    rows: Rows
    layout: Layout

    @classmethod
    def of(
        cls,
        X: Any,
        Y: Any,
        weights: FloatArray | None = None,
        spaces: tuple[Space | None, Space | None] = (None, None),
        numbers: Any = (None, None),
        codes: IntArray | None = None,
    ) -> RowPairs:
        """Pair row i of X (n, d_s) and row i of Y (n, d_t), in coordinates; ``numbers`` say which rows of arrays.

        X and Y are arrays, memory maps, CSR matrices or rows in blocks; where one of them is in a Dask array, sums
        are computed by Dask. Samples are stratified by the code of a pair.
        """
        on_workers = isinstance(X, DaskRows) or isinstance(Y, DaskRows)
        X, Y = (table.X if isinstance(table, ArrayRows | DaskRows) else table for table in (X, Y))
        layout = Layout(width(X, spaces[0]), width(Y, spaces[1]), weighted=weights is not None)
        tables = [X, Y] if weights is None else [X, Y, np.asarray(weights, dtype=np.float64)[:, None]]
        each = (*spaces, None)[: len(tables)]
        if on_workers:
            return cls(_on_workers(tables, each, layout, codes), layout)
        return cls(ArrayRows(StackedColumns(tables, each, (*numbers, None)[: len(tables)]), codes), layout)

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return self.rows.n

    def sample(self, n: int, random: np.random.Generator) -> tuple[Matrix, FloatArray, IntArray]:
        """Draw about n pairs, or all: both rows (m, d), the weights (m,), the codes (m,)."""
        drawn = self.rows.sample(min(n, self.n), random)
        blocks, codes = zip(*drawn.blocks(max(1, drawn.n)), strict=True)
        return *self.layout.parts(stack_rows(blocks)), np.concatenate(codes)


def _on_workers(
    tables: list[Any], spaces: tuple[Space | None, ...], layout: Layout, codes: IntArray | None
) -> DaskRows:
    """Put tables into equal partitions, whose columns are stacked where they lie."""
    array = import_dask().array
    rows = next(table for table in tables if isinstance(table, array.Array)).chunks[0]
    parts = [
        part.rechunk((rows, -1)) if isinstance(part, array.Array) else array.from_array(part, chunks=(rows, -1))
        for part in tables
    ]
    dtype = np.result_type(*(part.dtype for part in parts))
    sent = import_dask().delayed(spaces, traverse=False)
    shape = {"chunks": (rows, (layout.d + layout.weighted,)), "dtype": dtype, "meta": np.empty((0, 0), dtype)}
    Z = array.map_blocks(stack_columns, *parts, spaces=sent, **shape)
    return DaskRows(Z, None if codes is None else array.from_array(codes, chunks=(rows,)))


SIDES = "X_source", "X_target"


@dataclass(frozen=True, eq=False)
class PairMoments:
    r"""The mean m and the scatter S of pairs z = [x; y].

    .. math:: S = \sum_i w_i (z_i - m) (z_i - m)^T, \qquad w = \sum_i w_i.

    Parameters
    ----------
    layout : Layout
        Where x ends and y begins.
    weight : float
        w.
    mean : array (d,)
        m.
    scatter : array (d, d)
        S.
    """

    layout: Layout
    weight: float
    mean: FloatArray
    scatter: FloatArray

    def without(self, Z: Matrix, weights: FloatArray) -> PairMoments:
        """Return the moments of all pairs but these: rows Z (n, d), with their weights (n,)."""
        block = CentredRows.of(Z, self.mean, weights)
        weight, off = self.weight - float(weights.sum()), -block.sums
        scatter = self.scatter - block.scatter - np.outer(off, off) / weight
        return PairMoments(self.layout, weight, self.mean + off / weight, scatter)

    def representative_pairs(self) -> tuple[FloatArray, FloatArray]:
        """Return at most 2 d pairs of equal weight with the same mean and covariance: x (n, d_s) and y (n, d_t).

        Whatever is a function of the moments is the same of them.

        Examples
        --------
        >>> pairs = RowPairs.of(np.array([[1.0], [3.0], [8.0]]), np.array([[0.0], [0.0], [3.0]]))
        >>> X, Y = compute_pair_moments(pairs).representative_pairs()
        >>> [float(each.mean().round(9)) for each in (X, X * X, X * Y)]  # 12 / 3, (1 + 9 + 64) / 3, 24 / 3
        [4.0, 24.666666667, 8.0]
        """
        Z = self.mean + points_with_covariance(self.scatter / self.weight)
        source, target = self.layout.sides
        return Z[:, source], Z[:, target]


def points_with_covariance(C: FloatArray) -> FloatArray:
    r"""Return at most 2 d points (n, d) around the origin whose covariance is C (d, d).

    With :math:`C = F F^T` they are plus and minus :math:`\sqrt r` times each of the r columns of F, or the
    origin where C is zero.

    Examples
    --------
    >>> points_with_covariance(np.array([[4.0]]))
    array([[ 2.],
           [-2.]])
    """
    F, _ = pivoted_cholesky(C, None)
    R = np.sqrt(max(1, F.shape[1])) * F.T
    return np.vstack([R, -R, np.zeros((0 if len(R) else 1, len(C)))])


@dataclass(frozen=True, eq=False)
class CentredRows:
    """A block of rows around a mean, which is never subtracted from sparse ones.

    Parameters
    ----------
    Z : array or CSR (n, d)
        Dense rows are centred, and times the roots of their weights; sparse ones are only that.
    mean : array (d,)
        What has still to be subtracted: zeros for dense rows.
    root : array (n,)
        The roots of the weights.
    """

    Z: Matrix
    mean: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, Z: Matrix, mean: FloatArray, weights: FloatArray) -> CentredRows:
        """Centre rows of double precision, with weights (n,)."""
        root = np.sqrt(weights)
        if is_sparse(Z):
            return cls(Z.multiply(root[:, None]).tocsr(), mean, root)
        Z = Z - mean
        Z *= root[:, None]
        return cls(Z, np.zeros_like(mean), root)

    def part(self, columns: slice) -> CentredRows:
        """Return some columns."""
        return CentredRows(self.Z[:, columns], self.mean[columns], self.root)

    def times(self, M: FloatArray) -> FloatArray:
        """Return √w (z - m)ᵀ M of each row (n, k)."""
        product = np.asarray(self.Z @ M)
        return product - np.outer(self.root, self.mean @ M) if is_sparse(self.Z) else product

    @property
    def sums(self) -> FloatArray:
        """Σ w (z - m) (d,)."""
        return np.asarray(self.Z.T @ self.root - float(self.root @ self.root) * self.mean)

    @property
    def scatter(self) -> FloatArray:
        """Σ w (z - m)(z - m)ᵀ (d, d)."""
        if not is_sparse(self.Z):
            return np.asarray(self.Z.T @ self.Z)
        cross = np.outer(self.Z.T @ self.root, self.mean)
        S = (self.Z.T @ self.Z).toarray() - cross - cross.T
        return np.asarray(S + float(self.root @ self.root) * np.outer(self.mean, self.mean))


def _sum_pairs(layout: Layout, Z: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
    """Return Σ w z (d,) and Σ w ()."""
    rows, w = layout.parts(Z)
    return np.asarray(rows.T @ w), np.asarray(w.sum())


def _scatter_pairs(layout: Layout, mean: FloatArray, Z: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
    """Return the scatter (d, d) around a mean, and the sum (d,) of the deviations from it."""
    rows, w = layout.parts(Z)
    block = CentredRows.of(rows, mean, w)
    return block.scatter, block.sums


def compute_pair_moments(pairs: RowPairs) -> PairMoments:
    """Compute the moments of all pairs, in two passes: the mean, then the scatter around it.

    Examples
    --------
    >>> found = compute_pair_moments(RowPairs.of(np.array([[1.0], [3.0], [8.0]]), np.array([[0.0], [0.0], [3.0]])))
    >>> found.mean, found.scatter.round(9)
    (array([4., 1.]), array([[26., 12.],
           [12.,  6.]]))
    """
    layout = pairs.layout
    with np.errstate(over="ignore", invalid="ignore"):
        sums, weight = pairs.rows.total(partial(_sum_pairs, layout))
        mean = sums / weight
        for columns, name in zip(layout.sides, SIDES, strict=True):
            _check_finite(mean[columns], name)
        scatter, rest = pairs.rows.total(partial(_scatter_pairs, layout, mean))
        for columns, name in zip(layout.sides, SIDES, strict=True):
            check_moments(mean[columns], np.diagonal(scatter)[columns] / weight, name)
    # A long sum is off by more than the rounding of its terms: the mean of the deviations is subtracted, too.
    scatter -= np.outer(rest, rest) / weight
    return PairMoments(layout, float(weight), mean + rest / weight, 0.5 * (scatter + scatter.T))
