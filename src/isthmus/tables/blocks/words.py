"""Text: words weighted by tf-idf, and if wanted only their leading axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from isthmus._arrays import BoolArray, FloatArray, Matrix
from isthmus.exceptions import InputError
from isthmus.tables.blocks.block import array, count, strings
from isthmus.tables.cells import texts
from isthmus.tables.plan import MOST_COMPONENTS, MOST_TERMS, Column
from isthmus.tables.table import Table

RARE = 100
"""Rows from which on a word has to come in two of them."""


@dataclass(frozen=True, eq=False)
class Words:
    """x = (1 + log count) · idf, scaled to length 1; with axes, z = Vᵀx / s.

    s is the largest standard deviation among the axes, so that a text weighs as much as a scaled number does (the
    rule of multiple factor analysis).

    Parameters
    ----------
    column : str
        Its name.
    terms : tuple of str
        The words.
    idf : array (t,)
        Their weights.
    axes : array (k, t), optional
        V / s.
    """

    column: str
    terms: tuple[str, ...]
    idf: FloatArray
    axes: FloatArray | None = None

    @classmethod
    def fit(cls, table: Table, column: Column) -> Words:
        """Learn from the cells of a table, with scikit-learn's vectorizer and decomposition."""
        found = TfidfVectorizer(sublinear_tf=True, max_features=column.terms, min_df=2 if table.n_rows >= RARE else 1)
        try:
            X = found.fit_transform(texts(table, column.name))
        except ValueError:  # an empty vocabulary
            expected = "words of two letters or more that come in several rows"
            raise InputError(f"{table.place(column.name)}: expected {expected}, got none.") from None
        terms = tuple(str(term) for term in found.get_feature_names_out())
        k = min(column.components, min(X.shape) - 1)
        axes = _axes(X, k) if k > 0 else None
        return cls(column.name, terms, np.asarray(found.idf_, dtype=np.float64), axes)

    @classmethod
    def restored(cls, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> Words:
        """From a file, checked."""
        (column,) = strings({"column": [about.get("column")]}, "column")
        terms, k = strings(about, "terms"), count(about, "components", MOST_COMPONENTS)
        t = len(terms)
        if not 0 < t <= MOST_TERMS:
            raise InputError(f"features, terms: expected from 1 to {MOST_TERMS} words, got {t}.")
        return cls(column, terms, array(arrays, "idf", (t,)), array(arrays, "axes", (k, t)) if k else None)

    @property
    def names(self) -> tuple[str, ...]:
        """The column and a word, or the number of an axis."""
        parts = self.terms if self.axes is None else tuple(f"axis {i}" for i in range(len(self.axes)))
        return tuple(f"{self.column}: {part}" for part in parts)

    @property
    def line(self) -> str:
        """What it is, for the screen."""
        n = f"{len(self.terms)} words of the text {self.column!r}"
        return n if self.axes is None else f"{len(self.axes)} axes from {n}"

    def transform(self, table: Table) -> Matrix:
        """The features (n, t) or (n, k) of rows."""
        return self.of_texts(texts(table, self.column))

    def of_texts(self, found: Sequence[str]) -> Matrix:
        """The features of texts."""
        X = self._weights(found)
        return X if self.axes is None else np.ascontiguousarray(X @ self.axes.T)

    def are_unknown(self, found: Sequence[str]) -> BoolArray:
        """Which texts have none of the words (n,)."""
        return np.asarray(np.diff(self._weights(found).indptr) == 0)

    def _weights(self, found: Sequence[str]) -> Any:
        vectorizer = TfidfVectorizer(sublinear_tf=True, vocabulary=self.terms)
        vectorizer.idf_ = self.idf
        return vectorizer.transform(found)

    def about(self) -> dict[str, Any]:
        """What is not an array, fit for JSON."""
        k = 0 if self.axes is None else len(self.axes)
        return {"column": self.column, "terms": list(self.terms), "components": k}

    def arrays(self) -> dict[str, FloatArray]:
        """What was learned."""
        return {"idf": self.idf} if self.axes is None else {"idf": self.idf, "axes": self.axes}


def _axes(X: Matrix, k: int) -> FloatArray:
    V = TruncatedSVD(k, random_state=0).fit(X).components_
    spread = float((X @ V.T).std(axis=0).max())
    axes: FloatArray = np.ascontiguousarray(V / (spread or 1.0), dtype=np.float64)
    return axes
