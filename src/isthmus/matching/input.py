"""The input of ``match``: two domains, checked, with rows of unit length."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from isthmus.domains import Domain, KnownPairs, TwoDomains
from isthmus.exceptions import InputError
from isthmus.matching.preparation import of_unit_length, scaled
from isthmus.matching.problem import NONE, Links
from isthmus.spaces.transformed import check_transformer, fitted_transformer, transformed

AUTO = "auto"
FEWEST_ROWS = 20
"""With fewer rows than this on a side, there is nothing to learn from."""
NAMES = "A", "B"


def two_collections(
    A: Any, B: Any, y_source: Any, y_target: Any, pairs: Any, transformers: tuple[Any, Any], *, one_to_one: bool
) -> TwoDomains:
    """Return both collections with rows of unit length; a row of A is in one of the known pairs at most.

    Rows are transformed first, or as is usual for dense and for sparse rows ("auto").
    """
    empty = np.shape(pairs)[:1] == (0,) if isinstance(pairs, np.ndarray) else isinstance(pairs, list) and not pairs
    rows = [_transform(X, *each) for X, each in zip((A, B), _named(transformers), strict=True)]
    domains = TwoDomains.of(
        rows[0],
        y_source,
        rows[1],
        y_target,
        None if empty else pairs,
        names=NAMES,
        min_rows=FEWEST_ROWS,
        optional_labels=True,
        one_to_one=one_to_one,
    )
    sides = zip((domains.source, domains.target), transformers, strict=True)
    source, target = (_of_unit_length(domain, transformer) for domain, transformer in sides)
    return replace(domains, source=source, target=target)


def known_links(known: KnownPairs | None) -> Links:
    """Return the known pairs, of which there may be none; each row of A in one of them at most."""
    if known is None:
        return NONE
    rows, counts = np.unique(known.source, return_counts=True)
    if counts.max() > 1:
        raise InputError(
            f"pairs: expected each row of A in one pair at most, got row {rows[counts.argmax()]} in {counts.max()}."
        )
    return Links.of(known.source, known.target, known.weights)


def _named(transformers: tuple[Any, Any]) -> list[tuple[Any, str, str]]:
    return list(zip(transformers, NAMES, ("source_transformer", "target_transformer"), strict=True))


def _is_auto(transformer: Any) -> bool:
    return isinstance(transformer, str) and transformer == AUTO


def _transform(X: Any, transformer: Any, name: str, parameter: str) -> Any:
    if _is_auto(transformer):
        return X
    check_transformer(transformer, parameter)
    made = transformed(fitted_transformer(transformer, X, name), X, name)
    given, found = (rows.shape[0] if hasattr(rows, "shape") else len(rows) for rows in (X, made))
    if found != given:
        raise InputError(f"{parameter}: expected one row for each of the {given} rows of {name}, got {found}.")
    return made


def _of_unit_length(domain: Domain, transformer: Any) -> Domain:
    return replace(domain, X=(scaled if _is_auto(transformer) else of_unit_length)(domain.X))
