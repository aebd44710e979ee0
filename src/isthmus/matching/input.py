"""What the user gave to ``match``, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._arrays import Matrix
from isthmus._validation import matrix, ordinary
from isthmus.domains import as_pairs
from isthmus.exceptions import InputError
from isthmus.matching.preparation import of_unit_length, scaled
from isthmus.matching.problem import Links
from isthmus.spaces.transformed import check_transformer, fitted_transformer, transformed

AUTO = "auto"
FEWEST_ROWS = 20
"""With fewer rows than this on a side, there is nothing to learn from."""


def unit_rows(X: Any, transformer: Any, name: str, parameter: str) -> Matrix:
    """Rows of unit length, after the transformer, or as is usual for dense and for sparse rows ("auto")."""
    if isinstance(transformer, str) and transformer == AUTO:
        return scaled(ordinary(matrix(X, name, min_rows=FEWEST_ROWS), name))
    check_transformer(transformer, parameter)
    made = transformed(fitted_transformer(transformer, X, name), X, name)
    rows = ordinary(matrix(made, name, min_rows=FEWEST_ROWS), name)
    given = X.shape[0] if hasattr(X, "shape") else len(X)
    if rows.shape[0] != given:
        raise InputError(
            f"{parameter}: expected one row for each of the {given} rows of {name}, got {rows.shape[0]}."
        )
    return of_unit_length(rows)


def known_links(pairs: Any, n: int, m: int, one_to_one: bool) -> Links:
    """The known pairs, of which there may be none; a row of A is in one of them at most."""
    empty = np.shape(pairs)[:1] == (0,) if isinstance(pairs, np.ndarray) else isinstance(pairs, list) and not pairs
    if pairs is None or empty:
        return Links.of(np.zeros(0, np.intp), np.zeros(0, np.intp))
    known = as_pairs(pairs, n, m, one_to_one=one_to_one, names=("A", "B"))
    rows, counts = np.unique(known.source, return_counts=True)
    if counts.max() > 1:
        raise InputError(
            f"pairs: expected each row of A in one pair at most, got row {rows[counts.argmax()]} in {counts.max()}."
        )
    return Links.of(known.source, known.target, known.weights)
