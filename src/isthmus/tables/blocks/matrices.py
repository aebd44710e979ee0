"""Matrices: as they are, or each column to mean 0 and standard deviation 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from isthmus._arrays import FloatArray, Matrix, is_sparse
from isthmus._validation import matrix
from isthmus.exceptions import InputError
from isthmus.tables.blocks.block import array, count, strings
from isthmus.tables.limits import MOST_COLUMNS
from isthmus.tables.plan import Column
from isthmus.tables.table import Table


@dataclass(frozen=True, eq=False)
class MatrixPart:
    """z = x, or z = (x − mean) / scale.

    Parameters
    ----------
    column : str
        The name of the part.
    width : int
        d.
    mean, scale : array (d,), optional
        Of each column; a sparse matrix is never shifted.
    """

    column: str
    width: int
    mean: FloatArray | None = None
    scale: FloatArray | None = None

    @classmethod
    def fit(cls, table: Table, column: Column) -> MatrixPart:
        """Learn from the rows of a table, with scikit-learn's scaler."""
        X = _rows(table, column.name, None)
        if not column.scale:
            return cls(column.name, X.shape[1])
        if is_sparse(X):
            raise InputError(f"{table.place(column.name)}: expected scale = false for a sparse matrix, got true.")
        scaler = StandardScaler().fit(X)
        return cls(column.name, X.shape[1], scaler.mean_, scaler.scale_)

    @classmethod
    def restored(cls, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> MatrixPart:
        """From a file, checked."""
        (column,), d = strings({"column": [about.get("column")]}, "column"), count(about, "width", MOST_COLUMNS)
        if not arrays:
            return cls(column, d)
        return cls(column, d, array(arrays, "mean", (d,)), array(arrays, "scale", (d,), positive=True))

    @property
    def names(self) -> tuple[str, ...]:
        """The part and the place of a column in it."""
        return tuple(f"{self.column}[{i}]" for i in range(self.width))

    @property
    def line(self) -> str:
        """What it is, for the screen."""
        return f"{self.width} from the matrix {self.column!r}, {'as they are' if self.mean is None else 'scaled'}"

    def transform(self, table: Table) -> Matrix:
        """The features (n, d) of rows."""
        X = _rows(table, self.column, self.width)
        return X if self.mean is None else (X - self.mean) / self.scale

    def about(self) -> dict[str, Any]:
        """What is not an array, fit for JSON."""
        return {"column": self.column, "width": self.width}

    def arrays(self) -> dict[str, FloatArray]:
        """What was learned."""
        return {} if self.mean is None or self.scale is None else {"mean": self.mean, "scale": self.scale}


def _rows(table: Table, name: str, width: int | None) -> Matrix:
    X = table.matrix(name)
    X = X.astype(np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)
    return matrix(X, table.place(name), n_columns=width)
