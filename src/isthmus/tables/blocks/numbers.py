"""Numbers and dates: empty cells by the median, then mean 0 and standard deviation 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from isthmus._arrays import FloatArray
from isthmus.exceptions import InputError
from isthmus.tables import cells
from isthmus.tables.blocks.block import array, flags, strings
from isthmus.tables.plan import Column
from isthmus.tables.table import Table


@dataclass(frozen=True, eq=False)
class Numbers:
    """z = (x − mean) / scale with empty cells x = median, then a flag per column that had empty cells when learned.

    Parameters
    ----------
    columns : tuple of str
        Their names.
    days : tuple of bool
        Which of them are dates.
    flagged : tuple of bool
        Which of them had empty cells.
    median, mean, scale : array (d,)
        Of each column.
    """

    columns: tuple[str, ...]
    days: tuple[bool, ...]
    flagged: tuple[bool, ...]
    median: FloatArray
    mean: FloatArray
    scale: FloatArray

    @classmethod
    def fit(cls, table: Table, columns: Sequence[Column]) -> Numbers:
        """Learn from the cells of a table, with scikit-learn's imputer and scaler."""
        days = tuple(column.kind == "date" for column in columns)
        names = tuple(column.name for column in columns)
        X = _cells(table, names, days)
        n_empty = np.isnan(X).sum(axis=0)
        if n_empty.max() == table.n_rows:
            name = names[int(n_empty.argmax())]
            raise InputError(f"{table.place(name)}: expected numbers, got only empty cells.")
        imputer = SimpleImputer(strategy="median").fit(X)
        scaler = StandardScaler().fit(imputer.transform(X))
        scaled = np.array([column.scale for column in columns])
        mean, scale = np.where(scaled, scaler.mean_, 0.0), np.where(scaled, scaler.scale_, 1.0)
        flagged = tuple((n_empty > 0).tolist())
        return cls(names, days, flagged, np.asarray(imputer.statistics_, dtype=np.float64), mean, scale)

    @classmethod
    def restored(cls, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> Numbers:
        """From a file, checked."""
        columns = strings(about, "columns")
        d = len(columns)
        days, flagged = flags(about, "days", d), flags(about, "flagged", d)
        mean, median = array(arrays, "mean", (d,)), array(arrays, "median", (d,))
        return cls(columns, days, flagged, median, mean, array(arrays, "scale", (d,), positive=True))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, then those of the flags."""
        empty = [f"{name} is empty" for name, some in zip(self.columns, self.flagged, strict=True) if some]
        return (*self.columns, *empty)

    @property
    def line(self) -> str:
        """What it is, for the screen."""
        n = sum(self.flagged)
        extra = f", and {n} that say where cells are empty (filled by the median)" if n else ""
        return f"{len(self.columns)} from numbers{extra}"

    def transform(self, table: Table) -> FloatArray:
        """The features (n, d + flags) of rows."""
        X = _cells(table, self.columns, self.days)
        empty = np.isnan(X)
        Z = (np.where(empty, self.median, X) - self.mean) / self.scale
        return np.hstack([Z, empty[:, np.array(self.flagged, dtype=bool)].astype(np.float64)])

    def about(self) -> dict[str, Any]:
        """What is not an array, fit for JSON."""
        return {"columns": list(self.columns), "days": list(self.days), "flagged": list(self.flagged)}

    def arrays(self) -> dict[str, FloatArray]:
        """What was learned."""
        return {"median": self.median, "mean": self.mean, "scale": self.scale}


def _cells(table: Table, columns: Sequence[str], days: Sequence[bool]) -> FloatArray:
    found = [cells.numbers(table, name, days=day) for name, day in zip(columns, days, strict=True)]
    return np.column_stack(found)
