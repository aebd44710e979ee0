"""Pairs of rows in blocks: a source row beside the target row that is the same object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, IntArray, Matrix, as_dense
from isthmus._rows import ArrayRows, Rows
from isthmus.domains.blocks import DaskRows, dask, stacked
from isthmus.scale.stacked_columns import StackedColumns, stack_columns, width
from isthmus.spaces.space import Space


@dataclass(frozen=True)
class Layout:
    """How the numbers of a pair lie in a row [x | y] or [x | y | w].

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
        """Both rows of each pair in double precision (n, d), and the weights (n,)."""
        if not self.weighted:
            return Z.astype(np.float64), np.ones(Z.shape[0])
        return Z[:, : self.d].astype(np.float64), as_dense(Z[:, self.d :]).ravel()


@dataclass(frozen=True, eq=False)
class RowPairs:
    """Pairs of rows, of which sums over blocks are asked.

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
        are computed by Dask. A code per pair says of which kind a sample has to have its share.
        """
        on_workers = isinstance(X, DaskRows) or isinstance(Y, DaskRows)
        X, Y = (table.X if isinstance(table, ArrayRows | DaskRows) else table for table in (X, Y))
        tables, last = [X, Y], None if weights is None else np.asarray(weights, dtype=np.float64)[:, None]
        layout = Layout(width(X, spaces[0]), width(Y, spaces[1]), weighted=last is not None)
        if on_workers:
            return cls(_on_workers(tables, last, spaces, layout, codes), layout)
        if last is not None:
            return cls(ArrayRows(StackedColumns((*tables, last), (*spaces, None), (*numbers, None)), codes), layout)
        return cls(ArrayRows(StackedColumns(tables, spaces, numbers), codes), layout)

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return self.rows.n

    def sample(self, n: int, random: np.random.Generator) -> tuple[Matrix, FloatArray, IntArray]:
        """About n pairs in memory, all if there are no more: both rows (m, d), the weights (m,), the codes (m,)."""
        drawn = self.rows.sample(min(n, self.n), random)
        blocks, codes = zip(*drawn.blocks(max(1, drawn.n)), strict=True)
        return *self.layout.parts(stacked(blocks)), np.concatenate(codes)


def _on_workers(
    tables: list[Any],
    weights: FloatArray | None,
    spaces: tuple[Space | None, Space | None],
    layout: Layout,
    codes: IntArray | None,
) -> DaskRows:
    """Both tables in partitions, and the weights as a third: rows meet where their partitions lie."""
    array = dask().array
    rows = next(table for table in tables if isinstance(table, array.Array)).chunks[0]
    parts = [
        part.rechunk((rows, -1)) if isinstance(part, array.Array) else array.from_array(part, chunks=(rows, -1))
        for part in (*tables, weights)
        if part is not None
    ]
    dtype = np.result_type(*(part.dtype for part in parts))
    sent = dask().delayed((*spaces, None)[: len(parts)], traverse=False)
    shape = {"chunks": (rows, (layout.d + layout.weighted,)), "dtype": dtype, "meta": np.empty((0, 0), dtype)}
    Z = array.map_blocks(stack_columns, *parts, spaces=sent, **shape)
    return DaskRows(Z, None if codes is None else array.from_array(codes, chunks=(rows,)))
