"""Rows of several tables beside each other, put together a block at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._arrays import IntArray, Matrix, is_sparse
from isthmus.spaces.space import Space


@dataclass(frozen=True, eq=False)
class Beside:
    """Coordinates of the rows of some tables, beside each other, of which no more is made than is asked for.

    It has as much of an array as :class:`~isthmus.solvers.blocks.ArrayRows` wants to have.

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
    >>> Beside((np.eye(2), np.ones((3, 1))), (None, None), (None, np.array([2, 0])))[1:]
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
        return beside(*parts, spaces=self.spaces)


def width(table: Any, space: Space | None) -> int:
    """How many coordinates the rows of a table have."""
    return int(table.shape[1]) if space is None else space.dimension


def beside(*parts: Matrix, spaces: Sequence[Space | None]) -> Matrix:
    """Blocks of rows as one block: sparse where all but a column of numbers are."""
    blocks: list[Any] = [
        part if space is None else space.coordinates(part) for part, space in zip(parts, spaces, strict=True)
    ]
    if all(is_sparse(block) or block.shape[1] == 1 for block in blocks) and is_sparse(blocks[0]):
        return sp.hstack(blocks, format="csr")
    return np.hstack([block.toarray() if is_sparse(block) else block for block in blocks])
