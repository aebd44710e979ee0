"""The columns of several tables side by side, put together a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._arrays import FloatArray, IntArray, Matrix, is_sparse
from isthmus._rows import BLOCK, Rows, Share
from isthmus.spaces.space import Space


@dataclass(frozen=True, eq=False)
class StackedColumns:
    """Coordinates of the rows of some tables, side by side, of which only the requested rows are computed.

    It has as much of the interface of an array as :class:`~isthmus.scale.ArrayRows` uses.

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
        """Some rows."""
        parts = [
            table[rows if chosen is None else chosen[rows]]
            for table, chosen in zip(self.tables, self.numbers, strict=True)
        ]
        return stack_columns(*parts, spaces=self.spaces)


def width(table: Any, space: Space | None) -> int:
    """How many coordinates the rows of a table have."""
    return int(table.shape[1]) if space is None else space.dimension


def stack_columns(*parts: Matrix, spaces: Sequence[Space | None]) -> Matrix:
    """Blocks of rows as one block: sparse where all but a column of numbers are."""
    blocks: list[Any] = [
        part if space is None else space.coordinates(part) for part, space in zip(parts, spaces, strict=True)
    ]
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
    >>> from isthmus.kernels import Cosine
    >>> from isthmus._rows import ArrayRows
    >>> from isthmus.spaces import FeatureSpace
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
        """Where the rows are."""
        return self.rows.total(_InCoordinates(share, self.space))

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[Matrix, IntArray]]:
        """All rows, in their order."""
        return ((self.space.coordinates(X), codes) for X, codes in self.rows.blocks(size))

    def sample(self, n: int, random: np.random.Generator) -> CoordinateRows:
        """About n rows at random."""
        return CoordinateRows(self.rows.sample(n, random), self.space)


@dataclass(frozen=True, eq=False)
class _InCoordinates:
    share: Share
    space: Space

    def __call__(self, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
        """What the coordinates of a block add."""
        return self.share(self.space.coordinates(X), codes)
